"""Writers whose transactions commit long after the timestamps that they write.

They are the hard case for a watermark. Each writer has keys of its own, so that none waits for another. It begins a
transaction when `Work.turns` lets it, so that a slow machine writes as much between two polls as a fast one. Each
transaction also inserts every value that it writes into table `log`: a value that is not in the log was never
committed.
"""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pymysql

from tests.support.places import Place, place_of

CLIENTS = 12
LONG_SHARE = 0.03
PATIENCE = 60.0
DEADLOCK = 1213  # of InnoDB: a rolled back insert leaves its lock at the end of an index of timestamps
SET_UP = """
CREATE TABLE t (id integer PRIMARY KEY, v varchar(40) NOT NULL, at {at} NOT NULL, gone boolean NOT NULL DEFAULT false);
CREATE TABLE log (token varchar(40) NOT NULL); CREATE INDEX log_token ON log (token)
"""


@dataclass(frozen=True)
class Load:
    """Lower limits and durations of the writers' work.

    Attributes:
        rows: Lowest number of rows in the table at the end.
        polls: Lowest number of polls during the writes, of all streams together.
        long: Shortest and longest time in seconds that a long transaction stays open.
    """

    rows: int
    polls: int
    long: tuple[float, float]


@dataclass
class Work:
    """Counts of commits and late commits, and the longest transaction in seconds.

    Attributes:
        turns: A semaphore; each release lets one transaction begin.
        stop: An event that is set when a writer has failed; the end of the block raises why.
    """

    committed: int = 0
    late: int = 0
    longest: float = 0.0
    turns: Any = None
    stop: Any = None


def set_up(place: Place) -> None:
    """Make the tables."""
    place.sql(SET_UP.format(at="timestamptz" if place.kind == "postgresql" else "timestamp(6)"))


@contextmanager
def late_writers(place: Place, load: Load, seed: int) -> Iterator[Work]:
    """Run writers in another process during the block; then fill the yielded work."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    stop = context.Event()
    work = Work(turns=context.Semaphore(0), stop=stop)
    process = context.Process(target=_write, args=(place.url, load, seed, stop, work.turns, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        assert ours.poll(PATIENCE), "the writers did not start"
        assert ours.recv() == "writing"
        yield work
    finally:
        stop.set()
        process.join(PATIENCE)
        process.kill()
    result = ours.recv()
    assert isinstance(result, Work), result
    work.committed, work.late, work.longest = result.committed, result.late, result.longest


def _write(url: str, load: Load, seed: int, stop: Any, turns: Any, result: Any) -> None:
    """Run the writers, each in a thread with a session of its own; main function of the process."""
    clients = [_Client(url, load, number, Random(f"{seed} {number}"), stop, turns) for number in range(CLIENTS)]
    threads = [threading.Thread(target=client.run) for client in clients]
    for thread in threads:
        thread.start()
    result.send("writing")
    for thread in threads:
        thread.join()
    failed = [client.failure for client in clients if client.failure]
    longest = max(client.work.longest for client in clients)
    done = Work(sum(c.work.committed for c in clients), sum(c.work.late for c in clients), longest)
    result.send(failed[0] if failed else done)


@dataclass
class _Client:
    """A writer."""

    url: str
    load: Load
    number: int
    rng: Random
    stop: Any
    turns: Any
    work: Work = field(default_factory=Work)
    failure: str = ""
    keys: list[int] = field(default_factory=list)  # committed by this writer
    made: int = 0

    def run(self) -> None:
        self.place = place_of(self.url)
        first = self.place.kind == "postgresql"
        self.clocks = ("now()", "now()", "clock_timestamp()") if first else ("now(6)", "sysdate(6)")
        try:
            with self.place.connect() as conn:
                while not self.stop.is_set():
                    if self.turns.acquire(timeout=0.2):
                        self._transaction_or_deadlock(conn)
        except Exception as error:  # noqa: BLE001 -- raised in the test
            self.failure = repr(error)
            self.stop.set()

    def _transaction_or_deadlock(self, conn: Any) -> None:
        try:
            self._transaction(conn)
        except pymysql.err.OperationalError as error:
            if error.args[0] != DEADLOCK:
                raise
            conn.rollback()

    def _transaction(self, conn: Any) -> None:
        """Run some changes long after the transaction began; undo some or all of them at random."""
        began, late = time.monotonic(), self.rng.random() < LONG_SHARE
        changes = self.rng.randint(1, 4)
        waits = self.rng.randint(0, changes) if late else -1  # before this change, or the commit
        self.place.run(conn, "SELECT 1")  # begins the transaction and does nothing else
        tokens: list[str] = []
        fresh: list[int] = []
        for number in range(changes):
            if number == waits:
                time.sleep(self.rng.uniform(*self.load.long))
            self._change(conn, tokens, fresh)
        if tokens:
            self.place.run(conn, f"INSERT INTO log VALUES {', '.join(['(%s)'] * len(tokens))}", tokens)
        if waits == changes:
            time.sleep(self.rng.uniform(*self.load.long))
        if self.rng.random() < 0.05:
            conn.rollback()
            return
        conn.commit()
        self.keys += fresh
        self.work.committed += 1
        self.work.late += late
        self.work.longest = max(self.work.longest, time.monotonic() - began)

    def _change(self, conn: Any, tokens: list[str], fresh: list[int]) -> None:
        """Run one statement, at random behind a savepoint that is rolled back."""
        behind, undone = self.rng.random() < 0.3, self.rng.random() < 0.5
        if behind:
            self.place.run(conn, "SAVEPOINT a")
        made, keys = self._statement(conn)
        if behind and undone:
            self.place.run(conn, "ROLLBACK TO SAVEPOINT a")
            return
        if behind:
            self.place.run(conn, "RELEASE SAVEPOINT a")
        tokens += made
        fresh += keys

    def _statement(self, conn: Any) -> tuple[list[str], list[int]]:
        """Insert, update or flag rows; return the tokens for the log, and the new keys."""
        clock, dice = self.rng.choice(self.clocks), self.rng.random()
        if dice < 0.6 or not self.keys:
            keys = [self._next() * CLIENTS + self.number for _ in range(self.rng.randint(1, 8))]
            tokens = [f"c {key}" for key in keys]
            values = ", ".join(f"({key}, '{token}', {clock})" for key, token in zip(keys, tokens, strict=True))
            self.place.run(conn, f"INSERT INTO t (id, v, at) VALUES {values}")
            return tokens, keys
        key = self.rng.choice(self.keys)
        token = f"u {key} {self._next()}"
        flagged = self.rng.random() < 0.3
        self.place.run(conn, f"UPDATE t SET v = '{token}', gone = {flagged}, at = {clock} WHERE id = {key}")
        return [token, f"gone {key}"] if flagged else [token], []

    def _next(self) -> int:
        self.made += 1
        return self.made
