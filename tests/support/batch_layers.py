"""Switches that let batches lie on the replica instead of becoming its segments."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from qbcd.sites.lake import compaction

ALWAYS = {
    "qbcd.sites.lake.compaction.TAKEN_SEGMENTS": 0
}  # for a process of its own: batches lie on the replica until they are folded in


def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches lie on the replica until they are folded in."""
    monkeypatch.setattr(compaction, "TAKEN_SEGMENTS", 0)


def at_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other batch that need not do so lies on the replica."""
    may_become_segment, calls = compaction.may_become_segment, itertools.count()

    def every_other(*args: Any) -> bool:
        return bool(next(calls) % 2) and may_become_segment(*args)

    monkeypatch.setattr(compaction, "may_become_segment", every_other)
