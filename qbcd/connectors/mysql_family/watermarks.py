"""Watermarks and delete flags of MariaDB and MySQL, and the safe high watermark.

InnoDB shows a transaction only after its first access to a table. One that is open and idle before that is invisible,
and its next statement may write a time that it stored at its start. The list of transactions may be a tenth of a second
old, or older while others read it all the time. So the list alone is no bound: `lag` is needed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from pymysql.constants import ER
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError
from sqlglot import exp
from typing_extensions import override

from qbcd.connectors.facts import HighWater
from qbcd.connectors.mysql_family import access, expressions, types
from qbcd.connectors.mysql_family.facts import FamilyFacts
from qbcd.connectors.mysql_family.grants import granted_everywhere
from qbcd.connectors.mysql_family.ranges import literal_text
from qbcd.connectors.mysql_family.rows import UNBOUND, Query, engines, role_of, rows_of, rows_of_each
from qbcd.connectors.watermarks import SupportsDeleteFlags, SupportsWatermarks, Watermarks
from qbcd.errors import MissingPrivilege
from qbcd.model import Column, Table

_KINDS = {"timestamp": "zoned", "datetime": "zoneless", "date": "zoneless"} | {
    base: "counter" for base in types.INTEGERS if base != "year"
}
_PRECISION = re.compile(r"\((\d)\)")
_TRUTHS = re.compile(r"tinyint\(1\)|bit\(1\)", re.IGNORECASE)
_FIXED = "date_format({v}, '%Y-%m-%d %H:%i:%s.%f')"
RIGHT = "PROCESS"  # to see transactions of other sessions
BLIND = "open transactions that have not accessed an InnoDB table yet are invisible"
# Their starts are whole seconds in the server's time zone; so they are read as ages, by its clock in that zone.
_TRANSACTIONS = """
SELECT max(timestampdiff(MICROSECOND, trx_started, sysdate(6))) AS age FROM information_schema.innodb_trx
WHERE trx_mysql_thread_id <> connection_id()
"""
_CLOCK = "SELECT date_format(utc_timestamp(6), '%Y-%m-%d %H:%i:%s.%f') AS now"
_SYSTEM_ZONE, _OWN_ZONE = "SET time_zone = SYSTEM", "SET time_zone = '+00:00'"
_XA = "XA RECOVER"
_STARTED = "SELECT date_format(utc_timestamp(6) - INTERVAL {age} MICROSECOND, '%Y-%m-%d %H:%i:%s.%f')"
# Storage engines with rows on another server.
_ELSEWHERE = frozenset({"federated", "connect", "spider", "s3", "ndbcluster", "ndb"})


def mark_kind(column: Column) -> str:
    """Return ``zoned``, ``zoneless``, ``counter`` or an empty string."""
    if column.base_type == "decimal":
        return "counter" if column.travel.kind == "decimal" and column.travel.scale == 0 else ""
    return _KINDS.get(column.base_type, "")


def mark_unit(column: Column) -> timedelta:
    """Return the difference of neighboring values: by the type's precision, a day, or zero."""
    if mark_kind(column) == "counter":
        return timedelta(0)
    if column.base_type == "date":
        return timedelta(days=1)
    digits = _PRECISION.search(column.sql_type)
    return timedelta(microseconds=10 ** (6 - int(digits[1]))) if digits else timedelta(seconds=1)


def mark(column: Column, text: exp.Expression) -> exp.Expression:
    """Return a watermark from its text, with microseconds, whatever precision the column has."""
    if column.base_type == "decimal":
        return expressions.sql("cast({v} AS DECIMAL(65, 0))", v=text)
    if column.base_type in types.INTEGERS:
        return expressions.sql(f"cast({{v}} AS {'UNSIGNED' if column.fact('unsigned') else 'SIGNED'})", v=text)
    if column.base_type == "timestamp":
        # It is compared in the session's zone, which the pins set to UTC; neither server reads a zone from a text.
        return expressions.sql("convert_tz(cast({v} AS DATETIME(6)), '+00:00', @@session.time_zone)", v=text)
    return expressions.sql("cast({v} AS DATETIME(6))", v=text)


def mark_text(column: Column, value: exp.Expression) -> exp.Expression:
    """Return a value as text that `mark` reads."""
    if mark_kind(column) == "counter":
        return expressions.sql("cast({v} AS CHAR)", v=value)
    if column.base_type == "timestamp":
        value = expressions.sql("convert_tz({v}, @@session.time_zone, '+00:00')", v=value)
    return expressions.sql(_FIXED, v=value)


def flag_problem(column: Column, literal: bool | int | str) -> str:
    """Return why the column cannot be a delete flag with this value, or an empty string."""
    problem = f"{column.sql_type} cannot be compared with {literal!r}"
    if column.base_type in types.INTEGERS or column.base_type == "bit" or mark_kind(column) == "counter":
        if isinstance(literal, bool):
            return "" if _TRUTHS.match(column.sql_type) else f"{problem}: compare a number with a whole number"
        return "" if isinstance(literal, int) else f"{problem}: compare a number with a whole number"
    if column.base_type not in types.STRINGS and column.base_type != "enum":
        return f"{column.sql_type} cannot be a delete flag, which is a boolean, a whole number or a text"
    if not isinstance(literal, str):
        return f"{problem}: compare a text with a text"
    longest = column.fact("characters")
    return f"{column.sql_type} cannot hold {literal!r}" if longest and len(literal) > int(longest) else ""


def flag_form(column: Column, value: exp.Expression, literal: bool | int | str) -> exp.Expression:
    """Test if the flag equals `literal`, which must fit (`flag_problem`); never NULL."""
    problem = flag_problem(column, literal)
    if problem:
        raise ValueError(f"delete flag {column.name}: {problem}")
    if isinstance(literal, bool):
        return expressions.sql(f"({{v}} IS {'TRUE' if literal else 'FALSE'})", v=value)
    deleted = str(literal) if isinstance(literal, int) else literal_text(literal)
    return expressions.sql(f"coalesce({{v}} = {deleted.replace('{', '{{').replace('}', '}}')}, FALSE)", v=value)


def _prepared(conn: Connection) -> int:
    """Return the number of prepared transactions, those without a session included.

    It is 0 if the role may not read them.
    """
    try:
        return len(conn.exec_driver_sql(_XA).all())
    except DBAPIError as error:
        if error.connection_invalidated:
            raise
        return 0


def _high_water(conn: Connection, clock: str, ages: Sequence[Any], prepared: int) -> HighWater:
    """Return the result of a clock, ages of transactions, and a number of prepared ones."""
    known = [int(age) for age in ages if age is not None]
    oldest = None
    if known:
        started = _STARTED.format(age=max(0, *known) + 1_000_000)  # whole seconds may have been rounded up or down
        oldest = str(conn.exec_driver_sql(started, execution_options=UNBOUND).scalar_one())
    return HighWater(clock, oldest, f"{prepared} prepared transactions are open" if prepared else "", BLIND)


class FamilyWatermarks(Watermarks, SupportsWatermarks, SupportsDeleteFlags):
    """Columns as watermarks, and delete flags."""

    facts: FamilyFacts
    mark_kind = staticmethod(mark_kind)
    mark_unit = staticmethod(mark_unit)
    mark = staticmethod(mark)
    mark_text = staticmethod(mark_text)
    counter_problem = staticmethod(access.counter_problem)
    flag_form = staticmethod(flag_form)
    flag_problem = staticmethod(flag_problem)

    @override
    def high_water(self, conn: Connection) -> HighWater:
        """The session's time zone is restored."""
        zoned: list[Query] = [
            (_SYSTEM_ZONE, None),
            (_TRANSACTIONS, None),
            (self.facts.running, None),
            (_OWN_ZONE, None),
        ]
        try:
            [clock], _, *ages, _, prepared = rows_of_each(conn, [(_CLOCK, None), *zoned, (_XA, None)])
        except DBAPIError as error:
            if error.connection_invalidated:
                raise
            return self._high_water_by_each(conn)  # the role may not see everything
        return _high_water(conn, str(clock["now"]), [one["age"] for [one] in ages], len(prepared))

    def _high_water_by_each(self, conn: Connection) -> HighWater:
        """Read the same by single statements, to know which one fails."""
        clock = str(conn.exec_driver_sql(_CLOCK, execution_options=UNBOUND).scalar_one())
        conn.exec_driver_sql(_SYSTEM_ZONE)
        try:
            ages = [conn.exec_driver_sql(sql).scalar_one() for sql in (_TRANSACTIONS, self.facts.running)]
        except DBAPIError as error:
            if error.orig is None or error.orig.args[0] != ER.SPECIFIC_ACCESS_DENIED_ERROR:
                raise
            role = role_of(conn)
            what = f"role {role} may not see other sessions, which a timestamp needs: {error.orig.args[1]}"
            raise MissingPrivilege(what, remedy=self.sessions_grant(role)) from error
        finally:
            conn.exec_driver_sql(_OWN_ZONE)
        return _high_water(conn, clock, ages, _prepared(conn))

    @override
    def sees_sessions(self, conn: Connection) -> bool:
        return granted_everywhere(self.facts.grants_of(conn), RIGHT)

    @override
    def sessions_grant(self, role: str) -> str:
        return f"GRANT {RIGHT} ON *.* TO {self.facts.grantee(role)}"

    @override
    def not_only_writer(self, conn: Connection, table: Table) -> str:
        for sql, why in self.facts.applying:
            if any(str(r["value"]).upper() not in ("0", "OFF", "NO", "", "NONE") for r in rows_of(conn, sql)):
                return why
        for name, engine in engines(conn, table).items():
            if engine.lower() in _ELSEWHERE:
                return f"{name} has storage engine {engine}, whose rows other servers write"
        return ""
