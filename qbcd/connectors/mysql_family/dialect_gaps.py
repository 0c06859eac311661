"""Queries that sqlglot reads or writes with another meaning than these servers.

Each case was found by a comparison on a server: of a text with the text that sqlglot writes, or with its tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sqlglot
from sqlglot import Token, TokenType, exp

from qbcd.connectors.mysql_family.expressions import DIALECT
from qbcd.connectors.mysql_family.functions import CALLED
from qbcd.model import Table

_COMPARING = (
    exp.EQ,
    exp.NEQ,
    exp.GT,
    exp.GTE,
    exp.LT,
    exp.LTE,
    exp.NullSafeEQ,
    exp.Is,
    exp.Like,
    exp.In,
    exp.Between,
    exp.RegexpLike,
    exp.Not,
)
_TEXTS = (TokenType.STRING, TokenType.NATIONAL_STRING, TokenType.RAW_STRING)
_NATIONAL = ("nchar", "nvarchar", "national")
_ZERO_DATES = ("date", "datetime", "timestamp")  # types with values that are no days, such as 0000-00-00


def misread(text: str, tables: Sequence[Table]) -> str:
    """See :meth:`~qbcd.connectors.queries.SupportsIncrementalQueries.misread`."""
    tree: Any = sqlglot.parse_one(text, read=DIALECT)
    return next((problem for problem in _problems(text, tree, tables)), "")


def _problems(text: str, tree: Any, tables: Sequence[Table]) -> Iterator[str]:
    yield from _of_tokens(
        text, sqlglot.tokenize(text, read=DIALECT), {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    )
    written = tree.sql(dialect=DIALECT)
    # sqlglot adds brackets around operands of <=> and IS: its precedence of operators differs from the server's
    bracketed = _brackets(text) == _brackets(written)
    for node in tree.find_all(*_COMPARING):
        sides = [node.this, node.args.get("expression"), node.args.get("low"), node.args.get("high")]
        if isinstance(node, (exp.NullSafeEQ, exp.Is)) and not bracketed:
            sides = [side.unnest() for side in sides if side is not None]
        if not isinstance(node, exp.Not) and any(isinstance(side, _COMPARING) for side in sides):
            yield f"has a comparison inside a comparison ({node.sql(dialect=DIALECT)}): write brackets around it"
    if _shape(sqlglot.parse_one(written, read=DIALECT)) != _shape(tree):
        yield "changes its meaning when sqlglot writes it again"
    yield from _of_names(tree, tables)
    yield from _of_using(tree, tables)
    yield from _of_zero_dates(tree, tables)


def _brackets(text: str) -> int:
    return sum(token.token_type == TokenType.L_PAREN for token in sqlglot.tokenize(text, read=DIALECT))


def _shape(tree: Any) -> list[Any]:
    """Return the nesting of operators."""
    operators = (exp.Binary, exp.Unary, exp.Predicate, exp.Case, exp.Query)
    return [type(node) for node in tree.walk(bfs=False) if isinstance(node, operators)]


def _of_tokens(text: str, tokens: Sequence[Token], given: set[str]) -> Iterator[str]:
    """Yield literals that sqlglot changes, and calls of functions that may be the user's own."""
    for number, token in enumerate(tokens):
        written, word = text[token.start : token.end + 1], token.text.lower()
        following = tokens[number + 1] if number + 1 < len(tokens) else None
        if token.token_type in _TEXTS and "\\" in written:
            yield f"has a backslash in the text {written}: write CHAR(..) for the character, or LIKE .. ESCAPE '|'"
        if token.token_type == TokenType.NATIONAL_STRING or (word in _NATIONAL and written[:1] not in "`'\""):
            yield f"has a national character string ({written}): write CHAR, and a COLLATE"
        if following is None:
            continue
        if word == "time" and following.token_type == TokenType.STRING and "." in following.text:
            yield f"has a time with a fraction, {following.text!r}: write TIMESTAMP, or CAST(.. AS TIME(6))"
        if word == "interval" and not _is_whole(tokens[number + 1 : number + 4]):
            yield f"has an interval with a fraction, {following.text}: write a whole number of a smaller unit"
        if following.token_type == TokenType.L_PAREN and written[:1].isalpha() and word not in CALLED | given:
            yield f"calls {written}, which may be a function of the user's own and not the server's"


def _is_whole(after: Sequence[Token]) -> bool:
    """Return False if INTERVAL has a single number with a fraction.

    The server rounds the number, but cuts its text.
    """
    signs = (TokenType.DASH, TokenType.PLUS)
    number = next((token for token in after if token.token_type not in signs), None)
    lone = number is not None and number.token_type == TokenType.NUMBER
    return not lone or number is None or number.text.isdecimal()


def _of_names(tree: Any, tables: Sequence[Table]) -> Iterator[str]:
    """Yield names whose table depends on letter case for sqlglot, but not for the server."""
    columns = list(tree.find_all(exp.Column))
    known = [c.name for table in tables for c in table.columns] + [c.name for c in columns]
    known += [item.alias for item in tree.find_all(exp.Alias)]
    for column in columns:
        other = next((name for name in known if name != column.name and name.lower() == column.name.lower()), "")
        if other and not column.table:
            yield f"names column {column.name}, and {other} is the same name: write its table, and the name as declared"
    aliases = [str(relation.alias_or_name) for relation in tree.find_all(exp.Table, exp.Subquery, exp.CTE)]
    for alias in aliases:
        other = next((name for name in aliases if name != alias and name.lower() == alias.lower()), "")
        if other:
            yield f"names relations {alias} and {other}, which may be the same name: use one spelling, or two names"


def _of_using(tree: Any, tables: Sequence[Table]) -> Iterator[str]:
    """Yield USING with columns of several types.

    The server returns the first column, not the common type of both.
    """
    derived = tree.find(exp.Subquery, exp.CTE) is not None
    for join in tree.find_all(exp.Join):
        for name in (part.name for part in join.args.get("using") or ()):
            columns = [c for table in tables for c in table.columns if c.name.lower() == name.lower()]
            kinds = {(c.base_type, c.collation, c.sql_type if c.base_type in ("enum", "set") else "") for c in columns}
            if len(kinds) != 1 or derived:
                yield f"has JOIN .. USING ({name}) with columns that may have different types: write ON"


def _of_zero_dates(tree: Any, tables: Sequence[Table]) -> Iterator[str]:
    """Yield IS NULL of a date column that is NOT NULL.

    It is true of a zero date in that column, but not in a copy of it.
    """
    names = {c.name.lower() for table in tables for c in table.columns if c.base_type in _ZERO_DATES and not c.nullable}
    items = [item for item in tree.find_all(exp.Alias) if isinstance(item.this, exp.Column)]
    for _ in items:  # names in derived tables, through all levels
        names |= {item.alias.lower() for item in items if item.this.name.lower() in names}
    for test in tree.find_all(exp.Is):
        column = test.this.unnest()
        if isinstance(column, exp.Column) and isinstance(test.expression, exp.Null) and column.name.lower() in names:
            yield (
                f"tests if {column.sql(dialect=DIALECT)} is NULL, which is true of a zero date in a column that is "
                "NOT NULL: test another column"
            )
