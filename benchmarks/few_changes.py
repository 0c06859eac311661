"""Polls of ID/RCS after few changes anywhere: rows that were written lately are looked up, or ranges are read whole.

Ranges of a bigint key, and buckets of a uuid key. The two ways take turns, poll by poll. One change in ten deletes a
row; the range that it leaves is read whole in either case.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.measure import Table, seconds
from benchmarks.orders import Orders
from benchmarks.peers import CONNECTIONS, Polled, _scan
from benchmarks.places import Place
from qbcd.api import Project
from qbcd.sites import recent

DATABASES = ("postgresql", "postgresql-debian")
SETTINGS = peers.SETTINGS
OPTIONS = ("polls",)
PARTS = (100_000, 25_000)  # one row in so many changes
WARM = 10  # polls of either kind that do not count
CHANGE = """
UPDATE {table} SET quantity = quantity + 1 WHERE id IN (SELECT id FROM {table} ORDER BY random() LIMIT {updates});
DELETE FROM {table} WHERE id IN (SELECT id FROM {table} ORDER BY random() LIMIT {deletes})
"""
BUCKETS = {"bigint": "key", "uuid": "hash"}


def measure(place: Place, folder: Path, *, rows: int, repeats: int, polls: int) -> Table:
    """One table after the other; `repeats` is not used."""
    heading = ("key", "rows changed", "digest scan", "looked up", "rows read", "whole ranges", "rows read", "ratio")
    table = Table(heading, place.version())
    with Project.from_dict(_config(place.url), base_dir=folder) as project:
        for key in BUCKETS:
            polled = Polled(Orders(place, key))
            polled.orders.create(rows)
            project.stream(polled.stream).prepare()
            for part in PARTS:
                table.rows.append(_line(place, project, polled, rows, rows // part, polls))
    return table


def _config(url: str) -> dict[str, Any]:
    return {
        "version": 1, "sources": {"shop": {"url": url}}, "sinks": {"changes": {"type": "jsonl", "path": "out"}},
        "tables": [{"source": "shop", "table": f"public.orders_{key}", "name": f"orders_{key}", "sinks": ["changes"],
                    "baseline": "silent", "strategy": {"type": "id_rcs", "buckets": kind}}
                   for key, kind in BUCKETS.items()],
    }  # fmt: skip


def _line(place: Place, project: Project, polled: Polled, rows: int, changed: int, polls: int) -> tuple[str, ...]:
    usual, parts = recent.LEAST_ROWS, {"updates": changed * 9 // 10, "deletes": max(1, changed // 10)}
    scans: list[float] = []
    took: dict[int, list[float]] = {usual: [], rows: []}
    read: dict[int, list[int]] = {usual: [], rows: []}
    try:
        for number in range(WARM + polls):
            for least in took:
                recent.LEAST_ROWS = least
                place.run(CHANGE.format(table=polled.orders.table, **parts))
                scanned, began = seconds(_scan(project, polled, CONNECTIONS)), time.perf_counter()
                shipped, spent = _poll(project, polled.stream), time.perf_counter() - began
                if number >= WARM:
                    scans.append(scanned)
                    took[least].append(spent)
                    read[least].append(shipped)
    finally:
        recent.LEAST_ROWS = usual
    one = statistics.median(scans)
    cells = [(statistics.mean(took[least]), statistics.mean(read[least])) for least in (usual, rows)]
    told = [text for s, n in cells for text in (f"{s:.2f} s ({s / one:.2f} x scan)", f"{n:,.0f}")]
    return (polled.orders.key, f"{changed:,}", f"{one:.2f} s", *told, f"{cells[0][0] / cells[1][0]:.2f}")


def _poll(project: Project, stream: str) -> int:
    """The rows that one poll read, which has to find something."""
    [outcome] = project.run([stream], once=True).outcomes
    if outcome.error is not None or outcome.report is None:
        raise outcome.error or AssertionError(stream)
    if not outcome.report.headers:
        raise AssertionError(f"{stream}: changes were made, and none was found")
    return outcome.report.cost.rows_shipped
