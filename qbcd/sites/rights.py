"""What the role that polls needs beyond SELECT and tables of qbcd's own, as GRANTs for a DBA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy.engine import Connection

from qbcd.strategies import InSource, Stamped, Tdi, Tlcs

if TYPE_CHECKING:
    from qbcd.sites.database import DatabaseSite


def grants(site: DatabaseSite, conn: Connection, strategy: InSource, role: str) -> list[str]:
    """A GRANT for each right that the stream's options ask for, below a comment that says why, and whether it is held.

    Args:
        site: Where.
        conn: A session of the role.
        strategy: The stream's.
        role: As the server calls it.
    """
    connector, table = site.source.connector, strategy.plan.table
    found = []
    if isinstance(strategy, Stamped) and strategy.way == "window" and not strategy.system:
        why, held = "to see transactions of other sessions, for the watermark", connector.sees_sessions(conn)
        found.append(_explained(connector.sessions_grant(role), why, held=held))
    if isinstance(strategy, Tdi) and strategy.purges:
        held = not connector.write_rights(conn, table, delete=True)
        grant = connector.write_grant(table, role, delete=True)
        found.append(_explained(grant, "to remove flagged rows, for purge", held=held))
    if isinstance(strategy, Tlcs) and strategy.column:
        held = not connector.write_rights(conn, table, update=[strategy.column])
        grant = connector.write_grant(table, role, update=[strategy.column])
        found.append(_explained(grant, "to keep the checksums, and nothing else of the table", held=held))
    return found


def _explained(grant: str, why: str, *, held: bool) -> str:
    """The statement below its comment, whose words hold no name: a line break in one would end the comment."""
    return f"-- {why}{'; the role has this right already' if held else ''}\n{grant}"
