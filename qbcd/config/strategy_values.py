"""Value types for options of strategies: timestamp columns, zones, flags, pace, sweep."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, PlainValidator, WithJsonSchema, model_validator

from qbcd.config.fields import DURATION_SCHEMA, Filled, Interval, Rate, Ratio, Section, distinct, filled, wrong

ONLY = "only"
SYSTEM_VERSION = "xmin"
EVENT_NAMES = ("insert", "update", "delete")

_OFFSET = re.compile(r"[+-](?:0[0-9]|1[0-3]):[0-5][0-9]|\+14:00")
_NAMED_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*")
_SAME_AS_UTC = ("utc", "z", "gmt", "+00", "+0", "-00:00", "etc/utc", "zulu")
_WIDEST = 2**63


def place_of(replica: str) -> str:
    """Return the place of a replica; `spark` is an older name of the lake."""
    return "lake" if replica == "spark" else replica


def _columns(value: Any) -> Any:
    if isinstance(value, str):
        return [filled(value)]
    if not isinstance(value, (list, tuple)):
        raise wrong("expected a column, or a list of columns", "write updated_at, or [updated_at, created_at]")
    if not value:
        raise wrong("the list is empty", "add at least one")
    return value


def _one_meaning(names: tuple[str, ...]) -> tuple[str, ...]:
    if SYSTEM_VERSION in names and len(names) > 1:
        raise wrong(
            "<value> cannot be combined with columns",
            "write it alone",
            at=names.index(SYSTEM_VERSION),
            value=SYSTEM_VERSION,
        )
    return names


def _zone(value: Any) -> str:
    if value in ("UTC", "+00:00"):
        return "UTC"
    if isinstance(value, str) and _OFFSET.fullmatch(value) and value != "-00:00":
        return value
    if isinstance(value, str) and _NAMED_ZONE.fullmatch(value) and value.lower() not in _SAME_AS_UTC:
        raise wrong(
            "only a fixed offset is accepted: a clock that is set back after summer time cannot be a watermark",
            "write UTC or +02:00 if the writers keep that all year; otherwise use a column with time zone",
        )
    raise wrong("not a time zone", "write UTC, or a fixed offset such as +02:00")


def _scalar(value: Any) -> bool | int | str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and -_WIDEST <= value < _WIDEST:
        return value
    raise wrong("the value of a flag must be a boolean, a whole number or text", "write true, 1 or 'Y'")


def _event_names(value: Any) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)) or not names:
        raise wrong("expected a list of kinds of changes", "write [insert, delete], or remove it for all changes")
    for i, name in enumerate(names):
        if name not in EVENT_NAMES:
            remedy = f"it is one of {', '.join(EVENT_NAMES)}"
            raise wrong("there is no kind of change <value>", remedy, at=i, value=name, choices=EVENT_NAMES)
    return distinct(tuple(names))


class Sweep(Section):
    """The schedule of sweeps for deleted rows.

    Attributes:
        every: The interval; None if every poll is a sweep and nothing else.
    """

    every: Interval | None = None

    @model_validator(mode="before")
    @classmethod
    def _spelled(cls, data: Any) -> Any:
        if data == ONLY:
            return {}
        if not isinstance(data, dict) or all(item is None for item in data.values()):
            raise wrong("`deletes` sets how often qbcd searches for deleted rows", "write {every: 1h}, or `only`")
        return data


class Pace(Section):
    """Speed at which ranges are read.

    Attributes:
        target: Intended duration of one transaction, which reads as many ranges as fit.
        nice_ratio: Rest after a transaction, as a multiple of its duration.
        per_second: Ranges per second, instead of the other two.
    """

    target: Interval | None = None
    nice_ratio: Ratio | None = None
    per_second: Rate | None = None

    @model_validator(mode="after")
    def _one(self) -> Pace:
        if self.target is not None and self.per_second is not None:
            raise wrong("`target` and `per_second` cannot both be given", "remove one", at="per_second")
        if self.nice_ratio is not None and self.per_second is not None:
            raise wrong("`nice_ratio` and `per_second` cannot both be given", "remove one", at="per_second")
        return self


_NAME_SCHEMA = {"type": "string"}
_SWEEP_SCHEMA = {
    "type": "object",
    "properties": {"every": {**DURATION_SCHEMA, "description": "Interval of the search for deleted rows."}},
    "required": ["every"],
    "additionalProperties": False,
}

Columns = Annotated[
    tuple[Filled, ...],
    BeforeValidator(_columns),
    AfterValidator(distinct),
    AfterValidator(_one_meaning),
    WithJsonSchema({"anyOf": [_NAME_SCHEMA, {"type": "array", "items": _NAME_SCHEMA, "minItems": 1}]}),
]
EventNames = Annotated[
    tuple[str, ...],
    PlainValidator(_event_names),
    WithJsonSchema({"type": "array", "items": {"enum": list(EVENT_NAMES)}, "minItems": 1}),
]
FixedZone = Annotated[
    str, PlainValidator(_zone), WithJsonSchema({"type": "string", "pattern": rf"^(UTC|{_OFFSET.pattern})$"})
]
Scalar = Annotated[
    bool | int | str, PlainValidator(_scalar), WithJsonSchema({"type": ["boolean", "integer", "string"]})
]
Deletes = Annotated[Sweep, WithJsonSchema({"anyOf": [{"enum": [ONLY]}, _SWEEP_SCHEMA]})]
