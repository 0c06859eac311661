"""Only connectors, demo and the state's dialects name a database; the rest uses facts.

A difference between databases is a fact or a primitive of a connector.
"""

from __future__ import annotations

import re
from pathlib import Path

import qbcd

PACKAGE = Path(qbcd.__file__).parent
# The last four: databases that are written, their limits, which are read without their drivers, those with qbcd's own
# tables, and the names that a URL may have.
TARGETS = ("sinks/table/databases/", "sinks/table/limits.py")
KNOW_THEM = ("connectors/", "demo/", *TARGETS, "state/dialects.py", "config/databases.py")
NAMES = re.compile("mariadb|mysql|postgres")


def naming(folder: Path) -> list[str]:
    """Return ``path:line`` of every line that names a database."""
    return [
        f"{path.relative_to(folder)}:{number}"
        for path in sorted(folder.rglob("*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if NAMES.search(line)
    ]


def test_databases_are_named_in_few_places() -> None:
    found = naming(PACKAGE)
    assert [place for place in found if not place.startswith(KNOW_THEM)] == []
    assert any(place.startswith("connectors/") for place in found), "the search itself finds nothing"
