"""Names in a user's SQL: called functions, and words that may be calls without brackets."""

from __future__ import annotations

import re

import sqlglot
from sqlglot import TokenType

_OPERATOR = re.compile(r"\boperator\s*\(\s*(?P<named>[^()\s]+)\s*\)", re.IGNORECASE)


def words_of(text: str, dialect: str) -> list[str]:
    """Return the called names of an SQL text and its unquoted words, in lower case.

    A called name ends in ``(``; an unquoted word may be a call without brackets. A variable begins with its sign:
    ``@x``, ``@@x``. An operator that is called by its schema is ``operator(schema.name``.
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
