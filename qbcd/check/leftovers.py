"""Checks for leftovers: prepared streams that are not configured, replicas without a state."""

from __future__ import annotations

import string

from qbcd.check.finding import Finding
from qbcd.errors import QbcdError
from qbcd.orphans import left_streams
from qbcd.project import ProjectParts
from qbcd.stores.parts import Workdir


def check_left(project: ProjectParts, *, state_is_new: bool) -> list[Finding]:
    """Report prepared streams that are no longer configured, and replicas without a state.

    Args:
        state_is_new: There is no state database yet.
    """
    try:
        found = [Finding("state", "warning", left.describe()) for left in left_streams(project)]
    except QbcdError as error:
        found = [Finding("state", "warning", f"streams that are no longer configured could not be listed: {error}")]
    workdir = project.engines.workdir
    if state_is_new and _has_projects(workdir):
        found.append(
            Finding(
                "state",
                "warning",
                f"there is no state database, but workdir {workdir.shown} holds replicas of one: prepare "
                "would start from nothing (if this project made them, restore its state database)",
            )
        )
    return found


def _has_projects(workdir: Workdir) -> bool:
    """Return True if the workdir has the folder of a project that is not empty."""
    if workdir.url:
        return False  # a store may take long to list, and the finding is a hint
    local = workdir.local
    return local.is_dir() and any(
        _is_name(path.name) and path.is_dir() and any(path.iterdir()) for path in local.iterdir()
    )


def _is_name(name: str) -> bool:
    return len(name) == 32 and set(name) <= set(string.hexdigits)
