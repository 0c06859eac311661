"""The values that all steps of one poll of the lake wing share, and its snapshot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from typing_extensions import override

from qbcd.errors import SourceChanged
from qbcd.model import KeyRange
from qbcd.model.checkpoint import Entry
from qbcd.sites import source_changes
from qbcd.sites.checkpoint import checkpoint_of
from qbcd.sites.lake.context import LakeContext
from qbcd.sites.lake.due_ranges import DueRanges
from qbcd.sites.lake.engines.base import Engine, RowChecksum
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.snapshot import Snapshot, snapshot_of
from qbcd.sites.poll import Poll
from qbcd.state import StoredRange
from qbcd.strategies import IdRcs

OnePoll = TypeVar("OnePoll", bound="ParquetPoll")
RowReader = Callable[["TablePoll", Sequence[KeyRange], "RowChecksum | None", str], FileSet]


@dataclass(frozen=True)
class ParquetPoll(Poll):
    """A poll of a stream whose replica is Parquet.

    Attributes:
        chosen: The engine within a block of :meth:`on_engine`.
    """

    context: LakeContext
    chosen: Engine | None = field(default=None, kw_only=True)

    @property
    def engine(self) -> Engine:
        """The engine of this block."""
        assert self.chosen is not None, "on_engine chooses it"
        return self.chosen

    @contextmanager
    def on_engine(self: OnePoll, fetched: int) -> Iterator[OnePoll]:
        """The poll with the engine for a part of its work; within a block, the engine of the block.

        Args:
            fetched: Approximate number of rows that come from the source or are rewritten.
        """
        if self.chosen is not None:
            yield self
            return
        with self.context.engine_for(self.settings.engine, fetched) as engine:
            yield replace(self, chosen=engine)

    def known_ranges(self) -> list[StoredRange]:
        """Return all ranges of the stream, with the replica's counts."""
        with self.context.reading() as conn:
            return self.context.store.ranges(conn, self.context.stream)


@dataclass(frozen=True)
class TimedPoll(ParquetPoll, ABC):
    """A poll that knows the time of the rows that it reads."""

    @property
    @abstractmethod
    def ts_ms(self) -> int:
        """The time of the rows, milliseconds since 1970 UTC."""


@dataclass(frozen=True)
class LakePoll(ParquetPoll):
    """A poll of a table whose replica is Parquet.

    Attributes:
        reader: Reads all rows of ranges into the stage, if they do not come straight from the table.
    """

    strategy: IdRcs
    reader: RowReader | None = field(default=None, kw_only=True)

    def at(self, snapshot: Snapshot, due: DueRanges) -> TablePoll:
        """Return the poll of this snapshot, with its catalog, and of these ranges."""
        shared = {one.name: getattr(self, one.name) for one in fields(LakePoll)}
        return TablePoll(**{**shared, "plan": self.plan.on(snapshot.table)}, snapshot=snapshot, due=due)


@dataclass(frozen=True)
class TablePoll(LakePoll, TimedPoll):
    """A poll once its snapshot is open.

    Attributes:
        snapshot: The source's state for this poll; its values remain valid after its session is closed.
        due: The ranges that the poll covers.
    """

    snapshot: Snapshot
    due: DueRanges

    @property
    @override
    def ts_ms(self) -> int:
        """The source's clock."""
        return self.snapshot.ts_ms


@contextmanager
def open_snapshot(poll: LakePoll) -> Iterator[Snapshot]:
    """Open a snapshot of the source and compare catalog and server with the checkpoint.

    Raises:
        SourceChanged: Old digests are not comparable, and the replica has no values to compare instead.
    """
    checkpoint, strategy = poll.leased.row.checkpoint, poll.strategy
    with snapshot_of(
        poll.context.source,
        poll.plan,
        checkpoint,
        one_state=strategy.partitioning.one_state,
        accept_source=poll.settings.accept_source,
    ) as snapshot:
        changed = bool(snapshot.change) or bool(poll.attached) or source_changes.is_remade(checkpoint, poll.plan)
        snapshot = replace(snapshot, keys_only=changed and strategy.summed != "digest")
        if snapshot.by_value and strategy.keeps != "rows":
            what = "the server changed" if snapshot.digests_changed else snapshot.change.describe()
            raise SourceChanged(
                f"{what}, and this stream keeps no old values by which its rows could be compared",
                stream=poll.context.stream,
                remedy=f"qbcd reset {poll.context.stream}, then prepare it again; consumers must reload",
            )
        yield snapshot


def checkpoint_entries(poll: LakePoll, snapshot: Snapshot, rows: int) -> dict[str, Any]:
    """Return the entries that every commit of a batch renews; `rows` is the replica's size."""
    shared = checkpoint_of(poll, snapshot.server, poll.context.source.connector.encoder_version, rows)
    return {**shared, Entry.FROZEN_OPTIONS: poll.strategy.frozen_options()}
