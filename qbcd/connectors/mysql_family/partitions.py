"""Partitions as InnoDB stores them: each is a table of its own, with an id.

EXCHANGE PARTITION changes the id and, unlike other DDL, not the time at which the table was altered. The name of such a
table is `database/table#p#partition`, with `#sp#` and the name of a subpartition, where there are any. Each part is
encoded as the names of files are: letters without accents, digits and underscores are themselves, other characters are
`@` with four hexadecimal digits or with two characters of a table in the server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sqlalchemy.engine import Connection

from qbcd.connectors.mysql_family.rows import rows_of

StoredPart = tuple[int, str]  # id, name of the partition or subpartition; an empty name is not known

_CONVERTED = """
SELECT convert(convert(cast(substring_index(substring(e.name, length(w.prefix) + 4), '#', -1) AS binary)
                       USING filename) USING utf8mb4) AS name, e.table_id AS id
FROM information_schema.innodb_sys_tables e JOIN (
  SELECT concat(cast(convert(%(schema)s USING filename) AS binary), '/',
                cast(convert(%(name)s USING filename) AS binary)) AS prefix
) w ON left(cast(e.name AS binary), length(w.prefix)) = w.prefix
   AND lower(substring(e.name, length(w.prefix) + 1, 3)) = '#p#'
"""

_STORED = "SELECT name, table_id AS id FROM information_schema.innodb_tables WHERE lower(name) LIKE '%%#p#%%'"
_NAMED = """
SELECT coalesce(subpartition_name, partition_name) AS name FROM information_schema.partitions
WHERE table_schema = %(schema)s AND table_name = %(name)s AND partition_name IS NOT NULL
"""
_PLAIN = re.compile(r"[0-9A-Za-z_]")


def parts_by_conversion(conn: Connection, where: Mapping[str, Any]) -> list[StoredPart]:
    """Return the partitions of a table; the server decodes their names."""
    return [(int(row["id"]), str(row["name"])) for row in rows_of(conn, _CONVERTED, where)]


def parts_by_pattern(conn: Connection, where: Mapping[str, Any]) -> list[StoredPart]:
    """Return the partitions of a table on a server that decodes no names.

    A character outside of ASCII matches any other. So partitions of another table may be among those returned, if the
    names of the tables differ in such characters alone; a partition whose name fits several has no name.
    """
    prefix = re.compile(f"{encoded(where['schema'])}/{encoded(where['name'])}#[pP]#(?:.*#)?([^#]*)", re.DOTALL)
    names = {str(row["name"]): re.compile(encoded(str(row["name"])), re.I) for row in rows_of(conn, _NAMED, where)}
    found = []
    for row in rows_of(conn, _STORED):
        stored = prefix.fullmatch(str(row["name"]))
        if stored is not None:
            fitting = [name for name, pattern in names.items() if pattern.fullmatch(stored[1])]
            found.append((int(row["id"]), fitting[0] if len(fitting) == 1 else ""))
    return found


def encoded(name: str) -> str:
    """Return a pattern of the encoded form of a name."""
    return "".join(
        character
        if _PLAIN.fullmatch(character)
        else f"@{ord(character):04x}"
        if character < "\x80"
        else "@(?:[0-9a-f]{4}|[^#/]{2})"
        for character in name
    )
