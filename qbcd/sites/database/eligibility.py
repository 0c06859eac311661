"""Checks before `prepare` of streams with a source replica: write rights, indexes, queries."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError

from qbcd.catalog.source import Session, Source
from qbcd.connectors.queries import SupportsQueryColumns
from qbcd.errors import Refused
from qbcd.sites.eligibility import Place
from qbcd.sites.write_rights import grants, missing_right, refuse_missing_rights, refuse_unordered_key
from qbcd.strategies import VbdDelta

__all__ = ["grants", "missing_right", "refuse_missing_rights", "refuse_other_columns", "refuse_unordered_key"]


def refuse_other_columns(source: Source, session: Session, strategy: VbdDelta, place: Place) -> None:
    """Refuse a query that has other columns once its views are expanded.

    Raises:
        Refused: It has other columns.
    """
    connector, conn, plan = source.connector, session.connection, strategy.plan
    expanded = strategy.skeleton.prepared.tree.sql(dialect=connector.dialect)
    try:
        ours, theirs = (
            [
                (c.name, c.sql_type, c.collation)
                for c in connector.require(SupportsQueryColumns).query_columns(conn, text)
            ]
            for text in (expanded, plan.table.query)
        )
        problem = "" if ours == theirs else f"its columns would be {ours}, and not {theirs}"
    except DBAPIError as error:
        problem = source.explain(error, plan.stream).what
    if problem:
        raise Refused(
            f"variant delta cannot write the query in the form that it needs: {problem}",
            stream=plan.stream,
            where=place("variant"),
            remedy="take variant compare or checksum",
        )
