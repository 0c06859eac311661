"""Definitions of MariaDB views that have the same meaning in the place of the view."""

from __future__ import annotations

import re
from typing import Any

import sqlglot
from pymysql.constants import ER
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError
from sqlglot import exp
from sqlglot.errors import SqlglotError

from qbcd.connectors.mysql_family.expressions import DIALECT
from qbcd.connectors.mysql_family.rows import rows_of
from qbcd.model import Table

_DEFINITION = """
SELECT view_definition AS text, database() AS here FROM information_schema.views
WHERE table_schema = %(schema)s AND table_name = %(name)s
"""
_NAME = r"`(?:[^`]|``)*`"
_CREATE = re.compile(
    rf"CREATE\s.*?\sVIEW\s(?:{_NAME}\.)?{_NAME}\s+AS\s+(.*?)(?:\s+WITH (?:CASCADED|LOCAL) CHECK OPTION)?", re.DOTALL
)
_HIDDEN = (ER.TABLEACCESS_DENIED_ERROR, ER.VIEW_INVALID, ER.NO_SUCH_TABLE)
_COMPARING = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.Like, exp.In, exp.Between)
# Functions that return no text, or the text of a column that is their argument.
_NO_TEXTS = (
    exp.And,
    exp.Or,
    exp.Not,
    exp.Exists,
    exp.Count,
    exp.Sum,
    exp.Avg,
    exp.Min,
    exp.Max,
    exp.Abs,
    exp.Mod,
    exp.Round,
    exp.Floor,
    exp.Ceil,
    exp.Sign,
    exp.Coalesce,
    exp.Nullif,
    exp.Case,
    exp.If,
    exp.Greatest,
    exp.Least,
    exp.Year,
    exp.Month,
    exp.Day,
    exp.Quarter,
    exp.Hour,
    exp.Minute,
    exp.Second,
    exp.Extract,
    exp.Date,
    exp.DateDiff,
    exp.Length,
)
_NO_TEXT_TYPES = (*exp.DataType.NUMERIC_TYPES, *exp.DataType.TEMPORAL_TYPES)


def view_definition(conn: Connection, view: Table) -> str:
    """See :meth:`~qbcd.connectors.queries.Queries.view_definition`.

    The catalog's text has the database before every name, but lacks unknown characters and the character sets of
    texts. The text of SHOW CREATE VIEW has both; apart from the database, the two must be equal.
    """
    found = rows_of(conn, _DEFINITION, {"schema": view.schema, "name": view.name})
    text = str(found[0]["text"] or "") if found else ""
    if not text or _without(text, found[0]["here"]) != _without(_shown(conn, view), found[0]["here"]):
        return ""
    return text if makes_no_texts(text) else ""


def _shown(conn: Connection, view: Table) -> str:
    named = ".".join(f"`{part.replace('`', '``')}`" for part in (view.schema, view.name))
    try:
        row = conn.exec_driver_sql(f"SHOW CREATE VIEW {named}").one()
    except DBAPIError as error:
        if error.orig is not None and error.orig.args[0] in _HIDDEN:
            return ""
        raise
    match = _CREATE.fullmatch(str(row[1]))
    return match[1] if match else ""


def _without(text: str, database: Any) -> str:
    return text.replace(f"`{str(database).replace('`', '``')}`.", "")


def makes_no_texts(definition: str) -> bool:
    """Return True if all texts in a view's rows come from columns, with the columns' collations.

    Another text has the collation of the session that created the view; in the place of the view it would have that of
    qbcd's session.
    """
    try:
        tree: Any = sqlglot.parse_one(definition, read=DIALECT)
    except SqlglotError:
        return False
    texts = [node for node in tree.find_all(exp.Literal) if node.is_string]
    made = [node for node in tree.find_all(exp.Func, exp.DPipe) if not isinstance(node, _NO_TEXTS)]
    plain = all(isinstance(node, exp.Cast) and node.to.this in _NO_TEXT_TYPES for node in made)
    return plain and all(_is_compared(text) or _is_of_time(text) for text in texts)


def _is_compared(text: exp.Literal) -> bool:
    """Return True if a text is compared with a column, and so by the column's collation."""
    above = text.parent
    sides = [above.args.get(part) for part in ("this", "expression", "low", "high")] if above is not None else []
    return isinstance(above, _COMPARING) and any(isinstance(side, exp.Column) for side in sides)


def _is_of_time(text: exp.Literal) -> bool:
    """Return True if a text is the value of a time or of an interval."""
    above = text.parent
    return isinstance(above, exp.Interval) or (isinstance(above, exp.Cast) and above.to.this in _NO_TEXT_TYPES)
