"""Both engines in turns: processor seconds by number of rows, for `qbcd.sites.engine_choice`.

Each way to poll has a process of its own, and all poll one stream in turns. One row in a hundred changes: with
``--changes every`` anywhere, and paths that would fetch fewer rows are off; ``newest`` and ``random`` rows are found as
usual, by streams that have polled such changes before. The processor seconds are those of Python, Java and the server.
Jobs of Spark's polls go to standard error.
"""

from __future__ import annotations

import statistics
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.measure import Options, Table
from benchmarks.places import Place
from benchmarks.processor import Processor, Spent
from benchmarks.tools.spark_jobs import EventLog
from qbcd.api import Project

OPTIONS = ("changes",)
COMPILER = "spark.driver.extraJavaOptions"
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "local, 512 MB": ("local", {}),
    "local, 64 MB": ("local", {"local_memory": "64MB"}),
    "Spark": ("spark", {}),
    "Spark, both compilers": ("spark", {COMPILER: "-XX:TieredStopAtLevel=4"}),
    "Spark, first compiler": ("spark", {COMPILER: "-XX:TieredStopAtLevel=1"}),
}
OFF = ("leaf_checksums", "recent_writes", "two_phase", "streamed_keys", "key_recovery")
KINDS = {  # by the kind of change: the ways
    "every": [way for way in WAYS if way != "Spark"],
    "newest": ["local, 512 MB", "Spark"],
    "random": ["local, 512 MB", "Spark"],
}
HEADING = ("rows", "changes", "way", "first poll", "processor", "later polls", "processor")


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Measure one kind of change after the other, in new processes."""
    table = Table(HEADING, place.version())
    place.create(options.rows)
    for kind in [one for one in options.changes.split(",") if one in KINDS]:
        for way, found in _measured(place, folder / kind, kind, options).items():
            first, *later = found
            usual = [f"{statistics.median(of):.1f} s" for of in zip(*later, strict=True)]
            cells = (f"{options.rows:,}", kind, way, f"{first.clock:.1f} s", f"{first.processor:.1f} s", *usual)
            table.rows.append(cells)
            print(cells, file=sys.stderr, flush=True)
    return table


def _measured(place: Place, folder: Path, kind: str, options: Options) -> dict[str, list[Spent]]:
    processor, found = Processor(place), {way: list[Spent]() for way in KINDS[kind]}
    with Project.from_dict(_config(place, "local", {}, folder), base_dir=folder) as project:
        project.stream("orders").prepare()
    with ExitStack() as opened:
        pools, logs = {}, {}
        for way in found:
            pools[way] = opened.enter_context(ProcessPoolExecutor(1, get_context("spawn")))
            (engine, more), log = WAYS[way], folder / f"log{len(pools)}"
            pools[way].submit(_open, _config(place, engine, more, log), folder, kind).result()
            logs[way] = EventLog(log)
        for number in range(options.repeats + 1):
            for way, pool in pools.items():
                _change(place, kind, options.rows // 100, number * len(pools) + list(pools).index(way))
                found[way].append(processor.spent(partial(_wait, pool, kind)))
                print(kind, way, found[way][-1], file=sys.stderr, flush=True)
                for job in (jobs := logs[way].jobs()):
                    print(job.line(jobs[0].began), file=sys.stderr)
        for pool in pools.values():
            pool.submit(_close).result()
    return found


def _change(place: Place, kind: str, share: int, number: int) -> None:
    if kind == "newest":
        place.change(updates=share * 8 // 10, deletes=share // 10, inserts=share // 10)
    else:
        place.run(f"UPDATE {place.table} SET quantity = quantity + 1 WHERE {place.drawn(number)} % 100 = 0")


def _config(place: Place, engine: str, more: dict[str, Any], folder: Path) -> dict[str, Any]:
    table = {"source": "shop", "table": place.table, "name": "orders", "strategy": "id_rcs", "sinks": ["changes"]}
    log = {"spark.eventLog.enabled": "true", "spark.eventLog.compress": "false", "spark.eventLog.dir": folder.as_uri()}
    folder.mkdir(parents=True, exist_ok=True)
    java = {name: value for name, value in more.items() if name == COMPILER}
    return {
        "version": 1,
        "sources": {"shop": {"url": place.url}},
        "sinks": {"changes": {"type": "jsonl", "path": "out"}},
        "spark": {"conf": {**log, **java}},
        "defaults": {"engine": engine},
        "tables": [{**table, "baseline": "silent"}],
        **{name: value for name, value in more.items() if name not in java},
    }


# -- in the process of a way -------------------------------------------------------------------------------------------
_opened: list[Project] = []


def _open(config: dict[str, Any], folder: Path, kind: str) -> None:
    from qbcd.sites.lake.fetch.base import DISABLED

    DISABLED.update(OFF if kind == "every" else ())
    _opened.append(Project.from_dict(config, base_dir=folder))


def _wait(pool: ProcessPoolExecutor, kind: str) -> None:
    pool.submit(_poll, kind).result()


def _poll(kind: str) -> None:
    [outcome] = _opened[0].run(["orders"], once=True).outcomes
    if outcome.error is not None:
        raise outcome.error
    assert outcome.report is not None
    cost = outcome.report.cost
    assert cost.rows_shipped > cost.rows_scanned // 2 or kind != "every", cost


def _close() -> None:
    _opened.pop().close()
