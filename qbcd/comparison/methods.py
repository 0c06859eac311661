"""Method of a comparison of two operands, and figures for the next one of a kept operand."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path

import pyarrow as pa

from qbcd.common.durable import sync
from qbcd.local.database import LocalDatabase
from qbcd.local.query import Query
from qbcd.snapshots.feeds import LastComparison, Sides, choose_for_rows
from qbcd.snapshots.planner import MethodChoice, estimate
from qbcd.strategies import AUTO

COMPARED = "compared.json"  # in the folder of a kept operand
_FIRST = 2048  # rows whose width is measured
_PACKED = 4  # bytes of rows for each byte of a compressed file
_PACKED_NAMES = (".gz", ".gzip", ".zst", ".zstd", ".parquet")


def sides_of(database: LocalDatabase, old: tuple[Query, int], new: tuple[Query, int]) -> Sides:
    """Return the sizes of two loaded operands; the width of a row is that of some rows."""
    rows = new[0] if new[1] else old[0]
    values = ", ".join(name for name in rows.columns if name.startswith("c"))
    some: pa.Table = database.connection.sql(f"SELECT {values} FROM ({rows.sql}) LIMIT {_FIRST}").to_arrow_table()
    return Sides(old[1], new[1], some.nbytes / some.num_rows if some.num_rows else 0.0)


def chosen(method: str, sides: Sides, folder: Path | None, memory: int) -> str:
    """Return the method that the user named, or the planner's if that is `auto`."""
    return choose_for_rows(sides, last_of(folder), memory).method if method == AUTO else method


def expected(paths: list[Path], folder: Path | None, memory: int) -> MethodChoice:
    """Return the method that the planner will probably choose for files that are not read yet."""
    return choose_for_rows(Sides(1, 1, sum(map(_unpacked, paths)) / 2), last_of(folder), memory)


def blocks_by_method(paths: list[Path], folder: Path | None, memory: int) -> dict[str, float]:
    """Return the blocks that each method would read and write, by the planner; least first."""
    last = last_of(folder)
    seen = {"rows": float(last.rows), "inserts": last.inserts, "updates": last.updates} if last.method else {}
    found = estimate(sum(map(_unpacked, paths)) // max(1, len(paths)), memory // 2, seen)
    return dict(sorted(found.items(), key=lambda item: (item[1], item[0])))


def _unpacked(path: Path) -> int:
    """Return the bytes of a file's rows, about."""
    return path.stat().st_size * (_PACKED if path.suffix in _PACKED_NAMES else 1)


def last_of(folder: Path | None) -> LastComparison:
    """Return the figures of the last comparison with a kept operand."""
    path = folder / COMPARED if folder is not None else None
    if path is None or not path.exists():
        return LastComparison()
    return LastComparison.from_entry(json.loads(path.read_text(encoding="utf-8")))


def remember(folder: Path, last: LastComparison) -> None:
    """Keep the figures of a comparison, in one step."""
    written = folder / f"{uuid.uuid4().hex}.tmp"
    written.write_text(json.dumps(last.as_entry()), encoding="utf-8")
    sync(written)
    os.replace(written, folder / COMPARED)
