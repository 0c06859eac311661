"""Choice of the variant for `variant: auto`: the prepared one, otherwise one that can work.

The variant decides the store of the stream's row, so it must be known before that row is read. While a row exists, the
choice is read from it and not made again.
"""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import inspect

from qbcd.catalog.query_table import probe_query, rights_of
from qbcd.catalog.resolve import resolve
from qbcd.catalog.source import Source
from qbcd.config import StreamConfig
from qbcd.errors import QbcdError
from qbcd.model.checkpoint import Checkpoint
from qbcd.state import ProjectState, StreamStore

OPTION, CHECKSUM, COMPARE, DELTA = "variant", "checksum", "compare", "delta"


def with_variant(
    config: StreamConfig, source: Source, project: ProjectState, *, ask: bool = True
) -> tuple[StreamConfig, bool]:
    """Return the stream with its variant chosen, if the user leaves that to qbcd.

    Args:
        config: The stream.
        source: Its source.
        project: The project's state.
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
        rights = rights_of(connector, conn, table, (), source.schema)
        schema_exists = inspect(conn).has_schema(source.schema)
        if not (rights.own_schema if schema_exists else rights.create_schema):
            return CHECKSUM
        connector.catalog.check_in_source(conn, table, stream=config.name)
        plan, _ = resolve(config, source, session)
        return COMPARE if why_not_delta(connector, plan) else DELTA
