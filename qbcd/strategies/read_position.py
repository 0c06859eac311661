"""How far somebody has read a table by a time-stamp of his own choice, as a condition on its rows."""

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
    """A reader's time-stamp and watermark.

    Attributes:
        names: Its columns, in the order of their coalesce, or the server's own versions.
        zone: Of a column that has none, the zone that its values were written in.
        at: The watermark.
    """

    names: tuple[str, ...]
    zone: str | None
    at: str

    def fits(self, table: Table) -> bool:
        """Whether `table` has these columns."""
        return self.names == (SYSTEM,) or all(table.column(name) is not None for name in self.names)


def still_ahead(
    connector: Connector, plan: StreamPlan, passed: Sequence[ReadPosition]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """What tells, of a row of the plan's table, that some of `passed` have not read it: contexts of `window_since`.

    Returns:
        A context for each, and the values of their placeholders.
    """
    contexts, values = [], {}
    for number, one in enumerate(dict.fromkeys(passed)):
        stamp, bound = _stamp(connector, plan, one), f"lo{number}"
        contexts.append({**stamp.since(), "lo": bound})
        values[bound] = stamp.bound(one.at)
    return contexts, values


def _stamp(connector: Connector, plan: StreamPlan, one: ReadPosition) -> Ts:
    columns = [plan.table.column(name) for name in one.names]
    zoneless = "zoneless" in {connector.watermarks.mark_kind(c) for c in columns if c is not None}
    zone = {"zone": one.zone} if zoneless and one.zone else {}
    return Ts(connector, replace(plan, options=(("timestamp", one.names), *zone.items())), "")
