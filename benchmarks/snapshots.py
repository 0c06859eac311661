"""Differences of two snapshot files by method, next to the parse of the new file and DuckDB's full join."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv

from benchmarks.measure import Options, Table
from benchmarks.places import Place
from benchmarks.snapshot_dumps import ArrowDump, Drawing, write_pair
from qbcd.snapshots.base import MIB
from qbcd.snapshots.base import Options as CompareOptions
from qbcd.snapshots.compare import baseline, differences
from qbcd.snapshots.replica import DumpReplica

DATABASES = ("postgresql",)  # started, but not used
METHODS = ("phc1", "phc2", "window", "hh", "ph", "sm", "smc1", "smc2")
MEMORY = 256 * MIB


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Compare two snapshots with 1 % updates, displaced by 1,000 rows on average."""
    del place
    old, new = write_pair(folder, Drawing(options.rows, 1_000, updates=0.01, inserts=0.001, deletes=0.001))
    baseline(old, CompareOptions(keep=folder / "entries", memory=MEMORY))
    baseline(old, CompareOptions(keep=folder / "rows", memory=MEMORY, keep_rows=True))
    csv = folder / "new.csv"
    with pa.csv.CSVWriter(str(csv), new.schema) as writer:
        for batch in new.batches():
            writer.write_batch(batch)
    table = Table(
        ("method", "seconds", "CPU seconds", "x parse (CPU)", "blocks"),
        f"pyarrow {pa.__version__}, DuckDB {duckdb.__version__}",
    )
    floor = _timed(lambda: pa.csv.read_csv(str(csv)).num_rows)
    _add(table, "parse of the new file as CSV (Arrow)", floor, floor[1], "")
    _add(table, "DuckDB full join of both files", _timed(lambda: _joined(old, new)), floor[1], "")
    in_memory = CompareOptions("phc1", memory=max(MEMORY, 200 * options.rows), keep=folder / "kept")
    sides = {
        "phc1": "entries",
        "phc2": "entries",
        "smc1": "entries",
        "smc2": "entries",
        "ph": "rows",
        "sm": "rows",
        "hh": "rows",
    }
    cases = {"phc1, all in memory, replica kept": ("entries", in_memory)}
    for method in METHODS:
        cases[f"{method}, 256 MiB"] = (sides.get(method, ""), CompareOptions(method, MEMORY, folder))
    for name, (side, how) in cases.items():
        found = differences(DumpReplica(folder / side) if side else old, new, how)
        used = _timed(lambda found=found: sum(batch.num_rows for batch in found))  # type: ignore[misc]
        _add(table, name, used, floor[1], f"{found.report.blocks:,}")
    return table


def _timed(action: Callable[[], object]) -> tuple[float, float]:
    began, used = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - began, time.process_time() - used


def _add(table: Table, name: str, used: tuple[float, float], floor: float, blocks: str) -> None:
    table.rows.append((name, f"{used[0]:.1f}", f"{used[1]:.1f}", f"{used[1] / floor:.1f}", blocks))


def _joined(old: ArrowDump, new: ArrowDump) -> int:
    with duckdb.connect() as session:
        for name, side in (("old", old), ("new", new)):
            session.register(name, pa.RecordBatchReader.from_batches(side.schema, side.batches()))
        row = session.execute(
            "select count(*) from old full join new on old.id = new.id where old.version is distinct from new.version "
            "or old.text is distinct from new.text"
        ).fetchone()
    assert row is not None
    return int(row[0])
