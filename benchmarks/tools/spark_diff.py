"""A query run anew by Spark and compared with its last result: what people do who capture a query's changes by Spark.

The result is written as Parquet, joined in full with the Parquet of the last one, and what differs is written out.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.sql import DataFrame

from benchmarks.measure import seconds
from benchmarks.tools.base import Found, Tool
from qbcd.api import Project, assembly_of
from qbcd.spark.jdbc import read_query

Read = Callable[[], DataFrame]


class SparkDiff(Tool):
    """In the project's own session, which is warm by then, with its JDBC options.

    Args:
        project: Whose Spark it is.
        name: As the table of results has it.
        reads: Ways to have the result; the first run tries each once, and the fastest is taken.
        key: Columns of the result that tell its rows apart.
        folder: Where results are kept; of this tool alone.
    """

    def __init__(self, project: Project, name: str, reads: Sequence[Read], key: Sequence[str], folder: Path) -> None:
        self.name = name
        self._spark = assembly_of(project).spark.get()
        self._reads, self._key, self._folder = list(reads), list(key), folder

    def setup(self) -> str:
        took = [seconds(lambda read=read: self._write(read)) for read in self._reads]  # type: ignore[misc]
        self._read = self._reads[took.index(min(took))]
        return f"PySpark {self._spark.version}"

    def run(self) -> Found:
        counted: list[int] = []
        return Found(seconds(lambda: counted.append(self.differing())), counted[0])

    @property
    def _new(self) -> Path:
        return self._folder / "new"

    def _write(self, read: Read) -> None:
        read().write.mode("overwrite").parquet(str(self._new))

    def differing(self) -> int:
        """Runs the query and compares; how many rows differ from the last result."""
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


def pushed_down(project: Project, query: str, cuts: Sequence[str] | None) -> Read:
    """The query computed by the source; by several readers where its result is cut by conditions."""
    url, options = assembly_of(project).source("shop").jdbc("benchmark")
    return lambda: read_query(assembly_of(project).spark.get(), url, options, query, predicates=cuts)


def of_tables(project: Project, query: str, schema: str, tables: dict[str, Sequence[str] | None]) -> Read:
    """The query computed by Spark, from base tables that it reads, each cut by conditions or not.

    Args:
        project: Whose Spark and whose source `shop`.
        query: Its text.
        schema: Which stands before the name of each table in it.
        tables: Names of the tables, with the conditions.
    """
    url, options = assembly_of(project).source("shop").jdbc("benchmark")

    def read() -> DataFrame:
        spark = assembly_of(project).spark.get()
        for table, cuts in tables.items():
            rows = read_query(spark, url, options, f"SELECT * FROM {schema}.{table}", predicates=cuts)
            rows.createOrReplaceTempView(table)
        return spark.sql(query.replace(f"{schema}.", ""))

    return read
