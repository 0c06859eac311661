"""Readers of rows that meet a fault amid rows: they end in time, with words, and hold little memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import make_url

from qbcd.catalog.source import Source
from qbcd.errors import SourceError, SourceSilent
from tests.support import wait_until
from tests.support.local_rows import STREAM, fetched, source
from tests.support.places import Place, over
from tests.support.proxy import FAULTS, Fault, proxy_to

ROWS = 50_000
SLEEP = {"postgresql": "CAST(pg_sleep(60) AS text)", "mariadb": "sleep(60)", "mysql": "sleep(60)"}
_FAMILY = "SELECT id FROM information_schema.processlist WHERE state = 'User sleep' AND db = database()"
SLEEPERS = {  # sessions that sleep
    "postgresql": "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()",
    "mariadb": _FAMILY,
    "mysql": _FAMILY,
}
END = {"postgresql": "SELECT pg_terminate_backend({})", "mariadb": "KILL {}", "mysql": "KILL {}"}
FIELDS = [("n", "bigint"), ("t", "string")]
SOON = 20.0  # seconds, on a busy machine; less than the sleep
LIMIT = 1.0  # seconds: `socket_timeout`
MARGIN = 1.0  # seconds in which busy cores end the readers


def sleeping(place: Place, value: str = "'row'") -> str:
    """Return a statement that sleeps after most of its rows."""
    case = f"CASE WHEN n > {ROWS} THEN {SLEEP[place.kind]} ELSE {value} END"
    return f"SELECT n, {case} AS t FROM {place.numbers(ROWS + 1)}"


def killed(place: Place, shop: Source) -> None:
    for (session,) in place.sql(SLEEPERS[place.kind]):
        place.sql(END[place.kind].format(session))


def released(place: Place, shop: Source) -> None:
    shop.interrupt(STREAM, "the lease is lost")


def stopped(place: Place, shop: Source) -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


ENDS: Mapping[str, tuple[Callable[[Place, Source], None], type[BaseException], str | None]] = {
    "killed": (killed, SourceError, r"source shop \(.*cannot be reached"),
    "released": (released, SourceSilent, r"source shop \(.*: the lease is lost"),
    "Ctrl-C": (stopped, KeyboardInterrupt, None),
}


@over("end", ["killed", "Ctrl-C", pytest.param("released", marks=pytest.mark.campaign)], elsewhere=["killed"])
def test_a_session_that_ends_amid_rows_ends_the_others(end: str, place: Place, tmp_path: Path) -> None:
    act, error, words = ENDS[end]
    text, sleepers = sleeping(place), SLEEPERS[place.kind]

    def when_both_sleep() -> None:
        wait_until(lambda: len(place.sql(sleepers)) == 2, what="two sleeping readers")
        act(place, shop)

    with source(place) as shop:
        began = time.monotonic()
        acting = threading.Thread(target=when_both_sleep)
        acting.start()
        with pytest.raises(error, match=words):
            fetched(shop, [text, text], FIELDS, tmp_path, at_once=2)
        acting.join()
    assert time.monotonic() - began < SOON
    assert [t.name for t in threading.enumerate() if t.name.startswith("qbcd-rows")] == []


@pytest.mark.campaign
@over()
def test_the_server_limits_a_statement(place: Place, tmp_path: Path) -> None:
    with source(place, statement_timeout=1) as shop, pytest.raises(SourceError, match="statement") as failure:
        fetched(shop, [sleeping(place)], FIELDS, tmp_path)
    assert "statement_timeout" in failure.value.remedy


@pytest.mark.campaign
@over("fault", FAULTS)
@pytest.mark.parametrize("after", [3_000_000, 0])
def test_a_connection_that_falls_silent(after: int, fault: Fault, place: Place, tmp_path: Path) -> None:
    """Amid rows, or before the session has its settings."""
    text = sleeping(place, "repeat('x', 1000)")
    with proxy_to(place) as proxy:
        address = make_url(place.url).set(port=proxy.port).update_query_dict({"connect_timeout": f"{LIMIT:g}"})
        with source(place, address.render_as_string(hide_password=False), socket_timeout=LIMIT) as shop:
            proxy.fall(fault, after=after)
            words = r"no answer for 1 s \(socket_timeout\)|cannot be reached: .*(expired|connect_timeout)"
            with pytest.raises(SourceSilent, match=words):
                fetched(shop, [text], FIELDS, tmp_path)
            assert proxy.struck.is_set()
            # a throttled connection is noticed when a chunk is not complete in time
            assert time.monotonic() - proxy.struck_at < 2 * LIMIT + MARGIN
            proxy.heal()
            assert len(fetched(shop, ["SELECT 1 AS n, 'row' AS t"], FIELDS, tmp_path)) == 1


PEAK = """
import resource, sys
from pathlib import Path
from tests.support.local_rows import MEMORY, source
from tests.support.places import place_of
from qbcd.local.database import LocalDatabase
from qbcd.local.source import SourceReads, fetch_rows
from qbcd.model import Statement
url, text, folder = sys.argv[1:]
database = LocalDatabase(MEMORY, Path(folder))
with source(place_of(url)) as shop:
    fetch_rows(database, SourceReads(shop, "s", [Statement(text)] * 2, at_once=2), [("n", "bigint"), ("t", "string")])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def peak(place: Place, value: str, rows: int, folder: Path) -> int:
    """Return the megabytes of a process that reads such rows twice at once."""
    text = f"SELECT n, {value} AS t FROM {place.numbers(rows)}"
    environment: dict[str, Any] = {**os.environ, "PYTHONPATH": os.getcwd()}
    command = [sys.executable, "-c", PEAK, place.url, text, str(folder)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


@pytest.mark.campaign
@over("value, rows", [("repeat('xy', 5000000)", 60), ("repeat('xy', 50)", 4_000_000)])
def test_memory_does_not_grow_with_the_rows(value: str, rows: int, place: Place, tmp_path: Path) -> None:
    few, many = (peak(place, value, number, tmp_path) for number in (rows // 4, rows))
    assert many < few * 1.25 + 50
