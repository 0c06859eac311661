"""Format versions of qbcd's own tables: refuse newer ones, upgrade older ones step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy.engine import Connection

from qbcd.errors import Refused

FORMAT_VERSION = 1

Upgrade = Callable[[Connection], None]

# Version n -> the function that upgrades it to n + 1 in the caller's transaction. Version 1 is the first. A step must
# be repeatable: if DDL commits implicitly, a killed process leaves it incomplete under the old version.
UPGRADES: Mapping[int, Upgrade] = {}


def refuse_newer(found: object, place: str, *, ours: int | None = None) -> int:
    """Return the format version if this qbcd can read it.

    Args:
        found: The version in the store.
        place: Name of the store in the message.
        ours: The newest version that can be read; by default `FORMAT_VERSION`.

    Raises:
        Refused: It is newer than `ours`, or not a version.
    """
    known = FORMAT_VERSION if ours is None else ours
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise Refused(f"{place} has no valid format version", remedy="restore it from a backup")
    if found > known:
        raise Refused(
            f"{place} was written by a newer qbcd (format {found}; this one reads up to {known})", remedy="upgrade qbcd"
        )
    return found


def upgrade(
    conn: Connection, found: int, place: str, *, target: int | None = None, steps: Mapping[int, Upgrade] | None = None
) -> int:
    """Upgrade the tables from format `found` to `target` in the caller's transaction.

    Returns:
        The format reached.

    Raises:
        Refused: They are newer, or a step is missing.
    """
    goal = FORMAT_VERSION if target is None else target
    known = UPGRADES if steps is None else steps
    versions = range(refuse_newer(found, place, ours=goal), goal)
    for version in versions:  # check all before the first step, since some databases cannot undo a step
        if version not in known:
            raise Refused(
                f"{place} has format {version}, too old for this qbcd", remedy="upgrade it with an older qbcd first"
            )
    for version in versions:
        known[version](conn)
    return goal
