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

from qbcd import hooks
from qbcd.errors import SourceSilent
from tests.support.places import Place, over
from tests.support.project import config, opened, poll
from tests.support.proxy import Fault, Proxy, proxy_to

LIMIT = 1.0  # seconds: `socket_timeout` and `connect_timeout`
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


@over("fault, point", [("black_hole", "before_commit"), ("half_open", "after_lease"), ("throttled", "before_commit")])
def test_a_poll_of_a_silent_source_ends_in_time(fault: Fault, point: str, place: Place, workspace: Path) -> None:
    place.sql("CREATE TABLE t (id int PRIMARY KEY, v int)")
    place.sql("INSERT INTO t VALUES (1, 1), (2, 2)")
    stream = {"name": "s", "table": place.table("t"), "strategy": "mds", "sinks": []}
    with proxy_to(place) as proxy:
        limits: dict[str, Any] = {"socket_timeout": f"{LIMIT:g}s"}
        with opened(config(behind(place, proxy), stream, source=limits), workspace) as project:
            project.stream("s").prepare()
            place.sql("UPDATE t SET v = 5 WHERE id = 1")
            with silenced(point, proxy, fault) as began, pytest.raises(SourceSilent) as failure:
                poll(project, "s")
            spent = time.monotonic() - began[0]
            print(failure.value, spent)
            assert spent < LIMIT * 1.1 + MARGIN
            (outcome,) = poll(project, "s")
            assert outcome.report is not None
            assert outcome.report.counts == {"u": 1}
