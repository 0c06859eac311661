"""Statements that read values in wire form, and their rows through a local database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import make_url
from sqlglot import exp

from qbcd.catalog.source import SessionOptions, Source
from qbcd.connectors import connector_for
from qbcd.local.database import LocalDatabase
from qbcd.local.source import SourceReads, fetch_rows
from qbcd.model import Statement
from qbcd.model.wire import Fields, wire_type
from tests.support.places import Place

STREAM = "orders"
MEMORY = 256_000_000


@contextmanager
def source(place: Place, url: str = "", *, plain: bool = False, **options: Any) -> Iterator[Source]:
    """Yield a place as a source; `plain` without the abilities of its connector to read rows faster."""
    connector = connector_for(url or place.url)
    if plain:
        connector.abilities = ()
    made = Source("shop", make_url(url or place.url), connector, place.own_schema, options=SessionOptions(**options))
    try:
        yield made
    finally:
        made.close()


def fetched(
    source: Source, texts: Sequence[str | Statement], fields: Fields, folder: Path, **more: Any
) -> list[tuple[Any, ...]]:
    """Return the rows of statements, read into a local database."""
    statements = [text if isinstance(text, Statement) else Statement(text) for text in texts]
    database = LocalDatabase(MEMORY, folder / "spill")
    try:
        rows = fetch_rows(database, SourceReads(source, STREAM, statements, **more), fields)
        assert rows.columns == tuple(name for name, _ in fields)
        return database.connection.execute(rows.sql).fetchall()
    finally:
        database.close()


def wire_rows(source: Source, place: Place, name: str) -> tuple[str, Fields]:
    """Return a statement over all columns of a table in wire form, and its fields: `id`, and `c0` and so on."""
    connector = source.connector
    with source.read(STREAM) as session:
        table = connector.catalog.probe_table(session.connection, place.schema, name)
    assert table is not None
    forms = [connector.expressions.travel_form(c, exp.column(c.name, table="t", quoted=True)) for c in table.columns]
    texts = [form.sql(dialect=connector.dialect) for form in forms]
    fields = [(f"c{i}", wire_type(column.travel)) for i, column in enumerate(table.columns)]
    selected = ", ".join(f"{text} AS {name}" for text, (name, _) in zip(texts, fields, strict=True))
    return f"SELECT {selected} FROM {place.table(name)} AS t", fields
