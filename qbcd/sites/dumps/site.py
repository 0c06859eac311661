"""The site of a stream of dumps: replica and batches as in the lake wing, rows from files.

A poll takes each new dump in order, in a step of its own: the rows are staged as Parquet, compared with the replica and
committed together with the name of the dump. After a crash the dump is read again, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from typing_extensions import override

from qbcd.config import StreamConfig
from qbcd.errors import DumpRefused, Refused
from qbcd.files.series import DumpFile, TakenDumps
from qbcd.model import Cost, Statement, StreamPlan
from qbcd.sites.dumps import verify
from qbcd.sites.dumps.plan import fitted_plan, opened, plan_of_dumps, untyped_columns
from qbcd.sites.dumps.poll import DumpPoll, compared_by, series_of, taken_by
from qbcd.sites.dumps.take import take_dump, take_first
from qbcd.sites.lake.compaction import remove_expired
from qbcd.sites.lake.parquet_site import ParquetSite
from qbcd.sites.values import Detection, Differences, ExplainedStatement, LeasedStream, Settings
from qbcd.snapshots.feeds import Sides
from qbcd.state import StreamRow
from qbcd.strategies import AUTO, DumpStrategy

_ORDERS = {"name": "name, numbers as numbers", "text": "name as text", "modified": "time of modification"}


class DumpSite(ParquetSite):
    """A stream whose source is a series of dumps."""

    @override
    def strategy(self, plan: StreamPlan) -> DumpStrategy:
        return DumpStrategy(plan)

    def plan(self, config: StreamConfig, settings: Settings, row: StreamRow | None) -> StreamPlan:
        """Return the stream's plan, by its first dump or by the checkpoint."""
        return plan_of_dumps(self.context, config, settings, row)

    @override
    def examine_before_prepare(self, plan: StreamPlan, place: Callable[[str], str]) -> list[str]:
        return self.strategy(plan).warnings()  # the plan has read the first dump's header; its rows are read once

    @override
    def create(self, plan: StreamPlan, settings: Settings) -> None:
        with self.context.writing() as conn:
            self.context.store.create(conn)
        self.context.files.create()

    @override
    def ddl(self, plan: StreamPlan) -> list[str]:
        return []

    @override
    def _poll(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> DumpPoll:
        return DumpPoll(self.context, plan, self.strategy(plan), settings, leased)

    @override
    def prepare(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> Detection:
        ready, _ = series_of(self.context).after(None)
        if not ready:
            raise Refused("its first dump was removed a moment ago", stream=plan.stream, remedy="prepare it again")
        return take_first(self._poll(plan, settings, leased).of(ready[0]))

    @override
    def detect(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> Iterator[Detection]:
        poll = self._poll(plan, settings, leased)
        series, taken = series_of(self.context), taken_by(self.context, leased.row.checkpoint)
        ready, remarks = series.after(taken)
        if ready:
            remarks += series.contradiction([*([taken.last] if taken else []), *ready])
        for dump in ready:
            if self.context.stopping():
                return
            yield take_dump(poll.of(dump))
        if remarks or not ready:
            yield Detection(None, Cost(), remarks=tuple(remarks))

    @override
    def collect(self, plan: StreamPlan, leased: LeasedStream, settings: Settings) -> None:
        remove_expired(self._poll(plan, settings, leased), changed=True)

    @override
    def explain(self, plan: StreamPlan, settings: Settings, row: StreamRow | None) -> list[ExplainedStatement]:
        series = series_of(self.context)
        taken = taken_by(self.context, row.checkpoint) if row is not None and row.prepared else None
        ready, remarks = series.after(taken)
        waiting = ", ".join(one.name for one in ready) or (remarks[0] if remarks else "none now")
        columns = ", ".join(c.name for c in plan.captured)
        key = ", ".join(c.name for c in plan.key)
        return [
            ExplainedStatement(
                f"new files of {series.config.files}, by {_ORDERS[series.config.order]}: {waiting}",
                "this process, once for each file",
                Statement(f"SELECT {columns} FROM dump"),
            ),
            ExplainedStatement(
                f"the changes, {self._method(plan, row)}",
                "this process",
                Statement(f"SELECT * FROM replica FULL JOIN dump USING ({key})"),
            ),
        ]

    def _method(self, plan: StreamPlan, row: StreamRow | None) -> str:
        """Return a line about the method of the next comparison, by the last one.

        The line has the method's name, the reason and its blocks.
        """
        strategy = self.strategy(plan)
        if row is None or not row.prepared:
            return f"method {strategy.method}: there is no replica to compare with yet"
        last, rows = compared_by(row.checkpoint), int(row.checkpoint["rows"])
        if strategy.method == AUTO and not last.width:
            return "method auto: chosen at the next file, by its size"
        chosen = strategy.chosen(Sides(rows, rows, last.width), last)
        blocks = ", ".join(f"{name} {count:,.0f}" for name, count in chosen.blocks.items())
        shown = f" (blocks of 16 KiB: {blocks})" if blocks else ""
        return f"method {chosen.method}: {chosen.reason}{shown}"

    def check_dumps(self, plan: StreamPlan, row: StreamRow | None) -> tuple[str, list[str]]:
        """Return what the next poll reads, and remarks; open the next file.

        Raises:
            DumpRefused: The next file cannot be read, or comes too late.
        """
        series = series_of(self.context)
        taken = taken_by(self.context, row.checkpoint) if row is not None and row.prepared else None
        ready, remarks = series.after(taken)
        for one in ready[:1]:
            remarks += self._next(plan, one, taken)
        names = ", ".join(one.name for one in ready[:3]) + (" .." if len(ready) > 3 else "")
        last = f"; the last one taken is {taken.last.name}" if taken else ""
        return (f"the next poll reads {names}" if ready else "no new file") + last, remarks + series.doubts(taken)

    def _next(self, plan: StreamPlan, one: DumpFile, taken: TakenDumps | None) -> list[str]:
        """Open the next dump, and return remarks on the types of its columns.

        Raises:
            DumpRefused: It cannot be read, or has other columns.
        """
        reader = opened(one, series_of(self.context).config, plan.stream, taken.header if taken else ())
        if taken is not None:
            try:
                fitted = fitted_plan(reader, plan, taken, digests=self.strategy(plan).keeps == "digests")
            except DumpRefused as error:
                error.stream = plan.stream
                raise
            pairs = zip(plan.captured, fitted.plan.captured, strict=True)
            return [f"{a.name} is {b.sql_type} in {one.name} and was {a.sql_type}" for a, b in pairs if a != b]
        return [
            f"column {name} has no type in {one.name}, only NULL: it is text until a file has a type; if you know the "
            "type, write it under `types` of the source's `format`"
            for name in untyped_columns(reader, plan)
        ]

    @override
    def verify(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> Differences:
        return verify.verify(self._poll(plan, settings, leased))
