"""A MariaDB or MySQL place as a source, and SQL of the connector's primitives over it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import make_url
from sqlglot import exp

from qbcd.catalog.source import Session, Source
from qbcd.connectors import connector_for
from qbcd.connectors.base import Connector
from qbcd.connectors.mysql_family import types
from qbcd.model import Column, KeyRange, Table
from tests.support.maria_values import values_of
from tests.support.places import Place

MARIA = connector_for("mariadb://localhost/any")
# The kinds of servers of the family. MySQL runs in the campaign, where it does as MariaDB does.
KINDS = ["mariadb", pytest.param("mysql", marks=pytest.mark.campaign)]


def connector_of(place: Place) -> Connector:
    """Return the connector of a place."""
    return connector_for(place.url)


def source_of(place: Place, url: str = "") -> Source:
    """Return the place, or the database at `url`, as a source."""
    return Source("shop", make_url(url or place.url), connector_for(url or place.url), place.own_schema)


@contextmanager
def packet(place: Place, size: int) -> Iterator[None]:
    """Give new sessions a max_allowed_packet of `size` bytes."""
    before = place.sql("SELECT @@global.max_allowed_packet")[0][0]
    place.sql(f"SET GLOBAL max_allowed_packet = {size}")
    try:
        yield
    finally:
        place.sql(f"SET GLOBAL max_allowed_packet = {before}")


@contextmanager
def reading(place: Place, url: str = "") -> Iterator[Session]:
    """Yield a pinned read-only session."""
    source = source_of(place, url)
    with source.read("orders") as session:
        yield session
    source.close()


def text(tree: exp.Expression) -> str:
    """Return the SQL text of a primitive, as the compiler writes it."""
    return tree.sql(dialect=MARIA.dialect, pretty=True)


def named(alias: str, column: str) -> exp.Expression:
    """Return the column ``alias.column``."""
    return exp.column(column, table=alias, quoted=True)


def digest(alias: str, *columns: Column) -> str:
    """Return SQL of the digest of `columns` of `alias`."""
    return text(MARIA.expressions.row_digest([(c, named(alias, c.name)) for c in columns]))


def probe(session: Session, place: Place, name: str) -> Table:
    """Return a table that must exist."""
    table = connector_of(place).catalog.probe_table(session.connection, place.schema, name)
    assert table is not None
    return table


def column(table: Table, name: str) -> Column:
    """Return a column that must exist."""
    found = table.column(name)
    assert found is not None
    return found


def key_of(table: Table) -> list[Column]:
    """Return the columns of the primary key."""
    return [column(table, name) for name in table.primary_key]


def ranges_of(bounds: Sequence[tuple[str, ...]]) -> list[KeyRange]:
    """Return ranges 10, 11, .. between bounds; the first and the last are open."""
    return [KeyRange(i + 10, lo, hi) for i, (lo, hi) in enumerate(zip([None, *bounds], [*bounds, None], strict=True))]


def load_values(place: Place) -> dict[str, str]:
    """Make one table per type with columns id (0 is NULL) and x; return the table names by type."""
    tables = {}
    with place.connect() as conn:
        # values that a strict server refuses may date from before it was made strict
        place.run(conn, "SET sql_mode = 'ALLOW_INVALID_DATES'")
        for i, (sql_type, values) in enumerate(values_of(place.kind).items()):
            tables[sql_type] = f"v{i}"
            place.run(conn, f"CREATE TABLE v{i} (id int PRIMARY KEY, x {sql_type})")
            rows = ", ".join(f"({n}, {value})" for n, value in enumerate(["NULL", *values]))
            place.run(conn, f"INSERT INTO v{i} (id, x) VALUES {rows}")
    return tables


def same(x: Column, one: str, two: str) -> str:
    """Return SQL that compares two columns like `x` for one stored value.

    It uses functions that the connector does not use.
    """
    if x.base_type == "enum":
        return f"{one} + 0 <=> {two} + 0"
    if x.base_type in ("set", "json", *types.STRINGS, *types.BINARIES, *types.GEOMETRIES):
        return f"hex({one}) <=> hex({two})"
    return f"{one} <=> {two}"


def written(x: Column, wire: Any) -> str:
    """Return a wire value, as a driver returns it, as an SQL literal."""
    if wire is None:
        return "NULL"
    if isinstance(wire, float):
        return repr(wire)
    if isinstance(wire, (int, Decimal)) or x.base_type == "bit":
        return str(wire)
    if isinstance(wire, bytes):
        return f"X'{wire.hex()}'"
    if x.base_type in types.BINARIES or x.base_type in types.GEOMETRIES:
        return f"X'{wire.removeprefix('0x')}'"
    return f"_utf8mb4 X'{str(wire).removesuffix('Z' if x.base_type == 'timestamp' else '').encode().hex()}'"
