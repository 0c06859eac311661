"""Rows of a stream as of its newest batch: files of a lake replica, a partition each.

A segment's rows count for the ranges that name it, except keys that later batches changed; what those batches left of
the keys is a partition of its own (`qbcd.sites.lake.replica.replica`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from qbcd.common.wording import counted
from qbcd.errors import NotBuilt, Refused, SchemaChanged
from qbcd.event_sql.duckdb import DUCKDB
from qbcd.local.part_files import PartFile
from qbcd.local.query import duckdb_sql, duckdb_type
from qbcd.model import BatchHeader, Column, StreamPlan
from qbcd.planning import recorded_plan
from qbcd.sites.lake.context import LakeContext
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.replica.schema import Fields, batch_fields, row_fields
from qbcd.sites.lake.site import LakeSite
from qbcd.spark_source.change_rows import Columns, arrow_schema
from qbcd.spark_source.executor import LAYERS, RANGES, STAGED, FilePiece, NamedFile, Rows, far_workdir
from qbcd.state import Segment, StoredRange, StreamRow
from qbcd.stream import Stream

_NEWEST = f"""(
  SELECT * FROM {STAGED} WHERE range_id IN (SELECT range_id FROM {RANGES})
  QUALIFY ROW_NUMBER() OVER (PARTITION BY range_id, key_id ORDER BY batch_seq DESC) = 1
)"""
_IDENTITY = (("range_id", "BIGINT"), ("key_id", "BLOB"))
_CHANGED = f"EXISTS (SELECT 1 FROM {LAYERS} AS l WHERE l.range_id = r.range_id AND l.key_id = r.key_id)"


def refuse_unreadable(stream: Stream, row: StreamRow) -> StreamPlan:
    """Refuse a stream whose replica Spark cannot read; return its plan.

    Raises:
        Refused: The replica is in the source, or has no rows.
        NotBuilt: The stream reads files.
        SchemaChanged: The configuration requests other columns than the replica has.
    """
    site = stream.site
    if site.context.kind == "database":
        raise Refused(
            f"the replica is in the source {stream.source.name}, in schema {stream.source.schema}, and not in files",
            stream=stream.name,
            remedy="read the table itself with spark.read.jdbc; or keep the replica in the lake, "
            "e.g. by strategy id_rcs",
        )
    if not isinstance(site, LakeSite):
        raise NotBuilt(
            "the replica of this kind of source cannot be read by Spark yet",
            stream=stream.name,
            remedy="read the newest file itself",
        )
    plan = recorded_plan(stream, row)
    if plan is None:
        raise SchemaChanged(
            "the configuration requests other columns, another restriction or strategy than the replica has",
            stream=stream.name,
            remedy=f"qbcd run {stream.name} --once, then read again",
        )
    if site.strategy(plan).keeps != "rows":
        raise Refused(
            f"the replica keeps {site.strategy(plan).keeps}, and not the rows",
            stream=stream.name,
            remedy="use `replica: rows` of the strategy, after a reset",
        )
    if waiting := stream.project.waiting_events(stream.name):
        raise Refused(
            f"the replica has the changes of {counted(waiting, 'event that waits', 'events that wait')} for a row of a "
            "lookup, which would come later",
            stream=stream.name,
            remedy='read again when none waits; or write missing: "null" and poll once',
        )
    return plan


def partitions(stream: Stream, row: StreamRow, columns: Columns) -> list[Rows]:
    """Return the rows as of the newest batch, with its version.

    Raises:
        QbcdError: They cannot be read.
    """
    plan, context = refuse_unreadable(stream, row), stream.site.context
    assert isinstance(context, LakeContext)
    with context.reading() as conn:
        now = context.store.read(conn, stream.name)
        ranges = [one for one in context.store.ranges(conn, stream.name) if one.segment is not None]
        named = {one.segment for one in ranges}
        segments = [one for one in context.store.segments(conn, stream.name) if one.segment_id in named]
        oldest = min(((one.epoch, one.folded_through) for one in segments), default=None)
        later = [] if oldest is None else context.store.layers(conn, stream.name, oldest)
    reads = _Reads(context, plan, columns, now.last_batch_seq if now else row.last_batch_seq)
    pieces: list[FilePiece] = []
    for level in sorted({one.folded_through for one in segments}):
        some = [one for one in segments if one.folded_through == level]
        on_top = [header for header in later if header.seq > level]
        pieces += reads.of_level(some, on_top, ranges)
    schema = arrow_schema(columns, changes=False)
    return [Rows(stream.name, schema, (piece,), far_workdir(context.job.workdir)) for piece in pieces]


class _Reads:
    """Pieces of one replica."""

    def __init__(self, context: LakeContext, plan: StreamPlan, columns: Columns, version: int) -> None:
        self._context, self._plan, self._version = context, plan, version
        self._columns = [name for name, _ in columns]

    def of_level(
        self, segments: Sequence[Segment], on_top: Sequence[BatchHeader], ranges: Sequence[StoredRange]
    ) -> list[FilePiece]:
        """Return the pieces of segments that have the same batches on top."""
        layers = tuple(one for header in on_top for one in self._named(FileSet.of_location(header.location)))
        here, pieces = {one.segment_id for one in segments}, []
        untouched = f" AND NOT {_CHANGED}" if layers else ""
        where = f"range_id IN (SELECT range_id FROM {RANGES}){untouched}"
        query = f"SELECT {self._values('c')} FROM {STAGED} AS r WHERE {where}"
        for segment in segments:
            own = tuple(one.range_id for one in ranges if one.segment == segment.segment_id)
            for one in self._named(FileSet.of_segment(segment)):
                read = FilePiece((one,), _typed(row_fields(self._plan)), (query,), ranges=own, fixed=(self._version,))
                pieces.append(replace(read, layers=layers, layer_fields=_IDENTITY))
        if layers:
            mine = tuple(one.range_id for one in ranges if one.segment in here)
            query = f"SELECT {self._values('a_')} FROM {_NEWEST} AS r WHERE op <> 'd'"
            read = FilePiece(layers, _typed(batch_fields(self._plan)), (query,), ranges=mine, fixed=(self._version,))
            pieces.append(read)
        return pieces

    def _named(self, part: FileSet) -> list[NamedFile]:
        self._context.files.prove_parts(part)
        return [NamedFile(self._context.files.place(part), PartFile(*file)) for file in part.files]

    def _values(self, prefix: str) -> str:
        known: dict[str, tuple[int, Column]] = {one.name: (i, one) for i, one in enumerate(self._plan.captured)}
        found = []
        for i, name in enumerate(self._columns):
            place, column = known[name]
            found.append(f"{duckdb_sql(DUCKDB.typed_value(column.travel, f'{prefix}{place}', name))} AS v_{i}")
        return ", ".join(found)


def _typed(fields: Fields) -> tuple[tuple[str, str], ...]:
    return tuple((name, duckdb_type(kind)) for name, kind in fields)
