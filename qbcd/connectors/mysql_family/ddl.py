"""DDL and grants of MariaDB and MySQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from typing_extensions import override

from qbcd.connectors.ddl import Ddl
from qbcd.connectors.mysql_family import types
from qbcd.connectors.mysql_family.facts import database_pattern
from qbcd.model import Column

_NOW = "CURRENT_TIMESTAMP(6)"


class FamilyDdl(Ddl):
    """DDL of qbcd's own tables in a database of the same server."""

    column_definitions: ClassVar[Mapping[str, str]] = {
        "stamp": f"timestamp(6) NOT NULL DEFAULT {_NOW} ON UPDATE {_NOW}",
        "flag": "boolean NOT NULL DEFAULT false",
        "checksum": "bigint",
    }

    @override
    def create_table(
        self, name: str, columns: Sequence[tuple[str, str]], primary_key: Sequence[str], *, written_over: bool = False
    ) -> str:
        lines = [
            f"{self.facts.quote(column)} {sql_type} {'NOT NULL' if column in primary_key else 'NULL'}"
            for column, sql_type in columns
        ]
        if primary_key:
            lines.append(f"PRIMARY KEY ({', '.join(map(self.facts.quote, primary_key))})")
        body = ",\n  ".join(lines)
        options = "ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
        return f"CREATE TABLE IF NOT EXISTS {name} (\n  {body}\n) {options}"

    @override
    def retype(self, name: str, column: str, sql_type: str, *, required: bool) -> str:
        definition = f"{self.facts.quote(column)} {sql_type} {'NOT NULL' if required else 'NULL'}"
        return f"ALTER TABLE {name} MODIFY COLUMN {definition}"

    @override
    def image_type(self, column: Column) -> str:
        """See the base class.

        A page must hold two rows. So texts and bytes get a type that is stored outside the row, if that is shorter.
        """
        if int(column.fact("octets") or 0) <= types.POINTER or column.base_type not in (
            *types.STRINGS,
            *types.BINARIES,
        ):
            return self.column_type(column)
        if column.base_type in types.BINARIES:
            return "longblob"
        return f"longtext CHARACTER SET {column.fact('charset')} COLLATE {column.collation}"

    @override
    def grants(self, schema: str, role: str) -> list[str]:
        rights = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX, ALTER"
        return [f"GRANT {rights} ON {database_pattern(schema)}.* TO {self.facts.grantee(role)}"]
