"""A soak: 50 streams of many strategies, writers, lost sessions, restarts of the server, two kill -9.

At the end every stream is exact, no session is left on the server, and the last process uses no more open files,
threads and memory than when it was young. ``QBCD_SOAK_MINUTES`` is the duration; default: 8.
"""

from __future__ import annotations

import json
import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import psycopg2
import pymysql
import pytest
import yaml
from typing_extensions import override

from qbcd.demo.server import EmbeddedPostgres
from qbcd.state import ProjectState
from tests.support import no_sessions, wait_until
from tests.support.cli import finished, spawn
from tests.support.maria_server import MariaServer
from tests.support.oracle import batches
from tests.support.places import Place, Row, over, server_of
from tests.support.scene import replay

MINUTES = float(os.environ.get("QBCD_SOAK_MINUTES", "8"))
PATIENCE = 300.0  # seconds
ROWS = 12
JOBS = 4
KILLS = (0.1, 0.2)  # parts of the time; from the second kill on, one process is measured
RESTARTS = (0.4, 0.5)  # the first one is orderly, the second one a crash
EARLY, WARM, LATE = (0.2, 0.4), (0.55, 0.7), (0.85, 1.0)  # the times that are compared; for memory the last two
USED = ("files", "threads", "memory", "sessions")
LOST = 10.0  # seconds between two losses of sessions
MARGIN = {"timestamp": "at"}
SWEEP = {"deletes": {"every": "5s"}}
# name -> strategy, number of streams
STRATEGIES: Mapping[str, tuple[Any, int]] = {
    "mds": ("mds", 8),
    "ranges": ({"type": "id_rcs", "rows_per_range": 20}, 8),
    "digest": ({"type": "id_rcs", "replica": "digest", "rows_per_range": 20}, 4),
    "id": ({"type": "id", "rows_per_range": 20, "pace": {"per_second": 1000}}, 6),
    "tlcs": ({"type": "tlcs", "rows_per_range": 20, "pace": {"per_second": 1000}}, 6),
    "ts": ({"type": "ts", **MARGIN, **SWEEP}, 6),
    "tdi": ({"type": "tdi", **MARGIN, "delete_flag": "gone"}, 6),
    "vbd": ("vbd", 6),
}
NAMES = [f"{kind}_{number}" for kind, (_, streams) in STRATEGIES.items() for number in range(streams)]
DROPPED = (psycopg2.OperationalError, psycopg2.InterfaceError, pymysql.err.OperationalError, pymysql.err.InterfaceError)
SESSIONS = {  # all of qbcd, and in MariaDB also those of the writers, which bear it
    "postgresql": "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'qbcd%' AND datname = '{name}'",
    "": "SELECT id FROM information_schema.processlist WHERE db LIKE '{name}%' AND id <> connection_id()",
}
END = {"postgresql": "SELECT pg_terminate_backend({})", "": "KILL {}"}


def of(place: Place, words: Mapping[str, Any]) -> Any:
    return words.get(place.kind, words[""])


def create(place: Place, name: str) -> None:
    """Create a table with every column that a strategy needs."""
    at = of(place, {"postgresql": "timestamptz", "": "timestamp(6)"})
    columns = (
        f"id integer PRIMARY KEY, v varchar(40), n integer DEFAULT 0, at {at} NOT NULL, gone boolean DEFAULT false"
    )
    place.sql(f"CREATE TABLE {name} ({columns})")
    rows = ", ".join(f"({key}, 'old {key}', 0, {clock(place)})" for key in range(1, ROWS + 1))
    place.sql(f"INSERT INTO {name} (id, v, n, at) VALUES {rows}")


def clock(place: Place) -> str:
    return str(of(place, {"postgresql": "clock_timestamp()", "": "sysdate(6)"}))


def rows_of(place: Place, name: str) -> list[Row]:
    return place.sql(f"SELECT id, v, n FROM {name} WHERE NOT gone")


def configured(place: Place) -> dict[str, Any]:
    tables: list[dict[str, Any]] = []
    for kind, (strategy, streams) in STRATEGIES.items():
        stamped = isinstance(strategy, dict) and "timestamp" in strategy
        lag = {"lag": "10s"} if stamped and place.kind != "postgresql" else {}  # it may not show who writes
        chosen = {**strategy, **lag} if lag else strategy
        if kind == "vbd":
            query = "SELECT id, v, n FROM {} WHERE NOT gone"
            named = [f"{kind}_{number}" for number in range(streams)]
            tables += [{"name": one, "query": query.format(place.table(one)), "strategy": chosen} for one in named]
        else:
            tables.append({"tables": f"{place.schema}.{kind}_*", "strategy": chosen, "columns": ["v", "n"]})
    return {
        "version": 1,
        "jobs": JOBS,
        "sources": {"shop": place.source},
        "sinks": {"changes": {"type": "jsonl", "path": "out"}},
        "defaults": {
            "source": "shop",
            "sinks": "changes",
            "every": "1s",
            "guards": {"max_delete_fraction": 1.0, "allow_empty": True},
        },
        "tables": tables,
    }


class Writer(threading.Thread):
    """A thread that changes random tables until `stop`, one statement a transaction.

    A lost session is replaced. A statement whose reply is lost may have succeeded, which no stream minds.
    """

    numbers = count(1000)

    def __init__(self, place: Place, seed: int, stop: threading.Event) -> None:
        super().__init__()
        self.place, self.drawn, self.stop = place, random.Random(seed), stop
        self.written = 0
        self.error: BaseException | None = None

    @override
    def run(self) -> None:
        while not self.stop.is_set():
            try:
                with self.place.connect(autocommit=True) as conn:
                    while not self.stop.wait(0.02):
                        self.place.run(conn, self.statement())
                        self.written += 1
            except DROPPED:
                self.stop.wait(0.2)
            except BaseException as error:
                self.error = error
                raise

    def statement(self) -> str:
        name, number, key = self.drawn.choice(NAMES), next(Writer.numbers), self.drawn.randrange(1, ROWS)
        now = clock(self.place)
        old = f"id BETWEEN 1000 AND {number - 400}"
        away = f"UPDATE {name} SET gone = true, at = {now} WHERE NOT gone AND" if "tdi" in name else ""
        return self.drawn.choice(
            (
                f"INSERT INTO {name} (id, v, n, at) VALUES ({number}, 'new {number}', 0, {now})",
                f"UPDATE {name} SET v = 'changed {number}', n = n + 1, at = {now} WHERE id = {key}",
                f"UPDATE {name} SET n = {number}, at = {now} WHERE id BETWEEN {number - 200} AND {number}",
                f"{away or f'DELETE FROM {name} WHERE'} {old}",
            )
        )


@dataclass(frozen=True)
class Sample:
    """Open files, threads, memory in KB and sessions on the server, at a part of the time."""

    part: float
    files: int
    threads: int
    memory: int
    sessions: int


def sample_of(process: int, part: float, sessions: int) -> Sample:
    folder = Path(f"/proc/{process}")
    status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
    files = len(list((folder / "fd").iterdir()))
    return Sample(part, files, int(status["Threads"]), int(status["VmRSS"].split()[0]), sessions)


def within(samples: Sequence[Sample], part: tuple[float, float]) -> dict[str, float]:
    """Return the medians within a part of the time; a sample may meet any moment of four polls."""
    mine = [one for one in samples if part[0] <= one.part <= part[1]]
    return {what: statistics.median(getattr(one, what) for one in mine) for what in USED}


class Soak:
    """The process that polls, with its log, and the faults around it."""

    def __init__(self, place: Place, server: Any, folder: Path) -> None:
        self.place, self.server, self.folder = place, server, folder
        self.drawn = random.Random(5)
        self.samples: list[Sample] = []
        self.lost = 0
        self._log = (folder / "run.log").open("ab")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "qbcd", "run", "--log-format", "json"]
        self.samples = []
        self._process = subprocess.Popen(
            command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._log
        )

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def warm_up(self) -> float:
        """Wait until the process has polled every stream, however busy the machine is; return the seconds."""
        begun, since = time.monotonic(), time.time()
        with ProjectState(f"sqlite:///{self.folder}/.qbcd/state.db") as state:

            def polled() -> bool:
                return all((state.last_success(name) or 0) > since for name in NAMES)

            wait_until(polled, timeout=PATIENCE, what="a poll of every stream")
        return time.monotonic() - begun

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        """Let the process end in order; return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        if self._process is not None:
            self.kill()
        self._log.close()

    def sample(self, part: float) -> None:
        assert self.process.poll() is None, f"qbcd run ended with {self.process.returncode}"
        self.samples.append(sample_of(self.process.pid, part, len(self.sessions())))

    def sessions(self) -> list[int]:
        """Return the server's numbers of the sessions of qbcd."""
        return [row[0] for row in self.place.sql(of(self.place, SESSIONS).format(name=self.place.name))]

    def lose_sessions(self) -> None:
        """End up to two sessions on the server."""
        found = self.sessions()
        for number in self.drawn.sample(found, min(2, len(found))):
            try:
                self.place.sql(of(self.place, END).format(number))
                self.lost += 1
            except pymysql.err.OperationalError as error:
                if error.args[0] != pymysql.constants.ER.NO_SUCH_THREAD:  # it has ended by itself
                    raise

    def restart_server(self, *, crash: bool) -> None:
        if isinstance(self.server, EmbeddedPostgres):
            log = str(self.server.directory / "log")
            done = self.server._pg_ctl("restart", "-l", log, "-m", "immediate" if crash else "fast")
            assert done.returncode == 0, done.stdout
        elif isinstance(self.server, MariaServer):
            (self.server.kill if crash else self.server.shut_down)()
            self.server.restart()


@contextmanager
def writing(place: Place, threads: int) -> Iterator[list[Writer]]:
    """Writers within the block; an error of one is raised at the end."""
    stop = threading.Event()
    writers = [Writer(place, seed, stop) for seed in range(threads)]
    for one in writers:
        one.start()
    try:
        yield writers
    finally:
        stop.set()
        for one in writers:
            one.join()
    for one in writers:
        if one.error is not None:
            raise one.error


def wear(soak: Soak, seconds: float) -> None:
    """Let the process poll for some time, with faults, and take samples."""
    begun = time.monotonic()
    kills, restarts = list(KILLS), list(RESTARTS)
    next_loss = LOST
    soak.start()
    while (now := time.monotonic() - begun) < seconds:
        time.sleep(1)
        if kills and now > kills[0] * seconds:
            kills.pop(0)
            soak.kill()
            soak.start()
            if not kills:
                begun += soak.warm_up()
        elif restarts and now > restarts[0] * seconds:
            restarts.pop(0)
            soak.restart_server(crash=not restarts)
        elif now > next_loss:
            next_loss += LOST
            soak.lose_sessions()
        soak.sample(now / seconds)
    assert not (kills or restarts)


def inexact(place: Place, folder: Path, base: Mapping[str, list[Row]]) -> list[str]:
    """Return the streams whose events do not make the source's rows out of those of the baseline."""
    found = []
    for name in NAMES:
        rows = {row[0]: row for row in rows_of(place, name)}
        if replay(base[name], [events for _, events in batches(folder / "out", name)]) != rows:
            found.append(name)
    return found


def outcomes(folder: Path) -> tuple[Counter[str], Counter[str]]:
    """Return how the polls ended, and the errors by their text without the stream's name."""
    ended, errors = Counter[str](), Counter[str]()
    with ProjectState(f"sqlite:///{folder}/.qbcd/state.db") as state:
        for name in NAMES:
            for run in state.runs(name, 100_000):
                ended[run.outcome] += 1
                if run.outcome not in ("ok", "empty"):
                    errors[run.message.replace(name, "NAME")] += 1
    return ended, errors


@pytest.mark.campaign
@over()
def test_fifty_streams_stay_exact_and_leak_nothing(
    place: Place, workspace: Path, request: pytest.FixtureRequest
) -> None:
    for name in NAMES:
        create(place, name)
    base = {name: rows_of(place, name) for name in NAMES}
    (workspace / "qbcd.yaml").write_text(yaml.safe_dump(configured(place)))
    prepared = finished(spawn(workspace, "prepare"), PATIENCE)
    assert prepared.code == 0, prepared.err
    soak = Soak(place, server_of(request, place.kind), workspace)
    try:
        with writing(place, 3) as writers:
            wear(soak, 60 * MINUTES)
        assert soak.end() == 0
    finally:
        soak.close()
    wait_until(lambda: not soak.sessions(), timeout=PATIENCE, what="the end of all sessions")
    assert place.kind != "postgresql" or no_sessions(place.url)
    ended, errors = outcomes(workspace)
    early, warm, late = (within(soak.samples, part) for part in (EARLY, WARM, LATE))
    most = max(one.sessions for one in soak.samples)
    changes = sum(one.written for one in writers)
    print(f"\n{changes} changes, {soak.lost} sessions lost, at most {most} sessions, polls: {dict(ended)}")
    print(f"early: {early}, warm: {warm}, late: {late}")
    print("\n".join(f"{number} x {error}" for error, number in errors.most_common()))

    until = time.monotonic() + PATIENCE
    while inexact(place, workspace, base) and time.monotonic() < until:
        ran = finished(spawn(workspace, "run", "--once"), PATIENCE)
        assert ran.code == 0, ran.err
    assert inexact(place, workspace, base) == []
    assert {name for name in NAMES if not batches(workspace / "out", name)} == set()
    assert "refused" not in ended
    log = [json.loads(line) for line in (workspace / "run.log").read_text().splitlines()]
    assert not [one for one in log if "Traceback" in str(one)]
    assert late["files"] <= early["files"] + 5
    assert late["threads"] <= early["threads"] + 10  # a leak of one a poll, or one a lost session, would be many more
    assert late["sessions"] <= early["sessions"] + 3
    assert most <= 5 * JOBS
    assert late["memory"] <= warm["memory"] * 1.05  # before, each stream polls for the first time
