"""The words of SQL that a user wrote: what it calls, and what may be a call without brackets."""

from __future__ import annotations

import re

import sqlglot
from sqlglot import TokenType

_OPERATOR = re.compile(r"\boperator\s*\(\s*(?P<named>[^()\s]+)\s*\)", re.IGNORECASE)


def words_of(text: str, dialect: str) -> list[str]:
    """Lower-case names that are called in an SQL text, and its bare words, which may be calls without brackets.

    What may be a variable has its sign before it: ``@x``, ``@@x``. An operator that is called by its schema is
    ``operator(schema.name``.
    """
    tokens = sqlglot.tokenize(text, read=dialect)
    found = [f"operator({match['named']}" for match in _OPERATOR.finditer(text)]
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.token_type in (TokenType.PARAMETER, TokenType.SESSION_PARAMETER) and following is not None:
            found.append(token.text + following.text.lower())
        if token.token_type in (TokenType.STRING, TokenType.NUMBER) or not token.text[:1].isalpha():
            continue
        called = following is not None and following.token_type == TokenType.L_PAREN
        quoted = text[token.start : token.start + 1] in '"`'
        if called or not quoted:
            found.append(token.text.lower() + ("(" if called else ""))
    return list(dict.fromkeys(found))
