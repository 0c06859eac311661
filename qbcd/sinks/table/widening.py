"""Columns of a target table that get a wider type, since the stream's column has one.

A column of the source that gets a wider type does not stop its stream (docs/how-to/schema-changes.md). Before the first
batch with the new type is applied, the target's column gets it by ALTER TABLE, and rows that are there keep their
values. DDL may commit by itself; if the process is killed then, the wider column takes the batch all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy import TableClause

from qbcd.errors import DeliveryError
from qbcd.model import Travel, TravelKind
from qbcd.sinks.table.databases.base import ExistingTable, TargetDatabase, TargetSession, decimal_size
from qbcd.sinks.table.layout import Layout

_NARROWER: Mapping[str, tuple[TravelKind, ...]] = {
    "int32": ("int16",),
    "int64": ("int16", "int32"),
    "uint64": ("int16", "int32", "int64"),
}


def widen(
    session: TargetSession,
    database: TargetDatabase,
    target: TableClause,
    found: ExistingTable,
    layout: Layout,
    stream: str,
) -> ExistingTable:
    """Give columns of a table that the sink has written the wider types that a batch needs.

    Args:
        session: A session in a transaction for DDL.
        layout: The columns that the batch needs.
        stream: The stream's name, for errors.

    Returns:
        The table as it is then; columns that do not fit for another reason are left to the caller.

    Raises:
        DeliveryError: The database refuses to alter a column; the remedy has the statements.
    """
    narrow = narrow_columns(database, found, layout)
    if not narrow:
        return found
    statements = database.retype(session, target, found, narrow)
    columns = ", ".join(f"{name} ({database.type_of(travel)})" for name, travel in narrow.items())
    what = f"the source has wider types of columns that table {target.name} must get too: {columns}"
    if not statements:
        raise DeliveryError(
            f"{what}; this database cannot change a column's type",
            remedy=f"drop the table, then qbcd resend {stream} SINK fills a new one; the batch stays pending",
            stream=stream,
        )
    try:
        for statement in statements:
            session.run_ddl(statement)
    except Exception as error:
        said = " ".join(str(getattr(error, "orig", error)).split())
        raise DeliveryError(
            f"{what}; {said}",
            remedy=f"remove what depends on these columns (views, foreign keys), run {'; '.join(statements)}, and make "
            "it again; the batch stays pending",
            stream=stream,
        ) from error
    return session.describe(target) or found


def narrow_columns(database: TargetDatabase, found: ExistingTable, layout: Layout) -> dict[str, Travel]:
    """Return the columns of a table that need a wider type for a batch.

    Each comes with the form of its values.
    """
    known = {database.folded(name): name for name in found.types}
    return {
        name: column.travel
        for column in layout.columns
        if (name := known.get(database.folded(column.name))) and is_narrow(database, column.travel, found.types[name])
    }


def as_widened(database: TargetDatabase, found: ExistingTable, layout: Layout) -> ExistingTable:
    """Return the description that a table will have once :func:`widen` has altered it."""
    narrow = narrow_columns(database, found, layout)
    columns = (
        replace(one, kind=database.type_of(narrow[one.name]).lower()) if one.name in narrow else one
        for one in found.columns
    )
    return replace(found, columns=tuple(columns)) if narrow else found


def is_narrow(database: TargetDatabase, travel: Travel, existing: str) -> bool:
    """Return True if a column holds only the values of a narrower type.

    The stream's column may have had that type.
    """
    if database.holds(travel, existing):
        return False
    if travel.kind == "decimal":
        size = decimal_size(existing)
        return size is not None and size[1] == travel.scale and size[0] < travel.precision
    return any(database.holds(Travel(kind), existing) for kind in _NARROWER.get(travel.kind, ()))
