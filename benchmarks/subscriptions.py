"""Polls of a stream with many subscriptions, against the same polls without."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from benchmarks.measure import Options, Table
from benchmarks.places import Place
from qbcd.api import Project

DATABASES = ("postgresql",)
SUBSCRIPTIONS = 100_000
EVENTS = 10_000
RELATION = f"""
CREATE TABLE subscription (id text PRIMARY KEY, stream text, condition text, active boolean DEFAULT true);
INSERT INTO subscription SELECT i::text, 's', format('customer = %L AND quantity > %s', 'customer-' || i, i % 50)
FROM generate_series(1, {SUBSCRIPTIONS}) AS i;
"""


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Change rows and poll, in turn without and with subscriptions; the second poll knows them."""
    place.create(options.rows)
    place.run(RELATION)
    table = Table(
        ("poll", "without, processor seconds", "with", "more"),
        f"{place.version()}, {options.rows:,} rows, {EVENTS:,} updates, {SUBSCRIPTIONS:,} subscriptions",
    )
    source: dict[str, Any] = {"version": 1, "sources": {"shop": {"url": place.url}}}
    sink = {"sinks": {"out": {"type": "jsonl", "path": "out"}, "hooks": {"type": "jsonl", "path": "hooks"}}}
    stream = {"tables": [{"name": "s", "source": "shop", "table": place.table, "strategy": "id_rcs", "sinks": ["out"]}]}
    relation = {"from": {"source": "shop", "table": "subscription"}, "streams": {"s": "all"}, "deliver": ["hooks"]}
    plain = {**source, **sink, **stream}
    projects = [
        Project.from_dict(plain, base_dir=folder / "without"),
        Project.from_dict({**plain, "subscriptions": relation}, base_dir=folder / "with"),
    ]
    for project in projects:
        project.stream("s").prepare()
    for number in range(options.repeats):
        place.change(updates=EVENTS, deletes=0, inserts=0)
        spent = []
        for project in projects:
            start = time.process_time()
            report = project.run("s", once=True)
            spent.append(time.process_time() - start)
            assert report.exit_code == 0
        without, having = spent
        table.rows.append((str(number + 1), f"{without:.2f} s", f"{having:.2f} s", f"{having - without:.2f} s"))
    for project in projects:
        project.close()
    return table
