"""The tables in which the truth of a stream lives, and the seal that shows when one of their rows was damaged.

The same tables serve both sites: under plain names in qbcd's schema of a source, with the prefix ``qbcd_`` in the
project's state database. JSON is kept as text, checksums as decimal text (they pass 64 bits), times as seconds of the
store's own clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Integer, MetaData, Table, UniqueConstraint

from qbcd.errors import Refused
from qbcd.model import digest_of
from qbcd.state.dialects import KEY_TEXT, LONG_TEXT, SECONDS, TABLE_OPTIONS

PREFIX = "qbcd_"


def _seconds(name: str) -> Column[float]:
    return Column(name, SECONDS, nullable=False)


def _big(name: str, *, key: bool = False) -> Column[int]:
    return Column(name, BigInteger, primary_key=key, nullable=False, autoincrement=False)


def _text(name: str, *, key: bool = False, nullable: bool = False) -> Column[Any]:
    return Column(name, KEY_TEXT if key else LONG_TEXT, primary_key=key, nullable=nullable)


class SiteTables:
    """The tables of one stream store.

    Args:
        schema: qbcd's schema in a source, or None for the state database.
    """

    def __init__(self, schema: str | None) -> None:
        self.schema = schema
        self.metadata = MetaData(schema=schema)
        self.layout = self._table("layout", Column("one", Integer, primary_key=True), _big("format_version"))
        self.stream = self._table(
            "stream",
            _text("project_id"),
            _text("stream", key=True),
            _big("epoch"),
            _big("version"),
            _big("fencing_token"),
            _big("last_batch_seq"),
            _big("next_range_id"),
            _big("advanced_by"),
            Column("prepared", Boolean, nullable=False),
            _text("checkpoint"),
            loose=(),
        )
        self.lease = self._table("lease", _text("stream", key=True), _text("owner"), _seconds("until"), _big("token"))
        self.batch = self._table(
            "batch",
            _text("stream", key=True),
            _big("epoch", key=True),
            _big("batch_seq", key=True),
            _big("token"),
            _big("ts_ms"),
            _text("fingerprint"),
            _text("header"),
            Column("folded", Boolean, nullable=False),
            _seconds("created_at"),
            loose=("folded", "created_at"),
        )
        self.range = self._table(
            "range",
            _text("stream", key=True),
            _big("range_id", key=True),
            _text("lo", nullable=True),
            _text("hi", nullable=True),
            _big("rows"),
            _text("checksum"),
            _text("segment", nullable=True),
            _seconds("last_visited"),
            loose=("last_visited",),
        )
        self.segment = self._table(
            "segment",
            _text("stream", key=True),
            _text("segment_id", key=True),
            _big("epoch"),
            _text("files"),
            _big("rows"),
            _big("folded_through"),
            _big("token"),
            loose=(),
        )
        self.pin = self._table("pin", _text("pin_id", key=True), _text("stream"), _big("version"), _seconds("until"))

    def _table(self, name: str, *columns: Column[Any], loose: tuple[str, ...] | None = None) -> Table:
        return make_table(self.metadata, name if self.schema else PREFIX + name, *columns, loose=loose)


def make_table(
    metadata: MetaData,
    name: str,
    *columns: Column[Any],
    loose: tuple[str, ...] | None = None,
    unique: tuple[str, ...] = (),
) -> Table:
    """A table of qbcd's own.

    Args:
        loose: Columns that the seal leaves out, since they change alone; None for a table without seal.
        unique: Columns with an index that is made in one statement with the table.
    """
    parts = [*columns, *([UniqueConstraint(*unique)] if unique else [])]
    if loose is None:
        return Table(name, metadata, *parts, **TABLE_OPTIONS)
    sealed = tuple(c.name for c in columns if c.name not in loose)
    return Table(name, metadata, *parts, _text("seal"), info={"sealed": sealed}, **TABLE_OPTIONS)


def seal(table: Table, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a row with its seal, a hash over all columns that change together."""
    return {**values, "seal": digest_of({name: values[name] for name in table.info["sealed"]})}


def unseal(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a row as they were sealed.

    Raises:
        Refused: The row is not the one that qbcd wrote.
    """
    values = dict(row)
    found = values.pop("seal")
    if found != digest_of({name: values[name] for name in table.info["sealed"]}):
        raise Refused(
            f"a row of table {table.fullname} is damaged: its content does not fit its seal",
            remedy="restore the store from a backup, or reset the stream",
            stream=str(values.get("stream", "")),
        )
    return values
