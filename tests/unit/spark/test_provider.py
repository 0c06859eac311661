"""Handling of a Spark session that ended, tested without Spark.

tests/faults/test_spark_dies.py kills a session.
"""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import qbcd
import qbcd.spark.provider
from qbcd.api import parts_of
from qbcd.config import SparkConfig
from qbcd.errors import Refused, SparkFailed
from qbcd.spark import session as sessions
from qbcd.spark.provider import SparkProvider
from tests.support import free_port


class Session:
    """The part of a session that the provider uses; it lives until `stopped`."""

    def __init__(self) -> None:
        self.stopped = False
        self.conf = SimpleNamespace(get=lambda name: "UTC")
        context = SimpleNamespace(isStopped=lambda: self.stopped)
        self.sparkContext = SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: context))


def test_a_given_session_is_never_replaced() -> None:
    session = Session()
    passed: Any = session
    provider = SparkProvider(SparkConfig(), list, session=passed)
    assert provider.get() is passed
    session.stopped = True
    for _ in range(2):
        with pytest.raises(Refused, match="the Spark session passed to qbcd has stopped"):
            provider.get()
    provider.stop()  # this provider does not own the session, dead or not


def test_progress_names_the_start_of_spark_and_then_the_step_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = {
        "version": 1,
        "sources": {"shop": {"url": "postgresql://u@127.0.0.1/shop"}},
        "sinks": {"changes": {"type": "jsonl", "path": "out"}},
        "tables": [{"source": "shop", "table": "public.t", "strategy": "id_rcs", "sinks": ["changes"]}],
    }
    shown: list[tuple[str, str]] = []
    with qbcd.Project.from_dict(config, base_dir=tmp_path) as project:
        parts = parts_of(project)

        def start(settings: object, drivers: object, **more: object) -> Any:
            assert shown[-1] == ("", "starting Spark")
            return Session()

        monkeypatch.setattr(qbcd.spark.provider, "running_session", lambda: None)
        monkeypatch.setattr(qbcd.spark.provider, "create_session", start)
        monkeypatch.setattr(parts.spark, "_drivers", list)
        monkeypatch.setattr(parts.spark, "stop", lambda: None)
        parts.progress = lambda stream, what: shown.append((stream, what))
        parts.open_stream("t").site.context.progress("fetching 1 row")
        for _ in range(2):
            parts.spark.get()
    assert shown == [("t", "fetching 1 row"), ("", "starting Spark"), ("t", "fetching 1 row")]


def test_a_session_is_started_for_the_rows_of_its_first_work(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int | None] = []

    def start(settings: object, drivers: object, *, rows: int | None, **more: object) -> Any:
        started.append(rows)
        return Session()

    monkeypatch.setattr(qbcd.spark.provider, "running_session", lambda: None)
    monkeypatch.setattr(qbcd.spark.provider, "create_session", start)
    for rows in (2000, None):
        provider = SparkProvider(SparkConfig(), list)
        provider.give_reason("engine: spark", rows)
        provider.get()
        provider.give_reason("engine: spark", 7)
        provider.get()
    assert started == [2000, None]


def test_one_thread_at_a_time_uses_spark() -> None:
    """A second one waits from its first use on, until the block of the first one ends; without a block none waits."""
    passed: Any = Session()
    provider = SparkProvider(SparkConfig(), list, session=passed)
    entered, done = threading.Event(), threading.Event()

    def other() -> None:
        with provider.turn():
            entered.set()
            provider.get()
            done.set()

    thread = threading.Thread(target=other, daemon=True)
    with provider.turn():
        provider.get()
        with provider.noting() as use, provider.turn():
            thread.start()
            assert entered.wait(60)
        assert not use.used, "uses of other threads do not count"
        free = threading.Thread(target=provider.get, daemon=True)
        free.start()
        free.join(60)
        assert not free.is_alive()
        assert not done.is_set()
        with provider.noting() as use:
            provider.give_reason("many rows")
            provider.get()
        assert (use.used, use.why) == (True, "many rows")
    assert done.wait(60)
    thread.join(60)
    assert not thread.is_alive()


def test_a_master_that_is_not_there_is_refused_before_java_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "require_java", lambda: pytest.fail("Java was needed"))
    monkeypatch.setattr(sessions, "running_session", lambda: None)
    with pytest.raises(SparkFailed, match=r"master spark://127\.0\.0\.1:\d+ cannot be reached: Connection refused"):
        sessions.create_session(SparkConfig(master=f"spark://127.0.0.1:{free_port()}"), [])
