"""Sessions, tables and statements for tests of watermarks, flags, indexes and rights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import make_url

from qbcd.catalog.source import Session, Source
from qbcd.connectors import Connector, connector_for
from qbcd.model import Column, KeyRange, Statement, StreamPlan, Table
from qbcd.sql.compile import compile_sql
from tests.support.places import Place


@contextmanager
def session(place: Place, url: str = "", *, write: bool = False) -> Iterator[Session]:
    """Yield a session of qbcd on the place, or of another user."""
    source = Source("shop", make_url(url or place.url), connector_for(place.url), place.own_schema)
    with source.write("s") if write else source.read("s") as made:
        yield made
    source.close()


def rows(reading: Session, statement: Statement | str) -> list[tuple[Any, ...]]:
    """Return all rows of a query, as plain tuples."""
    return [tuple(row) for row in reading.rows(statement)]


def connector_of(place: Place) -> Connector:
    return connector_for(place.url)


def probed(place: Place, name: str = "t") -> Table:
    """Return table `name` as the catalog describes it."""
    with session(place) as made:
        table = connector_of(place).catalog.probe_table(made.connection, place.schema, name)
    assert table is not None
    return table


def column_of(table: Table, name: str) -> Column:
    found = table.column(name)
    assert found is not None
    return found


def plan_of(table: Table, key: Sequence[str] = ("k",), *, where: str = "", **options: Any) -> StreamPlan:
    """Return a plan that captures only the key."""
    columns = tuple(column_of(table, name) for name in key)
    return StreamPlan("s", "shop", table, columns, (), where, "ts", tuple(options.items()))


def compiled(
    place: Place, plan: StreamPlan, canonical: str, within: KeyRange | None = None, **params: Any
) -> Statement:
    """Return a statement of canonical SQL, in which ``{t}`` is the table."""
    table = f'"{plan.table.schema}"."{plan.table.name.replace(chr(34), chr(34) * 2)}"'
    return compile_sql(canonical.replace("{t}", table), connector_of(place), plan, params, within=within)
