"""Advice for one stream: facts, every strategy with its cost, and the choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from qbcd.advisor.candidates import Candidate, alike, candidates, needs_of
from qbcd.advisor.choice import Choice, Scored, choose, much_cheaper
from qbcd.advisor.facts import Facts, by_writes, gather
from qbcd.advisor.history import POLLS, History
from qbcd.advisor.possibility import OpenCandidate, Option, try_candidate
from qbcd.advisor.prediction import Prediction, predict
from qbcd.catalog.resolve import resolve
from qbcd.config import ProjectConfig, StrategyConfig
from qbcd.connectors.statistics import SupportsStatistics
from qbcd.model import StreamPlan
from qbcd.state import StreamRow
from qbcd.strategies.amounts import Amount
from qbcd.stream import Stream

Measured = Callable[[], Amount]  # rows written in an hour, as two readings show


@dataclass(frozen=True)
class Advice:
    """The strategies of one stream, with costs and a choice.

    Attributes:
        facts: None if no strategy has a plan.
        scored: Every strategy.
        choice: The one that `auto` takes.
        current: The strategy that the stream has, or is prepared with.
        prepared: The stream is prepared, so its strategy stays.
    """

    stream: str
    table: str
    scored: tuple[Scored, ...]
    choice: Choice
    facts: Facts | None = None
    current: Scored | None = None
    prepared: bool = False

    @property
    def warning(self) -> str:
        """The warning that another strategy would read a fifth; empty without one."""
        cheaper = much_cheaper(self.scored, self.current) if self.current else None
        if cheaper is None or self.current is None or cheaper.cost is None or self.current.cost is None:
            return ""
        return (
            f"{cheaper.option.label} would read {cheaper.cost.pages.text('page')} where {self.current.option.label} "
            f"reads {self.current.cost.pages.text('page')}"
        )


def history_of(stream: Stream, row: StreamRow | None) -> History:
    """Return the history of a stream since its `prepare`."""
    if row is None or not row.prepared:
        return History()
    return History.of([run for run in stream.project.runs(stream.name, POLLS * 3) if run.started_at >= row.epoch])


def predict_stream(stream: Stream, plan: StreamPlan, row: StreamRow | None) -> tuple[Prediction, Facts]:
    """Return the predicted cost of a stream's own strategy, and the facts behind it."""
    history, every = history_of(stream, row), stream.config.every.total_seconds()
    with stream.source.read(stream.name) as session:
        facts = gather(session, stream.source.connector, plan, every, history)
    strategy = stream.site.table_strategy(plan)
    return predict(strategy, facts, _speed(history, predict(strategy, facts))), facts


def advise(config: ProjectConfig, stream: Stream, opened: OpenCandidate, per_hour: Amount | None = None) -> Advice:
    """Return advice for a stream.

    Args:
        stream: The stream as it is, or as `auto` would make it.
        opened: Returns the stream of a configuration with another strategy; nothing is created.
        per_hour: Rows written in an hour, if they were measured.
    """
    with stream.source.pooled():
        return _advice(config, stream, opened, per_hour)


def _advice(config: ProjectConfig, stream: Stream, opened: OpenCandidate, per_hour: Amount | None) -> Advice:
    written = config.strategy_of(stream.config)
    needs = needs_of(written)
    options = _options(config, stream, opened)
    planned = next((one.plan for one in options if one.plan is not None), None)
    row = stream.site.context.row()
    prepared = row is not None and row.prepared
    if planned is None:
        scored = tuple(Scored(one) for one in options)
        name = ".".join(part for part in (stream.config.table_schema, stream.config.table_name) if part)
        return Advice(stream.name, name, scored, choose(scored, needs), prepared=prepared)
    history, every = history_of(stream, row), stream.config.every.total_seconds()
    with stream.source.read(stream.name) as session:
        facts = gather(session, stream.source.connector, planned, every, history)
    if per_hour is not None:
        facts = replace(facts, change=by_writes(facts, per_hour, "watch"))
    mine = alike((one.candidate for one in options), stream.config.strategy, stream.config.options)
    scored = _scored(options, facts, mine)
    current = next((one for one in scored if one.option.candidate is mine and one.cost), None)
    return Advice(stream.name, planned.table.label, scored, choose(scored, needs), facts, current, prepared)


def written_rows(stream: Stream) -> tuple[float, float] | None:
    """Return the rows written to a stream's tables, and its clock, by the server's counters.

    None if the server has no counters.
    """
    connector = stream.source.connector
    if not connector.supports(SupportsStatistics):
        return None
    with stream.source.read(stream.name) as session:
        table = resolve(stream.config, stream.source, session)[0].table
        bases = dict.fromkeys(table.bases) if table.query else (table,)
        found = [connector.require(SupportsStatistics).table_statistics(session.connection, one) for one in bases]
    if not found or any(one.written is None for one in found):
        return None
    return float(sum(one.written or 0 for one in found)), found[0].clock


def _options(config: ProjectConfig, stream: Stream, opened: OpenCandidate) -> list[Option]:
    written = config.strategy_of(stream.config)
    needs = needs_of(written)
    found = []
    for one in _with_written(candidates(needs, query=bool(stream.config.query)), written):
        made = config.with_strategy(stream.config, one.options) if one.options is not None else None
        found.append(try_candidate(one, needs, made, opened))
    return found


def _with_written(able: Sequence[Candidate], written: StrategyConfig) -> list[Candidate]:
    """Return the candidates, the variant that the user wrote with its options as written.

    The written variant is added if it is not among them.
    """
    if written.chooses:
        return list(able)
    same = alike(able, written.type, written.options)
    if same is not None:
        return [replace(one, options=written) if one is same else one for one in able]
    if all(one.name != written.type for one in able):  # the strategy of a package
        return [*able, Candidate(written.type, written, for_auto=False)]
    kept = [one for one in able if one.name != written.type or one.options is not None]
    last = max((number for number, one in enumerate(kept) if one.name == written.type), default=len(kept) - 1)
    return [*kept[: last + 1], Candidate(written.type, written, variant="as written"), *kept[last + 1 :]]


def _scored(options: Sequence[Option], facts: Facts, current: Candidate | None) -> tuple[Scored, ...]:
    """Return each strategy with its cost, in seconds too if the stream has polled with one."""
    costs = [predict(one.strategy, facts) if one.strategy is not None else None for one in options]
    own = next((cost for one, cost in zip(options, costs, strict=True) if one.candidate is current and cost), None)
    speed = _speed(facts.history, own) if own else None
    return tuple(
        Scored(one, predict(one.strategy, facts, speed) if one.strategy is not None else None) for one in options
    )


def _speed(history: History, own: Prediction | None) -> float | None:
    """Return the pages a second that the stream's own polls have read; None without polls."""
    seconds = history.seconds
    return own.pages.middle / seconds if own and seconds and own.pages.known else None
