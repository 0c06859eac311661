"""Rights of the source's role to read tables: all that are missing, in one error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from qbcd.catalog.source import Session, Source
from qbcd.connectors.base import Privileges
from qbcd.errors import MissingPrivilege
from qbcd.model import Table


def refuse_unreadable(
    source: Source, session: Session, tables: Iterable[tuple[Table, Sequence[str]]], *, stream: str, place: str
) -> str:
    """Refuse tables that the role may not read, and return the role's name.

    Args:
        tables: Tables with the columns that are read.
        place: ``file:line: key path`` for the error.

    Raises:
        MissingPrivilege: Names every missing right, with the statements that grant them.
    """
    role, lacking, remedies = "", dict[str, None](), dict[str, None]()
    for table, columns in tables:
        rights = source.connector.catalog.privileges(session.connection, table, list(columns), source.schema)
        role = rights.role
        for problem, remedy in _problems(source, table, rights):
            lacking[problem] = remedies[remedy] = None
    if lacking:
        raise MissingPrivilege(
            f"role {role} {'; '.join(lacking)}", stream=stream, where=place, remedy="; ".join(remedies)
        )
    return role


def _problems(source: Source, table: Table, rights: Privileges) -> Iterator[tuple[str, str]]:
    """Yield each right that is missing, and the statement that grants it."""
    ddl, name = source.connector.ddl, f"{table.schema}.{table.name}"
    if not rights.schema_usage:
        yield f"may not use schema {table.schema}", ddl.usage_grant(table.schema, rights.role)
    columns = f" (columns {', '.join(rights.missing_columns)})" if rights.missing_columns else ""
    if columns or not (rights.select or not rights.schema_usage):
        yield f"may not SELECT from {name}{columns}", ddl.select_grant(table, rights.role)
    elif not rights.lock:
        grant = ddl.select_grant(table, rights.role)
        yield f"may read columns of {name} only, not lock it or see it as a whole", f"{grant}, or capture a view"
