"""The narrow path: keys and digests of ranges that differ travel first, then the rows that changed.

See docs/design/protocol.md#rule-10.

For wide rows and changes that are spread thin it saves most of the bytes. Both rounds read one snapshot, so a key that
does not come again is an error; ranges are reckoned by what the batch adds to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, TypeVar

from qbcd.errors import TornRead
from qbcd.model import StreamPlan
from qbcd.ranges import partition
from qbcd.sites.lake import diff
from qbcd.sites.lake.fetch_plan import FetchPlan, check_torn
from qbcd.sites.lake.observed import RowChecksum, total
from qbcd.sites.lake.replica import layers
from qbcd.sites.lake.replica.files import PASSING, FileSet
from qbcd.sites.lake.replica.replica import travels_of
from qbcd.sites.lake.replica.schema import IDENTITY, ddl, row_fields
from qbcd.sites.lake.snapshot import Snapshot
from qbcd.sites.lake.stage import frame, range_frame
from qbcd.sites.values import LeasedStream, Settings
from qbcd.state import StoredRange
from qbcd.strategies import IdRcs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from qbcd.sites.lake.context import LakeContext

MARK_BYTES = 24  # of a digest and what else comes with a mark, about; its key comes twice, one of them as text
KEY_BYTES = 8  # of a key's column of which the source does not know the width
SAVED_BYTES = 16_000_000  # below which another round to the source costs more than it saves
MOST_KEYS = 100_000  # that a poll asks for one by one; beyond them whole ranges are read
KEYS_PER_STATEMENT = 5_000
WAITING_SHARE = 0.1  # of the rows, in ranges that have outgrown their size, which are not cut for the sake of the rest
HELD_ROWS = 1_000_000  # whose marks are held in memory at a time, about, by all tasks together
LARGEST_RANGE = 250_000  # rows of a range, whose marks one task holds, however many connections there are
MARK_FIELDS = [("range_id", "bigint"), ("key_id", "binary"), ("digest", "bigint")]
Item = TypeVar("Item")


@dataclass(frozen=True)
class ChangedRows:
    """What the two rounds brought.

    Attributes:
        old: Identity and range of each row that differs, and the row as the replica has it, where it has; in parts.
        rows: Those of them that stand in the source, as they were in the second round.
        about: How many rows differ.
        size: Bytes that travelled in both rounds, those of the first as :func:`mark_bytes` a row.
    """

    old: Sequence[FileSet]
    rows: FileSet
    about: int
    size: int


def is_open(strategy: IdRcs, snapshot: Snapshot, wanted: FetchPlan) -> bool:
    """Whether two rounds can be made, and would ship much less than whole ranges if nothing had changed."""
    shared = snapshot.name is not None and not snapshot.anew and bool(strategy.plan.key)
    shared = shared and strategy.plan.on(snapshot.table).key_is_proven  # marks of rows with one key are not counted
    shared = shared and not strategy.partitioning.paged  # what moved there unchanged becomes the replica's, too
    plain = shared and strategy.deletes and strategy.summed == "digest" and not wanted.is_split
    plain = plain and all(r.rows <= LARGEST_RANGE for r in wanted.asked)
    return plain and bytes_saved(strategy.plan, wanted.fetched, 0) >= SAVED_BYTES


def bytes_saved(plan: StreamPlan, rows: int, moved: float) -> float:
    """Bytes that two rounds save over whole ranges of so many rows, of which so many moved."""
    width = sum(c.width for c in plan.captured)
    return rows * (width - mark_bytes(plan)) - moved * width


def mark_bytes(plan: StreamPlan) -> int:
    """Bytes of a row's mark, about."""
    return MARK_BYTES + 2 * sum(c.width or KEY_BYTES for c in plan.key)


def is_worth(strategy: IdRcs, snapshot: Snapshot, wanted: FetchPlan, density: float) -> bool:
    """Whether two rounds are likely to ship much less than whole ranges would, and can be made.

    Args:
        density: The share of rows that had moved in the last ranges of which this was asked.
    """
    moved = density * sum(r.rows for r in wanted.asked)
    enough = bytes_saved(strategy.plan, wanted.fetched, moved) >= SAVED_BYTES
    return is_open(strategy, snapshot, wanted) and enough and moved <= MOST_KEYS


def defers_split(strategy: IdRcs, snapshot: Snapshot, wanted: FetchPlan, density: float, rows_per_range: int) -> bool:
    """Whether what outgrew its size waits: parts of a range need whole rows, and little of that is not worth those."""
    outgrown = sum(r.rows for r in wanted.outgrown(rows_per_range))
    if outgrown > WAITING_SHARE * wanted.fetched:
        return False
    return wanted.in_leaves or wanted.traced is not None or is_worth(strategy, snapshot, wanted, density)


def density_of(wanted: FetchPlan, events: int) -> float:
    """The share of the ranges' rows that moved."""
    return min(1.0, events / max(1, sum(r.rows for r in wanted.asked)))


def fetch(
    context: LakeContext, strategy: IdRcs, snapshot: Snapshot, wanted: FetchPlan, settings: Settings, held: LeasedStream
) -> ChangedRows | None:
    """Compares the marks of the ranges, then reads the rows that moved; None where these are too many for that."""
    context.progress(f"fetching keys and digests of about {wanted.fetched:,} rows")
    old = _differing(context, strategy, snapshot, wanted, settings, held)
    moved = None
    try:
        asked = _asked(context, strategy, old)
        if len(asked) <= MOST_KEYS:
            rows = _rows(context, strategy, snapshot, asked, settings, held)
            size = mark_bytes(strategy.plan) * wanted.fetched + rows.size
            moved = ChangedRows(old, rows, 2 * len(asked) + wanted.rows_lost, size)
        return moved
    finally:
        context.files.discard(*old, unless=moved is not None)


def _texts(strategy: IdRcs) -> list[tuple[str, str]]:
    return [(f"k{i}", "string") for i in range(len(strategy.plan.key))]


def _moved_fields(strategy: IdRcs) -> list[tuple[str, str]]:
    return [*row_fields([c.travel for c in strategy.stored_columns]), *_texts(strategy)]


def _differing(
    context: LakeContext, strategy: IdRcs, snapshot: Snapshot, wanted: FetchPlan, settings: Settings, held: LeasedStream
) -> list[FileSet]:
    """The rows that differ: each task has a share of the ranges, whose marks it holds while it reads the replica once.

    No more tasks than connections run at a time, so that all marks may come straight from the source.

    Raises:
        TornRead: Others came than the checksums counted.
    """
    tasks = math.ceil(wanted.fetched * settings.connections / HELD_ROWS)
    shares = partition.shares(wanted.asked, max(tasks, partition.readers(wanted.asked, settings.connections)))
    before, parts, totals = {r.range_id: r for r in wanted.old}, list[FileSet](), list[RowChecksum]()
    with _marks(context, strategy, snapshot, wanted, settings, held) as marks:
        try:
            for at_once in _batches(shares, settings.connections):
                load_pairs = []
                for some in at_once:
                    totals.append(RowChecksum())
                    old = _replica_rows(context, strategy, [before[r.range_id] for r in some])
                    load_pairs.append(diff.moved_marks(old, totals[-1].observe(marks(some)).coalesce(1)))
                found = reduce(lambda one, other: one.unionByName(other), load_pairs)
                parts.append(context.files.write(found, _moved_fields(strategy), PASSING, held, source=context.source))
            check_torn(context.stream, wanted, *total(totals))
        except BaseException:
            context.files.discard(*parts)
            raise
    return parts


def _batches(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    return [items[i : i + size] for i in range(0, len(items), size)]


def _replica_rows(context: LakeContext, strategy: IdRcs, some: Sequence[StoredRange]) -> DataFrame:
    with context.reading() as conn:
        return context.replica.rows(conn, strategy.plan, strategy.stored_columns, some, alone=True)


@contextmanager
def _marks(
    context: LakeContext, strategy: IdRcs, snapshot: Snapshot, wanted: FetchPlan, settings: Settings, held: LeasedStream
) -> Iterator[Callable[[Sequence[StoredRange]], DataFrame]]:
    """Gives the marks of some ranges, to one task, to be evaluated once.

    Those of the key's ranges are asked for as they are needed. Buckets lie anywhere in the table: one scan writes the
    marks of all.
    """
    spark = context.spark.get()

    def read(some: Sequence[StoredRange], connections: int) -> DataFrame:
        return range_frame(context.source, spark, strategy, snapshot, some, strategy.row_fingerprints, connections)

    if not strategy.partitioning.hashed:
        yield lambda some: read(some, 1)
        return
    fields = [*MARK_FIELDS, *_texts(strategy)]
    found = context.files.write(read(wanted.asked, settings.connections), fields, PASSING, held, source=context.source)
    try:
        yield (lambda some: context.files.read(spark, fields, found).where(layers.one_of([r.range_id for r in some])))
    finally:
        context.files.discard(found)


def _asked(context: LakeContext, strategy: IdRcs, old: Sequence[FileSet]) -> list[tuple[str, ...]]:
    """Keys, as the source spells them, of the rows that stand there; one more than may be asked for at most."""
    moved = context.files.read(context.spark.get(), _moved_fields(strategy), *old).where("k0 IS NOT NULL")
    return [tuple(row) for row in moved.select(*(name for name, _ in _texts(strategy))).limit(MOST_KEYS + 1).collect()]


def _rows(
    context: LakeContext,
    strategy: IdRcs,
    snapshot: Snapshot,
    keys: list[tuple[str, ...]],
    settings: Settings,
    held: LeasedStream,
) -> FileSet:
    """The rows with `keys`, as they are now.

    Raises:
        TornRead: Another number of them came.
    """
    context.progress(f"fetching {len(keys):,} rows that changed")
    spark, fields = context.spark.get(), _fields(strategy, settings)
    if not keys:
        return context.files.write(spark.createDataFrame([], ddl(fields)), fields, PASSING, held)
    asked = _batches(keys, KEYS_PER_STATEMENT)
    statements = [strategy.images_of(part, typed=settings.typed) for part in asked]
    at_once = min(settings.connections, len(asked))
    read = frame(context.source, spark, context.stream, snapshot, statements, at_once=at_once)
    totals = RowChecksum()
    part = context.files.write(totals.observe(read), fields, PASSING, held, source=context.source)
    came, _ = totals.read()
    if came != len(keys):
        context.files.discard(part)
        raise TornRead(
            f"{len(keys)} rows were asked for by their keys and {came} came, out of one snapshot",
            stream=context.stream,
            remedy="report this with the type of the key",
        )
    return part


def _fields(strategy: IdRcs, settings: Settings) -> list[tuple[str, str]]:
    return row_fields(travels_of(strategy.plan), typed=settings.typed)[1:]  # their range is known by the marks


def load_pairs(
    context: LakeContext, strategy: IdRcs, moved: ChangedRows, settings: Settings
) -> tuple[DataFrame, DataFrame]:
    """(stage, old rows) of what moved, to be compared as whole ranges are."""
    spark = context.spark.get()
    both = diff.gathered(context.files.read(spark, _moved_fields(strategy), *moved.old), moved.about)
    rows = context.files.read(spark, _fields(strategy, settings), moved.rows)
    ids = diff.shared(both.select(*IDENTITY), moved.about)
    known = both.where("digest IS NOT NULL").drop(*(name for name, _ in _texts(strategy)))
    return diff.gathered(rows.join(ids, "key_id"), moved.about), known
