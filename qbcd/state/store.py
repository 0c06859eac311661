"""The stream store: the rows of each stream of a site, used in the caller's transaction.

One class serves the project's state database (lake wing) and qbcd's schema of a source (database wing). Every method
takes an open connection and commits nothing, so that rows, ranges, segments, batches and checkpoint move in one step
(docs/design/protocol.md#rule-1 to #rule-4, #rule-11, #rule-15, #rule-23).
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    Float,
    Select,
    Table,
    Update,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal_column,
    select,
    tuple_,
    update,
)
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError, IntegrityError

from qbcd.connectors.limited_drivers import HELD
from qbcd.errors import Refused, StateConflict
from qbcd.model import BatchHeader
from qbcd.state.bootstrap import holds_rows, insert_once
from qbcd.state.dialects import facts_of
from qbcd.state.rows import (
    Pin,
    RangePages,
    Segment,
    StoredRange,
    StreamRow,
    Visits,
    batch_from_json,
    batch_to_json,
    dump,
    in_key_order,
    range_row,
    range_values,
    segment_row,
    segment_values,
    stream_row,
    stream_values,
)
from qbcd.state.tables import SiteTables, seal, site_tables, unseal

_CLAIMED = ("foreign_stream", "seen_token", "lease_owner", "lease_left", "later_batches")
_NAMED = 3  # streams of another project that a message names
_CHUNK = 500  # some builds of SQLite accept at most 999 parameters


def _chunks(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), _CHUNK):
        yield items[start : start + _CHUNK]


# -- statements of each poll, made once: SQLAlchemy takes longer to make one than SQLite to execute it -----------------
@lru_cache
def _of_stream(table: Table) -> Select[Any]:
    return select(table).where(table.c.stream == bindparam("of"))


@lru_cache
def _locked_row(table: Table, wait: bool) -> Select[Any]:
    return _of_stream(table).with_for_update(skip_locked=not wait)


@lru_cache
def _own_row(table: Table) -> Select[Any]:
    mine = (table.c.stream == bindparam("of")) | (table.c.project_id != bindparam("project"))
    return select(table).where(mine).order_by(table.c.stream)


@lru_cache
def _own_row_with_format(table: Table, layout: Table) -> Select[Any]:
    mine = (table.c.stream == bindparam("of")) | (table.c.project_id != bindparam("project"))
    query = select(layout.c.format_version, table).select_from(layout.outerjoin(table, mine))
    return query.order_by(table.c.stream)


@lru_cache
def _claimed_row(tables: SiteTables, clock: str) -> Select[Any]:
    """Return the statement that locks a stream's row and reads all that an acquisition needs.

    Only the row itself is locked, and only it is read as of the lock. `seen_token` shows if the rest is older.
    """
    table, lease, batch = tables.stream, tables.lease, tables.batch
    of: BindParameter[str] = bindparam("of")
    other, seen = table.alias("other"), table.alias("seen")
    later = tuple_(batch.c.epoch, batch.c.batch_seq) > tuple_(bindparam("epoch"), bindparam("seq"))
    left = lease.c.until - literal_column(clock, Float())
    foreign = select(func.min(other.c.stream)).where(other.c.project_id != bindparam("project"))
    parts = {
        "format_version": select(func.max(tables.layout.c.format_version)),
        "foreign_stream": foreign,
        "seen_token": select(seen.c.fencing_token).where(seen.c.stream == of),
        "lease_owner": select(lease.c.owner).where(lease.c.stream == of),
        "lease_left": select(left).where(lease.c.stream == of),
        "later_batches": select(func.count()).where((batch.c.stream == of) & later),
    }
    named = [query.scalar_subquery().label(name) for name, query in parts.items()]
    return select(table, *named).where(table.c.stream == of).with_for_update(skip_locked=True)


@lru_cache
def _unchanged_row(table: Table) -> Update:
    same = table.c.stream == bindparam("was_stream")
    for name in ("version", "fencing_token", "project_id"):
        same &= table.c[name] == bindparam(f"was_{name}")
    return update(table).where(same)


@lru_cache
def _batches_of(table: Table, after: bool) -> Select[Any]:
    query = _of_stream(table).order_by(table.c.epoch, table.c.batch_seq)
    if not after:
        return query
    return query.where(tuple_(table.c.epoch, table.c.batch_seq) > tuple_(bindparam("epoch"), bindparam("seq")))


@lru_cache
def _ranges_of(table: Table, pages: Table | None) -> Select[Any]:
    query = _of_stream(table)
    if pages is None:
        return query
    same = (pages.c.stream == table.c.stream) & (pages.c.range_id == table.c.range_id)
    return query.add_columns(pages.c.pages, pages.c.moved).select_from(table.outerjoin(pages, same))


@lru_cache
def _segments_of(table: Table) -> Select[Any]:
    return _of_stream(table).order_by(table.c.segment_id)


@dataclass(frozen=True)
class Claim:
    """A stream's row, locked, and what the same statement has shown.

    Attributes:
        owner: Owner of the lease, as its row has it; None without a row.
        left: Remaining seconds of the lease.
        has_batches: There are sealed batches after the number that was asked for.
    """

    row: StreamRow
    owner: str | None
    left: float
    has_batches: bool


class StreamStore:
    """Stream rows, batches, ranges, segments and pins of one store.

    Args:
        schema: qbcd's schema in a source, or None for the project's state database.
    """

    def __init__(self, schema: str | None) -> None:
        self.tables = site_tables(schema)
        self.place = self.tables.place

    def exists(self, conn: Connection) -> bool:
        """See :meth:`SiteTables.exist`."""
        return self.tables.exist(conn)

    def create(self, conn: Connection) -> None:
        """See :meth:`SiteTables.create`."""
        self.tables.create(conn)

    def ddl(self, conn: Connection) -> list[str]:
        """See :meth:`SiteTables.ddl`."""
        return self.tables.ddl(conn)

    # -- stream rows ---------------------------------------------------------------------------------------------------
    def read(self, conn: Connection, stream: str) -> StreamRow | None:
        """Return the stream's row, or None if it was never registered.

        Raises:
            Refused: The row is damaged.
        """
        return self._select(conn, stream, lock=False)

    def streams(self, conn: Connection) -> list[StreamRow]:
        """Return all stream rows, by name."""
        table = self.tables.stream
        rows = conn.execute(select(table).order_by(table.c.stream)).mappings().all()
        return [stream_row(unseal(table, dict(row))) for row in rows]

    def _select(self, conn: Connection, stream: str, *, lock: bool, wait: bool = True) -> StreamRow | None:
        table = self.tables.stream
        found = conn.execute(_locked_row(table, wait) if lock else _of_stream(table), {"of": stream}).mappings().first()
        return None if found is None else stream_row(unseal(table, dict(found)))

    def foreign_project(self, conn: Connection, project_id: str, asking: str) -> None:
        """Refuse a store in which another project keeps a stream.

        Raises:
            StateConflict: There is one.
        """
        table = self.tables.stream
        query = select(table.c.stream).where(table.c.project_id != project_id).order_by(table.c.stream)
        others = list(conn.execute(query).scalars())
        if others:
            raise self._foreign(others, asking)

    def own(self, conn: Connection, project_id: str, stream: str) -> StreamRow | None:
        """Return the stream's row, or None; refuse a store in which another project keeps a stream.

        Raises:
            StateConflict: There is one.
        """
        found = conn.execute(_own_row(self.tables.stream), {"of": stream, "project": project_id}).mappings().all()
        return self._own(found, project_id, stream)

    def find_own(self, conn: Connection, project_id: str, stream: str) -> tuple[bool, StreamRow | None]:
        """Return `exists` and `own`.

        Both come from one query if the session has seen the tables before.

        Raises:
            StateConflict: Another project keeps a stream in the store.
        """
        if self.tables.is_seen(conn):
            query = _own_row_with_format(self.tables.stream, self.tables.layout)
            found = self.tables.rows_with_format(conn, query, {"of": stream, "project": project_id})
            if found is not None:
                return True, self._own([row for row in found if row["stream"] is not None], project_id, stream)
        return (True, self.own(conn, project_id, stream)) if self.exists(conn) else (False, None)

    def claim(self, conn: Connection, project_id: str, stream: str, after: tuple[int, int] | None) -> Claim | None:
        """Lock the stream's row and read what is needed to acquire its lease, in one statement.

        Args:
            after: (epoch, batch_seq) after which batches are looked for; None for any.

        Returns:
            None if that is impossible, or if anything is unusual: the row may then be locked or not.

        Raises:
            Refused: The row is damaged, or a newer qbcd wrote it.
        """
        if not self.tables.see(conn):
            return None
        epoch, seq = after or (0, 0)
        query = _claimed_row(self.tables, facts_of(conn).clock_sql)
        values = {"of": stream, "project": project_id, "epoch": epoch, "seq": seq}
        found = self.tables.rows_with_format(conn, query, values)
        if not found:
            return None
        rest = {name: found[0].pop(name) for name in _CLAIMED}
        row = stream_row(unseal(self.tables.stream, found[0]))
        if rest["foreign_stream"] is not None or rest["seen_token"] != row.fencing_token:
            return None  # another process has acquired the lease between the reads and the lock
        left = 0.0 if rest["lease_left"] is None else float(rest["lease_left"])
        return Claim(row, rest["lease_owner"], left, bool(rest["later_batches"]))

    def _own(self, rows: Sequence[Mapping[Any, Any]], project_id: str, stream: str) -> StreamRow | None:
        table = self.tables.stream
        others = [row["stream"] for row in rows if row["project_id"] != project_id]
        if others:
            raise self._foreign(others, stream)
        return stream_row(unseal(table, dict(rows[0]))) if rows else None

    def refuse_foreign(self, row: StreamRow | None, project_id: str) -> None:
        """Refuse a stream's row that belongs to another project.

        Raises:
            StateConflict: It does.
        """
        if row is not None and row.project_id != project_id:
            raise self._foreign([row.stream], row.stream)

    def _foreign(self, streams: Sequence[str], asking: str) -> StateConflict:
        named = ", ".join(map(repr, streams[:_NAMED])) + (
            f" and {len(streams) - _NAMED:,} more" if len(streams) > _NAMED else ""
        )
        one = asking if asking in streams else streams[0]
        return StateConflict(
            f"{self.place} holds {'stream' if len(streams) == 1 else 'streams'} {named} prepared by another project "
            "(another state database)",
            remedy="give this project another `schema:`, or use the state database that prepared "
            f"{'the stream' if len(streams) == 1 else 'them'}; if that is lost: qbcd reset {one} --discard --take-over"
            f"{'' if len(streams) == 1 else ', and so for each'}",
            stream=asking,
        )

    def take_over(self, conn: Connection, stream: str, project_id: str) -> None:
        """Give a stream's row to another project, as not prepared.

        All that it kept must be dropped before `prepare`.

        Raises:
            StateConflict: There is no row, or a step locks it too long.
        """
        row = self.locked(conn, stream)
        if row is None:
            raise StateConflict(f"{self.place} has no such stream", remedy="qbcd prepare", stream=stream)
        self.rewrite(conn, row, replace(row, project_id=project_id, prepared=False, version=row.version + 1))

    def now(self, conn: Connection) -> float:
        """Return the store's clock, in seconds."""
        return float(conn.execute(select(facts_of(conn).clock)).scalar_one())

    def register(self, conn: Connection, project_id: str, stream: str) -> StreamRow:
        """Return the stream's row; create it if it is missing.

        Raises:
            StateConflict: The row belongs to another project.
        """
        row = self.read(conn, stream)
        if row is None:
            fresh = StreamRow(project_id, stream, 0, 0, 0, 0, False)
            table = self.tables.stream
            if insert_once(conn, insert(table).values(**seal(table, stream_values(fresh)))):
                return fresh
            # Without a lock: the refused INSERT may hold a read lock on the row, and two sessions that both upgrade it
            # would deadlock.
            row = self.read(conn, stream)
        if row is None or row.project_id != project_id:
            raise self._foreign([stream], stream)
        return row

    def lock(self, conn: Connection, stream: str, project_id: str, version: int, token: int) -> StreamRow:
        """Lock the stream's row until the transaction ends; every step that writes begins with it.

        A write transaction on a file locks the whole store when it begins, so there this method only checks.

        Args:
            conn: A connection in the step's transaction.
            version: The version that was read before the first read of the source.
            token: The lease's fencing token.

        Raises:
            StateConflict: Another project, another poller or another version, or the lock was not granted in time.
        """
        row = self.locked(conn, stream)
        if row is None:
            raise StateConflict(f"{self.place} has no such stream", remedy="run `qbcd prepare`", stream=stream)
        self.refuse_foreign(row, project_id)
        if (row.version, row.fencing_token) != (version, token):
            raise _overtaken(stream, f"version {version}, token {token}", f"{row.version}, {row.fencing_token}")
        return row

    def locked(self, conn: Connection, stream: str, *, wait: bool = True) -> StreamRow | None:
        """Return the stream's row, locked, without a check of its owner.

        Args:
            conn: A connection in the step's transaction.
            wait: Wait for another transaction that locks the row; otherwise return None.

        Raises:
            StateConflict: Another transaction locks it too long.
        """
        try:
            return self._select(conn, stream, lock=True, wait=wait)
        except DBAPIError as error:
            if not facts_of(conn).is_contention(error):
                raise
            raise StateConflict(
                "another transaction locks the stream's row", remedy="try again when it has ended", stream=stream
            ) from error

    def advance(
        self,
        conn: Connection,
        row: StreamRow,
        *,
        checkpoint: Mapping[str, Any] | None = None,
        epoch: int | None = None,
        last_batch_seq: int | None = None,
        prepared: bool | None = None,
    ) -> StreamRow:
        """Advance the stream by one version, in the transaction of everything else that changes.

        An argument that is None leaves its value unchanged.

        Args:
            conn: A connection in the step's transaction.
            row: The row from :meth:`lock`, or from an earlier step of this transaction.
            last_batch_seq: Number of the last sealed batch.
            prepared: The baseline is complete.

        Raises:
            StateConflict: Another process advanced the stream, or a number would decrease.
        """
        wanted = {"checkpoint": checkpoint, "epoch": epoch, "last_batch_seq": last_batch_seq, "prepared": prepared}
        given: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
        advanced = replace(row, **given, version=row.version + 1, advanced_by=row.fencing_token)
        if advanced.epoch < row.epoch or advanced.last_batch_seq < row.last_batch_seq:
            raise StateConflict("epoch and batch numbers never go back", stream=row.stream)
        return self.rewrite(conn, row, advanced)

    def rewrite(self, conn: Connection, row: StreamRow, changed: StreamRow) -> StreamRow:
        """Replace `row` by `changed` if version and token in the store are still those of `row`.

        A caller that has locked the row may send the statement later (`hold_next`): it then changes the row.

        Raises:
            StateConflict: They are not.
        """
        table = self.tables.stream
        was = {f"was_{name}": getattr(row, name) for name in ("stream", "version", "fencing_token", "project_id")}
        result = conn.execute(_unchanged_row(table), {**seal(table, stream_values(changed)), **was})
        if result.rowcount not in (1, HELD):
            raise _overtaken(row.stream, f"version {row.version}, token {row.fencing_token}", "another one")
        return changed

    # -- batches -------------------------------------------------------------------------------------------------------
    def add_batch(self, conn: Connection, header: BatchHeader, token: int, *, folded: bool = False) -> None:
        """Add a sealed batch to the outbox.

        Args:
            conn: A connection in the step's transaction.
            token: Fencing token of its writer.
            folded: The replica contains the batch's changes already and does not need its rows.

        Raises:
            StateConflict: The number is used.
        """
        table = self.tables.batch
        values = {
            "stream": header.stream,
            "epoch": header.epoch,
            "batch_seq": header.seq,
            "token": token,
            "ts_ms": header.ts_ms,
            "fingerprint": header.fingerprint,
            "header": dump(batch_to_json(header)),
            "folded": folded,
        }
        try:
            conn.execute(insert(table).values(**seal(table, values), created_at=facts_of(conn).clock))
        except IntegrityError as error:
            raise StateConflict(
                f"batch {header.number} exists already", remedy="poll again", stream=header.stream
            ) from error

    def batches(self, conn: Connection, stream: str, after: tuple[int, int] | None = None) -> list[BatchHeader]:
        """Return the sealed batches of the stream with (epoch, number) above `after`, oldest first.

        Raises:
            Refused: A row is damaged.
        """
        table = self.tables.batch
        values: dict[str, Any] = {"of": stream} | ({"epoch": after[0], "seq": after[1]} if after else {})
        rows = conn.execute(_batches_of(table, after is not None), values).mappings().all()
        return [batch_from_json(json.loads(unseal(table, dict(row))["header"])) for row in rows]

    def layers(self, conn: Connection, stream: str, after: tuple[int, int] | None = None) -> list[BatchHeader]:
        """Return the batches that a replica applies: not those with events that waited."""
        return [header for header in self.batches(conn, stream, after) if header.waited is None]

    def mark_folded(self, conn: Connection, stream: str, through: tuple[int, int]) -> None:
        """Mark the batches up to `through`, which the replica has compacted and no longer needs."""
        table = self.tables.batch
        upto = tuple_(table.c.epoch, table.c.batch_seq) <= tuple_(*through)
        conn.execute(update(table).where(table.c.stream == stream, upto, table.c.folded.is_(False)).values(folded=True))

    def expired_batches(
        self, conn: Connection, stream: str, through: tuple[int, int], retain_s: float
    ) -> list[BatchHeader]:
        """Return the batches that may be deleted, oldest first and without a gap.

        Args:
            through: The (epoch, number) that every sink has acknowledged.
            retain_s: Least age of a batch, in seconds of the store's clock.
        """
        table = self.tables.batch
        mine = table.c.stream == stream
        number = tuple_(table.c.epoch, table.c.batch_seq)
        old = (table.c.created_at < facts_of(conn).clock - retain_s) & table.c.folded.is_(True)
        kept = select(table.c.epoch, table.c.batch_seq).where(mine, ~old).order_by(table.c.epoch, table.c.batch_seq)
        query = select(table).where(mine, number <= tuple_(*through)).order_by(table.c.epoch, table.c.batch_seq)
        first = conn.execute(kept.limit(1)).first()
        if first is not None:
            query = query.where(number < tuple_(first.epoch, first.batch_seq))
        rows = conn.execute(query).mappings().all()
        return [batch_from_json(json.loads(unseal(table, dict(row))["header"])) for row in rows]

    def delete_batch(self, conn: Connection, stream: str, epoch: int, seq: int) -> None:
        """Delete a batch from the outbox; the site deletes its rows."""
        table = self.tables.batch
        conn.execute(delete(table).where(table.c.stream == stream, table.c.epoch == epoch, table.c.batch_seq == seq))

    # -- ranges --------------------------------------------------------------------------------------------------------
    def ranges(self, conn: Connection, stream: str) -> list[StoredRange]:
        """Return the stream's ranges, from the lowest key to the highest.

        Raises:
            StateConflict: They leave a gap or overlap.
            Refused: A row is damaged.
        """
        table, pages = self.tables.range, self.tables.range_pages
        query = _ranges_of(table, pages if self.tables.has(conn, pages) else None)
        rows = conn.execute(query, {"of": stream}).mappings().all()
        return in_key_order(stream, [range_row(unseal(table, dict(row))) for row in rows])

    def visits(self, conn: Connection, stream: str, since: float) -> Visits:
        """Count the stream's ranges visited `since` (seconds of the store's clock); read no bounds."""
        table = self.tables.range
        seen, oldest = (
            func.count(case(((table.c.last_visited >= since) & (table.c.last_visited > 0), 1))),
            func.min(table.c.last_visited),
        )
        found = conn.execute(select(func.count(), seen, oldest).where(table.c.stream == stream)).one()
        return Visits(int(found[0]), int(found[1]), float(found[2] or 0.0), self._pages(conn, stream))

    def _pages(self, conn: Connection, stream: str) -> RangePages | None:
        table = self.tables.range_pages
        if not self.tables.has(conn, table):
            return None
        query = select(func.count(), func.sum(table.c.pages), func.max(table.c.pages)).where(table.c.stream == stream)
        found = conn.execute(query).one()
        return RangePages(int(found[0]), int(found[1]), int(found[2])) if found[0] else None

    def keeps_pages(self, conn: Connection) -> bool:
        """Return True if the store has room for page counts of ranges.

        A store of an older version may lack it.
        """
        return self.tables.has(conn, self.tables.range_pages)

    def add_pages(self, conn: Connection) -> None:
        """Add the table of page counts to a store of an older version; see :meth:`SiteTables.add`."""
        self.tables.add(conn, self.tables.range_pages)

    def set_pages(self, conn: Connection, stream: str, changed: Sequence[StoredRange]) -> None:
        """Set the page counts of ranges; nothing happens in a store without :meth:`keeps_pages`."""
        table = self.tables.range_pages
        if not changed or not self.tables.has(conn, table):
            return
        for part in _chunks(changed):
            ids = [item.range_id for item in part]
            conn.execute(delete(table).where(table.c.stream == stream, table.c.range_id.in_(ids)))
        self._insert_pages(conn, stream, changed)

    def _insert_pages(self, conn: Connection, stream: str, ranges: Sequence[StoredRange]) -> None:
        values = [
            {"stream": stream, "range_id": item.range_id, "pages": item.pages, "moved": item.moved}
            for item in ranges
            if item.pages is not None
        ]
        if values:
            conn.execute(insert(self.tables.range_pages), values)

    def replace_ranges(self, conn: Connection, row: StreamRow, ranges: Sequence[StoredRange]) -> StreamRow:
        """Replace all ranges of the stream by `ranges`, which may be empty.

        A range that remains has its id and bounds as before. A new one has an id from ``row.next_range_id`` upwards. An
        id is never used again, not even after a reset.

        Returns:
            The row with its `next_range_id`, for :meth:`advance` in the same transaction.

        Raises:
            StateConflict: An id was used before, the ranges leave a gap or overlap, or another process advanced the
                stream.
        """
        in_key_order(row.stream, ranges)
        present = {item.range_id: (item.lo, item.hi) for item in self.ranges(conn, row.stream)}
        for item in ranges:
            known = present.get(item.range_id)
            if item.range_id < row.next_range_id if known is None else known != (item.lo, item.hi):
                raise StateConflict(f"range id {item.range_id} was used for another range", stream=row.stream)
        conn.execute(delete(self.tables.range).where(self.tables.range.c.stream == row.stream))
        self._insert_ranges(conn, row.stream, ranges)
        if self.keeps_pages(conn):
            conn.execute(delete(self.tables.range_pages).where(self.tables.range_pages.c.stream == row.stream))
            self._insert_pages(conn, row.stream, ranges)
        following = max([row.next_range_id, *(item.range_id + 1 for item in ranges)])
        return self.rewrite(conn, row, replace(row, next_range_id=following))

    def update_ranges(self, conn: Connection, stream: str, changed: Sequence[StoredRange]) -> None:
        """Set rows, checksum, segment and last visit of ranges whose bounds do not change.

        Raises:
            StateConflict: One of them does not exist.
        """
        table = self.tables.range
        for part in _chunks(changed):
            ids = [item.range_id for item in part]
            result = conn.execute(delete(table).where(table.c.stream == stream, table.c.range_id.in_(ids)))
            if result.rowcount != len(part):
                raise StateConflict("a key range no longer exists", remedy="poll again", stream=stream)
        self._insert_ranges(conn, stream, changed)

    def _insert_ranges(self, conn: Connection, stream: str, ranges: Sequence[StoredRange]) -> None:
        table = self.tables.range
        if ranges:
            conn.execute(insert(table), [seal(table, range_values(stream, item)) for item in ranges])

    def named_segments(self, conn: Connection, stream: str) -> set[str]:
        """Return the ids of the segments that contain ranges."""
        table = self.tables.range
        query = select(table.c.segment).where(table.c.stream == stream, table.c.segment.is_not(None)).distinct()
        return set(conn.execute(query).scalars())

    # -- segments ------------------------------------------------------------------------------------------------------
    def segments(self, conn: Connection, stream: str) -> list[Segment]:
        """Return the base segments of the stream's replica, by id.

        Raises:
            Refused: A row is damaged.
        """
        table = self.tables.segment
        rows = conn.execute(_segments_of(table), {"of": stream}).mappings().all()
        return [segment_row(unseal(table, dict(row))) for row in rows]

    def add_segments(self, conn: Connection, stream: str, segments: Sequence[Segment]) -> None:
        """Add base segments; an id that exists is an error of the driver."""
        table = self.tables.segment
        if segments:
            conn.execute(insert(table), [seal(table, segment_values(stream, item)) for item in segments])

    def delete_segments(self, conn: Connection, stream: str, ids: Sequence[str]) -> None:
        """Delete base segments; the collector deletes their files."""
        table = self.tables.segment
        for part in _chunks(ids):
            conn.execute(delete(table).where(table.c.stream == stream, table.c.segment_id.in_(part)))

    # -- pins ----------------------------------------------------------------------------------------------------------
    def add_pin(self, conn: Connection, stream: str, ttl: float) -> Pin:
        """Register a reader for `ttl` seconds, before the transaction in which it reads.

        The reader reads ranges and segments. The stream's row is locked, as in every step. A collector that has the
        lock saw no pin and may be deleting files, so the reader waits and reads the remaining segments. A later
        collector sees the pin.

        Raises:
            StateConflict: There is no such stream, or a step locks its row too long.
        """
        row = self.locked(conn, stream)
        if row is None:
            raise StateConflict(f"{self.place} has no such stream", remedy="run `qbcd prepare`", stream=stream)
        table, name = self.tables.pin, uuid.uuid4().hex
        until = facts_of(conn).clock + ttl
        conn.execute(insert(table).values(pin_id=name, stream=stream, version=row.version, until=until))
        ends = conn.execute(select(table.c.until).where(table.c.pin_id == name)).scalar_one()
        return Pin(name, stream, row.version, ends)

    def check_pin(self, conn: Connection, pin: Pin) -> None:
        """Refuse to continue if a reader's pin has ended.

        Raises:
            StateConflict: It has ended.
        """
        if pin.pin_id not in {p.pin_id for p in self.pins(conn, pin.stream)}:
            raise StateConflict(
                "reading took so long that files of the replica may have been deleted",
                remedy="read again",
                stream=pin.stream,
            )

    def drop_pin(self, conn: Connection, pin: Pin) -> None:
        """Remove the pin of a reader that has finished."""
        conn.execute(delete(self.tables.pin).where(self.tables.pin.c.pin_id == pin.pin_id))

    def pins(self, conn: Connection, stream: str) -> list[Pin]:
        """Return the pins that have not ended, oldest version first."""
        table = self.tables.pin
        alive = (table.c.stream == stream) & (table.c.until > facts_of(conn).clock)
        query = select(table).where(alive).order_by(table.c.version, table.c.pin_id)
        return [Pin(**dict(row)) for row in conn.execute(query).mappings()]

    def expire_pins(self, conn: Connection, stream: str) -> int:
        """Remove the pins that have ended; return their number."""
        table = self.tables.pin
        ended = (table.c.stream == stream) & (table.c.until <= facts_of(conn).clock)
        return conn.execute(delete(table).where(ended)).rowcount

    # -- the end of a stream, and damaged rows -------------------------------------------------------------------------
    def forget(self, conn: Connection, row: StreamRow) -> StreamRow:
        """Delete ranges, segments, batches and checkpoint (`reset`), and advance the version.

        The row remains: version, token, batch number and range ids always continue.

        Raises:
            StateConflict: Another process advanced the stream.
        """
        # Nothing is read, since rows may be damaged.
        added = [table for table in self.tables.added if self.tables.has(conn, table)]
        for table in (self.tables.range, self.tables.segment, self.tables.batch, *added):
            conn.execute(delete(table).where(table.c.stream == row.stream))
        return self.advance(conn, row, checkpoint={}, prepared=False)

    def holds(self, conn: Connection, stream: str) -> bool:
        """Return True if the store has ranges, segments or batches of the stream."""
        tables = (self.tables.range, self.tables.segment, self.tables.batch)
        return holds_rows(conn, [select(t.c.stream).where(t.c.stream == stream).subquery() for t in tables])

    def salvage(self, conn: Connection, stream: str, delivered: Callable[[], Iterable[tuple[int, int]]]) -> None:
        """Replace a damaged row by one that `forget` can read: not prepared, with unused numbers.

        A row that was never prepared is replaced too: an earlier row may have been deleted by hand.

        Args:
            conn: A connection in a write transaction.
            delivered: Returns (epoch, batch_seq) of the batches that sinks are known to have.
        """
        try:
            row = self.read(conn, stream)
            if row is None or row.epoch:
                return
        except Refused:
            pass  # only its numbers are used, so that none occurs again
        tables = self.tables
        found = conn.execute(select(tables.stream).where(tables.stream.c.stream == stream)).mappings().one()
        epochs, seqs = [found["epoch"]], [found["last_batch_seq"]]
        tokens, ranges = [found["fencing_token"], found["advanced_by"]], [found["next_range_id"]]
        for values, column in (
            (epochs, tables.batch.c.epoch),
            (seqs, tables.batch.c.batch_seq),
            (tokens, tables.batch.c.token),
            (tokens, tables.lease.c.token),
            (ranges, tables.range.c.range_id),
        ):
            values.append(conn.execute(select(func.max(column)).where(column.table.c.stream == stream)).scalar() or 0)
        for epoch, seq in delivered():
            epochs.append(epoch)
            seqs.append(seq)
        row = StreamRow(
            found["project_id"],
            stream,
            max(epochs),
            max(0, found["version"]) + 1,
            max(tokens),
            max(seqs),
            False,
            next_range_id=max(ranges) + 1,
            advanced_by=max(tokens),
        )
        mine = tables.stream.c.stream == stream
        conn.execute(update(tables.stream).where(mine).values(**seal(tables.stream, stream_values(row))))


def _overtaken(stream: str, expected: str, found: str) -> StateConflict:
    return StateConflict(
        f"another poller advanced the stream (expected {expected}; found {found}); nothing was written",
        remedy="let only one process poll this stream; the next poll continues from the last commit",
        stream=stream,
    )
