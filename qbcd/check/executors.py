"""Proof that this process and Spark's executors see the same files in the workdir."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from qbcd.errors import Refused, SparkFailed
from qbcd.spark.jdbc import is_of_files, spark_failure
from qbcd.spark.object_stores import abandoned_uploads
from qbcd.spark.paths import to_read, to_write
from qbcd.spark.provider import SparkProvider
from qbcd.stores.folders import UNMARKED
from qbcd.stores.parts import COPIES, PartStore, Workdir

FOLDER = ".qbcd-check-"
FROM_HERE, FROM_THERE = "read", "written"  # parts
MOST_TASKS = 32  # beyond it Spark lists files by a job of its own


def prove_shared(workdir: Workdir, spark: SparkProvider) -> int:
    """Let tasks read files of this process and write what they read; then read that here.

    No Python runs on the executors, as in polls.

    Returns:
        The number of uploads into the workdir that dead processes have left.

    Raises:
        Refused: A task or this process does not see the other's files.
        StoreFailed: The workdir is a store that does not answer.
    """
    is_new = not spark.started
    spark.give_reason("", 0)
    try:
        _prove(workdir, spark)
        return abandoned_uploads(spark.get(), workdir.url) if workdir.url else 0
    finally:
        if is_new and spark.owned:  # it keeps executors that others may need
            spark.stop()


def _prove(workdir: Workdir, spark: SparkProvider) -> None:
    with _place(workdir) as parts:
        session = spark.get().newSession()
        token = uuid.uuid4().hex
        tasks = min(MOST_TASKS, max(4, 2 * session.sparkContext.defaultParallelism))  # for every executor one
        names = [f"{FROM_HERE}/{number}.bin" for number in range(tasks)]
        for name in names:
            parts.put(name, token.encode())
        session.conf.set("spark.sql.files.maxPartitionBytes", "1")  # a task for each file
        try:
            found = session.read.format("binaryFile").load([to_read(parts.place(name)) for name in names])
            texts = found.selectExpr("CAST(content AS STRING) AS text")
            texts.write.options(**UNMARKED).parquet(to_write(parts.place(FROM_THERE)))
        except Exception as error:
            message = spark_failure(error)
            if message is None:
                raise
            if not workdir.url and not is_of_files(message):
                raise SparkFailed(f"Spark failed: {message}", remedy="see the logs of its executors") from error
            raise _refused(workdir, message) from error
        seen = _texts(parts)
    if seen != [token] * tasks:
        raise _refused(workdir, f"{len(seen)} of {tasks} files arrived")


def prove_store(workdir: Workdir) -> None:
    """Prove that this process can write, read and remove files of a workdir that is a URL.

    Raises:
        Refused: What it wrote is not what it read.
        StoreFailed: The store does not do it.
    """
    with _place(workdir) as parts:
        token = uuid.uuid4().hex.encode()
        parts.put("read/0.bin", token)
        if parts.get("read/0.bin") != token or not parts.exists() or "read" not in parts.names():
            raise Refused(f"the workdir {workdir.url} does not return what was written", remedy="check the store")


def _texts(parts: PartStore) -> list[str]:
    from pyarrow import parquet

    with suppress(OSError):
        files = parts.written(FROM_THERE, by_executors=True, temporary=True)
        return [
            text for path in parts.local(FROM_THERE, files) for text in parquet.read_table(path)["text"].to_pylist()
        ]
    return []


def _refused(workdir: Workdir, message: str) -> Refused:
    remedy = "give them the same credentials and endpoint" if workdir.url else "mount the same folder on every worker"
    return Refused(
        f"executors and this process do not see the same files in the workdir {workdir.shown}: {message}",
        remedy=f"{remedy} of Spark",
    )


@contextmanager
def _place(workdir: Workdir) -> Iterator[PartStore]:
    """A new place in the workdir; it is removed after the block, with new folders above it."""
    made = [folder for folder in (workdir.local, *workdir.local.parents) if not folder.exists()]
    parts = workdir.parts(f"{FOLDER}{uuid.uuid4().hex}")
    parts.create()
    try:
        yield parts
    finally:
        parts.remove("")
        with suppress(OSError):  # another process has created something in it
            for folder in [workdir.local / COPIES, *made] if workdir.url else made:
                folder.rmdir()
