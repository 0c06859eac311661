"""Fixes added to server errors, the same for each driver."""

from __future__ import annotations

import pytest

from qbcd.connectors import CONNECTORS
from qbcd.errors import SourceError

LOCK = "another session locks the table or its rows, for example for DDL; the next poll tries again"
FULL = "free space on the server's disk; the next poll starts from what was committed"
READ_ONLY = "the server accepts no writes: poll the primary, or use a strategy that only reads, such as id_rcs"
BETWEEN = "the server starts, stops or recovers; the next poll tries again"
OTHER = "this is the server's own message, and its log may contain more; the next poll tries again"


class Coded(Exception):
    """An error as psycopg2 raises it: the text, and a SQLSTATE."""

    def __init__(self, state: str, text: str) -> None:
        super().__init__(text)
        self.pgcode = state


def jdbc(text: str) -> Exception:
    return Exception(f"x: org.postgresql.util.PSQLException: ERROR: {text}\n  Detail: y")


@pytest.mark.parametrize(
    ("which", "error", "said", "remedy"),
    [
        ("postgresql", Coded("40P01", "deadlock detected\nDETAIL: x"), "deadlock detected", LOCK),
        ("postgresql", jdbc("deadlock detected"), "deadlock detected", LOCK),
        ("postgresql", Coded("40001", "could not serialize access due to concurrent update"), "could not ser", LOCK),
        ("postgresql", Coded("53100", 'could not extend file "base/1": No space left on device'), "extend file", FULL),
        ("postgresql", jdbc("could not write to file: No space left on device"), "could not write", FULL),
        ("postgresql", Coded("25006", "cannot execute INSERT in a read-only transaction"), "INSERT in", READ_ONLY),
        ("postgresql", Coded("0A000", "cannot set transaction read-write mode during recovery"), "recovery", READ_ONLY),
        ("postgresql", Exception("x failed: FATAL:  the database system is shutting down"), "cannot be reach", BETWEEN),
        ("postgresql", Exception("x: FATAL:  the database system is not yet accepting connections"), "yet", BETWEEN),
        ("postgresql", Coded("57P03", "the database system is starting up"), "starting up", BETWEEN),
        ("postgresql", Coded("22012", "division by zero"), "division by zero", OTHER),
        ("mariadb", Exception(1213, "Deadlock found when trying to get lock"), "Deadlock found", LOCK),
        ("mariadb", Exception(1020, "Record has changed since last read in table 't'"), "Record has changed", LOCK),
        ("mysql", Exception(1114, "The table 'replica_t' is full"), "is full", FULL),
        ("mysql", Exception("java.sql.SQLException: (conn=7) The table 'x' is full"), "is full", FULL),
        ("mysql", Exception(1290, "running with the --read-only option"), "--read-only", READ_ONLY),
        ("mariadb", Exception(1365, "Division by 0"), "Division by 0", OTHER),
    ],
)
def test_a_message_has_a_remedy(which: str, error: Exception, said: str, remedy: str) -> None:
    explained = CONNECTORS[which]().errors.explain_error(error, stream="s", source="shop (h:1)")
    assert type(explained) is SourceError
    assert said in explained.what
    assert "Detail" not in str(explained)
    assert explained.remedy == remedy
