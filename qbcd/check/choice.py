"""The check of a strategy that `auto` chose: would another one cost far less now?"""

from __future__ import annotations

from qbcd.check.finding import Finding
from qbcd.errors import QbcdError
from qbcd.project import ProjectParts


def check_choices(parts: ProjectParts, names: list[str]) -> list[Finding]:
    """Warn of prepared streams for which another strategy would read a fifth.

    The strategy itself never changes.
    """
    found = []
    for name in names:
        if not parts.config.strategy_of(parts.streams.config(name)).chooses:
            continue
        try:
            advice = parts.advise(name)
        except QbcdError:  # the checks of the stream report the same error
            continue
        if advice.prepared and advice.warning:
            found.append(Finding("strategy", "warning", f"auto: {advice.warning}: qbcd advise {name}", name))
    return found
