"""Canonical SQL to the source's dialect: parse, expand primitives on the tree, generate, put in the user's text.

Primitives of canonical SQL (all expand through the connector):

========================  ====================================================================================
``QBCD_DISTINCT('c',x,y)``  whether two values of column c differ, NULL-safe
``QBCD_EQUAL('k', x, y)``   whether two values of key column k are one key, by the column's own equality
``QBCD_DIGEST()``           the row's digest over key and pertinent columns, read from the columns in scope
``QBCD_KEY_ID()``           the key's binary identity
``QBCD_TRAVEL('c', x)``     value x of column c in wire form
``QBCD_TEXT('c', x)``       value x of column c as text that casts back to it
``QBCD_TRAVELS('c', x)``    whether a typed sink can hold x; TRUE where every value can
``QBCD_RESTRICTION()``      the user's restriction in brackets, verbatim; TRUE where there is none
``:name``                   a bound value
========================  ====================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import sqlglot
from sqlglot import exp

from qbcd.connectors.base import Connector
from qbcd.model import Column, Statement, StreamPlan

_RESTRICTION = "QBCD_USER_RESTRICTION"
_PARAMETER = re.compile(r"\bQBCD_BOUND_(\w+?)_QBCD\b")


def compile_sql(
    canonical: str, connector: Connector, plan: StreamPlan | None, params: Mapping[str, Any] | None = None
) -> Statement:
    """The statement in the connector's dialect.

    Args:
        canonical: Canonical SQL, as `render` gives it.
        connector: Whose dialect and primitives.
        plan: Names the columns that the primitives speak of, and the restriction; None where no primitive is used.
        params: Values of the statement's ``:name`` placeholders; exactly those that it uses.

    Raises:
        qbcd.errors.UnsupportedPrimitive: The connector lacks a primitive.
        ValueError: A placeholder has no value, or a value no placeholder.
    """
    parsed: Any = sqlglot.parse_one(canonical)
    tree = connector.statement_form(parsed.transform(lambda node: _expand(node, connector, plan)))
    where = plan.where if plan else ""
    # Pretty printing would indent the second line of a name that has two.
    pretty = plan is None or not any("\n" in name for name in (plan.table.name, *(c.name for c in plan.captured)))
    text = tree.sql(dialect=connector.dialect, unsupported_level=sqlglot.ErrorLevel.RAISE, pretty=pretty)
    # The user's own text goes in last, so that no parser rewrites it; the newlines end a comment that slipped by.
    text = text.replace(_RESTRICTION, f"(\n{where}\n)" if where else "TRUE")
    return _bind(text, dict(params or {}))


def _expand(node: exp.Expression, connector: Connector, plan: StreamPlan | None) -> exp.Expression:
    if isinstance(node, exp.Placeholder) and node.name:
        return exp.Var(this=f"QBCD_BOUND_{node.name}_QBCD")
    if not isinstance(node, exp.Anonymous) or not str(node.this).upper().startswith("QBCD_"):
        return node
    primitive, args = str(node.this).upper(), list(node.expressions)
    if plan is None:
        raise ValueError(f"{primitive} needs a stream's plan")
    if primitive == "QBCD_RESTRICTION":
        return exp.Var(this=_RESTRICTION)
    if primitive == "QBCD_DIGEST":
        return connector.row_digest([(c, exp.column(c.name, quoted=True)) for c in plan.captured])
    if primitive == "QBCD_KEY_ID":
        return connector.key_identity([(c, exp.column(c.name, quoted=True)) for c in plan.key])
    column = _column(plan, args[0].name)
    if primitive == "QBCD_DISTINCT":
        return connector.null_safe_distinct(column, args[1], args[2])
    if primitive == "QBCD_EQUAL":
        return connector.key_equal(column, args[1], args[2])
    if primitive == "QBCD_TEXT":
        return connector.canonical_text(column, args[1])
    if primitive == "QBCD_TRAVEL":
        return connector.travel_form(column, args[1])
    if primitive == "QBCD_TRAVELS":
        return connector.travels(column, args[1]) or exp.true()
    raise ValueError(f"canonical SQL has no primitive {primitive}")


def _column(plan: StreamPlan, name: str) -> Column:
    for column in plan.captured:
        if column.name == name:
            return column
    raise ValueError(f"stream {plan.stream} captures no column {name!r}")


def _bind(text: str, params: dict[str, Any]) -> Statement:
    used = set(_PARAMETER.findall(text))
    if used != set(params):
        raise ValueError(f"placeholders {sorted(used)} do not match values {sorted(params)}")
    if not params:
        return Statement(text)
    # pyformat: a literal percent sign is doubled, also in the user's restriction.
    return Statement(_PARAMETER.sub(r"%(\1)s", text.replace("%", "%%")), params)
