"""The possible strategy that costs the source least, within the limits of the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qbcd.advisor.possibility import Option
from qbcd.advisor.prediction import Prediction
from qbcd.config.auto_strategy import AutoOptions
from qbcd.config.fields import in_words
from qbcd.strategies.amounts import Amount

LONGEST = 30.0  # seconds of the longest transaction that is preferred, unless the user names a limit
TWICE_KEPT = 0.5  # of the cost of others, at most, if digests and a copy are kept: batches are of one state per range
CHEAPER = 5.0  # a prepared stream is warned if another strategy reads less by this factor


@dataclass(frozen=True)
class Scored:
    """A strategy with its prediction; None if it is not possible."""

    option: Option
    cost: Prediction | None = None

    @property
    def score(self) -> float:
        """The cost for comparisons: pages that the source reads, and pages that leave it."""
        return score(self.cost) if self.cost else float("inf")

    @property
    def room(self) -> float:
        """The bytes of the replica."""
        return (self.cost.source_room + self.cost.workdir_room).middle if self.cost else float("inf")


@dataclass(frozen=True)
class Choice:
    """The chosen strategy; None if none is possible, and why."""

    chosen: Scored | None
    why: str


def score(cost: Prediction) -> float:
    """Return the pages that a poll reads and ships, as one number."""
    return _amount(cost).middle


def _amount(cost: Prediction) -> Amount:
    return cost.pages + cost.bytes_shipped * (1 / 8192)


def choose(scored: Sequence[Scored], needs: AutoOptions) -> Choice:
    """Return the possible strategy of the lowest cost.

    At nearly equal cost, it is the variant that keeps least, or the first. A strategy whose longest transaction may
    exceed the limit is chosen only if no other is possible.
    """
    possible = [one for one in scored if one.option.possible and one.option.candidate.for_auto and one.cost is not None]
    if not possible:
        return Choice(None, "no strategy is possible for the needs of this stream")
    given = needs.longest_statement
    limit = given.total_seconds() if given else LONGEST
    short = [one for one in possible if _seconds(one).low <= limit]
    best = _least(short or possible)
    others = [one for one in possible if one is not best]
    if not short:
        bound = in_words(given) if given else f"{LONGEST:.0f} s"
        return Choice(best, f"its longest transaction may take more than {bound}, as that of all others")
    passed = [one for one in others if one not in short and one.score < best.score]
    if passed:
        return Choice(best, f"the longest transaction of {passed[0].option.label} may take more than {limit:.0f} s")
    if not others:
        return Choice(best, "no other strategy is possible")
    second = min(others, key=_rank)
    if round(best.score, 1) > round(second.score, 1) and second.option.candidate.keeps_twice:
        return Choice(best, f"{second.option.label} reads more than half as much, and keeps digests and a copy")
    if best.score == second.score == float("inf"):
        return Choice(best, "the costs are unknown, and this strategy needs least of the source")
    if round(best.score, 1) >= round(second.score, 1):
        more = "keeps less" if best.room < second.room else "is simpler"
        return Choice(best, f"it costs as much as {second.option.label}, and {more}")
    if over := _overlapping(best, others):
        return Choice(best, f"the middle of its range is the lowest; {over}")
    return Choice(best, f"it reads least; the next is {second.option.label}")


def _least(some: Sequence[Scored]) -> Scored:
    """Return the cheapest strategy; of variants with equal cost, the one that keeps least."""
    best = min(some, key=lambda one: one.score / (TWICE_KEPT if one.option.candidate.keeps_twice else 1))
    same = [one for one in some if one.option.name == best.option.name and round(one.score - best.score, 1) == 0]
    return min(same or [best], key=lambda one: one.room)


def _overlapping(best: Scored, others: Sequence[Scored]) -> str:
    """Return, in words, strategies whose lowest cost is below the highest of the best one.

    Empty if there is none.
    """
    assert best.cost is not None
    high = _amount(best.cost).high
    names = [one.option.label for one in others if one.cost is not None and _amount(one.cost).low < high]
    if not names:
        return ""
    return f"{'; '.join(names)} may read less"


def _rank(one: Scored) -> float:
    return one.score


def _seconds(one: Scored) -> Amount:
    assert one.cost is not None
    return one.cost.longest_seconds


def much_cheaper(scored: Sequence[Scored], current: Scored) -> Scored | None:
    """Return a possible strategy that would read at most a fifth of the current one's pages."""
    if current.cost is None or not current.cost.pages.known:
        return None
    able = [one for one in scored if one.option.possible and one.cost is not None and one.cost.pages.known]
    best = min(able, key=_rank, default=None)
    if best is None or best.cost is None or best.cost.pages.high * CHEAPER > current.cost.pages.low:
        return None
    return best
