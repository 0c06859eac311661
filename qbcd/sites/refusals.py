"""Errors that several polls raise: unsafe keys, values beyond typed sinks, no baseline."""

from __future__ import annotations

from qbcd.catalog.source import Session
from qbcd.errors import NotPrepared, QbcdError, UnsafeKey, UnsupportedType
from qbcd.model import KeyRange, StreamPlan
from qbcd.sites.values import Settings
from qbcd.strategies import TableStrategy


def untravelled_error(plan: StreamPlan, settings: Settings, positions: list[int]) -> QbcdError:
    """Return the refusal of a value that no typed sink, configured or removed, can hold."""
    column = plan.captured[positions[0]].name
    if settings.typed_for and not set(settings.typed_for) & set(settings.sinks):
        away = settings.typed_for[0]
        return UnsupportedType(
            f"column {column!r} holds a value that a typed sink cannot hold, and sink {away}, which is no longer "
            "configured, may be one and may be added again",
            stream=plan.stream,
            remedy=f"qbcd retire {plan.stream} {away}",
        )
    return UnsupportedType(
        f"column {column!r} holds a value that a typed sink cannot hold (infinite or far dates, NaN in a decimal, "
        "arrays that are not one-dimensional)",
        stream=plan.stream,
        remedy=f"set  types: {{{column}: text}}  for this table, then qbcd reset {plan.stream}",
    )


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
