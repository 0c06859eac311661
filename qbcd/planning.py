"""The plan of a stream from configuration and catalog; an impossible plan is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from qbcd.catalog.capture_change import Change, change_of, columns_at, columns_changed
from qbcd.catalog.drift import FROZEN_OPTIONS, check_shape
from qbcd.catalog.files import FileSource
from qbcd.catalog.jdbc import JdbcSource
from qbcd.catalog.resolve import Frozen, resolve
from qbcd.catalog.source import Session
from qbcd.common.wording import counted
from qbcd.errors import DeliveryError, QbcdError, Refused, SchemaChanged, SourceChanged
from qbcd.model import PlannedBatch, StreamPlan, Table
from qbcd.sql import check_operators, check_restriction, probe_plan
from qbcd.state import StreamRow
from qbcd.stream import Stream

# The limit of a column of text or bytes.
_LIMIT = re.compile(r"(?i)(?:character varying|varchar|character|char|varbinary|binary)\((\d+)\)")


def plan_of(stream: Stream, row: StreamRow | None) -> tuple[StreamPlan, list[str]]:
    """Return the stream's plan by the present catalog, and warnings.

    The columns are those captured so far, unless the configuration now requests others.

    Args:
        row: The stream's row; None plans it as if it were not prepared.

    Raises:
        ConfigError: The configuration does not match the catalog.
        Refused: No poll can run the plan, or change the stream's state to it.
    """
    stream.check_strategy()
    if isinstance(stream.source, (FileSource, JdbcSource)):
        from qbcd.sites import DumpSite, JdbcSite

        assert isinstance(stream.site, (DumpSite, JdbcSite))
        return stream.site.plan(stream.config, stream.settings, row), []
    frozen = None
    if row and row.prepared:
        shape = row.checkpoint["shape"]
        key, names = shape["key"], [c[0] for c in shape["columns"]]
        changed = not stream.config.query and columns_changed(stream.settings.requested, row.checkpoint)
        schema, name = shape["table"]
        frozen = Frozen(tuple(key), tuple(names[len(key) :]), (schema, name), changed, shape)
        _refuse_other_home(stream, frozen)
    config, source = stream.config, stream.source
    check_restriction(config.where, source.connector.dialect, place=config.place("where"))
    source.jdbc(stream.name)  # checks the options of JDBC readers, which are used only when rows travel
    if row and frozen and (planned := _by_expected_table(stream, row, frozen)):
        return planned
    with source.read(stream.name) as session:
        try:
            plan, warnings = resolve(config, source, session, frozen)
            plan = stream.site.strategy(plan).freeze_options(
                row.checkpoint.get(FROZEN_OPTIONS, {}) if row and frozen else None
            )
            stream.site.strategy(plan).check(option_place(stream))
        except QbcdError:
            if row and frozen and not frozen.columns_changed:  # if the table changed since prepare, report that
                with source.read(stream.name) as another:  # the refusal may have ended this transaction
                    check_shape(source, another, stream.name, row.checkpoint)
            raise
        check_operators(plan, source.connector.dialect, place=config.place("where"))
        change = change_of(row.checkpoint, plan) if row and frozen else Change()
        if frozen is None or change.where:
            probe_restriction(stream, session, plan)
        if change.retyped and row:  # a type that does not keep the values is refused for itself
            check_shape(source, session, stream.name, row.checkpoint, plan)
        if change:
            refuse_change(stream, session, plan, change)
    return plan, warnings


def _refuse_other_home(stream: Stream, frozen: Frozen) -> None:
    """Refuse a table without a schema if the URL now names another database than the table's.

    Raises:
        SourceChanged: Polls would go on with the table of before.
    """
    home, (schema, name) = stream.source.home, frozen.table
    if home and home.casefold() != schema.casefold() and not stream.config.query and not stream.config.table_schema:
        raise SourceChanged(
            f"the stream was prepared for {schema}.{name}, and the URL of source {stream.config.source} now names the "
            f"database {home}",
            stream=stream.name,
            remedy=f"name {schema} in the URL; or qbcd reset {stream.name}, then prepare it: consumers must reload",
        )


def _by_expected_table(stream: Stream, row: StreamRow, frozen: Frozen) -> tuple[StreamPlan, list[str]] | None:
    """Plan a prepared stream by its table as the catalog has shown it in this round.

    No question is asked for it. None if that is not possible, or if anything is not as before: then the source is
    asked, and that reports it.
    """
    config, source = stream.config, stream.source
    if frozen.columns_changed or config.query:
        return None
    table = source.expected_table(stream.name, *frozen.table)
    if table is None or table.row_security:
        return None
    try:
        plan, warnings = resolve(config, source, None, frozen, table)
        plan = stream.site.strategy(plan).freeze_options(row.checkpoint.get(FROZEN_OPTIONS, {}))
        stream.site.strategy(plan).check(option_place(stream))
        check_operators(plan, source.connector.dialect, place=config.place("where"))
    except QbcdError:
        return None
    return None if change_of(row.checkpoint, plan) else (plan, warnings)


def plan_of_replica(stream: Stream, row: StreamRow) -> StreamPlan:
    """Return the plan of the replica: by the catalog, or as recorded if the source is away.

    Raises:
        SourceError: The source is away, and the replica is in it or has not what the configuration requests.
    """
    try:
        return plan_of(stream, row)[0]
    except QbcdError as error:
        plan = recorded_plan(stream, row) if error.source and row.prepared else None
        if plan is None:
            raise
        return plan


def recorded_plan(stream: Stream, row: StreamRow) -> StreamPlan | None:
    """Return the plan of the last step.

    None if the replica is in the source, or the configuration has changed.
    """
    config, shape = stream.config, row.checkpoint["shape"]
    if stream.site.context.kind == "database" or columns_changed(stream.settings.requested, row.checkpoint):
        return None
    if shape["where"] != (config.where or "") or shape["strategy"] != config.strategy:
        return None
    schema, name = shape["table"]
    columns, keys = columns_at(row.checkpoint), len(shape["key"])
    kind, query = ("query", shape["query"]) if "query" in shape else ("table", "")
    plan = StreamPlan(
        config.name,
        config.source,
        Table(schema, name, kind, columns, tuple(shape["key"]), query=query),
        columns[:keys],
        columns[keys:],
        config.where or "",
        config.strategy,
        tuple(sorted(config.options.items())),
        counted=config.key == (),
    )
    return stream.site.strategy(plan).freeze_options(row.checkpoint.get(FROZEN_OPTIONS, {}))


def refuse_sinks(stream: Stream, plan: StreamPlan) -> None:
    """Refuse sinks that keep a stream's state but could not find all rows by their keys.

    Raises:
        Refused: Rows have no key; or their keys can be spelled differently, and updates do not have the old key.
    """
    named = [name for name, sink in stream.sinks.items() if sink.shows_all_rows]
    if not named:
        return
    if plan.counted:
        raise Refused(
            f"sink {named[0]} finds rows by their key, and this stream has none",
            stream=stream.name,
            where=stream.config.place("key"),
            remedy="name the key's columns, or write mode: log for the sink",
        )
    if plan.option("events") and plan.columns:
        raise Refused(
            f"sink {named[0]} shows the rows of the table, and this stream does not look for updates",
            stream=stream.name,
            where=stream.config.place("strategy"),
            remedy="remove `events`, capture the key alone with `columns: []`, or write mode: log for the sink",
        )
    loose = [column.name for column in plan.key if column.comparison != "typed"]
    if loose and not stream.site.strategy(plan).gives_old_values:
        raise Refused(
            f"sink {named[0]} finds rows by their key, and the key column {loose[0]} can change its spelling: an "
            "update then has no old key, since the replica keeps no values",
            stream=stream.name,
            where=stream.config.place("strategy"),
            remedy="use a strategy or a replica that keeps the old values, or write mode: log for the sink",
        )


def planned_batch(stream: Stream, plan: StreamPlan, row: StreamRow | None) -> PlannedBatch:
    """Return the facts of the batches that polls of a plan will find."""
    strategy = stream.site.strategy(plan)
    limits = {column.name: _LIMIT.fullmatch(column.sql_type) for column in plan.captured}
    return PlannedBatch(
        stream=plan.stream,
        epoch=row.epoch if row is not None and row.prepared else 0,
        seq=0,
        ts_ms=0,
        counts={},
        sinks=stream.settings.sinks,
        fingerprint="",
        source=plan.source,
        table=plan.table.name if plan.table.query else plan.table.label,
        strategy=plan.strategy,
        consistency="range" if getattr(strategy, "by_ranges", False) else strategy.consistency,
        key=tuple(column.name for column in plan.key),
        columns=tuple((column.name, column.travel) for column in plan.captured),
        before=strategy.gives_old_values,
        one_row=not plan.key and not plan.counted,
        nullable=frozenset(column.name for column in plan.columns if column.nullable),
        longest={name: int(found[1]) for name, found in limits.items() if found is not None},
    )


def planned_for_sinks(stream: Stream, plan: StreamPlan, row: StreamRow | None) -> PlannedBatch:
    """Return `planned_batch` as sinks will get it, with the fields that are added to events."""
    added = () if stream.enrichment is None else stream.enrichment.fields
    return replace(planned_batch(stream, plan, row), added=added)


def refuse_unfit_sinks(stream: Stream, plan: StreamPlan, row: StreamRow | None) -> list[str]:
    """Refuse sinks that would refuse a plan's batches; return warnings of unreachable ones.

    Raises:
        Refused: A sink would refuse them, or another stream or sink has its place.
    """
    planned, warnings = planned_for_sinks(stream, plan, row), []
    for name, sink in stream.sinks.items():
        try:
            if (place := sink.place(planned)) is not None:
                stream.places.claim(place, stream.name, name)
            problems = sink.problems(planned)
        except DeliveryError as error:
            warnings.append(f"it is not known if sink {name} takes the batches: {error.what}")
            continue
        if (taken := stream.places.problem(stream.name, name)) is not None:
            raise taken
        if problems:
            first, others = problems[0], len(problems) - 1
            more = f"; qbcd check {stream.name} shows {counted(others, 'more problem')}" if others else ""
            raise Refused(first.what, remedy=f"{first.remedy}{more}", stream=stream.name) from first
    return warnings


def claim_places(stream: Stream, plan: StreamPlan, row: StreamRow) -> list[str]:
    """Note in each sink that its place is the stream's; return a warning for each that failed."""
    planned, warnings = replace(planned_for_sinks(stream, plan, row), seq=row.last_batch_seq), []
    for sink in stream.sinks.values():
        try:
            sink.claim(planned)
        except DeliveryError as error:
            warnings.append(str(error.what))
    return warnings


def refuse_change(stream: Stream, session: Session, plan: StreamPlan, change: Change) -> None:
    """Refuse a change of captured columns or rows that no poll can apply.

    See docs/design/protocol.md#rule-16.

    Raises:
        SchemaChanged: The replica does not have enough data for it.
        Refused: The table or the role does not support it.
    """
    problem = stream.site.strategy(plan).change_problem(columns=change.columns, where=change.where)
    if problem:
        raise SchemaChanged(
            f"{change.describe()}: {problem}",
            stream=stream.name,
            remedy=f"{_undo(stream, change)}, or qbcd reset {stream.name} and prepare it again",
        )
    if change.added and stream.settings.new_values and getattr(stream.site.strategy(plan), "keeps", "rows") != "rows":
        raise SchemaChanged(
            f"{change.describe()}: its values in rows that are there already cannot be found without old values",
            stream=stream.name,
            where=stream.config.place("new_columns"),
            remedy="write new_columns: add, or a replica that keeps the old values",
        )
    stream.site.refuse_unfit(session, plan, option_place(stream))


def _undo(stream: Stream, change: Change) -> str:
    """Return how to undo a change: a new column may be there by the stream's policy alone."""
    by_policy = change.added and stream.config.new_columns in ("add", "add_with_values")
    return "write new_columns: report" if by_policy else "undo the change"


def option_place(stream: Stream) -> Callable[[str], str]:
    """Return a function from a strategy option, or ``where``, to its place in the configuration."""
    place = stream.config.place
    return lambda option: place("where") if option == "where" else place("strategy", option)


def probe_restriction(stream: Stream, session: Session, plan: StreamPlan) -> None:
    """Let the source plan a query with the user's restriction, to refuse a wrong one early.

    Raises:
        ConfigError: The source does not accept it as a condition on the table.
        Refused: The role may not read everything that it needs.
    """
    probe_plan(session, stream.source, plan, stream.name, stream.config.place("where") if plan.where else "")
