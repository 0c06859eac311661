"""Pages that a poll of ID/RCS reads, and rows and bytes that it ships, by size and changes.

Nothing is timed, so other work on the machine does not change the figures. Bytes are an exception, since they are those
of the loopback interface: use a separate network namespace if other programs use it. Pages are the server's own count
of the blocks that the sessions of a poll requested; a block counts at each use.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import override

from benchmarks import peers
from benchmarks.growth import OWN_SIZE, received
from benchmarks.measure import Options, Table
from benchmarks.orders import COLUMNS, Orders
from benchmarks.places import Place
from qbcd.api import Project

DATABASES = ("postgresql", "postgresql-debian")
OPTIONS = ("polls",)
SETTINGS = peers.SETTINGS
PARTS = (10, 1)  # of the rows
# `Orders.change` changes 1 % of the rows it is given: those of the table, divided by the number here.
CHANGES = {
    "none": ("none", 1),
    "0.01 % random": ("random", 100),
    "1 % newest": ("newest", 1),
    "1 % random": ("random", 1),
}
WARM = 3  # warm-up polls of each kind; the third is the first that can use leaves of the poll before
REPORTED = 12  # seconds until idle sessions have reported their blocks
HEADING = ("rows", "changed", "pages", "x table", "dirty ranges", "rows shipped", "bytes received", "x changed rows")
BLOCKS = "SELECT blks_hit + blks_read FROM pg_stat_database WHERE datname = current_database()"
PAGES = "SELECT pg_relation_size('{table}') / 8192"


@dataclass
class Sized(Orders):
    """A table of `rows` rows."""

    rows: int = 0

    @property
    @override
    def table(self) -> str:
        """The table's name."""
        return f"public.orders_{self.rows}"

    @property
    def stream(self) -> str:
        """Name of its stream."""
        return f"orders_{self.rows}"


@dataclass(frozen=True)
class Volume:
    """The volume of one poll.

    Attributes:
        changed: Changes before the poll.
        pages: Blocks that it requested.
        scans: The same as a share of the table's pages.
        dirty: Share of dirty ranges.
        rows: Rows that left the source.
        received: Bytes on the loopback interface.
    """

    changed: int
    pages: float
    scans: float
    dirty: float
    rows: int
    received: int


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Prepare and poll one table after the other; `repeats` is not used."""
    table = Table(HEADING, place.version())
    tables = [Sized(place, rows=options.rows // part) for part in PARTS]
    with Project.from_dict(_config(place.url, tables), base_dir=folder) as project:
        for orders in tables:
            orders.create(orders.rows)
            own = float(place.one(OWN_SIZE.format(table=orders.table, columns=", ".join(("id", *COLUMNS)))))
            project.stream(orders.stream).prepare()
            for name, (which, part) in CHANGES.items():
                polls = [_round(project, orders, which, part) for _ in range(WARM + options.polls)]
                table.rows.append(_line(orders.rows, name, polls[WARM:], own))
    return table


def _config(url: str, tables: Sequence[Sized]) -> dict[str, Any]:
    return {
        "version": 1,
        "sources": {"shop": {"url": url}},
        "sinks": {"changes": {"type": "jsonl", "path": "out"}},
        "tables": [
            {
                "source": "shop",
                "table": orders.table,
                "name": orders.stream,
                "strategy": "id_rcs",
                "sinks": ["changes"],
                "baseline": "silent",
            }
            for orders in tables
        ],
    }


def _round(project: Project, orders: Sized, which: str, part: int) -> Volume:
    changed, place = orders.change(which, orders.rows // part), orders.place
    pages, bytes_before = int(place.one(BLOCKS)), received()
    [outcome] = project.run([orders.stream], once=True).outcomes
    shipped = received() - bytes_before
    if outcome.error is not None or outcome.report is None:
        raise outcome.error or AssertionError(orders.stream)
    found = outcome.report.header.size if outcome.report.header else 0
    if found != changed:
        raise AssertionError(f"{orders.stream}: {found} changes, not {changed}")
    time.sleep(REPORTED)
    pages = int(place.one(BLOCKS)) - pages
    cost = outcome.report.cost
    scans = pages / int(place.one(PAGES.format(table=orders.table)))
    return Volume(changed, pages, scans, cost.dirty / max(1, cost.ranges), cost.rows_shipped, shipped)


def _line(rows: int, name: str, polls: Sequence[Volume], own: float) -> tuple[str, ...]:
    mean = {field: statistics.mean(getattr(poll, field) for poll in polls) for field in Volume.__dataclass_fields__}
    share = f"{mean['received'] / (mean['changed'] * own):,.1f}" if mean["changed"] else ""
    return (
        f"{rows:,}",
        name,
        f"{mean['pages']:,.0f}",
        f"{mean['scans']:.2f}",
        f"{mean['dirty']:.0%}",
        f"{mean['rows']:,.0f}",
        f"{mean['received']:,.0f}",
        share,
    )
