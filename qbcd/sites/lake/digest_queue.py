"""Digests and queue in the source, for TLCS with a lake replica.

This is variant c of Carnes & Hanson, 3.3.

The source keeps a digest of each row as the lake replica has it. A poll puts the rows whose digest differs into the
queue, reads them from there, commits them in the lake, and only then advances the digests, from the same queue. So a
digest always belongs to the very row that travelled: a row that changes meanwhile differs again at the next poll.

The source's row `position` names the commit of the lake that the digests show. If it is not the stream's last one (a
state that was restored, a poll that was stopped in between), the digests prove nothing: they are removed, and every row
travels once more.

The row also fences pollers: `queued` names the commit for which one works, from its first statement on. A poller that
was overtaken while it was paused finds another name there, and changes nothing; the one that it overtakes in its turn
finds the other's name before it commits in the lake.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from qbcd.catalog.capture_change import Change
from qbcd.catalog.drift import check_shape
from qbcd.catalog.source import Session, Source
from qbcd.catalog.views import check_views
from qbcd.errors import StateConflict
from qbcd.model import KeyRange, StreamPlan
from qbcd.model.checkpoint import Entry
from qbcd.ranges import schedule
from qbcd.sites import own_tables
from qbcd.sites.context import StreamContext
from qbcd.sites.lake.context import LakeContext
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.base import RowChecksum
from qbcd.sites.lake.poll import LakePoll, TablePoll
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.stage import frame, stage_fields, write_stage
from qbcd.sites.refusals import check_key
from qbcd.sites.values import ExplainedStatement, LeasedStream
from qbcd.sites.widened_columns import widening
from qbcd.state import StoredRange, StreamStore, nothing_to_take_over, takeover
from qbcd.state.tables import create_schema, lock_ddl, schema_ddl
from qbcd.strategies import OutboxSlice, QueuedTlcs
from qbcd.strategies.base import table_name
from qbcd.strategies.in_source import sql_name
from qbcd.strategies.outbox import OPEN

SELECT_ONLY = "strategy id_rcs needs only SELECT"
STEP_ROWS = 200_000  # rows of the table that one transaction compares
SLICE = OutboxSlice(0, OPEN)  # of the outbox: it holds nothing but the queue


class DigestQueue:
    """Digests, queue and position of one stream in the source.

    Args:
        poll: The poll, or the baseline.
    """

    def __init__(self, poll: LakePoll, strategy: QueuedTlcs) -> None:
        self.poll, self.context, self.strategy = poll, poll.context, strategy
        self._position = sql_name(self.context.source.connector, self.strategy.position)

    # -- tables ------------------------------------------------------------------------------------------------------
    def create(self) -> None:
        """Create schema and tables if they are missing, and the row of the position.

        Raises:
            MissingPrivilege: The role may not.
            StateConflict: The tables are another project's.
        """
        source, stream, project = self.context.source, self.context.stream, self.context.project.project_id
        with own_tables.explaining_rights(source, stream, SELECT_ONLY), source.write(stream) as session:
            conn = session.connection
            lock_ddl(conn)
            create_schema(conn, source.schema)
            self._refuse_foreign(session)
            drops, made = own_tables.creation(source, conn, stream, self.strategy)
            own_tables.alter(partial(self._run, session), stream, drops)
            self._run(session, made)
        with source.write(stream) as session:
            if not session.rows(f"SELECT project FROM {self._position}"):
                session.run(f"INSERT INTO {self._position} (project, applied, queued) VALUES ('{project}', '', '')")
            self._locked(session)

    def widen(self, change: Change) -> None:
        """Give columns of the tables the wider types of their captured columns.

        Raises:
            MissingPrivilege: The role does not own the tables.
        """
        connector, strategy, stream = self.context.source.connector, self.strategy, self.context.stream
        tables = strategy.tables()
        with self.context.source.write(stream) as session:
            present = connector.catalog.probe_tables(session.connection, [table.name for table in tables])
            images = strategy.finder.image_names(tuple(name for name, *_ in change.retyped))
            statements = widening(connector, list(zip(tables, present, strict=True)), change, images)
            own_tables.alter(partial(self._run, session), stream, statements)

    def _run(self, session: Session, statements: Sequence[str]) -> None:
        for statement in statements:
            self.poll.leased.keeper.check()
            session.run(statement)

    def _refuse_foreign(self, session: Session) -> None:
        """Refuse if the source has tables of these names for another project.

        Raises:
            StateConflict: It has.
        """
        context, conn, store = self.context, session.connection, StreamStore(self.context.source.schema)
        if store.exists(conn) and store.holds(conn, context.stream):
            raise self._foreign(f"table {store.place} has a stream of this name")
        if context.source.connector.catalog.probe_tables(conn, [self.strategy.position])[0]:
            owners = {row.project for row in session.rows(f"SELECT project FROM {self._position}")}
            if owners - {context.project.project_id}:
                raise self._foreign(f"table {'.'.join(self.strategy.position)} names project {min(owners)}")

    def _foreign(self, why: str) -> StateConflict:
        return StateConflict(
            f"the tables of its digests in schema {self.context.source.schema} are not this project's: {why}",
            stream=self.context.stream,
            remedy="give the source another `schema`; or, if no project polls them any more: "
            f"qbcd reset {self.context.stream} --discard --take-over",
        )

    def _locked(self, session: Session) -> tuple[str, str]:
        """Lock the position for this transaction; return the commits `applied` and `queued`.

        Raises:
            StateConflict: It is another project's.
        """
        session.run(f"UPDATE {self._position} SET project = project")
        found = session.rows(f"SELECT project, applied, queued FROM {self._position}")
        project = self.context.project.project_id
        if len(found) != 1 or found[0].project != project:
            named = ", ".join(row.project for row in found) or "no project"
            raise self._foreign(f"table {'.'.join(self.strategy.position)} names {named}")
        return found[0].applied, found[0].queued

    def _move(self, session: Session, *, applied: str, queued: str) -> None:
        session.run(f"UPDATE {self._position} SET applied = '{applied}', queued = '{queued}'")

    # -- commits -----------------------------------------------------------------------------------------------------
    def new_commit(self) -> str:
        """Return the name of the commit that is to follow."""
        row = self.poll.leased.row
        return f"{row.epoch}.{row.version}.{uuid.uuid4().hex[:16]}"

    @property
    def committed(self) -> str:
        """The name of the lake's last commit that digests show, or are to show."""
        return str(self.poll.leased.checkpoint.get(Entry.DIGESTS, ""))

    def is_current(self) -> bool:
        """Return True if the digests show the lake's last commit.

        Finish an advance that was interrupted.
        """
        with self._writing() as session:
            applied, queued = self._locked(session)
        return applied == self.committed or (queued == self.committed and self.advance(self.committed))

    def restart(self, commit: str) -> None:
        """Remove all digests: each row then travels, and its digest is stored again, for `commit`."""
        connector = self.context.source.connector
        with self._writing() as session:
            self._locked(session)
            session.run(f"DELETE FROM {sql_name(connector, self.strategy.finder.replica)}")
            self._clear(session)
            self._move(session, applied="", queued=commit)

    def settle(self, commit: str) -> None:
        """Store that the digests show `commit`, after `restart` and `fetch_ranges`.

        Another poller may have restarted: then nothing is stored.
        """
        with self._writing() as session:
            if self._locked(session) == ("", commit):
                self._move(session, applied=commit, queued="")

    def find(self, known: Sequence[StoredRange], commit: str) -> int:
        """Put the rows that differ into the queue, for `commit`; return their number."""
        found, finder = 0, self.strategy.finder
        steps = list(_steps(known))
        for i, within in enumerate(steps):
            with self._writing(table=True) as session:
                applied, queued = self._locked(session)
                if applied != self.committed or (i > 0 and queued != commit):
                    raise self._overtaken()
                if i == 0:
                    self._clear(session)
                    check_key(session, finder, None, self.poll.plan)
                found += session.run(finder.differences(replace(SLICE, first=found), within))
                last = i == len(steps) - 1
                self._move(session, applied=applied, queued="" if last and not found else commit)
        return found

    def refuse_overtaken(self, commit: str) -> None:
        """Refuse rows that were read from the queue of `commit` if it has become another poller's.

        Raises:
            StateConflict: It has.
        """
        with self.context.source.read(self.context.stream) as session:
            if session.one(f"SELECT queued FROM {self._position}").queued != commit:
                raise self._overtaken()

    def advance(self, commit: str) -> bool:
        """Store the digests of the queue, which `commit` has taken into the lake.

        Return False if the queue is another commit's.
        """
        with self._writing() as session:
            if self._locked(session)[1] != commit:
                return False
            self._apply(session)
            self._move(session, applied=commit, queued="")
        return True

    def fetch_ranges(
        self, commit: str, poll: TablePoll, asked: Sequence[KeyRange], checksum: RowChecksum | None, kind: str
    ) -> FileSet:
        """Read all rows of `asked` into the stage for `commit`, without a checksum.

        They travel through the queue, so that the digests in the source are those of the rows that the lake gets.

        Raises:
            StateConflict: Another poller has begun since `restart`.
        """
        parts = [self._fetch(commit, poll, asked, within) for within in _steps(asked)]
        if len(parts) == 1:
            return parts[0]
        fields = stage_fields(poll)
        rows = algebra.union([poll.context.files.read(poll.engine, fields, part) for part in parts])
        try:
            return poll.context.files.write(poll.engine, rows, fields, kind, poll.leased)
        finally:
            poll.context.files.discard(*parts)

    def _fetch(self, commit: str, poll: TablePoll, asked: Sequence[KeyRange], within: KeyRange | None) -> FileSet:
        """Read all rows of `within`, whose digests were removed, and store their digests.

        `asked` are all ranges.
        """
        with self._restarted(commit, table=True) as session:
            self._clear(session)
            session.run(self.strategy.finder.differences(SLICE, within))
        found = self.read(poll, asked)
        with self._restarted(commit) as session:
            self._apply(session, within)
        return found

    def read(self, poll: TablePoll, asked: Sequence[KeyRange]) -> FileSet:
        """Read the new and changed rows of the queue into a stage."""
        statement = self.strategy.queued_rows(asked, SLICE, typed=poll.settings.typed)
        rows = frame(self._without_snapshot(poll), [statement], stage_fields(poll))
        return write_stage(poll, rows, stage_fields(poll))

    def read_keys(self, poll: TablePoll, asked: Sequence[KeyRange]) -> FileSet:
        """Read the keys of all rows of the queue, also of deleted ones."""
        statement = self.strategy.queued_keys(asked, SLICE)
        return write_stage(poll, frame(self._without_snapshot(poll), [statement], KEY_FIELDS), KEY_FIELDS)

    # -- transactions ------------------------------------------------------------------------------------------------
    @contextmanager
    def _writing(self, *, table: bool = False) -> Iterator[Session]:
        """Run the block in a transaction on the source.

        With `table` it reads the captured table, which DDL must not change meanwhile.
        """
        context, plan, connector = self.context, self.poll.plan, self.context.source.connector
        self.poll.leased.keeper.check()
        with context.source.write(context.stream) as session:
            if table:
                if lock := connector.sessions.lock_against_rewrite(plan.table):
                    session.run(lock)
                check_views(context.source, session, plan)
                own = [context.source.schema, *(one.name[1] for one in self.strategy.tables())]
                connector.catalog.check_in_source(session.connection, plan.table, stream=context.stream, own=own)
                if checkpoint := self.poll.leased.row.checkpoint:
                    check_shape(context.source, session, context.stream, checkpoint, plan)
            yield session

    @contextmanager
    def _restarted(self, commit: str, *, table: bool = False) -> Iterator[Session]:
        """Run the block as `_writing` does, if digests are being made for `commit`.

        Raises:
            StateConflict: They are made for another commit.
        """
        with self._writing(table=table) as session:
            if self._locked(session) != ("", commit):
                raise self._overtaken()
            yield session

    def _clear(self, session: Session) -> None:
        session.run(f"DELETE FROM {sql_name(self.context.source.connector, self.strategy.finder.outbox)}")

    def _apply(self, session: Session, within: KeyRange | None = None) -> None:
        """Store the digests of the queue, and empty it."""
        finder = self.strategy.finder
        counts = {r.op.strip(): int(r.events) for r in session.rows(finder.counts(SLICE))}
        applied = [session.run(s) for s in finder.apply(SLICE, within)]
        updates = counts.get("u", 0)
        if applied[:2] != [counts.get("d", 0) + updates, counts.get("c", 0) + updates]:
            raise StateConflict(
                f"table {'.'.join(finder.replica)} does not have the digests that the queue was compared with: it was "
                "changed by hand",
                stream=self.context.stream,
                remedy=f"qbcd reset {self.context.stream}, then prepare it again; consumers must reload",
            )
        self._clear(session)

    @staticmethod
    def _without_snapshot(poll: TablePoll) -> TablePoll:
        """Return the poll as one that reads the present state.

        The queue is newer than the poll's snapshot.
        """
        return replace(poll, snapshot=replace(poll.snapshot, name=None))

    def _overtaken(self) -> StateConflict:
        return StateConflict(
            "another poller has changed the digests in the source meanwhile",
            stream=self.context.stream,
            remedy="poll again",
        )


KEY_FIELDS = [("range_id", "bigint"), ("key_id", "binary"), ("digest", "bigint")]


def _steps(asked: Sequence[KeyRange]) -> Iterator[KeyRange | None]:
    """Yield all ranges `asked` as few ranges of about `STEP_ROWS` rows; None is the whole table."""
    left = list(asked)
    while left:
        step = schedule.next_step(left, STEP_ROWS)
        whole = len(step) == len(asked)
        left = left[len(step) :]
        yield None if whole else schedule.as_one(step)


def ddl(context: LakeContext, plan: StreamPlan, strategy: QueuedTlcs) -> list[str]:
    """Return the DDL of schema and tables, and the grants, for a DBA."""
    source = context.source
    with source.read(context.stream) as session:
        conn = session.connection
        return [schema_ddl(conn, source.schema), *own_tables.ddl(source, conn, plan, strategy, strategy.finder)]


def explain(source: str, strategy: QueuedTlcs, known: Sequence[KeyRange], *, typed: bool) -> list[ExplainedStatement]:
    """Return the statements of a poll that finds changed rows by the digests in the source."""
    finder, place = strategy.finder, f"source {source}, in schema {strategy.position[0]}"
    advance = [ExplainedStatement("store their digests, once the lake has them", place, s) for s in finder.apply(SLICE)]
    return [
        ExplainedStatement("rows that differ from their digest, into the queue", place, finder.differences(SLICE)),
        ExplainedStatement(
            "new and changed rows of the queue",
            f"source {source}, read only",
            strategy.queued_rows(known, SLICE, typed=typed),
        ),
        ExplainedStatement("keys of the queue", f"source {source}, read only", strategy.queued_keys(known, SLICE)),
        *advance,
    ]


def is_used(context: LakeContext, leased: LeasedStream) -> bool:
    """Return True if the stream has tables in the source of `context`.

    The configuration need not name that source any more.
    """
    requested = leased.checkpoint.requested
    options = requested.get("options", {})
    return (
        requested.get("source") == context.source.name
        and options.get("replica") == "lake"
        and (requested.get("strategy") == "tlcs")
    )


def position_of(source: Source, stream: str) -> tuple[str, str] | None:
    """Return the project that owns a stream's queue, and the commits that its digests show.

    The queue is in `source`; return None without such a table. The commits change with each poll that finds changes.
    """
    name = (source.schema, table_name("queue", stream))
    with source.read(stream) as session:
        if not source.connector.catalog.probe_tables(session.connection, [name])[0]:
            return None
        rows = session.rows(f"SELECT project, applied, queued FROM {sql_name(source.connector, name)}")
        return (str(rows[0].project), f"{rows[0].applied} {rows[0].queued}") if rows else None


def drop(source: Source, stream: str) -> None:
    """Drop the tables of a stream in a source; empty those that a DBA created."""

    def run(statements: Sequence[str]) -> None:
        with source.write(stream) as session:
            for statement in statements:
                session.run(statement)

    own_tables.remove(source, stream, run)


def take_over(context: StreamContext) -> None:
    """Drop the digests that another project keeps in a source.

    This project can then prepare the stream. It waits until the other project has found no change for
    `takeover.QUIET_S` seconds. A project that still polls finds its tables missing and is refused, so it loses no
    change in silence.

    Raises:
        StateConflict: The other project polls, or there are no such tables of another project.
    """
    first = position_of(context.source, context.stream)
    if first is None or first[0] == context.project.project_id:
        raise nothing_to_take_over(context.stream, ours=first is not None)
    until = time.monotonic() + takeover.QUIET_S
    while (left := until - time.monotonic()) > 0:
        context.progress(f"watching for {left:.0f} s if its project still polls")
        context.rest(min(left, 1.0))
        _refuse_moved(context, first)
    _refuse_moved(context, first)
    drop(context.source, context.stream)


def _refuse_moved(context: StreamContext, first: tuple[str, str]) -> None:
    if position_of(context.source, context.stream) != first:
        raise StateConflict(
            "the project that prepared it has just polled it",
            remedy="end its processes first; or give this project another `schema:`",
            stream=context.stream,
        )
