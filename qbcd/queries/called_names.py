"""Names in a user's SQL: called functions, and words that may be calls without brackets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import sqlglot
from sqlglot import Token, TokenType

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


def fewest_arguments(text: str, dialect: str) -> dict[str, int]:
    """Return the least number of arguments of each call in an SQL text, by lower-case name."""
    tokens = sqlglot.tokenize(text, read=dialect)
    found: dict[str, int] = {}
    for place, (token, following) in enumerate(pairwise(tokens)):
        if following.token_type == TokenType.L_PAREN and token.text[:1].isalpha():
            name, number = token.text.lower(), _arguments(tokens[place + 2 :])
            found[name] = min(found.get(name, number), number)
    return found


def _arguments(tokens: Sequence[Token]) -> int:
    """Return the number of arguments of a call; `tokens` begin after its opening bracket."""
    depth = commas = 0
    for token in tokens:
        if token.token_type == TokenType.R_PAREN and not depth:
            break
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
        commas += token.token_type == TokenType.COMMA and not depth
    return 0 if not tokens or tokens[0].token_type == TokenType.R_PAREN else commas + 1
