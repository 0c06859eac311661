"""Checks of a stream: the conditions of its polls, with the plan and strategy of a poll."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Literal

from qbcd.catalog.capture_change import change_of
from qbcd.catalog.drift import check_requested, check_server, check_shape
from qbcd.catalog.source import Session
from qbcd.check.finding import Finding, failed, run_check
from qbcd.check.folders import nearest_existing, prove_writable
from qbcd.check.rights import missing_rights, with_other_rights
from qbcd.check.subscriptions import check_subscriptions
from qbcd.delivery.resend import refuse_unfilled
from qbcd.errors import DeliveryError, MissingPrivilege, QbcdError, UnsafeKey
from qbcd.model import Consistency, PlannedBatch, StreamPlan, Table
from qbcd.planning import option_place, plan_of, planned_for_sinks, probe_restriction, refuse_sinks
from qbcd.sinks.folder import FolderSink
from qbcd.sinks.places import SinkPlaces
from qbcd.sites import (
    DatabaseContext,
    DumpSite,
    JdbcSite,
    Site,
    own_row,
    prepared_elsewhere,
    refuse_prepared_elsewhere,
    select_only_choice,
)
from qbcd.sites.eligibility import own_schema, refuse_missing
from qbcd.state import StreamRow
from qbcd.stream import Stream


def check_stream(stream: Stream, sites: Iterable[Site] = (), places: SinkPlaces | None = None) -> list[Finding]:
    """Check the conditions of a poll of `stream`, in order.

    An error ends the checks that depend on it.

    Args:
        sites: All sites that could keep a stream of this name; read if its own site has no such stream.
        places: Takes the places of the stream in its sinks, for :func:`check_places`.
    """
    found: list[Finding] = []
    planned: list[PlannedBatch] = []
    try:
        for subject, level, message in _stream_findings(stream, sites, planned):
            found.append(Finding(subject, level, message, stream.name))
        for one in stream.enrichment.enrichers if stream.enrichment is not None else ():
            for subject, message in one.findings(dict(planned[0].columns)):
                found.append(Finding(subject, "ok", message, stream.name))
        found += check_subscriptions(stream, planned[0])
    except QbcdError as error:
        found.append(failed("stream", error, stream.name))
    if (folder := stream.site.context.folder) is not None:
        own = run_check("workdir", lambda: prove_writable(folder), "", stream.name, folder=nearest_existing(folder))
        found += [own] if own.error else []
    for name, sink in stream.sinks.items():
        there = nearest_existing(sink.path / stream.name) if isinstance(sink, FolderSink) and not sink.url else None
        accept = partial(sink.check_stream, stream.name)
        accepted = run_check(f"sink {name}", accept, "takes batches", stream.name, folder=there)
        problems = _sink_problems(stream, name, planned[0], places) if planned and not accepted.error else []
        found += problems or [accepted]
    return found


def _sink_problems(stream: Stream, name: str, planned: PlannedBatch, places: SinkPlaces | None) -> list[Finding]:
    """Return what prevents a stream's batches in a sink, as `prepare` and deliveries judge it."""
    sink = stream.sinks[name]
    try:
        place = sink.place(planned)
        if place is not None and places is not None:
            places.claim(place, stream.name, name)
        problems = sink.problems(planned)
    except DeliveryError as error:
        problems = [error]
    return [failed(f"sink {name}", problem, stream.name) for problem in problems]


def check_places(places: SinkPlaces) -> list[Finding]:
    """Return an error for each stream and sink whose place another one has too."""
    return [failed(f"sink {sink}", problem, problem.stream) for sink, problem in places.problems()]


_Found = Iterator[tuple[str, Literal["ok", "warning"], str]]
_SEEN: Mapping[Consistency, str] = {
    "snapshot": "a batch comes from one snapshot of the source",
    "statement": "a batch comes from one statement, which sees one state of the source",
    "range": "each key range of a batch is one state of the source; another range may be of another moment",
}


def _stream_findings(stream: Stream, sites: Iterable[Site], planned: list[PlannedBatch]) -> _Found:
    """Yield the findings; add the facts of the stream's batches to `planned` once known."""
    row = stream.site.context.row()
    if isinstance(stream.site, DumpSite):
        yield from _dump_findings(stream, stream.site, row, planned)
    elif isinstance(stream.site, JdbcSite):
        yield from _jdbc_findings(stream, stream.site, row, planned)
    else:
        yield from _table_findings(stream, sites, row, planned)


def _table_findings(
    stream: Stream, sites: Iterable[Site], row: StreamRow | None, planned: list[PlannedBatch]
) -> _Found:
    with stream.source.read(stream.name) as session:
        catalog = stream.source.connector.catalog
        server = catalog.server_identity(session.connection)
        if isinstance(stream.site.context, DatabaseContext):
            catalog.check_accepts_writes(session.connection, stream=stream.name)
    remark = f"; {server.remark}" if server.remark else ""
    yield "source", "ok", f"{stream.source.label}: {server.product}{remark}"
    stream.site.context.prove_own()
    _refuse_edited_plan(stream, row, sites)
    try:
        plan, warnings = plan_of(stream, row)
    except MissingPrivilege as error:
        raise with_other_rights(stream, row, error) from error
    planned.append(planned_for_sinks(stream, plan, row))
    if row:
        refuse_unfilled(stream, row)
    table = plan.table
    yield stream.config.subject, "ok", f"{_described(table)}, {len(plan.captured)} columns captured"
    for warning in warnings:
        yield "columns", "warning", warning
    strategy = stream.site.strategy(plan)
    with stream.source.read(stream.name) as session:
        if stream.config.where:
            probe_restriction(stream, session, plan)
            yield "restriction", "ok", "is accepted by the source"
        yield "key", "ok", _key(stream, session, plan)
        stream.site.refuse_unwritable(session, plan)
        yield "privileges", "ok", _privileges(stream, session, plan, row)
        prepared = row is not None and row.prepared
        remarks = list(stream.site.examine(session, plan, option_place(stream), prepared=prepared))
        refuse_sinks(stream, plan)
        yield "strategy", "ok", f"{strategy.label}: {_SEEN[strategy.consistency]}"
        for one in remarks:
            yield one.subject, "warning", f"{strategy.label}: {one.text}" if one.subject == "strategy" else one.text
        if row is not None and row.prepared:
            check_shape(stream.source, session, stream.name, row.checkpoint, plan)
            check_server(stream.source, session, stream.name, row.checkpoint, accept=False)
            stream.site.context.prove_whole()
            if change := change_of(row.checkpoint, plan):
                yield "state", "warning", f"{change.describe()}: the next poll applies it"
            found = "1 batch" if row.last_batch_seq == 1 else f"{row.last_batch_seq} batches"
            yield "state", "ok", f"prepared, epoch {row.epoch}, {found}"
        else:
            yield "state", "ok", f"not prepared yet: qbcd prepare {stream.name}"
    for warning in strategy.warnings():
        yield "strategy", "warning", f"{strategy.label}: {warning}"


def _dump_findings(stream: Stream, site: DumpSite, row: StreamRow | None, planned: list[PlannedBatch]) -> _Found:
    if row is not None and row.prepared:
        check_requested(stream.name, stream.settings.requested, row.checkpoint)
    plan, _ = plan_of(stream, row)
    planned.append(planned_for_sinks(stream, plan, row))
    ready, remarks = site.check_dumps(plan, row)
    yield "source", "ok", f"{stream.source.label}: {ready}"
    for remark in remarks:
        yield "source", "warning", remark
    yield "columns", "ok", f"{len(plan.captured)} columns captured"
    yield "key", "ok", f"({', '.join(c.name for c in plan.key)}), which every poll counts"
    refuse_sinks(stream, plan)
    strategy = site.strategy(plan)
    yield "strategy", "ok", f"{strategy.label}: a batch is the difference between two dumps"
    yield _state(stream, row)


def _state(stream: Stream, row: StreamRow | None) -> tuple[str, Literal["ok"], str]:
    """Return the finding on a stream whose replica is in files, after a proof that these exist."""
    if row is None or not row.prepared:
        return "state", "ok", f"not prepared yet: qbcd prepare {stream.name}"
    stream.site.context.prove_whole()
    found = "1 batch" if row.last_batch_seq == 1 else f"{row.last_batch_seq} batches"
    return "state", "ok", f"prepared, epoch {row.epoch}, {found}"


def _jdbc_findings(stream: Stream, site: JdbcSite, row: StreamRow | None, planned: list[PlannedBatch]) -> _Found:
    plan, _ = plan_of(stream, row)
    planned.append(planned_for_sinks(stream, plan, row))
    product, executed = site.describe(plan)
    yield "source", "ok", f"{stream.source.label}: {product}; {executed}"
    yield stream.config.subject, "ok", f"{len(plan.captured)} columns captured"
    for column in plan.captured:
        if column.fact("as_text"):
            yield "columns", "ok", f"{column.name} ({column.base_type}) travels as a text of the database"
    site.try_restriction(plan)
    if plan.where:
        yield "restriction", "ok", "is accepted by the source"
    key = ", ".join(c.name for c in plan.key)
    yield "key", "ok", f"({key}), which every poll counts" if key else "none: equal rows are counted"
    refuse_sinks(stream, plan)
    strategy = site.strategy(site.sized(plan))
    yield "strategy", "ok", f"{strategy.label}: {_SEEN[strategy.consistency]}"
    yield "checksums", "ok", site.travels(plan)
    for warning in strategy.warnings():
        yield "strategy", "warning", f"{strategy.label}: {warning}"
    yield _state(stream, row)


def _refuse_edited_plan(stream: Stream, row: StreamRow | None, sites: Iterable[Site]) -> None:
    """Refuse settings that were edited after `prepare`, before any check of the new ones.

    Raises:
        SchemaChanged: Names the settings.
    """
    if row is not None and row.prepared:
        check_requested(stream.name, stream.settings.requested, row.checkpoint)
        return
    refuse_prepared_elsewhere(stream.site.context)
    for site in sites if stream.name in stream.project.names() else ():
        context = site.context
        if context.kind != "database" or context.source.name == stream.source.name:
            continue
        found = own_row(context)
        if found is not None and found.prepared and found.project_id == stream.project.project_id:
            raise prepared_elsewhere(stream.name, "source", f"it was {context.source.name}, where its replica is")


def _described(table: Table) -> str:
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
        return "none: all its values identify a row, and equal rows are counted"
    if not plan.key:
        return "(), since the query gives one row at most"
    named = ", ".join(c.name for c in plan.key)
    table = plan.table
    if plan.key_is_proven and not (table.query or table.primary_key or stream.config.key):
        return f"({named}), the only unique key without NULL; the table has no primary key"
    if plan.key_is_proven:
        return f"({named}), unique by {'the query and the keys of its tables' if plan.table.query else 'the catalog'}"
    found = session.one(stream.site.table_strategy(plan).key_problems())
    twice, null = int(found.keys_more_than_once), int(found.keys_null)
    if twice or null:
        occurs = f"{twice:,} {'value occurs' if twice == 1 else 'values occur'} more than once"
        rows = f" or with NULL ({null:,} {'row' if null == 1 else 'rows'} with NULL)" if null else ""
        raise UnsafeKey(
            f"key ({named}) is not unique in {plan.table.label}: {occurs}{rows}",
            where=stream.config.place("key"),
            stream=stream.name,
            remedy="choose a key that is unique and never NULL",
        )
    return f"({named}), unique now; the catalog does not guarantee it, so every poll counts it"


def _privileges(stream: Stream, session: Session, plan: StreamPlan, row: StreamRow | None) -> str:
    """Return the role's rights.

    `resolve` has proven SELECT; a strategy with a source replica needs a schema too.
    """
    schema = own_schema(stream.source, session, plan.table, [c.name for c in plan.captured])
    role = f"role {schema.rights.role} may SELECT"
    if not stream.site.writes_source(plan):
        return f"{role}; the source is only read"
    if row is not None or stream.site.has_tables(plan):
        return f"{role}; qbcd's tables are in schema {schema.name}"
    missing = missing_rights(stream, session, plan)
    if not schema.is_usable:  # otherwise options can be removed, and the strategy's own checks say so
        ddl = f"or qbcd prepare {stream.name} --dry-run prints the DDL for a DBA; {select_only_choice(plan)}"
        refuse_missing(missing, plan, lambda _: stream.config.place("strategy"), ddl)
    return f"{role} and {'use' if schema.exists else 'create'} schema {schema.name}"
