"""Facts about a stream's table, from catalog, statistics and history; no row is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from qbcd.advisor.history import History
from qbcd.catalog.source import Session
from qbcd.connectors.base import Connector
from qbcd.connectors.statistics import IndexSize, LogCapture, PlannedScan, SupportsStatistics, TableStatistics
from qbcd.model import Statement, StreamPlan
from qbcd.sql import compile_sql, render
from qbcd.strategies import costs
from qbcd.strategies.amounts import NONE, UNKNOWN, Amount, lifted
from qbcd.strategies.reads import ChangeRate, Origin, TableFacts

USUAL_DELTA = 0.01  # the paper's share of changed rows, if nothing is known
STALE = 1.5  # statistics are stale if the table has grown or shrunk by this factor since it was analyzed
DEAD = 0.2  # or if more than this share of its rows are dead
COUNTED = 600.0  # seconds for which a server must have counted writes
NUMBERED = 3  # more numbers given out than this many times the rows: the statistics may be stale


@dataclass(frozen=True)
class Facts(TableFacts):
    """Sizes and changes of a table, and what they are based on.

    Attributes:
        served_by: The indexes that serve the restriction.
        doubt: Why sizes are uncertain, or an empty string.
        log: How the server could be captured by its log; None if it does not show that.
    """

    served_by: tuple[str, ...] = ()
    doubt: str = ""
    history: History = field(default_factory=History)
    log: LogCapture | None = None


def gather(session: Session, connector: Connector, plan: StreamPlan, every: float, history: History) -> Facts:
    """Read the facts about a stream's table.

    Args:
        plan: The stream's, under any strategy.
        every: Seconds between two polls.
    """
    if not connector.supports(SupportsStatistics):
        return _of_catalog(plan, every, history)
    known, conn = connector.require(SupportsStatistics), session.connection
    bases = tuple(dict.fromkeys(plan.table.bases)) if plan.table.query else (plan.table,)
    tables = [sizes_of(known.table_statistics(conn, one)) for one in bases]
    page_bytes = max((one.page_bytes for one in tables), default=8192)
    pages, rows = (_sum(amounts) for amounts in ([t.pages for t in tables], [t.rows for t in tables]))
    doubt = next((one.doubt for one in tables if one.doubt), "")
    if any(one.kind in ("view", "foreign") for one in bases):
        pages = rows = UNKNOWN
        doubt = f"{plan.table.label} has no pages of its own"
    facts = Facts(page_bytes, pages, rows, Amount.of(1.0), pages, _assumed(), doubt=doubt, tables=len(bases))
    facts = replace(facts, history=history, log=known.log_capture(conn), every=every, layout=known.layout)
    if not plan.table.query:
        facts = replace(facts, indexes=tuple(known.index_sizes(conn, plan.table)))
        if plan.where:
            facts = _restricted(facts, known.planned_scan(conn, plan.table, _rows_of(connector, plan)))
    return replace(facts, change=_change(facts, sum((one.written for one in tables), NONE)))


@dataclass(frozen=True)
class TableSizes:
    """Sizes of a table as far as statistics can be trusted; `written` are rows a second."""

    page_bytes: int
    pages: Amount
    rows: Amount
    written: Amount
    doubt: str = ""


def sizes_of(one: TableStatistics) -> TableSizes:
    """Return sizes from statistics: ranges if these are stale, unknown without any."""
    pages = Amount.of(one.pages if one.pages is not None else one.known_pages or 0)
    rows, doubt = UNKNOWN, ""
    if one.pages is None and one.known_pages is None:
        pages = UNKNOWN
    if one.known_rows is None:
        doubt = "the table was never analyzed"
    elif one.pages is not None and not one.known_pages and one.pages:
        doubt = "the table was empty when it was analyzed"
    else:
        rows = Amount.of(one.known_rows)
        grown = one.pages / one.known_pages if one.pages is not None and one.known_pages else 1.0
        dead = one.dead or 0
        if max(grown, 1 / max(grown, 1e-9)) > STALE or dead > DEAD * max(one.known_rows, 1):
            fewest = max(0.0, min(one.known_rows, one.known_rows * grown) - dead)
            rows, doubt = Amount.between(fewest, one.known_rows, one.known_rows * grown), "the statistics are stale"
        elif one.counted_rows is not None and _differs(one.counted_rows, one.known_rows):
            factor = max(one.counted_rows, 1) / max(one.known_rows, 1)
            rows, pages = Amount.between(one.known_rows, one.counted_rows), pages * Amount.between(1.0, factor)
            doubt = "the statistics are stale"
        elif (one.highest_number or 0) > NUMBERED * max(one.known_rows, 1):
            factor = (one.highest_number or 0) / max(one.known_rows, 1)
            rows, pages = rows * Amount(1.0, factor), pages * Amount(1.0, factor)
            doubt = "the table may have more rows than its statistics say"
        else:
            rows = rows * grown if one.counted_rows is None else Amount.of(one.counted_rows)
    return TableSizes(one.page_bytes, pages, rows, _written(one, rows), doubt)


def _differs(rows: int, known: int) -> bool:
    """Return True if a table has changed its size so much that its known pages are wrong."""
    few, many = sorted((max(rows, 1), max(known, 1)))
    return many > STALE * few


def _written(one: TableStatistics, rows: Amount) -> Amount:
    """Return the rows written in a second.

    The load of a table is left out, as far as the counters show it.
    """
    if one.counters_since is None or one.written is None or one.inserted is None or not rows.known:
        return UNKNOWN
    seconds = one.clock - one.counters_since
    if seconds < COUNTED:
        return UNKNOWN
    if one.inserted < rows.low:
        return Amount.between((one.written - one.inserted) / seconds, one.written / seconds)
    later = one.written - rows.low  # the table was filled after the counters began
    return Amount.of(later / seconds) if later > 0 else UNKNOWN


def _restricted(facts: Facts, planned: PlannedScan) -> Facts:
    """Return the facts with R, and the pages that are read to find the restricted rows."""
    if not facts.rows.known:
        share = Amount(0.0, 1.0)
    else:
        expected = min(1.0, planned.rows / max(facts.rows.high, 1.0))
        share = Amount.of(expected) if not facts.doubt else Amount.between(expected, 1.0)
    if not planned.indexes:
        return replace(facts, share=share, scan=facts.pages * planned.whole_share)
    near = Amount(0.0, 1.0) if planned.correlation is None else Amount.of(planned.correlation**2)
    read = _touched(facts.rows, facts.pages, share, near)
    used = [one for one in facts.indexes if one.index.name in planned.indexes]
    entries = sum((_index_read(facts, one, share) for one in used), NONE)
    scan = read + entries + facts.pages * planned.whole_share
    return replace(facts, share=share, scan=scan, served_by=planned.indexes)


def _touched(rows: Amount, pages: Amount, share: Amount, clustered: Amount) -> Amount:
    """Return the pages of a share of the rows, between those of clustered and of scattered ones."""
    if not rows.known or not pages.known:
        return pages * Amount(0.0, 1.0)
    low = costs.touched(rows.low, pages.low, share.low, clustered.high)
    high = costs.touched(rows.high, pages.high, share.high, clustered.low)
    return Amount.between(low, max(low, high))


def _index_read(facts: Facts, one: IndexSize, share: Amount) -> Amount:
    pages = Amount.of(one.pages) if one.pages else facts.pages * Amount(0.05, 0.5)
    if one.is_table:
        return lifted(costs.height, pages)
    return lifted(lambda p, s: max(1.0, s * p) + costs.height(p) - 1, pages, share)


def _change(facts: Facts, written: Amount) -> ChangeRate:
    """Return the changes between two polls: from history, else server counters, else assumed."""
    if facts.history.polls and facts.rows.known:
        events = facts.history.events
        delta = lifted(lambda r: min(1.0, events / max(r, 1.0)), facts.rows)
        delta = Amount(min(delta.low, delta.high), max(delta.low, delta.high))
        return ChangeRate(delta, facts.history.clustered(delta.middle), "history")
    if written.known and facts.rows.known:
        return by_writes(facts, written * 3600.0, "writes")
    return _assumed()


def by_writes(facts: Facts, per_hour: Amount, origin: Origin) -> ChangeRate:
    """Return the changes between two polls for a number of rows written in an hour."""
    share = per_hour * (facts.every / 3600.0) * (1 / max(facts.rows.high if facts.rows.known else 1.0, 1.0))
    return ChangeRate(share.at_most(1.0), Amount(0.0, 1.0), origin, per_hour)


def _assumed() -> ChangeRate:
    return ChangeRate(Amount.of(USUAL_DELTA), Amount(0.0, 1.0))


def _sum(amounts: Sequence[Amount]) -> Amount:
    return sum(amounts, NONE)


def _rows_of(connector: Connector, plan: StreamPlan) -> Statement:
    """Return the SELECT of the restricted rows, for EXPLAIN."""
    probe = compile_sql(render("restriction_probe", table=plan.table), connector, plan)
    return Statement(probe.sql.replace("SELECT 1", "SELECT *", 1), probe.params)


def _of_catalog(plan: StreamPlan, every: float, history: History) -> Facts:
    """Return facts of a connector without statistics: what its catalog says."""
    table = plan.table
    pages = Amount.of(table.pages) if table.pages else UNKNOWN
    rows = Amount.of(table.rows) if table.rows >= 0 else UNKNOWN
    share = Amount(0.0, 1.0) if plan.where else Amount.of(1.0)
    return Facts(8192, pages, rows, share, pages, _assumed(), history=history, every=every)
