"""The text of a query, tokenized by the source's rules."""

from __future__ import annotations

import re

import sqlglot
from sqlglot import Token, TokenType
from sqlglot.errors import SqlglotError

_LITERALS = {
    TokenType.NUMBER,
    TokenType.STRING,
    TokenType.BIT_STRING,
    TokenType.HEX_STRING,
    TokenType.BYTE_STRING,
    TokenType.NATIONAL_STRING,
    TokenType.RAW_STRING,
    TokenType.HEREDOC_STRING,
    TokenType.UNICODE_STRING,
}


_WHOLE = re.compile(r"-?[0-9]+")
_UNITS = frozenset({"microsecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year"})


_LEVEL = ("~~", "!~~", "~~*", "!~~*", "^@")


class Unfit(Exception):
    """A text is not a query that can be captured; the message follows the words "the query"."""


def tokens(text: str, dialect: str) -> list[Token]:
    """Return the tokens of `text`.

    Raises:
        Unfit: It cannot be read.
    """
    try:
        return sqlglot.tokenize(text, read=dialect)
    except SqlglotError:
        raise Unfit("cannot be read as SQL") from None


def without_comments(text: str, dialect: str) -> str:
    """Return the text with blanks for comments, so that server and parser read the same."""
    if "\x00" in text:
        raise Unfit("holds a NUL character")
    parts, end, read = list[str](), 0, tokens(text, dialect)
    if any(token.token_type == TokenType.SEMICOLON for token in read):
        raise Unfit("holds a semicolon")
    if any(token.token_type == TokenType.HINT for token in read):
        raise Unfit("holds a hint in a comment, which can change the meaning of the statement")
    for token in read:
        parts += [_blank(text[end : token.start]), text[token.start : token.end + 1]]
        end = token.end + 1
    return "".join([*parts, _blank(text[end:])]).strip()


def _blank(gap: str) -> str:
    """Return the text between two tokens without comments; refuse a comment that is run."""
    if not gap.strip():
        return gap
    if "/*!" in gap or "/*M!" in gap or "/*+" in gap:
        raise Unfit("holds a comment that the database may run")
    return "\n" * gap.count("\n") or " "


def without_order(text: str, dialect: str) -> str:
    """Return the text up to its last ORDER BY outside of all brackets."""
    depth, start = 0, len(text)
    for token in tokens(text, dialect):
        if token.token_type in (TokenType.L_PAREN, TokenType.R_PAREN):
            depth += 1 if token.token_type == TokenType.L_PAREN else -1
        elif token.token_type == TokenType.ORDER_BY and depth == 0:
            start = token.start
    return text[:start].rstrip()


def misread(text: str, dialect: str) -> str:
    """Describe a part of a text whose meaning sqlglot would change; empty if there is none.

    ``"bit"`` has any length, ``bit`` has length 1. ``date_part`` has another type than ``extract``, as which it is
    written. ``0x41`` is a number; ``x'41'``, as which it is written, is not.
    """
    read = tokens(text, dialect)
    for before, token, after in zip([*read[:1], *read], read, [*read[1:], *read[-1:]], strict=False):
        quoted = text[token.start : token.start + 1] == '"'
        cast = before.token_type == TokenType.ALIAS and after.token_type == TokenType.R_PAREN
        if token.text == "bit" and quoted and (cast or before.token_type == TokenType.DCOLON):
            return 'casts to "bit"'
        if token.text.lower() == "date_part" and after.token_type == TokenType.L_PAREN:
            return "calls date_part: write extract(.. FROM ..)"
        if token.text.lower() == "regexp_like" and after.token_type == TokenType.L_PAREN:
            return "calls regexp_like: write ~ or ~*"
        if token.token_type in (TokenType.PIPE_SLASH, TokenType.DPIPE_SLASH):
            return f"has the operator {token.text}: write sqrt(..) or cbrt(..)"
        if token.token_type == TokenType.HEX_STRING and text[token.start : token.start + 2].lower() == "0x":
            return f"has the hexadecimal number {text[token.start : token.end + 1]}: write it as a decimal number"
    return ""


def level_operators(text: str, dialect: str) -> list[str]:
    """Return the operators of a text with the precedence of ||, which sqlglot does not keep."""
    found = (text[token.start : token.end + 1] for token in tokens(text, dialect))
    return [operator for operator in found if operator in _LEVEL]


def literals(text: str, dialect: str) -> list[str]:
    """Return the number and text literals of a query, sorted, equal ones in the same spelling.

    Units ignore case: those of INTERVAL, after the number or inside it, and the first operand of date_trunc.
    """
    found, read = [], tokens(text, dialect)
    for number, token in enumerate(read):
        if token.token_type in _LITERALS:
            before = [one.text.lower() for one in read[max(0, number - 4) : number]]
            after = read[number + 1].text.lower() if number + 1 < len(read) else ""
            found.append(_spelled(token, before, after))
    return sorted(found)


def _spelled(token: Token, before: list[str], after: str) -> str:
    text = token.text
    if before[-1:] == ["interval"]:
        return f"{text} {after}" if _WHOLE.fullmatch(text) and after in _UNITS else text.lower()
    if before[-2:] == ["date_trunc", "("] or before == ["date_trunc", "(", "cast", "("]:
        return text.lower()
    if token.token_type == TokenType.NUMBER:
        return text.removeprefix("0.")  # the tokens of .5 are a point and a 5
    return text
