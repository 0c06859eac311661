"""Patterns of tables, such as ``app.*``, and the names of the streams that they give."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from string import Formatter
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from qbcd.config.fields import NAMES_SCHEMA, Filled, distinct, listed, wrong

NewTables = Literal["report", "capture"]
NAME_FIELDS = ("source", "schema", "table")
DEFAULT_NAME = "{table}"

_PART = r'(?:"(?:[^"]|"")+"|[^\s".]+)'
_PATTERN = re.compile(rf"({_PART})\.({_PART})")


@dataclass(frozen=True)
class TablePattern:
    """A pattern ``schema.table``: ``*`` means any characters, a part in double quotes itself."""

    text: str
    schema: re.Pattern[str]
    name: re.Pattern[str]

    @classmethod
    def parse(cls, text: str) -> TablePattern:
        """Parse a pattern.

        Raises:
            ValueError: It does not consist of a schema and a table.
        """
        match = _PATTERN.fullmatch(text.strip())
        if not match:
            raise ValueError("not a pattern of tables")
        return cls(text.strip(), *map(_compiled, match.groups()))

    def matches(self, schema: str, name: str) -> bool:
        """Return True if the pattern means table `schema`.`name`."""
        return bool(self.schema.fullmatch(schema) and self.name.fullmatch(name))


def _compiled(part: str) -> re.Pattern[str]:
    if part.startswith('"'):
        return re.compile(re.escape(part[1:-1].replace('""', '"')))
    return re.compile(".*".join(map(re.escape, part.split("*"))), re.DOTALL)


@dataclass(frozen=True)
class PatternEntry:
    """An entry of `tables` with patterns.

    Attributes:
        index: Its place in `tables`.
        tables: A table is captured if one of these matches it ..
        exclude: .. and none of these.
        new_tables: What to do about a table that appears after the first `prepare`.
        where: ``file:line: key.path`` of the patterns.
    """

    index: int
    source: str
    tables: tuple[TablePattern, ...]
    exclude: tuple[TablePattern, ...]
    new_tables: NewTables
    where: str

    def matches(self, schema: str, name: str) -> bool:
        """Return True if the entry captures table `schema`.`name`."""
        return _any(self.tables, schema, name) and not _any(self.exclude, schema, name)


def _any(patterns: Iterable[TablePattern], schema: str, name: str) -> bool:
    return any(pattern.matches(schema, name) for pattern in patterns)


def refuse_bad_patterns(values: Iterable[str], at: str | None = None) -> None:
    """Check the patterns of a list.

    Args:
        values: The patterns.
        at: The key of the list inside the validated value, if any.

    Raises:
        PydanticCustomError: One is not a pattern.
    """
    named = list(values)
    for index, value in enumerate(named):
        try:
            TablePattern.parse(value)
        except ValueError:
            remedy = 'write schema.table with * for any characters, such as app.* or "My Schema".*'
            place = at or (index if len(named) > 1 else None)  # one alone may be written without a list
            raise wrong("<value> is not a pattern of tables", remedy, at=place, value=value) from None


def _patterns(values: list[str]) -> list[str]:
    refuse_bad_patterns(values)
    return distinct(values)


def refuse_bad_template(template: str) -> None:
    """Check a template of stream names.

    Raises:
        PydanticCustomError: It has no ``{table}``, an unknown field, or a brace without its pair.
    """
    remedy = 'write name: "{schema}.{table}"; {source} is possible too'
    try:
        fields = [(name, spec, change) for _, name, spec, change in Formatter().parse(template) if name is not None]
    except ValueError:
        raise wrong("there is a brace without its pair", remedy, at="name") from None
    if any(name not in NAME_FIELDS or spec or change for name, spec, change in fields):
        raise wrong("there is an unknown placeholder", remedy, at="name")
    if not any(name == "table" for name, _, _ in fields):
        raise wrong("all tables of the pattern would have this name", remedy, at="name")


TablePatterns = Annotated[
    Annotated[list[Filled], Field(min_length=1)],
    AfterValidator(_patterns),
    BeforeValidator(listed),
    WithJsonSchema({"anyOf": [{"type": "string"}, {**NAMES_SCHEMA, "minItems": 1}]}),
]
