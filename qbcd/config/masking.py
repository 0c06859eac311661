"""Masking of passwords and other secrets in text.

qbcd's own messages contain identifiers and no secrets. In them :func:`credentials_masked` masks only what has the form
of a credential. Foreign text (from a driver, a server, Java, a package, a traceback) may repeat a secret.
:meth:`Masking.foreign` masks it there, as a whole word and only where a secret can occur.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus, unquote

from sqlalchemy.engine import URL

from qbcd.config.logins import Login

if TYPE_CHECKING:
    from qbcd.config.models import ProjectConfig
    from qbcd.config.streams import StreamConfig

MASK = "***"
# Names of settings whose value is a secret.
REDACTED = "(?i)secret|password|passwd|token|access[._-]?key|credential|pwd|passphrase"

_CLASS = re.compile(r"(?:[a-z][a-z0-9_]*\.){2,}[A-Z]\w*")  # of a Java class, such as a provider of credentials
_NO_SECRETS = ("true", "false")  # a setting with the name of a secret may be a switch
# The value after the name of a password, and the password in the user part of a URL; both of any form.
_VALUE = r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|[^\s&]+"""
_OF_NAME = r"[\w.-]{0,80}"  # bounded, like the parts of an encoded URL, because a text may be long
_SETTING = re.compile(
    rf"""(?i)(?<![\w.-])((?:{_OF_NAME}[._-])?(?:ssl_?)?(?:password|passwd|pwd)["']?\s*=\s*)(?:{_VALUE})"""
)
_IN_URL = re.compile(r"(://[^\s:/@]*:)([^\s/]+)(@)")
_IN_ENCODED_URL = re.compile(r"(?i)(%3A%2F%2F(?:(?!%3A|%40)[^\s&]){0,200}%3A)((?:(?!%40)[^\s&]){1,600})(%40)")
# A word that announces a secret: `password "x"`, `IDENTIFIED BY 'x'`, `secret.key=x`.
_SECRET_NAME = f"(?:{REDACTED.removeprefix('(?i)')})"
_ANNOUNCED = rf"(?:(?<![\w.-]){_OF_NAME}{_SECRET_NAME}{_OF_NAME}|(?<!\w)(?:pass|by))\\?[\"']?"
# A word of a server's message that announces a name.
_NAMED = re.compile(
    r"""(?i)(?:(?<!\w)(?:relation|table|column|field|schema|database|role|user|view|function|procedure|routine|type
    |operator|class|constraint|index|sequence|trigger|extension|tablespace|collation|language|stream|source|sink)s?
    \W{1,3}|["'`]@["'`])$""",
    re.VERBOSE,
)
_LONGEST_NAMED = 24  # characters before a name that are searched for such a word
# Not inside a word or a dotted name; an escape sequence or an encoded character may precede.
_BEFORE = r"(?:(?<!\w)(?<!\w[.$-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
_AFTER = r"(?!\w)(?![.$-]\w)"
_SHORTEST_WORD = 4  # characters; a shorter secret is masked only where a credential is announced
_NO_WORD = 16  # characters; words of messages are shorter
_LONG = 500  # characters; a longer secret is searched as a whole, in its usual spellings


def credentials_masked(text: str) -> str:
    """Return `text` with credentials masked: passwords in URLs, values of ``password=..``."""
    for pattern in (_IN_URL, _IN_ENCODED_URL):
        text = pattern.sub(rf"\1{MASK}\3", text)
    return _SETTING.sub(rf"\1{MASK}", text)


class Masking:
    """The secrets of a project, masked in foreign text.

    Where a credential is announced (``://user:x@``, ``password=x``, ``password "x"``) every secret of any length is
    masked. Elsewhere a secret that could be an ordinary word is masked only as a value: in quotes, or at the end after
    a colon. A secret that is also a name in the configuration is not masked there.

    Args:
        secrets: Passwords and the like; empty ones are ignored.
        names: Names of streams, tables, columns, roles, databases and so on; they are not masked, even if a secret has
            the same spelling.
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
        """Return the masking of one database; `names` are further names that are not secrets."""
        return cls([url_password(url)], [*url_names(url), *names])

    def foreign(self, text: str) -> str:
        """Return foreign text with secrets masked, also if percent-encoded or escaped."""
        for pattern, replacement in self._announced:
            text = pattern.sub(replacement, text)
        for words in (self._words, self._values):
            if words is not None:
                text = words.sub(_masked_word, text)
        return credentials_masked(text)


def masking_of(config: ProjectConfig) -> Masking:
    """Return the masking of a project: for passwords of databases, and secrets in settings."""
    return Masking(secrets_of(config), _names_of(config))


def secrets_of(config: ProjectConfig) -> Iterator[str]:
    """Yield passwords of databases and secrets in settings.

    A setting is secret if its name says so. Passwords of URLs in settings are secrets too, and addresses of `notify`.
    """
    for url in _urls(config):
        yield url_password(url)
    for source in config.drivers.values():
        yield source.password.get_secret_value() if source.password is not None else ""
        yield from named_secrets(source.jdbc.properties)
    for hook in config.notify:
        yield from hook.secrets()
    for sink in config.sinks.values():
        yield from (option.text for option in sink.secrets())
    for settings in (config.spark.conf, config.storage.options, *(sink.options for sink in config.sinks.values())):
        yield from named_secrets(settings)
        for text in _texts(settings):
            yield from (unquote(found[2]) for found in _IN_URL.finditer(text))


def named_secrets(settings: Any, named: bool = False) -> Iterator[str]:
    """Yield texts of settings with the name of a secret, and all texts inside such settings.

    Args:
        settings: A mapping, a list or a value.
        named: `settings` is the value of a setting with the name of a secret.
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
    """Yield the names in a URL: user, host, database, dialect and driver."""
    yield from (url.username or "", url.host or "", url.database or "", *url.drivername.split("+"))


def _urls(config: ProjectConfig) -> list[URL]:
    logins = [*config.databases.values(), *(sink for sink in config.sinks.values() if isinstance(sink, Login))]
    return [*(login.sqlalchemy_url() for login in logins), config.state_url()]


def _names_of(config: ProjectConfig) -> Iterator[str]:
    for url in _urls(config):
        yield from url_names(url)
    yield from (*config.sources, *config.sinks, *(source.qbcd_schema for source in config.databases.values()))
    yield from (source.user or "" for source in config.drivers.values())
    for stream in config.streams:
        yield from _names_in(stream)


def _names_in(stream: StreamConfig) -> Iterator[str]:
    table = f"{stream.table_schema}.{stream.table_name}"
    yield from (stream.name, stream.table_schema, stream.table_name, table, stream.strategy)
    yield from (*(stream.key or ()), *(stream.columns or ()), *stream.exclude, *stream.types)
    yield from _texts(stream.options)
    # words of the user's SQL are names, except its literals
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
    """Return patterns of `secrets` where a credential is announced, with their replacements."""
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
    """Return the pattern of a secret as a whole word.

    A secret with characters that words do not have needs no bounds.
    """
    return f"{_BEFORE}{_spelled(secret)}{_AFTER}" if re.fullmatch(r"[\w.$-]+", secret) else _spelled(secret)


def _as_value(secret: str) -> str:
    """Return the pattern of a secret as a value.

    It is in quotes, or after a colon at the end of a line or of an item of a list.
    """
    word = _spelled(secret)
    return rf"(?<=[\"'`]){word}(?=\\?[\"'`])|(?<=[:=] ){word}(?=\s*(?:[,;)\]}}]|$))"


def _spelled(secret: str) -> str:
    """Return the pattern of a secret with characters percent-encoded, escaped or doubled."""
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
    """Return the mask, or the word itself if it is a name: ``relation "x" does not exist``."""
    word, start = found[0], found.start()
    before = found.string[max(0, start - _LONGEST_NAMED) : start]
    return word if word.isidentifier() and _NAMED.search(before) else MASK
