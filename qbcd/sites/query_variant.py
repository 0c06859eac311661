"""Which variant `variant: auto` of a query is: the one that it was prepared as, else what the source allows the role.

A variant decides where a stream's truth is, so that it must be known before the stream's row is read. It is never
chosen anew while there is such a row: the choice is asked of the stores themselves.
"""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import inspect

from qbcd.catalog.query_table import probe_query, rights_of
from qbcd.catalog.resolve import resolve
from qbcd.catalog.source import Source
from qbcd.config import StreamConfig
from qbcd.errors import QbcdError
from qbcd.state import ProjectState, StreamStore
from qbcd.strategies import why_not_delta

OPTION, CHECKSUM, COMPARE, DELTA = "variant", "checksum", "compare", "delta"


def with_variant(config: StreamConfig, source: Source, project: ProjectState) -> tuple[StreamConfig, bool]:
    """The stream with its variant, where its strategy has some and the user leaves the choice to the source.

    Also whether that is a guess: a source that cannot be asked chooses nothing. What is done next meets the same error,
    and says so; who goes on later asks again.
    """
    if OPTION not in config.options or config.options[OPTION] is not None:
        return config, False
    guessed = False
    with project.read() as conn:
        row = project.store.read(conn, config.name) if project.store.exists(conn) else None
    try:
        chosen = CHECKSUM if row is not None else _in_source(config, source, project)
    except QbcdError:
        chosen, guessed = COMPARE if project.acknowledged(config.name) else CHECKSUM, True
    audit = config.audit if chosen == DELTA else None  # the others compare all rows at each poll
    return replace(config, options={**config.options, OPTION: chosen}, audit=audit), guessed


def _in_source(config: StreamConfig, source: Source, project: ProjectState) -> str:
    """What was prepared in the source, or else could be."""
    store, connector = StreamStore(source.schema), source.connector
    with source.read(config.name) as session:
        conn = session.connection
        row = store.read(conn, config.name) if store.exists(conn) else None
        if row is not None and row.project_id == project.project_id:
            return str(row.checkpoint.get("requested", {}).get("options", {}).get(OPTION) or COMPARE)
        table = probe_query(source, session, config.query, stream=config.name)
        if config.key == ():
            return CHECKSUM
        rights = rights_of(connector, conn, table, (), source.schema)
        there = inspect(conn).has_schema(source.schema)
        if not (rights.own_schema if there else rights.create_schema):
            return CHECKSUM
        connector.catalog.check_in_source(conn, table, stream=config.name)
        plan, _ = resolve(config, source, session)
        return COMPARE if why_not_delta(connector, plan) else DELTA
