"""Tables of a demonstration: events found next to changes applied, and the cost of polls."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table

from qbcd.cli import formatting
from qbcd.demo.flights import TableChanges
from qbcd.model import Cost

OPS = {"c": "insert", "u": "update", "d": "delete"}
TOGETHER = "together"  # the row of all streams


def compared(found: Mapping[str, Mapping[str, int]], applied: Mapping[str, TableChanges]) -> tuple[Table, bool]:
    """Return a table of applied and found changes by stream and op, and True if all are equal.

    Args:
        found: Events per op, by stream.
    """
    table, good = Table("stream", "event"), True
    for name in ("applied", "found", ""):
        table.add_column(name, justify="right")
    for stream, counts in found.items():
        changes = applied[stream]
        wanted = {"c": changes.inserted, "u": changes.updated, "d": changes.deleted}
        for op in [op for op in OPS if wanted.get(op) or counts.get(op)] or [""]:
            same = wanted.get(op, 0) == counts.get(op, 0)
            good = good and same
            shown = [f"{n.get(op, 0):,}" if op else "" for n in (wanted, counts)]
            verdict = "[green]match[/]" if same else "[bold red]differ[/]"
            table.add_row(stream, OPS.get(op, "[dim]no change[/]"), *shown, verdict)
    return table, good


def change_rows(found: Mapping[str, int], applied: TableChanges) -> tuple[Table, bool]:
    """Return a table of change rows read by Spark and applied ones, and True if they are equal.

    Args:
        found: Rows by `_change_type`.
    """
    updated = applied.updated
    wanted = {
        "insert": applied.inserted,
        "update_preimage": updated,
        "update_postimage": updated,
        "delete": applied.deleted,
    }
    table, good = Table("_change_type"), True
    for name in ("applied", "rows", ""):
        table.add_column(name, justify="right")
    for kind in list(dict.fromkeys([*wanted, *found])):
        same = wanted.get(kind, 0) == found.get(kind, 0)
        good = good and same
        verdict = "[green]match[/]" if same else "[bold red]differ[/]"
        table.add_row(kind, f"{wanted.get(kind, 0):,}", f"{found.get(kind, 0):,}", verdict)
    return table, good


def costs(spent: Mapping[str, Cost], jobs: Mapping[str, int]) -> Table:
    """Return the table of polls' costs, by stream; the row :data:`TOGETHER` is highlighted.

    Args:
        jobs: Spark jobs of each poll.
    """
    titles = ("cost of", "scanned", "shipped", "bytes", "ranges", "time", "engine", "Spark jobs")
    table = Table(*titles, box=None, padding=(0, 2, 0, 0))
    for column in table.columns[1:]:
        column.justify = "right"
    for stream, cost in spent.items():
        table.add_row(
            stream,
            formatting.counted(cost.rows_scanned, "row"),
            formatting.counted(cost.rows_shipped, "row"),
            formatting.size(cost.bytes_shipped) if cost.bytes_shipped else "-",
            f"{cost.dirty:,} of {cost.ranges:,}" if cost.ranges else "-",
            formatting.duration(cost.seconds),
            "" if stream == TOGETHER else "Spark" if cost.spark else "local",
            f"{jobs.get(stream, 0):,}",
            style="" if stream == TOGETHER else "dim",
        )
    return table
