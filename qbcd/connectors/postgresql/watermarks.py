"""Watermarks and delete flags over columns of PostgreSQL, and transaction ids as watermarks."""

from __future__ import annotations

import re
from datetime import timedelta

from sqlalchemy.engine import Connection
from sqlglot import exp
from typing_extensions import override

from qbcd.connectors.postgresql import access, expressions, safe_watermark, types
from qbcd.connectors.watermarks import SupportsDeleteFlags, SupportsSystemMarks, SupportsWatermarks, Watermarks
from qbcd.model import Column, Table

_KINDS = {"timestamptz": "zoned", "timestamp": "zoneless", "date": "zoneless"} | dict.fromkeys(
    types.INTEGERS, "counter"
)
_PRECISION = re.compile(r"\((\d)\)")
_LENGTH = re.compile(r"\((\d+)\)")
_TEXTS = frozenset({"text", "varchar", "bpchar", "citext"})
# A timestamp outside these years, infinity included, has the server's own text.
_FIXED = (
    "CASE WHEN {v} >= '0001-01-01'::timestamp AND {v} < '10000-01-01'::timestamp "
    "THEN to_char({v}, 'YYYY-MM-DD HH24:MI:SS.US') ELSE {v}::text END"
)
# Transaction ids in rows have 32 bits. Two of them compare correctly up to a distance of half of all ids.
MAX_DISTANCE = 1_000_000_000


# -- columns ---------------------------------------------------------------------------------------------------------
def mark_kind(column: Column) -> str:
    """Return ``zoned``, ``zoneless``, ``counter`` or an empty string."""
    if column.base_type == "numeric":
        return "counter" if column.travel.kind == "decimal" and column.travel.scale == 0 else ""
    return _KINDS.get(column.base_type, "")


def mark_unit(column: Column) -> timedelta:
    """Return the difference of neighboring values: by the type's precision, a day, or zero."""
    if mark_kind(column) == "counter":
        return timedelta(0)
    if column.base_type == "date":
        return timedelta(days=1)
    digits = _PRECISION.search(types.storage_type(column))
    return timedelta(microseconds=10 ** (6 - int(digits[1]))) if digits else timedelta(microseconds=1)


def mark(column: Column, text: exp.Expression) -> exp.Expression:
    """Return a watermark from its text, without the column's precision: a cast would round it."""
    if column.base_type in types.INTEGERS:
        return expressions.cast(text, "bigint")
    if column.base_type == "numeric":
        return expressions.cast(text, "numeric")
    moment = expressions.cast(text, "timestamp")  # exact in comparison with a date too, and by its index
    if column.base_type == "timestamptz":
        return expressions.call("timezone", exp.Literal.string("UTC"), moment)
    return moment


def mark_text(column: Column, value: exp.Expression) -> exp.Expression:
    """Return a value as text that `mark` reads."""
    if mark_kind(column) == "counter":
        return expressions.cast(value, "text")
    moment = value.copy()
    if column.base_type == "timestamptz":
        moment = expressions.call("timezone", exp.Literal.string("UTC"), value)
    elif column.base_type == "date":
        moment = expressions.cast(value, "timestamp")
    return expressions.fragment(_FIXED, v=moment)


def flag_problem(column: Column, literal: bool | int | str) -> str:
    """Return why the column cannot be a delete flag with this value, or an empty string."""
    problem = f"{column.sql_type} cannot be compared with {literal!r}"
    if column.base_type == "bool":
        return "" if isinstance(literal, bool) else f"{problem}: compare a boolean with true or false"
    if column.base_type in types.INTEGERS or mark_kind(column) == "counter":
        whole = isinstance(literal, int) and not isinstance(literal, bool)
        return "" if whole else f"{problem}: compare a number with a whole number"
    if column.base_type not in _TEXTS:
        return f"{column.sql_type} cannot be a delete flag, which is a boolean, a whole number or a text"
    if not isinstance(literal, str):
        return f"{problem}: compare a text with a text"
    longest = _LENGTH.search(types.storage_type(column))
    if "\x00" in literal or (longest and len(literal) > int(longest[1])):
        return f"{column.sql_type} cannot hold {literal!r}"
    return ""


def flag_form(column: Column, value: exp.Expression, literal: bool | int | str) -> exp.Expression:
    """Test if the flag equals `literal`, which must fit (`flag_problem`); never NULL."""
    problem = flag_problem(column, literal)
    if problem:
        raise ValueError(f"delete flag {column.name}: {problem}")
    if isinstance(literal, bool):
        deleted: exp.Expression = exp.Boolean(this=literal)
    elif isinstance(literal, int):
        deleted = expressions.number(literal) if literal >= 0 else exp.Neg(this=expressions.number(-literal))
    else:
        # without the column's length: a cast would cut the text
        own = "text" if column.base_type == "varchar" else column.base_type
        schema = column.fact("operators")
        deleted = expressions.cast(exp.Literal.string(literal), f"{schema}.{own}" if schema else own)
    return exp.Coalesce(this=expressions.key_equal(column, value, deleted), expressions=[exp.false()])


# -- transaction ids ---------------------------------------------------------------------------------------------------
def system_mark(conn: Connection) -> str:
    """Return the oldest transaction id of rows that may still become visible, 64 bits wide."""
    return str(conn.exec_driver_sql("SELECT pg_snapshot_xmin(pg_current_snapshot())::text").scalar_one())


def system_mark_problem(conn: Connection, mark: str, table: Table | None = None) -> str:
    """Return why rows since `mark` cannot be found, or an empty string."""
    if conn.exec_driver_sql("SELECT pg_is_in_recovery()").scalar_one():
        return "this server is a standby, which does not show all transactions of the primary"
    if table is not None and table.kind not in ("table", "partitioned"):
        return f"{table.schema}.{table.name} is a {table.kind}, whose rows have no transaction ids of their own"
    if table is not None and table.remote:
        return f"rows of {table.schema}.{table.name} are on another server, and have no transaction ids of this one"
    if not mark:
        return ""
    now = int(conn.exec_driver_sql("SELECT pg_snapshot_xmax(pg_current_snapshot())::text").scalar_one())
    distance = now - int(mark)
    if distance < 0:
        return f"the server is at transaction {now}, before the watermark {mark}: it went back"
    if distance > MAX_DISTANCE:
        return f"{distance} transactions since the watermark; ids of rows are ambiguous beyond {MAX_DISTANCE}"
    return ""


def changed_since_mark(mark: exp.Expression, alias: str = "") -> exp.Expression:
    """Test if the row's own transaction id is `mark` or newer.

    Both ages are relative to the same id, which the server fixes for the transaction: so this compares ids modulo their
    32 bits. A frozen row keeps its id. A row older than half of all ids may look new, which only makes it a candidate.
    """
    own, wide = exp.column("xmin", table=alias or None), expressions.cast(mark, "xid8")
    return exp.LTE(this=expressions.call("age", own), expression=expressions.call("age", expressions.cast(wide, "xid")))


class PostgresWatermarks(Watermarks, SupportsWatermarks, SupportsSystemMarks, SupportsDeleteFlags):
    """Columns and transaction ids as watermarks, and delete flags."""

    mark_kind = staticmethod(mark_kind)
    mark_unit = staticmethod(mark_unit)
    mark = staticmethod(mark)
    mark_text = staticmethod(mark_text)
    counter_problem = staticmethod(access.counter_problem)
    high_water = staticmethod(safe_watermark.high_water)
    sees_sessions = staticmethod(safe_watermark.sees_sessions)
    not_only_writer = staticmethod(access.not_only_writer)
    system_mark = staticmethod(system_mark)
    system_mark_problem = staticmethod(system_mark_problem)
    changed_since_mark = staticmethod(changed_since_mark)
    flag_form = staticmethod(flag_form)
    flag_problem = staticmethod(flag_problem)

    @override
    def sessions_grant(self, role: str) -> str:
        return f"GRANT {safe_watermark.RIGHT} TO {self.facts.grantee(role)}"
