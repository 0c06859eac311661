"""Passes of ID beside writers: how long qbcd's transactions live, and what writers wait.

Writers of `pgbench` update rows drawn by chance at a steady rate: alone, beside passes of ID that rest after each step,
beside passes that do not, beside one session that only scans the table, again and again, and alone again. What the bare
scan costs them is the machine's doing: another process is busy. A second session looks every 20 ms how old qbcd's
transactions are.
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
CLIENTS, RATE = 4, 200  # writers, and their transactions a second together
SECONDS = 30  # of a phase
PACES: dict[str, dict[str, Any]] = {  # by name, `pace` as it is written in the configuration
    "beside ID, resting": {"target": "100ms", "nice_ratio": 29},
    "beside ID, not resting": {"target": "500ms"},
}
TARGETS = {"beside ID, resting": 0.1, "beside ID, not resting": 0.5}  # seconds
LOOK_EVERY = 0.02
SCRIPT = "\\set id random(1, {rows})\nUPDATE public.orders SET quantity = quantity + 1 WHERE id = :id;\n"
SCAN = "SELECT sum(length(note)) FROM {table}"
AGES = """
SELECT pid, xact_start, extract(epoch FROM clock_timestamp() - xact_start),
       left(regexp_replace(query, '\\s+', ' ', 'g'), 60)
FROM pg_stat_activity WHERE application_name LIKE 'qbcd%' AND xact_start IS NOT NULL
"""


@dataclass
class Seen:
    """Observations of qbcd: how old each transaction became, at what statement, and seconds of its passes."""

    oldest: dict[tuple[int, object], tuple[float, str]] = field(default_factory=dict)
    passes: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Phase:
    """Latencies of writers in milliseconds, sorted, and the machine's load when the phase ended."""

    latencies: list[float]
    load: float

    def percentile(self, share: float) -> float:
        """The latency that `share` of them do not pass."""
        return self.latencies[min(len(self.latencies) - 1, int(share * len(self.latencies)))]


def measure(place: Place, folder: Path, options: Options) -> Table:
    """`repeats` rounds of five phases."""
    assert isinstance(place, PostgresPlace)
    place.create(options.rows)
    script = folder / "writer.sql"
    script.write_text(SCRIPT.format(rows=options.rows))
    with _project(place, folder, {}) as project:
        project.stream("orders").prepare()
    place.run("VACUUM ANALYZE public.orders")
    _writers(place, folder, script, lambda: None)  # warms up
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
        with _looking(place, seen.get(name) or Seen()):  # in every phase, since looking costs something too
            return _writers(place, folder, script, meanwhile)

    def beside(name: str) -> Phase:
        with _project(place, folder, PACES[name]) as project:
            _pass(project, [])  # statements are made and plans are warm
            return phase(name, lambda: _pass(project, seen[name].passes))

    def scan() -> None:
        place.one(SCAN.format(table=place.table))

    return {
        "writers alone": phase("", lambda: None),
        **{name: beside(name) for name in PACES},
        "beside a bare scan": phase("", scan),
        "alone again": phase("", lambda: None),
    }


def _writers(place: PostgresPlace, folder: Path, script: Path, meanwhile: Callable[[], None]) -> Phase:
    """A phase: the writers, and `meanwhile` again and again until they have ended."""
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
def _looking(place: Place, seen: Seen) -> Iterator[None]:
    """Looks at qbcd's transactions as long as the block lasts."""
    done = threading.Event()

    def look() -> None:
        with closing(place.connect()) as conn, conn.cursor() as cursor:
            while not done.wait(LOOK_EVERY):
                cursor.execute(AGES)
                for pid, started, age, query in cursor.fetchall():
                    known = seen.oldest.get((pid, started), (-1.0, ""))
                    seen.oldest[pid, started] = max(known, (float(age), query))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _table(rounds: list[dict[str, Phase]], seen: dict[str, Seen], versions: str) -> Table:
    table = Table(("", "median, ms", "99 %, ms", "beside the mean of both without", "load"), versions)
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
