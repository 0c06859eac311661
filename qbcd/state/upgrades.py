"""Format versions of qbcd's own tables: what is newer is refused, what is older is lifted step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy.engine import Connection

from qbcd.errors import Refused

FORMAT_VERSION = 1

Upgrade = Callable[[Connection], None]

# Version n -> the function that makes version n + 1 of it, in the caller's transaction. Version 1 is the first. A step
# must stand being run again: where DDL commits by itself, a killed process leaves it half done under the old version.
UPGRADES: Mapping[int, Upgrade] = {}


def refuse_newer(found: object, place: str, *, ours: int | None = None) -> int:
    """The format version, if this qbcd can read it.

    Args:
        found: What stands in the store.
        place: Names the store in the message.

    Raises:
        Refused: It is newer than ours, or no version at all.
    """
    known = FORMAT_VERSION if ours is None else ours
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise Refused(f"{place} does not say which format it has", remedy="restore it from a backup")
    if found > known:
        raise Refused(
            f"{place} was written by a newer qbcd (format {found}; this one reads up to {known})", remedy="upgrade qbcd"
        )
    return found


def upgrade(
    conn: Connection, found: int, place: str, *, target: int | None = None, steps: Mapping[int, Upgrade] | None = None
) -> int:
    """Lifts the tables from format `found` to `target` in the caller's transaction; returns the format reached.

    Raises:
        Refused: They are newer, or a step is missing.
    """
    goal = FORMAT_VERSION if target is None else target
    known = UPGRADES if steps is None else steps
    way = range(refuse_newer(found, place, ours=goal), goal)
    for version in way:  # all of it before the first step, which may not be undone everywhere
        if version not in known:
            raise Refused(f"{place} has format {version}, too old for this qbcd", remedy="upgrade by an older qbcd")
    for version in way:
        known[version](conn)
    return goal
