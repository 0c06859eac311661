"""Rows of a JDBC-only database as a DataFrame with the types of its plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qbcd.catalog.jdbc import JdbcSource
from qbcd.errors import Refused
from qbcd.spark.jdbc import explained, read_query
from qbcd.spark.row_digests import check_digests

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CANARY = "value"
_UTC = ("UTC", "GMT", "Etc/UTC", "Z")


@dataclass(frozen=True)
class RowShape:
    """The rows of a read.

    Attributes:
        fields: Name and Spark's type of each column.
        width: Bytes of a row, at most about.
        predicates: The condition of each of several readers; empty for one.
    """

    fields: Sequence[tuple[str, str]]
    width: int = 1
    predicates: Sequence[str] = ()


def travelling_rows(spark: SparkSession, source: JdbcSource, stream: str, select: str, shape: RowShape) -> DataFrame:
    """Return the rows of a SELECT as a DataFrame to be evaluated once.

    Args:
        stream: Name of the stream, for errors.
        select: The SELECT; its columns are those of `shape`.

    Raises:
        EnvironmentMissing: Spark computes another digest of rows.
        Refused: Spark reads column names instead of values, or a Java of Spark has another time zone than UTC.
        QbcdError: An error of the driver, as qbcd's message.
    """
    _check_zone(spark)

    def rows() -> DataFrame:
        if not source.proven:
            quoted = source.profile.quote("c0")
            canary = f"SELECT '{CANARY}' AS {quoted}{source.profile.from_nothing}"
            found = [tuple(row) for row in _read(spark, source, canary, RowShape([("c0", "string")])).collect()]
            if [str(value).rstrip() for (value,) in found] != [CANARY]:
                raise Refused(
                    f"Spark reads {found!r} from source {source.label} instead of {CANARY!r}: it does not quote "
                    f"names as {source.profile.product} does",
                    stream=stream,
                    remedy="register no JDBC dialect of your own for this URL in the Spark session",
                )
            check_digests(spark)
            _check_executors(spark)
            source.proven = True
        return _read(spark, source, select, shape)

    return explained(rows, lambda error: source.explain(error, stream))


def _read(spark: SparkSession, source: JdbcSource, select: str, shape: RowShape) -> DataFrame:
    options = {
        **source.login.properties,
        "driver": source.profile.driver.driver_class,
        "fetchsize": str(source.rows_at_once(shape.width)),
        "customSchema": ", ".join(f"{name} {kind}" for name, kind in shape.fields),
        "preferTimestampNTZ": "true",
        "pushDownPredicate": "false",
    }
    predicates = shape.predicates or None
    return read_query(spark, source.login.url, options, select, predicates=predicates, init=source.profile.session)


def _check_zone(spark: SparkSession) -> None:
    """Refuse a Java whose time zone is not UTC.

    Drivers make dates and timestamps in its zone, and some hours do not exist there.

    Raises:
        Refused: It is another one.
    """
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    _refuse_zone(str(jvm.java.util.TimeZone.getDefault().getID()), "the Java of the Spark session")


def _check_executors(spark: SparkSession) -> None:
    """Refuse executors whose Java has another time zone than UTC: they read the rows.

    Raises:
        Refused: One has.
    """
    if (spark.sparkContext.master or "").split("[")[0] != "local":
        for zone in zones_of_tasks(spark):
            _refuse_zone(zone, "an executor of the Spark session")


def zones_of_tasks(spark: SparkSession) -> list[str]:
    """Return the time zones of the Java processes that run tasks, in order of their names."""
    tasks = max(4, 2 * spark.sparkContext.defaultParallelism)  # for every executor some
    zone = "java_method('java.time.ZoneId', 'systemDefault') AS zone"
    return sorted({str(row.zone) for row in spark.range(0, tasks, 1, tasks).selectExpr(zone).collect()})


def _refuse_zone(zone: str, whose: str) -> None:
    if zone not in _UTC:
        raise Refused(
            f"{whose} has the time zone {zone}, not UTC: dates and timestamps would shift",
            remedy="start it with spark.driver.extraJavaOptions and spark.executor.extraJavaOptions "
            "-Duser.timezone=UTC",
        )
