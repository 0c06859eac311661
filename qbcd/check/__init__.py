"""Checks of the conditions of polls (``qbcd check``); they change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qbcd.common.on_demand import on_demand

if TYPE_CHECKING:
    from qbcd.check.choice import check_choices
    from qbcd.check.finding import Finding, distinct_errors, summary
    from qbcd.check.folders import check_state_folder, one_per_folder
    from qbcd.check.leftovers import check_left
    from qbcd.check.machine import check_machine
    from qbcd.check.patterns import check_patterns
    from qbcd.check.stream import check_places, check_stream
else:
    __getattr__ = on_demand(
        __name__,
        choice="check_choices",
        finding="Finding distinct_errors summary",
        folders="check_state_folder one_per_folder",
        leftovers="check_left",
        machine="check_machine",
        patterns="check_patterns",
        stream="check_places check_stream",
    )

__all__ = [
    "Finding",
    "check_choices",
    "check_left",
    "check_machine",
    "check_patterns",
    "check_places",
    "check_state_folder",
    "check_stream",
    "distinct_errors",
    "one_per_folder",
    "summary",
]
