"""ID/RCS polls with each fetch path switched off in turn: what a path earns, in seconds, processor time and bytes.

One stream with all paths, and one for each path without it, are polled after each change, in an order that rotates. The
first polls of each kind of change are not counted, as paths learn from the polls before. Bytes are those received on
the loopback interface; a network namespace of its own keeps other traffic out, and can delay what remains:
``unshare -n sh -c 'ip link set lo up; tc qdisc add dev lo root netem delay 5ms rate 100mbit; ..'``.
"""

from __future__ import annotations

import statistics
import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import peers
from benchmarks.growth import received
from benchmarks.measure import Options, Table
from benchmarks.orders import Orders
from benchmarks.places import MariaPlace, Place
from benchmarks.processor import Processor
from qbcd.api import Project
from qbcd.sites.lake.fetch import paths

SETTINGS: dict[str, Any] = {}
OPTIONS = ("polls", "keys", "changes", "engine", "without")
ALL = "all"
WARM = {"none": 9, "newest": 3, "random": 4, "few": 5, "moved": 2}  # rounds that are not counted
DRAWN = {"random": 100, "few": 25_000, "moved": 20}  # one of this number of rows
NEWEST = 10_000  # rows
LOST = 5  # one of this number of drawn rows is deleted, the others are updated
HEADING = ("key", "changes", "without", "poll", "processor", "received")


def server_settings(database: str) -> dict[str, Any]:
    """Return the server's settings for the benchmark."""
    return peers.SETTINGS if database != "mariadb" else {}


class Found(NamedTuple):
    """Figures of one poll."""

    clock: float
    processor: float
    size: float


class Kind(NamedTuple):
    """A kind of change, with the number of measured polls and the ways to poll after each."""

    name: str
    polls: int
    ways: tuple[str, ...]


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Measure one key after the other; `repeats` is not used."""
    keys = options.keys.split(",") if not isinstance(place, MariaPlace) else ["bigint"]
    kinds = options.changes.split(",")
    if unknown := set(kinds) - WARM.keys():
        raise SystemExit(f"--changes: {', '.join(sorted(unknown))}: not of {', '.join(WARM)}")
    ways = (ALL, *(options.without.split(",") if options.without else sorted(paths.SWITCHES)))
    if unknown := set(ways[1:]) - paths.SWITCHES:
        raise SystemExit(f"--without: {', '.join(sorted(unknown))}: not of {', '.join(sorted(paths.SWITCHES))}")
    table = Table(HEADING, place.version())
    for key in keys:
        captured = _created(place, key, options.rows)
        with Project.from_dict(_config(place.url, captured, options.engine, ways), base_dir=folder / key) as project:
            for way in ways:
                project.stream(way).prepare()
            for kind in kinds:
                found = _polled(place, project, captured, Kind(kind, options.polls, ways))
                table.rows += _lines(key, kind, found)
    return table


def _created(place: Place, key: str, rows: int) -> str:
    """Create the table; return its name."""
    if isinstance(place, MariaPlace):
        place.create(rows)
        return place.table
    orders = Orders(place, "uuid" if key == "uuid" else "bigint")
    orders.create(rows)
    if key == "lines":  # all keys end with the same number, so leaves are as large as ranges
        place.run(
            f"ALTER TABLE {orders.table} ADD line smallint NOT NULL DEFAULT 1, DROP CONSTRAINT orders_bigint_pkey,"
            f" ADD PRIMARY KEY (id, line);\nVACUUM ANALYZE {orders.table}"
        )
    return orders.table


def _config(url: str, table: str, engine: str, ways: tuple[str, ...]) -> dict[str, Any]:
    shared = {"source": "shop", "table": table, "sinks": ["changes"], "baseline": "silent", "strategy": "id_rcs"}
    return {
        "version": 1,
        "sources": {"shop": {"url": url, "connections": peers.CONNECTIONS}},
        "sinks": {"changes": {"type": "jsonl", "path": "out"}},
        "defaults": {"engine": engine},
        "tables": [{**shared, "name": way} for way in ways],
    }


def _polled(place: Place, project: Project, table: str, of: Kind) -> dict[str, list[Found]]:
    processor = Processor(place)
    kind, polls, ways = of
    found: dict[str, list[Found]] = {way: [] for way in ways}
    for number in range(WARM[kind] + polls):
        print(f"{table}, {kind}, round {number + 1} of {WARM[kind] + polls}", file=sys.stderr, flush=True)
        _change(place, table, kind, number)
        turn = number % len(ways)
        for way in (*ways[turn:], *ways[:turn]):
            with paths.disabled(*([] if way == ALL else [way])):
                before = received()
                spent = processor.spent(partial(_poll, project, way))
            if number >= WARM[kind]:
                found[way].append(Found(*spent, received() - before))
    return found


def _poll(project: Project, stream: str) -> None:
    [outcome] = project.run([stream], once=True).outcomes
    if outcome.error is not None:
        raise outcome.error


def _change(place: Place, table: str, kind: str, number: int) -> None:
    if kind == "none":
        return
    if kind == "newest":
        place.run(f"UPDATE {table} SET quantity = quantity + 1 WHERE {_is_newest(place, table)}")
        return
    drawn, part = place.drawn(number), DRAWN[kind]
    if kind == "moved":
        place.run(f"UPDATE {table} SET quantity = quantity WHERE {drawn} % {part} = 0")
        return
    place.run(
        f"UPDATE {table} SET quantity = quantity + 1 WHERE {drawn} % {part} = 0;\n"
        f"DELETE FROM {table} WHERE {drawn} % {part * LOST} = 1"
    )


def _is_newest(place: Place, table: str) -> str:
    """Return the condition of the newest 10,000 rows."""
    if not table.endswith("uuid"):
        return f"id > {place.one(f'SELECT max(id) FROM {table}') - NEWEST}"
    return (
        f"placed_at > '{place.one(f'SELECT max(placed_at) FROM {table}')}'::timestamptz - interval '{NEWEST} seconds'"
    )


def _lines(key: str, kind: str, found: dict[str, list[Found]]) -> list[tuple[str, ...]]:
    medians = {way: Found(*map(statistics.median, zip(*polls, strict=True))) for way, polls in found.items()}
    of_all = medians.pop(ALL)
    lines: list[tuple[str, ...]] = [
        (key, kind, "none", f"{of_all.clock:.3f} s", f"{of_all.processor:.2f} s", f"{of_all.size:,.0f}")
    ]
    for way, figures in medians.items():
        ratios = (f"{one / other:.2f} x" for one, other in zip(figures, of_all, strict=True))
        lines.append((key, kind, f"`{way}`", *ratios))
    return lines
