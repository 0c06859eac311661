"""DDL and grants: qbcd's own tables in the source, and columns that a strategy needs in the user's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from qbcd.connectors.facts import Collaborator
from qbcd.model import Column, Table


class Ddl(Collaborator, ABC):
    """The statements that define tables and columns, and that give a role the right to them.

    Attributes:
        column_definitions: Definitions of columns that a strategy needs in a table of the user's, kept up by the server
            where it can: ``stamp`` for a timestamp, ``flag`` for a delete flag, ``checksum`` for a checksum.
    """

    column_definitions: ClassVar[Mapping[str, str]]

    @abstractmethod
    def create_table(
        self, name: str, columns: Sequence[tuple[str, str]], primary_key: Sequence[str], *, written_over: bool = False
    ) -> str:
        """Return CREATE TABLE IF NOT EXISTS of a table of qbcd's own.

        Args:
            name: Quoted SQL.
            columns: Plain names with types.
            primary_key: Plain names.
            written_over: Its rows are updated in place, for which pages should keep some room.
        """

    def column_type(self, column: Column) -> str:
        """Return the type of `column` in qbcd's own tables: with its collation, without the source's constraints."""
        base = column.fact("storage_type") or column.sql_type
        return f"{base} COLLATE {column.collation}" if column.collation else base

    def image_type(self, column: Column) -> str:
        """Return the type of an image of `column` in an outbox, which holds two of each and compares none but keys."""
        return self.column_type(column)

    def missing_column(self, table: Table, name: str, kind: str) -> str:
        """Return DDL of a column that a strategy needs and the table lacks.

        Args:
            table: The captured table.
            name: Of the column, plain.
            kind: One of `column_definitions`.
        """
        facts = self.facts
        return f"ALTER TABLE {facts.quoted_table(table)} ADD COLUMN {facts.quote(name)} {self.column_definitions[kind]}"

    def select_grant(self, table: Table, role: str) -> str:
        """Return the GRANT by which a DBA lets `role` read `table`."""
        return f"GRANT SELECT ON {self.facts.quoted_table(table)} TO {self.facts.grantee(role)}"

    def usage_grant(self, schema: str, role: str) -> str:
        """Return the GRANT by which a DBA lets `role` use what it may read in `schema`."""
        return f"GRANT USAGE ON SCHEMA {self.facts.quote(schema)} TO {self.facts.grantee(role)}"

    @abstractmethod
    def grants(self, schema: str, role: str) -> list[str]:
        """Return the grants that a DBA who created qbcd's tables gives to the role that polls."""

    def own_schema(self, schema: str, role: str, *, exists: bool) -> list[str]:
        """Return the statements by which a DBA lets `role` create qbcd's own tables in `schema`.

        Args:
            schema: Plain name.
            role: As the server calls it.
            exists: The schema exists already.
        """
        return self.grants(schema, role)
