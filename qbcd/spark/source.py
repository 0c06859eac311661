"""Rows of a source as a DataFrame, after a check that Spark reads values, not column names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakSet

from sqlglot import exp

from qbcd.catalog.source import Source
from qbcd.errors import Refused
from qbcd.spark.jdbc import explained, read_queries

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CANARY = "value"
_proven: WeakSet[Source] = WeakSet()


def source_rows(
    spark: SparkSession, source: Source, stream: str, queries: Sequence[str], *, init: Sequence[str], at_once: int = 1
) -> DataFrame:
    """Return the rows of `queries`, one reader each, as a DataFrame to be evaluated once.

    Args:
        stream: Name of the stream, for errors.
        queries: SELECTs of the same columns in the source's dialect.
        init: Statements that every reader's session runs first, to pin the snapshot.
        at_once: Number of queries that are read at the same time.

    Raises:
        Refused: Spark reads column names from this source, not values.
        QbcdError: The connector's message for an error of the source or its driver.
    """
    jdbc_url, options = source.jdbc(stream)

    def read(texts: Sequence[str]) -> DataFrame:
        sql = [source.connector.sessions.jdbc_query(text) for text in texts]
        return read_queries(spark, jdbc_url, options, sql, init=init, at_once=at_once)

    def rows() -> DataFrame:  # Spark reads the columns' types immediately, and this statement may fail
        if source not in _proven:
            if not quotes_alike(spark, jdbc_url, source):
                check_canary([tuple(row) for row in read([canary(source)]).collect()], source, stream, jdbc_url)
            _proven.add(source)
        return read(queries)

    return explained(rows, lambda error: source.explain(error, stream))


def quotes_alike(spark: SparkSession, jdbc_url: str, source: Source) -> bool:
    """Return True if Spark's dialect for a URL quotes names as the source does.

    This proves `canary` without a job.
    """
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    dialect = jvm.org.apache.spark.sql.jdbc.JdbcDialects.get(jdbc_url)
    return bool(dialect.quoteIdentifier(CANARY) == source.connector.quote(CANARY))


def canary(source: Source) -> str:
    """Return a query of one row whose text must be read as its value.

    If Spark knows no dialect for a JDBC URL, it puts column names into double quotes, which a database may read as
    text: every row then contains the names of its columns.
    """
    tree = exp.select(exp.alias_(exp.Literal.string(CANARY), "c0"))
    return tree.sql(dialect=source.connector.dialect)


def check_canary(read: Sequence[tuple[object, ...]], source: Source, stream: str, jdbc_url: str) -> None:
    """Compare Spark's result of `canary` with the true value.

    Raises:
        Refused: They differ.
    """
    if list(read) == [(CANARY,)]:
        return
    scheme = ":".join(jdbc_url.split(":")[:2])
    raise Refused(
        f"Spark reads {read!r} through {scheme}: from source {source.label} instead of {CANARY!r}: it does not quote "
        f"names as {source.connector.name} does",
        stream=stream,
        remedy="register no JDBC dialect of your own for this URL in the Spark session; a connector's jdbc_url must be "
        "one whose dialect Spark knows",
    )
