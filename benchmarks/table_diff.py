"""`qbcd diff` of a table and its copy by range checksums, next to a complete read and to reladiff's hashdiff.

In each round every tool compares once, in turns. Times are medians; those of reladiff are measured inside its process,
after its imports. Bytes are the least of the rounds, of those received on the loopback interface meanwhile.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter

import qbcd
from benchmarks.growth import received
from benchmarks.measure import Options, Table
from benchmarks.orders import COLUMNS
from benchmarks.places import MariaPlace, Place
from benchmarks.tools import reladiff
from benchmarks.tools.base import Found

CHANGED = 100
CHANGE = "UPDATE {copy} SET quantity = quantity + 1 WHERE id % {every} = 7 AND id < {every} * {changed}"
COPY = {
    False: "CREATE TABLE {copy} (LIKE {table} INCLUDING ALL);\nINSERT INTO {copy} SELECT * FROM {table};\n"
    "VACUUM ANALYZE {copy};\n",
    True: "CREATE TABLE {copy} LIKE {table};\nINSERT INTO {copy} SELECT * FROM {table};\nANALYZE TABLE {copy};\n",
}


@dataclass
class _Runs:
    run: Callable[[], Found]
    seconds: list[float] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)

    def once(self, name: str, changed: int) -> None:
        before = received()
        found = self.run()
        if found.changes != changed:
            raise RuntimeError(f"{name} found {found.changes} changes instead of {changed}")
        self.seconds.append(found.seconds)
        self.bytes.append(received() - before)


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Create the table and its copy, and compare them without and with changed rows."""
    copy = f"{place.table}_copy"
    place.create(options.rows)
    place.run(COPY[isinstance(place, MariaPlace)].format(table=place.table, copy=copy))
    tables = reladiff.ComparedTables(place.url, place.table, copy, COLUMNS)
    others = [
        reladiff.Reladiff(tables, "reladiff hashdiff, its defaults", reladiff.DEFAULT),
        reladiff.Reladiff(tables, "reladiff hashdiff, tuned", reladiff.TUNED),
    ]
    versions = {place.version(), *(one.setup() for one in others)}
    table = Table(("changed rows", "tool", "seconds", "x", "MB received"), ", ".join(sorted(versions)))
    for changed in (0, CHANGED):
        if changed:
            place.run(CHANGE.format(copy=copy, every=options.rows // changed, changed=changed))
        tools = {
            "qbcd diff, range checksums": _Runs(partial(_diff, place, copy, "auto")),
            "qbcd diff, complete": _Runs(partial(_diff, place, copy, "join")),
            **{one.name: _Runs(one.run) for one in others},
        }
        for _ in range(options.repeats):
            for name, tool in tools.items():
                tool.once(name, changed)
        table.rows += _rows(tools, changed)
    return table


def _diff(place: Place, copy: str, method: str) -> Found:
    began = perf_counter()
    with qbcd.diff(f"{place.url}#{copy}", f"{place.url}#{place.table}", method=method) as found:
        return Found(perf_counter() - began, len(found))


def _rows(tools: dict[str, _Runs], changed: int) -> list[tuple[str, ...]]:
    unit = statistics.median(next(iter(tools.values())).seconds)
    return [
        (
            str(changed),
            name,
            f"{statistics.median(one.seconds):.2f} ({min(one.seconds):.2f} to {max(one.seconds):.2f})",
            f"{statistics.median(one.seconds) / unit:.1f}",
            f"{min(one.bytes) / 1e6:,.2f}",
        )
        for name, one in tools.items()
    ]
