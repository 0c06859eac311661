"""Checks of variants of captured queries, and the choice for `variant: auto`.

The choice is the prepared variant, or one that can work. The variant decides the store of the stream's row, so it must
be known before that row is read. While a row exists, the choice is read from it and not made again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy.exc import DBAPIError

from qbcd.catalog.resolve import resolve
from qbcd.catalog.source import Session, Source
from qbcd.config import StreamConfig
from qbcd.connectors.queries import SupportsQueryColumns
from qbcd.errors import QbcdError, Refused
from qbcd.model.checkpoint import Checkpoint
from qbcd.sites.eligibility.rights import own_schema
from qbcd.sites.eligibility.values import Place
from qbcd.state import ProjectState, StreamStore

if TYPE_CHECKING:
    from qbcd.strategies import TableStrategy, VbdDelta

OPTION, CHECKSUM, COMPARE, DELTA = "variant", "checksum", "compare", "delta"


def with_variant(
    config: StreamConfig, source: Source, project: ProjectState, *, ask: bool = True
) -> tuple[StreamConfig, bool]:
    """Return the stream with its variant chosen, if the user leaves that to qbcd.

    Args:
        ask: Ask the source; otherwise guess.

    Returns:
        The stream, and True if the variant is a guess because the source does not answer or was not asked. The next
        operation reports the same error; a job asks before its next poll.
    """
    if OPTION not in config.options or config.options[OPTION] is not None:
        return config, False
    guessed = False
    with project.read() as conn:
        row = project.store.read(conn, config.name) if project.store.exists(conn) else None
    guess = COMPARE if project.acknowledged(config.name) else CHECKSUM
    if row is not None:
        chosen = CHECKSUM
    elif ask:
        try:
            chosen = _ask_source(config, source, project)
        except QbcdError:
            chosen, guessed = guess, True
    else:
        chosen, guessed = guess, True
    audit = config.audit if chosen == DELTA else None  # other variants compare all rows at each poll
    return replace(config, options={**config.options, OPTION: chosen}, audit=audit), guessed


def _ask_source(config: StreamConfig, source: Source, project: ProjectState) -> str:
    """Return the variant that was prepared in the source, or one that can work there."""
    from qbcd.catalog.query_table import probe_query
    from qbcd.strategies import why_not_delta

    store, connector = StreamStore(source.schema), source.connector
    with source.read(config.name) as session:
        conn = session.connection
        row = store.read(conn, config.name) if store.exists(conn) else None
        if row is not None and row.project_id == project.project_id:
            return str(Checkpoint(row.checkpoint).requested.get("options", {}).get(OPTION) or COMPARE)
        table = probe_query(source, session, config.query, stream=config.name)
        if config.key == ():
            return CHECKSUM
        if not own_schema(source, session, table).is_usable:
            return CHECKSUM
        connector.catalog.check_in_source(conn, table, stream=config.name)
        plan, _ = resolve(config, source, session)
        return COMPARE if why_not_delta(connector, plan) else DELTA


# -- variant delta -----------------------------------------------------------------------------------------------------
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


def why_not_incremental(strategy: TableStrategy) -> list[str]:
    """Return the remark that timestamps of a query's tables are not used, with the reason.

    It is empty if they are.
    """
    plan = strategy.plan
    if not plan.table.query or not plan.option("timestamps"):
        return []
    from qbcd.strategies import why_not_delta

    why = why_not_delta(strategy.connector, plan)
    if why:
        return [f"`timestamps` are not used, since variant delta cannot follow: {why}"]
    return [
        f"`timestamps` are not used by {strategy.label}; variant delta could follow the query where the role may make "
        "tables in qbcd's schema (`variant: delta` says what is missing; a prepared stream is reset first)"
    ]
