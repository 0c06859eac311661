"""Passwords and other secrets, taken out of text.

Messages that qbcd composes itself hold identifiers and no secrets; of them only what has the form of a credential is
masked, by :func:`credentials_masked`. Text that others wrote (a driver, a server, Java, a package, a traceback) may
repeat a secret: :meth:`Masking.foreign` masks it there, as a whole word and only where a secret can be.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus, unquote

from sqlalchemy.engine import URL

if TYPE_CHECKING:
    from qbcd.config.models import ProjectConfig
    from qbcd.config.streams import StreamConfig

MASK = "***"
REDACTED = "(?i)secret|password|passwd|token|access[._-]?key|credential"  # names of settings that hold a secret

_CLASS = re.compile(r"(?:[a-z][a-z0-9_]*\.){2,}[A-Z]\w*")  # of Java, such as a provider of credentials
_NO_SECRETS = ("true", "false")  # settings may be named like a secret and only switch something
# A value behind the name of a password, and the password of a URL's user part, whatever they are.
_VALUE = r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|[^\s&]+"""
_OF_NAME = r"[\w.-]{0,80}"  # bounded, as are the parts of an encoded URL: a text may be long
_SETTING = re.compile(
    rf"""(?i)(?<![\w.-])((?:{_OF_NAME}[._-])?(?:ssl_?)?(?:password|passwd|pwd)["']?\s*=\s*)(?:{_VALUE})"""
)
_IN_URL = re.compile(r"(://[^\s:/@]*:)([^\s/]+)(@)")
_IN_ENCODED_URL = re.compile(r"(?i)(%3A%2F%2F(?:(?!%3A|%40)[^\s&]){0,200}%3A)((?:(?!%40)[^\s&]){1,600})(%40)")
# A word that announces a secret: `password "x"`, `IDENTIFIED BY 'x'`, `secret.key=x`.
_SECRET_NAME = f"(?:{REDACTED.removeprefix('(?i)')}|pwd|passphrase)"
_ANNOUNCED = rf"(?:(?<![\w.-]){_OF_NAME}{_SECRET_NAME}{_OF_NAME}|(?<!\w)(?:pass|by))\\?[\"']?"
# A word of a server's message that announces a name.
_NAMED = re.compile(
    r"""(?i)(?:(?<!\w)(?:relation|table|column|field|schema|database|role|user|view|function|procedure|routine|type
    |operator|class|constraint|index|sequence|trigger|extension|tablespace|collation|language|stream|source|sink)s?
    \W{1,3}|["'`]@["'`])$""",
    re.VERBOSE,
)
_LONGEST_NAMED = 24  # characters before a name that are searched for such a word
# Not within a word or a dotted name; an escape sequence or an encoded character may precede.
_BEFORE = r"(?:(?<!\w)(?<!\w[.$-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
_AFTER = r"(?!\w)(?![.$-]\w)"
_SHORTEST_WORD = 4  # characters; anything shorter is masked only where a credential is announced
_NO_WORD = 16  # characters that no word of a message has
_LONG = 500  # characters beyond which a secret is searched for as a whole, in its usual spellings


def credentials_masked(text: str) -> str:
    """Return `text` without what has the form of a credential: the password of a URL, ``password=..``."""
    for pattern in (_IN_URL, _IN_ENCODED_URL):
        text = pattern.sub(rf"\1{MASK}\3", text)
    return _SETTING.sub(rf"\1{MASK}", text)


class Masking:
    """The secrets of a project, masked in text that others wrote.

    Where a credential is announced (``://user:x@``, ``password=x``, ``password "x"``) every secret is masked, whatever
    its length. Elsewhere one that could be an ordinary word is masked only as a value, in quotes or at the end behind a
    colon, and one that is also a name of the configuration is not masked.

    Args:
        secrets: Passwords and the like; empty ones are ignored.
        names: Names of streams, tables, columns, roles, databases ..: they are no secrets, also where a secret is
            spelled alike.
    """

    def __init__(self, secrets: Iterable[str] = (), names: Iterable[str] = ()) -> None:
        known = {name.casefold() for name in names if name}
        found = sorted({text for text in secrets if text and text not in _NO_SECRETS}, key=len, reverse=True)
        free = [text for text in found if text.casefold() not in known]
        self._announced = _announced(found)
        self._words = _either(_bounded(text) for text in free if _is_distinctive(text))
        ordinary = (text for text in free if not _is_distinctive(text) and len(text) >= _SHORTEST_WORD)
        self._values = _either(_as_value(text) for text in ordinary)

    @classmethod
    def of_url(cls, url: URL, *names: str) -> Masking:
        """Return the masking of one database; `names` are further names that are no secrets."""
        return cls([url_password(url)], [*url_names(url), *names])

    def foreign(self, text: str) -> str:
        """Return text that others wrote without the secrets, also where they are percent-encoded or escaped."""
        for pattern, replacement in self._announced:
            text = pattern.sub(replacement, text)
        for words in (self._words, self._values):
            if words is not None:
                text = words.sub(_masked_word, text)
        return credentials_masked(text)


def masking_of(config: ProjectConfig) -> Masking:
    """Return the masking of a project: passwords of its databases, and settings that are named like a secret."""
    return Masking(secrets_of(config), _names_of(config))


def secrets_of(config: ProjectConfig) -> Iterator[str]:
    """Yield passwords of databases, and of settings: values that are named like a secret, passwords in URLs."""
    for url in _urls(config):
        yield url_password(url)
    for settings in (config.spark.conf, *(sink.options for sink in config.sinks.values())):
        yield from named_secrets(settings)
        for text in _texts(settings):
            yield from (unquote(found[2]) for found in _IN_URL.finditer(text))


def named_secrets(settings: Any, named: bool = False) -> Iterator[str]:
    """Yield the texts of settings that are named like a secret, or are inside one.

    Args:
        settings: A mapping, a list or a value.
        named: `settings` is the value of a setting that is named like a secret.
    """
    if isinstance(settings, Mapping):
        for name, value in settings.items():
            yield from named_secrets(value, named or re.search(REDACTED, str(name)) is not None)
    elif isinstance(settings, (list, tuple)):
        for value in settings:
            yield from named_secrets(value, named)
    elif named and isinstance(settings, str) and not _CLASS.fullmatch(settings):
        yield settings


def url_password(url: URL) -> str:
    """Return the password of a URL, or an empty string."""
    return str(url.password or "")


def url_names(url: URL) -> Iterator[str]:
    """Yield what a URL names in plain: user, host, database, dialect and driver."""
    yield from (url.username or "", url.host or "", url.database or "", *url.drivername.split("+"))


def _urls(config: ProjectConfig) -> list[URL]:
    return [*(source.sqlalchemy_url() for source in config.sources.values()), config.state_url()]


def _names_of(config: ProjectConfig) -> Iterator[str]:
    for url in _urls(config):
        yield from url_names(url)
    yield from (*config.sources, *config.sinks, *(source.qbcd_schema for source in config.sources.values()))
    for stream in config.streams:
        yield from _names_in(stream)


def _names_in(stream: StreamConfig) -> Iterator[str]:
    table = f"{stream.table_schema}.{stream.table_name}"
    yield from (stream.name, stream.table_schema, stream.table_name, table, stream.strategy)
    yield from (*(stream.key or ()), *(stream.columns or ()), *stream.exclude, *stream.types)
    yield from _texts(stream.options)
    # what is written in plain in the user's SQL is no secret; literals aside, they are names
    yield from re.findall(r"\w+", re.sub(r"'[^']*'", " ", f"{stream.where} {stream.query}"))


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in nested options, keys of mappings included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts([*value, *value.values()])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)


# -- patterns --------------------------------------------------------------------------------------------------------
def _is_distinctive(secret: str) -> bool:
    """Return True if a secret cannot be an ordinary word or number of a sentence."""
    if len(secret) >= _NO_WORD:
        return len(set(secret)) >= _SHORTEST_WORD
    mixed = any(map(str.isalnum, secret)) and not secret.isalpha() and not secret.isdigit()
    return mixed and len(secret) >= _SHORTEST_WORD


def _announced(secrets: list[str]) -> list[tuple[re.Pattern[str], str]]:
    """Return patterns of all `secrets` where a credential is announced, with what replaces each."""
    if not secrets:
        return []
    any_of = f"(?:{'|'.join(map(_spelled, secrets))})"
    quotes = r"\\?[\"'`]"
    return [
        (re.compile(rf"(://[^\s:/@]*:){any_of}(@)"), rf"\1{MASK}\2"),
        (re.compile(rf"((?i:{_ANNOUNCED})\s*=\s*(?:{quotes})?){any_of}(?!\w)()"), rf"\1{MASK}\2"),
        (re.compile(rf"((?i:{_ANNOUNCED})\s*[:\s]\s*{quotes}){any_of}({quotes})"), rf"\1{MASK}\2"),
        (re.compile(rf"((?i:{_ANNOUNCED})\s*:\s*){any_of}(\s*(?:[,;&)}}\]]|$))", re.MULTILINE), rf"\1{MASK}\2"),
    ]


def _either(patterns: Iterable[str]) -> re.Pattern[str] | None:
    listed = list(patterns)
    return re.compile("|".join(listed), re.MULTILINE) if listed else None


def _bounded(secret: str) -> str:
    """Return the pattern of a whole word; a secret with characters that no word has needs no bounds."""
    return f"{_BEFORE}{_spelled(secret)}{_AFTER}" if re.fullmatch(r"[\w.$-]+", secret) else _spelled(secret)


def _as_value(secret: str) -> str:
    """Return the pattern of a word in quotes, or of one behind a colon at the end of a line or of a list's item."""
    word = _spelled(secret)
    return rf"(?<=[\"'`]){word}(?=\\?[\"'`])|(?<=[:=] ){word}(?=\s*(?:[,;)\]}}]|$))"


def _spelled(secret: str) -> str:
    """Return the pattern of a secret whose characters may be percent-encoded, escaped or doubled."""
    if len(secret) > _LONG:
        whole = (secret, quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1], repr(secret)[1:-1])
        return f"(?:{'|'.join(map(re.escape, whole))})"
    return "".join(map(_character, secret))


def _character(one: str) -> str:
    spellings = [re.escape(one)]
    spellings.append(f"(?i:{''.join(f'%{byte:02X}' for byte in one.encode(errors='surrogatepass'))})")
    if one == " ":
        spellings.append(r"\+")
    if one in "\"'`\\/":
        spellings += [re.escape(f"\\{one}"), re.escape(2 * one)]
    for escaped in (json.dumps(one)[1:-1], ascii(one)[1:-1]):
        if escaped != one:
            spellings.append(re.escape(escaped))
    return f"(?:{'|'.join(dict.fromkeys(spellings))})"


def _masked_word(found: re.Match[str]) -> str:
    """Return the mask, or the word itself where it is a name: ``relation "x" does not exist``."""
    word, start = found[0], found.start()
    before = found.string[max(0, start - _LONGEST_NAMED) : start]
    return word if word.isidentifier() and _NAMED.search(before) else MASK
