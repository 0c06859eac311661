"""Capacity of ID/RCS: what polls of 100 and 1,000 million rows read, ship, keep and take.

Tables of a twentieth, a quarter and all of `--rows` are measured: the baseline, a poll without changes, and a poll
after 1 % of the rows have changed anywhere. A straight line through the three sizes gives the larger ones. Bytes are
those received on the loopback interface meanwhile. With 20,000,000 rows the sizes are 1, 5 and 20 million.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks import peers
from benchmarks.growth import Sized, received
from benchmarks.measure import Options, Table, seconds
from benchmarks.places import Place, PostgresPlace
from qbcd.api import Project

DATABASES = ("postgresql", "postgresql-debian")
OPTIONS = ("engine",)
SETTINGS = peers.SETTINGS
PARTS = (20, 4, 1)
PREDICTED = (100_000_000, 1_000_000_000)
BASELINE, EMPTY, RANDOM = "baseline", "no change", "1 % random"


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Measure each size in a project of its own; return figures and predictions."""
    assert isinstance(place, PostgresPlace)
    sizes = [options.rows // part for part in PARTS]
    found: dict[str, list[float]] = {}
    for rows in sizes:
        one = Sized(place, name=f"of_{rows}", rows=rows)
        one.make()
        for name, value in _measured(one, folder / str(rows), options.engine).items():
            found.setdefault(name, []).append(value)
        place.run(f"DROP TABLE {one.table}")
    table = Table(("", *(f"{rows:,} rows" for rows in (*sizes, *PREDICTED)), "per million rows"), place.version())
    for name, values in found.items():
        slope, start = _line(sizes, values)
        predicted = [start + slope * rows for rows in PREDICTED]
        table.rows.append((name, *(f"{value:,.1f}" for value in (*values, *predicted)), f"{slope * 1e6:,.2f}"))
    return table


def _line(sizes: Sequence[int], values: Sequence[float]) -> tuple[float, float]:
    """Return slope and start of a line; the larger sizes count most, since they are nearest to what is predicted."""
    slope, start = np.polyfit(np.array(sizes, float), np.array(values), 1, w=np.array(sizes, float))
    return float(slope), float(start)


def _measured(one: Sized, folder: Path, engine: str) -> dict[str, float]:
    """Return the figures of one table, by name."""
    folder.mkdir()
    config = {
        "version": 1,
        "sources": {"shop": {"url": one.place.url}},
        "sinks": {"changes": {"type": "jsonl", "path": "out"}},
        "defaults": {"sinks": ["changes"], "engine": engine},
        "tables": [{"source": "shop", "table": one.table, "name": "s", "strategy": "id_rcs"}],
    }
    size = f"SELECT pg_table_size('{one.table}')::float8 / 1e6"
    found: dict[str, float] = {"table, read once by each of them: MB": one.place.one(size)}

    def note(what: str, action: Callable[[], object]) -> None:
        before = received()
        found[f"{what}: seconds"] = seconds(action)
        found[f"{what}: MB received"] = (received() - before) / 1e6

    with Project.from_dict(config, base_dir=folder) as project:
        note(BASELINE, project.stream("s").prepare)
        found["replica: MB"] = sum(path.stat().st_size for path in folder.rglob("*.parquet")) / 1e6
        _poll(project, 0)
        note(EMPTY, lambda: _poll(project, 0))
        changed = one.change("random", one.rows)
        note(RANDOM, lambda: _poll(project, changed))
    return found


def _poll(project: Project, expected: int) -> None:
    [outcome] = project.run(["s"], once=True).outcomes
    if outcome.error is not None:
        raise outcome.error
    assert outcome.report is not None
    found = outcome.report.header.size if outcome.report.header else 0
    if found != expected:
        raise AssertionError(f"{found} changes, not {expected}")
