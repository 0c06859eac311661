"""Polls of TS in the lake wing: read the rows of a window, and sweep for deletes if due.

    read clock and open transactions -> fetch the window -> compare with the replica -> sweep

The source is only read. A range's checksum covers the keys that the replica has in it, so a sweep fetches only the
keys of dirty ranges (docs/design/architecture.md#reading-2, docs/design/protocol.md#rule-14).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from typing_extensions import override

from qbcd.catalog.capture_change import change_of
from qbcd.catalog.source import Session
from qbcd.common import hooks
from qbcd.model import Cost, KeyRange
from qbcd.model.checkpoint import Entry
from qbcd.ranges import schedule
from qbcd.sites import checkpoint as checkpoints
from qbcd.sites import eligibility, source_changes
from qbcd.sites.eligibility import Place
from qbcd.sites.lake import explain, verify
from qbcd.sites.lake.commit import RangeChanges, WrittenBatch, write_with_growth
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.base import grown
from qbcd.sites.lake.modes import audit, sweep
from qbcd.sites.lake.modes.base import LakeMode, LakeStep, Step, Unchanged, one_step
from qbcd.sites.lake.modes.table import poll_table
from qbcd.sites.lake.poll import LakePoll, TablePoll
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.replica.schema import Fields, row_fields
from qbcd.sites.lake.stage import check_values, frame, replica_rows, stable_values, write_stage
from qbcd.sites.refusals import check_key
from qbcd.sites.values import Detection, Differences, ExplainedStatement, Settings
from qbcd.sites.watermark import next_watermark, next_window, watermark_of_poll
from qbcd.state import StoredRange, StreamRow
from qbcd.strategies import LakeTs
from qbcd.watermark import Window

SHOWN = (("shown", "int"),)
ROW_BYTES = 20  # of a fetched row, at least


class LakeWindowMode(LakeMode[LakeTs]):
    """The mode of polls that read the rows of a window of timestamps.

    Sweeps find deletes, audits everything else.
    """

    @override
    def refuse_unfit(self, session: Session, place: Place) -> None:
        eligibility.refuse_unsafe_watermark(self.context.source, session, self.strategy.watermarked, place)

    @override
    def remarks(self, session: Session) -> list[str]:
        return eligibility.watermark_remarks(self.context.source, session, self.strategy.watermarked)

    @override
    def ddl(self) -> list[str]:
        with self.context.source.read(self.context.stream) as session:
            return eligibility.suggestions(self.context.source, session, self.strategy.watermarked)

    @override
    def entries_before_baseline(self, poll: LakePoll) -> dict[str, Any]:
        entry = next_watermark(self.context.source, self.strategy.watermarked, None).entry
        hooks.reach("after_horizon")
        with self.context.reading() as conn:
            return {Entry.WATERMARK: entry, Entry.SWEPT: self.context.store.now(conn)}

    @override
    def _poll(self, poll: LakePoll) -> Iterator[Detection]:
        """Read the window, then sweep and audit if due.

        Compare all rows if timestamps do not show all changes.
        """
        context, plan, leased, strategy = poll.context, poll.plan, poll.leased, self.strategy
        remade = source_changes.is_remade(leased.row.checkpoint, plan)
        untrusted = source_changes.server_changed(poll) or (remade and strategy.watermarked.kind == "counter")
        watermarks = [(strategy.watermarked, leased.checkpoint.watermark["at"])]
        attached: tuple[str, ...] = ()
        if not remade:
            attached = source_changes.attached_parts(context.source, leased.row.checkpoint, plan, watermarks)
        poll = replace(poll, attached=attached)
        compares_all = untrusted or remade or bool(attached or change_of(leased.row.checkpoint, plan))
        known = None if untrusted else leased.checkpoint.watermark
        ahead = watermark_of_poll(context, leased, strategy.watermarked, known)
        hooks.reach("after_horizon")
        entries = {Entry.WATERMARK: ahead.entry}
        if compares_all:
            kept = {n: leased.row.checkpoint[n] for n in (Entry.SWEPT, Entry.AUDITED) if n in leased.checkpoint}
            found = poll_table(poll, {**kept, **entries})
            said = source_changes.remark(plan) if remade else source_changes.attached_remark(plan, attached)
            yield replace(found, warnings=(*found.warnings, said)) if remade or attached else found
            return
        window = strategy.watermarked.window(
            None if ahead.reread else leased.checkpoint.watermark["at"], ahead.entry["at"]
        )
        found = one_step(poll, partial(fetch_window, strategy=strategy, window=window), entries)
        yield replace(found, remarks=(ahead.remark,) if ahead.remark else ())
        every = plan.option("deletes")
        if isinstance(every, timedelta) and not context.stopping():
            with context.reading() as conn:
                now = context.store.now(conn)
            if schedule.is_due(leased.checkpoint.swept, every, now):
                yield one_step(poll, partial(sweep.fetch_missing, strategy=strategy), {Entry.SWEPT: now})
        if began := checkpoints.due(poll):
            yield one_step(poll, partial(audit.fetch_all, strategy=strategy), {Entry.AUDITED: began})

    @override
    def _compared(self, poll: TablePoll, known: Sequence[StoredRange], stages: ExitStack) -> Differences:
        """Return the changes that an audit would make.

        Deleted keys, which a sweep finds, are listed apart.
        """
        before = self.strategy.watermarked.window(None, poll.leased.checkpoint.watermark["at"])
        if before is None:
            return Differences()
        fetched = audit.fetch_settled(poll, self.strategy, before)
        stages.callback(poll.context.files.discard, fetched)
        stage = algebra.gathered(audit.settled_rows(poll, fetched), 2 * sum(r.rows for r in known))
        found = algebra.settled_differences(replica_rows(poll, known), stage, poll.plan, stable_values(poll))
        missing = algebra.deletes(found)
        if poll.plan.where:  # rows that left the restriction without a new timestamp: no sweep finds them
            keys = sweep.fetch_keys(poll, self.strategy, known)
            stages.callback(poll.context.files.discard, keys)
            missing = algebra.without_keys(missing, sweep.keys_of(poll, keys))
        return verify.apart(poll, algebra.without_keys(found, missing), missing)

    @override
    def explain(self, settings: Settings, row: StreamRow | None, known: Sequence[KeyRange]) -> list[ExplainedStatement]:
        strategy, place = self.strategy, f"source {self.context.source.name}, read only"
        window = next_window(strategy.watermarked, row if row and row.prepared else None)
        rows = strategy.window_images(known, window, typed=settings.typed)
        steps = [
            ExplainedStatement("check if the window has any rows", place, strategy.watermarked.any_row(window)),
            ExplainedStatement("rows of the window, by Spark", place, rows),
        ]
        if self.plan.option("deletes"):
            steps += explain.checksums(strategy, known, settings, place, title="key checksums of a sweep")
            steps.append(explain.fetch(strategy, "keys", strategy.keys(known[:1]), place))
        if settings.config.audit:
            images = strategy.settled_images(known[:1], Window(None, window.hi), typed=settings.typed)
            steps.append(ExplainedStatement(explain.AUDITED_VALUES, place, images))
        return steps


def fetch_window(poll: TablePoll, strategy: LakeTs, window: Window | None) -> Step:
    """Fetch the rows of the window; without any, only the watermark advances, without an engine."""
    session = poll.snapshot.session
    check_key(session, strategy, None, poll.plan)
    if not window or not session.rows(strategy.watermarked.any_row(window)):
        return Unchanged(poll, Cost(), {Entry.MADE: poll.plan.made()})
    poll.context.progress("fetching the rows of the window")
    fields = _fields(poll)
    query = strategy.window_images(poll.due.known, window, typed=poll.settings.typed)
    with poll.on_engine(0) as work:  # the number of rows is not known before they are read
        return WindowStep(poll, write_stage(work, frame(work, [query], fields), fields))


def _fields(poll: LakePoll) -> Fields:
    strategy = poll.strategy
    return row_fields(strategy.plan, typed=poll.settings.typed, extra=(*strategy.extra, *SHOWN))


class WindowStep(LakeStep):
    """Compare the rows of a window with the replica's rows of the same keys."""

    def __init__(self, poll: TablePoll, fetched: FileSet) -> None:
        super().__init__(poll, fetched)
        self.stage_files, self.size = fetched, fetched.size // ROW_BYTES
        self.read = 0
        self.touched: Sequence[StoredRange] = ()
        self.growth: dict[int, tuple[int, int]] = {}

    @override
    def write(self) -> WrittenBatch:
        poll = self.poll
        stage = poll.context.files.read(poll.engine, _fields(poll), self.stage_files)
        check_values(poll, stage)
        sizes = algebra.sums(poll.engine, stage, "key_digest")
        self.read = sum(n for n, _ in sizes.values())
        # without any, the rows have left the window since the query for any row
        self.touched = [r for r in poll.due.known if r.range_id in sizes] or poll.due.known[:1]
        changes = algebra.window_differences(replica_rows(poll, self.touched), stage, poll.plan, self.read)
        found, self.growth = write_with_growth(poll, changes, self.read)
        return found

    @override
    def ranges(self, found: WrittenBatch) -> RangeChanges:
        return RangeChanges(grown(self.touched, self.growth))

    @override
    def cost(self) -> Cost:
        return Cost(self.read, self.read, self.stage_files.size)
