"""Passes of ID beside writers: how long qbcd's transactions live, and what writers wait.

Writers of `pgbench` update rows drawn by chance at a steady rate: alone, beside passes of ID one after another, beside
one session that only scans the table, again and again, and alone again. What the bare scan costs them is the machine's
doing: another process is busy. A second session looks every 20 ms how old qbcd's transactions are.
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

from benchmarks.measure import Table
from benchmarks.places import Place, PostgresPlace
from qbcd.api import Project

DATABASES = ("postgresql",)
SETTINGS = {"shared_buffers": "2GB"}
CLIENTS, RATE = 4, 200  # writers, and their transactions a second together
SECONDS = 30  # of a phase
TARGET = 0.5  # seconds, the default pace
LOOK_EVERY = 0.02
SCRIPT = "\\set id random(1, {rows})\nUPDATE public.orders SET quantity = quantity + 1 WHERE id = :id;\n"
SCAN = "SELECT sum(length(note)) FROM {table}"
AGES = """
SELECT pid, xact_start, extract(epoch FROM clock_timestamp() - xact_start),
       left(regexp_replace(query, '\\s+', ' ', 'g'), 60)
FROM pg_stat_activity WHERE application_name LIKE 'qbcd%' AND xact_start IS NOT NULL
"""


@dataclass
class Ages:
    """qbcd's transactions as they were seen: how old each became, and at what statement."""

    oldest: dict[tuple[int, object], tuple[float, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Phase:
    """Latencies of writers in milliseconds, sorted, and the machine's load when the phase ended."""

    latencies: list[float]
    load: float

    def percentile(self, share: float) -> float:
        """The latency that `share` of them do not pass."""
        return self.latencies[min(len(self.latencies) - 1, int(share * len(self.latencies)))]


def measure(place: Place, folder: Path, *, rows: int, repeats: int) -> Table:
    """`repeats` rounds of four phases."""
    assert isinstance(place, PostgresPlace)
    place.create(rows)
    script = folder / "writer.sql"
    script.write_text(SCRIPT.format(rows=rows))
    table = {"source": "shop", "table": place.table, "name": "orders", "strategy": "id"}
    data = {"version": 1, "sources": {"shop": {"url": place.url}}, "tables": [table]}
    ages, passes = Ages(), list[float]()
    rounds: list[tuple[Phase, Phase, Phase, Phase]] = []
    with Project.from_dict(data, base_dir=folder) as project:
        project.stream("orders").prepare()
        place.run("VACUUM ANALYZE public.orders")
        _writers(place, folder, script, lambda: None)  # warms up
        for _ in range(repeats):
            before = _writers(place, folder, script, lambda: None)
            with _looking(place, ages):
                beside = _writers(place, folder, script, lambda: _pass(project, passes))
            scanned = _writers(place, folder, script, lambda: place.one(SCAN.format(table=place.table)))
            rounds.append((before, beside, scanned, _writers(place, folder, script, lambda: None)))
    return _table(rounds, ages, passes, place.version())


def _writers(place: PostgresPlace, folder: Path, script: Path, meanwhile: Callable[[], None]) -> Phase:
    """A phase: the writers, and `meanwhile` again and again until they have ended."""
    command = [
        str(place.programs / "pgbench"), "-n", "-f", str(script), "-c", str(CLIENTS), "-R", str(RATE),
        "-T", str(SECONDS), "-l", "--log-prefix=writers", place.url,
    ]  # fmt: skip
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
def _looking(place: Place, ages: Ages) -> Iterator[None]:
    """Looks at qbcd's transactions as long as the block lasts."""
    done = threading.Event()

    def look() -> None:
        with closing(place.connect()) as conn, conn.cursor() as cursor:
            while not done.wait(LOOK_EVERY):
                cursor.execute(AGES)
                for pid, started, age, query in cursor.fetchall():
                    known = ages.oldest.get((pid, started), (-1.0, ""))
                    ages.oldest[pid, started] = max(known, (float(age), query))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _table(rounds: list[tuple[Phase, Phase, Phase, Phase]], ages: Ages, passes: list[float], versions: str) -> Table:
    table = Table(("", "median, ms", "99 %, ms", "beside the mean of both without", "load"), versions)
    for before, beside, scanned, after in rounds:
        without = (before.percentile(0.99) + after.percentile(0.99)) / 2
        for name, phase in (
            ("writers alone", before), ("beside ID", beside), ("beside a bare scan", scanned), ("alone again", after)
        ):  # fmt: skip
            worst = phase.percentile(0.99)
            table.rows.append(
                (name, f"{phase.percentile(0.5):.2f}", f"{worst:.2f}", f"{worst / without:.2f}", f"{phase.load:.1f}")
            )
    lived = sorted(ages.oldest.values())
    longest, statement = lived[-1]
    table.rows += [
        ("passes, and seconds of each (median)", str(len(passes)), f"{statistics.median(passes):.2f}", "", ""),
        (f"qbcd's transactions seen; the longest, as a multiple of its target of {TARGET} s", str(len(lived)),
         f"{longest * 1000:,.0f}", f"{longest / TARGET:.2f} x target", ""),
        ("that transaction's statement when it was that old", f"`{statement}`", "", "", ""),
    ]  # fmt: skip
    return table
