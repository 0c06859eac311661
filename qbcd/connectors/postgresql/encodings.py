"""Encodings of PostgreSQL.

Sessions are in UTF-8, and the server converts text unless it does not know its encoding.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError
from typing_extensions import override

from qbcd.connectors.encodings import SupportsEncodings
from qbcd.connectors.facts import quoted
from qbcd.connectors.postgresql.expressions import DIALECT
from qbcd.connectors.postgresql.types import OID_ALIASES, STRINGS, TYPED
from qbcd.model import Column

UNICODE = "UTF8"
NO_ENCODING = "SQL_ASCII"  # any bytes; the server converts none
NO_FORM = frozenset({"22021", "22P05"})  # invalid byte sequence; a character without an equivalent
# Types whose texts consist of digits, signs and words of the server.
_OF_THE_SERVER = (TYPED - STRINGS - OID_ALIASES) | {"money", "bit", "varbit", "macaddr", "macaddr8", "interval", "xid8"}


class PostgresEncodings(SupportsEncodings):
    """Encodings by name, and conversions that fail for text without a Unicode form."""

    @override
    def foreign_encoding(self, conn: Connection) -> str:
        driver = conn.connection.driver_connection
        encoding = str(driver.info.parameter_status("server_encoding") or "") if driver is not None else ""
        return "" if encoding == UNICODE else encoding

    @override
    def is_unknown(self, encoding: str) -> bool:
        return encoding == NO_ENCODING

    @override
    def texts(self, columns: Sequence[Column]) -> list[int]:
        return [i for i, c in enumerate(columns) if c.travel.kind in ("text", "array") and not _is_plain(c)]

    @override
    def as_unicode(self, text: str) -> str:
        return f"convert_to({text}, '{UNICODE}')"

    @override
    def as_ascii(self, value: str) -> str:
        return f"encode(convert_to(CAST({value} AS text), '{NO_ENCODING}'), 'escape')"

    @override
    def as_binary(self, column: str) -> str:
        name = quoted(column, DIALECT)
        return f"convert_to({name}, '{NO_ENCODING}') AS {name}"

    @override
    def is_no_unicode(self, error: DBAPIError) -> bool:
        return str(getattr(error.orig, "pgcode", None) or "") in NO_FORM


def _is_plain(column: Column) -> bool:
    return (column.fact("element") or column.base_type) in _OF_THE_SERVER
