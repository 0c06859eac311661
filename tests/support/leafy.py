"""Leaves asked for however small the tables of tests are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import qbcd
from qbcd.sites import leaves, looking

if TYPE_CHECKING:
    import pytest

# Of :mod:`qbcd.sites.leaves`: every poll that found something asks for them from then on, and goes by them.
FORCED = {"LEAST_ROWS": 0, "LEAST_SHARE": 0, "LEAST_IN_LEAF": 0, "MOST_SHARE": 1}


def force(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Has leaves asked for; gives for each look that had some remembered whether it went by them."""
    looks: list[bool] = []
    restricted = leaves.restricted

    def watched(*args: Any) -> looking.Look:
        found = restricted(*args)
        looks.append(found.in_leaves)
        return found

    for name, value in FORCED.items():
        monkeypatch.setattr(leaves, name, value)
    monkeypatch.setattr(leaves, "restricted", watched)
    return looks


def remembered(project: qbcd.Project, stream: str) -> dict[str, Any] | None:
    """What the checkpoint says of leaves."""
    row = project.work(stream).site.row()
    assert row is not None
    return row.checkpoint.get(leaves.NOTED)
