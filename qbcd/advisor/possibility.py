"""Possible strategies of a stream: the plan of each, or the reason why there is none.

The reason names the missing GRANT or DDL. These are the checks of `qbcd check` and `qbcd prepare --dry-run`, for each
strategy in turn. No row is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from qbcd.advisor.candidates import Candidate, labeled, unmet
from qbcd.config import StreamConfig
from qbcd.config.auto_strategy import AutoOptions
from qbcd.config.strategy_rules import use_of
from qbcd.errors import QbcdError, SourceError
from qbcd.model import StreamPlan
from qbcd.planning import option_place, plan_of
from qbcd.sites.eligibility import missing_index
from qbcd.strategies import TableStrategy
from qbcd.stream import Stream

OpenCandidate = Callable[[StreamConfig], Stream]


@dataclass(frozen=True)
class Option:
    """A strategy that was tried for a stream.

    Attributes:
        name: The strategy.
        label: The strategy with its variant.
        plan: The plan; None if it is not possible.
        why_not: Why it is not possible, or does not fit the needs; empty if it is possible.
        remedy: The GRANT, DDL or setting that would change that.
        remarks: Avoidable costs and gaps.
    """

    name: str
    label: str
    candidate: Candidate
    config: StreamConfig | None = None
    plan: StreamPlan | None = None
    strategy: TableStrategy | None = None
    why_not: str = ""
    remedy: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def possible(self) -> bool:
        """True if it can be chosen."""
        return not self.why_not


def try_candidate(
    candidate: Candidate, needs: AutoOptions, config: StreamConfig | None, opened: OpenCandidate
) -> Option:
    """Return a strategy with its plan, or with the reason why it is not possible.

    Args:
        config: The stream with this strategy; None if there are no options.
        opened: Returns the stream of a configuration; nothing is created.

    Raises:
        SourceError: The source does not answer.
    """
    if candidate.options is None or config is None:
        return Option(candidate.name, candidate.label, candidate, why_not=candidate.missing)
    problem = next(candidate.options.problems(use_of(config)), None)
    if problem is not None:
        return Option(candidate.name, candidate.label, candidate, why_not=problem.what, remedy=problem.remedy)
    stream = opened(config)
    option = Option(candidate.name, candidate.label, candidate, stream.config)
    try:
        plan, _ = plan_of(stream, None)
        strategy = stream.site.table_strategy(plan)
        with stream.source.read(stream.name) as session:
            stream.site.refuse_unwritable(session, plan)
            missing = stream.site.missing_rights(session, plan)
            why = "; ".join(one.what for one in missing)
            remedy = "; ".join(one.grant for one in missing if one.grant)
            remarks: tuple[str, ...] = ()
            if not why:
                found = list(stream.site.examine(session, plan, option_place(stream)))
                why, remedy = missing_index(stream.source, session, strategy)
                remarks = () if why else tuple(one.text for one in found if one.subject == "strategy")
    except SourceError:
        raise
    except QbcdError as error:
        return _refused(option, error)
    if not why:
        why, remedy = _unfit(needs, strategy, candidate), ""
    label = labeled(strategy.label, candidate.variant)
    return Option(candidate.name, label, candidate, stream.config, plan, strategy, why, remedy, remarks)


def _refused(option: Option, error: QbcdError) -> Option:
    return Option(
        option.name, option.label, option.candidate, option.config, why_not=error.what, remedy=error.remedy or ""
    )


def _unfit(needs: AutoOptions, strategy: TableStrategy, candidate: Candidate) -> str:
    assert candidate.options is not None
    why = unmet(needs, candidate.options)
    if not why and needs.need.batch == "snapshot" and strategy.consistency == "range":
        why = "its batches are of one state for each range, not for the table"
    return why
