"""Checks of the conditions of polls (``qbcd check``); they change nothing."""

from __future__ import annotations

from qbcd.check.choice import check_choices
from qbcd.check.finding import Finding, distinct_errors, summary
from qbcd.check.folders import check_state_folder, one_per_folder
from qbcd.check.leftovers import check_left
from qbcd.check.machine import check_machine
from qbcd.check.patterns import check_patterns
from qbcd.check.stream import check_places, check_stream

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
