"""Kinds of columns of a model: captured values, and columns that writers maintain.

Values are Python's; a shape has their SQL types in each database and their form in events.
"""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any


@dataclass(frozen=True)
class Shape:
    """A kind of value.

    Attributes:
        first: SQL type in PostgreSQL.
        family: SQL type in MariaDB and MySQL.
        values: Values to choose from.
        event_value: Function that returns the value in an event.
    """

    first: str
    family: str
    values: Sequence[Any]
    event_value: Callable[[Any], Any] = lambda value: value


def _moment(value: dt.datetime) -> str:
    return value.isoformat(timespec="microseconds")


_TEXTS = ["", " ", "a", "A", "a ", "ä", "null", "it's", "\\", "%s", "日本🙂", "line\nbreak", "x" * 300]
_CLOCKS = [dt.datetime(2024, 3, 31, 2, 30), dt.datetime(2024, 1, 1, 0, 0, 0, 1), dt.datetime(1999, 12, 31, 23, 59, 59)]
SHAPES: Mapping[str, Shape] = {
    "whole": Shape("integer", "integer", [0, 1, -1, 2147483647, -2147483648]),
    "big": Shape("bigint", "bigint", [0, 9007199254740993, -9223372036854775808, 9223372036854775807]),
    "money": Shape("numeric(12,2)", "decimal(12,2)", [Decimal(v) for v in ("-0.01", "100.50", "9999999999.99")], str),
    "ratio": Shape("double precision", "double", [0.1, -2.5, 1e22, 1.7976931348623157e308, 5e-324]),
    "word": Shape("varchar(300)", "varchar(300)", _TEXTS),
    "long": Shape("text", "longtext", [*_TEXTS, "y" * 70_000]),
    "raw": Shape("bytea", "longblob", [b"", b"\0", b"\0\0", b"\xff'\\"], lambda v: base64.b64encode(v).decode()),
    "day": Shape("date", "date", [dt.date(2024, 2, 29), dt.date(1970, 1, 1), dt.date(9999, 12, 31)], str),
    "moment": Shape("timestamp", "datetime(6)", [*_CLOCKS, dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)], _moment),
    "instant": Shape("timestamptz", "timestamp(6) NULL", _CLOCKS, lambda value: _moment(value) + "Z"),
}


@dataclass(frozen=True)
class Service:
    """A column that writers maintain for readers of changes; no stream captures it.

    Attributes:
        first: SQL type in PostgreSQL.
        family: SQL type in MariaDB and MySQL.
        made: SQL that an insert writes. Placeholders: ``{clock}``, the server's time; ``{two_hours_on}``, the time in a
            zone two hours ahead; ``{clock_or_null}``, one of both at random; ``{number}``, larger with each write;
            ``{flagged}``.
        moved: SQL that an update writes; None keeps the value.
    """

    first: str
    family: str
    made: str
    moved: str | None = None

    def written(self, kind: str, rng: Random, *, number: int, flagged: bool, is_insert: bool) -> str | None:
        """Return the SQL that an insert or update writes in a database of `kind`; None for nothing."""
        sql = self.made if is_insert else self.moved
        first = kind == "postgresql"
        clock = "clock_timestamp()" if first else "sysdate(6)"
        utc = f"({clock} AT TIME ZONE 'UTC')" if first else clock
        ahead = f"({utc} + interval '2 hours')" if first else f"({utc} + interval 2 hour)"
        return sql and sql.format(
            clock=clock,
            two_hours_on=ahead,
            clock_or_null=rng.choice([clock, "NULL"]),
            number=number,
            flagged=str(flagged),
        )
