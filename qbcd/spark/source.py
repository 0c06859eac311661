"""Rows of a source as a DataFrame: its URL, options and pins, once Spark has proven that it reads values there."""

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
    """The rows of `queries`, a reader each: a query, to be evaluated once.

    Args:
        spark: The session.
        source: Where they are read.
        stream: For whom.
        queries: SELECTs of the same columns in the source's dialect.
        init: What every reader's session runs first: its pins.
        at_once: How many of them are read at the same time.

    Raises:
        Refused: Spark does not read values from this source.
        QbcdError: The connector's message for whatever the source or its driver said.
    """
    jdbc_url, options = source.jdbc(stream)

    def read(texts: Sequence[str]) -> DataFrame:
        sql = [source.connector.sessions.jdbc_query(text) for text in texts]
        return read_queries(spark, jdbc_url, options, sql, init=init, at_once=at_once)

    def rows() -> DataFrame:  # Spark asks for the columns at once, and that may fail like any other statement
        if source not in _proven:
            check_canary([tuple(row) for row in read([canary(source)]).collect()], source, stream, jdbc_url)
            _proven.add(source)
        return read(queries)

    return explained(rows, lambda error: source.explain(error, stream))


def canary(source: Source) -> str:
    """A query of one row whose text must come back as its value.

    Where Spark knows no dialect for a JDBC URL it puts column names into double quotes, which a database may take for
    a text: every row then holds the names of its columns.
    """
    tree = exp.select(exp.alias_(exp.Literal.string(CANARY), "c0"))
    return tree.sql(dialect=source.connector.dialect)


def check_canary(read: Sequence[tuple[object, ...]], source: Source, stream: str, jdbc_url: str) -> None:
    """Holds what Spark read of `canary` against what stands there.

    Raises:
        Refused: It is something else.
    """
    if list(read) == [(CANARY,)]:
        return
    scheme = ":".join(jdbc_url.split(":")[:2])
    raise Refused(
        f"Spark reads {read!r} through {scheme}: from source {source.label} where {CANARY!r} stands: it does not quote "
        f"names as {source.connector.name} does",
        stream=stream,
        remedy="register no JDBC dialect of your own for this URL in the Spark session; a connector's jdbc_url must be "
        "one whose dialect Spark knows",
    )
