"""Checks of a stream: all that its polls rest on, with the same plan, restriction and strategy as a poll."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Literal

from sqlalchemy import inspect

from qbcd.catalog.capture_change import change_of
from qbcd.catalog.drift import check_requested, check_server, check_shape
from qbcd.catalog.query_table import rights_of
from qbcd.catalog.source import Session
from qbcd.check.finding import Finding, failed, tried
from qbcd.check.machine import prove_writable
from qbcd.errors import MissingPrivilege, QbcdError, UnsafeKey
from qbcd.model import Consistency, StreamPlan, Table
from qbcd.planning import option_place, plan_of, probe_restriction
from qbcd.sites import DatabaseContext, refuse_prepared_elsewhere, select_only_choice
from qbcd.state import StreamRow
from qbcd.stream import Stream


def check_stream(stream: Stream) -> list[Finding]:
    """Check what a poll of `stream` rests on, in order; an error ends the checks that depend on it."""
    found: list[Finding] = []
    try:
        for subject, level, message in _stream_findings(stream):
            found.append(Finding(subject, level, message, stream.name))
    except QbcdError as error:
        error.stream = error.stream or stream.name
        found.append(failed("stream", error, stream.name))
    if (folder := stream.site.context.folder) is not None:
        own = tried("workdir", lambda: prove_writable(folder), "", stream.name)
        found += [own] if own.error else []
    for name, sink in stream.sinks.items():
        found.append(tried(f"sink {name}", partial(sink.check_stream, stream.name), "takes batches", stream.name))
    return found


_Found = Iterator[tuple[str, Literal["ok", "warning"], str]]
_SEEN: Mapping[Consistency, str] = {
    "snapshot": "a batch comes from one snapshot of the source",
    "statement": "a batch comes from one statement, which sees one state of the source",
    "range": "each key range of a batch is one state of the source; another range may be of another moment",
}


def _stream_findings(stream: Stream) -> _Found:
    row = stream.site.context.row()
    with stream.source.read(stream.name) as session:
        server = stream.source.connector.catalog.server_identity(session.connection)
    yield "source", "ok", f"{stream.source.label}: {server.product}"
    plan, warnings = plan_of(stream, row)
    table = plan.table
    yield stream.config.subject, "ok", f"{_told(table)}, {len(plan.captured)} columns captured"
    for warning in warnings:
        yield "columns", "warning", warning
    strategy = stream.site.strategy(plan)
    with stream.source.read(stream.name) as session:
        if stream.config.where:
            probe_restriction(stream, session, plan)
            yield "restriction", "ok", "is accepted by the source"
        yield "key", "ok", _key(stream, session, plan)
        if isinstance(context := stream.site.context, DatabaseContext):
            own = context.own_names(plan)
            stream.source.connector.catalog.check_in_source(session.connection, plan.table, stream=stream.name, own=own)
        yield "privileges", "ok", _privileges(stream, session, plan, row)
        stream.site.refuse_unfit(session, plan, option_place(stream))
        yield "strategy", "ok", f"{strategy.label}: {_SEEN[strategy.consistency]}"
        for remark in stream.site.remarks(session, plan):
            yield "strategy", "warning", f"{strategy.label}: {remark}"
        if row is not None and row.prepared:
            check_requested(stream.name, stream.settings.requested, row.checkpoint)
            check_shape(stream.source, session, stream.name, row.checkpoint, plan)
            check_server(stream.source, session, stream.name, row.checkpoint, accept=False)
            stream.site.context.prove_whole()
            if change := change_of(row.checkpoint, plan):
                yield "state", "warning", f"{change.told()}: the next poll takes that up"
            found = "1 batch" if row.last_batch_seq == 1 else f"{row.last_batch_seq} batches"
            yield "state", "ok", f"prepared, epoch {row.epoch}, {found}"
        else:
            refuse_prepared_elsewhere(stream.site.context)
            yield "state", "ok", f"not prepared yet: qbcd prepare {stream.name}"
    for warning in strategy.warnings():
        yield "strategy", "warning", f"{strategy.label}: {warning}"


def _told(table: Table) -> str:
    rows = f"about {table.rows:,} rows" if table.rows >= 0 else "rows unknown (never analyzed)"
    if not table.query:
        return f"{table.label}, {table.kind}, {rows}"
    read = ", ".join(dict.fromkeys(_read(base) for base in table.bases))
    return f"{table.label} over {read or 'no table'}"


def _read(base: Table) -> str:
    behind = [one.label for one in base.reads if not one.definition]
    return f"{base.label} (a view of {', '.join(behind)})" if behind else base.label


def _key(stream: Stream, session: Session, plan: StreamPlan) -> str:
    if plan.counted:
        return "none: rows are told by all their values, and counted"
    if not plan.key:
        return "(), since the query gives one row at most"
    named = ", ".join(c.name for c in plan.key)
    if plan.key_is_proven:
        return f"({named}), unique by {'the query and the keys of its tables' if plan.table.query else 'the catalog'}"
    found = session.one(stream.site.strategy(plan).key_problems())
    twice, null = int(found.keys_more_than_once), int(found.keys_null)
    if twice or null:
        raise UnsafeKey(
            f"key ({named}) is not unique in {plan.table.label}: {twice} keys stand there more than "
            f"once or hold NULL ({null} rows with NULL)",
            where=stream.config.place("key"),
            stream=stream.name,
            remedy="choose a key that is unique and never NULL",
        )
    return f"({named}), unique now; the catalog does not guarantee it, so every poll counts it"


def _privileges(stream: Stream, session: Session, plan: StreamPlan, row: StreamRow | None) -> str:
    """Return what the role may do. `resolve` has proven SELECT; an in-source strategy needs a place for tables too."""
    conn, schema = session.connection, stream.source.schema
    rights = rights_of(stream.source.connector, conn, plan.table, [c.name for c in plan.captured], schema)
    if stream.site.context.kind != "database":
        return f"role {rights.role} may SELECT; the source is only read"
    if row is not None or stream.site.has_tables(plan):
        return f"role {rights.role} may SELECT; qbcd's tables are in schema {schema}"
    there = inspect(conn).has_schema(schema)
    if not (rights.own_schema if there else rights.create_schema):
        lacking = f"create tables in schema {schema}" if there else f"create schema {schema}"
        own = "; ".join(stream.source.connector.ddl.own_schema(schema, rights.role, exists=there))
        raise MissingPrivilege(
            f"role {rights.role} may not {lacking}, which strategy {plan.strategy} needs",
            stream=stream.name,
            where=stream.config.place("strategy"),
            remedy=f"{own}; or qbcd prepare {stream.name} --dry-run prints the DDL for a DBA; "
            f"{select_only_choice(plan)}",
        )
    return f"role {rights.role} may SELECT and {'use' if there else 'create'} schema {schema}"
