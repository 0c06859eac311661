"""ID/RCS on a table of about 200 bytes a row: the unchanged poll, and the poll after 1 % changes in the newest rows.

Measured against the same server's own scan of the same row digests (one connection, no parallel workers), and against
what reads everything: a Spark full outer join of the table, read over JDBC on four partitions, with a Parquet copy.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

import psycopg2
from pyspark.sql import DataFrame

from benchmarks.measure import Table, in_turns
from qbcd.api import Project
from qbcd.demo.server import EmbeddedPostgres
from qbcd.spark.jdbc import read_query
from qbcd.strategies import IdRcs

CREATE = """
CREATE TABLE public.orders (
  id bigint PRIMARY KEY, customer text NOT NULL, quantity int, amount numeric(12, 2), placed_at timestamptz,
  weight double precision, note text
);
INSERT INTO public.orders
SELECT i, 'customer-' || (i::bigint * 7919) % 100003, i % 97, (i % 100000) / 100.0,
       timestamptz '2024-01-01 00:00:00+00' + i * interval '1 second', i / 3.0, repeat(md5(i::text), 4)
FROM generate_series(1, {rows}) AS i;
VACUUM ANALYZE public.orders;
"""
NEWEST = """
UPDATE public.orders SET quantity = quantity + 1 WHERE id > (SELECT max(id) FROM public.orders) - {updates};
DELETE FROM public.orders WHERE id IN (SELECT id FROM public.orders ORDER BY id DESC OFFSET {updates} LIMIT {deletes});
INSERT INTO public.orders SELECT max(id) OVER () + row_number() OVER (), customer, quantity, amount, placed_at, weight,
  note FROM (SELECT * FROM public.orders ORDER BY id DESC LIMIT {inserts}) AS newest;
"""


def measure(server: EmbeddedPostgres, folder: Path, *, rows: int, repeats: int) -> Table:
    """Builds the table, prepares the stream, and takes the medians."""
    execute(server.url, CREATE.format(rows=rows))
    config = {
        "version": 1,
        "sources": {"shop": {"url": server.url}},
        "sinks": {"changes": {"type": "jsonl", "path": "out"}},
        "tables": [{"source": "shop", "table": "public.orders", "strategy": "id_rcs", "sinks": ["changes"]}],
    }
    with Project.from_dict(config, base_dir=folder) as project:
        project.stream("orders").prepare()
        unchanged = in_turns(_unchanged(project, server.url), repeats)
        changed = _changed(project, server.url, folder, rows, repeats)
    versions = f"{_one(server.url, 'SHOW server_version')}, PySpark {_spark_version()}"
    return _table(rows, unchanged, changed, versions)


def _unchanged(project: Project, url: str) -> dict[str, Callable[[], object]]:
    return {
        "count": lambda: _one(url, "SELECT count(*) FROM public.orders"),
        "digests": lambda: _one(url, _digest_scan(project)),
        "poll": lambda: _poll(project, expected=0),
    }


def _changed(project: Project, url: str, folder: Path, rows: int, repeats: int) -> dict[str, float]:
    share = max(3, rows // 100)
    parts = {"updates": share * 8 // 10, "deletes": share // 10, "inserts": share // 10}
    spark, (jdbc_url, options) = project.spark.get(), project.source("shop").jdbc("benchmark")
    numbers = itertools.count()

    step = rows // 4 + 1
    cuts = [f"id >= {i * step} AND id < {(i + 1) * step}" for i in range(3)] + [f"id >= {3 * step}"]

    def read() -> DataFrame:
        return read_query(spark, jdbc_url, options, "SELECT * FROM public.orders", predicates=cuts)

    def table() -> str:
        copy = folder / f"copy-{next(numbers)}"
        read().write.parquet(str(copy))
        return str(copy)

    def join(copy: str) -> int:
        new = read().alias("n")
        old = spark.read.parquet(copy).alias("o")
        values = [c for c in old.columns if c != "id"]
        same = " AND ".join(f"n.{c} <=> o.{c}" for c in values)
        return new.join(old, "id", "full_outer").where(f"NOT ({same})").count()

    taken: dict[str, list[float]] = {"digests": [], "poll": [], "join": []}
    for _ in range(repeats):
        copy = table()
        execute(url, NEWEST.format(**parts))
        found = in_turns(
            {
                "digests": lambda: _one(url, _digest_scan(project)),
                "poll": lambda: _poll(project, expected=sum(parts.values())),
                "join": lambda copy=copy: join(copy),  # type: ignore[misc]
            },
            1,
        )
        for name, value in found.items():
            taken[name].append(value)
        shutil.rmtree(copy)
    return {name: sorted(values)[len(values) // 2] for name, values in taken.items()}


def _digest_scan(project: Project) -> str:
    """The statement with which the server itself scans the digests that the poll ships sums of."""
    strategy = IdRcs(project.source("shop").connector, project.stream("orders").plan())
    # one use of the digest: of two, the server would compute it twice
    return f"SELECT sum(d.qbcd_digest) FROM {strategy.digests()} AS d"


def _poll(project: Project, *, expected: int) -> None:
    [outcome] = project.run(["orders"], once=True).outcomes
    if outcome.error is not None:
        raise outcome.error
    assert outcome.report is not None
    found = outcome.report.header.size if outcome.report.header else 0
    if found != expected:
        raise AssertionError(f"{found} events, not {expected}")


def execute(url: str, statements: str) -> None:
    """Runs SQL, each statement on its own (VACUUM allows no transaction)."""
    conn = psycopg2.connect(url)
    try:
        conn.autocommit = True
        with conn.cursor() as cursor:
            for statement in statements.split(";\n"):
                if statement.strip():
                    cursor.execute(statement)
    finally:
        conn.close()


def _one(url: str, query: str) -> object:
    conn = psycopg2.connect(url, options="-c max_parallel_workers_per_gather=0 -c search_path=pg_catalog")
    try:
        with conn.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchall()[0][0]
    finally:
        conn.close()


def _spark_version() -> str:
    import pyspark

    return pyspark.__version__


def _table(rows: int, unchanged: dict[str, float], changed: dict[str, float], versions: str) -> Table:
    table = Table(("", "seconds (median)", "ratio"), f"PostgreSQL {versions}")
    scan = unchanged["digests"]
    table.rows += [
        (f"`count(*)`, {rows:,} rows", f"{unchanged['count']:.3f}", ""),
        ("digest scan", f"{scan:.3f}", f"{scan / unchanged['count']:.1f} x count(*)"),
        ("poll, unchanged", f"{unchanged['poll']:.3f}", f"{unchanged['poll'] / scan:.2f} x digest scan"),
        ("digest scan, beside the changed polls", f"{changed['digests']:.3f}", ""),
        ("poll, 1 % changed", f"{changed['poll']:.3f}", f"{changed['poll'] / changed['digests']:.2f} x digest scan"),
        ("Spark full outer join", f"{changed['join']:.3f}", f"{changed['join'] / changed['poll']:.2f} x the poll"),
    ]
    return table
