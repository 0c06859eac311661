"""Rights in the output of SHOW GRANTS."""

from __future__ import annotations

import re
from collections.abc import Sequence

_GRANT = re.compile(
    r"GRANT (?P<rights>.+?) ON (?P<schema>`(?:[^`]|``)*`|\*)\.(?P<table>`(?:[^`]|``)*`|\*) TO ", re.DOTALL
)


# MySQL with `partial_revokes`: what is revoked on a database of what was granted on all.
_REVOKE = re.compile(r"REVOKE (?P<rights>.+?) ON (?P<schema>`(?:[^`]|``)*`)\.\* FROM ", re.DOTALL)


def granted(grants: Sequence[str], right: str, schema: str, table: str = "") -> bool:
    """Return True if a grant gives `right` on `schema`.

    It may be on all databases, on a pattern that `schema` matches, or on `table`.
    """
    revoked = any(
        _plain(found["schema"]) == schema and right in {r.strip().upper() for r in found["rights"].split(",")}
        for found in map(_REVOKE.match, grants)
        if found
    )
    for grant in grants:
        found = _GRANT.match(grant)
        if found is None or (revoked and found["schema"] == "*"):
            continue
        rights = {r.strip().upper() for r in found["rights"].split(",")}
        place = (
            _covers(found["schema"], schema)
            if found["table"] == "*"
            else (bool(table) and (_plain(found["schema"]), _plain(found["table"])) == (schema, table))
        )
        if place and rights & {right, "ALL PRIVILEGES", "ALL"}:
            return True
    return False


def granted_everywhere(grants: Sequence[str], right: str) -> bool:
    """Return True if a grant gives `right` on the whole server."""
    found = [match for match in map(_GRANT.match, grants) if match and (match["schema"], match["table"]) == ("*", "*")]
    return any({r.strip().upper() for r in m["rights"].split(",")} & {right, "ALL PRIVILEGES"} for m in found)


def _covers(written: str, schema: str) -> bool:
    """Return True if the database of a grant, a pattern with ``%`` and ``_``, matches `schema`."""
    if written == "*":
        return True
    parts = re.split(r"(\\.|%|_)", _plain(written))
    wild = {"%": ".*", "_": "."}
    pattern = "".join(wild.get(p) or re.escape(p[1:] if p.startswith("\\") else p) for p in parts)
    return re.fullmatch(pattern, schema, re.DOTALL) is not None


def _plain(quoted: str) -> str:
    return quoted[1:-1].replace("``", "`")
