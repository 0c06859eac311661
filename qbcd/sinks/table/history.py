"""The statements that apply a batch to a history (SCD 2)."""

from __future__ import annotations

from sqlalchemy import false, literal, true, update
from sqlalchemy.sql.base import Executable

from qbcd.sinks.table.apply import Application, inserted, unstaged


def history_steps(one: Application) -> list[Executable]:
    """Close the current version of each key, and open a new one.

    An unchanged version stays open.
    """
    names, columns = one.options.history, one.target.c
    current = columns[names.valid_to].is_(None)
    equal = [columns[name].is_not_distinct_from(one.stage.c[name]) for name in one.layout.values]
    closed = {names.valid_to: literal(one.boundary), names.is_deleted: true()}
    missing = [update(one.target).where(current, ~one.staged_row_exists()).values(closed)] if one.replace else []
    opened = {names.valid_from: literal(one.boundary), names.is_deleted: false(), names.batch_seq: literal(one.seq)}
    return [
        *missing,
        unstaged(one, one.same_key(), current, one.is_row, *equal),
        update(one.target).where(one.same_key(), current).values({**closed, names.is_deleted: one.op == "d"}),
        inserted(one, facts=opened),
    ]
