"""Restrictions whose value can change while the row does not.

Strategies that read by timestamp never see such a change. Others see it: a row that leaves the restriction becomes a
delete, and a remark says so.
"""

from __future__ import annotations

import sqlglot
from sqlalchemy.engine import Connection
from sqlglot import exp

from qbcd.connectors.base import Connector
from qbcd.connectors.queries import SupportsVolatility
from qbcd.errors import ConfigError
from qbcd.model import StreamPlan
from qbcd.queries import fewest_arguments, words_of
from qbcd.queries.clock import TIMES, moment_in
from qbcd.sql.restriction import quoted_column_remarks

_REMEDY = "write it over the row's own columns, or use id_rcs, mds or id, which compare every row"


def check_chance(conn: Connection, connector: Connector, plan: StreamPlan, *, place: str = "") -> None:
    """Refuse a restriction that uses random values.

    No two reads of the table would agree, with any strategy.

    Raises:
        ConfigError: It does.
    """
    called = (
        connector.queries.nondeterministic_calls(conn, words_of(plan.where, connector.dialect)) if plan.where else []
    )
    if called:
        raise ConfigError(
            f"the restriction uses {called[0]}, whose value differs at each read: rows would come and go by chance",
            stream=plan.stream,
            where=place,
            remedy="write it over the row's own columns",
        )


def _moment(connector: Connector, plan: StreamPlan) -> str:
    times = {c.name for c in plan.table.columns if c.travel.kind in TIMES}
    tree = sqlglot.parse_one(plan.where, read=connector.dialect)
    return moment_in(tree, connector.queries.moments, lambda column: column.name in times)


def check_steady(conn: Connection, connector: Connector, plan: StreamPlan, *, place: str = "") -> None:
    """Refuse a restriction that depends on other rows, on the time or on random values.

    Raises:
        ConfigError: It does.
    """
    if not plan.where:
        return
    if sqlglot.parse_one(plan.where, read=connector.dialect).find(exp.Query, exp.Exists) is not None:
        found = "a subquery, whose result changes without the row's timestamp"
    else:
        called = _changing(conn, connector, plan)
        found = f"{called[0]}, whose value changes without the row's timestamp" if called else ""
    if found:
        raise ConfigError(
            f"the restriction uses {found}; strategy {plan.strategy} would not see rows enter or leave it",
            stream=plan.stream,
            where=place,
            remedy=_REMEDY,
        )


def restriction_remarks(conn: Connection, connector: Connector, plan: StreamPlan) -> list[str]:
    """Return remarks on an accepted restriction that may select other rows than expected.

    Its value changes while a row does not, as with ``now()``; or it contains a text with the name of a column.
    """
    if not plan.where:
        return []
    called = ", ".join(_changing_by_arguments(conn, connector, plan))
    changing = [
        f"the restriction uses {called}, whose value changes while a row does not: rows that leave the restriction "
        "that way become deletes, although they still exist (write it over the row's own columns to avoid that)"
    ]
    return [*(changing if called else ()), *quoted_column_remarks(plan, connector.dialect)]


def _changing_by_arguments(conn: Connection, connector: Connector, plan: StreamPlan) -> list[str]:
    """Return the calls of `_changing` with brackets, except those that arguments make steady."""
    if not connector.supports(SupportsVolatility):
        return []
    words, fewest = words_of(plan.where, connector.dialect), fewest_arguments(plan.where, connector.dialect)
    steady = connector.require(SupportsVolatility).steady_arguments
    return [
        f"{name}()" if f"{name}(" in words else name
        for name in _changing(conn, connector, plan)
        if name not in steady or fewest.get(name, 0) < steady[name]
    ]


def _changing(conn: Connection, connector: Connector, plan: StreamPlan) -> list[str]:
    """Return the calls whose value can change while the row does not, or a text for "now"."""
    called = connector.require(SupportsVolatility).volatile_calls(conn, words_of(plan.where, connector.dialect))
    return called or list(filter(None, [_moment(connector, plan)]))
