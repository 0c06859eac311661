"""A reader that waits inside its statement, and PostgreSQL without exported snapshots."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from qbcd.connectors.postgresql import PostgreSQL
from qbcd.connectors.sessions import SupportsSnapshots
from tests.support import connect, sql, wait_until

GATE = 77
# The statement that reads the row in `stop` waits while somebody holds the lock. Its snapshot was taken before.
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
    """PostgreSQL without exported snapshots; a statement reads at most two ranges."""

    ranges_per_statement = 2

    def __init__(self) -> None:
        super().__init__()
        self.abilities = tuple(one for one in self.abilities if not isinstance(one, SupportsSnapshots))


class OneByOne(ByRange):
    """The same with one statement per range."""

    ranges_per_statement = 1


class Gate:
    """A gate, closed at first: a statement that reads the row in `stop` waits at it."""

    def __init__(self, conn: Any) -> None:
        self.conn = conn
        self.close()

    def close(self) -> None:
        """Wait until no statement is inside, and close the gate."""
        self._run(f"SELECT pg_advisory_lock({GATE})")

    def once(self, url: str, action: Callable[[], object]) -> None:
        """Run `action` while a statement waits, let that statement pass, and close the gate again."""
        wait_until(lambda: bool(sql(url, WAITING)), what="a reader at the gate")
        action()
        # in one message, so that no other statement passes in between
        self._run(f"SELECT pg_advisory_unlock({GATE}); SELECT pg_advisory_lock({GATE})")

    def open(self) -> None:
        """Open the gate for good."""
        self._run(f"SELECT pg_advisory_unlock({GATE})")

    def _run(self, statements: str) -> None:
        with self.conn.cursor() as cursor:
            cursor.execute(statements)


@contextmanager
def meanwhile(url: str, *actions: Callable[[], object]) -> Iterator[None]:
    """Run each of `actions` while the next statement waits at the gate; then open the gate."""
    failed: list[BaseException] = []

    def work() -> None:
        try:
            for action in actions:
                gate.once(url, action)
        except BaseException as error:  # noqa: BLE001 -- raised in the test below
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
