"""Targets of table sinks, read through their native drivers, with the values that they must have."""

from __future__ import annotations

import base64
import json
import sqlite3
import struct
import uuid
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
from typing_extensions import override

from qbcd.model import Travel
from tests.support.places import Place, new_place, server_of
from tests.support.table_batches import FORMS, KEY, Row, State

Rows = dict[tuple[Any, ...], tuple[Any, ...]]


class TargetPlace(ABC):
    """A database that a sink writes to.

    Attributes:
        url: Its URL for the sink.
        nan: It can hold NaN and infinite floats.
        mark: Quote of identifiers.
    """

    kind: str
    nan = False
    mark = '"'

    def __init__(self, url: str) -> None:
        self.url = url

    @abstractmethod
    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Run a statement in a transaction of its own; return its rows."""

    def expected(self, travel: Travel, value: Any) -> Any:
        """Return the value that a driver reads for a value of an event."""
        return value

    def moment(self, ms: int) -> str:
        """Return a boundary as an SQL literal."""
        return f"'{datetime.fromtimestamp(ms / 1000, timezone.utc):%Y-%m-%d %H:%M:%S.%f}'"

    def read(self, name: str, travel: Travel) -> str:
        """Return SQL that reads a column exactly."""
        return self.quote(name)

    def quote(self, name: str) -> str:
        return f"{self.mark}{name.replace(self.mark, self.mark * 2)}{self.mark}"

    def rows(self, where: str = "", names: Sequence[str] = (), table: str = "public_orders") -> list[tuple[Any, ...]]:
        """Return the table's rows: captured columns, then `names`."""
        columns = ", ".join([*(self.read(name, travel) for name, travel in FORMS), *map(self.quote, names)])
        return self.sql(f"SELECT {columns} FROM {table} {where}")

    def state(self, where: str = "") -> Rows:
        """Return the rows by key; a key that occurs twice is an error."""
        found = self.rows(where)
        by_key = {row[: len(KEY)]: tuple(map(_comparable, row)) for row in found}
        assert len(by_key) == len(found)
        return by_key

    def states_at(self, boundaries: Sequence[int]) -> list[Rows]:
        """Return the states of a history at ascending boundaries, by the limits of its rows, in one read."""
        found: list[Rows] = [{} for _ in boundaries]
        for row in self.rows(names=("valid_from", "valid_to")):
            begin, end = map(_milliseconds, row[-2:])
            last = len(boundaries) if end is None else bisect_left(boundaries, end)
            assert begin is not None
            for state in found[bisect_left(boundaries, begin) : last]:
                assert row[: len(KEY)] not in state, "a key has two rows at one time"
                state[row[: len(KEY)]] = tuple(map(_comparable, row[:-2]))
        return found

    def of(self, rows: State) -> Rows:
        """Return the rows of a source as the target must have them."""
        return {
            key: tuple(_comparable(self.expected(travel, row[name])) for name, travel in FORMS)
            for key, row in rows.items()
        }

    def row(self, row: Row) -> tuple[Any, ...]:
        """Return one row of a source as the target must have it."""
        return next(iter(self.of({(): row}).values()))


def _milliseconds(limit: Any) -> int | None:
    """Return a limit of a row in milliseconds, as drivers read it: a time in UTC, or its text."""
    if limit is None:
        return None
    at = datetime.fromisoformat(limit.replace("Z", "+00:00")) if isinstance(limit, str) else limit
    return round(at.replace(tzinfo=timezone.utc).timestamp() * 1000)


def comparable(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return a row whose values can be compared: NaN by its text, a decimal with its scale."""
    return tuple(map(_comparable, row))


def _comparable(value: Any) -> Any:
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list):
        return [_comparable(one) for one in value]
    return str(value) if isinstance(value, Decimal) else value


def event_value(travel: Travel, value: Any) -> Any:
    """Return a value as it is in the JSON of an event."""
    if value is None or travel.kind in ("boolean", "int16", "int32", "int64", "float32", "float64"):
        return value
    if travel.kind == "uint64":
        return int(value)
    if travel.element is not None:
        return [event_value(travel.element, one) for one in value]
    return _text(travel, value)


def _text(travel: Travel, value: Any) -> Any:
    """Return the text of events."""
    if value is None or isinstance(value, str):
        return value
    if travel.element is not None:
        return json.dumps([_text(travel.element, v) for v in value], ensure_ascii=False, separators=(",", ":"))
    if travel.kind == "uint64":
        return str(int(value))
    if travel.kind in ("timestamp", "timestamptz"):
        return value.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z" * (travel.kind == "timestamptz")
    if travel.kind == "binary":
        return base64.b64encode(value).decode()
    return format(value, "f") if isinstance(value, Decimal) else str(value)


class SqlitePlace(TargetPlace):
    """A file of SQLite."""

    kind = "sqlite"

    @override
    def sql(self, text: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.url.removeprefix("sqlite:///"))
        try:
            with connection:
                return connection.execute(text).fetchall()
        finally:
            connection.close()

    @override
    def expected(self, travel: Travel, value: Any) -> Any:
        if travel.kind == "boolean" and value is not None:
            return int(value)
        plain = ("int16", "int32", "int64", "float32", "float64", "binary", "boolean")
        return _single(travel, value) if travel.kind in plain else _text(travel, value)

    @override
    def moment(self, ms: int) -> str:
        return f"'{datetime.fromtimestamp(ms / 1000, timezone.utc):%Y-%m-%dT%H:%M:%S.%f}Z'"


class DuckPlace(TargetPlace):
    """A file of DuckDB."""

    kind, nan = "duckdb", True

    @override
    def sql(self, text: str) -> list[tuple[Any, ...]]:
        with duckdb.connect(self.url.removeprefix("duckdb:///")) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            found = connection.execute(text)
            return found.fetchall() if found.description else []

    @override
    def expected(self, travel: Travel, value: Any) -> Any:
        return _single(travel, value)

    @override
    def moment(self, ms: int) -> str:
        return super().moment(ms) + "::TIMESTAMPTZ"

    @override
    def rows(self, where: str = "", names: Sequence[str] = (), table: str = "public_orders") -> list[tuple[Any, ...]]:
        return [tuple(_in_utc(value) for value in row) for row in super().rows(where, names, table)]


class ServerPlace(TargetPlace):
    """A place on a server."""

    def __init__(self, place: Place) -> None:
        super().__init__(place.url)
        self.place, self.kind = place, place.kind

    @override
    def sql(self, text: str) -> list[tuple[Any, ...]]:
        return self.place.sql(text)


class PostgresTargetPlace(ServerPlace):
    """A database of PostgreSQL."""

    nan = True

    @override
    def expected(self, travel: Travel, value: Any) -> Any:
        if travel.kind == "float32" and value is not None:
            return float(_shortest(value))  # the driver reads PostgreSQL's text
        return value

    @override
    def moment(self, ms: int) -> str:
        return super().moment(ms)[:-1] + "+00'"

    @override
    def rows(self, where: str = "", names: Sequence[str] = (), table: str = "public_orders") -> list[tuple[Any, ...]]:
        found = super().rows(where, names, table)
        return [tuple(_in_utc(value) for value in row) for row in found]


class FamilyPlace(ServerPlace):
    """A database of MariaDB or MySQL."""

    mark = "`"

    @override
    def read(self, name: str, travel: Travel) -> str:
        return f"{self.quote(name)} + 0e0" if travel.kind == "float32" else self.quote(name)  # else six digits

    @override
    def expected(self, travel: Travel, value: Any) -> Any:
        if value is None:
            return None
        if travel.kind == "uint64":
            return int(value)
        if travel.kind == "boolean":
            return int(value)
        if travel.kind == "timestamptz":
            return value.replace(tzinfo=None)
        if travel.element is not None:
            return _text(travel, value)
        return _single(travel, value)


def _shortest(value: float) -> str:
    """Return the shortest text of a 32-bit float."""
    return next(
        text
        for digits in range(1, 12)
        if struct.pack("f", float(text := f"{value:.{digits}g}")) == struct.pack("f", value)
    )


def _single(travel: Travel, value: Any) -> Any:
    return struct.unpack("f", struct.pack("f", value))[0] if travel.kind == "float32" and value is not None else value


def _in_utc(value: Any) -> Any:
    return value.astimezone(timezone.utc) if isinstance(value, datetime) and value.tzinfo else value


@contextmanager
def new_target(kind: str, request: Any, folder: Path) -> Iterator[TargetPlace]:
    """A new, empty target of a kind of database."""
    if kind in ("sqlite", "duckdb"):
        file = folder / f"{uuid.uuid4().hex}.{kind}"
        yield (SqlitePlace if kind == "sqlite" else DuckPlace)(f"{kind}:///{file}")
        return
    with new_place(server_of(request, kind), kind) as place:
        yield (PostgresTargetPlace if kind == "postgresql" else FamilyPlace)(place)
