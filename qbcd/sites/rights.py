"""What the role that polls needs beyond SELECT and tables of qbcd's own, as GRANTs for a DBA."""

from __future__ import annotations

from sqlalchemy.engine import Connection

from qbcd.connectors.base import Connector
from qbcd.strategies import InSource, Stamped, Tdi, Tlcs, VbdDelta


def grants(connector: Connector, conn: Connection, strategy: InSource, role: str) -> list[str]:
    """A GRANT for each right that the stream's options ask for, below a comment that says why, and whether it is held.

    Args:
        connector: The source's.
        conn: A session of the role.
        strategy: The stream's.
        role: As the server calls it.
    """
    table, found = strategy.plan.table, []
    if isinstance(strategy, Stamped) and strategy.way == "window":
        found += sessions(connector, conn, strategy, role)
    if isinstance(strategy, VbdDelta):
        marked = [lineage.marked for lineage in strategy.lineages if lineage.marked is not None]
        found += dict.fromkeys(grant for one in marked for grant in sessions(connector, conn, one, role))
    if isinstance(strategy, Tdi) and strategy.purges:
        held = not connector.write_rights(conn, table, delete=True)
        grant = connector.write_grant(table, role, delete=True)
        found.append(_explained(grant, "to remove flagged rows, for purge", held=held))
    if isinstance(strategy, Tlcs) and strategy.column:
        held = not connector.write_rights(conn, table, update=[strategy.column])
        grant = connector.write_grant(table, role, update=[strategy.column])
        found.append(_explained(grant, "to keep the checksums, and nothing else of the table", held=held))
    return found


def sessions(connector: Connector, conn: Connection, strategy: Stamped, role: str) -> list[str]:
    """The GRANT by which a watermark sees what other sessions do; none for the server's own versions of its rows."""
    if strategy.system:
        return []
    why = "to see transactions of other sessions, for the watermark"
    return [_explained(connector.sessions_grant(role), why, held=connector.sees_sessions(conn))]


def _explained(grant: str, why: str, *, held: bool) -> str:
    """The statement below its comment, whose words hold no name: a line break in one would end the comment."""
    return f"-- {why}{'; the role has this right already' if held else ''}\n{grant}"
