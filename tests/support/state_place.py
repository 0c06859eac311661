"""A store of streams on any database, and a second process that uses it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.engine import Connection, make_url

from qbcd.catalog.source import Source
from qbcd.connectors import connector_for
from qbcd.errors import QbcdError
from qbcd.model import BatchHeader, Travel
from qbcd.state import LeaseKeeper, ProjectState, StreamStore

PROJECT = "p1"
STREAM = "orders"


@dataclass(frozen=True)
class Place:
    """A store under test.

    `write` yields a connection in a transaction of its own, from any thread.
    """

    url: str
    schema: str | None
    store: StreamStore
    write: Callable[[], AbstractContextManager[Connection]]


@contextmanager
def open_place(url: str, schema: str | None) -> Iterator[Place]:
    """Open the state database at `url`, or schema `schema` of the source at `url`."""
    if schema is None:
        with ProjectState(url) as state:
            yield Place(url, None, state.store, state.write)
        return
    store = StreamStore(schema)
    with in_source(url, schema) as write:
        with write() as conn:
            store.create(conn)
        yield Place(url, schema, store, write)


@contextmanager
def in_source(url: str, schema: str) -> Iterator[Callable[[], AbstractContextManager[Connection]]]:
    """Return write transactions on the source at `url`, as the database wing makes them."""
    source = Source("shop", make_url(url), connector_for(url), schema)

    @contextmanager
    def write() -> Iterator[Connection]:
        with source.write(STREAM) as session:
            yield session.connection

    try:
        yield write
    finally:
        source.close()


def header(seq: int, *, epoch: int = 100, fingerprint: str = "") -> BatchHeader:
    """Return a batch header of the stream with every field set."""
    array = Travel("array", element=Travel("decimal", 10, 2))
    return BatchHeader(
        STREAM,
        epoch,
        seq,
        1_700_000_000_123,
        {"c": 2, "d": 1},
        ("changes", "lake"),
        fingerprint or f"f{seq}",
        "shop",
        "public.orders",
        "id_rcs",
        "range",
        ("id",),
        (("id", Travel("int64")), ("tags \u0000\u00e9'\"", array)),
        {"files": [{"path": "a", "size": 3}]},
    )


@contextmanager
def child(place: Place, mode: str, ttl: float) -> Iterator[subprocess.Popen[str]]:
    """Start another process that has acquired the stream's lease."""
    command = [sys.executable, "-m", "tests.support.state_place", place.url, place.schema or "", mode, str(ttl)]
    root = Path(__file__).parents[2]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("held")
        yield process
    finally:
        process.kill()
        process.communicate()


def _main(url: str, schema: str, mode: str, ttl: float) -> None:
    """Acquire the lease, wait for a line, try to commit a step, and print the result."""
    with open_place(url, schema or None) as place:
        keeper = LeaseKeeper(place.store, STREAM, place.write, ttl=ttl)
        with keeper:
            with place.write() as conn:
                row = place.store.read(conn, STREAM)
            assert row is not None
            print("held", keeper.token, flush=True)
            sys.stdin.readline()
            try:
                if mode == "check":
                    keeper.check()
                with place.write() as conn:
                    locked = place.store.lock(conn, STREAM, PROJECT, row.version, keeper.token)
                    place.store.advance(conn, locked, last_batch_seq=99)
            except QbcdError as error:
                print(type(error).__name__, flush=True)
            else:
                print("committed", flush=True)


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]))
