"""The choice among possible strategies: the one that costs the source least, within the limits of the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qbcd.advisor.amounts import Amount
from qbcd.advisor.possibility import Option
from qbcd.advisor.prediction import Prediction
from qbcd.config.auto_strategy import AutoOptions
from qbcd.config.fields import in_words

LONGEST = 30.0  # seconds of the longest transaction that is preferred, unless the user names a limit
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


@dataclass(frozen=True)
class Choice:
    """The chosen strategy; None if none is possible, and why."""

    chosen: Scored | None
    why: str


def score(cost: Prediction) -> float:
    """Return the pages that a poll reads and ships, as one number."""
    return (cost.pages + cost.bytes_shipped * (1 / 8192)).middle


def choose(scored: Sequence[Scored], needs: AutoOptions) -> Choice:
    """Return the possible strategy of the lowest cost; at nearly equal cost, the first one.

    A strategy whose longest transaction may exceed the limit is chosen only if no other is possible.
    """
    possible = [one for one in scored if one.option.possible and one.cost is not None]
    if not possible:
        return Choice(None, "no strategy is possible for the needs of this stream")
    given = needs.longest_statement
    limit = given.total_seconds() if given else LONGEST
    short = [one for one in possible if _seconds(one).low <= limit]
    best = min(short or possible, key=_rank)
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
    if best.score == second.score == float("inf"):
        return Choice(best, "the costs are unknown, and this strategy needs least of the source")
    if round(best.score, 1) >= round(second.score, 1):
        return Choice(best, f"it costs as much as {second.option.label}, and is simpler")
    return Choice(best, f"it reads least; the next is {second.option.label}")


def _rank(one: Scored) -> float:
    return one.score


def _seconds(one: Scored) -> Amount:
    assert one.cost is not None
    return one.cost.longest_seconds


def much_cheaper(scored: Sequence[Scored], current: Scored) -> Scored | None:
    """Return a possible strategy that would read a fifth of the pages of the current one, or less."""
    if current.cost is None or not current.cost.pages.known:
        return None
    able = [one for one in scored if one.option.possible and one.cost is not None and one.cost.pages.known]
    best = min(able, key=_rank, default=None)
    if best is None or best.cost is None or best.cost.pages.high * CHEAPER > current.cost.pages.low:
        return None
    return best
