"""The narrow path: keys and digests of ranges that differ travel first, then the rows that changed (protocol.md 10).

For wide rows and changes that are spread thin it saves most of the bytes. Both rounds read one snapshot, so a key that
does not come again is an error; ranges are reckoned by what the batch adds to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from qbcd.errors import TornRead
from qbcd.sites import compare, layers
from qbcd.sites.files import PASSING, Part
from qbcd.sites.looking import Look, check_torn
from qbcd.sites.reading import Snapshot, frame, range_frame
from qbcd.sites.replica import travels_of
from qbcd.sites.shapes import IDENTITY, ddl, row_fields
from qbcd.sites.tallies import Totals
from qbcd.sites.values import Held, Settings
from qbcd.state import StoredRange
from qbcd.strategies import IdRcs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from qbcd.sites.spark import SparkSite

MARK_BYTES = 40  # of key, its text and digest, about
SAVED_BYTES = 16_000_000  # below which another round to the source costs more than it saves
MOST_KEYS = 100_000  # that a poll asks for one by one; beyond them whole ranges are read
KEYS_PER_STATEMENT = 5_000
WAITING_SHARE = 0.1  # of the rows, in ranges that have outgrown their size, which are not cut for the sake of the rest
TASK_ROWS = 1_000_000  # of both sides that one task compares, about
MOST_TASKS = 16  # tasks are planned one by one, which costs more than what small ones would save
MARK_FIELDS = [("range_id", "bigint"), ("key_id", "binary"), ("digest", "bigint")]


@dataclass(frozen=True)
class Moved:
    """What the two rounds brought.

    Attributes:
        old: Identity and range of each row that differs, and the row as the replica has it, where it has.
        rows: Those of them that stand in the source, as they were in the second round.
        about: How many rows differ.
        size: Bytes that travelled in both rounds.
    """

    old: Part
    rows: Part
    about: int
    size: int


def is_open(strategy: IdRcs, snapshot: Snapshot, wanted: Look) -> bool:
    """Whether two rounds can be made, and would ship much less than whole ranges if nothing had changed."""
    shared = snapshot.name is not None and not snapshot.anew and bool(strategy.plan.key)
    plain = shared and strategy.deletes and strategy.summed == "digest" and not wanted.children
    return plain and saved(_rows_of(wanted), strategy.plan.table.row_width, 0) >= SAVED_BYTES


def saved(rows: int, width: int, moved: float) -> float:
    """Bytes that two rounds save over whole ranges of `rows` rows, `width` bytes each, of which so many moved."""
    return rows * (width - MARK_BYTES) - moved * width


def is_worth(strategy: IdRcs, snapshot: Snapshot, wanted: Look, density: float) -> bool:
    """Whether two rounds are likely to ship much less than whole ranges would, and can be made.

    Args:
        density: The share of rows that had moved in the last ranges of which this was asked.
    """
    moved = density * _rows_of(wanted)
    enough = saved(_rows_of(wanted), strategy.plan.table.row_width, moved) >= SAVED_BYTES
    return is_open(strategy, snapshot, wanted) and enough and moved <= MOST_KEYS


def preferred(strategy: IdRcs, snapshot: Snapshot, wanted: Look, density: float) -> Look:
    """`wanted`, or the same without cuts: children need whole rows, and little that has outgrown its size can wait."""
    if not wanted.children or snapshot.anew:
        return wanted
    plain = wanted.uncut()
    little = sum(r.rows for r in wanted.parents) <= WAITING_SHARE * _rows_of(plain)
    return plain if little and is_worth(strategy, snapshot, plain, density) else wanted


def density_of(wanted: Look, events: int) -> float:
    """The share of rows that moved."""
    return min(1.0, events / max(1, _rows_of(wanted)))


def _rows_of(wanted: Look) -> int:
    return sum(r.rows for r in wanted.asked)


def fetch(
    site: SparkSite, strategy: IdRcs, snapshot: Snapshot, wanted: Look, settings: Settings, held: Held
) -> Moved | None:
    """Reads the marks of the ranges, then the rows that moved; None where those are too many to be asked for by key."""
    site.progress(f"fetching keys and digests of about {sum(r.rows for r in wanted.asked):,} rows")
    read = range_frame(
        site.source, site.spark.get(), strategy, snapshot, wanted.asked, strategy.marks, settings.connections
    )  # fmt: skip
    marks = [*MARK_FIELDS, *_texts(strategy)]
    totals = Totals()
    found = site.files.write(totals.of(read), marks, PASSING, held, source=site.source)
    try:
        check_torn(site.stream, wanted, *totals.read())
        old = site.files.write(_moved(site, strategy, wanted, found), _moved_fields(strategy), PASSING, held)
    finally:
        site.files.discard(found)
    moved = None
    try:
        asked = _asked(site, strategy, old)
        if len(asked) <= MOST_KEYS:
            rows = _rows(site, strategy, snapshot, asked, settings, held)
            moved = Moved(old, rows, 2 * len(asked) + wanted.lost, found.size + rows.size)
        return moved
    finally:
        site.files.discard(old, unless=moved is not None)


def _texts(strategy: IdRcs) -> list[tuple[str, str]]:
    return [(f"k{i}", "string") for i in range(len(strategy.plan.key))]


def _moved_fields(strategy: IdRcs) -> list[tuple[str, str]]:
    return [*row_fields([c.travel for c in strategy.kept]), *_texts(strategy)]


def _moved(site: SparkSite, strategy: IdRcs, wanted: Look, marks: Part) -> DataFrame:
    """The rows that differ, range by range: each task reads its ranges on both sides, and the replica is read once."""
    fields, spark = [*MARK_FIELDS, *_texts(strategy)], site.spark.get()
    now = {r.range_id: r.rows for r in wanted.asked}
    rows = sum(r.rows + now[r.range_id] for r in wanted.old)
    tasks = max(1, min(MOST_TASKS, round(rows / TASK_ROWS)))
    parts = []
    with site.reading() as conn:
        for some in _parts(wanted.old, -(-rows // tasks), now):
            old = site.replica.rows(conn, strategy.plan, strategy.kept, some, alone=True)
            new = site.files.read(spark, fields, marks).where(layers.one_of([r.range_id for r in some]))
            parts.append(compare.moved_marks(old, new.coalesce(1)))
    return reduce(lambda some, others: some.unionByName(others), parts)


def _parts(ranges: Sequence[StoredRange], size: int, now: Mapping[int, int]) -> Iterator[list[StoredRange]]:
    """The ranges in parts of about `size` rows of both sides; `now` are the rows of the source's."""
    part, held = list[StoredRange](), 0
    for one in ranges:
        part.append(one)
        held += one.rows + now[one.range_id]
        if held >= size:
            yield part
            part, held = [], 0
    if part:
        yield part


def _asked(site: SparkSite, strategy: IdRcs, old: Part) -> list[tuple[str, ...]]:
    """Keys, as the source spells them, of the rows that stand there; one more than may be asked for at most."""
    moved = site.files.read(site.spark.get(), _moved_fields(strategy), old).where("k0 IS NOT NULL")
    return [tuple(row) for row in moved.select(*(name for name, _ in _texts(strategy))).limit(MOST_KEYS + 1).collect()]


def _rows(
    site: SparkSite, strategy: IdRcs, snapshot: Snapshot, keys: list[tuple[str, ...]], settings: Settings, held: Held
) -> Part:
    """The rows with `keys`, as they are now.

    Raises:
        TornRead: Another number of them came.
    """
    site.progress(f"fetching {len(keys):,} rows that changed")
    spark, fields = site.spark.get(), _fields(strategy, settings)
    if not keys:
        return site.files.write(spark.createDataFrame([], ddl(fields)), fields, PASSING, held)
    asked = [keys[i : i + KEYS_PER_STATEMENT] for i in range(0, len(keys), KEYS_PER_STATEMENT)]
    statements = [strategy.images_of(part, typed=settings.typed) for part in asked]
    at_once = min(settings.connections, len(asked))
    read = frame(site.source, spark, site.stream, snapshot, statements, at_once=at_once)
    totals = Totals()
    part = site.files.write(totals.of(read), fields, PASSING, held, source=site.source)
    came, _ = totals.read()
    if came != len(keys):
        site.files.discard(part)
        raise TornRead(
            f"{len(keys)} rows were asked for by their keys and {came} came, out of one snapshot", stream=site.stream,
            remedy="report this with the type of the key",
        )  # fmt: skip
    return part


def _fields(strategy: IdRcs, settings: Settings) -> list[tuple[str, str]]:
    return row_fields(travels_of(strategy.plan), typed=settings.typed)[1:]  # their range is known by the marks


def frames(site: SparkSite, strategy: IdRcs, moved: Moved, settings: Settings) -> tuple[DataFrame, DataFrame]:
    """(stage, old rows) of what moved, to be compared as whole ranges are."""
    spark = site.spark.get()
    both = compare.gathered(site.files.read(spark, _moved_fields(strategy), moved.old), moved.about)
    rows = site.files.read(spark, _fields(strategy, settings), moved.rows)
    ids = compare.shared(both.select(*IDENTITY), moved.about)
    known = both.where("digest IS NOT NULL").drop(*(name for name, _ in _texts(strategy)))
    return compare.gathered(rows.join(ids, "key_id"), moved.about), known
