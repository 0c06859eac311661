"""Passes of ID while writers work: length of qbcd's transactions, latency of writers.

Writers of `pgbench` update random rows at a steady rate: alone; during passes of ID that rest after each step; during
passes that do not rest; while one session repeatedly scans the table; and alone again. The cost of the bare scan is
that of any other busy process on the machine. A separate session reads the age of qbcd's transactions every 20 ms.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measure import Options, Table
from benchmarks.places import Place, PostgresPlace
from qbcd.api import Project

DATABASES = ("postgresql",)
SETTINGS = {"shared_buffers": "2GB"}
CLIENTS, RATE = 4, 200  # writers, and transactions per second of all together
SECONDS = 30  # of a phase
PACES: dict[str, dict[str, Any]] = {  # `pace` in the configuration, by name
    "during ID, resting": {"target": "100ms", "nice_ratio": 29},
    "during ID, not resting": {"target": "500ms"},
}
TARGETS = {"during ID, resting": 0.1, "during ID, not resting": 0.5}  # seconds
CHECK_EVERY = 0.02  # seconds
SCRIPT = "\\set id random(1, {rows})\nUPDATE public.orders SET quantity = quantity + 1 WHERE id = :id;\n"
SCAN = "SELECT sum(length(note)) FROM {table}"
AGES = """
SELECT pid, xact_start, extract(epoch FROM clock_timestamp() - xact_start),
       left(regexp_replace(query, '\\s+', ' ', 'g'), 60)
FROM pg_stat_activity WHERE application_name LIKE 'qbcd%' AND xact_start IS NOT NULL
"""


@dataclass
class Seen:
    """Observations of qbcd: greatest age and statement of each transaction, times of passes."""

    oldest: dict[tuple[int, object], tuple[float, str]] = field(default_factory=dict)
    passes: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Phase:
    """Sorted latencies of writers in milliseconds, and the machine's load at the phase's end."""

    latencies: list[float]
    load: float

    def percentile(self, share: float) -> float:
        """Return the latency that `share` of the writes do not exceed."""
        return self.latencies[min(len(self.latencies) - 1, int(share * len(self.latencies)))]


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Measure `repeats` rounds of five phases."""
    assert isinstance(place, PostgresPlace)
    place.create(options.rows)
    script = folder / "writer.sql"
    script.write_text(SCRIPT.format(rows=options.rows))
    with _project(place, folder, {}) as project:
        project.stream("orders").prepare()
    place.run("VACUUM ANALYZE public.orders")
    _writers(place, folder, script, lambda: None)  # warm-up
    seen = {name: Seen() for name in PACES}
    rounds = [_round(place, folder, script, seen) for _ in range(options.repeats)]
    return _table(rounds, seen, place.version())


def _project(place: PostgresPlace, folder: Path, pace: dict[str, Any]) -> Project:
    table = {"source": "shop", "table": place.table, "name": "orders", "strategy": {"type": "id", "pace": pace}}
    return Project.from_dict(
        {"version": 1, "sources": {"shop": {"url": place.url}}, "tables": [table]}, base_dir=folder
    )


def _round(place: PostgresPlace, folder: Path, script: Path, seen: dict[str, Seen]) -> dict[str, Phase]:
    def phase(name: str, meanwhile: Callable[[], None]) -> Phase:
        with _observing(place, seen.get(name) or Seen()):  # in every phase, since it has a cost too
            return _writers(place, folder, script, meanwhile)

    def during(name: str) -> Phase:
        with _project(place, folder, PACES[name]) as project:
            _pass(project, [])  # warm-up: statements and plans
            return phase(name, lambda: _pass(project, seen[name].passes))

    def scan() -> None:
        place.one(SCAN.format(table=place.table))

    return {
        "writers alone": phase("", lambda: None),
        **{name: during(name) for name in PACES},
        "during a bare scan": phase("", scan),
        "alone again": phase("", lambda: None),
    }


def _writers(place: PostgresPlace, folder: Path, script: Path, meanwhile: Callable[[], None]) -> Phase:
    """Run a phase: the writers, and `meanwhile` repeatedly until they end."""
    command = [
        str(place.programs / "pgbench"),
        "-n",
        "-f",
        str(script),
        "-c",
        str(CLIENTS),
        "-R",
        str(RATE),
        "-T",
        str(SECONDS),
        "-l",
        "--log-prefix=writers",
        place.url,
    ]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as writers:
        while writers.poll() is None:
            meanwhile()
            time.sleep(0.05)
    if writers.returncode:
        raise RuntimeError(f"pgbench ended with {writers.returncode}")
    logs = list(folder.glob("writers.*"))
    found = sorted(int(line.split()[2]) / 1000 for log in logs for line in log.read_text().splitlines())
    for log in logs:
        log.unlink()
    return Phase(found, os.getloadavg()[0])


def _pass(project: Project, passes: list[float]) -> None:
    began = time.monotonic()
    [outcome] = project.run(["orders"], once=True).outcomes
    if outcome.error:
        raise outcome.error
    passes.append(time.monotonic() - began)


@contextmanager
def _observing(place: Place, seen: Seen) -> Iterator[None]:
    """In the block, record the ages of qbcd's transactions."""
    done = threading.Event()

    def observe() -> None:
        with closing(place.connect()) as conn, conn.cursor() as cursor:
            while not done.wait(CHECK_EVERY):
                cursor.execute(AGES)
                for pid, started, age, query in cursor.fetchall():
                    known = seen.oldest.get((pid, started), (-1.0, ""))
                    seen.oldest[pid, started] = max(known, (float(age), query))

    thread = threading.Thread(target=observe)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _table(rounds: list[dict[str, Phase]], seen: dict[str, Seen], versions: str) -> Table:
    table = Table(("", "median, ms", "99 %, ms", "relative to the mean of both without", "load"), versions)
    for phases in rounds:
        without = (phases["writers alone"].percentile(0.99) + phases["alone again"].percentile(0.99)) / 2
        for name, phase in phases.items():
            worst = phase.percentile(0.99)
            table.rows.append(
                (name, f"{phase.percentile(0.5):.2f}", f"{worst:.2f}", f"{worst / without:.2f}", f"{phase.load:.1f}")
            )
    for name, own in seen.items():
        longest, statement = max(own.oldest.values())
        target = TARGETS[name]
        table.rows += [
            (
                f"{name}: passes, and seconds of each (median)",
                str(len(own.passes)),
                f"{statistics.median(own.passes):.2f}",
                "",
                "",
            ),
            (
                f"{name}: qbcd's transactions seen; the longest, as a multiple of its target of {target} s",
                str(len(own.oldest)),
                f"{longest * 1000:,.0f}",
                f"{longest / target:.2f} x target",
                "",
            ),
            (f"{name}: that transaction's statement when it was that old", f"`{statement}`", "", "", ""),
        ]
    return table
