"""Decide if two tables can be compared by range checksums, and by which kind of ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from qbcd.catalog.source import Source
from qbcd.connectors.base import Connector
from qbcd.model import Column, ServerIdentity, StreamPlan
from qbcd.strategies import IdRcs

Kind = Literal["key", "hash"]
_STORED = ("table", "partitioned", "matview")
# Values of these have the same order on every server of one kind.
_ORDERED = frozenset(
    {"boolean", "int16", "int32", "int64", "uint64", "decimal", "binary", "date", "timestamp", "timestamptz"}
)


class ComparedTable(Protocol):
    """A table of a database that is compared with another one.

    Attributes:
        separate_states: Why statements of one transaction may see different states of it; empty if they do not.
        encoding: The encoding of the database if that is not UTF-8.
        address: Host, port and name of the database.
    """

    source: Source
    plan: StreamPlan
    server: ServerIdentity
    encoding: str
    separate_states: str
    address: tuple[str | None, int | None, str | None]


def why_complete(tables: Sequence[ComparedTable], columns: Sequence[Sequence[Column]], keys: int) -> str:
    """Return why two tables must be read completely; empty if range checksums can compare them.

    Args:
        columns: The compared columns of each, in the same order; the first are the key.
        keys: Number of key columns.
    """
    old, new = tables
    connector = old.source.connector
    if connector.name != new.source.connector.name:
        return f"{connector.name} and {new.source.connector.name} compute different digests of equal rows"
    for one in tables:
        if why := why_separate(one):
            return why
    if old.encoding != new.encoding:
        return f"the databases have different encodings: {old.encoding or 'UTF8'} and {new.encoding or 'UTF8'}"
    return _of_columns(connector, columns, keys)


def why_separate(one: ComparedTable) -> str:
    """Return why ranges of a table cannot be read one by one; empty if they can."""
    table = one.plan.table
    if table.remote or table.kind not in _STORED:
        return f"{table.label} {'has rows on another server' if table.remote else f'is a {table.kind}'}"
    return one.separate_states


def _of_columns(connector: Connector, columns: Sequence[Sequence[Column]], keys: int) -> str:
    for place, (one, other) in enumerate(zip(*columns, strict=True)):
        form = connector.expressions.digest_form(one)
        if not form:
            return f"column {one.name} is {one.sql_type}, whose digests mean something else in another database"
        if form != connector.expressions.digest_form(other):
            types = " and ".join(dict.fromkeys((one.sql_type, other.sql_type)))
            return f"column {one.name} is {types}, with different digests of equal values"
        if place < keys and one.fact("zeros") and one.travel.kind != "decimal":
            return f"key column {one.name} is {one.sql_type}: equal keys can have different texts"
    return ""


def kind_for(tables: Sequence[ComparedTable], plans: Sequence[IdRcs]) -> tuple[Kind, str]:
    """Return the kind of ranges, and why it is not ranges of the key; empty if it is.

    Args:
        plans: The strategy of each, over the compared columns.
    """
    for one, strategy in zip(tables, plans, strict=True):
        if not strategy.plan.key_is_proven:
            return "hash", f"no unique index of {one.plan.table.label} has this key"
        if strategy.is_scattered:
            return "hash", f"the rows of {one.plan.table.label} do not follow its order"
    for mine, other in zip(*(strategy.plan.key for strategy in plans), strict=True):
        is_ordered = mine.travel.kind in _ORDERED
        if not is_ordered and not (_same_server(tables) and mine.collation == other.collation):
            return "hash", f"both tables may order {mine.name} differently"
    return "key", ""


def _same_server(tables: Sequence[ComparedTable]) -> bool:
    """Return True if both tables are in one database.

    Equal collations then order texts alike.
    """
    old, new = tables
    servers = [(one.address, one.server.identity, one.server.meaning) for one in (old, new)]
    return servers[0] == servers[1]
