"""One message for errors that no lower layer explains: of Spark, its Java, files, or a bug."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from qbcd.errors import QbcdError, SparkFailed
from qbcd.spark.jdbc import is_of_files, is_of_java, is_of_memory, spark_failure
from qbcd.stream import Stream

_CONTINUES = "the next run continues from the last commit"


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
    masked = stream.source.masking.foreign
    failure = spark_failure(error)
    failure = None if failure is None else masked(failure)
    if failure is not None and is_of_memory(failure):
        return stream.site.context.spark.out_of_memory()
    if failure is not None and is_of_files(failure):
        return SparkFailed(
            f"Spark failed: {failure}", remedy=f"check owner, rights and free space of {_folders(stream)}; {_CONTINUES}"
        )
    if failure is not None:
        return SparkFailed(f"Spark failed: {failure}", remedy=f"{_CONTINUES}; -v shows more")
    if isinstance(error, OSError) and error.strerror:
        place = error.filename or stream.site.context.folder
        return QbcdError(
            f"{place}: {error.strerror}" if place else error.strerror,
            remedy=f"check the workdir's owner, rights and free space; {_CONTINUES}",
        )
    first = masked((str(error).strip().splitlines() or [""])[0])
    return QbcdError(f"unexpected {type(error).__name__}: {first}", remedy="run with -v for the traceback")


def _folders(stream: Stream) -> str:
    """Return the folders into which Spark writes for a stream; a sink's errors name its own."""
    context = stream.site.context
    own = [f"the workdir {context.folder}"] if context.folder is not None else []
    return " and of ".join([*own, f"Spark's local folder {context.spark.local_folder}"])
