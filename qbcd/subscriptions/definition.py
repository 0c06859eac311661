"""Subscriptions: a condition over events of one stream, and what must happen to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from qbcd.errors import QbcdError

When = Literal["new", "old", "either", "enters", "leaves"]
OPS = ("r", "c", "u", "d")
WHENS: tuple[When, ...] = get_args(When)
NEEDS_OLD: tuple[When, ...] = ("old", "either", "enters", "leaves")


class ConditionRefused(QbcdError):
    """A condition that cannot be matched exactly."""


@dataclass(frozen=True)
class Subscription:
    """A registered interest in events of a stream.

    Attributes:
        id: Unique among all subscriptions.
        condition: One boolean expression over captured columns; empty for every row.
        when: The row that must meet the condition: the ``new`` one, the ``old`` one, or ``either``; ``enters``, if the
            new row meets it and the old one did not or was not there; ``leaves``, the other way round.
        ops: Operations of interest, some of ``r``, ``c``, ``u`` and ``d``; empty for all.
        columns: An update is of interest only if it changed one of these; empty for every update.
    """

    id: str
    condition: str = ""
    when: When = "new"
    ops: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
