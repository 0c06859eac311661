"""Both engines on polls that fetch every row: processor seconds by number of rows, for `qbcd.sites.engine_choice`.

One row in a hundred changes, anywhere. Each way to poll has a process of its own, and all poll one stream in turns.
Paths that would fetch fewer rows are off. The processor seconds are those of Python, Java and the server.
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
from qbcd.api import Project

SIZES = (5, 1)  # parts of the rows
BOTH = {"spark": {"conf": {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=4"}}}
FIRST = {"spark": {"conf": {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}}}
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "local, 512 MB": ("local", {}),
    "local, 64 MB": ("local", {"local_memory": "64MB"}),
    "Spark, both compilers": ("spark", BOTH),
    "Spark, first compiler": ("spark", FIRST),
}
OFF = ("leaf_checksums", "recent_writes", "two_phase", "streamed_keys", "key_recovery")
HEADING = ("rows", "way", "first poll", "processor", "later polls", "processor")


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Measure one table after the other, in new processes."""
    table = Table(HEADING, place.version())
    for part in SIZES:
        rows = options.rows // part
        place.run(f"DROP TABLE IF EXISTS {place.table}")
        place.create(rows)
        for way, found in _measured(place, folder / str(rows), options.repeats).items():
            first, *later = found
            usual = [f"{statistics.median(of):.1f} s" for of in zip(*later, strict=True)]
            table.rows.append((f"{rows:,}", way, f"{first.clock:.1f} s", f"{first.processor:.1f} s", *usual))
            print(table.rows[-1], file=sys.stderr, flush=True)
    return table


def _measured(place: Place, folder: Path, repeats: int) -> dict[str, list[Spent]]:
    processor, found = Processor(place), {way: list[Spent]() for way in WAYS}
    with Project.from_dict(_config(place, "local", {}), base_dir=folder) as project:
        project.stream("orders").prepare()
    with ExitStack() as opened:
        pools = {}
        for way, (engine, more) in WAYS.items():
            pools[way] = opened.enter_context(ProcessPoolExecutor(1, get_context("spawn")))
            pools[way].submit(_open, _config(place, engine, more), folder).result()
        for number in range(repeats + 1):
            for way, pool in pools.items():
                drawn = f"{place.drawn(number)} % 100 = {len(found[way])}"
                place.run(f"UPDATE {place.table} SET quantity = quantity + 1 WHERE {drawn}")
                found[way].append(processor.spent(partial(_wait, pool)))
                print(way, found[way][-1], file=sys.stderr, flush=True)
        for pool in pools.values():
            pool.submit(_close).result()
    return found


def _config(place: Place, engine: str, more: dict[str, Any]) -> dict[str, Any]:
    table = {"source": "shop", "table": place.table, "name": "orders", "strategy": "id_rcs", "sinks": ["changes"]}
    return {
        "version": 1,
        "sources": {"shop": {"url": place.url}},
        "sinks": {"changes": {"type": "jsonl", "path": "out"}},
        "defaults": {"engine": engine},
        "tables": [{**table, "baseline": "silent"}],
        **more,
    }


# -- in the process of a way -------------------------------------------------------------------------------------------
_opened: list[Project] = []


def _open(config: dict[str, Any], folder: Path) -> None:
    from qbcd.sites.lake.fetch.base import DISABLED

    DISABLED.update(OFF)
    _opened.append(Project.from_dict(config, base_dir=folder))


def _wait(pool: ProcessPoolExecutor) -> None:
    pool.submit(_poll).result()


def _poll() -> None:
    [outcome] = _opened[0].run(["orders"], once=True).outcomes
    if outcome.error is not None:
        raise outcome.error
    assert outcome.report is not None
    assert outcome.report.cost.rows_shipped > outcome.report.cost.rows_scanned // 2, outcome.report.cost


def _close() -> None:
    _opened.pop().close()
