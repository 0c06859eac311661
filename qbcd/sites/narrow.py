"""The narrow path: keys and digests of ranges that differ travel first, then the rows that changed (protocol.md 10).

For wide rows and changes that are spread thin it saves most of the bytes. Both rounds read one snapshot, so a key that
does not come again is an error; ranges are reckoned by what the batch adds to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qbcd.errors import TornRead
from qbcd.sites import compare
from qbcd.sites.files import Part
from qbcd.sites.looking import Look, check_torn, filled
from qbcd.sites.reading import Snapshot, frame, range_frame
from qbcd.sites.replica import travels_of
from qbcd.sites.shapes import ddl, row_fields
from qbcd.sites.values import Held, Settings
from qbcd.strategies import IdRcs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from qbcd.sites.spark import SparkSite

MARK_BYTES = 40  # of key, its text and digest, about
SAVED_BYTES = 16_000_000  # below which another round to the source costs more than it saves
MOST_KEYS = 50_000  # that a poll asks for one by one; beyond them whole ranges are read
KEYS_PER_STATEMENT = 5_000
ID_FIELDS = [("key_id", "binary"), ("range_id", "bigint")]
MARK_FIELDS = [("range_id", "bigint"), ("key_id", "binary"), ("digest", "bigint")]


@dataclass(frozen=True)
class Moved:
    """What the two rounds brought.

    Attributes:
        ids: Identity and range of each row that differs.
        rows: Those of them that stand in the source, as they were in the second round.
        about: How many rows differ.
    """

    ids: Part
    rows: Part
    about: int

    @property
    def size(self) -> int:
        """Bytes that travelled in the second round."""
        return self.rows.size


def is_worth(strategy: IdRcs, snapshot: Snapshot, wanted: Look) -> bool:
    """Whether two rounds are likely to ship much less than whole ranges would, and can be made."""
    saved = sum(r.rows for r in wanted.asked) * (strategy.plan.table.row_width - MARK_BYTES)
    shared = snapshot.name is not None and not snapshot.anew and bool(strategy.plan.key)
    plain = shared and strategy.deletes and strategy.summed == "digest" and not wanted.children
    return plain and saved >= SAVED_BYTES


def fetch(
    site: SparkSite, strategy: IdRcs, snapshot: Snapshot, wanted: Look, settings: Settings, held: Held
) -> Moved | None:
    """Reads the marks of the ranges, then the rows that moved; None where those are too many to be asked for by key."""
    site.progress(f"fetching keys and digests of about {sum(r.rows for r in wanted.asked):,} rows")
    read = range_frame(
        site.source, site.spark.get(), strategy, snapshot, wanted.asked, strategy.marks, settings.connections
    )  # fmt: skip
    texts = [(f"k{i}", "string") for i in range(len(strategy.plan.key))]
    marks = site.files.write(read, [*MARK_FIELDS, *texts], "fetch", held, source=site.source)
    try:
        moved = _moved(site, strategy, wanted, marks, [*MARK_FIELDS, *texts]).persist()
        try:
            keys = moved.where("k0 IS NOT NULL").select(*(name for name, _ in texts)).limit(MOST_KEYS + 1).collect()
            if len(keys) > MOST_KEYS:
                return None
            ids = site.files.write(moved, ID_FIELDS, "fetch", held)
        finally:
            moved.unpersist()
    finally:
        site.files.discard(marks)
    rows = _rows(site, strategy, snapshot, [tuple(row) for row in keys], settings, held)
    found = site.files.read(site.spark.get(), _fields(strategy, settings), rows).count()
    if found != len(keys):
        raise TornRead(
            f"{len(keys)} rows were asked for by their keys and {found} came, out of one snapshot", stream=site.stream,
            remedy="report this with the type of the key",
        )  # fmt: skip
    return Moved(ids, rows, 2 * len(keys) + wanted.lost)


def _moved(site: SparkSite, strategy: IdRcs, wanted: Look, marks: Part, fields: list[tuple[str, str]]) -> DataFrame:
    found = compare.gathered(site.files.read(site.spark.get(), fields, marks), wanted.rows)
    check_torn(site.stream, wanted, {r.range_id: r for r in filled(site.stream, wanted.asked, compare.sums(found))})
    with site.reading() as conn:
        old = site.replica.rows(conn, strategy.plan, strategy.kept, wanted.old)
    return compare.moved_marks(old, found)


def _rows(
    site: SparkSite, strategy: IdRcs, snapshot: Snapshot, keys: list[tuple[str, ...]], settings: Settings, held: Held
) -> Part:
    """The rows with `keys`, as they are now."""
    site.progress(f"fetching {len(keys):,} rows that changed")
    spark, fields = site.spark.get(), _fields(strategy, settings)
    if not keys:
        return site.files.write(spark.createDataFrame([], ddl(fields)), fields, "fetch", held)
    asked = [keys[i : i + KEYS_PER_STATEMENT] for i in range(0, len(keys), KEYS_PER_STATEMENT)]
    statements = [strategy.images_of(part, typed=settings.typed) for part in asked]
    at_once = min(settings.connections, len(asked))
    read = frame(site.source, spark, site.stream, snapshot, statements, at_once=at_once)
    return site.files.write(read, fields, "fetch", held, source=site.source)


def _fields(strategy: IdRcs, settings: Settings) -> list[tuple[str, str]]:
    return row_fields(travels_of(strategy.plan), typed=settings.typed)[1:]  # their range is known by the marks


def frames(
    site: SparkSite, strategy: IdRcs, moved: Moved, wanted: Look, settings: Settings
) -> tuple[DataFrame, DataFrame]:
    """(stage, old rows) of what moved, to be compared as whole ranges are."""
    spark = site.spark.get()
    ids = compare.shared(site.files.read(spark, ID_FIELDS, moved.ids), moved.about)
    rows = site.files.read(spark, _fields(strategy, settings), moved.rows)
    with site.reading() as conn:
        old = site.replica.rows(conn, strategy.plan, strategy.kept, wanted.old)
    stage, known = rows.join(ids, "key_id"), old.join(ids.select("key_id"), "key_id", "left_semi")
    return compare.gathered(stage, moved.about), compare.gathered(known, moved.about)
