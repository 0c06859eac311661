"""A query as a table: parse it, look up base tables, describe columns, prove the key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from qbcd.catalog.read_rights import refuse_unreadable
from qbcd.catalog.source import Session, Source
from qbcd.catalog.views import Views, check_steady_views
from qbcd.connectors import Connector
from qbcd.connectors.facts import Privileges
from qbcd.connectors.queries import SupportsQueryColumns, SupportsVolatility
from qbcd.errors import ConfigError, MissingPrivilege, Refused, SchemaChanged
from qbcd.model import Column, Table
from qbcd.queries import (
    BaseTable,
    CapturedQuery,
    Relation,
    Unfit,
    compared_elsewhere,
    parse_query,
    parse_view,
    relation_of,
    words_of,
)
from qbcd.queries.clock import TIMES, moment_in

_REMEDY = "take functions of the time, of chance and of the session's user out; those who read the result can add them"


def probe_query(source: Source, session: Session, text: str, *, stream: str, place: str = "") -> Table:
    """Return the result of a query as a table, as the source describes it now; no row is read.

    Args:
        source: The database that runs the query.
        text: As the user wrote it, or as it runs.
        stream: The name of the result.
        place: ``file:line: key path`` for errors.

    Raises:
        ConfigError: The text is not a query that can be captured, or the source refuses it.
        MissingPrivilege: The role may not read one of its tables.
    """
    connector = source.connector
    query = parse_query(text, connector.dialect, stream=stream, place=place)
    called = connector.require(SupportsVolatility).volatile_calls(
        session.connection, words_of(query.text, connector.dialect)
    )
    if called:
        raise ConfigError(
            f"the query uses {called[0]}, so that its result changes by itself",
            stream=stream,
            where=place,
            remedy=_REMEDY,
        )
    views = Views(source, session, stream)
    tables = _bases(source, session, query.bases, stream, place)
    bases = tuple(map(views.with_definition, tables))
    _check_operators(query, bases, stream, place)
    _check_moments(connector, query, bases, stream, place)
    columns = _columns(source, session, query, bases, stream, place)
    known = relation_of(query.tree, bases, connector.dialect, bare_names=connector.unqualified_names)
    table = _table(stream, query, bases, _proven(connector, columns, known), known)
    check_steady_views(connector, session.connection, table, stream=stream, place=place)
    return table


def rights_of(connector: Connector, conn: Connection, table: Table, columns: Sequence[str], schema: str) -> Privileges:
    """Return the role's rights on columns of a table or a query's tables, and on a schema."""
    if not table.query:
        return connector.catalog.privileges(conn, table, columns, schema)
    found = [connector.catalog.privileges(conn, base, (), schema) for base in dict.fromkeys(table.bases)]
    return replace(
        found[0],
        select=all(one.select for one in found),
        lock=all(one.lock for one in found),
        schema_usage=all(one.schema_usage for one in found),
    )


def remarks_on(query: CapturedQuery) -> list[str]:
    """Return the remarks of `check` and `prepare` about a query that is captured."""
    found = ["ORDER BY without LIMIT is left out: the result is kept by its key"] if query.order_dropped else []
    if query.inner_limit:
        found.append(
            "LIMIT in a subquery, or DISTINCT ON: unless its ORDER BY is unique, the rows that it "
            "takes may change by themselves"
        )
    if query.windows:
        found.append(
            "window functions: for rows that are equal under their ORDER BY, the values may change by themselves"
        )
    if query.unordered:
        found.append(
            f"{query.unordered[0]} takes rows in any order: its value may change by itself; write ORDER BY inside it"
        )
    return found


def remarks_on_views(table: Table, dialect: str) -> list[str]:
    """Return the remarks of `check` and `prepare` about the views that a query reads."""
    found = []
    for name, definition in table.views.items():
        try:
            query = parse_view(definition, dialect)
        except Unfit as reason:
            found.append(f"view {name} {reason}: whether it changes by itself is not checked")
            continue
        within = replace(query, order_dropped=False, inner_limit=query.inner_limit or query.limit)
        found += [f"view {name}: {remark}" for remark in remarks_on(within)]
    return found


def check_limit(query: CapturedQuery, key: Sequence[str], *, stream: str, place: str = "") -> None:
    """Refuse a LIMIT whose rows are not always the same.

    Raises:
        Refused: It has no ORDER BY, or one under which rows may be equal.
    """
    if not query.limit or (key and set(key) <= set(query.order)):
        return
    remedy = (
        f"ORDER BY all columns of the key ({', '.join(key)}) too, by their names in the result" if key else "add a key"
    )
    raise Refused(
        "LIMIT takes other rows at each poll, since its ORDER BY is not unique",
        stream=stream,
        where=place,
        remedy=remedy,
    )


def _bases(source: Source, session: Session, bases: Sequence[BaseTable], stream: str, place: str) -> list[Table]:
    found = source.connector.catalog.probe_tables(session.connection, [(base.schema, base.name) for base in bases])
    return [_checked(source, base, table, stream, place) for base, table in zip(bases, found, strict=True)]


def _checked(source: Source, base: BaseTable, table: Table | None, stream: str, place: str) -> Table:
    connector = source.connector
    if table is None:
        wanted = ".".join(part for part in (base.schema, base.name) if part)
        raise ConfigError(
            f"the query reads {wanted}, which does not exist in source {source.name}, or the role may not see it",
            stream=stream,
            where=place,
            remedy="check its name and schema, and the rights of the role",
        )
    if not base.schema and not connector.unqualified_names:
        raise ConfigError(
            f"the query names {base.name} without its schema, and qbcd's sessions search no schema for it",
            stream=stream,
            where=place,
            remedy=f"write {table.label}",
        )
    return table


def _check_operators(query: CapturedQuery, bases: Sequence[Table], stream: str, place: str) -> None:
    """Refuse compared columns whose operators are in a schema outside the sessions' search path.

    Without these operators, the comparison of a case-insensitive text silently becomes case-sensitive.
    """
    found = compared_elsewhere(query, bases)
    if found is None:
        return
    column, using = found
    name, schema = column.name, column.fact("operators")
    raise ConfigError(
        f'the query compares or computes with column "{name}" of type {column.sql_type}, whose operators are '
        f"in schema {schema}, where qbcd's sessions do not look",
        stream=stream,
        where=place,
        remedy="write JOIN .. ON in place of USING"
        if using
        else f"write {name}::text, or name the operator: {name} OPERATOR({schema}.=) ..",
    )


def _check_moments(connector: Connector, query: CapturedQuery, bases: Sequence[Table], stream: str, place: str) -> None:
    """Refuse literals of the present time ('now'): with them the result changes by itself."""
    times = {c.name for table in bases for c in table.columns if c.travel.kind in TIMES}
    moment = moment_in(query.tree, connector.queries.moments, lambda column: column.name in times)
    if moment:
        raise ConfigError(
            f"the query uses {moment}, which is the present time, so that its result changes by itself",
            stream=stream,
            where=place,
            remedy=_REMEDY,
        )


def _columns(
    source: Source, session: Session, query: CapturedQuery, bases: Sequence[Table], stream: str, place: str
) -> list[Column]:
    try:
        columns = source.connector.require(SupportsQueryColumns).query_columns(session.connection, query.text)
    except DBAPIError as error:
        said = source.explain(error, stream)
        if isinstance(said, MissingPrivilege):  # the server names one table alone
            with source.read(stream) as another:
                read = [(base, [c.name for c in base.columns]) for base in dict.fromkeys(bases)]
                refuse_unreadable(source, another, read, stream=stream, place=place)
        said.where = said.where or place
        if not source.connector.errors.is_statement_error(error) or (
            isinstance(said, Refused) and not isinstance(said, SchemaChanged)
        ):
            raise said from error
        raise ConfigError(
            f"the query is refused: {said.what}",
            stream=stream,
            where=said.where,
            remedy=source.connector.queries.query_trial,
        ) from error
    names = [c.name for c in columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(
            f'the query has two columns called "{twice}"',
            stream=stream,
            where=place,
            remedy="list its columns, each with a name of its own",
        )
    return columns


def _proven(connector: Connector, columns: Sequence[Column], known: Relation) -> tuple[Column, ...]:
    """Return the columns with facts that the text proves: never NULL, and a missing type."""
    found = []
    for place, column in enumerate(columns):
        output = known.columns[place] if known.columns is not None and len(known.columns) == len(columns) else None
        origin = output.origin if output is not None else None
        if origin is not None and connector.catalog.type_problem(column) and not connector.catalog.type_problem(origin):
            column = replace(origin, name=column.name, nullable=True)
        never = output is not None and not output.nullable and bool(known.keys)
        found.append(replace(column, nullable=False) if never else column)
    return tuple(found)


def _table(
    stream: str, query: CapturedQuery, bases: tuple[Table, ...], columns: tuple[Column, ...], known: Relation
) -> Table:
    names = {c.name.lower(): c.name for c in columns}
    keys = [tuple(names.get(n.lower(), n) for n in key) for key in (known.keys or known.likely[:1])]
    usable = [key for key in keys if set(key) <= set(names.values())]
    table = Table(
        schema="",
        name=stream,
        kind="query",
        columns=columns,
        primary_key=usable[0] if usable else (),
        unique_keys=tuple(usable[1:]),
        row_security=any(b.row_security for b in bases),
        query=query.text,
        bases=bases,
        one_row=known.one_row,
        remote=any(b.remote for b in bases),
    )
    return replace(table, pages=sum(one.pages for one in table.reads))
