"""Leaves asked for however small the tables of tests are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import qbcd
from qbcd import traces
from qbcd.sites import leaves, looking

if TYPE_CHECKING:
    import pytest

# Of :mod:`qbcd.sites.leaves`: every poll that found something asks for them from then on, and goes by them.
FORCED = {"LEAST_ROWS": 0, "LEAST_SHARE": 0, "LEAST_IN_LEAF": 0, "MOST_SHARE": 1}
TRACED = {"DEAREST": 100, "USELESS": 100}  # of :mod:`qbcd.traces`: rows are traced, whatever that costs


def force(monkeypatch: pytest.MonkeyPatch, *, traced: bool = True) -> list[bool]:
    """Has leaves asked for, and rows traced; gives for each look that had some remembered whether it went by them."""
    looks: list[bool] = []
    restricted = leaves.restricted

    def watched(*args: Any) -> looking.Look:
        found = restricted(*args)
        looks.append(found.in_leaves)
        return found

    for name, value in FORCED.items():
        monkeypatch.setattr(leaves, name, value)
    for name, value in TRACED.items() if traced else ():
        monkeypatch.setattr(traces, name, value)
    monkeypatch.setattr(leaves, "restricted", watched)
    return looks


def remembered(project: qbcd.Project, stream: str) -> dict[str, Any] | None:
    """What the checkpoint says of leaves."""
    row = project.work(stream).site.row()
    assert row is not None
    return row.checkpoint.get(leaves.NOTED)
