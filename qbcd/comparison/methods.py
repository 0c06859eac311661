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
from qbcd.snapshots.planner import MethodChoice
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
    sizes = [path.stat().st_size * (_PACKED if path.suffix in _PACKED_NAMES else 1) for path in paths]
    return choose_for_rows(Sides(1, 1, sum(sizes) / 2), last_of(folder), memory)


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
