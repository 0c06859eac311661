"""Targets that fall silent: at connect, at each hook of a delivery, and after any byte of it; in each mode.

Each delivery ends within its limit and a margin for busy cores. The record in the target decides at the next attempt
if a commit whose answer was lost has happened: no row is missing or applied twice.
"""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import make_url

import qbcd
from qbcd.common import hooks
from qbcd.errors import DeliveryError, QbcdError, SinkSilent
from qbcd.sinks.jsonl import JsonlSink
from qbcd.sinks.table.sink import DatabaseSink
from tests.support import wait_until
from tests.support.file_batches import batches
from tests.support.hook_server import HookServer
from tests.support.places import Place, over
from tests.support.project import config, opened, poll
from tests.support.proxy import FAULTS, Fault, Proxy, proxy_to
from tests.support.table_batches import DrawnTable, pieces
from tests.support.table_targets import FamilyPlace, PostgresTargetPlace, TargetPlace

pytestmark = pytest.mark.campaign

LIMIT = 1  # seconds of each limit
MARGIN = 0.7
CONNECT = 2  # seconds: libpq's least limit of a connection
BATCHES = 8
POINTS = ("before_publish", "mid_publish")
MODES: dict[str, dict[str, Any]] = {"mirror": {}, "log": {"mode": "log"}, "scd2": {"mode": "scd2"}}


def behind(place: Place, proxy: Proxy) -> str:
    url = make_url(place.url).set(port=proxy.port).update_query_dict({"connect_timeout": str(LIMIT)})
    return url.render_as_string(hide_password=False)


def struck(sink: DatabaseSink, batch: Any, proxy: Proxy, fault: Fault, draw: random.Random, most: int) -> bool:
    """Write a batch while the target falls silent at a drawn moment; return True if the delivery failed."""
    how = draw.choice(["connect", "hook", "bytes", "bytes", "bytes"])

    def fall() -> None:
        hooks.register("mid_publish", None)
        proxy.fall(fault, after=draw.randrange(most) if how == "bytes" else 0)

    if how == "hook":
        hooks.register("mid_publish", fall)
    else:
        fall()
    try:
        sink.write(batch)
    except SinkSilent:
        spent = time.monotonic() - proxy.struck_at
        assert spent < CONNECT + LIMIT * 1.1 + MARGIN, f"{how}: {spent:.2f} s"
        return True
    finally:
        hooks.register("mid_publish", None)
        proxy.heal()
    return False


@over("fault, mode", [(fault, mode) for fault in FAULTS for mode in MODES])
def test_deliveries_to_a_database(fault: Fault, mode: str, place: Place) -> None:
    draw, failures = random.Random(f"{place.kind} {fault} {mode}"), 0
    target: TargetPlace = (PostgresTargetPlace if place.kind == "postgresql" else FamilyPlace)(place)
    with proxy_to(place) as proxy:
        sink = DatabaseSink("copy", behind(place, proxy), socket_timeout=timedelta(seconds=LIMIT), **MODES[mode])
        most, events = 4_000, 0
        for batch, rows in pieces(DrawnTable(7), BATCHES):
            before = proxy.received
            failures += struck(sink, batch, proxy, fault, draw, most)
            sink.write(batch)  # a retry, or again: then the target has it
            most, events = max(2_000, proxy.received - before), events + batch.header.size
            if mode == "log":
                assert len(target.rows()) == events
            else:
                current = "WHERE valid_to IS NULL" if mode == "scd2" else ""
                assert target.state(current) == target.of(rows)
    print(f"{fault} {mode}: {failures} silent deliveries of {BATCHES} batches")
    assert failures


@over("fault, point", [(fault, point) for fault in FAULTS for point in ("before_publish", "after_publish")])
def test_the_state_database_during_a_delivery(fault: Fault, point: str, place: Place, workspace: Path) -> None:
    """The batch is delivered, and the acknowledgement is lost, or comes late."""
    place.sql("CREATE TABLE t (id int PRIMARY KEY, v int)")
    place.sql("INSERT INTO t VALUES (1, 1), (2, 2)")
    stream = {"name": "s", "table": place.table("t"), "strategy": "mds", "baseline": "events", "sinks": ["copy"]}
    sinks = {"copy": {"type": "database", "url": place.url, "table": "copy_{table}"}}
    with proxy_to(place) as proxy:
        limits = {"state": behind(place, proxy), "state_timeout": f"{LIMIT}s"}
        with opened(config(place.url, stream, sinks=sinks, **limits), workspace) as project:
            project.stream("s").prepare()
            place.sql("UPDATE t SET v = 5 WHERE id = 1")
            began: list[float] = []

            def fall() -> None:
                if not began:
                    proxy.fall(fault)
                    began.append(time.monotonic())

            hooks.register(point, fall)
            try:
                with pytest.raises(QbcdError, match="the state database"):
                    poll(project, "s")
            finally:
                hooks.register(point, None)
                proxy.heal()
            assert time.monotonic() - began[0] < 6 * CONNECT + MARGIN
            poll(project, "s")
            assert place.sql("SELECT id, v FROM copy_t ORDER BY id") == [(1, 5), (2, 2)]


@contextmanager
def mute() -> Iterator[int]:
    """A server that accepts connections and says nothing; yield its port."""
    kept: list[socket.socket] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        try:
            while True:
                kept.append(listener.accept()[0])
        except OSError:
            return

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        listener.close()
        for one in kept:
            one.close()


def test_an_object_store_that_says_nothing() -> None:
    with mute() as port:
        storage = {
            "endpoint": f"http://127.0.0.1:{port}",
            "region": "us-east-1",
            "access_key": "a",
            "secret_key": "b",
            "socket_timeout": timedelta(seconds=LIMIT),
        }
        sink = JsonlSink("files", "s3://bucket/folder", storage=storage)
        began = time.monotonic()
        with pytest.raises(SinkSilent, match=r"did not answer in time.*`socket_timeout`"):
            sink.write(batches(1)[0])
        assert time.monotonic() - began < 3 * LIMIT + 1 + MARGIN
        with pytest.raises(DeliveryError, match="did not answer in time"):
            sink.check()


@over(elsewhere=[])
def test_a_hook_that_says_nothing(place: Place, workspace: Path) -> None:
    """No poll waits for it, and the job ends."""
    hook = HookServer()
    place.sql("CREATE TABLE t (id int PRIMARY KEY, v int)")
    stream = {"name": "s", "table": place.table("t"), "strategy": "mds", "every": "100ms"}
    notify = [{"url": f"{hook.url}/hang", "on": ["refused", "recovered"], "timeout": f"{LIMIT}s"}]
    try:
        with opened(config(place.url, stream, notify=notify), workspace) as project:
            polls, stop = list[Any](), threading.Event()
            job = threading.Thread(target=lambda: project.run(on_outcome=polls.append, stop=stop))
            job.start()  # the stream is not prepared, which is a refusal
            wait_until(lambda: bool(hook.got) and len(polls) > 1)
            stop.set()
            began = time.monotonic()
            job.join()
            assert time.monotonic() - began < 10 + MARGIN
    finally:
        hook.close()
    assert isinstance(project, qbcd.Project)
