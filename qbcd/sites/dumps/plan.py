"""The plan of a stream of dumps: the columns of its next file, or those of the checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from qbcd.catalog.capture_change import columns_changed
from qbcd.config import StreamConfig
from qbcd.config.document import did_you_mean
from qbcd.config.files import FilesConfig
from qbcd.errors import ConfigError, DumpRefused, Refused, SchemaChanged
from qbcd.files.columns import column_of
from qbcd.files.content import DumpPlace
from qbcd.files.fitting import check_types, fit, is_untyped
from qbcd.files.formats import DumpReader, open_dump
from qbcd.files.series import DumpFile, TakenDumps
from qbcd.model import Column, StreamPlan, Table, travel_from_json
from qbcd.sites.dumps.poll import series_of, taken_by
from qbcd.sites.lake.context import LakeContext
from qbcd.sites.values import Settings
from qbcd.state import StreamRow


@dataclass(frozen=True)
class FittedPlan:
    """The plan of a stream for a further dump.

    Attributes:
        plan: The plan with the widest type of each column.
        padding: By position, what texts of the replica need at their end to be of the plan's type.
        untyped: Captured columns to which no dump has given a type, this one included.
    """

    plan: StreamPlan
    padding: Mapping[int, str] = field(default_factory=dict)
    untyped: tuple[str, ...] = ()


def plan_of_dumps(context: LakeContext, config: StreamConfig, settings: Settings, row: StreamRow | None) -> StreamPlan:
    """Return the stream's plan: by the first file before `prepare`, then by the checkpoint.

    Raises:
        ConfigError: A column does not exist.
        DumpRefused: The first file cannot be read.
        Refused: There is no file.
        SchemaChanged: Other columns are requested than before.
    """
    files = series_of(context).config
    if row is not None and row.prepared:
        if columns_changed(settings.requested, row.checkpoint):
            raise SchemaChanged(
                "other columns are requested, and the replica has only those that were captured before",
                stream=context.stream,
                remedy=f"take the change back, or qbcd reset {context.stream} and prepare it again",
            )
        shape = row.checkpoint["shape"]
        columns = [
            Column(name, sql_type, sql_type, True, "", "typed", travel_from_json(travel))
            for name, sql_type, _, _, travel in shape["columns"]
        ]
        return _plan(config, columns, shape["key"], int(row.checkpoint["rows"]))
    first = _first(context)
    reader = opened(first, files, context.stream, ())
    chosen = _captured(config, reader)
    return _plan(config, chosen, config.key or (), -1)


def opened(dump: DumpFile, files: FilesConfig, stream: str, known: Sequence[str]) -> DumpReader:
    """Open a dump.

    Raises:
        DumpRefused: It is truncated or damaged, or `types` does not fit; names the stream.
    """
    try:
        reader = open_dump(DumpPlace(dump.path, dump.name), files.format, known)
        check_types(reader)
        return reader
    except DumpRefused as error:
        error.stream = stream
        raise


def fitted_plan(reader: DumpReader, plan: StreamPlan, taken: TakenDumps, *, digests: bool) -> FittedPlan:
    """Compare the columns of dumps, and return the plan with their widest types.

    They are the columns of this dump and of the dumps before.

    Args:
        digests: The replica has digests and no values.

    Raises:
        DumpRefused: A column is missing, new, or has a type that cannot be compared with the one before.
    """
    now, line = reader.schema.names, _header_line(reader)
    undo = f"write the file again with the columns of the dump before; or qbcd reset {plan.stream} and prepare it again"
    missing = next((name for name in taken.header if name not in now), None)
    if missing is not None:
        raise reader.place.refused(f"has no column {missing!r}, which the dump before had", undo, line=line)
    new = next((name for name in now if name not in taken.header), None)
    if new is not None:
        what = f"has a column {new!r}, which the dump before did not have"
        raise reader.place.refused(what, undo, line=line)
    columns, padding = [], {}
    for place, column in enumerate(plan.captured):
        frozen = digests or place < len(plan.key)
        found = fit(column, reader, untyped=column.name in taken.untyped, frozen=frozen)
        if found is None:
            kind = column_of(reader.schema.field(column.name))
            shown = reader.schema.field(column.name).type if kind is None else kind.sql_type
            what = f"column {column.name} is {shown} now and was {column.sql_type}"
            raise reader.place.refused(what, undo, line=line)
        columns.append(found.column)
        if found.padding:
            padding[place] = found.padding
    untyped = tuple(name for name in taken.untyped if is_untyped(reader, name))
    return FittedPlan(with_columns(plan, columns), padding, untyped)


def untyped_columns(reader: DumpReader, plan: StreamPlan) -> tuple[str, ...]:
    """Return the captured columns without a type in a dump."""
    return tuple(column.name for column in plan.captured if is_untyped(reader, column.name))


def with_columns(plan: StreamPlan, columns: Sequence[Column]) -> StreamPlan:
    """Return the plan with other types of its columns."""
    keys, captured = len(plan.key), tuple(columns)
    return replace(plan, table=replace(plan.table, columns=captured), key=captured[:keys], columns=captured[keys:])


def _header_line(reader: DumpReader) -> int | None:
    return 1 if reader.form.type == "csv" and reader.form.names is None else None


def _first(context: LakeContext) -> DumpFile:
    series = series_of(context)
    ready, remarks = series.after(taken_by(context, {}))
    if ready:
        return ready[0]
    what = f"there is no complete file {series.config.files}"
    if remarks:
        raise Refused(
            f"{what} yet: {remarks[0]}",
            stream=context.stream,
            remedy=f"wait until the file is complete, then run qbcd prepare {context.stream} again",
        )
    raise Refused(
        what,
        stream=context.stream,
        remedy="correct `files` of the source, or prepare the stream when the first file is there",
    )


def _captured(config: StreamConfig, reader: DumpReader) -> list[Column]:
    """Return key and captured columns.

    Raises:
        ConfigError: One does not exist.
        DumpRefused: One has a type that cannot be captured.
    """
    names, key = reader.schema.names, list(config.key or ())
    for option in ("key", "columns", "exclude"):
        for name in getattr(config, option) or ():
            if name not in names:
                remedy = did_you_mean(name, names, f"it has {', '.join(names)}")
                what = f"{reader.place.label} has no column {name!r}"
                raise ConfigError(what, remedy=remedy, stream=config.name, where=config.place(option))
            if option == "exclude" and name in key:
                what = f"column {name} is part of the key and cannot be excluded"
                raise ConfigError(what, remedy="remove it", stream=config.name, where=config.place(option))
    others = [name for name in config.columns or names if name not in key and name not in config.exclude]
    columns = []
    for name in (*key, *others):
        column = column_of(reader.schema.field(name))
        if column is None:
            kind = reader.schema.field(name).type
            refused = reader.place.refused(f"column {name} is {kind}, which cannot be captured", f"exclude: [{name}]")
            refused.stream = config.name
            raise refused
        columns.append(column)
    return columns


def _plan(config: StreamConfig, columns: Sequence[Column], key: Sequence[str], rows: int) -> StreamPlan:
    table = Table(config.source, config.name, "files", tuple(columns), primary_key=tuple(key), rows=rows)
    captured = tuple(columns)
    options = tuple(sorted(config.options.items()))
    return StreamPlan(
        config.name, config.source, table, captured[: len(key)], captured[len(key) :], "", config.strategy, options
    )
