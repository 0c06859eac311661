"""A PostgreSQL place as a source, and SQL of the connector's primitives over it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import make_url
from sqlglot import exp

from qbcd.catalog.source import Session, Source
from qbcd.connectors import connector_for
from qbcd.model import Column, Table
from tests.support import sql
from tests.support.pg_values import SETUP, VALUES

PG = connector_for("postgresql://localhost/any")


def source_of(url: str) -> Source:
    """Return the source at a libpq URL."""
    return Source("shop", make_url(url), connector_for(url), "qbcd")


@contextmanager
def reading(url: str) -> Iterator[Session]:
    """Yield a pinned read-only session."""
    source = source_of(url)
    with source.read("orders") as session:
        yield session
    source.close()


def text(tree: exp.Expression) -> str:
    """Return the SQL text of a primitive, as the compiler writes it."""
    return tree.sql(dialect=PG.dialect, pretty=True)


def named(alias: str, column: str) -> exp.Expression:
    """Return the column ``alias.column``."""
    return exp.column(column, table=alias, quoted=True)


def digest(alias: str, *columns: Column) -> str:
    """Return SQL of the digest of `columns` of `alias`."""
    return text(PG.expressions.row_digest([(c, named(alias, c.name)) for c in columns]))


def probe(session: Session, name: str, schema: str = "public") -> Table:
    """Return a table that must exist."""
    table = PG.catalog.probe_table(session.connection, schema, name)
    assert table is not None
    return table


def load_values(url: str, types: list[str] | None = None) -> dict[str, str]:
    """Make one table per type with columns id (0 is NULL) and x; return the table names by type."""
    names = {t: f"v{i}" for i, t in enumerate(VALUES) if types is None or t in types}
    sql(url, SETUP)
    sql(url, "; ".join(f"CREATE TABLE {name} (id int PRIMARY KEY, x {t})" for t, name in names.items()))
    for sql_type, name in names.items():
        places = ", ".join(f"({i}, %s)" for i in range(len(VALUES[sql_type]) + 1))
        sql(url, f"INSERT INTO {name} VALUES {places}", [None, *VALUES[sql_type]])
    return names


__all__ = ["PG", "digest", "load_values", "named", "probe", "reading", "source_of", "text"]
