"""Messages about failed statements in a sink of SQLite: each kind of error has a remedy of its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from qbcd.errors import DeliveryError
from qbcd.sinks.table.databases.sqlite import SqliteTarget

TABLE = "CREATE TABLE t (id integer PRIMARY KEY, v text NOT NULL CHECK (v <> 'no'))"
INSERT = "INSERT INTO t VALUES (1, 'yes')"


def locked(path: Path) -> None:
    """Write while another connection has a transaction."""
    other = sqlite3.connect(path)
    try:
        other.execute("BEGIN IMMEDIATE")
        written(path, INSERT)
    finally:
        other.close()


def written(path: Path, *statements: str) -> None:
    """Run statements on the file."""
    connection = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        for statement in statements:
            connection.execute(statement)
    finally:
        connection.close()


def damaged(path: Path, start: int) -> None:
    """Write into a file whose bytes from `start` on are others."""
    path.write_bytes(path.read_bytes()[:start] + b"x" * 8192)
    written(path, INSERT, "SELECT * FROM t")


FAILURES: dict[str, tuple[Callable[[Path], None], str]] = {
    "locked": (locked, "another process writes the file"),
    "full": (
        lambda path: written(path, "PRAGMA max_page_count = 1", "INSERT INTO t VALUES (1, hex(zeroblob(9000)))"),
        "free space on the disk",
    ),
    "read-only": (lambda path: written(path, "PRAGMA query_only = 1", INSERT), "let the account of qbcd write"),
    "no folder": (lambda path: written(path / "no" / "x.db"), "let the account of qbcd write"),
    "unique": (lambda path: written(path, INSERT, INSERT), "constraints that qbcd did not make"),
    "check": (lambda path: written(path, "INSERT INTO t VALUES (1, 'no')"), "constraints that qbcd did not make"),
    "damaged": (lambda path: damaged(path, 100), "restore it"),
    "no database": (lambda path: damaged(path, 0), "restore it"),
    "a column": (lambda path: written(path, "INSERT INTO t (id, w) VALUES (1, 2)"), "the table was changed"),
    "a table": (lambda path: written(path, "DELETE FROM u"), "the table was changed"),
    "other": (lambda path: written(path, "COMMIT"), ""),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_each_kind_of_error_has_its_remedy(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    written(path, TABLE)
    fail, remedy = FAILURES[kind]
    with pytest.raises(sqlite3.Error) as caught:
        fail(path)
    error = SqliteTarget(make_url(f"sqlite:///{path}")).explain(caught.value, "s")
    assert isinstance(error, DeliveryError)
    assert remedy in error.remedy
    assert error.remedy.endswith("the batch stays pending")
