"""`qbcd diff` between PostgreSQL and DuckDB by its JDBC driver, next to reladiff's hashdiff of the same tables.

In each round every tool compares once, in turns. The time of qbcd has Java's start; that of reladiff is measured inside
its process, after its imports. Processor seconds are those of the tool's processes, without PostgreSQL; DuckDB is in
both tools' processes.
"""

from __future__ import annotations

import os
import resource
import statistics
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import perf_counter

import duckdb

import qbcd
from benchmarks.measure import Options, Table
from benchmarks.places import Place
from benchmarks.tools import reladiff
from benchmarks.tools.base import Found

DATABASES = ("postgresql",)
CHANGED = 100
COLUMNS = ("customer", "quantity", "amount", "placed_at", "note")
CREATE = """
CREATE TABLE public.sold (id bigint PRIMARY KEY, customer varchar(40) NOT NULL, quantity int, amount numeric(12, 2),
  placed_at timestamp, note text);
INSERT INTO public.sold SELECT i, 'customer-' || (i * 7919) % 100003, i % 97, (i % 100000) / 100.0,
  timestamp '2024-01-01 00:00:00' + i * interval '1 second', repeat(md5(i::text), 2)
FROM generate_series(1::bigint, {rows}) AS i;
VACUUM ANALYZE public.sold;
"""
COPY = """
CREATE TABLE sold (id bigint PRIMARY KEY, customer varchar NOT NULL, quantity int, amount decimal(12, 2),
  placed_at timestamp, note varchar);
INSERT INTO sold SELECT i, 'customer-' || (i * 7919) % 100003, i % 97, (i % 100000) / 100.0::DECIMAL(12, 2),
  TIMESTAMP '2024-01-01 00:00:00' + to_seconds(i), repeat(md5(i::varchar), 2) FROM range(1, {rows} + 1) AS t(i);
"""
CHANGE = "UPDATE sold SET quantity = quantity + 1 WHERE id % {every} = 7 AND id < {every} * {changed}"


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Create the table twice, change rows of one, and compare them."""
    place.run(CREATE.format(rows=options.rows))
    path = folder / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(COPY.format(rows=options.rows))
        connection.execute(CHANGE.format(every=options.rows // CHANGED, changed=CHANGED))
    tables = reladiff.ComparedTables(place.url, "public.sold", "sold", COLUMNS, f"duckdb://main@{path}")
    others = [
        reladiff.Reladiff(tables, "reladiff hashdiff, its defaults", reladiff.DEFAULT),
        reladiff.Reladiff(tables, "reladiff hashdiff, tuned", reladiff.TUNED),
    ]
    versions = {place.version(), f"duckdb {duckdb.__version__}", *(one.setup() for one in others)}
    tools: dict[str, Callable[[], Found]] = {"qbcd diff": partial(_diff, place.url, path)}
    tools |= {one.name: one.run for one in others}
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in tools}
    for _ in range(options.repeats):
        for name, run in tools.items():
            before = _processor()
            found = run()
            if found.changes != CHANGED:
                raise RuntimeError(f"{name} found {found.changes} changes instead of {CHANGED}")
            seconds[name].append((found.seconds, _processor() - before))
    table = Table(("tool", "seconds", "x", "processor seconds"), ", ".join(sorted(versions)))
    unit = statistics.median(one for one, _ in seconds["qbcd diff"])
    for name, runs in seconds.items():
        taken, used = [one for one, _ in runs], statistics.median(one for _, one in runs)
        middle = statistics.median(taken)
        shown = f"{middle:.1f} ({min(taken):.1f} to {max(taken):.1f})"
        table.rows.append((name, shown, f"{middle / unit:.2f}", f"{used:.1f}"))
    return table


def _diff(url: str, path: Path) -> Found:
    began = perf_counter()
    with qbcd.diff(f"{url}#public.sold", f"jdbc:duckdb:{path}#main.sold", memory="1GB") as found:
        return Found(perf_counter() - began, len(found))


def _processor() -> float:
    """Return the processor seconds of this process, of its children that have ended, and of its Java."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    found = sum(one.ru_utime + one.ru_stime for one in used)
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, rest = path.read_text().partition("(")[2].rpartition(")")
            fields = rest.split()
            if name == "java" and int(fields[1]) in _own_processes():
                found += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def _own_processes() -> set[int]:
    """Return the ids of this process and of its children, among which are scripts that start Java."""
    own = {os.getpid()}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[1]) == os.getpid():
                own.add(int(path.parent.name))
    return own
