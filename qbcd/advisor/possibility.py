"""Possible strategies of a stream: the plan of each, or why there is none and which GRANT or DDL is missing.

These are the checks of `qbcd check` and `qbcd prepare --dry-run`, for each strategy in turn. No row is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import inspect

from qbcd.advisor.candidates import Candidate, labeled, unmet
from qbcd.catalog.query_table import rights_of
from qbcd.catalog.source import Session
from qbcd.config import StreamConfig
from qbcd.config.auto_strategy import AutoOptions
from qbcd.config.strategy_base import StrategyUse
from qbcd.connectors.catalog import SupportsIndexes
from qbcd.errors import QbcdError, SourceError
from qbcd.model import StreamPlan
from qbcd.planning import option_place, plan_of
from qbcd.sites import DatabaseContext
from qbcd.strategies import Atdi, TableStrategy
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


def tried(candidate: Candidate, needs: AutoOptions, config: StreamConfig | None, opened: OpenCandidate) -> Option:
    """Return a strategy with its plan, or with the reason why it is not possible.

    Args:
        candidate: The strategy and its options.
        needs: The stream's.
        config: The stream with this strategy; None if there are no options.
        opened: Returns the stream of a configuration; nothing is created.

    Raises:
        SourceError: The source does not answer.
    """
    if candidate.options is None or config is None:
        return Option(candidate.name, candidate.label, candidate, why_not=candidate.missing)
    problem = next(candidate.options.problems(_use(config)), None)
    if problem is not None:
        return Option(candidate.name, candidate.label, candidate, why_not=problem.what, remedy=problem.remedy)
    stream = opened(config)
    option = Option(candidate.name, candidate.label, candidate, stream.config)
    try:
        plan, _ = plan_of(stream, None)
        strategy = stream.site.strategy(plan)
        assert isinstance(strategy, TableStrategy), "candidates query a database"
        with stream.source.read(stream.name) as session:
            why, remedy = _missing_rights(stream, session, plan)
            if not why:
                stream.site.refuse_unfit(session, plan, option_place(stream))
                why, remedy = _missing_index(stream, session, strategy)
            remarks = () if why else tuple(stream.site.remarks(session, plan))
    except SourceError:
        raise
    except QbcdError as error:
        return _refused(option, error)
    if not why:
        why, remedy = _unfit(needs, strategy, candidate), ""
    label = labeled(strategy.label, candidate.variant)
    return Option(candidate.name, label, candidate, stream.config, plan, strategy, why, remedy, remarks)


def _use(config: StreamConfig) -> StrategyUse:
    """Return the stream as rules of the configuration see it."""
    table = None if config.query else ".".join(part for part in (config.table_schema, config.table_name) if part)
    return StrategyUse(
        path=("tables", config.index),
        inherited=False,
        source=config.source,
        table=table,
        key=config.key,
        columns=config.columns or (),
        where=config.where,
        every=config.every,
    )


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


def _missing_rights(stream: Stream, session: Session, plan: StreamPlan) -> tuple[str, str]:
    """Return the right that is missing for tables in the source, and the statements that grant it."""
    context, source = stream.site.context, stream.source
    if not stream.site.writes_source(plan):
        return "", ""
    connector, conn = source.connector, session.connection
    if isinstance(context, DatabaseContext):
        connector.catalog.check_in_source(conn, plan.table, stream=stream.name, own=context.own_names(plan))
    if stream.site.has_tables(plan):
        return "", ""
    rights = rights_of(connector, conn, plan.table, [c.name for c in plan.captured], source.schema)
    exists = inspect(conn).has_schema(source.schema)
    if rights.own_schema if exists else rights.create_schema:
        return "", ""
    what = f"role {rights.role} may not {'create tables in' if exists else 'create'} schema {source.schema}"
    return what, "; ".join(connector.ddl.own_schema(source.schema, rights.role, exists=exists))


def _missing_index(stream: Stream, session: Session, strategy: TableStrategy) -> tuple[str, str]:
    """Return that the covering index of ATDI is missing, and its DDL; without it ATDI polls as TDI does."""
    if not isinstance(strategy, Atdi):
        return "", ""
    table = strategy.plan.table
    look_up = stream.source.connector.require(SupportsIndexes).indexes
    if strategy.has_index(look_up(session.connection, table)):
        return "", ""
    return "no index covers all columns that a poll reads", strategy.index()
