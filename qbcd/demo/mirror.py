"""The mirror of a demonstration, compared with its table in the source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

MIRRORED = "planes"
_ROWS = "SELECT tailnum, year, type, manufacturer, model, engines, seats, speed, engine FROM planes"


def compared(mirror: Path, source: Any) -> tuple[int, bool]:
    """Return the rows of the mirror, and True if they equal those of the source.

    Args:
        mirror: The file of DuckDB.
        source: A connection to the source.
    """
    import duckdb

    with source.cursor() as cursor:
        cursor.execute(_ROWS)
        wanted = sorted(cursor.fetchall())
    with duckdb.connect(str(mirror), read_only=True) as connection:
        found = sorted(connection.execute(_ROWS).fetchall())
    return len(found), found == wanted
