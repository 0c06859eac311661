"""Differences of two snapshot files by method, next to the parse of the new file and full joins of DuckDB and Spark."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv
from pyarrow import parquet
from pyspark.sql import SparkSession
from pyspark.sql.functions import col

from benchmarks.measure import Options, Table
from benchmarks.places import Place
from benchmarks.processor import Processor, Spent
from benchmarks.snapshot_dumps import ArrowDump, Drawing, write_pair
from qbcd.snapshots.base import MIB
from qbcd.snapshots.base import Options as CompareOptions
from qbcd.snapshots.compare import baseline, differences
from qbcd.snapshots.replica import DumpReplica

DATABASES = ("postgresql",)  # started, but not used
METHODS = ("phc1", "phc2", "window", "hh", "ph", "sm", "smc1", "smc2")
MEMORY = 256 * MIB


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Compare two snapshots with 1 % updates, displaced by 1,000 rows on average."""
    spent = Processor(place).spent
    old, new = write_pair(folder, Drawing(options.rows, 1_000, updates=0.01, inserts=0.001, deletes=0.001))
    baseline(old, CompareOptions(keep=folder / "entries", memory=MEMORY))
    baseline(old, CompareOptions(keep=folder / "rows", memory=MEMORY, keep_rows=True))
    csv = folder / "new.csv"
    with pa.csv.CSVWriter(str(csv), new.schema) as writer:
        for batch in new.batches():
            writer.write_batch(batch)
    table = Table(
        ("method", "seconds", "CPU seconds", "x parse (CPU)", "blocks"),
        f"pyarrow {pa.__version__}, DuckDB {duckdb.__version__}",
    )
    floor = spent(lambda: pa.csv.read_csv(str(csv)).num_rows)
    _add(table, "parse of the new file as CSV (Arrow)", floor, floor, "")
    _add(table, "DuckDB full join of both files", spent(lambda: _joined(old, new)), floor, "")
    in_memory = CompareOptions("phc1", memory=max(MEMORY, 200 * options.rows), keep=folder / "kept")
    sides = {
        "phc1": "entries",
        "phc2": "entries",
        "smc1": "entries",
        "smc2": "entries",
        "ph": "rows",
        "sm": "rows",
        "hh": "rows",
    }
    cases = {"phc1, all in memory, replica kept": ("entries", in_memory)}
    for method in METHODS:
        cases[f"{method}, 256 MiB"] = (sides.get(method, ""), CompareOptions(method, MEMORY, folder))
    for name, (side, how) in cases.items():
        found = differences(DumpReplica(folder / side) if side else old, new, how)
        used = spent(lambda found=found: sum(batch.num_rows for batch in found))  # type: ignore[misc]
        _add(table, name, used, floor, f"{found.report.blocks:,}")
    with _session() as spark:
        one, two = (_as_parquet(side, folder / f"{name}.parquet") for name, side in (("old", old), ("new", new)))
        used = spent(lambda: _joined_by_spark(spark, one, two))
    _add(table, "Spark full join of both files as Parquet, started", used, floor, "")
    return table


def _add(table: Table, name: str, used: Spent, floor: Spent, blocks: str) -> None:
    ratio = used.processor / floor.processor
    table.rows.append((name, f"{used.clock:.1f}", f"{used.processor:.1f}", f"{ratio:.1f}", blocks))


def _joined(old: ArrowDump, new: ArrowDump) -> int:
    with duckdb.connect() as session:
        for name, side in (("old", old), ("new", new)):
            session.register(name, pa.RecordBatchReader.from_batches(side.schema, side.batches()))
        row = session.execute(
            "select count(*) from old full join new on old.id = new.id where old.version is distinct from new.version "
            "or old.text is distinct from new.text"
        ).fetchone()
    assert row is not None
    return int(row[0])


def _session() -> SparkSession:
    """Return a Spark session that has started."""
    started = SparkSession.builder.master("local[*]").config("spark.driver.memory", "4g")
    spark = started.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.range(1).count()
    return spark


def _as_parquet(side: ArrowDump, path: Path) -> Path:
    with parquet.ParquetWriter(path, side.schema) as writer:
        for batch in side.batches():
            writer.write_batch(batch)
    return path


def _joined_by_spark(spark: SparkSession, old: Path, new: Path) -> int:
    one, two = (spark.read.parquet(str(path)) for path in (old, new))
    both = one.alias("o").join(two.alias("n"), col("o.id") == col("n.id"), "full")
    same = col("o.version").eqNullSafe(col("n.version")) & col("o.text").eqNullSafe(col("n.text"))
    return both.filter(~same).count()
