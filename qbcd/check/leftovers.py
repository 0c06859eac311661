"""Checks for leftovers: prepared streams that are not configured, replicas without a state."""

from __future__ import annotations

import string
from pathlib import Path

from qbcd.check.finding import Finding
from qbcd.errors import QbcdError
from qbcd.orphans import left_streams
from qbcd.project import ProjectParts


def check_left(project: ProjectParts, *, state_is_new: bool) -> list[Finding]:
    """Report prepared streams that are no longer configured, and replicas without a state.

    Args:
        state_is_new: There is no state database yet.
    """
    try:
        found = [Finding("state", "warning", left.describe()) for left in left_streams(project)]
    except QbcdError as error:
        found = [Finding("state", "warning", f"streams that are no longer configured could not be listed: {error}")]
    workdir = project.config.workdir
    if state_is_new and workdir.is_dir() and any(map(_is_project, workdir.iterdir())):
        found.append(
            Finding(
                "state",
                "warning",
                f"there is no state database, but workdir {workdir} holds replicas of one: prepare "
                "would start from nothing (if this project made them, restore its state database)",
            )
        )
    return found


def _is_project(folder: Path) -> bool:
    """Return True if the folder has the name of a project's folder and is not empty."""
    named = len(folder.name) == 32 and set(folder.name) <= set(string.hexdigits)
    return named and folder.is_dir() and any(folder.iterdir())
