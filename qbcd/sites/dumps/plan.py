"""The plan of a stream of dumps: the columns of its next file, or those of the checkpoint."""

from __future__ import annotations

from collections.abc import Sequence

from qbcd.catalog.capture_change import columns_changed
from qbcd.config import StreamConfig
from qbcd.config.document import did_you_mean
from qbcd.config.files import FilesConfig
from qbcd.errors import ConfigError, DumpRefused, Refused, SchemaChanged
from qbcd.files.columns import column_of
from qbcd.files.content import DumpPlace
from qbcd.files.formats import DumpReader, open_dump
from qbcd.files.series import DumpFile
from qbcd.model import Column, StreamPlan, Table, travel_from_json
from qbcd.sites.dumps.poll import series_of, taken_by
from qbcd.sites.lake.context import LakeContext
from qbcd.sites.values import Settings
from qbcd.state import StreamRow


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
        DumpRefused: It is truncated or damaged; names the stream.
    """
    try:
        return open_dump(DumpPlace(dump.path, dump.name), files.format, known)
    except DumpRefused as error:
        error.stream = stream
        raise


def check_header(reader: DumpReader, plan: StreamPlan, header: Sequence[str]) -> None:
    """Compare the columns of a dump with those of the dump before.

    Raises:
        DumpRefused: A column is missing, new, or has another type.
    """
    now = reader.schema.names
    undo = f"write the file again with the columns of the dump before; or qbcd reset {plan.stream} and prepare it again"
    missing = next((name for name in header if name not in now), None)
    if missing is not None:
        raise reader.place.refused(
            f"has no column {missing!r}, which the dump before had", undo, line=_header_line(reader)
        )
    new = next((name for name in now if name not in header), None)
    if new is not None:
        raise reader.place.refused(
            f"has a column {new!r}, which the dump before did not have", undo, line=_header_line(reader)
        )
    for column in plan.captured:
        found = column_of(reader.schema.field(column.name))
        if found is None or (found.sql_type, found.travel) != (column.sql_type, column.travel):
            kind = reader.schema.field(column.name).type if found is None else found.sql_type
            what = f"column {column.name} is {kind} now and was {column.sql_type}"
            raise reader.place.refused(what, undo, line=_header_line(reader))


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
