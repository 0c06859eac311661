"""The user's restriction: one boolean SQL expression in the source's dialect.

The text goes into statements as written, in its own brackets. So it is tokenized by the source's rules first: a second
statement, a comment or an unbalanced bracket could otherwise change the meaning of the statement.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError

from qbcd.connectors.base import Connector
from qbcd.errors import ConfigError
from qbcd.model import Statement, StreamPlan
from qbcd.sql.compile import compile_sql
from qbcd.sql.render import render

_OPEN = {TokenType.L_PAREN: TokenType.R_PAREN, TokenType.L_BRACKET: TokenType.R_BRACKET}
_NOT_SCALAR = (exp.Query, exp.DDL, exp.DML, exp.Command, exp.Alias, exp.Set, exp.Tuple, exp.Star)
_REMEDY = "write one boolean expression over the table's columns, such as  region = 'EU' AND amount > 0"


def check_restriction(where: str, dialect: str, *, place: str = "") -> None:
    """Refuse a text that is not one scalar SQL expression.

    Args:
        where: The user's text; an empty text is no restriction and passes.
        dialect: sqlglot's name of the source's dialect; empty if it has none: then only the database parses it, between
            brackets that the text cannot leave.
        place: ``file:line: key path`` for the error.

    Raises:
        ConfigError: The text contains ``;``, a comment or unbalanced brackets, or is not one expression.
    """
    if not where:
        return
    problem = _problem(where, dialect)
    if problem:
        raise ConfigError(f"the restriction {problem}", remedy=_REMEDY, where=place)


def check_operators(plan: StreamPlan, dialect: str, *, place: str = "") -> None:
    """Refuse a restriction with another meaning in qbcd's sessions than in the user's.

    qbcd's sessions find names in the database's own catalog only. The operators of an extension's type, such as a text
    that ignores case, are in another schema; without them a comparison silently uses those of another type.

    Raises:
        ConfigError: The restriction uses such a column without a cast or an explicit operator.
    """
    elsewhere = {c.name: c for c in plan.table.columns if c.fact("operators")}
    if not plan.where or not elsewhere:
        return
    for used in sqlglot.parse_one(plan.where, read=dialect).find_all(exp.Column):
        column = elsewhere.get(used.name)
        if column is not None and not isinstance(used.parent, (exp.Cast, exp.Operator)):
            raise ConfigError(
                f'the restriction uses column "{column.name}" of type {column.sql_type}, whose operators are in schema '
                f"{column.fact('operators')}, where qbcd's sessions do not look",
                remedy=f"write {column.name}::text, or name the operator: "
                f"{column.name} OPERATOR({column.fact('operators')}.=) ..",
                where=place,
            )


def restriction_probe(connector: Connector, plan: StreamPlan) -> Statement:
    """Return a statement with which the source checks the restriction without reading a row."""
    statement = compile_sql(render("restriction_probe", table=plan.table), connector, plan)
    return Statement(f"EXPLAIN {statement.sql}", statement.params)


def restriction_remedy(plan: StreamPlan, dialect: str, *, column_missing: bool) -> str:
    """Return the remedy for a restriction that the source refused.

    Args:
        dialect: sqlglot's name of the source's dialect.
        column_missing: The source knows no column of a name in it. If that is a text in double quotes, the remedy is
            single quotes; otherwise the column that was meant.
    """
    names = [c.name for c in plan.table.columns]
    folded = {name.lower(): name for name in names}
    if texts := _texts_in_double_quotes(plan.where, dialect, folded):
        corrected = _with_single_quotes(plan.where, dialect, texts)
        return f"double quotes name a column, text is in single quotes:  {corrected}"
    for column in sqlglot.parse_one(plan.where, read=dialect).find_all(exp.Column):
        same = folded.get(column.name.lower())
        near = difflib.get_close_matches(column.name, names, n=1) if same is None else ()
        if near:
            return f'did you mean "{near[0]}"?'
        if column_missing and same is not None and same != _as_read(column):
            return f'did you mean "{same}"? upper and lower case count, and names without double quotes are lower case'
    return f"{_REMEDY}; functions and types of the user's own need their schema"


def _texts_in_double_quotes(where: str, dialect: str, columns: Collection[str]) -> set[str]:
    """Return names in double quotes that are compared with a column and are none: texts.

    Args:
        dialect: sqlglot's name of the source's dialect.
        columns: The table's columns in lower case.
    """
    named = sqlglot.parse_one(where, read=dialect).find_all(exp.Column)
    unknown = [c for c in named if c.this.args.get("quoted") and not c.table and c.name.lower() not in columns]
    return {column.name for column in unknown if _is_compared_with_a_column(column, columns)}


def _as_read(column: exp.Column) -> str:
    """Return a column's name as read by a server that folds unquoted names to lower case."""
    return column.name if column.this.args.get("quoted") else column.name.lower()


def _is_compared_with_a_column(column: exp.Column, columns: Collection[str]) -> bool:
    """Return True if the expression around `column` has one of `columns` before a literal."""
    around = column.parent
    while around is not None:
        if any(other.name.lower() in columns for other in around.find_all(exp.Column)):
            return True
        if around.find(exp.Literal) is not None:
            return False
        around = around.parent
    return False


def _with_single_quotes(where: str, dialect: str, texts: Collection[str]) -> str:
    """Return `where` with `texts` in single quotes instead of double quotes."""
    for token in reversed(sqlglot.tokenize(where, read=dialect)):
        if token.token_type == TokenType.IDENTIFIER and token.text in texts:
            literal = token.text.replace("'", "''")
            where = f"{where[: token.start]}'{literal}'{where[token.end + 1 :]}"
    return where


def quoted_column_remarks(plan: StreamPlan, dialect: str) -> list[str]:
    """Return remarks on double-quoted names of columns, on servers that read them as texts."""
    if not plan.where:
        return []
    columns = {c.name.lower() for c in plan.table.columns}
    written = [
        token.text
        for token in sqlglot.tokenize(plan.where, read=dialect)
        if token.token_type == TokenType.STRING and plan.where[token.start] == '"' and token.text.lower() in columns
    ]
    return [
        f'the restriction has "{name}" in double quotes, which this server reads as a text and not as the column '
        f"(write {name} without quotes)"
        for name in dict.fromkeys(written)
    ]


def _problem(where: str, dialect: str) -> str:
    if "\x00" in where:
        return "holds a NUL character"
    try:
        tokens = sqlglot.tokenize(where, read=dialect)
    except SqlglotError:
        return "cannot be read as SQL"
    stack = []
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            return "holds a semicolon"
        if token.comments:
            return "holds a comment"
        if token.token_type in _OPEN:
            stack.append(_OPEN[token.token_type])
        elif token.token_type in _OPEN.values() and (not stack or stack.pop() != token.token_type):
            return "has unbalanced brackets"
    if stack:
        return "has unbalanced brackets"
    if _has_comment(where, tokens):
        return "holds a comment"
    return _expression_problem(where, dialect) if dialect else ""


def _has_comment(where: str, tokens: list[Token]) -> bool:
    """Return True if there is text outside all tokens: a comment that the tokenizer skipped."""
    end = 0
    for token in tokens:
        if where[end : token.start].strip():
            return True
        end = token.end + 1
    return bool(where[end:].strip())


def _expression_problem(where: str, dialect: str) -> str:
    try:
        # Parsed as the whole condition of a SELECT, so that `a = 1 ORDER BY b` and `a AS b` are more than a WHERE.
        query = sqlglot.parse_one(f"SELECT 1 FROM t WHERE (\n{where}\n)", read=dialect)
        alone = sqlglot.parse_one(where, read=dialect)
    except SqlglotError:
        return "is not one SQL expression"
    condition = query.args.get("where")
    if not isinstance(query, exp.Select) or not isinstance(condition, exp.Where):
        return "is not one SQL expression"
    if not isinstance(condition.this, exp.Paren) or isinstance(condition.this.this, _NOT_SCALAR):
        return "is not one SQL expression"
    if isinstance(alone, _NOT_SCALAR):
        return "is not one SQL expression"
    return ""
