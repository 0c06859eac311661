"""The lease of a stream: one owner at a time, the store's clock, and a fencing token.

A lease alone does not stop a process that was paused (docs/design/protocol.md#rule-1, #rule-2). So every step commits
with the token, which only increases; acquiring a lease increments it. The lease itself only avoids duplicate work.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from types import TracebackType
from typing import Any

from sqlalchemy import Float, Select, Table, Update, bindparam, insert, literal_column, select, update
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError
from typing_extensions import override

from qbcd.common import waits
from qbcd.connectors.limited_drivers import HELD, commit_with_next, hold_next
from qbcd.errors import LeaseHeld, QbcdError, StateConflict
from qbcd.state.dialects import facts_of
from qbcd.state.rows import StreamRow
from qbcd.state.store import Claim, StreamStore

log = logging.getLogger(__name__)

LOCK_WAIT_MS = 5_000
_UNKNOWN = "-"
_ENDED = "ended"
_UUID_EPOCH = 0x01B21DD213814000  # 1970 in the units of a UUID: 100 ns since 1582

Transactions = Callable[[], AbstractContextManager[Connection]]

_working: set[str] = set()  # uuids of this process's active owners


class LeaseLost(StateConflict):
    """This process has lost the stream's lease."""


@dataclass(frozen=True)
class Owner:
    """A poller: one attempt of one process.

    Attributes:
        host: Host name, boot id and process namespace, which together make the process id unique.
        pid: Process id in that namespace.
        start: Start time of the process, in the kernel's own units; `-` if the system does not report it.
        uuid: Distinguishes two pollers of one process, and shows when this one began.
    """

    host: str
    pid: int
    start: str
    uuid: str

    @classmethod
    def mine(cls) -> Owner:
        """Create a new owner in this process."""
        return cls(_this_host(), os.getpid(), _own_start(os.getpid()), _named_by_time())

    @classmethod
    def parse(cls, text: str) -> Owner:
        """Parse the result of ``str(owner)``.

        Raises:
            ValueError: The text is not an owner.
        """
        host, pid, start, name = text.split("|")
        return cls(host, int(pid), start, name)

    @override
    def __str__(self) -> str:
        return f"{self.host}|{self.pid}|{self.start}|{self.uuid}"

    @property
    def where(self) -> str:
        """The owner in messages: process and host."""
        return f"process {self.pid} on {self.host.split('/')[0]}"

    @property
    def since(self) -> float | None:
        """Start of the owner's work in UTC seconds of its host; None for owners of earlier versions."""
        try:
            name = uuid.UUID(self.uuid)
        except ValueError:
            return None
        return (name.time - _UUID_EPOCH) / 1e7 if name.version == 1 else None

    def is_here(self) -> bool:
        """Return True if it is a process of this host."""
        return self.host == _this_host()

    def is_dead(self) -> bool:
        """Return True if the process is known to have ended.

        False for other hosts, and if it cannot be determined.
        """
        if not self.is_here():
            return False
        if (started := _started(self.pid)) is not None:
            return started == _ENDED or (self.start != _UNKNOWN and started != self.start)
        return not _answers(self.pid)

    def is_left_behind(self) -> bool:
        """Return True if this process was the owner, has finished, and failed to release the lease."""
        return (self.pid, self.host) == (os.getpid(), _this_host()) and self.uuid not in _working


def _named_by_time() -> str:
    """Return a new unique name that contains the time, but nothing about the host."""
    multicast = 1 << 40  # never the address of a network card
    return uuid.uuid1(secrets.randbits(48) | multicast, secrets.randbits(14)).hex


def _this_host() -> str:
    return _host_of(os.getpid())


@lru_cache(maxsize=1)
def _own_start(pid: int) -> str:
    return _started(pid) or _UNKNOWN


@lru_cache(maxsize=1)
def _host_of(_pid: int) -> str:
    """Return the host's name; it is read once a process, and a fork may have another namespace."""
    parts, boot = [socket.gethostname().replace("|", "_").replace("/", "_")], Path("/proc/sys/kernel/random/boot_id")
    if boot.exists():
        parts.append(boot.read_text().strip()[:8])
    if os.path.lexists("/proc/self/ns/pid"):
        parts.append(os.readlink("/proc/self/ns/pid"))
    return "/".join(parts)


def _started(pid: int) -> str | None:
    """Return a process's start time, `ended` for a zombie, or None if /proc does not show it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    # the command name is in brackets and may contain any character, even brackets
    after_name = stat[stat.rindex(")") + 2 :].split()
    return _ENDED if after_name[0] in "ZX" else after_name[19]


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


# Made once for each store, since SQLAlchemy takes long to make a statement.
@lru_cache
def _left(table: Table, clock: str) -> Select[Any]:
    left = (table.c.until - literal_column(clock, Float())).label("left")
    return select(table.c.owner, left).where(table.c.stream == bindparam("of"))


@lru_cache
def _taking(table: Table, clock: str) -> Update:
    until = literal_column(clock, Float()) + bindparam("ttl", type_=Float())
    new = {"owner": bindparam("new_owner"), "until": until, "token": bindparam("new_token")}
    return update(table).where(table.c.stream == bindparam("of")).values(new)


@lru_cache
def _ending(table: Table, clock: str) -> Update:
    mine = (table.c.stream == bindparam("of")) & (table.c.owner == bindparam("by"))
    now = literal_column(clock, Float())
    return update(table).where(mine & (table.c.token == bindparam("with"))).values(until=now, token=0)


def acquire(conn: Connection, store: StreamStore, stream: str, owner: Owner, ttl: float) -> int:
    """Acquire the stream's lease, as `acquire_row`; return the new fencing token."""
    return acquire_row(conn, store, stream, owner, ttl).fencing_token


def acquire_row(
    conn: Connection, store: StreamStore, stream: str, owner: Owner, ttl: float, claim: Claim | None = None
) -> StreamRow:
    """Acquire the stream's lease in a separate transaction and increment the fencing token.

    Args:
        conn: A connection in a write transaction that contains nothing else.
        ttl: Seconds of the store's clock after which the lease ends, unless it is renewed.
        claim: The row, if this transaction has locked it already; the changes may then be sent with the commit.

    Returns:
        The stream's row, with the new fencing token.

    Raises:
        LeaseHeld: Another poller works on the stream.
        StateConflict: The stream was never registered.
    """
    if claim is not None:
        row = claim.row
        _refuse(_living(stream, claim.owner, claim.left), stream)
        hold_next(conn)
    else:
        row = store.locked(conn, stream, wait=False) or _waited_for(conn, store, stream)
        _refuse_if_held(conn, store, stream)  # now the row is locked, and nobody can acquire it in between
    fenced = store.rewrite(conn, row, replace(row, fencing_token=row.fencing_token + 1))
    table, facts = store.tables.lease, facts_of(conn)
    values = {"new_owner": str(owner), "ttl": ttl, "new_token": fenced.fencing_token}
    if claim is not None and claim.owner is not None:
        hold_next(conn)  # the lease has a row
    if conn.execute(_taking(table, facts.clock_sql), {**values, "of": stream}).rowcount not in (1, HELD):
        until = facts.clock + ttl
        conn.execute(insert(table).values(stream=stream, owner=str(owner), until=until, token=fenced.fencing_token))
    _working.add(owner.uuid)
    return fenced


def _waited_for(conn: Connection, store: StreamStore, stream: str) -> StreamRow:
    """Return the stream's row once no other transaction locks it.

    Raises:
        LeaseHeld: Another poller works on the stream.
        StateConflict: The stream was never registered.
    """
    _refuse_if_held(conn, store, stream)
    facts_of(conn).limit_lock_waits(conn, LOCK_WAIT_MS)
    try:
        row = store.locked(conn, stream)
    except StateConflict as error:  # a step in progress locks the row for longer than its lease
        what = "another poller is in the middle of a step"
        raise LeaseHeld(what, remedy="wait for it, or end it", stream=stream) from error
    if row is None:
        raise StateConflict(f"{store.place} has no such stream", remedy="run `qbcd prepare`", stream=stream)
    return row


def holder(conn: Connection, store: StreamStore, stream: str) -> tuple[Owner, float] | None:
    """Return the lease's owner and its remaining seconds; None if no live poller holds it.

    Raises:
        StateConflict: The lease's owner cannot be read.
    """
    row = conn.execute(_left(store.tables.lease, facts_of(conn).clock_sql), {"of": stream}).first()
    return None if row is None else _living(stream, row.owner, row.left)


def _living(stream: str, name: str | None, left: float) -> tuple[Owner, float] | None:
    """Return the owner of a lease and its remaining seconds; None if no live poller holds it."""
    if name is None or left <= 0:
        return None
    try:
        owner = Owner.parse(name)
    except ValueError as error:
        raise StateConflict("the lease's owner cannot be read", remedy="wait until it ends", stream=stream) from error
    return None if owner.is_dead() or owner.is_left_behind() else (owner, left)


def _refuse_if_held(conn: Connection, store: StreamStore, stream: str) -> None:
    _refuse(holder(conn, store, stream), stream)


def _refuse(found: tuple[Owner, float] | None, stream: str) -> None:
    if found is not None:
        raise LeaseHeld(
            f"{found[0].where} works on this stream; its lease ends in {found[1]:.0f} s unless renewed",
            remedy="let only one process poll it: wait for the other one, or end it",
            stream=stream,
        )


def renew(conn: Connection, store: StreamStore, stream: str, owner: Owner, token: int, ttl: float) -> None:
    """Extend the lease to `ttl` seconds from now; use no row that a step in progress has locked.

    Raises:
        LeaseLost: Another owner has it, or it was released.
    """
    table = store.tables.lease
    mine = (table.c.stream == stream) & (table.c.owner == str(owner)) & (table.c.token == token)
    if conn.execute(update(table).where(mine).values(until=facts_of(conn).clock + ttl)).rowcount != 1:
        raise _lost(stream)


def release(conn: Connection, store: StreamStore, stream: str, owner: Owner, token: int) -> None:
    """End the lease, in a transaction of its own; do nothing if it was lost.

    Its row remains, without the token, and shows who worked on the stream last, and until when (`qbcd.state.takeover`).
    """
    _working.discard(owner.uuid)
    mine = {"of": stream, "by": str(owner), "with": token}
    commit_with_next(conn)
    conn.execute(_ending(store.tables.lease, facts_of(conn).clock_sql), mine)


def _lost(stream: str) -> LeaseLost:
    return LeaseLost(
        "this process lost the stream's lease; its step was not written",
        stream=stream,
        remedy="nothing to do: the next poll continues from the last commit",
    )


def _in_words(error: Exception) -> str:
    """Return an error's message; for a database only the first line: others quote the statement."""
    if isinstance(error, QbcdError):
        return error.what
    return (str(getattr(error, "orig", None) or error).strip().splitlines() or [type(error).__name__])[0]


class LeaseKeeper:
    """Hold a stream's lease while a ``with`` block runs; a separate thread renews it.

    Args:
        transactions: Returns a context manager with a connection in a new write transaction; called from any thread.
        ttl: Seconds of the store's clock from the last renewal to the end of the lease.
        owner: The owner; by default a new one in this process.
        admit: Called first in the transaction that acquires the lease; raises an error to prevent that, and may
            return the stream's row, locked.

    Attributes:
        row: The stream's row, as the lease was acquired.
        then: Called last in the transaction that acquires the lease, with what `admit` has returned.
        on_lost: Called with the reason once the lease is lost, from another thread; it ends what the block waits for.

    Raises:
        LeaseHeld: On entry, if another poller works on the stream.
    """

    def __init__(
        self,
        store: StreamStore,
        stream: str,
        transactions: Transactions,
        *,
        ttl: float = 60.0,
        owner: Owner | None = None,
        admit: Callable[[Connection], Claim | None] = lambda conn: None,
    ) -> None:
        self.store = store
        self.stream = stream
        self.owner = owner or Owner.mine()
        self.ttl = ttl
        self.token = 0
        self.row: StreamRow | None = None
        self.then: Callable[[Connection, Claim | None], None] = lambda conn, claim: None
        self.on_lost: Callable[[str], None] = lambda reason: None
        self._transactions, self._admit = transactions, admit
        self._stop = threading.Event()
        self._lost: LeaseLost | None = None
        self._abandoned = False
        self._renewed = 0.0
        self._thread: threading.Thread | None = None  # most polls end before the first renewal, and need none
        self._first: waits.Wait | None = None

    def __enter__(self) -> LeaseKeeper:
        self._renewed = time.monotonic()
        try:
            with self._transactions() as conn:
                claim = self._admit(conn)
                row = acquire_row(conn, self.store, self.stream, self.owner, self.ttl, claim)
                self.then(conn, claim)
            self.row, self.token = row, row.fencing_token
        except BaseException:
            _working.discard(self.owner.uuid)  # the commit may have succeeded although its reply was lost
            raise
        self._first = waits.later(self.ttl / 3, partial(self._begin, self._beat))
        return self

    def _begin(self, beat: Callable[[], None]) -> None:
        thread = threading.Thread(target=beat, name=f"qbcd-lease-{self.stream}", daemon=True)
        with suppress(RuntimeError):  # no thread can be started: then the lease ends, and `check` refuses to commit
            thread.start()
            self._thread = thread

    def check(self) -> None:
        """Refuse to continue if the lease is lost or may be; call it before every step that writes.

        Raises:
            LeaseLost: It is lost, or its last renewal is older than `ttl`.
        """
        if self._lost is not None:
            raise self._lost
        if time.monotonic() - self._renewed > self.ttl:
            raise _lost(self.stream)

    def abandon(self) -> None:
        """Leave the lease to its end, without a release.

        The store does not answer, so a release would only wait again. This process may acquire the lease at once, other
        hosts once it has ended.
        """
        self._abandoned = True

    def check_token(self, token: int | None) -> None:
        """Refuse to continue if another owner's token is in the stream's row.

        Args:
            token: The token in the row now; None if the row does not exist.

        Raises:
            LeaseLost: It is not this owner's.
        """
        if token != self.token:
            self._lost = self._lost or _lost(self.stream)
            raise self._lost

    def _beat(self) -> None:
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                with waits.at_most(self.ttl / 3), self._transactions() as conn:  # a silent store is no reason to wait
                    renew(conn, self.store, self.stream, self.owner, self.token, self.ttl)
            except (SQLAlchemyError, QbcdError) as error:
                if self._gave_up(error):
                    return
            else:
                self._renewed = began
            self._stop.wait(self.ttl / 3)

    def _gave_up(self, error: Exception) -> bool:
        """Record a failed renewal; return True once the lease is lost, so that a retry is pointless."""
        words, since = _in_words(error), time.monotonic() - self._renewed
        log.warning("stream %s: the lease could not be renewed: %s", self.stream, words)
        if isinstance(error, LeaseLost):
            self._lost = error
            self.on_lost(words)
        elif since > self.ttl:
            self._lost = _lost(self.stream)
            self.on_lost(f"the lease could not be renewed for {since:.0f} s: {words}")
        return self._lost is not None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._first is not None:
            waits.cancel(self._first)
        if self._abandoned:
            _working.discard(self.owner.uuid)
            return
        if self._thread is not None:
            self._thread.join(timeout=self.ttl)
        _working.discard(self.owner.uuid)
        if self._lost is not None:
            return
        try:
            with self._transactions() as conn:
                release(conn, self.store, self.stream, self.owner, self.token)
        except (SQLAlchemyError, QbcdError) as failure:
            # The block's work is committed. A lease that cannot be released ends by itself, or when this process polls
            # again.
            log.warning("stream %s: the lease could not be released: %s", self.stream, _in_words(failure))
