"""ID/RCS polls after few changes anywhere: look-ups of recent rows, or whole ranges.

There are ranges of a bigint key and buckets of a uuid key. Two streams per table, one for each way, are polled after
each change. One change in ten deletes a row.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.growth import received
from benchmarks.measure import Options, Table
from benchmarks.orders import Orders
from benchmarks.places import Place
from qbcd.api import Project
from qbcd.sites.lake.fetch import paths

DATABASES = ("postgresql", "postgresql-debian")
SETTINGS = peers.SETTINGS
OPTIONS = ("polls",)
PART = 25_000  # one of this number of rows changes
WARM = 12  # warm-up rounds
CHANGE = """
UPDATE {table} SET quantity = quantity + 1 WHERE id IN (SELECT id FROM {table} ORDER BY random() LIMIT {updates});
DELETE FROM {table} WHERE id IN (SELECT id FROM {table} ORDER BY random() LIMIT {deletes});
"""
BUCKETS = {"bigint": "key", "uuid": "hash"}
WAYS: dict[str, tuple[str, ...]] = {"looked up": (), "whole ranges": ("recent_writes",)}  # disabled fetch paths
HEADING = ("key", "rows changed", "way", "poll", "rows read", "bytes received")


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Measure one table after the other; `repeats` is not used."""
    table = Table(HEADING, place.version())
    with Project.from_dict(_config(place.url), base_dir=folder) as project:
        for key in BUCKETS:
            orders = Orders(place, key)
            orders.create(options.rows)
            for way in WAYS:
                project.stream(_stream(key, way)).prepare()
            table.rows += _lines(project, orders, options.rows // PART, options.polls)
    return table


def _stream(key: str, way: str) -> str:
    return f"{key}_{way.partition(' ')[0]}"


def _config(url: str) -> dict[str, Any]:
    return {
        "version": 1,
        "sources": {"shop": {"url": url}},
        "sinks": {"changes": {"type": "jsonl", "path": "out"}},
        "tables": [
            {
                "source": "shop",
                "table": f"public.orders_{key}",
                "name": _stream(key, way),
                "sinks": ["changes"],
                "baseline": "silent",
                "strategy": {"type": "id_rcs", "buckets": kind},
            }
            for key, kind in BUCKETS.items()
            for way in WAYS
        ],
    }


def _lines(project: Project, orders: Orders, changed: int, polls: int) -> list[tuple[str, ...]]:
    polled: dict[str, list[tuple[float, int, int]]] = {way: [] for way in WAYS}
    parts = {"updates": changed * 9 // 10, "deletes": max(1, changed // 10)}
    for number in range(WARM + polls):
        orders.place.run(CHANGE.format(table=orders.table, **parts))
        for way, off in WAYS.items():
            with paths.disabled(*off):
                found = _poll(project, _stream(orders.key, way))
            if number >= WARM:
                polled[way].append(found)
    means = {way: [statistics.mean(figures) for figures in zip(*found, strict=True)] for way, found in polled.items()}
    return [
        (orders.key, f"{changed:,}", way, f"{seconds:.2f} s", f"{rows:,.0f}", f"{size:,.0f}")
        for way, (seconds, rows, size) in means.items()
    ]


def _poll(project: Project, stream: str) -> tuple[float, int, int]:
    """Return seconds, rows read and bytes received of one poll, which must find changes."""
    before, began = received(), time.perf_counter()
    [outcome] = project.run([stream], once=True).outcomes
    spent, size = time.perf_counter() - began, received() - before
    if outcome.error is not None or outcome.report is None:
        raise outcome.error or AssertionError(stream)
    if not outcome.report.headers:
        raise AssertionError(f"{stream}: the poll found none of the changes")
    return spent, outcome.report.cost.rows_shipped, size
