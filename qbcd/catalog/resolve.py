"""From a stream's configuration to a plan: the configuration checked against the catalog."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from qbcd.catalog.capture_change import digested_as
from qbcd.catalog.read_rights import refuse_unreadable
from qbcd.catalog.source import Session, Source
from qbcd.config import StreamConfig, frozen_options
from qbcd.config.fields import NO_KEY
from qbcd.errors import ConfigError, Refused, SchemaChanged, UnsafeKey, UnsupportedType
from qbcd.model import Column, StreamPlan, Table

# Names of qbcd's own columns in statements, next to captured ones; some servers compare names without case.
RESERVED = re.compile(
    r"qbcd_(present|row|digest|key_id|untravelled|in|gone|stored|op|flag|mark|key_digest|leaf|one|k?\d+"
    r"|old_digest|settled|there|hash|bucket|page|relation|query|k)",
    re.IGNORECASE,
)


def requested(config: StreamConfig) -> dict[str, Any]:
    """Return the user's settings of a stream's plan as JSON-ready data; frozen at prepare.

    ``options`` exists only if the strategy has options that decide what is captured, and ``query`` only for a query:
    streams prepared before these existed have none.
    """
    options = frozen_options(config.strategy, config.options)
    query = {"query": config.query.strip()} if config.query else {}
    return {
        "source": config.source,
        "table": [config.table_schema, config.table_name],
        "key": NO_KEY if config.key == () else list(config.key or []),
        "columns": list(config.columns or []),
        "exclude": list(config.exclude or []),
        "types": dict(config.types),
        "where": config.where or "",
        "strategy": config.strategy,
        **({"options": options} if options else {}),
        **query,
    }


@dataclass(frozen=True)
class Frozen:
    """The columns captured so far: names of the key columns and of the others, in their order.

    Attributes:
        table: Schema and name of the table at `prepare`; the search path may find another one today.
        columns_changed: The user now requests other columns; the key stays.
        shape: The columns as they were captured, in the form of `StreamPlan.shape`.
    """

    key: tuple[str, ...]
    columns: tuple[str, ...]
    table: tuple[str, str]
    columns_changed: bool = False
    shape: Mapping[str, Any] = field(default_factory=dict)


def resolve(
    config: StreamConfig,
    source: Source,
    session: Session | None,
    frozen: Frozen | None = None,
    known: Table | None = None,
) -> tuple[StreamPlan, list[str]]:
    """Return the stream's plan, and warnings.

    Args:
        config: The stream's configuration with all defaults filled in.
        session: An open session on it; None with `known`.
        frozen: What was captured so far, which stays so: a new column or primary key of the table is only a warning.
        known: The table, as the catalog has shown it a moment ago; rights are not checked then.

    Raises:
        ConfigError: A table or column does not exist; names file and line, and suggests a similar name.
        UnsafeKey: There is no key, or a key that cannot identify rows.
        UnsupportedType: A captured column has a type that cannot be captured.
        MissingPrivilege: The role may not read the table or a column.
        Refused: Row-level security hides rows from the role.
    """
    table = known or _table(config, source, _given(session), frozen)
    key = _key(config, source, table, frozen)
    _check_excluded(config, key)
    chosen, warnings = _chosen(config, table, frozen)
    if table.query:
        from qbcd.catalog.query_table import check_limit, remarks_on, remarks_on_views
        from qbcd.queries import parse_query

        query = parse_query(config.query, source.connector.dialect)
        if key or config.key == ():  # a result of one row cannot change by its LIMIT
            check_limit(query, [c.name for c in key], stream=config.name, place=config.place("query"))
        warnings += remarks_on(query) + remarks_on_views(table, source.connector.dialect)
    captured = [_typed(config, source, c) for c in (*key, *(c for c in chosen if c not in key))]
    captured = [digested_as(source, frozen.shape, c) for c in captured] if frozen else captured
    _check_types(config, source, captured)
    _check_sets(config, captured[: len(key)])
    if session is not None:
        _check_rights(config, source, session, table, captured)
    plan = StreamPlan(
        config.name,
        config.source,
        table,
        tuple(captured[: len(key)]),
        tuple(captured[len(key) :]),
        config.where or "",
        config.strategy,
        tuple(sorted(config.options.items())),
        counted=config.key == (),
    )
    return plan, warnings


def _given(session: Session | None) -> Session:
    assert session is not None
    return session


def _table(config: StreamConfig, source: Source, session: Session, frozen: Frozen | None) -> Table:
    if config.query:
        from qbcd.catalog.query_table import probe_query

        return probe_query(source, session, config.query, stream=config.name, place=config.place("query"))
    schema, name = frozen.table if frozen else (config.table_schema or "", config.table_name)
    table = source.connector.catalog.probe_table(session.connection, schema, name)
    if table is not None:
        return table
    wanted = ".".join(p for p in (schema, name) if p)
    other, of_table = source.connector.catalog.other_relation(session.connection, schema, name)
    if other:
        raise ConfigError(
            f"{wanted} is {other}{f' of {of_table}' if of_table else ''}, which has no rows to capture",
            remedy=f"name the table: {of_table}" if of_table else "name a table or a view",
            where=config.place("table"),
            stream=config.name,
        )
    known = source.connector.catalog.table_names(session.connection)
    raise ConfigError(
        f"table {wanted} does not exist in source {config.source}, or the role may not see it",
        remedy=_suggestion(wanted, known),
        where=config.place("table"),
        stream=config.name,
    )


def _key(config: StreamConfig, source: Source, table: Table, frozen: Frozen | None) -> list[Column]:
    if config.key == ():
        return []
    unique = _unique_keys(source, table)
    only = unique[0] if len(unique) == 1 else ()
    names = list(frozen.key if frozen else config.key or table.primary_key or only)
    if not names and table.one_row:
        return []
    if not names and table.query:
        raise UnsafeKey(
            "nothing in the query, nor in the keys of its tables, proves which columns identify its rows",
            stream=config.name,
            where=config.place("query"),
            remedy="name them:  key: [col, ..]; each poll then counts duplicates",
        )
    if not names:
        several = f", and {len(unique)} unique keys" if unique else ""
        listed = " or ".join(f"key: [{', '.join(one)}]" for one in unique)
        raise UnsafeKey(
            f"{table.schema}.{table.name} has no primary key{several}",
            stream=config.name,
            where=config.place("key"),
            remedy=f"choose one:  {listed}"
            if unique
            else "name the columns that identify a row:  key: [col, ..]; or key: none, with id_rcs",
        )
    key = [_column(config, table, name, "key") for name in names]
    for column in key:
        problem = source.connector.catalog.key_problem(column)
        if problem:
            raise UnsafeKey(
                f"column {column.name!r} cannot be part of a key: {problem}",
                stream=config.name,
                where=config.place("key"),
                remedy="choose other key columns",
            )
    return key


def _unique_keys(source: Source, table: Table) -> list[tuple[str, ...]]:
    """Return a stored table's unique keys that can identify rows and contain no other such key."""
    if table.query:
        return []
    able = {c.name for c in table.columns if not source.connector.catalog.key_problem(c)}
    found = list({frozenset(key): key for key in table.unique_keys if set(key) <= able}.values())
    return [key for key in found if not any(set(other) < set(key) for other in found)]


def _check_excluded(config: StreamConfig, key: list[Column]) -> None:
    for column in key:
        if column.name in config.exclude:
            raise ConfigError(
                f'exclude names column "{column.name}" of the key, which identifies events',
                where=config.place("exclude"),
                remedy="take it out of `exclude`",
                stream=config.name,
            )


def _chosen(config: StreamConfig, table: Table, frozen: Frozen | None) -> tuple[list[Column], list[str]]:
    if frozen and not frozen.columns_changed:
        chosen = [_column(config, table, name, "columns") for name in frozen.columns]
        chosen += _taken_up(config, table, frozen)
    elif config.columns:
        chosen = [_column(config, table, name, "columns") for name in config.columns]
    else:
        dropped = [n for n in config.exclude if frozen and n in frozen.columns and table.column(n) is None]
        excluded = {_column(config, table, name, "exclude").name for name in config.exclude if name not in dropped}
        excluded.add(str(config.options.get("checksum_column")))  # it would be part of its own checksum
        chosen = [c for c in table.columns if c.name not in excluded]
    if frozen is None:
        return chosen, []
    order = {name: i for i, name in enumerate(frozen.columns)}  # a digest depends on the order of columns
    return sorted(chosen, key=lambda c: order.get(c.name, len(order))), _table_warnings(config, table, frozen, chosen)


def _new_columns(config: StreamConfig, table: Table, frozen: Frozen) -> list[Column]:
    """Return the columns that the table got after prepare; none if the user names all columns."""
    if config.columns or table.query:
        return []
    known = {*frozen.key, *frozen.columns, *config.exclude, str(config.options.get("checksum_column"))}
    return [c for c in table.columns if c.name not in known]


def _taken_up(config: StreamConfig, table: Table, frozen: Frozen) -> list[Column]:
    """Return new columns to capture from now on, by the stream's policy.

    Raises:
        SchemaChanged: The policy refuses a new column.
    """
    if config.new_columns not in ("add", "add_with_values", "refuse"):
        return []
    new = _new_columns(config, table, frozen)
    if new and config.new_columns == "refuse":
        raise SchemaChanged(
            f"column {new[0].name!r} was added to {table.label} after prepare (new_columns: refuse)",
            stream=config.name,
            where=config.place("new_columns"),
            remedy=f"leave it out by exclude: [{new[0].name}], or capture it by new_columns: add",
        )
    return new


class UncapturedChange(str):
    """A warning about a change of the table since prepare that affects no captured column."""


def _table_warnings(config: StreamConfig, table: Table, frozen: Frozen, chosen: list[Column]) -> list[str]:
    """Return warnings about changes of the table since prepare."""
    warnings = [
        f"column {c.name!r} was added to {table.label} after prepare and is not captured "
        "(`new_columns: add` captures it from now on)"
        for c in (_new_columns(config, table, frozen) if config.new_columns == "report" else ())
        if c not in chosen
    ]
    return [UncapturedChange(one) for one in (*warnings, *_key_warning(config, table, frozen))]


def _key_warning(config: StreamConfig, table: Table, frozen: Frozen) -> Iterator[str]:
    """Yield a warning if another key than that of `prepare` would be chosen now."""
    kept, primary = ", ".join(frozen.key), table.primary_key
    unique = any(set(key) == set(frozen.key) for key in table.unique_keys)
    if config.key is not None or set(primary) == set(frozen.key) or (unique and not primary):
        return
    what = f"the primary key of {table.label} is ({', '.join(primary)}) now; the stream keeps its key ({kept})"
    if not primary:
        what = f"the primary or unique key ({kept}) of {table.label} was dropped; the stream keeps it"
    yield f"{what} (qbcd reset {config.name} and prepare to change it)"


def _column(config: StreamConfig, table: Table, name: str, key_path: str) -> Column:
    column = table.column(name)
    if column is None:
        raise ConfigError(
            f'column "{name}" does not exist in {table.label}',
            remedy=_suggestion(name, (c.name for c in table.columns)),
            where=config.place(key_path),
            stream=config.name,
        )
    return column


def _typed(config: StreamConfig, source: Source, column: Column) -> Column:
    kind = config.types.get(column.name)
    if kind is None:
        return column
    try:
        return source.connector.catalog.override_travel(column, kind)
    except ValueError as error:
        raise ConfigError(
            str(error),
            where=config.place("types", column.name),
            stream=config.name,
            remedy=f"remove {column.name} from `types`, or name another column",
        ) from error


def _check_types(config: StreamConfig, source: Source, captured: list[Column]) -> None:
    for name in config.types:
        if name not in {c.name for c in captured}:
            raise ConfigError(
                f'types names column "{name}", which is not captured',
                where=config.place("types"),
                remedy=_suggestion(name, (c.name for c in captured)),
                stream=config.name,
            )
    for column in captured:
        problem = source.connector.catalog.type_problem(column)
        if problem:
            raise UnsupportedType(
                f"column {column.name!r} of type {column.sql_type} cannot be captured: {problem}",
                stream=config.name,
                where=config.place("columns"),
                remedy=f"exclude: [{column.name}]",
            )
        if RESERVED.fullmatch(column.name):
            raise UnsupportedType(
                f"column {column.name!r} has a name that qbcd's own statements use",
                stream=config.name,
                where=config.place("columns"),
                remedy=f"exclude: [{column.name}], or capture a view that renames it",
            )


def _check_sets(config: StreamConfig, key: list[Column]) -> None:
    for column in key:
        if column.travel.unordered:
            raise ConfigError(
                f"column {column.name!r} of the key cannot be a {column.travel.unordered}: the database compares keys",
                where=config.place("types", column.name),
                remedy=f"remove {column.name} from `types`",
                stream=config.name,
            )


def _check_rights(config: StreamConfig, source: Source, session: Session, table: Table, captured: list[Column]) -> None:
    # of a query whole tables: it may compute with columns that it does not return
    read = [(base, ()) for base in dict.fromkeys(table.bases)] if table.query else [(table, [c.name for c in captured])]
    place = config.place(config.subject)
    role = refuse_unreadable(source, session, read, stream=config.name, place=place)
    for one, _ in read:
        if one.row_security:
            _refuse_row_security(config, source, session, one, role)


def _refuse_row_security(config: StreamConfig, source: Source, session: Session, table: Table, role: str) -> NoReturn:
    """Refuse a table whose policies apply to the role, also if they show all rows now.

    Sessions read with `row_security = off`, under which the server refuses such a table: a policy that is added or
    changed later, or a role that is granted, could hide rows at any moment (docs/internals/sessions.md).
    """
    name, shown = f"{table.schema}.{table.name}", source.connector.catalog.open_policies(session.connection, table)
    what = f"row-level security hides rows of {name} from role {role}; hidden rows would look like deletes"
    remedy = f"use a role with BYPASSRLS, or capture a view that shows what {role} may see"
    if shown:
        what = (
            f"row-level security of {name} applies to role {role}: policy {shown[0]} shows all rows now, but a later "
            "policy could hide some, and hidden rows would look like deletes"
        )
        remedy = (
            f"ALTER ROLE {source.connector.quote(role)} BYPASSRLS, or capture a view whose owner is not subject to it"
        )
    raise Refused(what, stream=config.name, where=config.place(config.subject), remedy=remedy)


def _suggestion(name: str, known: Iterable[str]) -> str:
    candidates = list(known)
    near = difflib.get_close_matches(name, candidates, n=1, cutoff=0.5)
    if near:
        return f'did you mean "{near[0]}"?'
    return f"there are {', '.join(candidates[:8])}" if candidates else ""
