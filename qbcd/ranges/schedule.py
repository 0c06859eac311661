"""The key ranges that a poll visits, and in which steps: hot ones first, quiet ones in rotation (paper, 3.4).

A range's heat grows with each visit that found changes, by the logarithm of how many, and fades from visit to visit.
Nothing here opens a connection or reads a clock.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any, TypeVar

from qbcd.model import KeyRange

COOLING = 0.7  # what a visit leaves of a range's heat
COLD = 0.05  # below which a range is quiet again: about nine visits after a single change
HOT_SHARE = 0.75  # of a poll's ranges at most, so that the rotation never stands still
GROWTH = 2.0  # by which the work of a step may change from one to the next

Range = TypeVar("Range", bound=KeyRange)


@dataclass(frozen=True)
class Pass:
    """One round over all ranges, as the checkpoint remembers it.

    Attributes:
        began: Seconds of the store's clock; a range visited since belongs to the past of this round.
        rows: Rows of the replica when it began, against which deletes are held (docs/design/protocol.md#rule-17).
        deletes: Deletes found in it so far.
        accepted: Deletes that the user let pass in it.
        heat: By range id, of those that are not quiet.
    """

    began: float = 0.0
    rows: int = 0
    deletes: int = 0
    accepted: int = 0
    heat: Mapping[int, float] = field(default_factory=dict)

    @staticmethod
    def from_checkpoint(data: Mapping[str, Any] | None) -> Pass:
        """From the checkpoint's JSON; a first one where there is none."""
        if not data:
            return Pass()
        heat = {int(name): float(value) for name, value in data.get("heat", {}).items()}
        return Pass(data["began"], data["rows"], data["deletes"], data["accepted"], heat)

    def as_json(self) -> dict[str, Any]:
        """For the checkpoint."""
        heat = {str(name): round(value, 3) for name, value in self.heat.items()}
        numbers = {"began": self.began, "rows": self.rows, "deletes": self.deletes, "accepted": self.accepted}
        return {**numbers, "heat": heat}

    def visited(self, events: Mapping[int, int]) -> Pass:
        """The pass after a visit to ranges, by id, with how many changes it found there.

        The number counts, since in a busy table hardly any range is unchanged; its logarithm, since one bulk load makes
        no range hot for long.
        """
        heat = dict(self.heat)
        for range_id, found in events.items():
            value = COOLING * heat.pop(range_id, 0.0) + math.log2(1 + found)
            if value >= COLD:
                heat[range_id] = value
        return replace(self, heat=heat)


def begun(state: Pass, visits: Mapping[int, float], *, now: float, rows: int) -> Pass:
    """`state` where it goes on, or the pass that begins `now` with a replica of `rows` rows; heat is carried over."""
    if 0 < state.began <= now and not finished(visits, state):
        return state
    # a range that was cut or joined meanwhile begins cold
    return Pass(began=now, rows=rows, heat={n: heat for n, heat in state.heat.items() if n in visits})


def seen_by(visits: Mapping[int, float], now: float) -> dict[int, float]:
    """`visits` as they count `now`: what was seen later than that, by a clock that has gone back since, never was."""
    return {name: seen if seen <= now else 0.0 for name, seen in visits.items()}


def is_due(last: float, every: timedelta, now: float) -> bool:
    """Return True if what was done `last` is due again, also if the clock went back behind that."""
    return not 0 <= now - last < every.total_seconds()


def due_in(last: float, every: timedelta, now: float) -> float:
    """Return the seconds until what was done `last` is due again; 0 if it is due."""
    return 0.0 if is_due(last, every, now) else last + every.total_seconds() - now


def overdue(staleness: timedelta | None, every: timedelta) -> float | None:
    """Age in seconds from which a range would pass `staleness` before the next poll has ended; None without a bound."""
    return None if staleness is None else max(0.0, (staleness - 2 * every).total_seconds())


def chosen(
    visits: Mapping[int, float], state: Pass, *, now: float, per_poll: int | None, overdue: float | None
) -> list[int]:
    """The ids of the ranges that a poll visits.

    Without `per_poll` all that the pass has not seen yet. Else, within that number: those that would pass the bound
    before the next poll (of these all, whatever the number), the hottest, and the ones that were not seen for longest.

    Args:
        visits: By range id, in key order, seconds of the store's clock at the last visit.
        state: The pass.
        now: Seconds of the store's clock.
        per_poll: How many ranges.
        overdue: Age in seconds that none may have.
    """
    if per_poll is None:
        return [name for name, seen in visits.items() if seen < state.began]
    order = {name: place for place, name in enumerate(visits)}
    late = {name for name, seen in visits.items() if overdue is not None and now - seen >= overdue}
    hot = sorted((n for n in state.heat if n in visits and n not in late), key=lambda n: (-state.heat[n], order[n]))
    taken = late | set(hot[: max(0, int(per_poll * HOT_SHARE) - len(late))])
    oldest = sorted((n for n in visits if n not in taken), key=lambda n: (visits[n], order[n]))
    taken |= set(oldest[: max(0, per_poll - len(taken))])
    return [name for name in visits if name in taken]


def finished(visits: Mapping[int, float], state: Pass) -> bool:
    """Return True if the pass has visited every range."""
    return all(seen >= state.began for seen in visits.values())


def next_step(ranges: Sequence[Range], rows: float) -> list[Range]:
    """The first adjoining ranges that hold about `rows` rows together; one at least."""
    step = list(ranges[:1])
    held = step[0].rows if step else 0
    for before, one in pairwise(ranges):
        if before.hi is None or before.hi != one.lo or held + one.rows > rows:
            break
        step.append(one)
        held += one.rows
    return step


def as_one(step: Sequence[KeyRange]) -> KeyRange:
    """Adjoining ranges as the one that they are together."""
    return KeyRange(step[0].range_id, step[0].lo, step[-1].hi, sum(r.rows for r in step))


def paced(rows: float, *, seconds: float, target: float) -> float:
    """Return the rows of the next step, after one of `rows` rows took `seconds`, so that it takes about `target`."""
    wanted = target / seconds if seconds > 0 else GROWTH
    return max(1.0, rows * min(GROWTH, max(1 / GROWTH, wanted)))
