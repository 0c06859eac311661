"""Bytes and memory of an unchanged poll of ID/RCS as a table grows to `--rows` narrow rows.

Measured after the baseline, and in the first poll without changes after three polls with changes all over the table:
this one still requests leaves.
"""

from __future__ import annotations

import statistics
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.growth import peak, received
from benchmarks.measure import Options, Table, seconds
from benchmarks.places import Place
from qbcd.api import Project

DATABASES = ("postgresql", "postgresql-debian")
SETTINGS = peers.SETTINGS
PARTS = (20, 4, 1)  # of the rows
CREATE = """
CREATE TABLE public.rows_{rows} (id bigint PRIMARY KEY, note text);
INSERT INTO public.rows_{rows} SELECT i, 'n' || i FROM generate_series(1::bigint, {rows}) AS i;
VACUUM ANALYZE public.rows_{rows}
"""
SPREAD = "UPDATE public.rows_{rows} SET note = note || '.' WHERE id % 211 = {number}"


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Create, prepare and poll one table after the other."""
    table = Table(("rows", "ranges", "unchanged poll", "bytes received", "peak of Python's memory"), place.version())
    sizes = [options.rows // part for part in PARTS]
    with Project.from_dict(_config(place.url, sizes), base_dir=folder) as project:
        for size in sizes:
            place.run(CREATE.format(rows=size))
            project.stream(f"rows_{size}").prepare()
            _poll(project, size)
            poll = partial(_poll, project, size)
            before, mean = received(), statistics.mean(seconds(poll) for _ in range(options.repeats))
            ranges, shipped = poll().ranges, (received() - before) / (options.repeats + 1)
            _line(table, size, ranges, f"{mean:.2f} s", shipped, peak(poll))
            for number in range(3):
                place.run(SPREAD.format(rows=size, number=number))
                poll()
            before, held = received(), peak(poll)
            shipped = received() - before
            _line(table, size, poll().ranges, "the first after scattered changes", shipped, held)
    return table


def _config(url: str, sizes: list[int]) -> dict[str, Any]:
    return {
        "version": 1,
        "sources": {"shop": {"url": url}},
        "sinks": {"changes": {"type": "jsonl", "path": "out"}},
        "tables": [
            {
                "source": "shop",
                "table": f"public.rows_{size}",
                "name": f"rows_{size}",
                "strategy": "id_rcs",
                "sinks": ["changes"],
                "baseline": "silent",
            }
            for size in sizes
        ],
    }


def _line(table: Table, size: int, ranges: int, poll: str, shipped: float, held: int) -> None:
    table.rows.append((f"{size:,}", f"{ranges:,}", poll, f"{shipped:,.0f}", f"{held:,} bytes"))


def _poll(project: Project, size: int) -> Any:
    """Run one poll and return its cost."""
    [outcome] = project.run([f"rows_{size}"], once=True).outcomes
    if outcome.error is not None or outcome.report is None:
        raise outcome.error or AssertionError(size)
    return outcome.report.cost
