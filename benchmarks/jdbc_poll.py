"""Unchanged polls of a database that a JDBC driver alone reaches, next to a bare read by Spark and to a digest scan.

DuckDB and H2 are files that the Java of Spark opens. Where all rows travel, the floor is a read of the same columns by
Spark's JDBC reader, written to ``noop``. Where the database adds up its digests, it is one statement that adds up all;
polls compute range checksums, or one checksum of the whole table, as they do after several polls without changes. All
five are run in turns, and the ratios are those of processor time. `--targets h2` measures one database, `--without
source` or `here` leaves out the polls of one kind.
"""

from __future__ import annotations

import json
import os
import statistics
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Options, Table
from benchmarks.places import Place
from benchmarks.processor import Processor, Spent
from qbcd.api import Project, parts_of
from qbcd.catalog.jdbc import JdbcSource
from qbcd.connectors.jdbc.digests import HashedValue, digest
from qbcd.sites.jdbc import take
from qbcd.spark.jdbc_tables import open_session
from tests.support.jdbc_places import JdbcPlace, add_drivers, file_place, source_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATABASES = ("postgresql",)  # started, but not used
OPTIONS = ("targets", "without")
BOTH = ("duckdb", "h2")
NEVER = 1 << 30  # polls without changes
HEADING = (
    "database",
    "rows",
    "poll without changes",
    "seconds",
    "floor",
    "seconds",
    "ratio",
    "peak of Java, of Python",
)
COLUMNS = (
    ("ID", "BIGINT"),
    ("NAME", "VARCHAR(40)"),
    ("AMOUNT", "DECIMAL(12,2)"),
    ("QUANTITY", "INTEGER"),
    ("NOTE", "VARCHAR(80)"),
)
TYPES = {"BIGINT": "BIGINT", "INTEGER": "INT", "DECIMAL(12,2)": "DECIMAL(12,2)"}
ROWS = {"duckdb": "range(1, {rows} + 1) AS t(x)", "h2": "SYSTEM_RANGE(1, {rows}) AS t(x)"}


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Measure unchanged polls of both databases, with and without checksums in the database."""
    from pyspark.sql import SparkSession

    memory = "1g"
    java = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    java = java.config("spark.driver.memory", memory).config("spark.driver.extraJavaOptions", "-Duser.timezone=UTC")
    spark = java.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    table = Table(HEADING, f"PySpark {spark.version}, Java with {memory}")
    try:
        add_drivers(spark, "duckdb", "h2")
        processor = Processor(place)
        for name in [one for one in BOTH if one in options.targets] or BOTH:
            table.rows += _of(file_place(spark, name, folder), folder / f"{name}-polls", processor, options)
    finally:
        spark.stop()
    return table


def _of(database: JdbcPlace, folder: Path, processor: Processor, options: Options) -> list[tuple[str, ...]]:
    named = ", ".join(f"{name} {kind}" for name, kind in COLUMNS)
    rows = ROWS[database.name].format(rows=options.rows)
    database.execute(
        f"CREATE TABLE ITEMS ({named}, PRIMARY KEY (ID))",
        "INSERT INTO ITEMS SELECT x, 'item ' || x, CAST(x % 100000 AS DECIMAL(12,2)) / 100, x % 97, "
        f"'a note of about fifty characters, which ends with ' || x FROM {rows}",
    )
    kinds = [kind for kind in ("source", "here") if kind != options.without]
    with ExitStack() as stack:
        projects = {kind: stack.enter_context(_project(database, folder, kind)) for kind in kinds}
        source = parts_of(projects[kinds[0]]).source("shop")
        assert isinstance(source, JdbcSource)
        with open_session(database.spark.sparkContext._jvm, source) as session:  # a server stays open too
            values = [HashedValue(n, k, TYPES.get(k, "STRING").partition("(")[0], n) for n, k in COLUMNS]
            total = database.profile.total.replace("{digest}", digest(database.profile, values))
            scan = f"SELECT COUNT(*), {total} FROM ITEMS WHERE ID > -{{}}"  # another text each time: H2 keeps results
            of_kind: dict[str, dict[str, Any]] = {
                "source": {
                    "adds up": lambda number: _poll(projects["source"]),
                    "adds up all": lambda number: _poll(projects["source"], unchanged_polls=1),
                    "scan": lambda number: session.texts(scan.format(number)),
                },
                "here": {
                    "travels": lambda number: _poll(projects["here"]),
                    "read": lambda number: _read(database, source),
                },
            }
            actions = {name: action for kind in kinds for name, action in of_kind[kind].items()}
            spent: dict[str, list[Spent]] = {name: [] for name in actions}
            for number in range(options.repeats + 1):
                for name, action in actions.items():
                    one = processor.spent(lambda: action(number))  # noqa: B023 -- called here
                    if number:
                        spent[name].append(one)
    peaks = f"{_peak(_java(database.spark))} MB, {_peak(os.getpid())} MB"
    floor, names = "digest scan of the database", ("adds up", "adds up all", "travels")
    pairs = (("adds up", floor, "scan"), ("adds up all", floor, "scan"), ("travels", "read by Spark, to noop", "read"))
    words = dict(zip(names, ("range checksums", "one checksum of the whole table", "all rows travel"), strict=True))
    return [
        (
            database.name,
            f"{options.rows:,}",
            words[name],
            _words(spent[name]),
            floor,
            _words(spent[of]),
            f"{_median(spent[name]) / _median(spent[of]):.2f}",
            peaks,
        )
        for name, floor, of in pairs
        if name in spent
    ]


def _project(database: JdbcPlace, folder: Path, checksums: str) -> Project:
    """Return a project with a prepared stream."""
    home = folder / checksums
    home.mkdir(parents=True)
    schema = "PUBLIC." if database.name == "h2" else ""
    data = {
        "version": 1,
        "sources": {"shop": {**source_lines(database), "jdbc": {"checksums": checksums}}},
        "tables": [{"source": "shop", "table": f"{schema}ITEMS", "name": "items", "strategy": "id_rcs"}],
    }
    file = home / "qbcd.yaml"
    file.write_text(json.dumps(data), encoding="utf-8")
    project = Project.from_dict(data, base_dir=home, spark=database.spark)
    project.stream("items").prepare()
    return project


def _poll(project: Project, unchanged_polls: int = NEVER) -> None:
    take.UNCHANGED_POLLS = unchanged_polls
    [outcome] = project.run(once=True).outcomes
    assert outcome.error is None, outcome.error
    assert outcome.run is not None
    assert outcome.run.outcome == "empty"


def _read(database: JdbcPlace, source: JdbcSource) -> None:
    table = f"(SELECT {', '.join(name for name, _ in COLUMNS)} FROM ITEMS) q"
    options = {**source.login.properties, "driver": source.profile.driver.driver_class, "fetchsize": "5000"}
    rows = database.spark.read.format("jdbc").options(**options).option("url", source.login.url)
    rows.option("dbtable", table).load().write.format("noop").mode("overwrite").save()


def _median(found: list[Spent]) -> float:
    return statistics.median(one.processor for one in found)


def _words(found: list[Spent]) -> str:
    return f"{statistics.median(one.clock for one in found):.2f} s; {_median(found):.2f} s of processors"


def _java(spark: SparkSession) -> int:
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    return int(jvm.java.lang.ProcessHandle.current().pid())


def _peak(pid: int) -> int:
    """Return the peak resident memory of a process in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) >> 10
