"""The columns of a target table and of the rows that are staged for it, for each mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qbcd.errors import DeliveryError
from qbcd.model import BatchHeader, Travel
from qbcd.sinks.table.options import SOFT_DELETED, TableOptions

TEXT, LONG, FLAG, INSTANT = Travel("text"), Travel("int64"), Travel("boolean"), Travel("timestamptz")
STAGE_OP = "qbcd_op"
STAGE_ONLY_REMOVE = "x"  # in `STAGE_OP`: the old key of a row whose key is now spelled differently
CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP = "_change_type", "_commit_version", "_commit_timestamp"
# Of the flat envelope, after the stream's own columns.
FACTS = (
    ("qbcd_op", TEXT),
    ("qbcd_changed", TEXT),
    ("qbcd_reason", TEXT),
    ("qbcd_pair_id", TEXT),
    ("qbcd_event_id", TEXT),
    ("qbcd_epoch", LONG),
    ("qbcd_batch_seq", LONG),
    ("qbcd_ts_ms", LONG),
)
DEBEZIUM = (
    ("key", TEXT),
    ("before", TEXT),
    ("after", TEXT),
    ("source", TEXT),
    ("op", TEXT),
    ("ts_ms", LONG),
    ("event_id", TEXT),
)


@dataclass(frozen=True)
class TargetColumn:
    """A column of a target table.

    Attributes:
        in_key: It is part of the table's primary key.
        required: It is never NULL.
    """

    name: str
    travel: Travel
    in_key: bool = False
    required: bool = False


@dataclass(frozen=True)
class Layout:
    """The columns of a target table, for the columns of a batch.

    Attributes:
        columns: All of them, in the order in which the table is created.
        key: Names of the stream's key columns; the rows of a batch are matched by them.
        values: Names of the other columns of the stream.
        staged: Name and form of the columns of staged rows: the operation, the key, the values. Of a log, the columns
            of the table itself.
    """

    columns: tuple[TargetColumn, ...]
    key: tuple[str, ...]
    values: tuple[str, ...]
    staged: tuple[tuple[str, Travel], ...]

    @property
    def primary_key(self) -> tuple[str, ...]:
        """Names of the table's key columns."""
        return tuple(column.name for column in self.columns if column.in_key)


def layout_of(options: TableOptions, header: BatchHeader) -> Layout:
    """Return the layout of a stream's target table.

    Raises:
        DeliveryError: The stream does not give what the mode needs.
    """
    _refuse_lacking(options, header)
    columns = _columns(options, header)
    values = tuple(name for name, _ in header.columns if name not in header.key)
    if options.mode == "log":
        return Layout(columns, header.key, values, tuple((c.name, c.travel) for c in columns))
    forms = dict(header.columns)
    staged = ((STAGE_OP, TEXT), *((name, forms[name]) for name in (*header.key, *values)))
    return Layout(columns, header.key, values, staged)


def _refuse_lacking(options: TableOptions, header: BatchHeader) -> None:
    if options.mode != "log" and not header.key and not header.one_row:
        raise DeliveryError(
            f"mode {options.mode} finds rows by their key, and this stream has none",
            remedy="write mode: log for the sink",
            stream=header.stream,
        )
    if options.mode == "log" and options.envelope == "changes" and not header.before:
        raise DeliveryError(
            "envelope changes needs old values, and this stream has none",
            remedy="write envelope: qbcd for the sink, or use a strategy that keeps old values",
            stream=header.stream,
        )


def _columns(options: TableOptions, header: BatchHeader) -> tuple[TargetColumn, ...]:
    plain = [TargetColumn(name, travel) for name, travel in header.columns]
    keyed = [
        TargetColumn(name, travel, name in header.key, name in header.key)
        for name, travel in sorted(header.columns, key=lambda column: column[0] not in header.key)
    ]
    if options.mode == "log":
        added = [TargetColumn(added_column(name), TEXT) for name, _ in header.added]
        return (*_log(options, plain), *added)
    if options.mode == "mirror":
        flag = [TargetColumn(SOFT_DELETED, FLAG, required=True)] if options.deletes == "soft" else []
        return (*keyed, *flag)
    names = options.history
    return (
        *keyed,
        TargetColumn(names.valid_from, INSTANT, in_key=True, required=True),
        TargetColumn(names.valid_to, INSTANT),
        TargetColumn(names.is_deleted, FLAG, required=True),
        TargetColumn(names.batch_seq, LONG, required=True),
    )


def added_column(field: str) -> str:
    """Return the column of a log for a field that enrichment adds to events, as JSON text."""
    return f"qbcd_{field}"


def _log(options: TableOptions, plain: Sequence[TargetColumn]) -> list[TargetColumn]:
    if options.envelope == "debezium":
        return [TargetColumn(name, travel) for name, travel in DEBEZIUM]
    if options.envelope == "changes":
        facts = ((CHANGE_TYPE, TEXT), (COMMIT_VERSION, LONG), (COMMIT_TIMESTAMP, INSTANT))
        return [*plain, *(TargetColumn(name, travel, required=True) for name, travel in facts)]
    return [*plain, *(TargetColumn(name, travel) for name, travel in FACTS)]
