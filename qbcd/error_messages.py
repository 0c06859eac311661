"""One message for whatever goes wrong in a run that no room below had a word for: Spark, its Java, files, a bug."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from qbcd.errors import QbcdError, SparkFailed
from qbcd.spark.jdbc import is_of_files, is_of_java, spark_failure
from qbcd.stream import Stream


@contextmanager
def one_message(stream: Stream) -> Iterator[None]:
    """Turns errors that are not qbcd's own into one that is, and names the stream."""
    try:
        yield
    except QbcdError:
        raise
    except Exception as error:
        told = explain(error, stream)
        told.stream = stream.name
        raise told from error


def explain(error: Exception, stream: Stream) -> QbcdError:
    """Return the message for an error that is not qbcd's own."""
    died = stream.site.context.spark.failure() if is_of_java(error) else None
    if died is not None:
        return died
    masked = stream.source.masking.foreign
    said = spark_failure(error)
    said = None if said is None else masked(said)
    if said is not None and is_of_files(said):
        return SparkFailed(
            f"Spark failed: {said}",
            remedy="check free space and rights of the workdir, which qbcd check tries, and of Spark's local folder; "
            "the next run goes on from what was committed. What killed runs left there goes once a poll has succeeded",
        )
    if said is not None:
        return SparkFailed(
            f"Spark failed: {said}", remedy="the next run goes on from what was committed; -v shows more"
        )
    if isinstance(error, OSError) and error.filename is not None:
        return QbcdError(
            f"{error.filename}: {error.strerror}",
            remedy="check the workdir's owner, rights and free space; the next run goes on from what was committed",
        )
    first = masked((str(error).strip().splitlines() or [""])[0])
    return QbcdError(f"unexpected {type(error).__name__}: {first}", remedy="run with -v for the traceback")
