"""Comparison of today's source with the checkpoint: captured columns, server, encoder.

See docs/design/protocol.md#rule-9 and #rule-16.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from qbcd.catalog.capture_change import FREE, Change, as_planned, change_of, is_widened
from qbcd.catalog.source import Session, Source
from qbcd.errors import ConfigError, SchemaChanged, SourceChanged
from qbcd.model import ServerIdentity, StreamPlan, Table
from qbcd.model.checkpoint import Entry

SHORT = 80  # characters of a setting that a message shows
MADE = Entry.MADE  # in a checkpoint: identity of the table and its columns, since names can be reused
FROZEN_OPTIONS = Entry.FROZEN_OPTIONS  # in a checkpoint: options that the strategy chose because the user gave none


def check_requested(stream: str, requested: Mapping[str, Any], checkpoint: Mapping[str, Any]) -> None:
    """Refuse settings that differ from those that `prepare` fixed.

    Columns and restriction may change.

    Raises:
        SchemaChanged: Names the settings that differ.
    """
    chosen = checkpoint.get(FROZEN_OPTIONS, {})
    now, then = (_flat(plan, chosen) for plan in (requested, checkpoint.get("requested", {})))
    free = () if requested.get("query") else FREE
    changed = sorted(k for k in {*now, *then} - {*free} if now.get(k) != then.get(k))
    if "strategy" in changed:  # another strategy has other options
        changed = [k for k in changed if not k.startswith("strategy.")]
    if changed:
        values = "; ".join(filter(None, (_changed_value(k, then.get(k), now.get(k)) for k in changed)))
        raise fixed_at_prepare(stream, changed, values)


def fixed_at_prepare(stream: str, settings: Sequence[str], values: str, *, remedy: str = "") -> SchemaChanged:
    """Return the refusal of settings that were edited after `prepare`.

    Args:
        values: What they were and are; may be empty.
        remedy: How to go on with the new values; default: reset the stream and prepare it again.
    """
    again = f"to go on with it: qbcd reset {stream}, then qbcd prepare {stream}"
    one = len(settings) == 1
    return SchemaChanged(
        f"{', '.join(settings)} {'is' if one else 'are'} fixed at prepare, and {'was' if one else 'were'} changed in "
        f"the configuration since{f': {values}' if values else ''}",
        stream=stream,
        remedy=f"take the change back; {remedy or again}",
    )


def _changed_value(name: str, then: Any, now: Any) -> str:
    """Return what a setting was and is, or an empty string if that is too long for a message."""
    texts = [json.dumps(value, default=str) if value not in (None, "", [], {}) else "not set" for value in (then, now)]
    return f"{name} was {texts[0]} and is {texts[1]}" if max(map(len, texts)) <= SHORT else ""


def _flat(requested: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return each setting by name, with the strategy's options.

    One that the user did not set has its chosen value.
    """
    written = requested.get("options", {})
    options = {f"strategy.{n}": chosen.get(n) if value is None else value for n, value in written.items()}
    return {**{k: v for k, v in requested.items() if k != "options"}, **options}


def check_shape(
    source: Source, session: Session, stream: str, checkpoint: Mapping[str, Any], plan: StreamPlan | None = None
) -> Table:
    """Compare the captured columns in the catalog of this transaction with the checkpoint's.

    Args:
        plan: The stream's plan now; columns that it no longer captures may be missing. Default: the same as before.

    Returns:
        The table as it is now.

    Raises:
        SchemaChanged: The table or a captured column was dropped, retyped or given another collation; or a base table
            of a query was, if the query is followed by that table's rows.
    """
    shape = checkpoint["shape"]
    table = _probe_query(source, session, stream, shape) if "query" in shape else _probe(source, session, stream, shape)
    return _check_table(source, stream, checkpoint, plan, table)


def check_source(
    source: Source, session: Session, stream: str, checkpoint: Mapping[str, Any], plan: StreamPlan, *, accept: bool
) -> tuple[Table, ServerIdentity, bool]:
    """Return the results of `check_shape` and `check_server`, by few round trips."""
    shape, catalog = checkpoint["shape"], source.connector.catalog
    if "query" in shape:
        table = check_shape(source, session, stream, checkpoint, plan)
        return (table, *check_server(source, session, stream, checkpoint, accept=accept))
    found, identity = catalog.probe_with_server(session.connection, *shape["table"])
    table = _check_table(source, stream, checkpoint, plan, _existing(stream, shape, found))
    return (table, *_check_identity(source, stream, checkpoint, identity(), accept=accept))


def _undo(stream: str) -> str:
    return f"qbcd reset {stream}, then prepare it again; or undo the change at the source"


def _check_table(
    source: Source, stream: str, checkpoint: Mapping[str, Any], plan: StreamPlan | None, table: Table
) -> Table:
    undo = _undo(stream)
    _check_views(stream, table, checkpoint["shape"], undo, hidden_by_rights=source.connector.hides_tables)
    _check_bases(stream, table, checkpoint.get("bases", {}), undo)
    kept = {c.name for c in plan.captured} if plan else None
    change, widened = change_of(checkpoint, plan) if plan else Change(), []
    for remembered in checkpoint["shape"]["columns"]:
        column = remembered[0]
        if kept is not None and column not in kept:
            continue
        problem = _problem(source, table, remembered, checkpoint["shape"])
        if not problem and _is_retyped(table, remembered):
            widened.append(column)
        if problem:
            pertinent = column not in checkpoint["shape"]["key"]
            remedy = f"{undo}; or leave {column} out by `columns` or `exclude`" if pertinent else undo
            if pertinent and _is_retyped(table, remembered):
                remedy += f"; once it is captured again, qbcd resend {stream} SINK delivers its values without a reset"
            raise SchemaChanged(problem, stream=stream, remedy=remedy)
    for column in {*change.added, *widened, *(name for name, *_ in change.retyped)} if plan else ():
        if plan and not as_planned(table, plan, column):
            what = f"column {column!r} of {table.label} was changed a moment ago"
            raise SchemaChanged(what, stream=stream, remedy="poll again")
    return table


def _check_views(stream: str, table: Table, shape: Mapping[str, Any], remedy: str, *, hidden_by_rights: bool) -> None:
    """Refuse views whose definition is not the stored one.

    With `hidden_by_rights` the source shows a definition only to a role with a right to it. A definition that became
    visible or invisible since then is no change.
    """
    now = table.views
    then = shape.get("views", now)  # an earlier version stored no views
    hidden = {one.label for one in table.reads if one.kind == "view" and not one.definition}
    other = [name for name in {**then, **now} if then.get(name) != now.get(name)]
    if hidden_by_rights:
        other = [name for name in other if name in then and name not in hidden]
    name = next(iter(other), None)
    if name is not None:
        how = "has another definition now" if name in now else "is not read any more"
        raise SchemaChanged(f"view {name}, which the query reads, {how}", stream=stream, remedy=remedy)


def _check_bases(stream: str, table: Table, bases: Mapping[str, Any], remedy: str) -> None:
    """Refuse base tables that are not those whose rows were stored; some streams store none."""
    now = {f"{one.schema}.{one.name}": one for one in table.reads}
    for name, then in bases.items():
        problem = _base_problem(now[name].shape(list(then["columns"])), then) if name in now else "is not read now"
        if problem:
            raise SchemaChanged(f"{name}, which the query reads, {problem}", stream=stream, remedy=remedy)


def _base_problem(now: Mapping[str, Any], then: Mapping[str, Any]) -> str:
    """Return the difference between a base table and the stored one, or an empty string."""
    if now["key"] != then["key"]:
        return f"has key ({', '.join(now['key'])}) now and had ({', '.join(then['key'])})"
    for name, (sql_type, collation, encoding, number) in then["columns"].items():
        found = now["columns"].get(name)
        if found is None:
            return f"no longer has column {name!r}"
        if found[:2] != [sql_type, collation]:
            return (
                f"has column {name!r} as {' '.join(found[:2]).strip()} now and had {f'{sql_type} {collation}'.strip()}"
            )
        if found[2:] != [encoding, number]:
            return f"has another column {name!r} now"
    return ""


def _is_retyped(table: Table, remembered: Sequence[Any]) -> bool:
    now = table.column(remembered[0])
    return now is not None and now.sql_type != remembered[1]


def _problem(source: Source, table: Table, remembered: Sequence[Any], shape: Mapping[str, Any]) -> str:
    """Return the difference between a captured column and the stored one, or an empty string.

    A wider type that keeps values, digests and texts is no difference.
    """
    column, sql_type, collation, *_ = remembered
    now, name = table.column(column), table.label
    if now is None:
        return f"captured column {column!r} of {name} does not exist any more (dropped or renamed)"
    if (now.sql_type, now.collation) != (sql_type, collation):
        if is_widened(source, shape, now) is None:
            then_text, now_text = f"{sql_type} {collation}".strip(), f"{now.sql_type} {now.collation}".strip()
            return f"captured column {column!r} of {name} is {now_text} now and was {then_text}"
    elif now.encoding != shape.get("encoding", {}).get(column, now.encoding):
        return (
            f"the server's representation of the values of column {column!r} of {name} changed (the base type of its "
            "domain changed, or a child table was added)"
        )
    if "means" not in shape:  # stored by an earlier version
        return ""
    means = now.meaning(ordered=column in shape["key"])
    return _definition_problem(f"column {column!r} of {name}", shape["means"].get(column, {}), means)


def _definition_problem(label: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return the difference between a type or collation and the stored one, or an empty string.

    Labels may be added anywhere, as long as the earlier ones keep their order.
    """
    was, collated = (means.get("collated") or "another one" for means in (then, now))
    if was != collated:
        return f"the collation of {label} was recreated under its name: it was {was} and is {collated}"
    missing = _missing(then.get("labels", ()), now.get("labels", ()))
    if missing is not None:
        return (
            f"labels of the enum of key {label} were renamed, dropped or put in another order: {missing!r} is not "
            "where it was"
        )
    return ""


def _missing(then: Sequence[str], now: Sequence[str]) -> str | None:
    """Return the first part of a definition that is not where it was.

    Others may have been added anywhere.
    """
    parts = iter(now)
    return next((one for one in then if one not in parts), None)


def check_texts(stream: str, checkpoint: Mapping[str, Any], plan: StreamPlan, table: Table) -> None:
    """Refuse a type whose definition gave other texts to the values of table and replica alike.

    Raises:
        SchemaChanged: Labels of an enum, or attributes of a composite, are not those of the last step.
    """
    means = checkpoint["shape"].get("means", {})
    for name in (c.name for c in plan.columns):
        now = table.column(name)
        then = means.get(name, {}).get("texts", ())
        missing = _missing(then, now.meaning(ordered=False).get("texts", ())) if now else None
        if missing is not None:
            raise SchemaChanged(
                f"the type of column {name!r} of {table.label} was altered: {missing!r} is not where it was. Values in "
                "table and replica have other texts now, so that no comparison shows which rows changed",
                stream=stream,
                remedy=f"undo it; or poll once with exclude: [{name}], then without it, and qbcd resend {stream} SINK; "
                f"or qbcd reset {stream}",
            )


def _probe_query(source: Source, session: Session, stream: str, shape: Mapping[str, Any]) -> Table:
    try:
        from qbcd.catalog.query_table import probe_query

        return probe_query(source, session, shape["query"], stream=stream)
    except ConfigError as error:
        raise SchemaChanged(error.what, stream=stream, remedy=_undo(stream)) from error


def _probe(source: Source, session: Session, stream: str, shape: Mapping[str, Any]) -> Table:
    return _existing(stream, shape, source.connector.catalog.probe_table(session.connection, *shape["table"]))


def _existing(stream: str, shape: Mapping[str, Any], table: Table | None) -> Table:
    if table is None:
        label = ".".join(shape["table"])
        what = f"{label} does not exist any more, or the role may not see it"
        granted = f"if it exists, GRANT SELECT ON {label} to the source's user; if not, {_undo(stream)}"
        raise SchemaChanged(what, stream=stream, remedy=granted)
    return table


def check_server(
    source: Source, session: Session, stream: str, checkpoint: Mapping[str, Any], *, accept: bool
) -> tuple[ServerIdentity, bool]:
    """Compare the server with the one in the checkpoint.

    Returns:
        The identity of today, and True if stored digests may no longer be comparable.

    Raises:
        SourceChanged: Another server or database, an older state of it, or a clock that was set back; not with
            `accept`. A change of its rules of equality or of the encoder is no error: values are compared then, and
            the user need not confirm it (docs/design/protocol.md#rule-16).
    """
    now = source.connector.catalog.server_identity(session.connection)
    return _check_identity(source, stream, checkpoint, now, accept=accept)


def _check_identity(
    source: Source, stream: str, checkpoint: Mapping[str, Any], now: ServerIdentity, *, accept: bool
) -> tuple[ServerIdentity, bool]:
    then = checkpoint["server"]
    encoder = source.connector.encoder_version
    changed = now.meaning != then["meaning"] or encoder != checkpoint["encoder"]
    problems = []
    if now.identity != then["identity"]:
        problems.append("this is another server or database than the one that was prepared")
    elif now.position < then["position"]:
        problems.append("this server is older than the one remembered (restored, or a standby that lags)")
    if then.get("doubt"):
        problems.append(str(then["doubt"]))
    if problems and now.meaning != then["meaning"]:
        problems.append(f"its version or collations changed ({then['meaning']} -> {now.meaning})")
    if problems and not accept:
        raise SourceChanged(
            "; ".join(problems),
            stream=stream,
            remedy=f"qbcd run {stream} --once --accept-source compares every row and goes on from there; "
            f"or qbcd reset {stream}",
        )
    return now, bool(problems) or changed
