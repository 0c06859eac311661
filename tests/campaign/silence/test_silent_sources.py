"""Sources that fall silent: 200 faults of each kind, at connect, at each hook, and after any byte of a poll.

Each poll ends within its limit, a tenth, and a margin for busy cores. Nothing is lost: once the source answers again,
replay of all events gives its rows.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy.engine import make_url

from qbcd.common import hooks
from qbcd.errors import QbcdError, SourceSilent, SparkFailed
from qbcd.spark import time_limit
from qbcd.spark.time_limit import limit_calls
from tests.support.places import Place, over
from tests.support.project import opened, poll
from tests.support.proxy import FAULTS, Fault, Proxy, proxy_to
from tests.support.scene import Scene
from tests.support.watched_polls import Watched, stamped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.campaign

LIMIT = 1  # seconds of each limit
SPARK_LIMIT = 8  # seconds of a call of Java; a healthy one takes less on busy cores
MARGIN = 0.8  # seconds in which busy cores run what is left of a failing poll; two limits in a row are too long
SPARK_MARGIN = 2.0  # the same where Spark must give up a job
CONTROL, READERS = 60, 40  # faults of each kind on each database: on sessions of the driver, and on those of Spark
BLOCK = 10  # faults that share a database
STEP = ("after_lease", "after_snapshot", "after_checksums", "after_fetch", "after_stage", "before_commit")
POINTS = (*STEP, "after_horizon", "after_commit", "before_seal", "after_seal")


class Faults:
    """Faults of one kind at drawn moments, and the time from each to the end of its poll."""

    def __init__(self, proxy: Proxy, fault: Fault, seed: str, most: float) -> None:
        self.proxy, self.fault, self.most = proxy, fault, most
        self.random = random.Random(seed)
        self.spent: list[float] = []
        self.lines: list[str] = []
        self.bytes = 2_000  # from the server during a healthy poll

    def strike(self, work: Callable[[], object], points: Sequence[str] = POINTS) -> QbcdError | None:
        """Let the source fall silent during `work`, often at one of `points`; return the error of `work`.

        A fault is not counted if `work` needs nothing more from the source.
        """
        how = self.random.choice(["connect", "hook", "hook", "hook", "bytes", "bytes"])
        point = self.random.choice(points)
        began: list[float] = []
        error: QbcdError | None = None
        with self._falling(how, point, began):
            try:
                work()
            except QbcdError as failure:
                error = failure
            ended = time.monotonic()
        if began and self.proxy.struck_at >= began[0] and (error or ended - self.proxy.struck_at > LIMIT / 2):
            spent = ended - self.proxy.struck_at
            self.spent.append(spent)
            self.lines.append(f"{how} {point if how == 'hook' else ''} {spent:.2f} s: {error}")
            assert spent < self.most, self.lines[-1]
        return error

    @contextmanager
    def _falling(self, how: str, point: str, began: list[float]) -> Iterator[None]:
        def fall() -> None:
            if not began:
                began.append(time.monotonic())
                self.proxy.fall(self.fault, after=self.random.randrange(self.bytes) if how == "bytes" else 0)

        if how == "hook":
            hooks.register(point, fall)
        else:
            fall()
        try:
            yield
        finally:
            hooks.register(point, None)
            self.proxy.heal()

    def report(self) -> None:
        """Print the figures of this block."""
        if self.spent:
            print(f"{self.fault}: {len(self.spent)} faults, median {statistics.median(self.spent):.2f} s, ", end="")
            print(f"longest {max(self.spent):.2f} s")
            print(*self.lines, sep="\n")


def behind(place: Place, proxy: Proxy) -> str:
    """Return the URL of the place behind the proxy, with a limit on connecting."""
    url = make_url(place.url).set(port=proxy.port).update_query_dict({"connect_timeout": str(LIMIT)})
    return url.render_as_string(hide_password=False)


@over("fault, block", [(fault, block) for fault in FAULTS for block in range(CONTROL // BLOCK)])
def test_sessions_of_the_driver(fault: Fault, block: int, place: Place, workspace: Path) -> None:
    strategies = {"mds": "mds", "id": "id", "ts": stamped(place, "ts")}
    with proxy_to(place) as proxy, Watched(place, workspace, strategies, source_url=behind(place, proxy)) as streams:
        streams.data["sources"]["shop"]["socket_timeout"] = f"{LIMIT}s"
        streams.reopen()
        streams.fill()
        faults = Faults(proxy, fault, f"{place.kind} {fault} {block}", LIMIT * 1.1 + MARGIN)
        number = 0
        while len(faults.spent) < BLOCK:
            number += 1
            assert number < 10 * BLOCK, "polls do not meet the fault"
            name = faults.random.choice(list(strategies))
            streams.update(faults.random.randrange(1, 12), f"changed {number}")
            before = proxy.received
            for _ in range(2):  # in the second poll of a pass nothing has changed
                error = faults.strike(partial(poll, streams.project, name))
                assert error is None or isinstance(error, SourceSilent), repr(error)
            faults.bytes = max(faults.bytes, proxy.received - before)
            streams.poll(name)
            streams.check(name)
        for name in strategies:
            streams.poll(name)
            streams.check(name)
        faults.report()


@contextmanager
def impatient(spark: SparkSession, proxy: Proxy) -> Iterator[None]:
    """In the block, limit the calls of the run's Java as those of a Java that qbcd starts.

    Where that Java would be killed, its connections end.
    """
    lift = limit_calls(spark.sparkContext._gateway, SPARK_LIMIT, proxy.heal)
    try:
        yield
    finally:
        lift()


@over("fault, block", [(fault, block) for fault in FAULTS for block in range(READERS // BLOCK)])
def test_sessions_of_spark(
    fault: Fault, block: int, place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_limit, "GRACE", LIMIT)
    # A throttled connection is not silent, so that only the limit of Spark's calls ends it.
    most = (SPARK_LIMIT + LIMIT if fault == "throttled" else LIMIT) * 1.1 + SPARK_MARGIN
    with (
        proxy_to(place) as proxy,
        Scene(place.url, workspace, "id_rcs", spark, source_url=behind(place, proxy)) as scene,
    ):
        scene.data["sources"]["shop"]["socket_timeout"] = f"{LIMIT}s"
        scene.project.close()
        scene.project = opened(scene.data, workspace, spark)
        scene.begin()
        faults = Faults(proxy, fault, f"{place.kind} {fault} {block}", most)
        number = 0
        while len(faults.spent) < BLOCK:
            number += 1
            assert number < 10 * BLOCK, "polls do not meet the fault"
            scene.change()
            before = proxy.received
            with impatient(spark, proxy):
                error = faults.strike(scene.poll, ("after_checksums", "after_snapshot"))
            assert error is None or isinstance(error, (SourceSilent, SparkFailed)), repr(error)
            scene.poll()
            faults.bytes = max(faults.bytes, proxy.received - before)
            scene.check()
        faults.report()
