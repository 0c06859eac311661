"""Restrictions whose value can change while the row does not: strategies that read by time-stamp would never see it."""

from __future__ import annotations

import sqlglot
from sqlalchemy.engine import Connection
from sqlglot import exp

from qbcd.connectors.base import Connector
from qbcd.errors import ConfigError
from qbcd.model import StreamPlan
from qbcd.queries import words_of

_REMEDY = "write it over the row's own columns, or use id_rcs, mds or id, which compare every row"


def check_steady(conn: Connection, connector: Connector, plan: StreamPlan, *, place: str = "") -> None:
    """Refuses a restriction that looks at other rows, at the time or at chance.

    Raises:
        ConfigError: It does.
    """
    if not plan.where:
        return
    if sqlglot.parse_one(plan.where, read=connector.dialect).find(exp.Query, exp.Exists) is not None:
        found = "a subquery, whose result changes without the row's time-stamp"
    else:
        called = connector.unsteady(conn, words_of(plan.where, connector.dialect))
        found = f"{called[0]}, whose value changes without the row's time-stamp" if called else ""
    if found:
        raise ConfigError(
            f"the restriction uses {found}; strategy {plan.strategy} would not see rows enter or leave it",
            stream=plan.stream, where=place, remedy=_REMEDY,
        )  # fmt: skip
