"""ID/RCS polls of an unchanged table with moved rows: by the key's index, one scan, one sum.

An update writes a new row version wherever a page has room, so random changes gradually destroy the order of the keys.
After some rounds of changes all ways are polled in turns, next to the server's own scan of the same digests.
"""

from __future__ import annotations

import statistics
from functools import partial
from pathlib import Path
from unittest import mock

from benchmarks import peers
from benchmarks.measure import Options, Table, seconds
from benchmarks.orders import Orders
from benchmarks.places import Place
from qbcd.api import Project
from qbcd.sites.lake.fetch import whole_table
from qbcd.strategies.partitions import key

DATABASES, SETTINGS = peers.DATABASES, peers.SETTINGS
ROUNDS = (0, 5, 5, 10, 10, 10)  # of random changes before each measurement, each of 1 % of the rows
CORRELATION = """
SELECT round(correlation::numeric, 2) FROM pg_stats WHERE tablename = 'orders_bigint' AND attname = 'id'
"""
NEVER = 1_000_000
# Values of `partitions.key.FOLLOWED` and `whole_table.POLLS`.
WAYS = {"by the index": (0.0, NEVER), "by one scan": (2.0, NEVER), "as one sum": (2.0, 0)}


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Change rows and measure medians, round after round."""
    one = peers.Polled(Orders(place))
    one.orders.create(options.rows)
    table = Table(("rounds", "correlation", "scan", *WAYS), place.version())
    with Project.from_dict(peers._config(place, [one]), base_dir=folder) as project:
        project.stream(one.stream).prepare()
        for number, rounds in enumerate(ROUNDS):
            for _ in range(rounds):
                one.orders.change("random", options.rows)
            place.run(f"ANALYZE {one.orders.table}")
            project.run([one.stream], once=True)
            medians = _medians(project, one, options.repeats)
            correlation = place.one(CORRELATION)
            ratios = (f"{medians[way]:.3f} ({medians[way] / medians['scan']:.2f} x)" for way in WAYS)
            done = str(sum(ROUNDS[: number + 1]))
            table.rows.append((done, str(correlation), f"{medians['scan']:.3f}", *ratios))
    return table


def _medians(project: Project, one: peers.Polled, repeats: int) -> dict[str, float]:
    """Return median seconds, measured in turns; a scan's connections are opened before."""
    measured: dict[str, list[float]] = {"scan": [], **{way: [] for way in WAYS}}
    for _ in range(repeats):
        measured["scan"].append(seconds(peers._scan(project, one, peers.CONNECTIONS)))
        for way in WAYS:
            measured[way].append(seconds(partial(_by, way, project, one)))
    return {name: statistics.median(values) for name, values in measured.items()}


def _by(way: str, project: Project, one: peers.Polled) -> None:
    followed, polls = WAYS[way]
    with mock.patch.object(key, "FOLLOWED", followed), mock.patch.object(whole_table, "POLLS", polls):
        peers._poll(project, one.stream, 0)
