"""Columns of qbcd's own tables in the source that get a wider type.

A captured column has that type. DDL of MariaDB and MySQL commits by itself, so the tables are altered before the step
that stores the new type. If the process is killed in between, the next poll continues: a column that has the type
already needs no statement, and a wider column of a replica or an outbox holds all values that a narrower one holds
(docs/design/protocol.md#rule-16).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from qbcd.catalog.capture_change import Change
from qbcd.connectors.base import Connector
from qbcd.model import Table
from qbcd.strategies.in_source import OwnTable, sql_name


def widening(
    connector: Connector, tables: Sequence[tuple[OwnTable, Table | None]], change: Change, images: Mapping[str, str]
) -> list[str]:
    """Return ALTER TABLE for each column whose captured column has a wider type now.

    Args:
        tables: The stream's own tables with their types of now, each as the catalog shows it; None if it is missing.
        images: Name of an image in an outbox, and its captured column.
    """
    names = {name for name, *_ in change.retyped}
    statements = []
    for table, present in tables:
        for name, kind in table.columns:
            there = present.column(name) if present else None
            if images.get(name, name) in names and there is not None and connector.ddl.column_type(there) != kind:
                required = name in table.key
                statements.append(connector.ddl.retype(sql_name(connector, table.name), name, kind, required=required))
    return statements
