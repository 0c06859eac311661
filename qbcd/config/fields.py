"""Types of configuration values (durations, paths, table names, numbers), and their errors.

Validators raise the error of :func:`wrong`, and the loader adds its place. Messages contain no input: a text to show is
passed as `value`, so that the loader can hide it if it is from a placeholder.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from string import Formatter
from typing import Annotated, Any, ClassVar, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from qbcd.config.cron import CronLine
from qbcd.config.databases import TABLE_PLACEHOLDERS

NAME_PATTERN = re.compile(r"(?!\.)[A-Za-z0-9_.-]{1,100}")
NAME_RULE = "1 to 100 of A-Z a-z 0-9 _ . -, with no leading dot"

_Strings = TypeVar("_Strings", list[str], tuple[str, ...])

_MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"([0-9]{1,9})\s*(ms|s|m|h|d)")
_BYTES = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
_SIZE = re.compile(r"([0-9]{1,9})\s*(KB|MB|GB)", re.IGNORECASE)
_LONGEST = timedelta(days=36500)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_IDENTIFIER = r'(?:"(?:[^"]|"")+"|[^\s".]+)'
_TABLE = re.compile(rf"(?:({_IDENTIFIER})\.)?({_IDENTIFIER})")


def wrong(
    what: str,
    remedy: str = "",
    *,
    at: str | int | None = None,
    value: str | None = None,
    choices: Iterable[str] = (),
    not_built: bool = False,
) -> PydanticCustomError:
    """Return the error for a validator to raise.

    Args:
        what: The problem; ``<value>`` is replaced by `value`.
        remedy: The fix, unless `value` is similar to one of `choices`.
        at: The key or index inside the validated value that is wrong, if any.
        value: The wrong text.
        choices: The values that are allowed.
        not_built: The feature is documented but does not exist yet.
    """
    context = {"remedy": remedy, "at": at, "value": value, "choices": tuple(choices), "not_built": not_built}
    # in the template itself, pydantic would read braces as fields
    return PydanticCustomError("qbcd", "{what}", {"what": what, **context})


class Section(BaseModel):
    """A mapping of the configuration: frozen, without unknown keys.

    A known key without a value counts as missing.

    Attributes:
        example: The remedy for a required key that is missing.
    """

    example: ClassVar[str] = "add it"

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_empty(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        known = cls.keys()
        return {key: value for key, value in data.items() if value is not None or key not in known}

    @classmethod
    def keys(cls) -> list[str]:
        """Return the keys that the mapping may have, as users write them."""
        return [info.alias or name for name, info in cls.model_fields.items()]

    @classmethod
    def section(cls, key: str) -> type[Section]:
        """Return the model of the mapping under `key`.

        Raises:
            KeyError: `key` has no mapping with a model.
        """
        annotations: list[Any] = [cls.model_fields[key].annotation]
        for annotation in annotations:
            if isinstance(annotation, type) and issubclass(annotation, Section):
                return annotation
            annotations.extend(get_args(annotation))
        raise KeyError(key)


def _duration(value: Any) -> timedelta:
    if isinstance(value, timedelta):
        length = value
    elif isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**10:
        length = timedelta(seconds=value)
    elif isinstance(value, str) and (match := _DURATION.fullmatch(value.strip())):
        length = timedelta(milliseconds=int(match[1]) * _MILLISECONDS[match[2]])
    else:
        raise wrong("not a duration", "write it as 500ms, 30s, 5m, 1h or 7d; a whole number is seconds")
    if length > _LONGEST:
        raise wrong("this duration is longer than 100 years", "write a shorter one")
    return length


def _size(value: Any) -> int:
    """Return a size in bytes; a whole number is bytes."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or not int(match[1]):
        raise wrong("not a size", "write it as 64MB, 512MB or 2GB; a whole number is bytes")
    return int(match[1]) * _BYTES[match[2].upper()]


def _switch(value: Any) -> Any:
    """Return a boolean as it is, or the text true or false, which a placeholder gives, as one."""
    known = {"true": True, "false": False}
    switch = known.get(value.strip().lower()) if isinstance(value, str) else value
    if not isinstance(switch, bool):
        raise wrong("expected true or false", "write true or false; yes, on and 1 are not accepted")
    return switch


def in_words(length: timedelta) -> str:
    """Return a duration as users write it, in the largest unit that gives a whole number."""
    milliseconds = length // timedelta(milliseconds=1)
    whole = [(milliseconds // size, unit) for unit, size in _MILLISECONDS.items() if milliseconds % size == 0]
    return "".join(map(str, whole[-1])) if milliseconds else "0s"


def _every(value: Any) -> timedelta:
    """Return a duration, or a line of cron as one."""
    if not isinstance(value, str) or not len(value.split()) > 2:
        return _positive(_duration(value))
    try:
        return CronLine.parse(value)
    except ValueError:
        raise wrong("not a line of cron", "write minute, hour, day, month and weekday: '*/5 8-18 * * 1-5'") from None


def _positive(value: timedelta) -> timedelta:
    if value <= timedelta(0):
        raise wrong("the interval must be longer than 0", "write it as 500ms, 30s, 5m, 1h or 7d")
    return value


def _limit(value: timedelta) -> timedelta:
    """Round up to whole seconds, as servers need; refuse more than PostgreSQL's 24 days."""
    whole = timedelta(seconds=math.ceil(value.total_seconds()))
    if whole > timedelta(days=24):
        raise wrong("the limit is longer than 24 days", "write a shorter one, or 0 for none")
    return whole


def _wait(value: timedelta) -> timedelta:
    if value <= timedelta(0):
        raise wrong("a wait needs a limit longer than 0", "write it as 30s, 5m, 1h or 7d")
    return _limit(value)


def _number(value: Any) -> Any:
    if isinstance(value, bool):
        raise wrong("a boolean is not a number", "write a number")
    return value


def _scalar_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else value


def local_path(value: Any, base_dir: Path, at: str | None = None) -> Path:
    """Return a path as an absolute one; a relative path starts from `base_dir`.

    Args:
        value: The path as written.
        base_dir: The folder from which relative paths start.
        at: The key of the path inside the validated value, if any.

    Raises:
        PydanticCustomError: The path is empty, not text, or not on the local file system.
    """
    if not isinstance(value, (str, Path)) or not str(value).strip():
        raise wrong("not a path", "write a folder or file, relative to the configuration file or absolute", at=at)
    if _SCHEME.match(str(value)):
        raise wrong(
            "paths with a scheme (scheme://) are not built yet", "use a local or mounted folder", at=at, not_built=True
        )
    try:
        return Path(os.path.abspath(base_dir / Path(value).expanduser()))
    except RuntimeError:
        raise wrong("the home folder for ~ is not known", "write the path in full", at=at) from None


def _local_path(value: Any, info: ValidationInfo) -> Path:
    return local_path(value, base_dir_of(info))


def base_dir_of(info: ValidationInfo) -> Path:
    """Return the folder from which relative paths start: the loader's, or the current one."""
    return Path((info.context or {}).get("base_dir", "."))


def split_table(text: str) -> tuple[str, str]:
    """Return schema (empty if not given) and name of ``schema.table``.

    Parts with dots, blanks or quotes are in double quotes.

    Raises:
        ValueError: The text does not have one or two such parts.
    """
    match = _TABLE.fullmatch(text.strip())
    if not match:
        raise ValueError("not a table name")
    schema, name = (_unquoted(part) for part in match.groups(default=""))
    return schema, name


def _unquoted(part: str) -> str:
    return part[1:-1].replace('""', '"') if part.startswith('"') else part


def _table(value: str) -> str:
    if "*" in re.sub(r'"[^"]*"', "", value):
        remedy = f"write tables: {value.strip()!r}; if * is part of a name, put the name in double quotes"
        raise wrong("a pattern of tables has a key of its own, `tables`", remedy)
    try:
        split_table(value)
    except ValueError:
        remedy = 'write schema.table; put a part with dots, blanks or quotes in double quotes: "My Schema"."T"'
        raise wrong("not a table name", remedy) from None
    return value.strip()


def pattern_problem(pattern: str) -> tuple[str, str] | None:
    """Return problem and remedy of a text that cannot be a pattern of a sink's table names.

    None if it can.
    """
    remedy = f"write a name with {', '.join(f'{{{name}}}' for name in TABLE_PLACEHOLDERS)}"
    try:
        fields = [(field, spec, change) for _, field, spec, change in Formatter().parse(pattern)]
    except ValueError:
        return "there is a brace without its pair", remedy
    if any(field is not None and (field not in TABLE_PLACEHOLDERS or spec or change) for field, spec, change in fields):
        return "there is an unknown placeholder", remedy
    return None


def filled(value: str) -> str:
    """Return `value`.

    Raises:
        PydanticCustomError: It is blank.
    """
    if not value.strip():
        raise wrong("the text is empty", "fill it in or remove the key")
    return value


def listed(value: Any) -> Any:
    """Return a single name as a list of one."""
    if isinstance(value, str) and "," in value:
        raise wrong("a list of names needs brackets", "write [a, b]; one name with a comma: ['a,b']")
    return [value] if isinstance(value, str) else value


def distinct(values: _Strings) -> _Strings:
    """Return `values`.

    Raises:
        PydanticCustomError: One is listed twice.
    """
    if len(set(values)) < len(values):
        twice = next(n for n, value in enumerate(values) if value in values[:n])
        raise wrong("<value> is listed twice", "remove one", at=twice, value=values[twice])
    return values


def _column_kind(value: Any) -> str:
    """Return a kind of `types` as one text.

    It is ``text``, ``set``, ``multiset``, or one of the last two with a blank and its separator.
    """
    if isinstance(value, str) and value in COLUMN_KINDS:
        return value
    if isinstance(value, dict) and len(value) == 1:
        ((kind, separator),) = value.items()
        if kind in SET_KINDS and isinstance(separator, str):
            if _SEPARATOR.fullmatch(separator):
                return f"{kind} {separator}"
            raise wrong("a separator has 1 to 10 blanks or ASCII signs, no letters, digits, quotes or backslashes")
    raise wrong("a column can be text, set or multiset", "write {tags: set}, {tags: {set: ','}} or {amount: text}")


SET_KINDS = ("set", "multiset")
COLUMN_KINDS = ("text", *SET_KINDS)
_SEPARATOR = re.compile(r"[ !#$%&()*+,\-./:;<=>?@\[\]^_`{|}~]{1,10}")
_SEPARATED = {
    "type": "string",
    "pattern": f"^{_SEPARATOR.pattern}$",
    "description": "Text between two elements of a column that is a text.",
}
_SEPARATED_KINDS = [
    {"type": "object", "properties": {kind: _SEPARATED}, "required": [kind], "additionalProperties": False}
    for kind in SET_KINDS
]
_KIND_SCHEMA = {"anyOf": [{"enum": list(COLUMN_KINDS)}, *_SEPARATED_KINDS]}
ColumnKind = Annotated[str, BeforeValidator(_column_kind), WithJsonSchema(_KIND_SCHEMA)]
DURATION_SCHEMA = {"anyOf": [{"type": "string", "pattern": r"^\s*[0-9]{1,9}\s*(ms|s|m|h|d)\s*$"}, {"type": "integer"}]}

Duration = Annotated[timedelta, BeforeValidator(_duration), WithJsonSchema(DURATION_SCHEMA)]
SIZE_SCHEMA = {
    "anyOf": [{"type": "string", "pattern": r"^\s*[0-9]{1,9}\s*([KkMmGg][Bb])\s*$"}, {"type": "integer", "minimum": 1}]
}
Size = Annotated[int, BeforeValidator(_size), WithJsonSchema(SIZE_SCHEMA)]
Interval = Annotated[Duration, AfterValidator(_positive)]
_CRON_SCHEMA = {"type": "string", "pattern": r"^\s*\S+(\s+\S+){4}\s*$"}
EVERY_SCHEMA = {"anyOf": [*DURATION_SCHEMA["anyOf"], _CRON_SCHEMA]}
Every = Annotated[timedelta, BeforeValidator(_every), WithJsonSchema(EVERY_SCHEMA)]
Limit = Annotated[Duration, AfterValidator(_limit)]
Wait = Annotated[Duration, AfterValidator(_wait)]
Switch = Annotated[bool, BeforeValidator(_switch)]
Whole = Annotated[int, BeforeValidator(_number)]
Jobs = Annotated[int, Field(ge=1, le=64), BeforeValidator(_number)]
Count = Annotated[int, Field(ge=1, le=10_000_000), BeforeValidator(_number)]
Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False), BeforeValidator(_number)]
Ratio = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False), BeforeValidator(_number)]
Rate = Annotated[float, Field(ge=0.001, le=10_000, allow_inf_nan=False), BeforeValidator(_number)]
ScalarText = Annotated[str, BeforeValidator(_scalar_text), WithJsonSchema({"type": ["string", "number", "boolean"]})]
Filled = Annotated[str, AfterValidator(filled)]
NAMES_SCHEMA = {"type": "array", "items": {"type": "string"}}
Names = Annotated[
    list[Filled],
    AfterValidator(distinct),
    BeforeValidator(listed),
    WithJsonSchema({"anyOf": [{"type": "string"}, NAMES_SCHEMA]}),
]
SomeNames = Annotated[
    Annotated[list[Filled], Field(min_length=1)],
    AfterValidator(distinct),
    BeforeValidator(listed),
    WithJsonSchema({"anyOf": [{"type": "string"}, {**NAMES_SCHEMA, "minItems": 1}]}),
]
NO_KEY = "none"
KeyNames = Annotated[SomeNames, WrapValidator(lambda value, names: [] if value == NO_KEY else names(value))]
TableName = Annotated[str, AfterValidator(_table)]
LocalPath = Annotated[Path, BeforeValidator(_local_path), WithJsonSchema({"type": "string"})]
