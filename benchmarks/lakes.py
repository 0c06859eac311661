"""One large commit, and many small ones, by the sinks `delta` and `iceberg`; no server.

Each write is a process of its own, for its memory. `--rows 1000000 --repeats 1000`: `repeats` is the number of small
batches.
"""

from __future__ import annotations

import json
import logging
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from typing_extensions import override

from benchmarks.measure import Options, Table
from benchmarks.places import Place
from qbcd.model import BatchHeader, Travel
from qbcd.sinks import SinkBatch

DATABASES = ("postgresql",)  # started, but not used
PIECE = 10_000
COLUMNS = (
    ("id", Travel("int64")),
    ("status", Travel("text")),
    ("amount", Travel("decimal", 12, 2)),
    ("note", Travel("text")),
)
ROW = pa.struct([("id", pa.int64()), ("status", pa.string()), ("amount", pa.decimal128(12, 2)), ("note", pa.string())])
KEY = pa.struct([("id", pa.int64())])
SOURCE = pa.struct(
    [(n, pa.string()) for n in ("name", "table", "strategy", "consistency")]
    + [("epoch", pa.int64()), ("batch_seq", pa.int64())]
)
EVENTS = pa.schema(
    [
        ("op", pa.string()),
        ("key", KEY),
        ("before", ROW),
        ("after", ROW),
        ("changed", pa.list_(pa.string())),
        ("reason", pa.string()),
        ("pair_id", pa.string()),
        ("source", SOURCE),
        ("event_id", pa.string()),
        ("ts_ms", pa.int64()),
    ]
)
WRITES = ("bare", "log", "mirror", "updates", "history")


class Rows(SinkBatch):
    """A batch of rows with consecutive keys, 200 bytes each."""

    def __init__(self, seq: int, op: str, first: int, count: int) -> None:
        names = ("orders", 1, seq, 1_000 * seq, {op: count}, ("copy",), f"f{seq}", "shop", "public.orders")
        header = BatchHeader(*names, "mds", "snapshot", key=("id",), columns=COLUMNS)
        super().__init__(header, lambda: None)  # type: ignore[arg-type, return-value]
        self._op, self._first, self._count = op, first, count

    @override
    def fitted(self, *_given: Any, **_more: Any) -> SinkBatch:
        return self

    @override
    def arrow(self) -> Any:
        return pa.RecordBatchReader.from_batches(EVENTS, self._pieces())

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as a table has them."""
        for at in range(0, self._count, PIECE):
            yield pa.RecordBatch.from_struct_array(self._images(at))

    def _images(self, at: int) -> pa.StructArray:
        ids = pa.array(range(self._first + at, self._first + min(at + PIECE, self._count)), pa.int64())
        texts = pc.cast(ids, pa.string())
        notes = pc.binary_join_element_wise(texts, pc.binary_repeat(texts, 25), str(self.header.seq), "-")
        amounts = pc.cast(pc.cast(ids, pa.decimal128(19, 0)), pa.decimal128(12, 2))
        return pa.StructArray.from_arrays([ids, texts, amounts, notes], fields=list(ROW))

    def _pieces(self) -> Iterator[pa.RecordBatch]:
        for at in range(0, self._count, PIECE):
            rows = self._images(at)
            n = len(rows)
            before = rows if self._op == "u" else pa.nulls(n, ROW)
            key = pa.StructArray.from_arrays([rows.field(0)], fields=list(KEY))
            texts = pc.binary_join_element_wise(f"orders:1:{self.header.seq}", pc.cast(rows.field(0), pa.string()), ":")
            arrays = [
                pa.array([self._op] * n),
                key,
                before,
                rows,
                pa.nulls(n, pa.list_(pa.string())),
                pa.nulls(n, pa.string()),
            ]
            arrays += [pa.nulls(n, pa.string()), pa.nulls(n, SOURCE), texts, pa.array([1_000] * n, pa.int64())]
            yield pa.RecordBatch.from_arrays(arrays, schema=EVENTS)


def catalog(folder: Path) -> dict[str, str]:
    return {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}"}


def sink_of(kind: str, folder: Path, **options: Any) -> Any:
    from qbcd.sinks.lake.delta import DeltaSink
    from qbcd.sinks.lake.iceberg import IcebergSink

    return DeltaSink("copy", folder, **options) if kind == "delta" else IcebergSink("copy", catalog(folder), **options)


def bare(kind: str, folder: Path, rows: Rows) -> None:
    """Write the rows by the library alone."""
    first = next(rows.rows())
    reader = pa.RecordBatchReader.from_batches(first.schema, rows.rows())
    if kind == "delta":
        from deltalake import write_deltalake

        write_deltalake(folder / "bare", reader, mode="append")
    else:
        from pyiceberg.catalog import load_catalog

        made = load_catalog("default", **catalog(folder))
        made.create_namespace("bare")
        made.create_table(("bare", "rows"), first.schema).append(reader)


def one_write(kind: str, what: str, folder: Path, rows: int) -> dict[str, float]:
    """Write once; return seconds and memory. `updates` and `history` change all rows of an existing table."""
    logging.disable(logging.WARNING)
    mode = {"log": "log", "history": "scd2"}.get(what, "mirror")
    sink = sink_of(kind, folder, mode=mode, table=what)
    sink.check()
    sink.write(Rows(1, "r", 0, 10))  # its imports
    if what in ("updates", "history"):
        again = [sys.executable, "-m", "benchmarks.lakes", kind, f"{what}:first", str(folder), str(rows)]
        subprocess.run(again, check=True, stdout=subprocess.DEVNULL)
    idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, used = time.perf_counter(), time.process_time()
    if what == "bare":
        bare(kind, folder, Rows(2, "r", 10, rows))
    else:
        fresh = what in ("log", "mirror")
        sink.write(Rows(2 if fresh else 3, "c" if fresh else "u", 10, rows))
    spent = {"seconds": time.perf_counter() - began, "processor": time.process_time() - used}
    return {**spent, "idle": idle / 1024, "most": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def small_commits(kind: str, folder: Path, count: int, mode: str) -> list[tuple[str, str]]:
    """Write small batches; then compact or expire, and write ten more."""
    from qbcd.sinks.lake.tables import LakeTable

    logging.disable(logging.WARNING)
    sink, spent = sink_of(kind, folder, mode=mode, table="small"), []
    for seq in range(1, count + 1):
        began = time.process_time()
        sink.write(Rows(seq, "c" if seq > 1 else "r", 10 * seq, 10))
        spent.append(time.process_time() - began)
    found = [("processor seconds of commits 2 to 11", _mean(spent[1:11])), ("of the last ten", _mean(spent[-10:]))]
    found += _sizes(kind, folder)
    table: LakeTable = sink.format.find("small")
    age = (
        {"optimize": timedelta(milliseconds=1), "vacuum": timedelta(0)}
        if kind == "delta"
        else {"expire": timedelta(milliseconds=1)}
    )
    sink = sink_of(kind, folder, mode=mode, table="small", **age)
    began = time.process_time()
    assert sink.tidy(table)
    found.append(("optimize and vacuum" if kind == "delta" else "expire", f"{time.process_time() - began:.2f} s"))
    found += _sizes(kind, folder)
    spent = []
    for seq in range(count + 1, count + 11):
        began = time.process_time()
        sink.write(Rows(seq, "c", 10 * seq, 10))
        spent.append(time.process_time() - began)
    return [*found, ("commits after that", _mean(spent))]


def _mean(values: list[float]) -> str:
    return f"{sum(values) / len(values):.3f} s"


def _sizes(kind: str, folder: Path) -> list[tuple[str, str]]:
    log, data = ("_delta_log", "*.parquet") if kind == "delta" else ("metadata", "*.parquet")
    (place,) = [one for one in folder.rglob(log) if "small" in str(one)]
    logs = [one.stat().st_size for one in place.rglob("*") if one.is_file()]
    rows = [one.stat().st_size for one in place.parent.rglob(data) if log not in one.parts]
    text = f"{len(logs):,} files, {sum(logs) / 1e6:.1f} MB; {len(rows):,} files, {sum(rows) / 1e6:.1f} MB"
    return [("log; data", text)]


def measure(_place: Place, folder: Path, options: Options) -> Table:
    """Return the figures of both formats."""
    table = Table(
        ("write", "delta", "iceberg"), ", ".join(f"{one} {version(one)}" for one in ("deltalake", "pyiceberg"))
    )
    for what in WRITES:
        found = [_child(kind, what, folder / f"{kind}-{what}", options.rows) for kind in ("delta", "iceberg")]
        cells = [
            f"{f['seconds']:.1f} s, {f['processor']:.1f} of a processor; {f['most']:.0f} MB ({f['idle']:.0f} before)"
            for f in found
        ]
        table.rows.append((f"{what}, {options.rows:,} rows", *cells))
    for mode in ("log", "mirror"):
        both = [
            _child(kind, f"small:{mode}", folder / f"{kind}-small-{mode}", options.repeats)
            for kind in ("delta", "iceberg")
        ]
        for (name, one), (_, other) in zip(*(found["found"] for found in both), strict=True):
            table.rows.append((f"{mode}, {options.repeats:,} batches: {name}", one, other))
    return table


def _child(kind: str, what: str, folder: Path, rows: int) -> Any:
    folder.mkdir()
    command = [sys.executable, "-m", "benchmarks.lakes", kind, what, str(folder), str(rows)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def main(kind: str, what: str, folder: Path, rows: int) -> None:
    """Do one write, of which :func:`measure` reads the figures."""
    if what.endswith(":first"):
        name = what.partition(":")[0]
        sink = sink_of(kind, folder, mode="scd2" if name == "history" else "mirror", table=name)
        sink.write(Rows(2, "c", 10, rows))
    elif what.startswith("small:"):
        print(json.dumps({"found": small_commits(kind, folder, rows, what.partition(":")[2])}))
    else:
        print(json.dumps(one_write(kind, what, folder, rows)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
