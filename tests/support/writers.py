"""Writers that change a table while it is read: pgbench on PostgreSQL, or a process of ours.

Keys of moved or new rows belong to one client, so that no two writers use the same new key.
"""

from __future__ import annotations

import multiprocessing
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.support import wait_until
from tests.support.places import Place, place_of

CLIENTS = 4
RATE = 500  # transactions per second of pgbench: they change every range between two polls and still let polls proceed
OWN_RATE = 200  # of our own process, which shares the machine with the polls
PATIENCE = 60.0


@dataclass(frozen=True)
class Work:
    """The transactions that writers repeat.

    Attributes:
        pgbench: A script of pgbench.
        act: Function that returns the statements of one transaction, from chance and the client's number; for other
            servers.
    """

    pgbench: str
    act: Callable[[Random, int], list[str]]


@contextmanager
def writers(server: Any, place: Place, work: Work, folder: Path) -> Iterator[None]:
    """Run writers during the block; fail if one gave up.

    Args:
        server: The fixture's server, which has the path of pgbench.
        place: The database that they write to.
        work: Their transactions.
        folder: Folder for the script.
    """
    with _pgbench(server, place, work, folder) if place.kind == "postgresql" else _own(place, work):
        yield


@contextmanager
def _pgbench(server: Any, place: Place, work: Work, folder: Path) -> Iterator[None]:
    file = folder / "work.pgbench"
    file.write_text(work.pgbench)
    command = [
        str(server.bin / "pgbench"),
        "--no-vacuum",
        "--client",
        str(CLIENTS),
        "--time",
        "600",
        "--rate",
        str(RATE),
        "--max-tries",
        "50",
        "--file",
        str(file),
        "--host",
        server.host,
        "--port",
        str(server.port),
        "--username",
        "postgres",
        place.name,
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield
        assert process.poll() is None, process.communicate()[0]
    finally:
        process.kill()
        output, _ = process.communicate(timeout=PATIENCE)
    assert "aborted" not in output, output
    at_work = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'pgbench' AND datname = current_database()"
    wait_until(lambda: not place.sql(at_work), what="the end of pgbench's sessions")


# -- our own -----------------------------------------------------------------------------------------------------------
_AGAIN = frozenset({1213, 1205})  # a deadlock, a lock that did not come: the transaction is tried again


@contextmanager
def _own(place: Place, work: Work) -> Iterator[None]:
    context = multiprocessing.get_context("spawn")
    theirs, ours = context.Pipe()
    stop = context.Event()
    process = context.Process(target=_write, args=(place.url, work.act, stop, ours), daemon=True)
    process.start()
    ours.close()
    try:
        assert theirs.poll(PATIENCE), "the writers did not start"
        assert theirs.recv() == "writing"
        yield
        assert process.is_alive(), "the writers have given up"
    finally:
        stop.set()
        process.join(PATIENCE)
        process.kill()
    done = theirs.recv()
    assert isinstance(done, int), done
    assert done > 0, "nothing was written"


def _write(url: str, act: Callable[[Random, int], list[str]], stop: Any, result: Any) -> None:
    """Run the writers, each in a thread with a session of its own; send the number of commits."""
    counts, failures = [0] * CLIENTS, []

    def client(number: int) -> None:
        try:
            counts[number] = _client(url, act, number, stop)
        except Exception as error:  # noqa: BLE001 -- raised in the test
            failures.append(repr(error))
            stop.set()

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    result.send("writing")
    for thread in threads:
        thread.join()
    result.send(failures[0] if failures else sum(counts))


def _client(url: str, act: Callable[[Random, int], list[str]], number: int, stop: Any) -> int:
    rng, place, done = Random(number), place_of(url), 0
    with place.connect(autocommit=True) as conn:
        began = time.monotonic()
        while not stop.is_set():
            stop.wait(max(0.0, began + done * CLIENTS / OWN_RATE - time.monotonic()))
            statements = act(rng, number)
            while not _committed(place, conn, statements):
                pass
            done += 1
    return done


def _committed(place: Place, conn: Any, statements: list[str]) -> bool:
    try:
        for statement in statements:
            place.run(conn, statement)
    except Exception as error:
        if error.args[0] not in _AGAIN:
            raise
        place.run(conn, "ROLLBACK")
        return False
    return True
