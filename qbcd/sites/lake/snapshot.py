"""The state of a source for one poll: no DDL, a checked catalog, one transaction.

If the database exports snapshots, all readers share one. Otherwise each statement sees its own state, and only one
statement reads a whole range: checksums then only choose the ranges to read, and the replica stores the rows of each
range in the state of their read (docs/design/protocol.md#rule-10).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

from qbcd.catalog.capture_change import Change, change_of, columns_before
from qbcd.catalog.drift import check_source
from qbcd.catalog.source import Session, Source
from qbcd.catalog.views import check_views
from qbcd.common import hooks
from qbcd.connectors.sessions import SupportsSnapshots
from qbcd.connectors.watermarks import SupportsSystemMarks
from qbcd.model import Column, ServerIdentity, StreamPlan, Table

ISOLATION_WITHOUT_SNAPSHOT = "READ COMMITTED"  # the source need not keep old row versions for the session


@dataclass(frozen=True)
class Snapshot:
    """The state of a source for one poll; while `session` is open, no DDL can change the table.

    Attributes:
        name: Name of the exported snapshot that all readers share; None if each statement sees its own state.
        digests_changed: Digests in the replica may not be comparable with digests of now.
        change: Change of the captured definition since the last step.
        old_columns: Columns of the replica's digests, if the source can still compute these; otherwise None.
        ts_ms: The source's clock, milliseconds since 1970 UTC.
        keys_only: Checksums cover keys alone, so they do not find rows that another restriction shows or hides.
        audits: The part of each row that an audit compares, regardless of checksums; None in a poll.
        system_mark: A transaction id: rows that become visible later are written at or after it; empty if rows do not
            show that.
    """

    session: Session
    name: str | None
    table: Table
    server: ServerIdentity
    digests_changed: bool
    ts_ms: int
    change: Change
    old_columns: tuple[Column, ...] | None
    keys_only: bool = False
    audits: Literal["values", "digests"] | None = None
    system_mark: str = ""

    @property
    def reads_all(self) -> bool:
        """True if every row must be read, because stored checksums do not find all differences."""
        return self.digests_changed or self.change.columns or self.keys_only or self.audits == "values"

    @property
    def by_value(self) -> bool:
        """True if values must be compared, without old digests (docs/design/protocol.md#rule-16).

        Digests are comparable if all rows are read only because checksums cover keys alone.
        """
        by_digest = self.old_columns is not None or not (self.digests_changed or self.change.columns or self.audits)
        return self.reads_all and not by_digest

    @property
    def proves_checksums(self) -> bool:
        """True if checksums and rows are of one state, so that checksums can prove the rows."""
        return self.name is not None and not self.reads_all and self.audits is None


@contextmanager
def snapshot_of(
    source: Source,
    plan: StreamPlan,
    checkpoint: Mapping[str, Any] | None,
    *,
    one_state: bool,
    accept_source: bool = False,
) -> Iterator[Snapshot]:
    """Open one read-only transaction: lock, then snapshot, then check catalog and server.

    See docs/design/protocol.md#rule-9.

    Args:
        checkpoint: The stream's checkpoint, or None before its baseline.
        one_state: All readers must see one state; otherwise the transaction only keeps DDL away.
        accept_source: Continue although the server differs from the remembered one.
    """
    connector = source.connector
    with source.read(plan.stream, level=None if one_state else ISOLATION_WITHOUT_SNAPSHOT) as session:
        lock = connector.sessions.lock_against_rewrite(plan.table)
        if lock:
            session.run_with_next(lock)
        name = connector.require(SupportsSnapshots).export_snapshot(session.connection) if one_state else None
        check_views(source, session, plan)
        if checkpoint is None:
            table, server, digests_changed = plan.table, connector.catalog.server_identity(session.connection), False
            change, old_columns = Change(), None
        else:
            table, server, digests_changed = check_source(
                source, session, plan.stream, checkpoint, plan, accept=accept_source
            )
            change = change_of(checkpoint, plan)
            computable = bool(change) and not digests_changed
            old_columns = columns_before(source, checkpoint, replace(plan, table=table)) if computable else None
        mark = connector.require(SupportsSystemMarks).system_mark(session.connection) if name and table.paged else ""
        hooks.reach("after_snapshot")
        now = connector.catalog.clock_ms(session.connection)
        yield Snapshot(session, name, table, server, digests_changed, now, change, old_columns, system_mark=mark)
