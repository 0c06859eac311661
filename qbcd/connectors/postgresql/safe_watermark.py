"""The safe high watermark of PostgreSQL: its clock, then open and prepared transactions.

Each is read by its own statement, in this order (docs/design/protocol.md#rule-6). A transaction that starts after the
clock was read can only write later times. One that is prepared between the second and the third statement is seen by
the third. All three are sent together. The driver gives the rows of the last one only, so the first two leave theirs in
settings of the session.
"""

from __future__ import annotations

from sqlalchemy.engine import Connection

from qbcd.connectors.facts import HighWater
from qbcd.connectors.limited_drivers import run_with_next

RIGHT = "pg_read_all_stats"
HIDDEN = f"{{}} sessions do not show when they began ({RIGHT} shows those of other roles)"
_TEXT = "'YYYY-MM-DD HH24:MI:SS.US'"
# The server caches the list of its sessions until the transaction ends, or until the cache is cleared.
_CLOCK = f"""
SELECT set_config('qbcd.clock', to_char(clock_timestamp() AT TIME ZONE 'UTC', {_TEXT}), FALSE),
       pg_stat_clear_snapshot()
"""
# query_start: a statement reads the clock before its transaction is shown. Walsenders run a statement for days and show
# no transaction, although they may write. Parallel workers show their leader's start. Autovacuum writes no row.
# The start of a session is hidden if the role may not see it, if the session does not report it, or if it started to
# report only after its transaction had started.
_OPEN = f"""
SELECT set_config('qbcd.open', to_json(o)::text, FALSE) FROM (
SELECT to_char(min(CASE WHEN a.state = 'active' AND a.backend_type <> 'walsender'
                        THEN least(a.xact_start, a.query_start) ELSE a.xact_start END) AT TIME ZONE 'UTC',
               {_TEXT}) AS oldest,
       count(*) FILTER (
         WHERE a.state = 'disabled'
            OR a.backend_start IS NULL AND a.backend_type IS DISTINCT FROM 'walsender'
            OR a.xact_start IS NULL AND (
                 a.backend_xid IS NOT NULL
                 OR a.state LIKE 'idle in transaction%' AND a.backend_type <> 'walsender')) AS hidden
FROM pg_stat_activity a JOIN pg_database d ON d.oid = a.datid
WHERE d.datname = current_database() AND a.pid <> pg_backend_pid()
  AND a.backend_type IS DISTINCT FROM 'autovacuum worker'
) AS o
"""
_PREPARED = """
SELECT (SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()) AS prepared,
       current_setting('qbcd.clock') AS clock, current_setting('qbcd.open')::json AS open,
       pg_is_in_recovery() AS standby
"""


def sees_sessions(conn: Connection) -> bool:
    """See :meth:`~qbcd.connectors.watermarks.SupportsWatermarks.sees_sessions`."""
    return bool(conn.exec_driver_sql(f"SELECT pg_has_role(current_user, '{RIGHT}', 'USAGE')").scalar_one())


def high_water(conn: Connection) -> HighWater:
    """See :meth:`~qbcd.connectors.watermarks.SupportsWatermarks.high_water`."""
    for statement in (_CLOCK, _OPEN):
        run_with_next(conn, statement)
    now = conn.exec_driver_sql(_PREPARED).one()
    if now.standby:
        return HighWater(
            now.clock, None, blind="this server is a standby, which does not show the primary's transactions"
        )
    oldest, hidden = now.open["oldest"], int(now.open["hidden"])
    return HighWater(
        now.clock,
        oldest,
        held=f"{now.prepared} prepared transactions are open" if now.prepared else "",
        blind=HIDDEN.format(hidden) if hidden else "",
        lacks_right=bool(hidden) and not sees_sessions(conn),
    )
