"""Rows of Parquet files as a query of DuckDB, for any process.

It imports nothing else of qbcd.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb


def rows_of_files(
    connection: duckdb.DuckDBPyConnection, fields: Sequence[tuple[str, str]], files: Sequence[Path]
) -> str:
    """Return a SELECT of the rows of files.

    Args:
        connection: The database that will run it.
        fields: Name and DuckDB type of each column; what a file does not have is NULL.
        files: The files, at least one.
    """
    paths = ", ".join(text(_as_pattern(file)) for file in files)
    listed = f"read_parquet([{paths}], union_by_name = true, hive_partitioning = false)"
    known = {name for name, *_ in connection.execute(f"DESCRIBE FROM {listed}").fetchall()}
    columns = (f"CAST({name if name in known else 'NULL'} AS {kind}) AS {name}" for name, kind in fields)
    return f"SELECT {', '.join(columns)} FROM {listed}"


def text(value: str) -> str:
    """Return a text as DuckDB's SQL."""
    return "'" + value.replace("'", "''") + "'"


def _as_pattern(path: Path) -> str:
    """Return the pattern that matches this path alone."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(path))


def file_options(*options: str, floats: bool = True) -> str:
    """Return options of a COPY into a Parquet file, in which floats keep the sign of a zero.

    Before 2.0 a dictionary of DuckDB takes 0.0 and -0.0 for one value.

    Args:
        options: Further options.
        floats: The rows may have floats.
    """
    signs = ["DICTIONARY_SIZE_LIMIT 0"] if floats and int(duckdb.__version__.partition(".")[0]) < 2 else []
    return ", ".join(["FORMAT PARQUET", *options, *signs])
