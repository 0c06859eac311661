"""Surrogate keys that lookups allocated: one for each key, for ever.

A row is never changed. The first row of a key counts, whoever wrote it: its lookup and digest are the table's key, and
the number is unique in the lookup.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from sqlalchemy import func, insert, select
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from qbcd.errors import Refused, StateConflict
from qbcd.state.project import ProjectState
from qbcd.state.project_tables import LOOKUP_KEY
from qbcd.state.tables import seal, unseal

LARGEST = (1 << 63) - 1
ATTEMPTS = 50  # each one that fails lets another process allocate
_AT_ONCE = 500  # keys of a statement


def allocated_keys(state: ProjectState, lookup: str, keys: Sequence[str]) -> dict[str, int]:
    """Return the numbers of those keys that have one."""
    with state.read() as conn:
        return _known(conn, lookup, keys)


def allocate_keys(
    state: ProjectState, lookup: str, keys: Sequence[str], first: int, last: int = LARGEST
) -> dict[str, int]:
    """Return a number for each key; a new one if it has none yet.

    Args:
        keys: Canonical texts of distinct keys.
        lookup: The column that has the numbers (`LookupRelation.numbered`).
        first: New numbers are at least this.
        last: New numbers are at most this.

    Raises:
        Refused: There are not enough numbers up to `last`; none was allocated.
        StateConflict: Other processes allocate all the time.
    """
    for _ in range(ATTEMPTS):
        try:
            with state.write() as conn:
                known = _known(conn, lookup, keys)
                new = [key for key in keys if key not in known]
                if new:
                    largest = conn.execute(select(func.max(LOOKUP_KEY.c.number)).where(LOOKUP_KEY.c.lookup == lookup))
                    number = max(first, int(largest.scalar() or 0) + 1)
                    if number + len(new) - 1 > last:
                        raise Refused(
                            f"{lookup}: no numbers are left up to {last}", remedy="widen the column, on all sides"
                        )
                    for i, key in enumerate(new):
                        values = {"lookup": lookup, "digest": _digest(key), "number": number + i, "text": key}
                        conn.execute(insert(LOOKUP_KEY).values(**seal(LOOKUP_KEY, values), at=state.facts.clock))
                        known[key] = number + i
            return known
        except IntegrityError:  # another process allocated one of these keys, or these numbers
            continue
    raise StateConflict(
        f"lookup {lookup}: no number was free in {ATTEMPTS} attempts", remedy="poll again; are many processes polling?"
    )


def _known(conn: Connection, lookup: str, keys: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for start in range(0, len(keys), _AT_ONCE):
        digests = {_digest(key): key for key in keys[start : start + _AT_ONCE]}
        here = (LOOKUP_KEY.c.lookup == lookup) & LOOKUP_KEY.c.digest.in_(list(digests))
        for row in conn.execute(select(LOOKUP_KEY).where(here)).mappings():
            whole = unseal(LOOKUP_KEY, dict(row))
            found[digests[str(whole["digest"])]] = int(whole["number"])
    return found


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
