"""The statements that apply a batch to a table, as SQLAlchemy Core: no dialect, no connection.

A batch is a set: the statements remove the old rows of its keys first and add the new rows then, so that two rows may
swap a unique value. Each statement names the staging table once, since MySQL cannot open a temporary table twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import FromClause, and_, delete, exists, false, insert, literal, select, true, tuple_, update
from sqlalchemy.sql.base import Executable
from sqlalchemy.sql.elements import ColumnElement

from qbcd.sinks.table.layout import STAGE_ONLY_REMOVE, STAGE_OP, Layout
from qbcd.sinks.table.options import SOFT_DELETED, TableOptions

NOT_ADDED = ("d", STAGE_ONLY_REMOVE)


@dataclass(frozen=True)
class Application:
    """A batch that is to be applied.

    Attributes:
        target: The target table, for SQLAlchemy Core.
        stage: The staged rows, with the columns of `Layout.staged`.
        replace: The batch is the whole state: rows that it does not have are deleted.
        boundary: Of a history: the instant at which the batch's versions begin, as the database takes it.
        seq: The batch's number.
        joins_in_delete: A DELETE can join another table.
    """

    layout: Layout
    options: TableOptions
    target: Any
    stage: Any
    replace: bool
    boundary: datetime | str
    seq: int
    joins_in_delete: bool = True


def statements(one: Application) -> list[Executable]:
    """Return the statements, in order; a log has none, since its rows are inserted as they are."""
    if one.options.mode == "log":
        return []
    if one.options.mode == "scd2":
        return _history(one)
    return _soft(one) if one.options.deletes == "soft" else _hard(one)


def _hard(one: Application) -> list[Executable]:
    everything = delete(one.target) if one.replace else None
    removed = None if one.replace else _removed(one)
    return [step for step in (everything, removed, _added(one)) if step is not None]


def _soft(one: Application) -> list[Executable]:
    flagged = update(one.target).values({SOFT_DELETED: true()})
    missing = [flagged.where(one.target.c[SOFT_DELETED] == false())] if one.replace else []
    return [
        *missing,
        _removed(one, one.stage.c[STAGE_OP] != "d"),
        flagged.where(_same_key(one), one.stage.c[STAGE_OP] == "d"),
        _added(one, {SOFT_DELETED: false()}),
    ]


def _history(one: Application) -> list[Executable]:
    """Close the current version of each key, and open a new one; an unchanged version stays open."""
    names, columns, op = one.options.history, one.target.c, one.stage.c[STAGE_OP]
    current = columns[names.valid_to].is_(None)
    equal = [columns[name].is_not_distinct_from(one.stage.c[name]) for name in one.layout.values]
    closed = {names.valid_to: literal(one.boundary), names.is_deleted: true()}
    listed = exists(select(op).where(_same_key(one), op.not_in(NOT_ADDED)).correlate(one.target))
    missing = [update(one.target).where(current, ~listed).values(closed)] if one.replace else []
    return [
        *missing,
        _unchanged(one, _same_key(one), current, op.not_in(NOT_ADDED), *equal),
        update(one.target).where(_same_key(one), current).values({**closed, names.is_deleted: op == "d"}),
        _added(
            one, {names.valid_from: literal(one.boundary), names.is_deleted: false(), names.batch_seq: literal(one.seq)}
        ),
    ]


def _removed(one: Application, *conditions: ColumnElement[bool]) -> Executable:
    """Return the DELETE of the target's rows with a staged key; it finds them by the target's index."""
    if one.joins_in_delete:
        return delete(one.target).where(_same_key(one), *conditions)
    staged = [one.stage.c[name] for name in one.layout.key]
    if not staged:
        return delete(one.target).where(exists(select(one.stage.c[STAGE_OP]).where(*conditions)))
    listed = select(*staged).where(*conditions)
    return delete(one.target).where(tuple_(*(one.target.c[name] for name in one.layout.key)).in_(listed))


def _unchanged(one: Application, *conditions: ColumnElement[bool]) -> Executable:
    """Return the DELETE of staged rows that meet conditions with a row of the target."""
    if one.joins_in_delete:
        return delete(one.stage).where(*conditions)
    return delete(one.stage).where(
        exists(select(literal(1)).select_from(one.target).where(*conditions).correlate(one.stage))
    )


def _same_key(one: Application) -> ColumnElement[bool]:
    """Return the condition that a row of the target and a staged one have the same key."""
    equal = [one.target.c[name] == one.stage.c[name] for name in one.layout.key]
    return and_(*equal) if equal else one.stage.c[STAGE_OP].is_not(None)  # a result of one row


def _added(one: Application, facts: dict[str, Any] | None = None) -> Executable:
    names = (*one.layout.key, *one.layout.values)
    stage: FromClause = one.stage
    rows = select(*(stage.c[name] for name in names), *(facts or {}).values())
    return insert(one.target).from_select([*names, *(facts or {})], rows.where(stage.c[STAGE_OP].not_in(NOT_ADDED)))


def all_are_new(counts: Sequence[tuple[str, int]]) -> bool:
    """Return True if a batch has only rows that are inserted."""
    return all(op in ("c", "r") or not count for op, count in counts)
