"""The least that a round can cost: one digest scan and one SQLite commit for each table, in one new process.

``python many_tables_bare.py URL FILE TABLES``. It imports the libraries that a poll may use.
"""

from __future__ import annotations

import sqlite3
import sys

import duckdb  # noqa: F401
import psycopg2
import pyarrow.parquet  # noqa: F401
import sqlalchemy  # noqa: F401
import yaml  # noqa: F401

_SCAN = """
SELECT count(*), coalesce(sum(hashtextextended(
  hash_record_extended(ROW(int8send(t.id), int4send(t.a), textsend(t.v), timestamptz_send(t.changed_at)), 0)::text, 1)
), 0) FROM app.t{} AS t
"""


def main() -> None:
    """Scan each table and store what was found."""
    url, file, tables = sys.argv[1], sys.argv[2], int(sys.argv[3])
    source, state = psycopg2.connect(url), sqlite3.connect(file, isolation_level=None)
    state.execute("PRAGMA synchronous = EXTRA")
    state.execute("CREATE TABLE IF NOT EXISTS found (name integer PRIMARY KEY, rows integer, checksum text)")
    for number in range(tables):
        with source, source.cursor() as cursor:
            cursor.execute(_SCAN.format(number))
            [(rows, checksum)] = cursor.fetchall()
        state.execute("BEGIN IMMEDIATE")
        state.execute("INSERT OR REPLACE INTO found VALUES (?, ?, ?)", (number, rows, str(checksum)))
        state.execute("COMMIT")


if __name__ == "__main__":
    main()
