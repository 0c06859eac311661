"""Connections that fall silent: each wait ends in time and with words, and nothing is lost afterwards.

The proxy lets no byte pass (black hole), loses all answers (half-open), or gives a byte each half second (throttled).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import make_url

import qbcd
from qbcd import hooks
from qbcd.errors import SourceError, SourceSilent
from qbcd.sites import context as site_context
from tests.support.places import Place, over
from tests.support.project import config, opened, poll
from tests.support.proxy import Fault, Proxy, proxy_to

LIMIT = 1.0  # seconds: `socket_timeout` and `connect_timeout`
WORDS = r"source shop \(.*\)(: no answer for 1 s \(socket_timeout\)| cannot be reached: .*(expired|connect_timeout))"
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
