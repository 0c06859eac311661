"""A target table that exists, next to the columns that a stream has now."""

from __future__ import annotations

from qbcd.errors import DeliveryError
from qbcd.model import BatchHeader
from qbcd.sinks.table.databases.base import ExistingTable, TargetDatabase
from qbcd.sinks.table.layout import Layout, TargetColumn
from qbcd.sinks.table.options import TableOptions


def missing_columns(
    found: ExistingTable, layout: Layout, database: TargetDatabase, table: str, header: BatchHeader
) -> list[TargetColumn]:
    """Return the columns that must be added to a table.

    Raises:
        DeliveryError: The table has a column of another type, or lacks a column of its key, or requires a column that
            the stream does not have.
    """
    known = {name.lower(): name for name in found.types}
    missing = []
    for one in layout.columns:
        if one.name.lower() not in known:
            missing.append(one)
            continue
        kind = found.types[known[one.name.lower()]]
        if not database.holds(one.travel, kind):
            wanted = database.type_of(one.travel)
            raise DeliveryError(
                f"column {one.name} of table {table} has type {kind}, and the stream needs {wanted}",
                remedy=f"change the column to {wanted}; or drop the table, then qbcd reset and prepare the stream",
                stream=header.stream,
            )
    if lacking := [one.name for one in missing if one.required]:
        raise DeliveryError(
            f"table {table} has no column {lacking[0]}",
            remedy="drop the table, or name another one with `table` of the sink",
            stream=header.stream,
        )
    mine = {one.name.lower() for one in layout.columns}
    for name in found.types:
        if name.lower() not in mine and name not in found.optional:
            raise DeliveryError(
                f"column {name} of table {table} is NOT NULL without a default, and the stream does not have it",
                remedy="drop the constraint or give the column a default",
                stream=header.stream,
            )
    return missing


def check_keys(found: ExistingTable, layout: Layout, options: TableOptions, table: str, header: BatchHeader) -> None:
    """Check the unique constraints of a table.

    Raises:
        DeliveryError: It has none on its key, or one on other columns that a batch may violate.
    """
    wanted = frozenset(layout.primary_key)
    if wanted and wanted not in found.keys:
        columns = ", ".join(layout.primary_key)
        raise DeliveryError(
            f"table {table} has no primary key on ({columns})",
            remedy=f"ALTER TABLE {table} ADD PRIMARY KEY ({columns}); or drop the table, and qbcd creates it",
            stream=header.stream,
        )
    others = [key for key in found.keys if key != wanted]
    exact = options.mode == "mirror" and options.deletes == "hard" and header.consistency != "range"
    if others and not exact:
        why = (
            "batches of this strategy are consistent for each key range only"
            if options.mode == "mirror" and options.deletes == "hard"
            else "it keeps old rows"
        )
        raise DeliveryError(
            f"table {table} has a unique constraint on ({', '.join(sorted(others[0]))}), and two of its rows can have "
            f"the same value: {why}",
            remedy="drop the constraint in the target",
            stream=header.stream,
        )
