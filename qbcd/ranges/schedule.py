"""Schedule of range visits: hot ranges first, the others in rotation (paper, section 3.4).

It selects the ranges of a poll and of its steps. Each visit multiplies a range's heat by `COOLING` and adds the
logarithm of the number of changes found. Nothing here opens a connection or reads a clock.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any, TypeVar

from qbcd.model import KeyRange

COOLING = 0.7  # factor of a range's heat per visit
COLD = 0.05  # a range with less heat is cold: about nine visits after a single change
HOT_SHARE = 0.75  # most hot ranges of a poll, as a share, so that the rotation always advances
GROWTH = 2.0  # largest factor between the sizes of two consecutive steps

Range = TypeVar("Range", bound=KeyRange)


@dataclass(frozen=True)
class Pass:
    """One full rotation over all ranges, as stored in the checkpoint.

    Attributes:
        began: Seconds of the store's clock; a range visited since then is done in this pass.
        rows: Rows of the replica when the pass began; the guard compares deletes with them
            (docs/design/protocol.md#rule-17).
        deletes: Deletes found in the pass so far.
        accepted: Deletes in the pass that the user accepted.
        heat: Heat by range id; cold ranges are not listed.
    """

    began: float = 0.0
    rows: int = 0
    deletes: int = 0
    accepted: int = 0
    heat: Mapping[int, float] = field(default_factory=dict)

    @staticmethod
    def from_checkpoint(data: Mapping[str, Any] | None) -> Pass:
        """Read a pass from the checkpoint's JSON; if there is none, return one that has not begun."""
        if not data:
            return Pass()
        heat = {int(name): float(value) for name, value in data.get("heat", {}).items()}
        return Pass(data["began"], data["rows"], data["deletes"], data["accepted"], heat)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON-ready form for the checkpoint."""
        heat = {str(name): round(value, 3) for name, value in self.heat.items()}
        numbers = {"began": self.began, "rows": self.rows, "deletes": self.deletes, "accepted": self.accepted}
        return {**numbers, "heat": heat}

    def visited(self, events: Mapping[int, int]) -> Pass:
        """Return the pass after a visit; `events` is the number of changes found, by range id.

        Heat depends on this number, since in a busy table nearly every range has changes. It grows with the logarithm,
        so that one bulk load does not keep a range hot for long.
        """
        heat = dict(self.heat)
        for range_id, found in events.items():
            value = COOLING * heat.pop(range_id, 0.0) + math.log2(1 + found)
            if value >= COLD:
                heat[range_id] = value
        return replace(self, heat=heat)


def begun(state: Pass, visits: Mapping[int, float], *, now: float, rows: int) -> Pass:
    """Return `state` if it is unfinished, else a new pass that keeps its heat.

    Args:
        visits: As in :func:`chosen`.
        now: Seconds of the store's clock; the new pass begins then.
        rows: Rows of the replica now.
    """
    if 0 < state.began <= now and not finished(visits, state):
        return state
    # a range that was split or merged since then begins cold
    return Pass(began=now, rows=rows, heat={n: heat for n, heat in state.heat.items() if n in visits})


def seen_by(visits: Mapping[int, float], now: float) -> dict[int, float]:
    """Return `visits`, with 0 for times after `now`: the clock was set back, they prove nothing."""
    return {name: seen if seen <= now else 0.0 for name, seen in visits.items()}


def is_due(last: float, every: timedelta, now: float) -> bool:
    """Return True if `every` has passed since `last`, or the clock was set back to before it."""
    return not 0 <= now - last < every.total_seconds()


def due_in(last: float, every: timedelta, now: float) -> float:
    """Return the seconds until what was done `last` is due again; 0 if it is due."""
    return 0.0 if is_due(last, every, now) else last + every.total_seconds() - now


def overdue(staleness: timedelta | None, every: timedelta) -> float | None:
    """Return the age in seconds at which a range must be visited to stay within `staleness`.

    An older range would exceed the bound before the next poll has ended. None without a bound.
    """
    return None if staleness is None else max(0.0, (staleness - 2 * every).total_seconds())


def chosen(
    visits: Mapping[int, float], state: Pass, *, now: float, per_poll: int | None, overdue: float | None
) -> list[int]:
    """Return the ids of the ranges that a poll visits, in key order.

    Without `per_poll`: all that the pass has not visited yet. With it, at most that number of ranges: first the overdue
    ones, then the hottest, then those with the oldest visit. Overdue ranges are all visited, also if there are more.

    Args:
        visits: Seconds of the store's clock at the last visit, by range id, in key order.
        now: Seconds of the store's clock.
        per_poll: Most ranges of a poll; None for no limit.
        overdue: Age in seconds from which a range is overdue; None if there is no bound.
    """
    if per_poll is None:
        return [name for name, seen in visits.items() if seen < state.began]
    order = {name: place for place, name in enumerate(visits)}
    late = {name for name, seen in visits.items() if overdue is not None and now - seen >= overdue}
    hot = sorted((n for n in state.heat if n in visits and n not in late), key=lambda n: (-state.heat[n], order[n]))
    picked = late | set(hot[: max(0, int(per_poll * HOT_SHARE) - len(late))])
    oldest = sorted((n for n in visits if n not in picked), key=lambda n: (visits[n], order[n]))
    picked |= set(oldest[: max(0, per_poll - len(picked))])
    return [name for name in visits if name in picked]


def finished(visits: Mapping[int, float], state: Pass) -> bool:
    """Return True if the pass has visited every range."""
    return all(seen >= state.began for seen in visits.values())


def next_step(ranges: Sequence[Range], rows: float) -> list[Range]:
    """Return the first adjacent ranges with about `rows` rows together, at least one."""
    step = list(ranges[:1])
    held = step[0].rows if step else 0
    for before, one in pairwise(ranges):
        if before.hi is None or before.hi != one.lo or held + one.rows > rows:
            break
        step.append(one)
        held += one.rows
    return step


def as_one(step: Sequence[KeyRange]) -> KeyRange:
    """Return adjacent ranges as one range."""
    return KeyRange(step[0].range_id, step[0].lo, step[-1].hi, sum(r.rows for r in step))


def paced(rows: float, *, seconds: float, target: float) -> float:
    """Return the rows of a step of about `target` seconds, after one of `rows` took `seconds`."""
    wanted = target / seconds if seconds > 0 else GROWTH
    return max(1.0, rows * min(GROWTH, max(1 / GROWTH, wanted)))
