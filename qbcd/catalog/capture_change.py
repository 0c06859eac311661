"""Changes of the captured definition, and the parts of the old one that can still be read.

A changed set of columns or another restriction is a poll, not a new baseline (docs/design/protocol.md#rule-16).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from qbcd.model import Column, StreamPlan, Table, travel_from_json

FREE = ("columns", "exclude", "where")  # settings of a plan that may change between two polls


@dataclass(frozen=True)
class Change:
    """The difference between the columns and restriction of the last step and those of the plan.

    Attributes:
        added: Columns that are captured from now on.
        dropped: Columns that are no longer captured.
        where: The restriction changed.
    """

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    where: bool = False

    def __bool__(self) -> bool:
        return self.columns or self.where

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
        ]
        return "; ".join(part for part in parts if part)


def _columns(names: tuple[str, ...]) -> str:
    return f"{'column' if len(names) == 1 else 'columns'} {', '.join(names)} {'is' if len(names) == 1 else 'are'}"


def change_of(checkpoint: Mapping[str, Any], plan: StreamPlan) -> Change:
    """Return how `plan` differs from the stream that left `checkpoint`."""
    shape = checkpoint["shape"]
    then, now = [c[0] for c in shape["columns"]], [c.name for c in plan.captured]
    return Change(
        tuple(name for name in now if name not in then),
        tuple(name for name in then if name not in now),
        shape["where"] != plan.where,
    )


def columns_changed(requested: Mapping[str, Any], checkpoint: Mapping[str, Any]) -> bool:
    """Return True if the user requests other columns than at the last step."""
    then = checkpoint.get("requested", {})
    return any(requested.get(name) != then.get(name) for name in ("columns", "exclude"))


def plan_before(checkpoint: Mapping[str, Any], plan: StreamPlan) -> StreamPlan:
    """Return the plan of the last write to the replica, with the names and travel types to read it."""
    return replace(plan, columns=columns_at(checkpoint)[len(plan.key) :])


def columns_at(checkpoint: Mapping[str, Any]) -> tuple[Column, ...]:
    """Return the columns that were captured at the last step, key first, as far as the checkpoint describes them."""
    return tuple(
        Column(name, sql_type, "", True, collation, comparison, travel_from_json(travel))
        for name, sql_type, collation, comparison, travel in checkpoint["shape"]["columns"]
    )


def columns_before(checkpoint: Mapping[str, Any], plan: StreamPlan) -> tuple[Column, ...] | None:
    """Return the columns for which the source can compute the replica's digests.

    Return None if one was dropped or changed.

    Args:
        checkpoint: The stream's.
        plan: By today's catalog.
    """
    known = {c.name: c for c in (*plan.table.columns, *plan.captured)}
    encodings = checkpoint["shape"].get("encoding", {})
    found = []
    for name, sql_type, collation, comparison, travel in checkpoint["shape"]["columns"]:
        now = known.get(name)
        if now is None or [now.sql_type, now.collation, now.comparison, asdict(now.travel)] != [
            sql_type,
            collation,
            comparison,
            travel,
        ]:
            return None
        if now.encoding != encodings.get(name, now.encoding):
            return None
        found.append(now)
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
