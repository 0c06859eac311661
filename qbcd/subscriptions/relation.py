"""The relation of a source that has subscriptions: its rows, read if changed; their status.

Each read begins with one digest of all rows; only if that differs from the last one are the rows read, in the same
transaction. So a poll with an unchanged relation costs one statement, whatever its size.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qbcd.catalog.source import Session, Source
from qbcd.config.fields import split_table
from qbcd.config.subscriptions import RelationConfig
from qbcd.errors import ConfigError, QbcdError
from qbcd.model import Column, StreamPlan, Table
from qbcd.sql.compile import compile_sql
from qbcd.sql.render import render

SESSION = "subscriptions"  # names the session in the source's own monitoring
NEEDED = ("id", "stream")
OPTIONAL = ("condition", "when", "ops", "columns", "active")
AT_ONCE = 500  # rows of one UPDATE
LONGEST_STATUS = 250  # characters


@dataclass(frozen=True)
class RelationRow:
    """A row of the relation: its values by the names that qbcd knows; NULL is None."""

    values: Mapping[str, Any]
    status: str | None

    @property
    def id(self) -> str:
        """The id as it is stored, with its blanks."""
        value = self.values.get("id")
        return "" if value is None else str(value)

    def text(self, name: str) -> str:
        """Return a value as a text, empty for NULL."""
        value = self.values.get(name)
        return "" if value is None else str(value).strip()

    def names(self, name: str) -> tuple[str, ...]:
        """Return a list of names: an array, its JSON, or a text with commas."""
        if self.values.get(name) is None:
            return ()
        text = self.text(name)
        if text.startswith("["):
            try:
                return tuple(str(one) for one in json.loads(text))
            except ValueError:
                return (text,)
        return tuple(one.strip() for one in text.split(",") if one.strip())

    @property
    def is_active(self) -> bool:
        """True without a column `active`, and for a true value in it."""
        if "active" not in self.values or self.values["active"] is True:
            return True
        return str(self.values["active"]).lower() in ("true", "t", "1", "y", "yes", "active", "on")


class SubscriptionRelation:
    """A relation with subscriptions.

    Args:
        place: ``file:line: key path`` of the table, for errors.
    """

    def __init__(self, source: Source, config: RelationConfig, place: str) -> None:
        self._source, self._config, self._place = source, config, place
        self._plan: StreamPlan | None = None
        self._digest: tuple[Any, ...] | None = None

    def changed_rows(self) -> list[RelationRow] | None:
        """Return all rows, or None if they are those of the last call.

        Raises:
            ConfigError: There is no such relation, or it lacks a column.
            QbcdError: The source failed.
        """
        try:
            with self._source.read(SESSION) as session:
                plan = self._plan or self._planned(session)
                counted = session.one(self._compiled("subscription_digest", plan))
                digest = (plan, *map(int, counted))
                if digest == self._digest:
                    return None
                if self._plan is not None:  # its columns may have changed too
                    plan = self._planned(session)
                    digest = (plan, *map(int, session.one(self._compiled("subscription_digest", plan))))
                rows = session.rows(self._compiled("subscription_rows", self._with_status(plan)))
        except QbcdError as error:
            self._plan = self._digest = None
            error.where = error.where or self._place
            raise
        self._plan, self._digest = plan, digest
        names = [column.name.lower() for column in plan.captured]
        return [
            RelationRow(dict(zip(names, row, strict=False)), row[-1] if self._config.status else None) for row in rows
        ]

    def write_status(self, status: Mapping[str, Sequence[str]]) -> None:
        """Write the status of rows; the ids are by status.

        Raises:
            QbcdError: The role may not write it, or the source failed.
        """
        plan = self._plan
        if self._config.status is None or plan is None or not status:
            return
        with self._source.write(SESSION) as session:
            for text, ids in status.items():
                for some in _chunks(list(ids)):
                    named = {f"id{i}": one for i, one in enumerate(some)}
                    sql = render(
                        "subscription_status",
                        table=plan.table,
                        status=self._config.status,
                        id=plan.key[0].name,
                        ids=list(named),
                    )
                    params = {"status": text[:LONGEST_STATUS], **named}
                    session.run(compile_sql(sql, self._source.connector, plan, params))

    def _compiled(self, template: str, plan: StreamPlan) -> Any:
        return compile_sql(render(template, table=plan.table, captured=plan.captured), self._source.connector, plan)

    def _planned(self, session: Session) -> StreamPlan:
        (table,) = self._source.connector.catalog.probe_tables(session.connection, [split_table(self._config.table)])
        if table is None:
            raise ConfigError(
                f"there is no table {self._config.table} with subscriptions, or the role may not see it",
                where=self._place,
                remedy="create it, or write its name as schema.table",
            )
        known = {column.name.lower(): column for column in table.columns}
        for name in (*NEEDED, *([self._config.status.lower()] if self._config.status else [])):
            if name not in known:
                raise ConfigError(
                    f"{table.label} has no column {name}",
                    where=self._place,
                    remedy=f"it needs {' and '.join(NEEDED)}, and may have {', '.join(OPTIONAL)}",
                )
        others = [known[name] for name in ("stream", *OPTIONAL) if name in known]
        return _plan(self._source.name, table, known["id"], others)

    def _with_status(self, plan: StreamPlan) -> StreamPlan:
        status = self._config.status
        if status is None:
            return plan
        column = next(one for one in plan.table.columns if one.name.lower() == status.lower())
        return _plan(plan.source, plan.table, plan.key[0], [*plan.columns, column])


def _plan(source: str, table: Table, key: Column, columns: Iterable[Column]) -> StreamPlan:
    return StreamPlan(SESSION, source, table, (key,), tuple(columns), "", SESSION)


def _chunks(items: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(items), AT_ONCE):
        yield items[start : start + AT_ONCE]
