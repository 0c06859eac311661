"""Processor time of this Python, its Java, and the server with all its backends.

Elapsed time depends on other processes of the machine; processor time depends much less on them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import seconds
from benchmarks.places import Place

_TICK = os.sysconf("SC_CLK_TCK")
_PARENT, _TIMES = 1, slice(11, 15)  # fields of /proc/N/stat after the name: utime, stime, and those of ended children


class Spent(NamedTuple):
    """Elapsed seconds, and seconds of processors."""

    clock: float
    processor: float


class Processor:
    """A measurement of this process, its children, and the server of `place`; Linux only.

    Args:
        place: The place.
        own: This process and its children are measured too.
    """

    def __init__(self, place: Place, *, own: bool = True) -> None:
        self._roots = {place.process(), *([os.getpid()] if own else [])}

    def spent(self, action: Callable[[], object]) -> Spent:
        """Measure one call."""
        before = self._total()
        clock = seconds(action)
        return Spent(clock, self._total() - before)

    def _total(self) -> float:
        """Return the seconds of all processes below the roots so far."""
        stats = {int(p.name): s for p in Path("/proc").iterdir() if p.name.isdecimal() and (s := _fields(p))}
        found, ticks = set(self._roots), 0
        while more := {pid for pid, s in stats.items() if int(s[_PARENT]) in found} - found:
            found |= more
        for pid in found & stats.keys():
            ticks += sum(map(int, stats[pid][_TIMES]))
        return ticks / _TICK


def _fields(process: Path) -> list[str]:
    """Return the fields of a process's stat after its name; empty if it has ended."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
