"""Changes of the captured definition, and the parts of the old one that can still be read.

A changed set of columns or another restriction is a poll, not a new baseline (docs/design/protocol.md#rule-16).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from qbcd.catalog.source import Source
from qbcd.model import Column, StreamPlan, Table, travel_from_json

FREE = ("columns", "exclude", "where")  # settings of a plan that may change between two polls


@dataclass(frozen=True)
class Change:
    """The difference between the columns and restriction of the last step and those of the plan.

    Attributes:
        added: Columns that are captured from now on.
        dropped: Columns that are no longer captured.
        where: The restriction changed.
        retyped: Columns whose type in the source changed: name, old type, type of now. `check_shape` refuses those of
            which values, digests or texts may be other ones; those that are left were widened.
    """

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    where: bool = False
    retyped: tuple[tuple[str, str, str], ...] = ()

    def __bool__(self) -> bool:
        return self.columns or self.where or bool(self.retyped)

    @property
    def columns(self) -> bool:
        """True if other columns are captured than before."""
        return bool(self.added or self.dropped)

    def describe(self) -> str:
        """Return the change in words, for messages."""
        parts = [
            f"{_columns(self.added)} captured from now on" if self.added else "",
            f"{_columns(self.dropped)} no longer captured" if self.dropped else "",
            "the restriction changed" if self.where else "",
            _wider(self.retyped),
        ]
        return "; ".join(part for part in parts if part)


def _columns(names: tuple[str, ...]) -> str:
    return f"{'column' if len(names) == 1 else 'columns'} {', '.join(names)} {'is' if len(names) == 1 else 'are'}"


def _wider(retyped: tuple[tuple[str, str, str], ...]) -> str:
    each = ", ".join(f"{name} from {was} to {now}" for name, was, now in retyped)
    return f"wider {'type' if len(retyped) == 1 else 'types'} in the source: {each}" if retyped else ""


def change_of(checkpoint: Mapping[str, Any], plan: StreamPlan) -> Change:
    """Return how `plan` differs from the stream that left `checkpoint`."""
    shape = checkpoint["shape"]
    then, now = {c[0]: c[1] for c in shape["columns"]}, {c.name: c.sql_type for c in plan.captured}
    return Change(
        tuple(name for name in now if name not in then),
        tuple(name for name in then if name not in now),
        shape["where"] != plan.where,
        tuple((name, then[name], kind) for name, kind in now.items() if kind != then.get(name, kind)),
    )


def digested_as(source: Source, shape: Mapping[str, Any], column: Column) -> Column:
    """Return a column of today with its earlier digests, also if it was widened since.

    See `qbcd.connectors.catalog.Catalog.widened`.
    """
    fact = shape.get("digested", {}).get(column.name, "")
    for name, sql_type, collation, *_ in shape.get("columns", ()):
        if name == column.name and (sql_type, collation) != (column.sql_type, column.collation):
            fact = fact or is_widened(source, shape, column) or ""
    return column.with_fact("digested", fact) if fact else column


def is_widened(source: Source, shape: Mapping[str, Any], now: Column) -> str | None:
    """Return the `digested` fact of a column whose type changed; None if values may differ."""
    then = next(one for one in shape["columns"] if one[0] == now.name)
    _, sql_type, collation, comparison, _ = then
    _, _, loose = shape.get("encoding", {}).get(now.name, "").partition(" ")
    if (collation, comparison, loose) != (now.collation, now.comparison, now.fact("loose")):
        return None
    return source.connector.catalog.widened(sql_type, now)


def columns_changed(requested: Mapping[str, Any], checkpoint: Mapping[str, Any]) -> bool:
    """Return True if the user requests other columns than at the last step."""
    then = checkpoint.get("requested", {})
    return any(requested.get(name) != then.get(name) for name in ("columns", "exclude"))


def plan_before(checkpoint: Mapping[str, Any], plan: StreamPlan) -> StreamPlan:
    """Return the plan of the last write to the replica, with names and types to read it.

    A widened column is read by the type that it has now.
    """
    captured = {c.name: c for c in plan.captured}
    columns = tuple(captured.get(c.name, c) for c in columns_at(checkpoint))
    return replace(plan, columns=columns[len(plan.key) :])


def columns_at(checkpoint: Mapping[str, Any]) -> tuple[Column, ...]:
    """Return the columns of the last step, key first, as far as the checkpoint describes them."""
    return tuple(
        Column(name, sql_type, "", True, collation, comparison, travel_from_json(travel))
        for name, sql_type, collation, comparison, travel in checkpoint["shape"]["columns"]
    )


def columns_before(source: Source, checkpoint: Mapping[str, Any], plan: StreamPlan) -> tuple[Column, ...] | None:
    """Return the columns for which the source can compute the replica's digests.

    Return None if one was dropped or changed, unless it was widened.

    Args:
        plan: By today's catalog.
    """
    known = {c.name: c for c in (*plan.table.columns, *plan.captured)}
    shape = checkpoint["shape"]
    encodings = shape.get("encoding", {})
    found = []
    for name, sql_type, collation, comparison, travel in shape["columns"]:
        now = known.get(name)
        if now is None:
            return None
        then = [sql_type, collation, comparison, travel, encodings.get(name, now.encoding)]
        same = [now.sql_type, now.collation, now.comparison, now.travel.to_json(), now.encoding] == then
        if not same and (now.sql_type == sql_type or is_widened(source, shape, now) is None):
            return None
        found.append(digested_as(source, shape, now))
    return tuple(found)


def as_planned(table: Table, plan: StreamPlan, name: str) -> bool:
    """Return True if column `name` of `table` is as the plan expects it."""
    now = table.column(name)
    wanted = next(c for c in plan.captured if c.name == name)
    return now is not None and (now.sql_type, now.collation, now.encoding) == (
        wanted.sql_type,
        wanted.collation,
        wanted.encoding,
    )
