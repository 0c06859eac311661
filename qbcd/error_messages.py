"""One message for errors that are not qbcd's own: of Spark, its Java, files, or a bug."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from qbcd.errors import QbcdError, SparkFailed
from qbcd.spark.jdbc import is_of_files, is_of_java, spark_failure
from qbcd.stream import Stream


@contextmanager
def one_message(stream: Stream) -> Iterator[None]:
    """In the block, turn foreign errors into a `QbcdError` that names the stream."""
    try:
        yield
    except QbcdError:
        raise
    except Exception as error:
        explained = explain(error, stream)
        explained.stream = stream.name
        raise explained from error


def explain(error: Exception, stream: Stream) -> QbcdError:
    """Return the message for an error that is not qbcd's own."""
    died = stream.site.context.spark.failure() if is_of_java(error) else None
    if died is not None:
        return died
    message = spark_failure(error)
    if message is not None and is_of_files(message):
        return SparkFailed(
            f"Spark failed: {message}",
            remedy="check free space and rights of the workdir (qbcd check tries it) and of Spark's local folder; the "
            "next run continues from the last commit. A poll that succeeds removes the files of killed runs",
        )
    if message is not None:
        return SparkFailed(
            f"Spark failed: {message}", remedy="the next run continues from the last commit; -v shows more"
        )
    if isinstance(error, OSError) and error.filename is not None:
        return QbcdError(
            f"{error.filename}: {error.strerror}",
            remedy="check the workdir's owner, rights and free space; the next run continues from the last commit",
        )
    first = (str(error).strip().splitlines() or [""])[0]
    return QbcdError(f"unexpected {type(error).__name__}: {first}", remedy="run with -v for the traceback")
