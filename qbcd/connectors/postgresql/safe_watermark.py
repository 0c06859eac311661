"""The safe high watermark of PostgreSQL: its clock, then open and prepared transactions.

Each is read by its own statement, in this order (docs/design/protocol.md#rule-6). A transaction that starts after the
clock was read can only write later times. One that is prepared between the second and the third statement is seen by
the third.
"""

from __future__ import annotations

from sqlalchemy.engine import Connection

from qbcd.connectors.facts import HighWater

RIGHT = "pg_read_all_stats"
HIDDEN = f"{{}} sessions do not show when they began ({RIGHT} shows those of other roles)"
_TEXT = "'YYYY-MM-DD HH24:MI:SS.US'"
# The server caches the list of its sessions until the transaction ends, or until the cache is cleared.
_CLOCK = f"""
SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', {_TEXT}) AS clock, pg_is_in_recovery() AS standby,
       pg_stat_clear_snapshot() AS forgotten
"""
# query_start: a statement reads the clock before its transaction is shown. Walsenders run a statement for days and show
# no transaction, although they may write. Parallel workers show their leader's start. Autovacuum writes no row.
# The start of a session is hidden if the role may not see it, if the session does not report it, or if it started to
# report only after its transaction had started.
_OPEN = f"""
SELECT to_char(min(CASE WHEN a.state = 'active' AND a.backend_type <> 'walsender'
                        THEN least(a.xact_start, a.query_start) ELSE a.xact_start END) AT TIME ZONE 'UTC',
               {_TEXT}) AS oldest,
       count(*) FILTER (
         WHERE a.state = 'disabled'
            OR a.backend_start IS NULL AND a.backend_type IS DISTINCT FROM 'walsender'
            OR a.xact_start IS NULL AND (
                 a.backend_xid IS NOT NULL
                 OR a.state LIKE 'idle in transaction%%' AND a.backend_type <> 'walsender')) AS hidden
FROM pg_stat_activity a JOIN pg_database d ON d.oid = a.datid
WHERE d.datname = current_database() AND a.pid <> pg_backend_pid()
  AND a.backend_type IS DISTINCT FROM 'autovacuum worker'
"""
_PREPARED = "SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()"


def sees_sessions(conn: Connection) -> bool:
    """See :meth:`~qbcd.connectors.watermarks.SupportsWatermarks.sees_sessions`."""
    return bool(conn.exec_driver_sql(f"SELECT pg_has_role(current_user, '{RIGHT}', 'USAGE')").scalar_one())


def high_water(conn: Connection) -> HighWater:
    """See :meth:`~qbcd.connectors.watermarks.SupportsWatermarks.high_water`."""
    now = conn.exec_driver_sql(_CLOCK).one()
    if now.standby:
        return HighWater(
            now.clock, None, blind="this server is a standby, which does not show the primary's transactions"
        )
    row = conn.exec_driver_sql(_OPEN, ()).one()
    prepared = conn.exec_driver_sql(_PREPARED).scalar_one()
    return HighWater(
        now.clock,
        row.oldest,
        held=f"{prepared} prepared transactions are open" if prepared else "",
        blind=HIDDEN.format(row.hidden) if row.hidden else "",
        lacks_right=bool(row.hidden) and not sees_sessions(conn),
    )
