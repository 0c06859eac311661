"""Write and read parts as Parquet files with DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from qbcd.local.database import LocalDatabase
from qbcd.local.query import Query, columns_of, duckdb_type
from qbcd.model.wire import Fields
from qbcd.sites.lake.engines.local.rows import cast_to

FILE = "local-0.parquet"  # the prefix tells readers that its pages have no checksums
ROW_GROUP = 61_440  # rows, a multiple of DuckDB's vectors; small groups, so that a read of few ranges reads few


def write(database: LocalDatabase, rows: Query, fields: Fields, folder: Path, *, temporary: bool) -> None:
    """Evaluate `rows` once, cast them to `fields` and write them into a new folder.

    Rows of the replica are sorted by their range, events by their number.
    """
    folder.mkdir(mode=0o700, parents=True)
    names = columns_of(fields)
    order = "" if temporary else f" ORDER BY {'ordinal' if 'ordinal' in names else 'range_id, key_id'}"
    options = f"FORMAT PARQUET, COMPRESSION {'UNCOMPRESSED' if temporary else 'SNAPPY'}, ROW_GROUP_SIZE {ROW_GROUP}"
    target = _text(str(folder / FILE))
    database.connection.execute(f"COPY (FROM (\n{cast_to(rows, fields).sql}\n){order}) TO {target} ({options})")


def read(database: LocalDatabase, fields: Fields, files: Sequence[Path]) -> Query:
    """Return the rows of files with these fields; what a file does not have is NULL."""
    listed = f"read_parquet([{', '.join(_text(str(file)) for file in files)}], union_by_name = true)"
    known = {name for name, *_ in database.connection.execute(f"DESCRIBE FROM {listed}").fetchall()}
    columns = (f"CAST({name if name in known else 'NULL'} AS {duckdb_type(kind)}) AS {name}" for name, kind in fields)
    return Query(f"SELECT {', '.join(columns)} FROM {listed}", columns_of(fields))


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
