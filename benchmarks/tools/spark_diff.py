"""A query run again by Spark and compared with its last result.

The result is written as Parquet and joined in full with the Parquet of the last result; differences are written.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.sql import DataFrame
from typing_extensions import override

from benchmarks.measure import seconds
from benchmarks.tools.base import Found, Tool
from qbcd.api import Project, parts_of
from qbcd.spark.jdbc import read_query

Read = Callable[[], DataFrame]


class SparkDiff(Tool):
    """A full comparison in the project's own warm session, with its JDBC options.

    Args:
        project: The project whose Spark is used.
        name: Its name in the table of results.
        reads: Ways to read the result; the first run tries each once, later runs use the fastest.
        key: Columns of the result that identify its rows.
        folder: Folder of the results, used by this tool only.
    """

    def __init__(self, project: Project, name: str, reads: Sequence[Read], key: Sequence[str], folder: Path) -> None:
        self.name = name
        self._spark = parts_of(project).spark.get()
        self._reads, self._key, self._folder = list(reads), list(key), folder

    @override
    def setup(self) -> str:
        times = [seconds(lambda read=read: self._write(read)) for read in self._reads]  # type: ignore[misc]
        self._read = self._reads[times.index(min(times))]
        return f"PySpark {self._spark.version}"

    @override
    def run(self) -> Found:
        counted: list[int] = []
        return Found(seconds(lambda: counted.append(self.differing())), counted[0])

    @property
    def _new(self) -> Path:
        return self._folder / "new"

    def _write(self, read: Read) -> None:
        read().write.mode("overwrite").parquet(str(self._new))

    def differing(self) -> int:
        """Run the query and compare; return the number of rows that differ from the last."""
        last, differing = self._folder / "last", self._folder / "differing"
        shutil.rmtree(last, ignore_errors=True)
        self._new.rename(last)
        self._write(self._read)
        new, old = self._spark.read.parquet(str(self._new)).alias("n"), self._spark.read.parquet(str(last)).alias("o")
        same = " AND ".join(f"n.{c} <=> o.{c}" for c in old.columns)
        found = new.join(old, [new[c].eqNullSafe(old[c]) for c in self._key], "full_outer").where(f"NOT ({same})")
        shown = found.select(*(new[c] for c in old.columns), *(old[c].alias(f"old_{c}") for c in old.columns))
        shown.write.mode("overwrite").parquet(str(differing))
        return self._spark.read.parquet(str(differing)).count()


def pushed_down(project: Project, query: str, parts: Sequence[str] | None) -> Read:
    """Return a read of the query computed by the source; with `parts`, one reader per condition."""
    url, options = parts_of(project).source("shop").jdbc("benchmark")
    return lambda: read_query(parts_of(project).spark.get(), url, options, query, predicates=parts)


def of_tables(project: Project, query: str, schema: str, tables: dict[str, Sequence[str] | None]) -> Read:
    """Return a read of the query computed by Spark from its base tables.

    Args:
        project: The project with the Spark session and source `shop`.
        query: Its text.
        schema: The schema before the name of each table in it.
        tables: Names of the tables, with the conditions of their readers; None for one reader.
    """
    url, options = parts_of(project).source("shop").jdbc("benchmark")

    def read() -> DataFrame:
        spark = parts_of(project).spark.get()
        for table, parts in tables.items():
            rows = read_query(spark, url, options, f"SELECT * FROM {schema}.{table}", predicates=parts)
            rows.createOrReplaceTempView(table)
        return spark.sql(query.replace(f"{schema}.", ""))

    return read
