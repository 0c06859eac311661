"""Values that a sink cannot hold.

They are found in the outbox, and refused before their batch is committed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from qbcd.catalog.source import Session
from qbcd.errors import UnsupportedType
from qbcd.model import Statement
from qbcd.model.value_limits import words_of_text
from qbcd.sites.checkpoint import new_header
from qbcd.sites.database.open_batch import staged_batch
from qbcd.sites.database.poll import DatabasePoll
from qbcd.sites.doubts import Doubt, doubts_of
from qbcd.sites.refusals import FoundValue, key_shown, untravelled_error, value_error
from qbcd.strategies import OutboxSlice


def check_travels(poll: DatabasePoll, session: Session, part: OutboxSlice) -> None:
    """Refuse values that a typed sink cannot hold.

    Raises:
        UnsupportedType: Names column, key, value and remedy.
    """
    if not poll.settings.typed:
        return
    flags = session.one(poll.strategy.untravelled(part, old=poll.settings.judges_old))
    keys = len(poll.plan.key)
    positions = poll.settings.judged([i for i, flag in enumerate(flags) if flag], keys)
    if positions:
        found = _first_text(poll, session, part, positions[0])
        raise untravelled_error(poll.plan, poll.settings, positions, found)


def check_limits(poll: DatabasePoll, session: Session, part: OutboxSlice) -> None:
    """Refuse other values that a sink cannot hold.

    Raises:
        UnsupportedType: Names column, key, value and remedy.
    """
    expressions = poll.context.source.connector.expressions
    conditions: list[tuple[Doubt, str, str]] = []
    for doubt in doubts_of(poll.plan, poll.settings):
        for name in doubt.fields:
            value = f"q.{name}"
            if condition := expressions.is_of_class(doubt.kind, doubt.travel, value, doubt.longest):
                conditions.append((doubt, name, condition))
    if not conditions:
        return
    rows = _rows(poll, session, part)
    counts = ", ".join(
        f"count(CASE WHEN {condition} THEN 1 END) AS n{n}" for n, (*_, condition) in enumerate(conditions)
    )
    numbers = session.one(f"SELECT {counts} {rows}")
    for number, (doubt, name, condition) in zip(numbers, conditions, strict=True):
        if number:
            found = session.rows(f"SELECT {_keys(poll)} {rows} AND {condition} ORDER BY q.ordinal LIMIT 1")
            raise _error(poll, doubt, name, found[0])


def _error(poll: DatabasePoll, doubt: Doubt, name: str, row: Any) -> UnsupportedType:
    key = key_shown(poll.plan, row[: len(poll.plan.key)])
    found = FoundValue(doubt.position, doubt.words, key, name.startswith("b"), doubt.sink)
    return value_error(poll.plan, poll.settings, found)


def _first_text(poll: DatabasePoll, session: Session, part: OutboxSlice, position: int) -> FoundValue | None:
    """Return the first value of a column that the column's type does not have.

    Return None if there is none, or if there are no words for it.
    """
    travel, keys = poll.plan.captured[position].travel, len(poll.plan.key)
    query = f"SELECT {_keys(poll)}, q.a_{position}, q.b_{position} {_rows(poll, session, part)} ORDER BY q.ordinal"
    result = session.streamed(Statement(query))
    try:
        for row in map(tuple, result):
            for text, old in ((row[-2], False), (row[-1], True))[: 1 + poll.settings.judges_old]:
                if text is not None and (words := words_of_text(travel, str(text))):
                    return FoundValue(position, words, key_shown(poll.plan, row[:keys]), old)
    finally:
        result.close()
    return None


def _keys(poll: DatabasePoll) -> str:
    """Return the columns of the key of an event, or a constant."""
    return ", ".join(f"coalesce(q.a_{i}, q.b_{i})" for i in range(len(poll.plan.key))) or "1"


def _rows(poll: DatabasePoll, session: Session, part: OutboxSlice) -> str:
    """Return the FROM and WHERE of the events of a step, in wire form."""
    header = new_header(poll, epoch=part.epoch, ts_ms=0, counts={}, consistency=poll.strategy.consistency)
    rows = staged_batch(poll.context, session, replace(header, seq=part.seq)).rows()
    return f"FROM (\n{rows}\n) AS q WHERE q.ordinal >= {part.first:d}"
