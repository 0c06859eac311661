"""Detection of another table of the same name, by the source's identity numbers and DDL times.

Timestamps and digests of its rows cannot be compared with those of the earlier table, so all rows are compared
(docs/design/protocol.md#rule-16).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qbcd.model import StreamPlan
from qbcd.model.checkpoint import Entry


def is_remade(checkpoint: Mapping[str, Any], plan: StreamPlan, *, surely: bool = False) -> bool:
    """Return True if the table, or a column that polls read, may be another of the same name.

    Args:
        checkpoint: The stream's; an early version stored nothing about this.
        plan: By today's catalog.
        surely: Count only proofs (identity numbers of columns), not a later definition of the table.
    """
    now, then = plan.made(), checkpoint.get(Entry.MADE)
    if then is None:
        return False
    if any(now["numbers"].get(name, number) != number for name, number in then["numbers"].items()):
        return True
    return not surely and now["at"] != then["at"]


def remark(plan: StreamPlan) -> str:
    """Return the remark of a poll that compared all rows because the table is another one."""
    return f"{plan.table.label} was altered or recreated since the last poll: all rows were compared"
