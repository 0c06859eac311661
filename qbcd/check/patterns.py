"""Checks of patterns of tables: their matches, new tables, tables that no longer exist."""

from __future__ import annotations

from qbcd.check.finding import Finding, failed
from qbcd.project import ProjectParts


def check_patterns(project: ProjectParts) -> list[Finding]:
    """Report tables that patterns match and cannot capture, and tables that are new."""
    roster = project.streams.roster()
    found = [failed("tables", problem) for problem in roster.problems]
    found += [
        Finding(
            "tables", "warning", f"{new.table_schema}.{new.table_name} is new: qbcd prepare {name} captures it", name
        )
        for name, new in roster.new.items()
    ]
    return found
