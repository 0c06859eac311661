"""Checks of the indexes that a strategy cannot do without."""

from __future__ import annotations

from qbcd.catalog.source import Session, Source
from qbcd.connectors.catalog import SupportsIndexes
from qbcd.errors import Refused
from qbcd.sites.eligibility.values import Place
from qbcd.strategies import InSource, TableStrategy

STORED = ("table", "partitioned")  # kinds of tables that can have an index


def refuse_unordered_key(source: Source, session: Session, strategy: InSource, place: Place) -> None:
    """Refuse a key without an index in its order: each range would read the whole table.

    Raises:
        Refused: There is none.
    """
    plan = strategy.plan
    first = plan.key[0].name
    indexes = source.connector.require(SupportsIndexes).indexes(session.connection, plan.table)
    if any(i.ordered and not i.partial and i.columns[:1] == (first,) for i in indexes):
        return
    other = next((i.name for i in indexes if i.columns[:1] == (first,)), "")
    why = f"index {other} cannot answer an interval of keys" if other else f"no index begins with {first}"
    raise Refused(
        f"key ({', '.join(c.name for c in plan.key)}) of {plan.table.schema}.{plan.table.name} has no index in its "
        f"order ({why}), so that each range would read the whole table",
        stream=plan.stream,
        where=place("type"),
        remedy="create one, or use mds or id_rcs",
    )


def missing_index(source: Source, session: Session, strategy: TableStrategy) -> tuple[str, str]:
    """Return a message about a missing index, and its DDL.

    It is the index without which the strategy polls as another one. Both are empty if it is there, or if the strategy
    needs none.
    """
    if not strategy.covering:
        return "", ""
    look_up = source.connector.require(SupportsIndexes).indexes
    missing = strategy.missing_indexes(lambda table: look_up(session.connection, table))
    return ("no index covers all columns that a poll reads", missing[0]) if missing else ("", "")
