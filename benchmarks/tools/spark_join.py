"""A full outer join in Spark: the table over JDBC on four partitions, and a Parquet copy."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame
from typing_extensions import override

from benchmarks.measure import seconds
from benchmarks.tools.base import Found, Tool
from qbcd.api import Project, parts_of
from qbcd.spark.jdbc import read_query

PARTITIONS = 4


def quarters(greatest: int) -> list[str]:
    """Return conditions, one per partition, that split keys 1 to `greatest`; the last is open."""
    step = greatest // PARTITIONS + 1
    parts = [f"id >= {i * step} AND id < {(i + 1) * step}" for i in range(PARTITIONS - 1)]
    return [*parts, f"id >= {(PARTITIONS - 1) * step}"]


class SparkJoin(Tool):
    """A join in the project's own warm session, with its JDBC options.

    Args:
        project: The project with the Spark session and the options of source `shop`.
        table: Name of the table.
        parts: Conditions that split it, one per partition.
        folder: Folder of the copy.
    """

    name = "Spark full outer join, Parquet against JDBC on four partitions"

    def __init__(self, project: Project, table: str, parts: Sequence[str], folder: Path) -> None:
        self._project, self._table, self._parts = project, table, list(parts)
        self._copy = folder / "spark_join"

    @override
    def setup(self) -> str:
        self._spark = parts_of(self._project).spark.get()
        self._url, self._options = parts_of(self._project).source("shop").jdbc("benchmark")
        self.catch_up()
        self.run()
        return f"PySpark {self._spark.version}"

    @override
    def catch_up(self) -> None:
        self._read().write.mode("overwrite").parquet(str(self._copy))

    @override
    def run(self) -> Found:
        counted: list[int] = []
        return Found(seconds(lambda: counted.append(self._differing())), counted[0])

    @override
    def cleanup(self) -> None:
        shutil.rmtree(self._copy, ignore_errors=True)

    def _read(self) -> DataFrame:
        query = f"SELECT * FROM {self._table}"
        return read_query(self._spark, self._url, self._options, query, predicates=self._parts)

    def _differing(self) -> int:
        new, old = self._read().alias("n"), self._spark.read.parquet(str(self._copy)).alias("o")
        same = " AND ".join(f"n.{c} <=> o.{c}" for c in old.columns if c != "id")
        return new.join(old, "id", "full_outer").where(f"NOT ({same})").count()
