"""ID/RCS as tables grow: five times the rows, and thirty more columns that no stream reads.

A round is a change of 1 % of the rows of each table, or none, and then, for each table, the server's own scan of its
digests and a poll. Bytes are those received on the loopback interface meanwhile, including traffic between Java and
Python. Memory is the peak of Python's allocations in one more poll without changes.
"""

from __future__ import annotations

import statistics
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from typing_extensions import override

from benchmarks import peers
from benchmarks.measure import Options, Table, seconds
from benchmarks.orders import COLUMNS, Orders
from benchmarks.places import Place, PostgresPlace
from qbcd.api import Project, parts_of
from qbcd.strategies import IdRcs

DATABASES = ("postgresql", "postgresql-debian")
OPTIONS = ("polls",)
SETTINGS = peers.SETTINGS
CHANGES = peers.CHANGES
TIMES = 5  # factor between the rows of the larger and the smaller table
UNREAD = 30  # columns
WARM = 10  # warm-up rounds of each kind
# The server stores the default of an added column in its catalog; VACUUM FULL writes it into every row.
WIDER = """
ALTER TABLE {table} {added};
VACUUM FULL {table};
ANALYZE {table};
"""
OWN_SIZE = "SELECT avg(pg_column_size(o.*))::float8 FROM (SELECT {columns} FROM {table} LIMIT 10000) AS o"


@dataclass
class Sized(Orders):
    """A table of `rows` rows, with `unread` additional columns; `name` is part of its name."""

    name: str = ""
    rows: int = 0
    unread: int = 0
    scan: dict[str, list[float]] = field(default_factory=dict)
    poll: dict[str, list[float]] = field(default_factory=dict)
    bytes: dict[str, list[float]] = field(default_factory=dict)
    peak: int = 0

    @property
    @override
    def table(self) -> str:
        """The table's name."""
        return f"public.orders_{self.name}"

    def make(self) -> None:
        """Create the table with all its columns."""
        self.create(self.rows)
        if self.unread:
            added = ", ".join(f"ADD unread_{i} text DEFAULT 'value {i}'" for i in range(self.unread))
            self.place.run(WIDER.format(table=self.table, added=added))


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Create the tables, prepare their streams, run the rounds of each kind; return the means."""
    assert isinstance(place, PostgresPlace)
    tables = [
        Sized(place, name="small", rows=options.rows),
        Sized(place, name="large", rows=TIMES * options.rows),
        Sized(place, name="wide", rows=options.rows, unread=UNREAD),
    ]
    for one in tables:
        one.make()
    config = {
        "version": 1,
        "sources": {"shop": {"url": place.url}},
        "sinks": {"changes": {"type": "jsonl", "path": "out"}},
        "tables": [
            {
                "source": "shop",
                "table": t.table,
                "name": t.name,
                "columns": [*COLUMNS],
                "strategy": "id_rcs",
                "sinks": ["changes"],
            }
            for t in tables
        ],
    }
    with Project.from_dict(config, base_dir=folder) as project:
        for one in tables:
            project.stream(one.name).prepare()
        for which in CHANGES:
            for number in range(WARM + options.polls):
                _round(project, tables, which, kept=number >= WARM)
        for one in tables:
            one.peak = peak(partial(_poll, project, one, 0))
    return _table(tables, options.polls, place.version())


def _round(project: Project, tables: Sequence[Sized], which: str, *, kept: bool) -> None:
    for one in tables:
        changed = one.change(which, one.rows)
        scan = seconds(lambda one=one: one.place.one(_digest_scan(project, one)))  # type: ignore[misc]
        before = received()
        poll = seconds(partial(_poll, project, one, changed))
        if kept:
            one.scan.setdefault(which, []).append(scan)
            one.poll.setdefault(which, []).append(poll)
            one.bytes.setdefault(which, []).append(received() - before)


def _digest_scan(project: Project, one: Sized) -> str:
    strategy = IdRcs(parts_of(project).source("shop").connector, project.stream(one.name).plan())
    return f"SELECT sum(d.qbcd_digest) FROM {strategy.digests()} AS d"


def _poll(project: Project, one: Sized, expected: int) -> None:
    [outcome] = project.run([one.name], once=True).outcomes
    if outcome.error is not None:
        raise outcome.error
    assert outcome.report is not None
    found = outcome.report.header.size if outcome.report.header else 0
    if found != expected:
        raise AssertionError(f"{one.name}: {found} changes, not {expected}")


def received() -> int:
    """Return the bytes received on the loopback interface of this process's network namespace; 0 if unknown."""
    devices = Path("/proc/net/dev")  # /sys shows the interfaces of the namespace in which it was mounted
    lines = (line.partition(":") for line in devices.read_text().splitlines()) if devices.exists() else ()
    return next((int(counts.split()[0]) for name, _, counts in lines if name.strip() == "lo"), 0)


def peak(action: Callable[[], object]) -> int:
    """Run `action` and return the peak of Python's own allocations, in bytes."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _table(tables: Sequence[Sized], polls: int, version: str) -> Table:
    table = Table(("", *CHANGES.values()), version)
    small, large, wide = tables
    for one in tables:
        of = f"{one.rows:,} rows" + (f", {one.unread} unread columns" if one.unread else "")
        scans = {w: statistics.mean(one.scan[w]) for w in CHANGES}
        took = {w: statistics.mean(one.poll[w]) for w in CHANGES}
        own = one.place.one(OWN_SIZE.format(table=one.table, columns=", ".join(("id", *COLUMNS))))
        changed = max(10, one.rows // 100) * own
        size = {w: statistics.mean(one.bytes[w]) for w in CHANGES}
        table.rows += [
            (f"digest scan, {of}", *(f"{scans[w]:.3f} s" for w in CHANGES)),
            (f"poll, {of}, mean of {polls}", *(f"{took[w]:.3f} s ({took[w] / scans[w]:.2f} x scan)" for w in CHANGES)),
            (
                f"bytes received, {of}",
                *(
                    f"{size[w]:,.0f}" + (f" ({size[w] / changed:.1f} x the rows' own)" if w != "none" else "")
                    for w in CHANGES
                ),
            ),
            (f"peak of Python's memory, {of}", f"{one.peak:,} bytes", "", ""),
        ]
    for name, one, other in ((f"{TIMES} x the rows", large, small), (f"{UNREAD} unread columns", wide, small)):
        for what, more, by in (("scan", one.scan, other.scan), ("poll", one.poll, other.poll)):
            ratios = (f"{statistics.mean(more[w]) / statistics.mean(by[w]):.2f} x" for w in CHANGES)
            table.rows.append((f"{what}, {name}", *ratios))
    return table
