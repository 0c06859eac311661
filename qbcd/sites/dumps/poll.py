"""The values that all steps of one poll of dumps share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from typing_extensions import override

from qbcd.catalog.files import FileSource
from qbcd.files.series import DumpFile, DumpSeries, TakenDumps
from qbcd.local.errors import explained_errors
from qbcd.model import ServerIdentity, StreamPlan
from qbcd.model.checkpoint import Entry
from qbcd.sites.checkpoint import checkpoint_of
from qbcd.sites.lake.context import LakeContext
from qbcd.sites.lake.engines.local.engine import LocalEngine
from qbcd.sites.lake.poll import ParquetPoll, TimedPoll
from qbcd.snapshots.feeds import LastComparison
from qbcd.strategies import DumpStrategy

ENCODER = 1  # version of key identity and digest of dumps (`qbcd.local.dumps`)
_FILES = ServerIdentity("files", "files", "", 0)


def series_of(context: LakeContext) -> DumpSeries:
    """Return the dumps of the stream's source."""
    assert isinstance(context.source, FileSource)
    return DumpSeries(context.source.config)


def taken_by(context: LakeContext, checkpoint: Mapping[str, Any]) -> TakenDumps | None:
    """Return the dumps that the stream has taken; None before the first."""
    entry = checkpoint.get(Entry.DUMPS)
    return None if entry is None else TakenDumps.from_entry(entry, series_of(context).config.folder)


def compared_by(checkpoint: Mapping[str, Any]) -> LastComparison:
    """Return the figures of the last comparison of a stream."""
    return LastComparison.from_entry(checkpoint.get(Entry.COMPARED))


@dataclass(frozen=True)
class DumpPoll(ParquetPoll):
    """A poll of a stream of dumps."""

    strategy: DumpStrategy

    def of(self, dump: DumpFile) -> FilePoll:
        """Return the poll of one dump."""
        return FilePoll(self.context, self.plan, self.strategy, self.settings, self.leased, dump, chosen=self.chosen)


@dataclass(frozen=True)
class FilePoll(TimedPoll):
    """The step of a poll that takes one dump."""

    strategy: DumpStrategy
    dump: DumpFile

    @property
    @override
    def ts_ms(self) -> int:
        """The time of the file."""
        return self.dump.ts_ms

    @property
    def local(self) -> LocalEngine | None:
        """The engine of this block if it is this process's own, otherwise None.

        Its comparison has methods that spill.
        """
        return self.engine if isinstance(self.engine, LocalEngine) else None

    @contextmanager
    def reading(self) -> Iterator[LocalEngine]:
        """Yield the engine that reads dumps, which is always this process's own.

        Its readers spell every format.
        """
        if self.local is not None:
            yield self.local
            return
        with explained_errors(self.context.stream, self.context.local.more), self.context.local.open() as database:
            yield LocalEngine(database)

    @property
    def taken(self) -> TakenDumps | None:
        """The dumps that the stream has taken; None before the first."""
        return taken_by(self.context, self.leased.row.checkpoint)

    def with_plan(self, plan: StreamPlan) -> FilePoll:
        """Return the poll with other types of its columns."""
        return replace(self, plan=plan, strategy=DumpStrategy(plan))

    def checkpoint_entries(
        self, rows: int, header: tuple[str, ...], untyped: Sequence[str], compared: LastComparison | None = None
    ) -> dict[str, Any]:
        """Return the checkpoint after the dump.

        Args:
            rows: The replica's size.
            header: All columns of the dump.
            untyped: Captured columns without a type.
            compared: The figures of the comparison.
        """
        dumps = series_of(self.context).with_taken(self.taken, self.dump, header, untyped)
        shared = checkpoint_of(self, _FILES, ENCODER, rows)
        figures = {Entry.COMPARED: compared.as_entry()} if compared is not None else {}
        return {**shared, Entry.FROZEN_OPTIONS: {}, Entry.DUMPS: dumps.as_entry(), **figures}
