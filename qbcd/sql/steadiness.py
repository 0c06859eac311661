"""Restrictions whose value can change while the row does not: strategies that read by timestamp would never see it."""

from __future__ import annotations

import sqlglot
from sqlalchemy.engine import Connection
from sqlglot import exp

from qbcd.connectors.base import Connector
from qbcd.connectors.queries import SupportsVolatility
from qbcd.errors import ConfigError
from qbcd.model import StreamPlan
from qbcd.queries import words_of
from qbcd.queries.clock import TIMES, moment_in

_REMEDY = "write it over the row's own columns, or use id_rcs, mds or id, which compare every row"


def check_chance(conn: Connection, connector: Connector, plan: StreamPlan, *, place: str = "") -> None:
    """Refuses a restriction by chance, under which no two looks at the table agree, whatever the strategy.

    Raises:
        ConfigError: It is one.
    """
    called = (
        connector.queries.nondeterministic_calls(conn, words_of(plan.where, connector.dialect)) if plan.where else []
    )
    if called:
        raise ConfigError(
            f"the restriction uses {called[0]}, whose value is another one at each look: rows would come and go by "
            "chance",
            stream=plan.stream,
            where=place,
            remedy="write it over the row's own columns",
        )


def _moment(connector: Connector, plan: StreamPlan) -> str:
    times = {c.name for c in plan.table.columns if c.travel.kind in TIMES}
    tree = sqlglot.parse_one(plan.where, read=connector.dialect)
    return moment_in(tree, connector.queries.moments, lambda column: column.name in times)


def check_steady(conn: Connection, connector: Connector, plan: StreamPlan, *, place: str = "") -> None:
    """Refuses a restriction that looks at other rows, at the time or at chance.

    Raises:
        ConfigError: It does.
    """
    if not plan.where:
        return
    if sqlglot.parse_one(plan.where, read=connector.dialect).find(exp.Query, exp.Exists) is not None:
        found = "a subquery, whose result changes without the row's timestamp"
    else:
        called = connector.require(SupportsVolatility).volatile_calls(conn, words_of(plan.where, connector.dialect))
        called = called or list(filter(None, [_moment(connector, plan)]))
        found = f"{called[0]}, whose value changes without the row's timestamp" if called else ""
    if found:
        raise ConfigError(
            f"the restriction uses {found}; strategy {plan.strategy} would not see rows enter or leave it",
            stream=plan.stream,
            where=place,
            remedy=_REMEDY,
        )
