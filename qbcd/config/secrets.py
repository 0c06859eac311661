"""Placeholders in configuration values: ``${env:NAME}`` and ``${file:/path}``.

A placeholder may be a whole value or a part of it; ``$${`` is a plain ``${``. Its replacement is never expanded again
and never shown in a message. In the user part of a URL the replacement is percent-encoded, so a password may contain
any character.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic import SecretStr

from qbcd.config.document import Document, KeyPath, Problem, encodable, quoted
from qbcd.errors import ConfigError

_TOKEN = re.compile(r"\$\$\{|\$\{([^{}]*)\}|\$\{")
_PLAIN = "$${"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_USER_PART = re.compile(r"[^:/?#]+://([^/?#]*@)")
_MAX_SECRET = 65_536
# Only digits, so that it is valid as a port as well as a name
_STAND_IN = "918273645"


class _Unresolved(Exception):
    """A placeholder without a value; its arguments are message and remedy."""


def expand(document: Document) -> tuple[Any, dict[KeyPath, str], list[Problem]]:
    """Return the values of a document with every placeholder replaced.

    Returns:
        The values; by path of a value with a placeholder or a `SecretStr`, the text that may be shown for it; the
        problems of placeholders without a value.
    """
    shown: dict[KeyPath, str] = {}
    problems: list[Problem] = []

    def walk(value: Any, path: KeyPath) -> Any:
        if isinstance(value, dict):
            return {key: walk(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [walk(item, (*path, n)) for n, item in enumerate(value)]
        if isinstance(value, SecretStr):
            shown[path] = "**********"
            return value.get_secret_value()
        if not isinstance(value, str) or "${" not in value:
            return value
        if all(match.group() == _PLAIN for match in _TOKEN.finditer(value)):
            return value.replace(_PLAIN, "${")
        shown[path] = value
        try:
            return expand_text(value, document.base_dir, in_url=is_url_path(path, document.raw))
        except _Unresolved as error:
            what, remedy = error.args
            problems.append(Problem(path, what, remedy))
            return value

    return walk(document.raw, ()), shown, problems


def is_url_path(path: KeyPath, raw: Any) -> bool:
    """Return True if the value at `path` of a file is the URL of a database or a catalog."""
    if len(path) > 2 and path[0] == "sinks":
        sink = raw["sinks"][path[1]]
        kind = sink.get("type") if isinstance(sink, dict) else None
        return (kind, *path[2:]) in (("database", "url"), ("iceberg", "catalog", "uri"))
    return path == ("state",) or (len(path) == 3 and path[0] == "sources" and path[2] == "url")


def expand_text(text: str, base_dir: Path, *, in_url: bool) -> str:
    """Return `text` with its placeholders replaced; relative files start from `base_dir`."""
    blank = _TOKEN.sub(lambda match: "x" * len(match.group()), text)
    user_part = _USER_PART.match(blank) if in_url else None
    start, end = user_part.span(1) if user_part else (0, 0)

    def value(match: re.Match[str]) -> str:
        if match.group() == _PLAIN:
            return "${"
        found = _resolve(match.group(1), base_dir)
        return quote(found, safe="") if start <= match.start() < end else found

    return _TOKEN.sub(value, text)


def expand_argument(url: str, folder: Path) -> str:
    """Return a URL of a command line with its placeholders replaced.

    Relative files start from `folder`.

    Raises:
        ConfigError: A placeholder has no value.
    """
    try:
        return expand_text(url, folder, in_url=True)
    except _Unresolved as error:
        what, remedy = error.args
        raise ConfigError(what, remedy=remedy) from None


def without_secrets(text: str) -> str:
    """Return a URL as written, with digits instead of each placeholder."""
    return _TOKEN.sub(lambda match: "${" if match.group() == _PLAIN else _STAND_IN, text)


def is_stand_in(text: str) -> bool:
    """Return True if a part of a URL of :func:`without_secrets` has a placeholder."""
    return _STAND_IN in text


def _resolve(inner: str | None, base_dir: Path) -> str:
    kind, _, name = (inner or "").partition(":")
    if kind == "env" and _NAME.fullmatch(name):
        return _variable(name)
    if kind == "file" and name:
        return _file(name, base_dir)
    # the text is not repeated: it may be a password that happens to hold "${"
    raise _Unresolved(
        "this ${..} is neither ${env:NAME} nor ${file:/path}", "for a variable write ${env:NAME}; $${ is a plain ${"
    )


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise _Unresolved(f"the environment variable {name} is not set", f"set {name}, or use ${{file:/path}}")
    if not encodable(value):
        raise _Unresolved(f"the environment variable {name} is not valid UTF-8", f"correct {name}")
    return value


def _file(name: str, base_dir: Path) -> str:
    path = base_dir / name
    remedy = "check the path and its permissions"
    try:
        if not path.is_file():
            raise _Unresolved(f"the file {quoted(name)} does not exist or is not a regular file", remedy)
        with path.open("rb") as stream:
            data = stream.read(_MAX_SECRET + 1)
    except (OSError, ValueError) as error:
        raise _Unresolved(f"the file {quoted(name)} cannot be read: {type(error).__name__}", remedy) from None
    if len(data) > _MAX_SECRET:
        raise _Unresolved(f"the file {quoted(name)} is larger than {_MAX_SECRET} bytes", "name the right file")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if not encodable(text):
        raise _Unresolved(f"the file {quoted(name)} is not UTF-8 text", "name the right file") from None
    return re.sub(r"\r?\n\Z", "", text)
