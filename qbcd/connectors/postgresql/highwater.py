"""How far time-stamps that PostgreSQL wrote are complete: its clock first, then open transactions, then prepared ones.

Each is a statement of its own, in this order (protocol.md 6): a transaction that begins after the clock was read can
only write later times.
"""

from __future__ import annotations

from sqlalchemy.engine import Connection

from qbcd.connectors.base import HighWater

# A session that the role may not look into has no state; one whose tracking is off says so. Both hide their start.
_OPEN = """
SELECT min(xact_start)::text AS oldest,
       count(*) FILTER (WHERE backend_type <> 'walsender' AND (state IS NULL OR state = 'disabled')) AS hidden
FROM pg_stat_activity
WHERE datid IS NOT NULL AND pid <> pg_backend_pid()
"""


def high_water(conn: Connection) -> HighWater:
    """See :meth:`~qbcd.connectors.base.Connector.high_water`."""
    clock = str(conn.exec_driver_sql("SELECT clock_timestamp()::text").scalar_one())
    if conn.exec_driver_sql("SELECT pg_is_in_recovery()").scalar_one():
        return HighWater(clock, None, blind="this server is a standby, which does not show the primary's transactions")
    row = conn.exec_driver_sql(_OPEN).one()
    prepared = conn.exec_driver_sql("SELECT count(*) FROM pg_prepared_xacts").scalar_one()
    return HighWater(
        clock,
        row.oldest,
        held=f"{prepared} prepared transactions are open" if prepared else "",
        blind=f"{row.hidden} sessions do not show when they began (pg_read_all_stats shows them)" if row.hidden else "",
    )
