"""The configuration as written: plain values, lines of the keys, errors with their place.

YAML is read as parser events. So lines are known, a repeated key is an error, and aliases, tags and deep nesting are
refused. Scalars follow YAML 1.2 (`on`, `no` and `1:30` are text). This module does not know the meaning of the keys.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

import yaml
from pydantic import SecretStr
from typing_extensions import override

from qbcd.errors import ConfigError, NotBuilt

KeyPath = tuple[str | int, ...]

MAX_DEPTH = 32
_SHOWN = 80
_INT = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
_NULLS = ("", "~", "null", "Null", "NULL")
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


@dataclass(frozen=True)
class Problem:
    """An error in the configuration, without its line.

    Attributes:
        what: The problem, without its place and without secrets.
        remedy: The fix, or an empty string.
        not_built: The feature is documented but does not exist yet.
    """

    path: KeyPath
    what: str
    remedy: str = ""
    not_built: bool = False


@dataclass(frozen=True)
class Document:
    """A configuration as written.

    Attributes:
        display: The file's name as the user gave it; empty for a dict.
        base_dir: The folder from which relative paths start.
        raw: The values before placeholders are replaced.
        lines: Line of every key path, from 1; empty for a dict.
        interpolated: By path of a value with a placeholder or a `SecretStr`: the text that may be shown for it.
    """

    display: str
    base_dir: Path
    raw: Any
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    interpolated: Mapping[KeyPath, str] = field(default_factory=dict)

    def where(self, path: KeyPath) -> str:
        """Return ``file:line: key.path``; a missing key has the line of its mapping."""
        line = next((self.lines[path[:n]] for n in range(len(path), -1, -1) if path[:n] in self.lines), 0)
        place = f"{self.display}:{line}" if self.display and line else self.display
        return ": ".join(part for part in (place, dotted(path)) if part)

    def shown(self, path: KeyPath, value: str) -> str:
        """Return `value` in quotes for a message; of a value from a placeholder, the placeholder."""
        written = self._placeholder(path)
        return quoted(value if written is None else written)

    def is_hidden(self, path: KeyPath) -> bool:
        """Return True if the value at `path`, or one that contains it, is from a placeholder."""
        return self._placeholder(path) is not None

    def item(self, path: KeyPath, index: int) -> KeyPath:
        """Return the path of an item of a list; `path` if the item is written without a list."""
        value = self.raw
        for part in path:
            value = value[part]
        return (*path, index) if isinstance(value, (list, tuple)) else path

    def _placeholder(self, path: KeyPath) -> str | None:
        return next(
            (self.interpolated[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.interpolated), None
        )

    def error(self, problem: Problem) -> ConfigError:
        """Return the problem as an error with its place."""
        kind = NotBuilt if problem.not_built else ConfigError
        return kind(problem.what, remedy=problem.remedy, where=self.where(problem.path))


class InvalidConfig(ConfigError):
    """An error for several problems; its text has one line for each.

    Attributes:
        problems: One error for each problem, in the order of the file.
    """

    LISTED = 10

    def __init__(self, problems: tuple[ConfigError, ...]) -> None:
        first = problems[0]
        super().__init__(first.what, remedy=first.remedy, where=first.where)
        self.problems = problems

    @override
    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems[: self.LISTED]]
        more = len(self.problems) - len(lines)
        return "\n".join([*lines, f"(and {more} more)"] if more else lines)


def raise_problems(document: Document, problems: Iterable[Problem]) -> None:
    """Raise the problems as one error, in the order of the file; return if there are none.

    Raises:
        ConfigError: One problem, or its subclass `NotBuilt`; `InvalidConfig` for several.
    """

    def line(problem: Problem) -> int:
        path = problem.path
        return next((document.lines[path[:n]] for n in range(len(path), -1, -1) if path[:n] in document.lines), 0)

    errors = tuple(document.error(problem) for problem in sorted(problems, key=line))
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise InvalidConfig(errors)


def dotted(path: KeyPath) -> str:
    """Return a key path as text: ``tables[1].strategy.timestamp``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else quoted(part)
            text += f".{name}" if text else name
    return text


def quoted(text: str) -> str:
    """Return `text` in double quotes, on one line, shortened, control characters escaped.

    The middle is left out, because the end of a path is the name of its file.
    """
    short = text if len(text) <= _SHOWN else f"{text[: _SHOWN // 2 - 3]}...{text[-_SHOWN // 2 :]}"
    return '"' + "".join(c if c.isprintable() else ascii(c)[1:-1] for c in short) + '"'


def names_of(given: Any, of: str) -> list[str]:
    """Return the names that a program gives, as one text or as several.

    Args:
        of: What they are names of, such as ``stream``.

    Raises:
        ConfigError: One is no text.
    """
    names = list(given) if isinstance(given, Iterable) and not isinstance(given, (str, bytes)) else [given]
    for name in names:
        if not isinstance(name, str):
            raise ConfigError(f"{name!r} is not the name of a {of}", remedy="pass a text, or a list of texts")
    return names


def did_you_mean(name: str, choices: Iterable[str], otherwise: str = "") -> str:
    """Return ``did you mean "x"?`` for the nearest of `choices`, otherwise `otherwise`."""
    known = list(choices)
    near = difflib.get_close_matches(name, known, n=1) or [k for k in known if k.lower() == name.lower()]
    return f"did you mean {quoted(near[0])}?" if near else otherwise


def parse_yaml(text: str, display: str) -> tuple[Any, dict[KeyPath, int]]:
    """Return the values of a YAML text, and the line of each key path.

    Args:
        text: One YAML document.
        display: The file's name for messages.

    Raises:
        ConfigError: The text is not YAML, or has several documents, aliases, tags or repeated keys.
    """
    reader = _YamlReader(display)
    try:
        return reader.read(text), reader.lines
    except yaml.reader.ReaderError as error:
        # the text was decoded before, so the position is an index into it
        line = text.count("\n", 0, error.position) + 1
        raise reader.fail(line, "there is a control character that YAML does not allow", "remove it") from None
    except yaml.MarkedYAMLError as error:
        raise reader.fail(*_plain_words(error, text)) from None
    except (yaml.YAMLError, ValueError, OverflowError, LookupError):
        # PyYAML does not catch these for invalid escapes and version numbers
        raise reader.fail(1, "not valid YAML", "check indentation and quotes") from None


_QUOTE_IT = "put the value in quotes"
_ALIGN = "begin the keys of a mapping, and the dashes of a list, in the same column"
# Message of PyYAML (a pattern), the problem in plain words, the remedy.
_YAML_WORDS = (
    (r"could not find expected ':'", "this line has no `key: value`", "write a colon and a space after the key"),
    (r"expected <block end>, but found '<scalar>'", "there is text after a quoted value", _QUOTE_IT),
    (r"expected <block end>", "the indentation of this line matches no line above", _ALIGN),
    (r"found unexpected end of stream", "this quote is never closed", "close it"),
    (r"found character '(.)' that", r"a value cannot begin with \1", _QUOTE_IT),
    (
        r"expected ',' or",
        "a bracket is not closed, or a value in it needs quotes",
        "close it; quote values with ? {} [] or ,",
    ),
    (r"found unknown escape", "a backslash in double quotes has another meaning", "write the value in single quotes"),
    (r"expected alphabetic or numeric character", "a value cannot begin with * or &", _QUOTE_IT),
    (r"found undefined tag handle", "a value cannot begin with !", _QUOTE_IT),
)
# Messages whose place is the beginning of the construct.
_AT_START = ("could not find", "found unexpected end", "expected ','")


def _plain_words(error: yaml.MarkedYAMLError, text: str) -> tuple[int, str, str]:
    """Return line, problem and remedy of a YAML error."""
    problem = error.problem or ""
    mark = (error.context_mark if problem.startswith(_AT_START) else None) or error.problem_mark or error.context_mark
    number, column = (mark.line, mark.column) if mark else (0, 0)
    line = dict(enumerate(text.splitlines())).get(number, "")
    what, remedy = _harmless(problem), "check indentation and quotes, and quote values with special characters"
    if problem.startswith("found character '\\t'"):
        what = "there is a tab in this line" if line[:column].strip() else "this line is indented with a tab"
        remedy = "YAML accepts only spaces there: replace the tab by spaces"
    elif problem.startswith("mapping values are not allowed"):
        what, remedy = "the line above has no `key: value`, or this line is indented too far", _ALIGN
        if len(re.findall(r":(?= |$)", line.rstrip())) > 1:
            what, remedy = "there is a second colon in this line", _QUOTE_IT
    else:
        known = next((entry for entry in _YAML_WORDS if re.search(entry[0], problem)), None)
        if known is not None:
            what, remedy = re.sub(rf".*?{known[0]}.*", known[1], problem, flags=re.DOTALL), known[2]
    return number + 1, f"not valid YAML: {what}", remedy


def _harmless(problem: str) -> str:
    """Return a message of PyYAML without quoted text of the file, which may be a password."""
    kept = re.compile(r"('(?:<[a-z ]+>|\\t|.)')|'[^']*'?", re.DOTALL)
    return kept.sub(lambda match: match[1] or "some text", problem).replace(r"'\t'", "a tab")[:200]


class _YamlReader:
    """A reader that builds values from parser events and records their lines."""

    def __init__(self, display: str) -> None:
        self.display = display
        self.lines: dict[KeyPath, int] = {}

    def fail(self, line: int, what: str, remedy: str = "", path: KeyPath = ()) -> ConfigError:
        place = f"{self.display}:{line}"
        return ConfigError(what, remedy=remedy, where=f"{place}: {dotted(path)}" if path else place)

    def read(self, text: str) -> Any:
        self.events = yaml.parse(text, Loader=yaml.SafeLoader)
        self.take()  # start of the stream
        event = self.take()
        if isinstance(event, yaml.StreamEndEvent):
            raise self.fail(1, "the file is empty", "`qbcd init` writes a commented one")
        value = self.node(self.take(), ())
        self.take()  # end of the document
        event = self.take()
        if not isinstance(event, yaml.StreamEndEvent):
            raise self.fail(event.start_mark.line + 1, "a second document starts here", "keep one document in the file")
        return value

    def take(self) -> Any:
        return next(self.events)

    def node(self, event: Any, path: KeyPath) -> Any:
        line = event.start_mark.line + 1
        self.lines.setdefault(path, line)
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise self.fail(
                line, "anchors and aliases (&x, *x) are not allowed", "write the value out, or quote it", path
            )
        if event.tag not in (None, "!", "tag:yaml.org,2002:str"):
            raise self.fail(line, "tags (!x) are not allowed", "write plain values, or quote them", path)
        if len(path) > MAX_DEPTH:
            raise self.fail(line, f"nested deeper than {MAX_DEPTH} levels", "write fewer brackets or less indentation")
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event, path)
        return self.mapping(path) if isinstance(event, yaml.MappingStartEvent) else self.sequence(path)

    def scalar(self, event: Any, path: KeyPath) -> Any:
        if not encodable(event.value):
            raise self.fail(event.start_mark.line + 1, "this text is not valid Unicode", "correct the escape", path)
        return plain_value(event.value) if event.style is None and event.tag is None else event.value

    def sequence(self, path: KeyPath) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := self.take(), yaml.SequenceEndEvent):
            items.append(self.node(event, (*path, len(items))))
        return items

    def mapping(self, path: KeyPath) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while not isinstance(event := self.take(), yaml.MappingEndEvent):
            line = event.start_mark.line + 1
            if not isinstance(event, yaml.ScalarEvent) or event.anchor is not None or event.tag is not None:
                remedy = "quote a value that begins with { or [; write a secret as ${env:NAME}"
                raise self.fail(line, "a key must be plain text", remedy, path)
            name = event.value
            if not encodable(name):
                raise self.fail(line, "this key is not valid Unicode", "correct the escape", path)
            here = (*path, name)
            if name in values:
                what = f"this key is already in line {self.lines[here]}"
                raise self.fail(line, what, "remove one", here)
            self.lines[here] = line
            values[name] = self.node(self.take(), here)
        return values


def plain_value(text: str) -> Any:
    """Return the value of an unquoted scalar.

    It is null, a boolean, an integer of at most 18 digits, a float, or otherwise text.
    """
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def encodable(text: str) -> bool:
    """Return True if `text` can be written as UTF-8 and passed to the operating system."""
    return "\0" not in text and not any("\ud800" <= c <= "\udfff" for c in text)


def plain_data(data: Any, path: KeyPath = ()) -> Any:
    """Return a copy of `data` with the types of YAML, `SecretStr` and no others.

    Raises:
        ConfigError: A value has another type, a key is not text, text is not valid Unicode, or the nesting is too deep.
    """
    if len(path) > MAX_DEPTH:
        raise ConfigError(f"nested deeper than {MAX_DEPTH} levels", remedy="flatten it", where=dotted(path[:2]))
    if isinstance(data, PurePath):
        data = str(data)
    text = data.get_secret_value() if isinstance(data, SecretStr) else data
    if isinstance(text, str):
        if not encodable(text):
            raise ConfigError("this text is not valid Unicode", remedy="correct it", where=dotted(path))
        return data
    if data is None or isinstance(data, (bool, int, float)):
        return data
    if isinstance(data, Mapping):
        if not all(isinstance(key, str) and encodable(key) for key in data):
            raise ConfigError("a key must be text", remedy="write it as a string", where=dotted(path))
        return {str(key): plain_data(value, (*path, str(key))) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [plain_data(item, (*path, n)) for n, item in enumerate(data)]
    remedy = "write text, a number, a boolean, a list or a mapping"
    raise ConfigError(f"a value of type {type(data).__name__} is not supported here", remedy=remedy, where=dotted(path))
