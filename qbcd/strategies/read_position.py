"""Position of a reader in a table, by its timestamp, as a condition on the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from qbcd.connectors.base import Connector
from qbcd.model import StreamPlan, Table
from qbcd.strategies.ts import Ts
from qbcd.strategies.watermarked import SYSTEM


@dataclass(frozen=True)
class ReadPosition:
    """A reader's timestamp and watermark.

    Attributes:
        names: The timestamp columns, in the order of their coalesce, or the server's own versions.
        zone: The zone in which a column without zone was written.
        watermark: The reader's watermark.
    """

    names: tuple[str, ...]
    zone: str | None
    watermark: str

    def fits(self, table: Table) -> bool:
        """Return True if `table` has these columns."""
        return self.names == (SYSTEM,) or all(table.column(name) is not None for name in self.names)


def unread_by(
    connector: Connector, plan: StreamPlan, readers: Sequence[ReadPosition]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return conditions on rows of the plan's table that some of `readers` have not read.

    Returns:
        A context of template `window_since` for each, and the values of their placeholders.
    """
    contexts, values = [], {}
    for number, one in enumerate(dict.fromkeys(readers)):
        reader, bound = _reader(connector, plan, one), f"lo{number}"
        contexts.append({**reader.since(), "lo": bound})
        values[bound] = reader.bound(one.watermark)
    return contexts, values


def _reader(connector: Connector, plan: StreamPlan, one: ReadPosition) -> Ts:
    columns = [plan.table.column(name) for name in one.names]
    zoneless = "zoneless" in {connector.watermarks.mark_kind(c) for c in columns if c is not None}
    zone = {"zone": one.zone} if zoneless and one.zone else {}
    return Ts(connector, replace(plan, options=(("timestamp", one.names), *zone.items())), "")
