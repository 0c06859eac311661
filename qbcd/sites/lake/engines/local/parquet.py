"""Write and read parts as Parquet files with DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from qbcd.local.database import LocalDatabase
from qbcd.local.parquet_rows import file_options, rows_of_files, text
from qbcd.local.query import Query, columns_of, duckdb_type
from qbcd.model.wire import Fields
from qbcd.sites.lake.engines.algebra import cast_to

FILE = "local-0.parquet"  # by the prefix readers know that its pages have no checksums
ROW_GROUP = 24_576  # rows, a multiple of DuckDB's vectors; the files have no page indexes, so reads skip whole groups


def write(database: LocalDatabase, rows: Query, fields: Fields, folder: Path | str, *, temporary: bool) -> None:
    """Evaluate `rows` once, cast them to `fields` and write them into a new folder.

    Rows of the replica are sorted by their range, so that a read of few ranges reads few row groups; events are sorted
    by their number. Keys are not sorted: the order in which the source had them compresses better.
    """
    own = Path(folder)
    own.mkdir(mode=0o700, parents=True)
    names = columns_of(fields)
    order = "" if temporary else f" ORDER BY {'ordinal' if 'ordinal' in names else 'range_id'}"
    compression = f"COMPRESSION {'SNAPPY' if temporary else 'ZSTD'}"
    floats = any(kind in ("float", "double") for _, kind in fields)
    options = file_options(compression, f"ROW_GROUP_SIZE {ROW_GROUP}", floats=floats)
    target = text(str(own / FILE))
    database.connection.execute(f"COPY (FROM (\n{cast_to(rows, fields).sql}\n){order}) TO {target} ({options})")


def read(database: LocalDatabase, fields: Fields, files: Sequence[Path | str]) -> Query:
    """Return the rows of files with these fields; what a file does not have is NULL."""
    typed = [(name, duckdb_type(kind)) for name, kind in fields]
    return Query(rows_of_files(database.connection, typed, [*map(Path, files)]), columns_of(fields))
