"""Switches that keep batches as layers on a lake replica instead of making segments."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from qbcd.sites.lake import compaction

ALWAYS = {
    "qbcd.sites.lake.compaction.TAKEN_SEGMENTS": 0
}  # for a process of its own: batches stay layers until compaction


def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every batch as a layer until compaction."""
    monkeypatch.setattr(compaction, "TAKEN_SEGMENTS", 0)


def at_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every other batch as a layer, unless it has to stay one anyway."""
    may_become_segment, calls = compaction.may_become_segment, itertools.count()

    def every_other(*args: Any) -> bool:
        return bool(next(calls) % 2) and may_become_segment(*args)

    monkeypatch.setattr(compaction, "may_become_segment", every_other)
