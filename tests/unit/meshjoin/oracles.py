"""Oracles of the papers: joins by nested loops, and the best plan of shedding for a stream that is known in advance."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cache


def index_nested_loop(
    events: Iterable[Hashable], pages: Sequence[Sequence[tuple[Hashable, object]]]
) -> list[tuple[Hashable, list[object]]]:
    """INL: one search of the whole relation for each event. An event of None has no partner."""
    rows = [row for page in pages for row in page]
    return [(event, [value for key, value in rows if event is not None and key == event]) for event in events]


def opt_offline_shed(frequencies: Sequence[int], window: int, loop: int) -> int:
    """OptOfflineShed: the least loss of results if the whole stream is known (M5, M6 corrected)."""
    count = len(frequencies)

    @cache
    def loss(event: int, until: int, held: int) -> int:
        if event >= count:
            return 0
        if held < window:
            return min(loss(event + 1, until, held + 1), loss(event + 1, until, held) + frequencies[event])
        if event < until:
            return loss(event + 1, until, window) + frequencies[event]
        return loss(event, min(event + loop, count + 1), 0)

    return loss(0, 0, 0)
