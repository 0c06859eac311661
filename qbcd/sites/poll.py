"""The value that all steps of one poll share."""

from __future__ import annotations

from dataclasses import dataclass, field

from qbcd.model import StreamPlan
from qbcd.sites.context import StreamContext
from qbcd.sites.values import LeasedStream, Settings
from qbcd.strategies import Strategy


@dataclass(frozen=True)
class Poll:
    """One poll of one stream.

    If plan or strategy change on the way, `dataclasses.replace` makes the next value.

    Attributes:
        context: Source, store, lease and progress of the stream.
        strategy: It makes the statements of `plan`.
        leased: The stream under its lease; its row advances with each commit, so it is shared and never copied.
        attached: Partitions that were attached since the last poll, with rows before the watermark: all rows are read.
    """

    context: StreamContext
    plan: StreamPlan
    strategy: Strategy
    settings: Settings
    leased: LeasedStream
    attached: tuple[str, ...] = field(default=(), kw_only=True)
