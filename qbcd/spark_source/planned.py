"""Plans of reads, made at the driver: stream, columns, batches, and files as partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyarrow import parquet

from qbcd.api import open, parts_of
from qbcd.catalog.capture_change import columns_at
from qbcd.common.wording import batch_numbers
from qbcd.config.document import did_you_mean
from qbcd.enrichment import BatchView
from qbcd.errors import ConfigError, NotBuilt, QbcdError, SchemaChanged, StateConflict, StateMissing
from qbcd.local.part_files import PartFile
from qbcd.model import BatchHeader, Travel
from qbcd.model.wire import ELEMENTS, typed_name
from qbcd.sites import not_prepared
from qbcd.sites.lake.parquet_site import ParquetSite
from qbcd.sites.lake.replica.files import FileSet
from qbcd.spark_source import outbox_files, replica_rows
from qbcd.spark_source.change_rows import (
    ADDED,
    VERSION,
    Condition,
    ReadColumns,
    arrow_schema,
    change_queries,
    commit_time,
    event_column,
    staged_fields,
)
from qbcd.spark_source.executor import FilePiece, NamedFile, Rows, far_workdir
from qbcd.spark_source.filters import conditions_of, versions_of
from qbcd.spark_source.options import EARLIEST, LATEST, ReadOptions
from qbcd.status import PIN_SECONDS

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

    from qbcd.project import ProjectParts
    from qbcd.state import StreamRow
    from qbcd.stream import Stream

PART_EVENTS = 262_144  # events of one task, about, of a file that can be read in parts
PART_BYTES = 32 << 20  # of the files that one task reads, about
LARGE_FILE = 2 << 20  # bytes; smaller files are not read in parts


@dataclass(frozen=True)
class Loaded:
    """The stream when a read was loaded; Spark sends it to every process that plans.

    Attributes:
        seq: Its last batch.
        columns: The columns of the read.
        events: Columns of what events have after their images: added fields, elements of sets.
        changes: It reads changes, and not the rows of the replica.
        whole: It reads all columns.
    """

    epoch: int
    seq: int
    columns: tuple[tuple[str, Travel], ...]
    events: tuple[tuple[str, Travel], ...] = ()
    changes: bool = True
    whole: bool = True

    def spark_schema(self) -> StructType:
        """Return the columns as Spark's schema."""
        from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

        fields = [StructField(name, _spark_type(travel)) for name, travel in (*self.columns, *self.events)]
        added: dict[str, DataType] = {VERSION: LongType()}
        if self.changes:
            added = dict(zip(ADDED, (StringType(), LongType(), TimestampType()), strict=True))
        return StructType([*fields, *(StructField(name, kind) for name, kind in added.items())])


def _spark_type(travel: Travel) -> DataType:
    from pyspark.sql import types

    if travel.kind == "decimal":
        return types.DecimalType(travel.precision, travel.scale)
    if travel.element is not None:
        return types.ArrayType(_spark_type(travel.element))
    return {
        "boolean": types.BooleanType(),
        "smallint": types.ShortType(),
        "int": types.IntegerType(),
        "bigint": types.LongType(),
        "decimal(20,0)": types.DecimalType(20, 0),
        "decimal(38,0)": types.DecimalType(38, 0),
        "float": types.FloatType(),
        "double": types.DoubleType(),
        "binary": types.BinaryType(),
        "date": types.DateType(),
        "timestamp_ntz": types.TimestampNTZType(),
        "timestamp": types.TimestampType(),
    }.get(typed_name(travel), types.StringType())


# -- the stream --------------------------------------------------------------------------------------------------------
@contextmanager
def opened(options: ReadOptions) -> Iterator[tuple[ProjectParts, Stream]]:
    """The project and the stream of a read, for the block.

    Raises:
        ConfigError: The configuration is missing or wrong, or has no such stream.
        StateMissing: The state database does not exist on this machine.
    """
    with open(options.config) as project:
        parts = parts_of(project)
        with parts.read_only():
            yield parts, stream_of(parts, options)


def stream_of(parts: ProjectParts, options: ReadOptions) -> Stream:
    """Return the stream of a read; its sinks and source are not opened.

    Raises:
        ConfigError: There is no such stream.
        StateMissing: There is no state database.
    """
    names = [one.name for one in parts.config.streams]
    if not options.stream:
        listed = f"; streams: {', '.join(names)}" if names else ""
        raise ConfigError("load() names no stream", remedy=f'.load("STREAM"){listed}')
    if any(letter in options.stream for letter in "*?[") and options.stream not in names:
        raise NotBuilt(
            f"{options.stream!r} is a pattern: the tables that match have different columns",
            remedy="load one stream by its name, with a query for each; `qbcd status` lists the names",
        )
    if parts.state_is_new:
        raise StateMissing(
            f"there is no state database {parts.masking.foreign(str(parts.config.state_url()))} on this machine",
            stream=options.stream,
            remedy="is `config` the file of the project that polls? for another machine `state` must be the URL of a "
            f"server; otherwise: qbcd -c {options.config} prepare {options.stream}",
        )
    return parts.stream_to_read(options.stream)


def prepared_row(stream: Stream) -> StreamRow:
    """Return the stream's row, and prove that this machine sees its files.

    Raises:
        NotPrepared: It has no baseline yet.
        StateConflict: It belongs to another project, or the workdir is not here.
    """
    context = stream.site.context
    row = context.row()
    context.refuse_foreign(row)
    if row is None or not row.prepared:
        raise not_prepared(stream.name)
    context.prove_place()
    return row


def load(options: ReadOptions) -> Loaded:
    """Return the stream of a read as it is now.

    Raises:
        QbcdError: It cannot be read.
    """
    with plain_errors(), opened(options) as (_, stream):
        row = prepared_row(stream)
        if options.rows == "replica":
            replica_rows.refuse_unreadable(stream, row)
        captured = {column.name: column.travel for column in columns_at(row.checkpoint)}
        events = _event_columns(stream, captured) if options.rows == "changes" else {}
        known = {**captured, **events}
        for name in options.columns:
            if name not in known:
                near = did_you_mean(name, known, f"its columns: {', '.join(known)}")
                raise ConfigError(f"has no column {name!r}", stream=stream.name, remedy=near)
        columns = tuple((name, captured[name]) for name in options.columns or captured if name in captured)
        taken = sorted({name for name, _ in columns} & {*ADDED, *events})
        if taken:
            raise ConfigError(
                f"column {taken[0]} of the table has a name that change rows need themselves",
                stream=stream.name,
                remedy="leave it out with the option columns",
            )
        chosen = tuple((name, events[name]) for name in options.columns or events if name in events)
        return Loaded(
            row.epoch, row.last_batch_seq, columns, chosen, options.rows == "changes", whole=not options.columns
        )


def _event_columns(stream: Stream, captured: Mapping[str, Travel]) -> dict[str, Travel]:
    """Return the columns of what a stream's events have after their images."""
    found = [(ELEMENTS, Travel("text"))] if any(travel.unordered for travel in captured.values()) else []
    found += [] if stream.enrichment is None else stream.enrichment.fields
    return {event_column(name): travel for name, travel in found}


@contextmanager
def plain_errors() -> Iterator[None]:
    """Raise errors of qbcd without their causes, which Spark prints with tracebacks."""
    try:
        yield
    except QbcdError as error:
        error.__cause__, error.__suppress_context__ = None, True
        raise


# -- batches -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class ReadableBatches:
    """Batches of an epoch that have their added fields.

    Attributes:
        headers: Those that the site still has, oldest first.
        last: The number of the newest one, also if it was removed.
    """

    headers: list[BatchHeader]
    last: int


def readable(stream: Stream, row: StreamRow, after: int = 0) -> ReadableBatches:
    """Return the batches that can be read, of those after a number."""
    found = [one for one in stream.site.context.batches((row.epoch, after)) if one.epoch == row.epoch]
    if stream.enrichment is None:
        return ReadableBatches(found, row.last_batch_seq)
    ready = list(takewhile(stream.enrichment.is_ready, found))
    waiting = found[len(ready) :]
    return ReadableBatches(ready, min([row.last_batch_seq, *(one.seq - 1 for one in waiting)]))


def refuse_gap(stream: Stream, headers: Sequence[BatchHeader], wanted: range, epoch: int) -> None:
    """Refuse batches of which some are missing.

    Raises:
        StateConflict: Some are missing.
    """
    there = {header.seq for header in headers}
    missing = [number for number in wanted if number not in there]
    if missing:
        raise StateConflict(
            f"{batch_numbers(epoch, missing)} missing: they were removed after `retain`",
            stream=stream.name,
            remedy="raise `retain`; to begin with what there is, a new checkpoint with startingVersion "
            f"{EARLIEST!r}, and the rows of the replica",
        )


def plan_batch(options: ReadOptions, loaded: Loaded, filters: Sequence[Any]) -> list[Rows]:
    """Return the partitions of a batch read.

    Raises:
        QbcdError: The versions cannot be read.
    """
    with plain_errors(), opened(options) as (parts, stream):
        row = prepared_row(stream)
        refuse_other_epoch(stream, row, loaded.epoch, 'load the stream again by spark.read.format("qbcd")')
        _pin(stream)
        if options.rows == "replica":
            return replica_rows.partitions(stream, row, loaded.columns)
        there = readable(stream, row)
        first = there.headers[0].seq if there.headers else there.last + 1
        starting = {"": first, EARLIEST: first, LATEST: there.last + 1}.get(str(options.starting), options.starting)
        last = there.last if options.ending is None else options.ending
        assert isinstance(starting, int)
        if options.ending is not None and options.ending < starting:
            raise ConfigError(
                f"endingVersion {options.ending} is before the first version, {starting}",
                stream=stream.name,
                remedy=f"versions from {first} to {there.last} are there",
            )
        if starting <= min(first - 1, last):
            oldest = "oldest" if there.headers else "next"
            raise StateConflict(
                f"versions {starting} to {min(first - 1, last)} are not there: the {oldest} version is {first}",
                stream=stream.name,
                remedy=f"startingVersion {first}, and the rows before it by the option rows 'replica'; or raise "
                "`retain` before the next time",
            )
        read = [header for header in there.headers if starting <= header.seq <= last]
        read = [header for header in read if versions_of(filters, header)]
        return partitions(parts, stream, read, loaded, conditions_of(filters, loaded.columns))


def _pin(stream: Stream) -> None:
    """Keep the files of a lake replica for some minutes, for executors that read them later."""
    context = stream.site.context
    if context.kind == "lake":
        with context.writing() as conn:
            context.store.add_pin(conn, stream.name, PIN_SECONDS)


def refuse_other_epoch(stream: Stream, row: StreamRow, epoch: int, remedy: str) -> None:
    """Refuse a stream that was reset since.

    Raises:
        StateConflict: It was.
    """
    if row.epoch != epoch:
        raise StateConflict(
            f"was reset and prepared again (epoch {epoch} is now {row.epoch}): its rows do not follow those that were "
            "read",
            stream=stream.name,
            remedy=remedy,
        )


def refuse_changed_columns(stream: Stream, header: BatchHeader, loaded: Loaded) -> None:
    """Refuse a batch whose columns changed after the query was loaded.

    Raises:
        SchemaChanged: They did.
    """
    if header.seq <= loaded.seq or not has_other_columns(header, loaded):
        return
    raise SchemaChanged(
        f"batch {header.number} has other columns than the query: the captured columns changed",
        stream=stream.name,
        remedy="restart the query: load the stream again and start it with the same checkpoint; older batches then "
        "have NULL in new columns",
    )


def has_other_columns(header: BatchHeader, loaded: Loaded) -> bool:
    """Return True if a batch lacks a column of the read, has another type, or a new column."""
    there = dict(header.columns)
    return (loaded.whole and there != dict(loaded.columns)) or any(there.get(n) != t for n, t in loaded.columns)


# -- partitions --------------------------------------------------------------------------------------------------------
def partitions(
    parts: ProjectParts,
    stream: Stream,
    headers: Sequence[BatchHeader],
    loaded: Loaded,
    conditions: Sequence[Condition] = (),
) -> list[Rows]:
    """Return partitions of batches: files, or parts of large ones; small batches share one."""
    schema = arrow_schema([*loaded.columns, *loaded.events], changes=True)
    names = {header.fingerprint for header in stream.site.context.batches()}
    files = outbox_files.OutboxFiles(parts.config.own_folder, parts.state.project_id, stream, names)
    found: list[tuple[int, FilePiece]] = []
    for header in headers:
        view = stream.enrichment.view(header) if stream.enrichment is not None and loaded.events else None
        stored = {} if view is None else view.columns
        queries, images = change_queries(header, ReadColumns(loaded.columns, loaded.events, stored), conditions)
        if not queries:
            continue
        fields, fixed = tuple(staged_fields(header)), (header.seq, commit_time(header))
        for named, part, verified in _parts(stream, files, header):
            piece = FilePiece((named,), fields, queries, images, part, fixed, verified, *_added_file(view))
            found.append((_share(named.file.size, part, header), piece))
    rows = Rows(stream.name, schema, (), far_workdir(stream.site.context.job.workdir))
    return list(_grouped(rows, found))


def _added_file(view: BatchView | None) -> tuple[tuple[NamedFile, ...], tuple[tuple[str, str], ...]]:
    """Return the file with a batch's added fields and its columns; nothing without one."""
    if view is None or view.path is None:
        return (), ()
    path, texts = view.path.absolute(), [(column, "VARCHAR") for column in view.columns.values()]
    is_far = isinstance(view.place, str)  # an executor's copy of it must be that of this process
    file = PartFile.of(path) if is_far else PartFile(path.name, path.stat().st_size)
    named = NamedFile(view.place.rpartition("/")[0] if isinstance(view.place, str) else str(path.parent), file)
    return (named,), (("ordinal", "BIGINT"), *texts)


def _share(size: int, part: range | None, header: BatchHeader) -> int:
    return size if part is None else max(1, size * len(part) // max(1, header.size))


def _parts(
    stream: Stream, files: outbox_files.OutboxFiles, header: BatchHeader
) -> Iterator[tuple[NamedFile, range | None, bool]]:
    """Yield a batch's files, large ones in parts; one part of each verifies the whole file."""
    site = stream.site
    if isinstance(site, ParquetSite) and not outbox_files.is_split(stream, header):
        stored = FileSet.of_location(header.location)
        site.context.files.prove_parts(stored)
        named = [NamedFile(site.context.files.place(stored), file) for file in stored.files]
    else:
        _refuse_far_copies(stream, header)
        named = [NamedFile(str(path.parent), PartFile(path.name, path.stat().st_size)) for path in files.of(header)]
    for one in named:
        is_divided = one.file.size > LARGE_FILE and "://" not in one.folder  # each task would copy all of a far file
        bounds = _ordinals(Path(one.folder) / one.file.name, one.file.size) if is_divided else []
        if len(bounds) < 2:
            yield one, None, True
            continue
        for i, part in enumerate(bounds):
            yield one, part, i == 0


def _refuse_far_copies(stream: Stream, header: BatchHeader) -> None:
    """Refuse batches that are no files of a workdir at a URL: executors could not see them.

    Raises:
        NotBuilt: It is.
    """
    if stream.site.context.job.workdir.url:
        why = "has, or lacks, events that wait for a row of a lookup"
        if stream.site.context.kind == "database":
            why = f"is in the source {stream.source.name}"
        raise NotBuilt(
            f"batch {header.number} {why}, and the workdir is a URL: executors would not see a copy of it",
            stream=stream.name,
            remedy="read it from a sink, for instance parquet; or use a workdir in a folder",
        )


def _ordinals(path: Path, size: int) -> list[range]:
    """Return equal parts of a file's events by whole row groups; empty if they are not in order."""
    about = parquet.read_metadata(path)
    place = about.schema.to_arrow_schema().get_field_index("ordinal")
    groups: list[range] = []
    for i in range(about.num_row_groups):
        statistics = about.row_group(i).column(place).statistics
        if statistics is None or not statistics.has_min_max:
            return []
        group = range(statistics.min, statistics.max + 1)
        if groups and group.start < groups[-1].stop:
            return []
        groups.append(group)
    number = max(-(-about.num_rows // PART_EVENTS), -(-size // PART_BYTES))
    parts: dict[int, range] = {}
    for group in groups:
        middle = (group.start + group.stop) // 2 - groups[0].start
        part = middle * number // (groups[-1].stop - groups[0].start)
        parts[part] = range(parts[part].start if part in parts else group.start, group.stop)
    return list(parts.values())


def _grouped(rows: Rows, found: Iterable[tuple[int, FilePiece]]) -> Iterator[Rows]:
    """Yield partitions like `rows`: pieces in order, several small ones together."""
    group: list[FilePiece] = []
    size = 0
    for more, piece in found:
        if group and (size + more > PART_BYTES or piece.part is not None or group[-1].part is not None):
            yield replace(rows, pieces=tuple(group))
            group, size = [], 0
        group.append(piece)
        size += more
    if group:
        yield replace(rows, pieces=tuple(group))
