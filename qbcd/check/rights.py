"""All rights that the source's role lacks, in one error: to read, write, see sessions."""

from __future__ import annotations

from collections.abc import Sequence

from qbcd.catalog.files import FileSource
from qbcd.catalog.jdbc import JdbcSource
from qbcd.catalog.resolve import resolve
from qbcd.catalog.source import Session
from qbcd.errors import MissingPrivilege, QbcdError
from qbcd.model import StreamPlan
from qbcd.queries import parse_query
from qbcd.sites import DatabaseContext
from qbcd.sites.eligibility import MissingRight, missing_schema_right, missing_session_right, own_schema
from qbcd.state import StreamRow
from qbcd.stream import Stream


def missing_rights(stream: Stream, session: Session, plan: StreamPlan) -> list[MissingRight]:
    """Return all rights in addition to reading that the role lacks.

    If no poll can run, the right to see other sessions is one of them; alone it is a remark.
    """
    found = stream.site.missing_rights(session, plan)
    return found + missing_session_right(stream.source, session, stream.site.table_strategy(plan)) if found else []


def with_other_rights(stream: Stream, row: StreamRow | None, error: MissingPrivilege) -> MissingPrivilege:
    """Return an error about reading that also names the other rights that the role lacks.

    It stays as it is for a prepared stream, and if the source does not show what else is missing.
    """
    if isinstance(stream.source, (FileSource, JdbcSource)) or (row is not None and row.prepared):
        return error
    try:
        missing = _others(stream)
    except QbcdError:
        return error
    grants = [error.remedy, *(one.grant for one in missing if one.grant)]
    return MissingPrivilege(
        "; ".join([error.what, *(one.sentence for one in missing)]),
        stream=error.stream,
        where=error.where,
        remedy="; ".join(filter(None, grants)),
    )


def _others(stream: Stream) -> Sequence[MissingRight]:
    """Return the rights in addition to reading, by a plan for which reading is taken as granted."""
    config, source = stream.config, stream.source
    with source.read(stream.name) as session:
        if config.query:  # its columns are not known, so that only the schema can be judged
            return _of_schema(stream, session) if isinstance(stream.site.context, DatabaseContext) else []
        table = source.connector.catalog.probe_table(session.connection, config.table_schema or "", config.table_name)
        if table is None:
            return []
        plan, _ = resolve(config, source, None, None, table)
        plan = stream.site.strategy(plan).freeze_options(None)
        sessions = missing_session_right(source, session, stream.site.table_strategy(plan))
        return [*stream.site.missing_rights(session, plan), *sessions]


def _of_schema(stream: Stream, session: Session) -> list[MissingRight]:
    """Return the right to qbcd's own schema if the role of a captured query lacks it."""
    source = stream.source
    bases = parse_query(stream.config.query, source.connector.dialect).bases
    tables = source.connector.catalog.probe_tables(session.connection, [(base.schema, base.name) for base in bases])
    known = next((table for table in tables if table is not None), None)
    if known is None:
        return []
    return missing_schema_right(source, own_schema(source, session, known), stream.config.strategy)
