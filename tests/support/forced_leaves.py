"""Switches that let polls use leaf checksums even of small tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import qbcd
from qbcd.api import parts_of
from qbcd.model.checkpoint import Entry
from qbcd.ranges import key_recovery
from qbcd.ranges.row_selection import is_by_key
from qbcd.sites.lake import fetch_plan
from qbcd.sites.lake.fetch import leaf_checksums

if TYPE_CHECKING:
    import pytest

# Of :mod:`qbcd.sites.lake.fetch.leaf_checksums`: after a poll that found something, every poll reads leaf checksums and
# restricts the fetch to dirty leaves.
FORCED = {"LEAST_ROWS": 0, "LEAST_SHARE": 0, "LEAST_IN_LEAF": 0, "MOST_SHARE": 1}
TRACED = {"DEAREST": 100, "USELESS": 100}  # of :mod:`qbcd.ranges.key_recovery`: keys are recovered at any cost


def force(monkeypatch: pytest.MonkeyPatch, *, traced: bool = True) -> list[bool]:
    """Use leaf checksums, and key recovery if `traced`.

    Return a list with one entry per fetch plan for which leaves were remembered: True if the plan was restricted to
    dirty leaves.
    """
    in_leaves: list[bool] = []
    restricted = leaf_checksums.restrict_to_dirty_leaves

    def watched(*args: Any) -> fetch_plan.FetchPlan:
        found = restricted(*args)
        in_leaves.append(found.in_leaves)
        return found

    for name, value in FORCED.items():
        monkeypatch.setattr(leaf_checksums, name, value)
    for name, value in TRACED.items() if traced else ():
        monkeypatch.setattr(key_recovery, name, value)
    monkeypatch.setattr(leaf_checksums, "restrict_to_dirty_leaves", watched)
    return in_leaves


def looks_up(plan: fetch_plan.FetchPlan) -> bool:
    """Return True if rows of some ranges are looked up by key."""
    return any(is_by_key(one) for one in plan.asked)


def remembered(project: qbcd.Project, stream: str) -> dict[str, Any] | None:
    """Return the entry of the checkpoint about leaves, or None."""
    row = parts_of(project).open_stream(stream).site.context.row()
    assert row is not None
    return row.checkpoint.get(Entry.LEAVES)
