"""The data source ``qbcd`` of Spark: readers of changes and of replicas.

Spark plans a read in a Python process next to the driver, and reads partitions in the workers of executors. What only
planning needs is imported when it is called, so that workers start fast.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
)
from typing_extensions import override

from qbcd.errors import ConfigError, NotBuilt, QbcdError
from qbcd.spark_source.options import ReadOptions, options_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType

    from qbcd.spark_source.executor import Rows
    from qbcd.spark_source.planned import Loaded
    from qbcd.spark_source.streaming import Follower

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, SupportsTriggerAvailableNow
except ImportError:  # Spark before 4.2: a micro-batch has all batches that there are
    HAS_LIMITS = False
else:
    HAS_LIMITS = True

FORMAT = "qbcd"
_PUSHDOWN = "pyspark.sql.worker.data_source_pushdown_filters"


@contextmanager
def in_words() -> Iterator[None]:
    """Let Spark print an error of qbcd by its message alone, without a traceback.

    Spark ends its Python process after an error, so that the variable has no effect on other code.
    """
    try:
        yield
    except QbcdError:
        if _main_module().startswith("pyspark."):
            os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        raise


class RowsPartition(InputPartition):
    """A partition: files and queries, for one task."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows


class QbcdDataSource(DataSource):
    """Changes of a stream, or the rows of its replica; the options are those of `ReadOptions`."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self._given = dict(options)  # checked by what reads; a write has others
        self._loaded: Loaded | None = None

    @property
    def _options(self) -> ReadOptions:
        return options_of(self._given)

    @classmethod
    @override
    def name(cls) -> str:
        return FORMAT

    @override
    @in_words()
    def schema(self) -> StructType:
        from qbcd.spark_source.planned import load

        self._loaded = load(self._options)
        return self._loaded.spark_schema()

    def _known(self, schema: StructType) -> Loaded:
        if self._loaded is None:
            raise ConfigError(
                "the columns come from the stream, and not from the program",
                stream=self._options.stream,
                remedy="remove .schema(..); .option('columns', 'a, b') chooses columns",
            )
        return self._loaded

    @override
    @in_words()
    def reader(self, schema: StructType) -> DataSourceReader:
        self._options.refuse_for_batch()
        kind = FilteringReader if _filters_are_pushed() else BatchReader
        return kind(self._options, self._known(schema))

    @override
    @in_words()
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return STREAM_READER(self._options, self._known(schema))

    @override
    @in_words()
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        raise self._only_read()

    @override
    @in_words()
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        raise self._only_read()

    def _only_read(self) -> NotBuilt:
        return NotBuilt(
            'format("qbcd") reads changes and writes nothing',
            remedy="write to another format, as docs/how-to/use-from-spark.md shows; to change a polled table, "
            'use df.write.format("jdbc")',
        )


def _filters_are_pushed() -> bool:
    """Return True in the process to which Spark gives filters; elsewhere they are an error."""
    return _PUSHDOWN in sys.modules or _main_module() == _PUSHDOWN


def _main_module() -> str:
    """Return the module that this process runs; empty for a file."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return "" if spec is None else str(spec.name)


def _partitions(planned: Iterable[Rows]) -> list[InputPartition]:
    return [RowsPartition(rows) for rows in planned]


def _read(partition: InputPartition) -> Iterator[pa.RecordBatch]:
    from qbcd.spark_source.executor import read_rows

    if isinstance(partition, RowsPartition):  # without rows Spark reads a partition of its own
        with in_words():
            yield from read_rows(partition.rows)


class BatchReader(DataSourceReader):
    """Reads versions that exist when the read is planned, or the rows of the replica.

    Args:
        loaded: The stream when it was loaded.
    """

    def __init__(self, options: ReadOptions, loaded: Loaded) -> None:
        self._options, self._loaded = options, loaded
        self._filters: list[Any] = []

    @override
    @in_words()
    def partitions(self) -> Sequence[InputPartition]:
        from qbcd.spark_source.planned import plan_batch

        return _partitions(plan_batch(self._options, self._loaded, self._filters))

    @override
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(partition)


class FilteringReader(BatchReader):
    """A reader that leaves out files and rows by conditions, which Spark applies again."""

    @override
    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        self._filters = list(filters)
        return filters


class StreamReader(DataSourceStreamReader):
    """Follows a stream; each micro-batch has whole batches.

    Args:
        loaded: The stream when it was loaded.
    """

    def __init__(self, options: ReadOptions, loaded: Loaded) -> None:
        self._options, self._loaded = options, loaded
        self._made: Follower | None = None

    @property
    def _follower(self) -> Follower:
        if self._made is None:
            from qbcd.spark_source.streaming import Follower

            self._refuse_options()
            self._made = Follower(self._options, self._loaded)
        return self._made

    def _refuse_options(self) -> None:
        """Refuse wrong options at the first call: earlier, Spark adds an error of its own."""
        self._options.refuse_for_stream()
        if not HAS_LIMITS and self._options.most_rows is not None:
            raise ConfigError(
                "option maxRowsPerTrigger needs Spark 4.2 or newer",
                stream=self._options.stream,
                remedy="remove it, or pip install 'pyspark>=4.2'",
            )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": None}  # connections stay in this process

    @override
    @in_words()
    def initialOffset(self) -> dict[str, int]:
        return self._follower.begin()

    @override
    @in_words()
    def latestOffset(self) -> dict[str, int]:  # type: ignore[override]
        return self._follower.latest()

    @override
    @in_words()
    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return _partitions(self._follower.plan(start, end))

    @override
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(partition)

    @override
    @in_words()
    def commit(self, end: dict[str, int]) -> None:
        self._follower.acknowledge(end)

    @override
    def stop(self) -> None:
        if self._made is not None:
            self._made.close()
            self._made = None


STREAM_READER: type[StreamReader] = StreamReader
if HAS_LIMITS:

    class LimitedStreamReader(StreamReader, SupportsTriggerAvailableNow):
        """A reader that bounds micro-batches and ends at the newest batch, since Spark 4.2."""

        @override
        @in_words()
        def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # type: ignore[override]
            most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
            return self._follower.latest(start, most)

        @override
        def getDefaultReadLimit(self) -> Any:
            most = self._options.most_rows
            return ReadAllAvailable() if most is None else ReadMaxRows(most)

        @override
        @in_words()
        def reportLatestOffset(self) -> dict[str, int]:
            return self._follower.newest()

        @override
        @in_words()
        def prepareForTriggerAvailableNow(self) -> None:
            self._follower.end_at_newest()

    STREAM_READER = LimitedStreamReader
