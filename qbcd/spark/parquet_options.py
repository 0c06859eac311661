"""Options of Spark's Parquet writer that bound its memory for long values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# Rows after which the writer looks at the size of its buffers. Its default, 100 to 10,000, is gigabytes of long values.
ROW_CHECKS: Mapping[str, str] = {"parquet.page.size.row.check.min": "1", "parquet.page.size.row.check.max": "64"}


def without_statistics(columns: Iterable[str]) -> dict[str, str]:
    """Return options that leave out the least and greatest value of columns.

    The writer holds those of all row groups in memory until it closes the file.
    """
    return {f"parquet.column.statistics.enabled#{name}": "false" for name in columns}
