"""JDBC reads of a source by Spark: a query split by predicates, or one query per reader.

All readers use the same pinned snapshot. A DataFrame made here is a query, not data: each action on it reads the source
again. Callers write it to the stage once and compute from there.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from typing_extensions import override

from qbcd.config.masking import credentials_masked
from qbcd.connectors.wait_limits import Silence
from qbcd.errors import QbcdError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")
_OF_FILES = re.compile(
    r"No space left|quota exceeded|Read-only file system|Mkdirs failed|Permission denied|not a directory", re.IGNORECASE
)
_OF_MEMORY = re.compile(r"Java heap space|OutOfMemoryError|GC overhead limit|exit(?:ed with)? code:? (?:52|137)\b")
_READING = re.compile(r"\[FAILED_READ_FILE\S*\] Encountered error while reading file (?:file://)?(.+?)\. +SQLSTATE")
_READ = "Read timed out"  # of Java's socket; a connect that timed out has another text
_PY4J_LOGGERS = ("py4j.java_gateway", "py4j.clientserver")


class JdbcFailure(Exception):
    """An error of a JDBC driver, extracted from Spark's wrappers.

    Attributes:
        message: The driver's own message.
        sqlstate: The SQLSTATE, five characters, or an empty string if the driver gave none.
    """

    def __init__(self, message: str, sqlstate: str) -> None:
        super().__init__(message)
        self.message = message
        self.sqlstate = sqlstate


class JdbcSilence(JdbcFailure, Silence):
    """A server that did not answer a JDBC driver within its `socketTimeout`."""

    @override
    def __str__(self) -> str:
        return ""  # the source knows its limit


def read_query(
    spark: SparkSession,
    jdbc_url: str,
    options: Mapping[str, str],
    query: str,
    *,
    predicates: Sequence[str] | None = None,
    init: Sequence[str] = (),
) -> DataFrame:
    """Return a DataFrame of `query`, with one partition, or one per predicate.

    Args:
        spark: The session, with the driver on its class path.
        jdbc_url: JDBC URL without user and password.
        options: Driver, user, password, `fetchsize` and the driver's own properties.
        query: One SELECT in the source's dialect, without a final semicolon.
        predicates: One SQL condition over the query's columns per partition; each row must fulfill exactly one.
        init: Statements that every reader's session runs first, such as those that pin a snapshot.

    Raises:
        ValueError: `fetchsize` is not at least 1. A driver that fetches everything at once may stay in autocommit, and
            then silently leaves the pinned transaction. Or `predicates` is empty.
    """
    fetchsize = options.get("fetchsize", "")
    if not fetchsize.isdecimal() or int(fetchsize) < 1:
        raise ValueError(f"fetchsize is {fetchsize or 'not set'}; pinned reads need at least 1")
    settings = dict(options)
    if init:
        settings["sessionInitStatement"] = ";\n".join(statement.rstrip().rstrip(";") for statement in init)
    # The closing bracket is on its own line, so that a comment at the end of the query cannot include it.
    table = f"(\n{query}\n) q"
    if predicates is not None and not predicates:
        raise ValueError("no predicates: there is nothing to read")
    with _unlogged():
        if predicates is None:
            return spark.read.format("jdbc").options(**settings).option("url", jdbc_url).option("dbtable", table).load()
        return spark.read.jdbc(jdbc_url, table, predicates=list(predicates), properties=settings)


def read_queries(
    spark: SparkSession,
    jdbc_url: str,
    options: Mapping[str, str],
    queries: Sequence[str],
    *,
    init: Sequence[str],
    at_once: int,
) -> DataFrame:
    """Return a DataFrame of the rows of all `queries`, one connection each; see `read_query`.

    Args:
        jdbc_url: JDBC URL without user and password.
        options: As for `read_query`.
        queries: SELECTs of the same columns, at least one.
        init: Statements that every reader's session runs first.
        at_once: Number of queries that are read at the same time.
    """
    # Spark reads the columns of each from the source. It is done one after the other, since each Python thread would
    # leave a thread behind in Java.
    frames = [read_query(spark, jdbc_url, options, query, init=init) for query in queries]
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionAll(frame)
    return whole.coalesce(at_once) if len(frames) > at_once else whole


@contextmanager
def _unlogged() -> Iterator[None]:
    """Suppress DEBUG records of Py4J: they contain all arguments of calls, so also the password."""
    above = _AboveDebug()
    loggers = [logging.getLogger(name) for name in _PY4J_LOGGERS]
    for logger in loggers:
        logger.addFilter(above)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(above)


class _AboveDebug(logging.Filter):
    @override
    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno > logging.DEBUG


def jdbc_failure(error: BaseException) -> JdbcFailure | None:
    """Return the innermost SQL error below an error of Spark or Py4J, or None."""
    found: JdbcFailure | None = None
    for cause in _java_causes(error):
        if _is_a(cause, "java.sql.SQLException"):
            message = str(cause.getMessage() or cause)
            if found is None or not found.message.startswith(message):  # some drivers have the details above
                found = JdbcFailure(message, str(cause.getSQLState() or ""))
        elif found is not None and _is_a(cause, "java.net.SocketTimeoutException") and _READ in str(cause.getMessage()):
            return JdbcSilence(found.message, found.sqlstate)
    return found


def is_of_java(error: BaseException) -> bool:
    """Return True if an error involves Spark, Py4J or the connection to their Java."""
    return any(_is_javas(one) or isinstance(one, ConnectionError) for one in _chain(error))


def _is_javas(error: BaseException) -> bool:
    return type(error).__module__.startswith(("pyspark.", "py4j."))


def spark_failure(error: BaseException) -> str | None:
    """Return the first line of Spark's root error, with the file it could not read, or None."""
    if not _is_javas(error):
        return None
    messages = [str(cause.getMessage()) for cause in _java_causes(error) if cause.getMessage()] or [str(error)]
    root = messages[-1].strip().splitlines()[0]
    reading = next((found[1] for text in messages if (found := _READING.search(text))), "")
    return credentials_masked(root if not reading or reading in root else f"{reading}: {root}")


def is_of_files(message: str) -> bool:
    """Return True if Spark's message is about a folder: its space, or the right to write."""
    return _OF_FILES.search(message) is not None


def is_of_memory(message: str) -> bool:
    """Return True if Spark's message says that Java ran out of memory."""
    return _OF_MEMORY.search(message) is not None


def explained(action: Callable[[], T], explain: Callable[[BaseException], QbcdError]) -> T:
    """Run a Spark action over JDBC, and turn an error of the database into qbcd's message.

    Args:
        explain: The connector's explanation of a :class:`JdbcFailure`, for instance `explain_error` with stream and
            source bound.

    Raises:
        QbcdError: The result of `explain` for the database's error.
        Exception: Any other error of `action`, unchanged.
    """
    try:
        return action()
    except Exception as error:
        failure = jdbc_failure(error)
        if failure is None:
            raise
        raise explain(failure) from error


def _java_causes(error: BaseException) -> Iterator[Any]:
    """Yield every Java exception below `error`, outermost first."""
    for python in _chain(error):
        # Py4J stores it as java_exception; pyspark stores one that it converted as _origin.
        java = getattr(python, "java_exception", None) or getattr(python, "_origin", None)
        for _ in range(50):
            if java is None:
                break
            yield java
            java = java.getCause()


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__


def _is_a(java: Any, name: str) -> bool:
    kind = java.getClass()
    while kind is not None:
        if kind.getName() == name:
            return True
        kind = kind.getSuperclass()
    return False
