"""Errors that several polls raise: unsafe keys, values beyond typed sinks, no baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from qbcd.catalog.source import Session
from qbcd.errors import NotPrepared, QbcdError, UnsafeKey, UnsupportedType
from qbcd.model import KeyRange, StreamPlan
from qbcd.model.value_limits import NARROWER
from qbcd.sites.values import Settings
from qbcd.strategies import TableStrategy

LONGEST_SHOWN = 60  # characters of a value of a key in messages


@dataclass(frozen=True)
class FoundValue:
    """A value that a sink cannot hold.

    Attributes:
        position: Of its column among the captured ones.
        words: What it is.
        key: The row's key as messages have it; empty if the stream has none.
        old: It is an old value: the row does not have it any more.
        sink: The sink that cannot hold it; empty for all typed ones.
    """

    position: int
    words: str
    key: str = ""
    old: bool = False
    sink: str = ""


def untravelled_error(
    plan: StreamPlan, settings: Settings, positions: Sequence[int], found: FoundValue | None = None
) -> QbcdError:
    """Return the refusal of a value that no typed sink, configured or removed, can hold.

    Args:
        positions: The columns with such values.
        found: One of the values, if it is known.
    """
    column, needing = plan.captured[positions[0]].name, settings.typed_for or settings.lenient_for
    if not set(needing) & set(settings.sinks):
        return UnsupportedType(
            f"column {column!r} holds a value that a typed sink cannot hold, and sink {needing[0]}, which is no longer "
            "configured, may be one and may be added again",
            stream=plan.stream,
            remedy=f"qbcd retire {plan.stream} {needing[0]}",
        )
    if found is not None:
        sink = next(name for name in needing if name in settings.sinks)
        return value_error(plan, settings, replace(found, sink=sink))
    return UnsupportedType(
        f"column {column!r} holds a value that a typed sink cannot hold (infinite or far dates, NaN in a decimal, "
        "arrays that are not one-dimensional)",
        stream=plan.stream,
        remedy=f"set  types: {{{column}: text}}  for this table, then qbcd reset {plan.stream}",
    )


def value_error(plan: StreamPlan, settings: Settings, found: FoundValue) -> UnsupportedType:
    """Return the refusal of a value that one sink cannot hold."""
    column, in_key = plan.captured[found.position], found.position < len(plan.key)
    row = f" in the row with key {found.key}" if found.key else ""
    was = "had" if found.old else "has"
    correct = "correct the value in the source: the next poll continues"
    policy = f"`unsupported: null` or `text` of sink {found.sink}"
    beyond = column.travel.kind in NARROWER
    ways = [] if found.old else [correct]
    ways += [policy] if not in_key and found.sink in dict(settings.limits) else []
    ways += [f"types: {{{column.name}: text}}, then qbcd reset {plan.stream}"] if beyond else []
    ways += [] if in_key or beyond else [f"exclude: [{column.name}]"]
    return UnsupportedType(
        f"column {column.name!r} {was} {found.words}{row}, which sink {found.sink} cannot hold",
        stream=plan.stream,
        remedy="; or ".join(ways),
    )


def key_shown(plan: StreamPlan, values: Sequence[object]) -> str:
    """Return a key as messages have it: its columns and values; empty without a key."""
    if not plan.key:
        return ""
    names = ", ".join(column.name for column in plan.key)
    return f"({names}) = ({', '.join(map(_shown, values))})"


def _shown(value: object) -> str:
    text = value.hex() if isinstance(value, (bytes, memoryview, bytearray)) else str(value)
    text = "".join(c if c.isprintable() else "\u2400" if c == "\0" else "?" for c in text)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}.."


def key_error(plan: StreamPlan) -> UnsafeKey:
    """Return the refusal of a key that does not identify rows."""
    return UnsafeKey(
        f"key ({', '.join(c.name for c in plan.key)}) has duplicate or NULL values in {plan.table.label}",
        stream=plan.stream,
        remedy="choose a key that is unique and never NULL, or fix the rows",
    )


def not_prepared(stream: str) -> NotPrepared:
    """Return the refusal of an operation that needs a baseline."""
    return NotPrepared("is not prepared", stream=stream, remedy=f"qbcd prepare {stream}")


def check_key(
    session: Session, strategy: TableStrategy, within: KeyRange | None = None, keyed: StreamPlan | None = None
) -> None:
    """Count duplicate and NULL keys of the table or of one range, unless the key is proven.

    Args:
        keyed: The plan by today's catalog; default: the strategy's own.

    Raises:
        UnsafeKey: There are some.
    """
    if (keyed or strategy.plan).key_is_proven:
        return
    found = session.one(strategy.key_problems(within))
    if int(found.keys_more_than_once) or int(found.keys_null):
        raise key_error(strategy.plan)


def check_null_keys(session: Session, strategy: TableStrategy, plan: StreamPlan) -> None:
    """Refuse rows whose key is NULL: they are in no range, so no poll of a range finds them.

    Raises:
        UnsafeKey: There are some.
    """
    if any(c.nullable for c in plan.key) and int(session.one(strategy.null_keys()).keys_null):
        raise key_error(plan)
