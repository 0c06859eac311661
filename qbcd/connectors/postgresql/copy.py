"""Rows of a query by COPY: the server writes CSV, and no Python object is made for a value."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import Any

from typing_extensions import override

from qbcd.common import waits
from qbcd.connectors.limited_drivers import LimitedPostgresConnection
from qbcd.connectors.sessions import CHUNK_BYTES, CHUNK_ROWS, SupportsCsvRows
from qbcd.model import Statement


class PostgresCsvRows(SupportsCsvRows):
    """COPY .. TO STDOUT through psycopg2."""

    @override
    def csv_rows(self, connection: Any, statement: Statement, take: Callable[[Sequence[str], bytes], None]) -> None:
        limited: LimitedPostgresConnection = connection
        with limited.cursor() as cursor, limited.waiting() as wait:
            # Without parameters the driver must not search for placeholders.
            sql = cursor.mogrify(statement.sql, dict(statement.params or {})) if statement.params else statement.sql
            text = sql if isinstance(sql, str) else sql.decode()
            lines = _Lines(take, wait)
            # The closing bracket is on its own line, so that a comment at the end of the query cannot include it.
            cursor.copy_expert(f"COPY (\n{text}\n) TO STDOUT (FORMAT csv, HEADER)", lines)
            lines.flush()


class _Lines:
    """A file for the driver, in which each write is a whole line.

    The server sends each row in a message of its own.
    """

    def __init__(self, take: Callable[[Sequence[str], bytes], None], wait: waits.Wait) -> None:
        self._take, self._wait = take, wait
        self._names: list[str] = []
        self._lines: list[bytes] = []
        self._size = 0

    def write(self, line: bytes) -> None:
        if not self._names:
            self._names = next(csv.reader(io.StringIO(line.decode(), newline="")))
            return
        self._lines.append(line)
        self._size += len(line)
        if self._size >= CHUNK_BYTES or len(self._lines) >= CHUNK_ROWS:
            self.flush()

    def flush(self) -> None:
        """Pass on what has come."""
        lines, self._lines, self._size = self._lines, [], 0
        if lines:
            with waits.paused(self._wait):
                self._take(self._names, lines[0] if len(lines) == 1 else b"".join(lines))
