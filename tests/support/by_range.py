"""A reader that stands still in the middle of its statement, and a PostgreSQL connector that exports no snapshot."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from qbcd.connectors.postgresql import PostgreSQL
from qbcd.connectors.sessions import SupportsSnapshots
from tests.support import connect, sql, wait_until

GATE = 77
# Keeps the statement that reads row `stop` waiting as long as somebody holds the lock, its snapshot taken before.
GATED = f"""
CREATE TABLE stop (id integer);
CREATE FUNCTION gate(row_id integer) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF EXISTS (SELECT FROM public.stop WHERE id = row_id) THEN
    PERFORM pg_catalog.pg_advisory_lock_shared({GATE});
    PERFORM pg_catalog.pg_advisory_unlock_shared({GATE});
  END IF;
  RETURN true;
END $$
"""
WAITING = """
SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database
WHERE l.locktype = 'advisory' AND NOT l.granted AND d.datname = current_database()
"""


class ByRange(PostgreSQL):
    """PostgreSQL without its exported snapshots, and with statements that answer for two ranges at most."""

    ranges_per_statement = 2

    def __init__(self) -> None:
        super().__init__()
        self.abilities = tuple(one for one in self.abilities if not isinstance(one, SupportsSnapshots))


class OneByOne(ByRange):
    """A statement for every range."""

    ranges_per_statement = 1


class Gate:
    """The gate, closed: whoever reads the row waits."""

    def __init__(self, conn: Any) -> None:
        self.conn = conn
        self.close()

    def close(self) -> None:
        """Waits until nobody is inside."""
        self._run(f"SELECT pg_advisory_lock({GATE})")

    def once(self, url: str, action: Callable[[], object]) -> None:
        """Does `action` while somebody waits, lets him go on, and closes again."""
        wait_until(lambda: bool(sql(url, WAITING)), what="a reader at the gate")
        action()
        # as one message, so that nobody comes in between
        self._run(f"SELECT pg_advisory_unlock({GATE}); SELECT pg_advisory_lock({GATE})")

    def open(self) -> None:
        """For good."""
        self._run(f"SELECT pg_advisory_unlock({GATE})")

    def _run(self, statements: str) -> None:
        with self.conn.cursor() as cursor:
            cursor.execute(statements)


@contextmanager
def meanwhile(url: str, *actions: Callable[[], object]) -> Iterator[None]:
    """While the block runs: each of `actions` while the next statement waits at the gate; then the gate is open."""
    failed: list[BaseException] = []

    def work() -> None:
        try:
            for action in actions:
                gate.once(url, action)
        except BaseException as error:  # noqa: BLE001 -- told to the test below
            failed.append(error)
        finally:
            gate.open()

    with connect(url, autocommit=True) as conn:
        gate = Gate(conn)
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            yield
        finally:
            thread.join(60)
    assert not failed, failed
    assert not thread.is_alive()
