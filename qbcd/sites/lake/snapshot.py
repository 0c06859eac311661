"""Reading a source for one poll: DDL kept away, catalog checked, checksums on all connections, rows by Spark.

Where the database exports snapshots, everything comes from one. Elsewhere every statement sees a state of its own, and
what holds is that a range is read whole by one of them: checksums then only say which ranges to read, and what is kept
of a range is what its rows were when they were read (docs/design/protocol.md#rule-10).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from qbcd import hooks
from qbcd.catalog.capture_change import Change, change_of, columns_before
from qbcd.catalog.drift import FROZEN_OPTIONS, check_server, check_shape
from qbcd.catalog.source import Session, Source
from qbcd.catalog.views import check_views
from qbcd.connectors.sessions import SupportsSnapshots
from qbcd.connectors.watermarks import SupportsSystemMarks
from qbcd.errors import SourceChanged
from qbcd.model import Column, ServerIdentity, StreamPlan, Table
from qbcd.sites import source_changes
from qbcd.sites.checkpoint import checkpoint_of
from qbcd.sites.lake.context import LakeContext
from qbcd.sites.values import LeasedStream, Settings
from qbcd.strategies import LakeTs

if TYPE_CHECKING:
    pass

EACH_ITS_OWN = "READ COMMITTED"  # the level at which the source has to keep no state for a session


@dataclass(frozen=True)
class Snapshot:
    """The source as a poll reads it, its table's definition kept by `session` as long as that is open.

    Attributes:
        name: Of the one state that `session` and all who import it see; None where each statement sees its own.
        rebase: The digests kept from earlier may mean something else now.
        change: What is captured otherwise than before.
        whole: Checksums are of keys alone, and say nothing of rows under another restriction.
        audited: Values are compared, whatever digests say.
        was: The columns whose digests the replica has, where the source can still compute them; None where it cannot.
        ts_ms: The source's clock, milliseconds since 1970 UTC.
        mark: What rows that become visible later are written at or after; empty where rows do not tell that.
    """

    session: Session
    name: str | None
    table: Table
    server: ServerIdentity
    rebase: bool
    ts_ms: int
    change: Change
    was: tuple[Column, ...] | None
    whole: bool = False
    audited: bool = False
    mark: str = ""

    @property
    def anew(self) -> bool:
        """Every row has to be read: checksums kept from earlier do not tell which ones differ."""
        return self.rebase or self.change.columns or self.whole or self.audited

    @property
    def by_value(self) -> bool:
        """Nor can the source compute the old ones: values are compared (docs/design/protocol.md#rule-16)."""
        return self.anew and self.was is None


@contextmanager
def snapshot_of(
    source: Source,
    plan: StreamPlan,
    checkpoint: Mapping[str, Any] | None,
    *,
    one_state: bool,
    accept_source: bool = False,
) -> Iterator[Snapshot]:
    """One read-only transaction: the lock first, then the snapshot, then catalog and server in it.

    See docs/design/protocol.md#rule-9.

    Args:
        source: Where the table is.
        plan: The stream.
        checkpoint: What the stream remembers, or None before its baseline.
        one_state: Whether all who read are to see one state; else the transaction keeps DDL away, and nothing more.
        accept_source: Go on although the server is another than remembered.
    """
    connector = source.connector
    with source.read(plan.stream, level=None if one_state else EACH_ITS_OWN) as session:
        lock = connector.sessions.lock_against_rewrite(plan.table)
        if lock:
            session.run(lock)
        name = connector.require(SupportsSnapshots).export_snapshot(session.connection) if one_state else None
        check_views(source, session, plan)
        if checkpoint is None:
            table, server, rebase = plan.table, connector.catalog.server_identity(session.connection), False
            change, was = Change(), None
        else:
            table = check_shape(source, session, plan.stream, checkpoint, plan)
            server, rebase = check_server(source, session, plan.stream, checkpoint, accept=accept_source)
            change = change_of(checkpoint, plan)
            was = columns_before(checkpoint, replace(plan, table=table)) if change and not rebase else None
        mark = connector.require(SupportsSystemMarks).system_mark(session.connection) if name and table.paged else ""
        hooks.reach("after_snapshot")
        now = connector.catalog.clock_ms(session.connection)
        yield Snapshot(session, name, table, server, rebase, now, change, was, mark=mark)


@contextmanager
def remembered(context: LakeContext, plan: StreamPlan, held: LeasedStream, settings: Settings) -> Iterator[Snapshot]:
    """The source as it is now, held against what the stream remembers.

    Raises:
        SourceChanged: Its digests mean something else now, and the replica has no values to compare instead.
    """
    strategy, accept = context.strategy(plan), settings.accept_source
    with snapshot_of(
        context.source, plan, held.row.checkpoint, one_state=strategy.partitioning.one_state, accept_source=accept
    ) as snapshot:
        other = bool(snapshot.change) or source_changes.is_remade(held.row.checkpoint, plan)
        snapshot = replace(snapshot, whole=other and isinstance(strategy, LakeTs))
        if snapshot.by_value and strategy.keeps != "rows":
            what = "the server changed" if snapshot.rebase else snapshot.change.told()
            raise SourceChanged(
                f"{what}, and this stream keeps no old values by which its rows could be compared",
                stream=context.stream,
                remedy=f"qbcd reset {context.stream}, then prepare it again; consumers must reload",
            )
        yield snapshot


def checkpoint_entries(
    context: LakeContext, plan: StreamPlan, settings: Settings, snapshot: Snapshot, rows: int
) -> dict[str, Any]:
    """What the stream remembers beside its watermark."""
    encoder, settled = context.source.connector.encoder_version, context.strategy(plan).frozen_options()
    return {**checkpoint_of(plan, settings, snapshot.server, encoder, rows), FROZEN_OPTIONS: settled}
