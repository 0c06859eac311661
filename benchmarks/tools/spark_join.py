"""A full outer join in Spark: the table over JDBC on four partitions, against a Parquet copy of the last look."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame

from benchmarks.measure import seconds
from benchmarks.tools.base import Found, Tool
from qbcd.api import Project, assembly_of
from qbcd.spark.jdbc import read_query

PARTITIONS = 4


def quarters(greatest: int) -> list[str]:
    """Conditions on the key, one a partition, that split 1 to `greatest` evenly; what is beyond is in the last."""
    step = greatest // PARTITIONS + 1
    cuts = [f"id >= {i * step} AND id < {(i + 1) * step}" for i in range(PARTITIONS - 1)]
    return [*cuts, f"id >= {(PARTITIONS - 1) * step}"]


class SparkJoin(Tool):
    """In the project's own session, which is warm by then, with its JDBC options: binary transfer from the first row.

    Args:
        project: Whose Spark and whose options of the source `shop`.
        table: Name of the table.
        cuts: Conditions that split it, one a partition.
        folder: Where the copy is kept.
    """

    name = "Spark full outer join, Parquet against JDBC on four partitions"

    def __init__(self, project: Project, table: str, cuts: Sequence[str], folder: Path) -> None:
        self._project, self._table, self._cuts = project, table, list(cuts)
        self._copy = folder / "spark_join"

    def setup(self) -> str:
        self._spark = assembly_of(self._project).spark.get()
        self._url, self._options = assembly_of(self._project).source("shop").jdbc("benchmark")
        self.catch_up()
        self.run()
        return f"PySpark {self._spark.version}"

    def catch_up(self) -> None:
        self._read().write.mode("overwrite").parquet(str(self._copy))

    def run(self) -> Found:
        counted: list[int] = []
        return Found(seconds(lambda: counted.append(self._differing())), counted[0])

    def cleanup(self) -> None:
        shutil.rmtree(self._copy, ignore_errors=True)

    def _read(self) -> DataFrame:
        query = f"SELECT * FROM {self._table}"
        return read_query(self._spark, self._url, self._options, query, predicates=self._cuts)

    def _differing(self) -> int:
        new, old = self._read().alias("n"), self._spark.read.parquet(str(self._copy)).alias("o")
        same = " AND ".join(f"n.{c} <=> o.{c}" for c in old.columns if c != "id")
        return new.join(old, "id", "full_outer").where(f"NOT ({same})").count()
