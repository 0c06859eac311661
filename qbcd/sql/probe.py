"""A restriction judged by the source, which plans a query with it."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError

from qbcd.catalog.source import Session, Source
from qbcd.errors import ConfigError, Refused, SchemaChanged
from qbcd.model import StreamPlan
from qbcd.sql.restriction import restriction_probe, restriction_remedy
from qbcd.sql.steadiness import check_chance


def probe_plan(session: Session, source: Source, plan: StreamPlan, stream: str, place: str) -> None:
    """Let the source plan a query with the user's restriction, to refuse a wrong one early.

    Args:
        place: ``file:line`` of the restriction.

    Raises:
        ConfigError: The source does not accept it as a condition on the table.
        Refused: The role may not read everything that it needs.
    """
    if not plan.where:
        return
    check_chance(session.connection, source.connector, plan, place=place)
    try:
        session.rows(restriction_probe(source.connector, plan))
    except DBAPIError as error:
        explained = source.explain(error, stream)
        explained.where = explained.where or place
        if not source.connector.errors.is_statement_error(error) or (
            isinstance(explained, Refused) and not isinstance(explained, SchemaChanged)
        ):
            raise explained from error
        missing = isinstance(explained, SchemaChanged)
        raise ConfigError(
            f"the restriction is refused: {explained.what}",
            stream=stream,
            where=explained.where,
            remedy=restriction_remedy(plan, source.connector.dialect, column_missing=missing),
        ) from error
