"""Run a comparison, print Markdown: ``python -m benchmarks id_rcs_poll --rows 1000000``."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Options, Table
from benchmarks.places import PLACES

COMPARISONS = {
    "id_rcs_poll": "ID/RCS polls against the server's own digest scan and a Spark full outer join",
    "blocks": "Blocks that a poll reads, by strategy, next to the paper's formulas",
    "figures": "Figures 9 and 10: blocks that a poll reads, by the share of columns and of rows in the replica",
    "requests": "Page requests of polls on MariaDB or MySQL, next to the advisor's predictions",
    "atdi_plans": "The plan of an ATDI poll in all forms of MySQL's EXPLAIN",
    "hot_ranges": "Recently changed ranges first: changes that a poll of half the ranges finds",
    "engines": "Both engines on polls that fetch every row, by number of rows",
    "leaves": "Sizes of ranges and levels of a checksum tree: bytes shipped and rows scanned",
    "peers": "ID/RCS polls against other tools on the same changes",
    "few_changes": "ID/RCS polls after few changes anywhere: rows looked up, or whole ranges",
    "fetch_paths": "ID/RCS polls with each fetch path switched off in turn",
    "moved_rows": "ID/RCS polls of a table whose rows have moved: by the index of its key, by a scan, by one sum",
    "growth": "ID/RCS polls of five times the rows, and of a table with thirty unread columns",
    "capacity": "ID/RCS at three sizes, and lines through them: polls of 100 and 1,000 million rows",
    "cluster": "A standalone cluster of Spark on this machine next to local[2]",
    "many_rows": "ID/RCS polls of unchanged tables up to a large size: bytes and memory",
    "volume": "ID/RCS polls by size of the table and share of changed rows: pages read, rows and bytes shipped",
    "paper_view": "The paper's view of four relations: pages and bytes of copying, and of VBD",
    "jdbc_poll": "Polls of a database with a JDBC driver alone next to a bare read, and to its own digest scan",
    "result_poll": "VBD delta polls of a query against a new run of the query and a comparison by Spark",
    "snapshots": "Differences of two snapshot files by method, next to a parse and to full joins of DuckDB and Spark",
    "spark_source": "Change rows read by Spark's source, next to a bare read of the same files",
    "table_diff": "qbcd diff of two tables by range checksums, next to a complete read and reladiff",
    "diff_by_driver": "qbcd diff between PostgreSQL and DuckDB by its JDBC driver, next to reladiff",
    "many_tables": "Rounds over many small tables, without and with changes, next to a bare script and another tool",
    "mirrors": "Mirrors and histories: inserts, updates, mixed batches next to a bare load",
    "lakes": "One large commit into Delta and Iceberg next to the libraries' own write, and many small ones",
    "lookups": "Look-ups of keys in a large relation: mesh, lists of keys, single look-ups over JDBC",
    "joins": "qbcd join of two files next to DuckDB's hash join: memory and processor time",
    "set_indexes": "The six set indexes of Helmer's thesis over equal sets, in this process",
    "wide_digests": "Digest scans of 64 and of 128 bits",
    "set_digests": "Digests of sets on PostgreSQL: as they are, sorted, and by a sum over elements",
    "matcher": "Subscriptions against events, and joins of sets, in this process",
    "subscriptions": "Polls with many subscriptions, against polls without",
    "id_locks": "An ID pass while writers work: length of transactions, latency of writers",
}


def main() -> int:
    """Parse the command line, start a server, run one comparison, print Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", choices=sorted(COMPARISONS))
    parser.add_argument("--database", choices=sorted(PLACES), default="postgresql")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--polls", type=int, default=20, help="peers, growth, volume, fetch_paths: measured polls")
    keys = ("bigint", "uuid", "lines", "bigint,uuid")
    parser.add_argument("--keys", choices=keys, default="bigint", help="peers: keys of the tables (not lines)")
    parser.add_argument("--changes", default="none,newest,random", help="peers, engines: kinds of change, in order")
    parser.add_argument("--warm", type=int, default=2, help="result_poll: warm-up rounds")
    parser.add_argument("--columns", type=int, default=0, help="result_poll: further columns of the orders")
    parser.add_argument("--tables", type=int, default=300, help="many_tables: number of tables")
    parser.add_argument("--rounds", type=int, default=0, help="many_tables: rounds in one process, for its memory")
    parser.add_argument("--delay", type=int, default=0, help="milliseconds to the server and back")
    parser.add_argument(
        "--engine", choices=("auto", "local", "spark"), default="auto", help="fetch_paths and id_rcs_poll: the engine"
    )
    parser.add_argument("--plot", default="", help="figures: draw them into this SVG file")
    parser.add_argument(
        "--without", default="", help="fetch_paths: paths to switch off; jdbc_poll: source or here; lookups: parts"
    )
    parser.add_argument(
        "--targets", default="server", help="mirrors: some of server,duckdb,sqlite; jdbc_poll: duckdb,h2"
    )
    parser.add_argument("--against", default="", help="mirrors: folder of another checkout, which writes in turns")
    parser.add_argument("--peers", default="", help="many_tables: folder with a virtual environment dlt")
    given = vars(parser.parse_args())
    name, database = given.pop("name"), given.pop("database")
    comparison = importlib.import_module(f"benchmarks.{name}")
    if database not in getattr(comparison, "DATABASES", PLACES):
        parser.error(f"{name} does not run on {database}")
    start = PLACES[database].start
    if hasattr(comparison, "server_settings"):
        settings = comparison.server_settings(database)
    else:
        settings = getattr(comparison, "SETTINGS", {})
    with tempfile.TemporaryDirectory() as folder, start(settings) as place:
        table: Table = comparison.measure(place, Path(folder), Options(**given))
    print(f"## {COMPARISONS[name]}\n")
    used = ("rows", "repeats", *getattr(comparison, "OPTIONS", ()))
    shown = " ".join(["--database", database, *(f"--{option} {given[option]}" for option in used)])
    print(f"`python -m benchmarks {name} {shown}`  ")
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, {table.versions}\n")
    print(table.markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main())
