"""Change rows of one batch read by Spark: format("qbcd") next to spark.read.parquet of the same files.

Both write to ``noop``, with two tasks at a time, in turn. The batch has updates, so each event is two change rows. Peak
memory is that of the largest Python worker.
"""

from __future__ import annotations

import json
import os
import statistics
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import peers
from benchmarks.measure import Options, Table
from benchmarks.places import Place
from qbcd.api import Project
from qbcd.spark_source import register
from qbcd.spark_source.options import options_of
from qbcd.spark_source.planned import load, plan_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DATABASES = ("postgresql",)
SETTINGS = peers.SETTINGS
OPTIONS = ("repeats",)
HEADING = ("change rows", "read", "seconds (median)", "ratio", "peak memory of a worker")
TABLE = """
CREATE TABLE items (id bigint PRIMARY KEY, name text, price numeric(10,2), amount integer, day date,
  at timestamptz, share double precision, note text);
INSERT INTO items SELECT i, 'item ' || i, i % 1000 + 0.25, i % 97, date '2020-01-01' + i % 1000,
  timestamptz '2020-01-01 00:00:00+00' + i * interval '1 second', i / 7.0, repeat(md5(i::text), 2)
  FROM generate_series(1, {rows}) AS i;
"""


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Measure one batch of `rows` change rows."""
    from pyspark.sql import SparkSession

    table = Table(HEADING, place.version())
    place.run(TABLE.format(rows=options.rows // 2))
    file = folder / "qbcd.yaml"
    data = {
        "version": 1,
        "sources": {"shop": {"url": place.url}},
        "defaults": {"guards": {"max_delete_fraction": 1.0}},
        "tables": [{"source": "shop", "table": "public.items", "strategy": "id_rcs", "engine": "local"}],
    }
    file.write_text(json.dumps(data), encoding="utf-8")
    with Project.from_dict(data, base_dir=folder) as project:
        project.stream("items").prepare()
        place.run("UPDATE items SET amount = amount + 1, note = note || '!'")
        assert not [one.error for one in project.run(once=True).outcomes if one.error]
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        register(spark)
        table.rows += _lines(spark, file, options)
    finally:
        spark.stop()
    return table


def _lines(spark: SparkSession, file: Path, options: Options) -> list[tuple[str, ...]]:
    given = options_of({"config": str(file), "path": "items"})
    planned = plan_batch(given, load(given), ())
    paths = sorted({f"{n.folder}/{n.file.name}" for part in planned for piece in part.pieces for n in piece.files})
    bare = spark.read.parquet(*paths)
    own = spark.read.format("qbcd").option("config", str(file)).load("items")
    count = own.count()
    times: dict[str, list[float]] = {"spark.read.parquet": [], 'format("qbcd")': []}
    peak = 0
    for repeat in range(options.repeats + 1):
        for name, rows in zip(times, (bare, own), strict=True):
            seconds, most = _timed(rows)
            peak = max(peak, most)
            if repeat:  # the first one warms up
                times[name].append(seconds)
    base = statistics.median(times["spark.read.parquet"])
    return [
        (
            f"{count:,}",
            name,
            f"{statistics.median(found):.2f}",
            f"{statistics.median(found) / base:.2f}",
            f"{peak >> 20} MB" if name != "spark.read.parquet" else "-",
        )
        for name, found in times.items()
    ]


def _timed(rows: DataFrame) -> tuple[float, int]:
    """Return seconds of one complete read, and the most bytes that a Python worker had."""
    done, most = threading.Event(), 0

    def watch() -> None:
        nonlocal most
        while not done.wait(0.1):
            most = max(most, *map(_memory_of, Path("/proc").glob("[0-9]*")), 0)

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.perf_counter()
    rows.write.format("noop").mode("overwrite").save()
    seconds = time.perf_counter() - began
    done.set()
    watcher.join()
    return seconds, most


def _memory_of(process: Path) -> int:
    """Return the resident bytes of a Python worker of this process; 0 for other processes."""
    try:
        if b"pyspark.daemon" not in (process / "cmdline").read_bytes() or os.getpid() not in _parents_of(process):
            return 0
        lines = (process / "status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS")), 0)


def _parents_of(process: Path) -> list[int]:
    """Return the processes above one, from `/proc`."""
    found = list[int]()
    while not found or found[-1] > 1:
        text = (process / "stat").read_text()
        found.append(int(text.rpartition(")")[2].split()[1]))
        process = process.parent / str(found[-1])
    return found
