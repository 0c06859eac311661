"""ID/RCS next to other tools that find inserts, updates and deletes only by queries.

All find the same changes. A round is a change of 1 % of the rows, or none, then the server's own scans, qbcd's poll,
and in some of the rounds the runs of the other tools. A tool that does not find the right number of changes fails the
benchmark. The speed of a machine may vary by a factor of two, so the server's scan is measured again before and after
each run of another tool, and times are compared as multiples of scans.
"""

from __future__ import annotations

import itertools
import statistics
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measure import Options, Table, seconds
from benchmarks.orders import Orders
from benchmarks.places import Place, PostgresPlace
from benchmarks.tools import pg_comparator, reladiff
from benchmarks.tools.base import Tool, Unavailable
from benchmarks.tools.dbt import Dbt
from benchmarks.tools.spark_join import SparkJoin, quarters
from qbcd.api import Project, parts_of
from qbcd.strategies import IdRcs

DATABASES = ("postgresql", "postgresql-debian")
OPTIONS = ("polls", "keys", "changes")
# VACUUM runs between the rounds instead, so that it does not slow a measured tool
SETTINGS = {"autovacuum": False, "checkpoint_timeout": "1h", "shared_buffers": "6GB", "max_wal_size": "8GB"}
CHANGES = {"none": "unchanged", "newest": "1 % in the newest rows", "random": "1 % uniformly random"}
WARM = 25  # warm-up rounds of each kind, since Java compiles frequent code late
CONNECTIONS = 2  # of a poll, and of its reference scan

Times = dict[str, list[float]]  # seconds by kind of change


@dataclass
class Polled:
    """A table that qbcd polls: times of its polls, and of the server's own scans before them."""

    orders: Orders
    count: Times = field(default_factory=dict)
    scan: Times = field(default_factory=dict)
    scans: Times = field(default_factory=dict)
    poll: Times = field(default_factory=dict)

    @property
    def stream(self) -> str:
        """Name of its stream."""
        return f"orders_{self.orders.key}"


@dataclass
class Peer:
    """Another tool: times of its runs and the scans around them, or the reason of its absence."""

    tool: Tool
    runs: Times = field(default_factory=dict)
    scans: Times = field(default_factory=dict)
    version: str = ""
    missing: str = ""


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Set up everything, then run the rounds of each kind of change."""
    assert isinstance(place, PostgresPlace)
    if unknown := set(options.changes.split(",")) - CHANGES.keys():
        raise SystemExit(f"--changes: {', '.join(sorted(unknown))}: not of {', '.join(CHANGES)}")
    polled = [Polled(Orders(place, key)) for key in options.keys.split(",")]
    for one in polled:
        one.orders.create(options.rows)
    orders = polled[0].orders
    with Project.from_dict(_config(place, polled), base_dir=folder) as project, ExitStack() as stack:
        for one in polled:
            project.stream(one.stream).prepare()
        peers = [Peer(tool) for tool in _tools(orders, project, folder)] if options.repeats else []
        for peer in peers:
            stack.callback(peer.tool.cleanup)
            _say(f"setting up {peer.tool.name}")
            try:
                peer.version = peer.tool.setup()
            except Unavailable as reason:
                peer.missing = str(reason)
                _say(f"  {reason}")
        for which in options.changes.split(","):
            for _ in range(WARM):
                _round(project, polled, [], which, options.rows, warm=True)
            common = _spread(options.polls, options.repeats)
            for number in range(options.polls):
                taking_part = [p for p in peers if not p.missing] if number in common else []
                _say(f"{CHANGES[which]}, round {number + 1} of {options.polls}")
                _round(project, polled, taking_part, which, options.rows)
    return _table(polled, peers, options.rows, options.polls, f"{place.version()}")


def _tools(orders: Orders, project: Project, folder: Path) -> list[Tool]:
    cuts = quarters(orders.place.one(f"SELECT max(id) FROM {orders.table}"))
    compared = reladiff.ComparedTables(orders.place.url, orders.table, orders.copied, orders.columns)
    return [
        reladiff.Reladiff(compared, "reladiff hashdiff, its defaults", reladiff.DEFAULT),
        reladiff.Reladiff(compared, "reladiff hashdiff, tuned", reladiff.TUNED),
        pg_comparator.PgComparator(orders, "pg_comparator, checksum in C", pg_comparator.DEFAULT),
        pg_comparator.PgComparator(orders, "pg_comparator, checksum in C, tuned", pg_comparator.TUNED),
        SparkJoin(project, orders.table, cuts, folder),
        Dbt(orders, folder),
    ]


def _config(place: Place, polled: Sequence[Polled]) -> dict[str, Any]:
    tables = [
        {"source": "shop", "table": p.orders.table, "name": p.stream, "strategy": "id_rcs", "sinks": ["changes"]}
        for p in polled
    ]
    return {
        "version": 1,
        "sources": {"shop": {"url": place.url, "connections": CONNECTIONS}},
        "sinks": {"changes": {"type": "jsonl", "path": "out"}},
        "tables": tables,
    }


def _spread(polls: int, repeats: int) -> set[int]:
    """Return the rounds with the other tools: `repeats` of them, evenly spread."""
    repeats = min(polls, repeats)
    return {(2 * i + 1) * polls // (2 * repeats) for i in range(repeats)}


def _round(
    project: Project, polled: Sequence[Polled], peers: Sequence[Peer], which: str, rows: int, *, warm: bool = False
) -> None:
    """Change every table and run qbcd and `peers` on it; times of a `warm` round are not kept."""
    if peers:
        polled[0].orders.copy()
    for peer in peers:
        peer.tool.catch_up()
    for one in polled:
        changed = one.orders.change(which, rows)
        kept = replace(one, count={}, scan={}, scans={}, poll={}) if warm else one
        actions: list[tuple[Times, Callable[[], object]]] = [
            (kept.count, _asking(one.orders.place, [f"SELECT count(*) FROM {one.orders.table}"])),
            (kept.scan, _scan(project, one, 1)),
            (kept.scans, _scan(project, one, CONNECTIONS)),
            (kept.poll, partial(_poll, project, one.stream, changed)),
        ]
        for times, action in actions:
            times.setdefault(which, []).append(seconds(action))
        if one is polled[0]:
            for peer in peers:
                _run(peer, which, changed, partial(_seconds_of_scan, project, one))


def _seconds_of_scan(project: Project, one: Polled) -> float:
    return seconds(_scan(project, one, CONNECTIONS))


def _run(peer: Peer, which: str, changed: int, scan: Callable[[], float]) -> None:
    before = scan()
    found = peer.tool.run()
    if found.changes != changed:
        raise AssertionError(f"{peer.tool.name} found {found.changes} changes, not {changed}")
    peer.runs.setdefault(which, []).append(found.seconds)
    peer.scans.setdefault(which, []).append((before + scan()) / 2)
    _say(f"  {peer.tool.name}: {found.seconds:.2f} s")


def _poll(project: Project, stream: str, expected: int) -> None:
    [outcome] = project.run([stream], once=True).outcomes
    if outcome.error is not None:
        raise outcome.error
    assert outcome.report is not None
    found = outcome.report.header.size if outcome.report.header else 0
    if found != expected:
        raise AssertionError(f"{stream}: qbcd found {found} changes, not {expected}")


def _scan(project: Project, one: Polled, connections: int) -> Callable[[], None]:
    """Return a function that sums a poll's digests; each connection scans its share of pages."""
    place, plan = one.orders.place, project.stream(one.stream).plan()
    pages = place.one(f"SELECT pg_relation_size('{one.orders.table}') / current_setting('block_size')::int")
    bounds = [pages * i // connections for i in range(connections)] + [None]
    statements = []
    for low, high in itertools.pairwise(bounds):
        where = f"ctid >= '({low},0)'::tid" + (f" AND ctid < '({high},0)'::tid" if high else "")
        part = plan if connections == 1 else replace(plan, where=where)
        digests = IdRcs(parts_of(project).source("shop").connector, part).digests()
        statements.append(f"SELECT sum(d.qbcd_digest) FROM {digests} AS d")
    return _asking(place, statements)


def _asking(place: Place, statements: Sequence[str]) -> Callable[[], None]:
    """Return a function that runs all statements at the same time, on connections opened before."""
    opened = [place.connect() for _ in statements]

    def one(conn: Any, statement: str) -> None:
        with closing(conn), conn.cursor() as cursor:
            cursor.execute(statement)
            cursor.fetchall()

    def ask() -> None:
        with ThreadPoolExecutor(len(statements)) as pool:
            list(pool.map(one, opened, statements))

    return ask


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def _table(polled: Sequence[Polled], peers: Sequence[Peer], rows: int, polls: int, versions: str) -> Table:
    versions = ", ".join([versions, *dict.fromkeys(p.version for p in peers if p.version)])
    first = polled[0]
    table = Table(("seconds", *(CHANGES[c] for c in first.poll), "left out of it"), versions)
    for one in polled:
        of = f"{one.orders.key} key"
        table.rows += [
            (f"`count(*)`, {rows:,} rows, {of}", *_cells(one.count), ""),
            (f"digest scan, {of}, 1 connection", *_cells(one.scan, one.count, "x count(*)"), ""),
            (f"digest scan, {of}, {CONNECTIONS} connections", *_cells(one.scans, one.count, "x count(*)"), ""),
            (f"**qbcd ID/RCS**, {of}, mean of {polls} polls", *_cells(one.poll, one.scans, "x that scan"), ""),
        ]
    for peer in peers:
        if peer.missing:
            table.rows.append((peer.tool.name, *[""] * len(first.poll), f"not measured: {peer.missing}"))
            continue
        start_up = f"{peer.tool.start_up:.2f} s start-up" if peer.tool.start_up else ""
        in_scans = {which: _mean_of(peer.runs, peer.scans, which) for which in peer.runs}
        ours = {which: _mean_of(first.poll, first.scans, which) for which in peer.runs}
        cells = (f"{statistics.mean(peer.runs[c]):.3f} ({in_scans[c] / ours[c]:.2f} x qbcd)" for c in peer.runs)
        table.rows.append((peer.tool.name, *cells, start_up))
    return table


def _mean_of(times: Times, by: Times, which: str) -> float:
    """Return the ratio of two means; the machine's slow moments affect both."""
    return statistics.mean(times[which]) / statistics.mean(by[which])


def _cells(times: Times, by: Times | None = None, unit: str = "") -> list[str]:
    """Return the means by kind of change, with the ratio to those of `by`."""
    ratios = {c: f" ({_mean_of(times, by, c):.2f} {unit})" if by else "" for c in times}
    return [f"{statistics.mean(times[c]):.3f}{ratios[c]}" for c in times]
