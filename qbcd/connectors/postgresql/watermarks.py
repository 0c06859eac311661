"""Watermarks and delete flags over columns of PostgreSQL, and transaction ids as watermarks."""

from __future__ import annotations

import re
from datetime import timedelta

from sqlalchemy.engine import Connection
from sqlglot import exp

from qbcd.connectors.postgresql import access, expressions, safe_watermark, types
from qbcd.connectors.watermarks import SupportsDeleteFlags, SupportsSystemMarks, SupportsWatermarks, Watermarks
from qbcd.model import Column, Table

_KINDS = {"timestamptz": "zoned", "timestamp": "zoneless", "date": "zoneless"} | dict.fromkeys(
    types.INTEGERS, "counter"
)
_PRECISION = re.compile(r"\((\d)\)")
_LENGTH = re.compile(r"\((\d+)\)")
_TEXTS = frozenset({"text", "varchar", "bpchar", "citext"})
# A timestamp outside these years, infinity among them, keeps the server's own text.
_FIXED = (
    "CASE WHEN {v} >= '0001-01-01'::timestamp AND {v} < '10000-01-01'::timestamp "
    "THEN to_char({v}, 'YYYY-MM-DD HH24:MI:SS.US') ELSE {v}::text END"
)
# Ids of transactions have 32 bits in a row, and two of them compare as long as less than half of all lies between.
MAX_DISTANCE = 1_000_000_000


# -- columns ---------------------------------------------------------------------------------------------------------
def mark_kind(column: Column) -> str:
    """``zoned``, ``zoneless``, ``counter`` or an empty string."""
    if column.base_type == "numeric":
        return "counter" if column.travel.kind == "decimal" and column.travel.scale == 0 else ""
    return _KINDS.get(column.base_type, "")


def mark_unit(column: Column) -> timedelta:
    """The step between two neighboring values: by the type's precision, a day, or zero."""
    if mark_kind(column) == "counter":
        return timedelta(0)
    if column.base_type == "date":
        return timedelta(days=1)
    digits = _PRECISION.search(types.storage_type(column))
    return timedelta(microseconds=10 ** (6 - int(digits[1]))) if digits else timedelta(microseconds=1)


def mark(column: Column, text: exp.Expression) -> exp.Expression:
    """A watermark from its text, without the column's precision, to which a cast would round it."""
    if column.base_type in types.INTEGERS:
        return expressions.cast(text, "bigint")
    if column.base_type == "numeric":
        return expressions.cast(text, "numeric")
    moment = expressions.cast(text, "timestamp")  # exact beside a date too, and by its index
    if column.base_type == "timestamptz":
        return expressions.call("timezone", exp.Literal.string("UTC"), moment)
    return moment


def mark_text(column: Column, value: exp.Expression) -> exp.Expression:
    """A value as text that `mark` takes back."""
    if mark_kind(column) == "counter":
        return expressions.cast(value, "text")
    moment = value.copy()
    if column.base_type == "timestamptz":
        moment = expressions.call("timezone", exp.Literal.string("UTC"), value)
    elif column.base_type == "date":
        moment = expressions.cast(value, "timestamp")
    return expressions.fragment(_FIXED, v=moment)


def flag_problem(column: Column, literal: bool | int | str) -> str:
    """Why the column is no delete flag by this literal, or an empty string."""
    said = f"{column.sql_type} cannot be compared with {literal!r}"
    if column.base_type == "bool":
        return "" if isinstance(literal, bool) else f"{said}: a boolean flag says true or false"
    if column.base_type in types.INTEGERS or mark_kind(column) == "counter":
        whole = isinstance(literal, int) and not isinstance(literal, bool)
        return "" if whole else f"{said}: a flag that is a number says a whole number"
    if column.base_type not in _TEXTS:
        return f"{column.sql_type} is no type of a delete flag: those are boolean, whole numbers and texts"
    if not isinstance(literal, str):
        return f"{said}: a flag that is a text says a text"
    longest = _LENGTH.search(types.storage_type(column))
    if "\x00" in literal or (longest and len(literal) > int(longest[1])):
        return f"{column.sql_type} cannot hold {literal!r}"
    return ""


def flag_form(column: Column, value: exp.Expression, literal: bool | int | str) -> exp.Expression:
    """Test if the flag says deleted; never NULL.

    Raises:
        ValueError: The literal does not fit; see `flag_problem`.
    """
    problem = flag_problem(column, literal)
    if problem:
        raise ValueError(f"delete flag {column.name}: {problem}")
    if isinstance(literal, bool):
        said: exp.Expression = exp.Boolean(this=literal)
    elif isinstance(literal, int):
        said = expressions.number(literal) if literal >= 0 else exp.Neg(this=expressions.number(-literal))
    else:
        # without the column's length, to which a cast would cut it
        own = "text" if column.base_type == "varchar" else column.base_type
        schema = column.fact("operators")
        said = expressions.cast(exp.Literal.string(literal), f"{schema}.{own}" if schema else own)
    return exp.Coalesce(this=expressions.key_equal(column, value, said), expressions=[exp.false()])


# -- transaction ids ---------------------------------------------------------------------------------------------------
def system_mark(conn: Connection) -> str:
    """The oldest transaction id that may still come, 64 bits wide."""
    return str(conn.exec_driver_sql("SELECT pg_snapshot_xmin(pg_current_snapshot())::text").scalar_one())


def system_mark_problem(conn: Connection, mark: str, table: Table | None = None) -> str:
    """Return why rows since `mark` cannot be found, or an empty string."""
    if conn.exec_driver_sql("SELECT pg_is_in_recovery()").scalar_one():
        return "this server is a standby, which does not know all transactions of the primary"
    if table is not None and table.kind not in ("table", "partitioned"):
        return f"{table.schema}.{table.name} is a {table.kind}, whose rows have no transaction ids of their own"
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

    Both ages are against one id that the server keeps for the transaction, so that it drops out; comparing them is
    comparing ids modulo their 32 bits. A frozen row keeps its id; one that is older than half of all ids may pass for
    new, which only makes it a candidate.
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

    def sessions_grant(self, role: str) -> str:
        return f"GRANT {safe_watermark.RIGHT} TO {self.facts.grantee(role)}"
