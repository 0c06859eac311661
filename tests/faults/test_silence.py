"""Connections that fall silent: each wait ends in time and with words, and nothing is lost afterwards.

The proxy lets no byte pass (black hole), loses all answers (half-open), or gives a byte each half second (throttled).
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import make_url

import qbcd
from qbcd.common import hooks
from qbcd.errors import SinkSilent, SourceError, SourceSilent
from qbcd.polling import job
from qbcd.polling.outcome import Outcome
from qbcd.sinks.table.databases import target_at, watch
from qbcd.sinks.table.databases.servers import ServerTarget
from qbcd.sites import context as site_context
from tests.support import wait_until
from tests.support.places import Place, over
from tests.support.project import config, opened, poll
from tests.support.proxy import Fault, Proxy, proxy_to

LIMIT = 1.0  # seconds: `socket_timeout` and `connect_timeout`
WORDS = r"source shop \(.*\)(: no answer for 1 s \(socket_timeout\)| cannot be reached: .*(expired|connect_timeout))"
BUSY = 10.0  # seconds for which busy cores may hold up threads of a job, whose wait would last an hour otherwise
MARGIN = 0.5  # seconds in which busy cores run the watchdog and the rest of a failing poll


@contextmanager
def silenced(point: str, proxy: Proxy, fault: Fault) -> Iterator[list[float]]:
    """In the block, let connections fall silent when a poll reaches `point`; return the time when it did."""
    began: list[float] = []

    def strike() -> None:
        if not began:
            proxy.fall(fault)
            began.append(time.monotonic())

    hooks.register(point, strike)
    try:
        yield began
    finally:
        hooks.register(point, None)
        proxy.heal()


def behind(place: Place, proxy: Proxy) -> str:
    url = make_url(place.url).set(port=proxy.port).update_query_dict({"connect_timeout": f"{LIMIT:g}"})
    return url.render_as_string(hide_password=False)


@contextmanager
def polled(place: Place, folder: Path, proxy: Proxy, **more: Any) -> Iterator[qbcd.Project]:
    """Yield a project with a prepared stream `s` of the database wing, whose table has changed since."""
    place.sql("CREATE TABLE t (id int PRIMARY KEY, v int)")
    place.sql("INSERT INTO t VALUES (1, 1), (2, 2)")
    stream = {"name": "s", "table": place.table("t"), "strategy": "mds", "sinks": []}
    url = more.pop("url", None) or behind(place, proxy)
    with opened(config(url, stream, **more), folder) as project:
        project.stream("s").prepare()
        place.sql("UPDATE t SET v = 5 WHERE id = 1")
        yield project


def finds_the_change(project: qbcd.Project) -> bool:
    """Poll; return True if the poll finds the change and no other."""
    (outcome,) = poll(project, "s")
    return outcome.report is not None and outcome.report.counts == {"u": 1}


@over(
    "fault, point",
    [
        ("half_open", "before_commit"),
        ("throttled", "before_commit"),
        pytest.param("black_hole", "after_lease", marks=pytest.mark.campaign),
    ],
    elsewhere=[("half_open", "before_commit")],
)
def test_a_poll_of_a_silent_source_ends_in_time(fault: Fault, point: str, place: Place, workspace: Path) -> None:
    limits = {"socket_timeout": f"{LIMIT:g}s"}
    with proxy_to(place) as proxy, polled(place, workspace, proxy, source=limits) as project:
        with silenced(point, proxy, fault) as began, pytest.raises(SourceSilent, match=WORDS) as failure:
            poll(project, "s")
        assert time.monotonic() - began[0] < LIMIT * 1.1 + MARGIN
        assert "socket_timeout" in failure.value.remedy or "connect_timeout" in failure.value.remedy
        assert finds_the_change(project)


@over(elsewhere=[])
def test_a_lost_lease_ends_the_wait(place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_context, "LEASE_SECONDS", LIMIT)
    limits = {"socket_timeout": "10m"}
    with proxy_to(place) as proxy, polled(place, workspace, proxy, source=limits) as project:
        lost = "the lease could not be renewed for"
        with silenced("before_commit", proxy, "black_hole") as began, pytest.raises(SourceSilent, match=lost):
            poll(project, "s")
        # the lease is lost when the first renewal after its end fails, which waits a third of the lease, or a second
        assert time.monotonic() - began[0] < 3 * LIMIT + MARGIN
        assert finds_the_change(project)


@pytest.mark.campaign
@over()
def test_a_silent_state_database(place: Place, workspace: Path) -> None:
    with proxy_to(place) as proxy:
        state = {"url": place.url, "state": behind(place, proxy), "state_timeout": f"{LIMIT:g}s"}
        with polled(place, workspace, proxy, **state) as project:
            words = "the state database .*(no answer for 1 s .state_timeout|timeout expired|no session after 1 s)"
            with silenced("after_lease", proxy, "black_hole") as began, pytest.raises(SourceError, match=words):
                poll(project, "s")
            # A session of the pool is silent, then a new one; the history of polls waits in the same way.
            assert time.monotonic() - began[0] < 4 * LIMIT * 1.1 + MARGIN
            assert finds_the_change(project)


# -- targets -----------------------------------------------------------------------------------------------------------
def beyond(place: Place, proxy: Proxy, **limits: Any) -> dict[str, Any]:
    """Return the sinks `copy`, a mirror behind the proxy, and `changes`, files."""
    copy = {"type": "database", "url": behind(place, proxy), "table": "copy_{table}", **limits}
    return {"copy": copy, "changes": {"type": "jsonl", "path": "out"}}


@contextmanager
def delivering(place: Place, folder: Path, proxy: Proxy, **limits: Any) -> Iterator[qbcd.Project]:
    """Yield a project whose stream `s` has delivered its rows to a mirror and to files, and `u` to files only."""
    place.sql("CREATE TABLE t (id int PRIMARY KEY, v int)")
    place.sql("CREATE TABLE u (id int PRIMARY KEY, v int)")
    place.sql("INSERT INTO t VALUES (1, 1), (2, 2)")
    streams = [
        {"name": "s", "table": place.table("t"), "sinks": ["copy", "changes"]},
        {"name": "u", "table": place.table("u"), "sinks": ["changes"]},
    ]
    made = [{**one, "strategy": "mds", "baseline": "events", "every": "100ms"} for one in streams]
    with opened(config(place.url, *made, sinks=beyond(place, proxy, **limits)), folder) as project:
        for name in ("s", "u"):
            project.stream(name).prepare()
        place.sql("UPDATE t SET v = 5 WHERE id = 1")
        yield project


def mirrored(place: Place) -> list[Any]:
    return place.sql("SELECT id, v FROM copy_t ORDER BY id")


@contextmanager
def running(project: qbcd.Project) -> Iterator[tuple[list[Outcome], threading.Event]]:
    """Run a job within the block; yield the outcomes of its polls and the event that ends it."""
    outcomes, stop = list[Outcome](), threading.Event()
    job = threading.Thread(target=lambda: project.run(on_outcome=outcomes.append, stop=stop))
    job.start()
    try:
        yield outcomes, stop
    finally:
        stop.set()
        job.join()


@over(elsewhere=[])
def test_a_silent_target_fails_and_the_others_go_on(place: Place, workspace: Path) -> None:
    limits = {"socket_timeout": f"{LIMIT:g}s"}
    with proxy_to(place) as proxy, delivering(place, workspace, proxy, **limits) as project:
        with silenced("mid_publish", proxy, "black_hole") as began, running(project) as (outcomes, _):
            wait_until(lambda: any(one.stream == "s" for one in outcomes))
            failed = next(one for one in outcomes if one.stream == "s")
            assert time.monotonic() - began[0] < LIMIT + BUSY
            assert failed.report is not None
            words = r"sink copy: .* no answer for 1 s \(socket_timeout\)"
            assert re.search(words, str(failed.report.failures["copy"]))
            assert failed.report.pending == {"copy": 1, "changes": 0}
            assert "no answer for 1 s" in project.status("s")[0].failures["copy"].message
            wait_until(lambda: len([one for one in outcomes if one.stream == "u"]) > 2)  # while the sink rests
        poll(project, "s")
        assert mirrored(place) == [(1, 5), (2, 2)]


@over(elsewhere=[])
def test_the_end_of_a_job_ends_the_wait_for_a_target(
    place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "GRACE_S", 0.3)
    with proxy_to(place) as proxy, delivering(place, workspace, proxy) as project:
        with silenced("mid_publish", proxy, "half_open") as began, running(project) as (outcomes, stop):
            wait_until(lambda: bool(began))
            stop.set()
        assert time.monotonic() - began[0] < 0.3 + job.NAP_S + BUSY
        report = outcomes[-1].report
        assert report is not None and "after the job was asked to end" in str(report.failures["copy"])
        poll(project, "s")
        assert mirrored(place) == [(1, 5), (2, 2)]


@over(elsewhere=[])
def test_a_long_statement_is_not_taken_for_silence(
    place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A delivery waits for a row that another session has locked, and the server says so."""
    monkeypatch.setattr(watch, "EVERY_S", 0.1)
    with proxy_to(place) as proxy, delivering(place, workspace, proxy) as project, place.connect() as other:
        place.run(other, "SELECT v FROM copy_t WHERE id = 1 FOR UPDATE")
        threading.Timer(0.8, other.rollback).start()
        poll(project, "s")
    assert mirrored(place) == [(1, 5), (2, 2)]


@over(elsewhere=[])
def test_a_server_knows_which_of_its_sessions_works(place: Place) -> None:
    """One that waits for its client does not, and one that has ended does not."""
    target = target_at(make_url(place.url))
    assert isinstance(target, ServerTarget)
    with place.connect() as other:
        ((number,),) = place.run(other, target.own_number)
        assert not target.is_at_work("s", number)
    assert not target.is_at_work("s", number)
    ((works,),) = place.sql(target.at_work.replace("%s", target.own_number.removeprefix("SELECT ")))
    assert works


@pytest.mark.campaign
@over("fault", ["black_hole", "half_open"])
def test_a_silent_target_is_found_before_its_limits(
    fault: Fault, place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Limits of an hour; the server says that it has no such statement, or does not answer another session."""
    monkeypatch.setattr(watch, "EVERY_S", 0.5)
    with proxy_to(place) as proxy, delivering(place, workspace, proxy) as project:
        words = "the server does not (answer another session either|work on the statement any more)"
        with silenced("mid_publish", proxy, fault) as began, pytest.raises(SinkSilent, match=words):
            poll(project, "s")
        assert time.monotonic() - began[0] < 3 * 0.5 + 2 * 2 + MARGIN  # libpq waits two seconds for a session
        poll(project, "s")
        assert mirrored(place) == [(1, 5), (2, 2)]
