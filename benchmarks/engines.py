"""Both engines in turns: processor seconds by number of rows, for `qbcd.sites.engine_choice`.

Each way has a process and a stream of its own, and they poll in turns. One row in a hundred changes: with ``--changes
every`` anywhere, and paths that would fetch fewer rows are off; ``newest`` and ``random`` rows are found as usual. With
``once`` anywhere, each command is a new process, and the sink a mirror.
`verify` follows the last poll. The processor seconds are those of Python, Java and the server. Jobs of Spark's polls go
to standard error.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
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
WAYS: dict[str, dict[str, Any]] = {
    "local, 512 MB": {"defaults": {"engine": "local"}},
    "local, 64 MB": {"defaults": {"engine": "local"}, "local_memory": "64MB"},
    "Spark": {"defaults": {"engine": "spark"}},
}
OFF = ("leaf_checksums", "recent_writes", "two_phase", "streamed_keys", "key_recovery")
_TWO = ["local, 512 MB", "Spark"]
KINDS = {"every": [*WAYS], "newest": _TWO, "random": _TWO, "once": _TWO}  # with their ways
_MIRROR = {"type": "database", "url": "duckdb:///mirror.duckdb"}
HEADING = ("rows", "changes", "way", "prepare", "first poll", "later polls", "verify")


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Measure one kind of change after the other, in new processes."""
    table = Table(HEADING, place.version())
    place.create(options.rows)
    for kind in [one for one in options.changes.split(",") if one in KINDS]:
        for way, found in _measured(place, folder / kind, kind, options).items():
            prepared, first, *later, verified = found
            usual = Spent(*(statistics.median(of) for of in zip(*later, strict=True)))
            cells = [f"{one.clock:.1f} s, {one.processor:.1f}" for one in (prepared, first, usual, verified)]
            table.rows.append((f"{options.rows:,}", kind, way, *cells))
            print(table.rows[-1], file=sys.stderr, flush=True)
    return table


class _Way:
    """A way's stream, and the process that works on it.

    Args:
        config: Its configuration.
        own: Its folder.
        stays: One process does everything; otherwise each command has a new one.
    """

    def __init__(self, config: dict[str, Any], own: Path, kind: str, *, stays: bool) -> None:
        self._opened, self._stays, self.log = (config, own, kind), stays, EventLog(own / "log")
        self._pool: ProcessPoolExecutor | None = None

    def run(self, action: Callable[..., None], *args: object) -> None:
        """Run an action in the process."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1, get_context("spawn"))
            self._pool.submit(_open, *self._opened).result()
        self._pool.submit(action, *args).result()
        if not self._stays:
            self.close()

    def close(self) -> None:
        """End the process."""
        if self._pool is not None:
            self._pool.submit(_close).result()
            self._pool.shutdown()
            self._pool = None


def _measured(place: Place, folder: Path, kind: str, options: Options) -> dict[str, list[Spent]]:
    """Return by way the times of `prepare`, of all polls, and of `verify`."""
    processor, found = Processor(place), {way: list[Spent]() for way in KINDS[kind]}
    made = {}
    for number, way in enumerate(found):
        own = folder / str(number)
        made[way] = _Way(_config(place, way, own, kind), own, kind, stays=kind != "once")

    def note(action: Callable[..., None], *args: object) -> None:
        for way, one in made.items():
            found[way].append(processor.spent(partial(one.run, action, *args)))
            print(kind, way, action.__name__, found[way][-1], file=sys.stderr, flush=True)
            for job in (jobs := one.log.jobs()):
                print(job.line(jobs[0].began), file=sys.stderr)

    note(_prepare)
    for number in range(options.repeats + 1):
        _change(place, kind, options.rows // 100, number)
        note(_poll, kind)
    note(_verify)
    for one in made.values():
        one.close()
    return found


def _change(place: Place, kind: str, share: int, number: int) -> None:
    if kind == "newest":
        place.change(updates=share * 8 // 10, deletes=share // 10, inserts=share // 10)
    else:
        place.run(f"UPDATE {place.table} SET quantity = quantity + 1 WHERE {place.drawn(number)} % 100 = 0")


def _config(place: Place, way: str, own: Path, kind: str) -> dict[str, Any]:
    table = {"source": "shop", "table": place.table, "name": "orders", "strategy": "id_rcs", "sinks": ["changes"]}
    log = own / "log"
    log.mkdir(parents=True)
    conf = {"spark.eventLog.enabled": "true", "spark.eventLog.compress": "false", "spark.eventLog.dir": log.as_uri()}
    return {
        "version": 1,
        "sources": {"shop": {"url": place.url, "schema": f"qbcd_{own.parent.name}_{own.name}"}},
        "sinks": {"changes": _MIRROR if kind == "once" else {"type": "jsonl", "path": "out"}},
        "spark": {"conf": conf},
        "tables": [{**table, "baseline": "events" if kind == "once" else "silent"}],
        **WAYS[way],
    }


# -- in the process of a way -------------------------------------------------------------------------------------------
_opened: list[Project] = []


def _open(config: dict[str, Any], folder: Path, kind: str) -> None:
    from qbcd.sites.lake.fetch.base import DISABLED

    DISABLED.update(OFF if kind == "every" else ())
    _opened.append(Project.from_dict(config, base_dir=folder))


def _prepare() -> None:
    _opened[0].stream("orders").prepare()


def _poll(kind: str) -> None:
    [outcome] = _opened[0].run(["orders"], once=True).outcomes
    if outcome.error is not None:
        raise outcome.error
    assert outcome.report is not None
    cost = outcome.report.cost
    assert cost.rows_shipped > cost.rows_scanned // 2 or kind != "every", cost


def _verify() -> None:
    assert _opened[0].stream("orders").verify() == []


def _close() -> None:
    _opened.pop().close()
