"""The configuration as it was written: plain values with the line of every key, and the errors that point at them.

Reads YAML as parser events, so that lines are kept, keys cannot repeat, and neither aliases nor tags nor deep nesting
are followed. Scalars follow YAML 1.2 (`on` and `no` are text, `1:30` is text). Nothing here knows what the keys mean.
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
    """One thing that is wrong with the configuration.

    Attributes:
        path: Key path of the value concerned.
        what: What is wrong, without the place; never holds a secret.
        remedy: What to do about it, or an empty string.
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
        display: The file's name as the user gave it; empty when the configuration came as a dict.
        base_dir: Folder that relative paths start from.
        raw: The values before interpolation.
        lines: Line of every key path, from 1; empty for a dict.
        interpolated: The paths whose text holds, or was given as, a secret; mapped to what may be shown instead.
    """

    display: str
    base_dir: Path
    raw: Any
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    interpolated: Mapping[KeyPath, str] = field(default_factory=dict)

    def where(self, path: KeyPath) -> str:
        """``file:line: key.path``; a key that is not written has the line of what should hold it."""
        line = next((self.lines[path[:n]] for n in range(len(path), -1, -1) if path[:n] in self.lines), 0)
        place = f"{self.display}:{line}" if self.display and line else self.display
        return ": ".join(part for part in (place, dotted(path)) if part)

    def shown(self, path: KeyPath, value: str) -> str:
        """`value` in quotes as a message may show it: a value that came through a placeholder shows only that."""
        written = self._placeholder(path)
        return quoted(value if written is None else written)

    def is_hidden(self, path: KeyPath) -> bool:
        """Return True if the value at `path` came through a placeholder, by itself or as a part of another value."""
        return self._placeholder(path) is not None

    def item(self, path: KeyPath, index: int) -> KeyPath:
        """Return the path of an item of a list; that of the value itself where one item is written without a list."""
        value = self.raw
        for part in path:
            value = value[part]
        return (*path, index) if isinstance(value, (list, tuple)) else path

    def _placeholder(self, path: KeyPath) -> str | None:
        return next(
            (self.interpolated[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.interpolated), None
        )

    def error(self, problem: Problem) -> ConfigError:
        """The problem as an error with its place."""
        kind = NotBuilt if problem.not_built else ConfigError
        return kind(problem.what, remedy=problem.remedy, where=self.where(problem.path))


class InvalidConfig(ConfigError):
    """Several things are wrong; the text has one line for each.

    Attributes:
        problems: Each as an error of its own, in the order of the file.
    """

    LISTED = 10

    def __init__(self, problems: tuple[ConfigError, ...]) -> None:
        first = problems[0]
        super().__init__(first.what, remedy=first.remedy, where=first.where)
        self.problems = problems

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems[: self.LISTED]]
        more = len(self.problems) - len(lines)
        return "\n".join([*lines, f"(and {more} more)"] if more else lines)


def raise_problems(document: Document, problems: Iterable[Problem]) -> None:
    """Raises what was found, in the order of the file; returns when nothing was.

    Raises:
        ConfigError: One problem; `NotBuilt` where it is one; `InvalidConfig` for several.
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
    """A key path for people: ``tables[1].strategy.timestamp``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else quoted(part)
            text += f".{name}" if text else name
    return text


def quoted(text: str) -> str:
    """`text` in double quotes, on one line, shortened, control characters escaped."""
    short = text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
    return '"' + "".join(c if c.isprintable() else ascii(c)[1:-1] for c in short) + '"'


def did_you_mean(name: str, choices: Iterable[str], otherwise: str = "") -> str:
    """``did you mean "x"?`` for the nearest of `choices`, else `otherwise`."""
    known = list(choices)
    near = difflib.get_close_matches(name, known, n=1) or [k for k in known if k.lower() == name.lower()]
    return f"did you mean {quoted(near[0])}?" if near else otherwise


def parse_yaml(text: str, display: str) -> tuple[Any, dict[KeyPath, int]]:
    """The values of a YAML text and the line of each key path.

    Args:
        text: One YAML document.
        display: The file's name for messages.

    Raises:
        ConfigError: Not YAML, or uses what a configuration may not: several documents, aliases, tags, repeated keys.
    """
    reader = _YamlReader(display)
    try:
        return reader.read(text), reader.lines
    except yaml.reader.ReaderError as error:
        # position is an index into the text here, as the text was decoded before
        line = text.count("\n", 0, error.position) + 1
        raise reader.fail(line, "there is a control character that YAML does not allow", "remove it") from None
    except yaml.MarkedYAMLError as error:
        raise reader.fail(*_plain_words(error, text)) from None
    except (yaml.YAMLError, ValueError, OverflowError, LookupError):
        # what PyYAML lets through on absurd escapes and version numbers
        raise reader.fail(1, "not valid YAML", "check indents and quotes") from None


_QUOTE_IT = "put the value in quotes"
_ALIGN = "begin keys of one mapping, and dashes of one list, in the same column"
# Words of PyYAML, and in plain words what they mean and what helps.
_YAML_WORDS = (
    (r"could not find expected ':'", "this line has no `key: value`", "write a colon and a blank behind the key"),
    (r"expected <block end>, but found '<scalar>'", "there is text behind a quoted value", _QUOTE_IT),
    (r"expected <block end>", "this line's indent fits none above", _ALIGN),
    (r"found unexpected end of stream", "a quote is opened here and never closed", "close it"),
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
_AT_START = (
    "could not find",
    "found unexpected end",
    "expected ','",
)  # of these the construct's beginning is the place


def _plain_words(error: yaml.MarkedYAMLError, text: str) -> tuple[int, str, str]:
    """Return line, problem and remedy of a YAML error."""
    problem = error.problem or ""
    mark = (error.context_mark if problem.startswith(_AT_START) else None) or error.problem_mark or error.context_mark
    number, column = (mark.line, mark.column) if mark else (0, 0)
    line = dict(enumerate(text.splitlines())).get(number, "")
    what, remedy = _harmless(problem), "check indents and quotes, and quote values with special characters"
    if problem.startswith("found character '\\t'"):
        what = "there is a tab in this line" if line[:column].strip() else "this line is indented with a tab"
        remedy = "YAML takes blanks only: replace the tab by spaces"
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
    """PyYAML's words without the text of the file that they may quote; that text may be a password."""
    kept = re.compile(r"('(?:<[a-z ]+>|\\t|.)')|'[^']*'?", re.DOTALL)
    return kept.sub(lambda match: match[1] or "some text", problem).replace(r"'\t'", "a tab")[:200]


class _YamlReader:
    """Builds values from parser events and remembers lines."""

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
            raise self.fail(line, f"nested deeper than {MAX_DEPTH} levels", "write fewer brackets or indents")
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
                remedy = "quote the value, if it begins with { or [; a secret is written ${env:NAME}"
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
    """The value of an unquoted scalar: null, boolean, integer of at most 18 digits, float, else text."""
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
    """`data` as mappings with text keys, lists, text, numbers, booleans, None and `SecretStr`, copied.

    Raises:
        ConfigError: Another type, a key that is no text, text that is not valid Unicode, or too deep.
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
    raise ConfigError(f"a value of type {type(data).__name__} does not belong here", remedy=remedy, where=dotted(path))
