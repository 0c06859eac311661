"""Write one batch to a table by the sink `database`; print its seconds on the clock and of the processor.

It is a process of `mirrors`. It imports qbcd from PYTHONPATH, so that two versions can write the same batches. The
argument is JSON: `url`, `sink`, `mode`, `header` (fields of a batch header) and `events` (an Arrow file).
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from contextlib import suppress
from typing import Any

import pyarrow as pa
from typing_extensions import override

from qbcd.model import BatchHeader, Travel
from qbcd.sinks import SinkBatch
from qbcd.sinks.table.sink import DatabaseSink


class FileBatch(SinkBatch):
    """A batch whose events are in an Arrow file."""

    def __init__(self, header: BatchHeader, path: str) -> None:
        def no_rows() -> Any:
            raise AssertionError("a table sink reads Arrow")

        super().__init__(header, no_rows)
        self._path = path

    @override
    def fitted(self, *_given: Any, **_more: Any) -> FileBatch:
        """Return the batch itself: its values fit every target."""
        return self

    @override
    def arrow(self) -> Any:
        reader = pa.ipc.open_file(pa.memory_map(self._path))
        pieces = (reader.get_batch(i) for i in range(reader.num_record_batches))
        return pa.RecordBatchReader.from_batches(reader.schema, pieces)


def main(given: dict[str, Any]) -> None:
    """Write the batch."""
    facts = given["header"]
    columns = tuple((name, Travel(*form)) for name, form in facts.pop("columns"))
    header = BatchHeader(**{**facts, "columns": columns, "key": tuple(facts["key"]), "sinks": (given["sink"],)})
    sink = DatabaseSink(given["sink"], given["url"], table=given["sink"], mode=given["mode"])
    batch = FileBatch(header, given["events"])
    _ = sink.database  # its imports
    with suppress(ImportError):
        importlib.import_module("pandas")  # PyArrow imports it at the first conversion
    began, used = time.perf_counter(), time.process_time()
    sink.write(batch)
    print(time.perf_counter() - began, time.process_time() - used)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
