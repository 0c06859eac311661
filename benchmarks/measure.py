"""Timing and tables of results; actions are measured in turns within one run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Options:
    """Options of the command line; a comparison uses `rows`, often `repeats`, and its `OPTIONS`."""

    rows: int
    repeats: int = 5
    polls: int = 20
    keys: str = "bigint"
    changes: str = ""
    warm: int = 2
    columns: int = 0
    tables: int = 300
    delay: int = 0
    rounds: int = 0
    engine: str = "auto"
    plot: str = ""
    without: str = ""
    targets: str = "server"
    against: str = ""
    peers: str = ""


@dataclass
class Table:
    """Rows of a Markdown table, and the measured versions."""

    heading: tuple[str, ...]
    versions: str
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def markdown(self) -> str:
        """Return the table as Markdown."""
        lines = [" | ".join(self.heading), " | ".join("---" for _ in self.heading)]
        lines += [" | ".join(row) for row in self.rows]
        return "\n".join(f"| {line} |" for line in lines)


def seconds(action: Callable[[], object]) -> float:
    """Return the seconds of one call."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def in_turns(actions: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return each action's median seconds; they alternate, so that a slow phase affects all."""
    measured: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(repeats):
        for name, action in actions.items():
            measured[name].append(seconds(action))
    return {name: statistics.median(values) for name, values in measured.items()}
