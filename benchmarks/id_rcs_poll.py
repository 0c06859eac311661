"""ID/RCS on a table of about 200 bytes a row: polls without changes, and after 1 % of the rows changed.

The newest rows change, then rows anywhere. The references are the same server's own scan of the same row digests (one
connection, no parallel workers), and a full read: a Spark full outer join of the table, read over JDBC on four
partitions, with a Parquet copy.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.measure import Options, Table, in_turns
from benchmarks.places import Place
from benchmarks.tools.spark_join import SparkJoin, quarters
from qbcd.api import Project, parts_of
from qbcd.strategies import IdRcs

OPTIONS = ("engine",)
RANGES = 200


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Create the table, prepare the stream, and return the medians."""
    place.create(options.rows)
    config = {
        "version": 1,
        "sources": {"shop": {"url": place.url}},
        "sinks": {"changes": {"type": "jsonl", "path": "out"}},
        "tables": [
            {"source": "shop", "table": place.table, "name": "orders", "strategy": "id_rcs", "sinks": ["changes"]}
        ],
        "defaults": {"engine": options.engine},
    }
    with Project.from_dict(config, base_dir=folder) as project:
        project.stream("orders").prepare()
        unchanged = in_turns(_unchanged(project, place, options.rows), options.repeats)
        changed = _changed(project, place, folder, options.rows, options.repeats)
        drawn = _drawn(project, place, options.repeats)
    return _table(options.rows, unchanged, changed, drawn, f"{place.version()}, PySpark {_spark_version()}")


def _unchanged(project: Project, place: Place, rows: int) -> dict[str, Callable[[], object]]:
    return {
        "count": lambda: place.one(f"SELECT count(*) FROM {place.table}"),
        "digests": lambda: place.one(_digest_scan(project)),
        "ranges": _range_checksums(project, rows),
        "poll": lambda: _poll(project, expected=0),
    }


def _range_checksums(project: Project, rows: int) -> Callable[[], object]:
    """Return a function that reads count and checksum of 200 ranges in one statement."""
    source = parts_of(project).source("shop")
    strategy = IdRcs(source.connector, project.stream("orders").plan())
    with source.read("benchmark") as session:
        asked = strategy.partitioning.bounds(-(-rows // RANGES))
        found = session.rows(asked) if asked else []
    statement = strategy.partitioning.checksums(strategy.partitioning.ranges(found, -(-rows // RANGES), 1, None))

    def ask() -> None:
        with source.read("benchmark") as session:
            assert len(session.rows(statement)) == RANGES

    return ask


def _changed(project: Project, place: Place, folder: Path, rows: int, repeats: int) -> dict[str, float]:
    share = max(3, rows // 100)
    parts = {"updates": share * 8 // 10, "deletes": share // 10, "inserts": share // 10}
    join = SparkJoin(project, place.table, quarters(rows), folder)
    join.setup()

    measured: dict[str, list[float]] = {"digests": [], "poll": [], "join": []}
    for _ in range(repeats):
        join.catch_up()
        place.change(**parts)
        found = in_turns(
            {
                "digests": lambda: place.one(_digest_scan(project)),
                "poll": lambda: _poll(project, expected=sum(parts.values())),
                "join": join.run,
            },
            1,
        )
        for name, value in found.items():
            measured[name].append(value)
    return {name: statistics.median(values) for name, values in measured.items()}


def _drawn(project: Project, place: Place, repeats: int) -> dict[str, float]:
    """Measure polls after updates of random rows; the first one, after which the poll requests leaves, is left out."""
    measured: dict[str, list[float]] = {"digests": [], "poll": []}
    for number in range(repeats + 1):
        where = f"{place.drawn(number)} % 100 = 0"
        updated = int(place.one(f"SELECT count(*) FROM {place.table} WHERE {where}"))
        place.run(f"UPDATE {place.table} SET quantity = quantity + 1 WHERE {where}")
        actions: dict[str, Callable[[], object]] = {
            "digests": lambda: place.one(_digest_scan(project)),
            "poll": partial(_poll, project, expected=updated),
        }
        for name, value in in_turns(actions, 1).items():
            if number:
                measured[name].append(value)
    return {name: statistics.median(values) for name, values in measured.items()}


def _digest_scan(project: Project) -> str:
    """Return a statement that scans the digests whose sums the poll ships."""
    strategy = IdRcs(parts_of(project).source("shop").connector, project.stream("orders").plan())
    # the digest is used once, since the server computes it again for each use
    return f"SELECT sum(d.qbcd_digest) FROM {strategy.digests()} AS d"


def _poll(project: Project, *, expected: int) -> None:
    [outcome] = project.run(["orders"], once=True).outcomes
    if outcome.error is not None:
        raise outcome.error
    assert outcome.report is not None
    found = outcome.report.header.size if outcome.report.header else 0
    if found != expected:
        raise AssertionError(f"{found} events, not {expected}")


def _spark_version() -> str:
    import pyspark

    return pyspark.__version__


def _table(
    rows: int, unchanged: dict[str, float], changed: dict[str, float], drawn: dict[str, float], versions: str
) -> Table:
    table = Table(("", "seconds (median)", "ratio"), versions)
    scan = unchanged["digests"]
    table.rows += [
        (f"`count(*)`, {rows:,} rows", f"{unchanged['count']:.3f}", ""),
        ("digest scan", f"{scan:.3f}", f"{scan / unchanged['count']:.1f} x count(*)"),
        (
            f"checksums of {RANGES} ranges, one connection",
            f"{unchanged['ranges']:.3f}",
            f"{unchanged['ranges'] / scan:.2f} x digest scan",
        ),
        ("poll, unchanged", f"{unchanged['poll']:.3f}", f"{unchanged['poll'] / scan:.2f} x digest scan"),
        ("digest scan, before the changed polls", f"{changed['digests']:.3f}", ""),
        (
            "poll, 1 % changed in the newest rows",
            f"{changed['poll']:.3f}",
            f"{changed['poll'] / changed['digests']:.2f} x digest scan",
        ),
        ("digest scan, before polls of random rows", f"{drawn['digests']:.3f}", ""),
        (
            "poll, 1 % updated at random",
            f"{drawn['poll']:.3f}",
            f"{drawn['poll'] / drawn['digests']:.2f} x digest scan",
        ),
        ("Spark full outer join", f"{changed['join']:.3f}", f"{changed['join'] / changed['poll']:.2f} x the poll"),
    ]
    return table
