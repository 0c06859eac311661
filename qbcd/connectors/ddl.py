"""DDL and grants: qbcd's own tables, and columns that a strategy needs in the user's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from qbcd.connectors.facts import Collaborator
from qbcd.errors import UnsupportedPrimitive
from qbcd.model import Column, Table


class Ddl(Collaborator):
    """Statements that define tables and columns, and that grant a role the rights to them.

    A connector whose database keeps no tables of qbcd's own uses this class itself.

    Attributes:
        column_definitions: Definitions of columns that a strategy needs in a table of the user, maintained by the
            server if it can: ``stamp`` for a timestamp, ``flag`` for a delete flag, ``checksum`` for a checksum.
    """

    column_definitions: ClassVar[Mapping[str, str]] = {}

    def create_table(
        self, name: str, columns: Sequence[tuple[str, str]], primary_key: Sequence[str], *, written_over: bool = False
    ) -> str:
        """Return CREATE TABLE IF NOT EXISTS of one of qbcd's own tables.

        Args:
            name: Quoted SQL.
            columns: Plain names with types.
            primary_key: Plain names.
            written_over: Its rows are updated in place; pages should keep some room for that.

        Raises:
            UnsupportedPrimitive: The database cannot keep tables of qbcd's own: the default.
        """
        raise UnsupportedPrimitive(self.facts.name, "tables of qbcd's own")

    def column_type(self, column: Column) -> str:
        """Return the type of `column` in qbcd's own tables.

        It has the column's collation, and none of the source's constraints.
        """
        base = column.fact("storage_type") or column.sql_type
        return f"{base} COLLATE {column.collation}" if column.collation else base

    def image_type(self, column: Column) -> str:
        """Return the type of an old or new value of `column` in an outbox.

        An outbox has two values of each captured column, and compares only keys.
        """
        return self.column_type(column)

    def retype(self, name: str, column: str, sql_type: str, *, required: bool) -> str:
        """Return ALTER TABLE that gives a column of one of qbcd's own tables a wider type.

        Args:
            name: The table, quoted SQL.
            column: Plain name.
            sql_type: As in `create_table`.
            required: The column is in the primary key.

        Raises:
            UnsupportedPrimitive: As `create_table`.
        """
        raise UnsupportedPrimitive(self.facts.name, "tables of qbcd's own")

    def missing_column(self, table: Table, name: str, kind: str) -> str:
        """Return DDL of a column that a strategy needs and `table` lacks.

        Args:
            name: Plain name of the column.
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

    def grants(self, schema: str, role: str) -> list[str]:
        """Return the grants that a DBA who created qbcd's tables gives to the role that polls.

        Default: none.
        """
        return []

    def own_schema(self, schema: str, role: str, *, exists: bool) -> list[str]:
        """Return the statements by which a DBA lets `role` create qbcd's own tables in `schema`.

        Args:
            schema: Plain name.
            role: As the server calls it.
            exists: The schema exists already.
        """
        return self.grants(schema, role)
