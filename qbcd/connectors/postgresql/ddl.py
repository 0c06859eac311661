"""DDL and grants of PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from typing_extensions import override

from qbcd.connectors.ddl import Ddl

FILLED = 90  # fill factor in percent, for a table whose rows are updated in place


class PostgresDdl(Ddl):
    """DDL of qbcd's own tables in a schema of the source's database."""

    column_definitions: ClassVar[Mapping[str, str]] = {
        "stamp": "timestamptz NOT NULL DEFAULT now()",  # only the application changes it at an UPDATE
        "flag": "boolean NOT NULL DEFAULT false",
        "checksum": "bigint",
    }

    @override
    def create_table(
        self, name: str, columns: Sequence[tuple[str, str]], primary_key: Sequence[str], *, written_over: bool = False
    ) -> str:
        """Return CREATE TABLE IF NOT EXISTS.

        If the page has room for another version, an updated row stays in it, and indexes need no change.
        """
        lines = [f"{self.facts.quote(column)} {sql_type}" for column, sql_type in columns]
        if primary_key:
            lines.append(f"PRIMARY KEY ({', '.join(map(self.facts.quote, primary_key))})")
        body = ",\n  ".join(lines)
        room = f" WITH (fillfactor = {FILLED})" if written_over else ""
        return f"CREATE TABLE IF NOT EXISTS {name} (\n  {body}\n){room}"

    @override
    def retype(self, name: str, column: str, sql_type: str, *, required: bool) -> str:
        return f"ALTER TABLE {name} ALTER COLUMN {self.facts.quote(column)} TYPE {sql_type}"

    @override
    def own_schema(self, schema: str, role: str, *, exists: bool) -> list[str]:
        if exists:
            return self.grants(schema, role)
        return [f"CREATE SCHEMA {self.facts.quote(schema)} AUTHORIZATION {self.facts.grantee(role)}"]

    @override
    def grants(self, schema: str, role: str) -> list[str]:
        own, to = self.facts.quote(schema), self.facts.grantee(role)
        return [
            f"GRANT USAGE, CREATE ON SCHEMA {own} TO {to}",
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {own} TO {to}",
        ]
