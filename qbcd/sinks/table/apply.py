"""A batch that is to be applied to a table, and the statements that apply it.

The statements are SQLAlchemy Core, built without a connection.

A batch is a set: at most one row for each key. `mirror` and `history` build the statements of their modes from those
here. Each statement names the staging table once, since MySQL cannot open a temporary table twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Select,
    TableClause,
    and_,
    delete,
    exists,
    false,
    insert,
    literal,
    null,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.base import Executable
from sqlalchemy.sql.elements import ClauseElement, ColumnElement

from qbcd.sinks.table.databases.base import TargetDatabase
from qbcd.sinks.table.layout import STAGE_ONLY_REMOVE, STAGE_OP, Layout
from qbcd.sinks.table.options import TableOptions

NOT_ADDED = ("d", STAGE_ONLY_REMOVE)


@dataclass(frozen=True)
class Application:
    """A batch that is to be applied.

    Attributes:
        target: The target table, for SQLAlchemy Core.
        stage: The staged rows, with the columns of `Layout.staged`.
        renamed: Keys that are spelled differently now, the old one in `old0`.. and the new one in `new0`..; None
            without any.
        counts: The number of staged rows with each operation.
        replace: The batch is the whole state: rows that it does not have are deleted.
        boundary: Of a history: the instant at which the batch's versions begin, as the database takes it.
    """

    database: TargetDatabase
    layout: Layout
    options: TableOptions
    target: TableClause
    stage: TableClause
    renamed: TableClause | None
    counts: Counter[str]
    replace: bool
    boundary: datetime | str
    seq: int

    @property
    def op(self) -> ColumnElement[Any]:
        """The staged operation."""
        return self.stage.c[STAGE_OP]

    @property
    def is_row(self) -> ColumnElement[bool]:
        """The condition that a staged row is a row of the source after the batch."""
        return self.op.not_in(NOT_ADDED)

    def same_key(self) -> ColumnElement[bool]:
        """Return the condition that a row of the target and a staged one have the same key."""
        equal = [self.target.c[name] == self.stage.c[name] for name in self.layout.key]
        return and_(*equal) if equal else self.op.is_not(None)  # a result of one row

    def differs(self, names: Iterable[str]) -> ColumnElement[bool]:
        """Return the condition that columns of the target have other values than the staged ones."""
        forms = dict(self.layout.staged)
        found = [self.database.differs(self.target.c[name], self.stage.c[name], forms[name]) for name in names]
        return or_(*found) if found else false()

    def staged_row_exists(self) -> ColumnElement[bool]:
        """Return the condition that a row of the target is a row of the source after the batch."""
        return exists(select(self.op).where(self.same_key(), self.is_row).correlate(self.target))


def deleted(one: Application, *conditions: ColumnElement[bool]) -> Executable:
    """Return the DELETE of the target's rows with a staged key.

    It finds them by the target's index.
    """
    if one.database.joins_in_delete:
        return delete(one.target).where(one.same_key(), *conditions)
    staged = [one.stage.c[name] for name in one.layout.key]
    if not staged:
        return delete(one.target).where(exists(select(one.op).where(*conditions)))
    listed = select(*staged).where(*conditions)
    return delete(one.target).where(tuple_(*(one.target.c[name] for name in one.layout.key)).in_(listed))


def not_staged_deleted(one: Application) -> Executable:
    """Return the DELETE of the target's rows that are not in the batch."""
    return delete(one.target).where(~one.staged_row_exists())


def unstaged(one: Application, *conditions: ColumnElement[bool]) -> Executable:
    """Return the DELETE of staged rows that meet conditions with a row of the target."""
    if one.database.joins_in_delete:
        return delete(one.stage).where(*conditions)
    return delete(one.stage).where(
        exists(select(literal(1)).select_from(one.target).where(*conditions).correlate(one.stage))
    )


def updated(one: Application, names: Sequence[str], *conditions: ColumnElement[bool]) -> Executable:
    """Return the UPDATE of columns of the target by the staged rows that meet conditions."""
    values = {name: one.stage.c[name] for name in names}
    return update(one.target).values(values).where(one.same_key(), one.is_row, *conditions)


def inserted(
    one: Application,
    *conditions: ColumnElement[bool],
    facts: Mapping[str, Any] | None = None,
    blank: Iterable[str] = (),
) -> Executable:
    """Return the INSERT of staged rows that meet conditions.

    Args:
        conditions: Conditions of staged rows, in addition to that of being rows after the batch.
        facts: Values of columns that are not staged.
        blank: Columns that are NULL at first.
    """
    names, more = (*one.layout.key, *one.layout.values), dict(facts or {})
    empty = frozenset(blank)
    chosen = [null().label(name) if name in empty else one.stage.c[name] for name in names]
    rows = one.database.selected_for_insert([*chosen, *more.values()])
    return insert(one.target).from_select([*names, *more], rows.where(one.is_row, *conditions))


def not_there(one: Application) -> ColumnElement[bool]:
    """Return the condition that the target has no row with the key of a staged one."""
    return ~exists(select(literal(1)).select_from(one.target).where(one.same_key()).correlate(one.stage))


class CreatedAs(Executable, ClauseElement):
    """A temporary table with the columns and rows of a query.

    It has a key as `TargetDatabase.stage_key`.
    """

    inherit_cache = False

    def __init__(self, made: TableClause, query: Select[Any], key: str = "") -> None:
        self.made, self.query, self.key = made, query, key


@compiles(CreatedAs)
def _created_as(element: CreatedAs, compiler: Any, **options: Any) -> str:
    made = compiler.process(element.made, asfrom=True, **options)
    query = compiler.process(element.query, **options)
    return f"CREATE TEMPORARY TABLE {made} {f'({element.key}) ' if element.key else ''}AS {query}"


def all_are_new(counts: Sequence[tuple[str, int]]) -> bool:
    """Return True if a batch has only rows that are inserted."""
    return all(op in ("c", "r") or not count for op, count in counts)
