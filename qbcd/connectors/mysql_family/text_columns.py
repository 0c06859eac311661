"""Rows of a query in the server's own text, from PyMySQL's connection.

PyMySQL makes several objects for each row and each value, and reads four bytes at a time. Here a value is a slice of
what the socket gave. A row is a packet: its length (3 bytes), a number (1 byte), and for each column the length of the
value and the value. Rows of 16 MiB and more are several packets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pymysql import err
from pymysql.constants import CR
from typing_extensions import override

from qbcd.common import waits
from qbcd.connectors.limited_family import LimitedFamilyConnection
from qbcd.connectors.sessions import CHUNK_BYTES, CHUNK_ROWS, SupportsTextColumns, TextColumns
from qbcd.model import Statement

BLOCK = 1 << 18  # bytes of one read of the socket
_HEADER = 4
_WHOLE = 0xFFFFFF  # length of a packet that another one continues
_NULL, _ERROR, _END = 0xFB, 0xFF, 0xFE  # first bytes: of a value; of a packet
_LENGTHS = {0xFC: 2, 0xFD: 3, 0xFE: 8}  # bytes of the length that follows


class FamilyTextColumns(SupportsTextColumns):
    """Results of the text protocol, unbuffered."""

    @override
    def text_columns(self, connection: Any, statement: Statement, take: Callable[[TextColumns], None]) -> None:
        limited: LimitedFamilyConnection = connection
        # Without parameters the driver must not search for placeholders.
        with limited.cursor() as cursor:
            sql = cursor.mogrify(statement.sql, dict(statement.params)) if statement.params else statement.sql
        limited.query(sql, unbuffered=True)
        result = limited._result
        result.unbuffered_active = False  # else the driver would read the rest of a result that is given up
        packets = _Packets(limited._rfile)
        names = [description[0] for description in result.description]
        # One wait for all: after it was ended, the driver may still read what has come, and then fails.
        with limited.waiting() as wait:
            while not packets.ended:
                chunk = packets.columns(len(names))
                if chunk[0]:
                    with waits.paused(wait):
                        take(dict(zip(names, chunk, strict=True)))


class _Packets:
    """The packets of one result.

    Attributes:
        ended: The last one was read.
    """

    def __init__(self, stream: Any) -> None:
        self._stream, self._data, self._at, self.ended = stream, b"", 0, False

    def columns(self, width: int) -> list[list[bytes | None]]:
        """Return the columns of some rows; of no row only at the end.

        Raises:
            pymysql.err.MySQLError: The server sent an error, or closed the connection.
        """
        columns: list[list[bytes | None]] = [[] for _ in range(width)]
        appends = [column.append for column in columns]
        size = 0
        while size < CHUNK_BYTES and len(columns[0]) < CHUNK_ROWS:
            data, at, end = self._row()
            first = data[at] if at < end else 0
            if first == _ERROR:
                err.raise_mysql_exception(data[at:end])
            if first == _END and end - at < 9:
                self.ended = True
                break
            size += end - at
            for append in appends:
                length = data[at]
                at += 1
                if length == _NULL:
                    append(None)
                    continue
                if length > _NULL:
                    more = _LENGTHS[length]
                    length = int.from_bytes(data[at : at + more], "little")
                    at += more
                append(data[at : at + length])
                at += length
        return columns

    def _row(self) -> tuple[bytes, int, int]:
        """Return the next row, or the end: bytes, and where it begins and ends in them."""
        data, begin, end = self._packet()
        if end - begin < _WHOLE:
            return data, begin, end
        parts = [data[begin:end]]
        while len(parts[-1]) == _WHOLE:
            data, begin, end = self._packet()
            parts.append(data[begin:end])
        whole = b"".join(parts)
        return whole, 0, len(whole)

    def _packet(self) -> tuple[bytes, int, int]:
        data, at = self._data, self._at
        while len(data) - at < _HEADER:
            data, at = self._more(data, at, _HEADER)
        length = data[at] | data[at + 1] << 8 | data[at + 2] << 16
        begin, end = at + _HEADER, at + _HEADER + length
        while len(data) < end:
            data, begin = self._more(data, begin, length)
            end = begin + length
        self._data, self._at = data, end
        return data, begin, end

    def _more(self, data: bytes, at: int, least: int) -> tuple[bytes, int]:
        """Return the bytes from `at` on with more of them; `least` are needed."""
        rest = data[at:]
        needed = least - len(rest)
        try:
            block = self._stream.read(needed) if needed > BLOCK else self._stream.read1(BLOCK)
        except OSError as error:
            raise _lost(f" ({error})") from error
        if not block:
            raise _lost("")
        return rest + block, 0


def _lost(reason: str) -> err.OperationalError:
    return err.OperationalError(CR.CR_SERVER_LOST, f"Lost connection to MySQL server during query{reason}")
