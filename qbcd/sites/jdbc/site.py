"""The site of a stream whose source a JDBC driver alone reaches.

If the profile has a hash function and an exact text of each captured value, the database adds up digests of its ranges,
and only rows of ranges that differ travel. Else a poll reads all captured rows once, by Spark, into files of the
workdir; DuckDB computes range and digest of each row, and one count and sum for each range. If all are as they were,
nothing is written. Otherwise the rows of the ranges that differ are compared with the replica and committed with the
batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from typing_extensions import override

from qbcd.config import StreamConfig
from qbcd.errors import Refused
from qbcd.local.travelled import Buckets, Division
from qbcd.model import Statement, StreamPlan
from qbcd.model.checkpoint import Entry
from qbcd.ranges.integers import IntegerRanges
from qbcd.sites.jdbc.plan import has_lobs, mean_width, plan_of_rows, source_of, why_all_travel, width_of
from qbcd.sites.jdbc.poll import RowsPoll
from qbcd.sites.jdbc.source_sql import count_of, rows_of, select_of, sums_of, total_of, window_of
from qbcd.sites.jdbc.take import UNCHANGED_POLLS, compact, division_of, is_whole_first, poll_rows, take_baseline, verify
from qbcd.sites.jdbc.window import poll_window, with_watermark
from qbcd.sites.lake.compaction import remove_expired
from qbcd.sites.lake.parquet_site import ParquetSite
from qbcd.sites.values import Detection, Differences, ExplainedStatement, LeasedStream, Settings
from qbcd.spark.jdbc_tables import JdbcSession, asked
from qbcd.state import StreamRow
from qbcd.strategies import WholeRows
from qbcd.strategies.whole_rows import LESS
from qbcd.watermark import EPOCH, text

SAMPLE = 100  # rows by which the width of all is estimated
LATER = "the stream was prepared without checksums of the database; qbcd reset and prepare take them"
_EXECUTED = {
    "CI": "qbcd's tests run on it",
    "campaign": "qbcd's tests run on it on demand",
    "never": "no test of qbcd has run on it: compare with `qbcd verify`",
}


class JdbcSite(ParquetSite):
    """A stream of a source with a JDBC driver alone."""

    @override
    def strategy(self, plan: StreamPlan) -> WholeRows:
        return WholeRows(plan)

    def plan(self, config: StreamConfig, settings: Settings, row: StreamRow | None) -> StreamPlan:
        """Return the stream's plan, by the driver's metadata."""
        if row is not None and row.prepared:  # Java starts here, set up for so many rows
            self.context.spark.give_reason("", int(row.checkpoint["rows"]))
        return plan_of_rows(self.context, config, settings, row)

    @override
    def examine_before_prepare(self, plan: StreamPlan, place: Callable[[str], str]) -> list[str]:
        return self.strategy(plan).warnings()  # the key is counted when the rows are read

    @override
    def create(self, plan: StreamPlan, settings: Settings) -> None:
        with self.context.writing() as conn:
            self.context.store.create(conn)
        self.context.files.create()

    @override
    def ddl(self, plan: StreamPlan) -> list[str]:
        return []

    @override
    def _poll(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> RowsPoll:
        now = self.context.source.clock_ms(plan.stream)
        return RowsPoll(self.context, plan, self.strategy(plan), settings, leased, now)

    @override
    def prepare(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> Detection:
        return take_baseline(with_watermark(self._poll(plan, settings, leased)))

    @override
    def detect(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> Iterator[Detection]:
        poll = self._poll(plan, settings, leased)
        yield poll_window(with_watermark(poll)) if poll.strategy.windows else poll_rows(poll)

    @override
    def collect(self, plan: StreamPlan, leased: LeasedStream, settings: Settings) -> None:
        poll = self._poll(plan, settings, leased)
        remove_expired(poll, changed=compact(poll) or True)

    @override
    def explain(self, plan: StreamPlan, settings: Settings, row: StreamRow | None) -> list[ExplainedStatement]:
        plan = self.sized(plan)
        source, strategy = source_of(self.context), self.strategy(plan)
        place, division = f"{source.label}, read only", self._division(strategy, row)
        reader = f"{source.label}, by Spark's JDBC reader, {source.rows_at_once(width_of(plan)):,} rows at a time"
        key = ", ".join(c.name for c in plan.key) or "all columns"
        compared = Statement(f"SELECT * FROM replica FULL JOIN rows USING ({key})")
        steps: list[ExplainedStatement] = []
        if strategy.windows:
            mark = row.checkpoint[Entry.WATERMARK]["at"] if row and row.prepared else text(EPOCH)
            window = Statement(window_of(source, plan, division, mark, count=False))
            steps.append(ExplainedStatement("rows since the watermark, if there are any", reader, window))
            if not plan.option("deletes"):
                return steps
        sweep = "of a sweep: " if strategy.windows else ""
        if strategy.added_up:
            first = division.ids[:1] if isinstance(division, IntegerRanges) else [division.first]
            sums, rows = Statement(sums_of(source, plan, division)), Statement(rows_of(source, plan, division, first))
            if is_whole_first(self.context, strategy):
                title = f"one checksum over the whole table first, as the last {UNCHANGED_POLLS} polls found nothing"
                steps.append(ExplainedStatement(title, place, Statement(total_of(source, plan))))
            return [
                *steps,
                ExplainedStatement(f"{sweep}count and checksum of each range", place, sums),
                ExplainedStatement(f"{sweep}rows of the ranges that differ, such as the first one", reader, rows),
                ExplainedStatement("comparison of these rows", "this process", compared),
            ]
        why = why_all_travel(source, plan) or LATER
        everything = Statement(select_of(source, plan))
        counted = "count and checksum of each range; only rows of ranges that differ are compared"
        return [
            *steps,
            ExplainedStatement(f"{sweep}all rows travel{strategy.size}: {why}; {LESS}", reader, everything),
            ExplainedStatement(counted, "this process", compared),
        ]

    def _division(self, strategy: WholeRows, row: StreamRow | None) -> Division:
        """Return the ranges of the stream; one, if it is not prepared."""
        if row is not None and row.prepared:
            with self.context.reading() as conn:
                return division_of(strategy, self.context.store.ranges(conn, self.context.stream))
        return IntegerRanges((1,), ()) if strategy.divided == "key" else Buckets(1, 1)

    def travels(self, plan: StreamPlan) -> str:
        """Return what travels from the source at a poll, and why."""
        source, strategy = source_of(self.context), self.strategy(plan)
        if strategy.windows and not plan.option("deletes"):
            return "rows since the watermark travel"
        if strategy.added_up:
            return f"{source.profile.product} adds up its own digests; rows of ranges that differ travel, and no others"
        return f"all rows travel: {why_all_travel(source, plan) or LATER}"

    def sized(self, plan: StreamPlan) -> StreamPlan:
        """Return the plan with number and width of its rows, if all of them travel.

        A poll has counted them, or they are counted now. Then the width is that of the first rows. A LOB counts as
        64 KB.
        """
        source = source_of(self.context)
        if plan.table.rows >= 0 or self.strategy(plan).added_up:
            return plan
        first = source.profile.limit.replace("{select}", select_of(source, plan)).replace("{n}", f"{SAMPLE:d}")

        def ask(session: JdbcSession) -> tuple[int, list[tuple[str | None, ...]]]:
            [(rows,)] = session.texts(count_of(source, plan))
            return int(rows or 0), [] if has_lobs(plan) else session.texts(first)

        rows, sample = asked(self.context.spark.java(), source, plan.stream, ask)
        return replace(plan, table=replace(plan.table, rows=rows, row_width=mean_width(plan, sample)))

    def describe(self, plan: StreamPlan) -> tuple[str, str]:
        """Return the database as its driver names it, and which tests have run on it."""
        source = source_of(self.context)
        product = asked(self.context.spark.java(), source, plan.stream, lambda session: session.product())
        return product, f"profile {source.profile.name}: {_EXECUTED[source.profile.executed]}"

    def try_restriction(self, plan: StreamPlan) -> None:
        """Run the statement of a poll for no row, so that a wrong restriction is refused early.

        Raises:
            Refused: The source does not accept it.
        """
        source = source_of(self.context)
        select = f"SELECT * FROM (\n{select_of(source, plan)}\n) q WHERE 1 = 0"
        if asked(self.context.spark.java(), source, plan.stream, lambda session: session.texts(select)):
            raise Refused("a query of no row returned rows", stream=plan.stream, remedy="check `where`")

    @override
    def verify(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> Differences:
        return verify(self._poll(plan, settings, leased))
