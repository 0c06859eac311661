"""Queries of MariaDB and MySQL: the columns of a result.

No row is read, and SELECT is enough. The description of a result has the type of each column, its length in the
session's character set, and flags. The rest comes from `collation()` and `charset()` of a row of NULLs in a UNION ALL
with the result, which has LIMIT 0. (With an outer join that is never true these servers would still compute the query.)
Labels of an enum or a set are not shown.
"""

from __future__ import annotations

from typing import Any

from pymysql.constants import FIELD_TYPE, FLAG
from sqlalchemy.engine import Connection
from typing_extensions import override

from qbcd.connectors.mysql_family import volatility
from qbcd.connectors.mysql_family.facts import FamilyFacts
from qbcd.connectors.mysql_family.types import UNDESCRIBED, make_column
from qbcd.connectors.queries import Queries, SupportsQueryColumns, SupportsVolatility
from qbcd.model import Column

_NUMBERS = {
    FIELD_TYPE.TINY: "tinyint",
    FIELD_TYPE.SHORT: "smallint",
    FIELD_TYPE.INT24: "mediumint",
    FIELD_TYPE.LONG: "int",
    FIELD_TYPE.LONGLONG: "bigint",
}
_PLAIN = {
    FIELD_TYPE.FLOAT: "float",
    FIELD_TYPE.DOUBLE: "double",
    FIELD_TYPE.DATE: "date",
    FIELD_TYPE.YEAR: "year",
    FIELD_TYPE.JSON: "json",
    FIELD_TYPE.GEOMETRY: "geometry",
}
_TIMES = {FIELD_TYPE.TIME: "time", FIELD_TYPE.DATETIME: "datetime", FIELD_TYPE.TIMESTAMP: "timestamp"}
_BLOBS = (FIELD_TYPE.TINY_BLOB, FIELD_TYPE.BLOB, FIELD_TYPE.MEDIUM_BLOB, FIELD_TYPE.LONG_BLOB)
_TEXTS = (FIELD_TYPE.STRING, FIELD_TYPE.VAR_STRING, FIELD_TYPE.VARCHAR)
# Types of fixed bytes that travel as text, by the length of the text in characters.
_ADDRESSES = {36: "uuid", 15: "inet4", 39: "inet6"}
_SIZES = ((255, "tiny"), (65535, ""), (2**24 - 1, "medium"))
_BINARY = 63  # number of the collation of bytes
_WIDEST = 16_383  # characters of a varchar, with four bytes each; a longer type is a text
_PLAIN_TEXT = {"no_parameters": True}
_MB = 4  # maximum bytes of a character of the session's character set


def _fields(conn: Connection, sql: str) -> list[Any]:
    """Return the fields of the result of a query.

    The query is refused if a column has several values in a group (ONLY_FULL_GROUP_BY).
    """
    mode = str(conn.exec_driver_sql("SELECT @@sql_mode").scalar_one())
    conn.exec_driver_sql("SET sql_mode = %s", (f"{mode},ONLY_FULL_GROUP_BY",))
    try:
        result = conn.exec_driver_sql(sql, execution_options=_PLAIN_TEXT)
        cursor: Any = result.cursor
        fields = list(cursor._result.fields)  # the driver's own description has no flags
        result.close()
    finally:
        conn.exec_driver_sql("SET sql_mode = %s", (mode,))
    return fields


def _no_pads(conn: Connection, collations: list[str], no_pad: str) -> dict[str, bool]:
    listed = " UNION ALL ".join("SELECT %s AS collation_name" for _ in collations)
    sql = f"SELECT collation_name, {no_pad} FROM ({listed}) AS columns"
    return {str(name): bool(yes) for name, yes in conn.exec_driver_sql(sql, tuple(collations))}


def _row(field: Any, collation: str, charset: str) -> dict[str, Any]:
    """Return the row that `types.make_column` reads, for one field of a result."""
    row: dict[str, Any] = dict.fromkeys(("precision", "scale", "charset", "collation", "characters", "octets"))
    row |= {"name": field.name, "nullable": True, "sql_type": UNDESCRIBED, "base_type": UNDESCRIBED}
    unsigned = " unsigned" if field.flags & FLAG.UNSIGNED else ""
    code, length, scale = field.type_code, int(field.length), int(field.scale)
    if field.flags & (FLAG.ENUM | FLAG.SET):
        return row
    if code in _NUMBERS:
        return row | {"base_type": _NUMBERS[code], "sql_type": f"{_NUMBERS[code]}{unsigned}"}
    if code in _PLAIN:
        return row | {"base_type": _PLAIN[code], "sql_type": _PLAIN[code]}
    if code in _TIMES:
        digits = f"({scale})" if scale and scale <= 6 else ""
        return row | {"base_type": _TIMES[code], "sql_type": f"{_TIMES[code]}{digits}"}
    if code == FIELD_TYPE.NEWDECIMAL:
        precision = length - (1 if scale else 0) - (0 if unsigned else 1)
        sql_type = f"decimal({precision},{scale}){unsigned}"
        return row | {"base_type": "decimal", "sql_type": sql_type, "precision": precision, "scale": scale}
    if code == FIELD_TYPE.BIT:
        return row | {"base_type": "bit", "sql_type": f"bit({length})", "precision": length}
    if code in (*_TEXTS, *_BLOBS):
        return row | _text(field, length, collation, charset)
    return row


def _text(field: Any, length: int, collation: str, charset: str) -> dict[str, Any]:
    """Return the values for a text, bytes, or a type that travels as text."""
    if field.type_code == FIELD_TYPE.STRING and field.flags & FLAG.UNSIGNED:
        name = _ADDRESSES.get(length // _MB, UNDESCRIBED)
        return {"base_type": name, "sql_type": name}
    if field.charsetnr == _BINARY:
        if field.type_code in _BLOBS:
            kind = f"{_sized(length)}blob"
            return {"base_type": kind, "sql_type": kind, "octets": length}
        if not length:
            return {}  # the literal NULL
        kind = "binary" if field.type_code == FIELD_TYPE.STRING else "varbinary"
        return {"base_type": kind, "sql_type": f"{kind}({length})", "octets": length, "characters": length}
    characters = length // _MB
    about = {"charset": charset, "collation": collation}
    if field.type_code in _BLOBS or characters > _WIDEST:
        kind = f"{_sized(max(characters, _WIDEST) if field.type_code not in _BLOBS else characters)}text"
        return {**about, "base_type": kind, "sql_type": kind, "octets": characters, "characters": characters}
    kind = "char" if field.type_code == FIELD_TYPE.STRING and characters <= 255 else "varchar"
    width = max(characters, 1)
    return {**about, "base_type": kind, "sql_type": f"{kind}({width})", "octets": length, "characters": width}


def _sized(length: int) -> str:
    return next((prefix for most, prefix in _SIZES if length <= most), "long")


class FamilyQueries(Queries, SupportsQueryColumns, SupportsVolatility):
    """Queries of the user on both servers."""

    facts: FamilyFacts
    steady_arguments = volatility.STEADY_ARGUMENTS
    nondeterministic_calls = staticmethod(volatility.nondeterministic_calls)
    volatile_calls = staticmethod(volatility.volatile_calls)

    @override
    def query_columns(self, conn: Connection, query: str) -> list[Column]:
        empty = f"SELECT * FROM (\n{query}\n) AS q LIMIT 0"
        fields = _fields(conn, empty)
        names = [f"u.`{str(field.name).replace('`', '``')}`" for field in fields]
        outputs = ", ".join(f"collation({name}), charset({name})" for name in names)
        sql = f"SELECT {outputs} FROM (({empty}) UNION ALL SELECT {', '.join('NULL' for _ in names)}) AS u"
        found = list(conn.exec_driver_sql(sql, execution_options=_PLAIN_TEXT).one())
        pads = _no_pads(conn, sorted({str(name) for name in found[::2]}), self.facts.no_pad)
        rows = [_row(field, *found[2 * i : 2 * i + 2]) for i, field in enumerate(fields)]
        return [
            make_column({**row, "no_pad": pads.get(row["collation"]), "all_digits": self.facts.all_digits})
            for row in rows
        ]
