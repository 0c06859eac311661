"""How far time-stamps that MariaDB or MySQL wrote are complete: the clock, then transactions and running statements.

InnoDB knows a transaction from its first look at a table on; one that is open and idle before that has no start that
could be seen, and its next statement may carry a time of its beginning that it kept. And what it says of transactions
may be a tenth of a second old, or older while others ask for it all the time. So the look alone bounds nothing.
"""

from __future__ import annotations

from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from qbcd.connectors.facts import HighWater

RIGHT = "PROCESS"  # to see the transactions of others
BLIND = "open transactions that have not touched a table of InnoDB yet are invisible"
# Their starts are whole seconds in the server's own zone, so they are read as ages against its clock in that zone.
_TRANSACTIONS = """
SELECT max(timestampdiff(MICROSECOND, trx_started, sysdate(6))) AS age FROM information_schema.innodb_trx
WHERE trx_mysql_thread_id <> connection_id()
"""
_CLOCK = "SELECT date_format(utc_timestamp(6), '%Y-%m-%d %H:%i:%s.%f')"
_STARTED = "SELECT date_format(utc_timestamp(6) - INTERVAL {age} MICROSECOND, '%Y-%m-%d %H:%i:%s.%f')"


def high_water(conn: Connection, statements: str) -> HighWater:
    """See :meth:`~qbcd.connectors.base.Connector.high_water`; needs PROCESS, without which the server refuses the look.

    Args:
        conn: A session; its time zone is put back.
        statements: SQL of the age in microseconds of the oldest statement that another session runs.
    """
    clock = str(conn.exec_driver_sql(_CLOCK, execution_options={"no_parameters": True}).scalar_one())
    conn.exec_driver_sql("SET time_zone = SYSTEM")
    try:
        ages = [conn.exec_driver_sql(sql).scalar_one() for sql in (_TRANSACTIONS, statements)]
    finally:
        conn.exec_driver_sql("SET time_zone = '+00:00'")
    known = [int(age) for age in ages if age is not None]
    oldest = None
    if known:
        started = _STARTED.format(age=max(0, *known) + 1_000_000)  # whole seconds may have been rounded either way
        oldest = str(conn.exec_driver_sql(started, execution_options={"no_parameters": True}).scalar_one())
    prepared = _prepared(conn)
    return HighWater(clock, oldest, f"{prepared} prepared transactions are open" if prepared else "", BLIND)


def _prepared(conn: Connection) -> int:
    """How many transactions wait prepared, also such as no session has any more; 0 where the role may not ask."""
    try:
        return len(conn.exec_driver_sql("XA RECOVER").all())
    except DBAPIError:
        return 0
