"""The demonstration's query, delays by airline and day, and the changes of its result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from psycopg2.extensions import connection, cursor

from qbcd.demo.flights import TableChanges

STREAM = "delays"
QUERY = """\
SELECT f.carrier, f.year, f.month, f.day, min(a.name) AS airline,
       count(*) AS flights, count(f.dep_time) AS departed,
       sum(f.arr_delay) AS minutes_late, sum(p.seats) AS seats,
       max(w.precip) AS rain
FROM public.flights AS f
JOIN public.airlines AS a ON a.carrier = f.carrier
LEFT JOIN public.planes AS p ON p.tailnum = f.tailnum
LEFT JOIN public.weather AS w
  ON w.origin = f.origin AND w.time_hour = f.time_hour
WHERE NOT a.is_deleted
GROUP BY f.carrier, f.year, f.month, f.day"""
_KEY = "carrier, year, month, day"


@contextmanager
def watched(conn: connection) -> Iterator[Callable[[], TableChanges]]:
    """In the block, return a function that counts the result's changes since the block began.

    The temporary table is dropped at the end.
    """
    with conn, conn.cursor() as cur:
        cur.execute(f"CREATE TEMPORARY TABLE delays_before AS {QUERY}")

    def changes() -> TableChanges:
        with conn, conn.cursor() as cur:
            cur.execute(f"CREATE TEMPORARY TABLE delays_after ON COMMIT DROP AS {QUERY}")
            return TableChanges(
                _count(cur, f"FROM delays_after WHERE ({_KEY}) NOT IN (SELECT {_KEY} FROM delays_before)"),
                _count(
                    cur, f"FROM delays_after AS a JOIN delays_before AS b USING ({_KEY}) WHERE a IS DISTINCT FROM b"
                ),
                _count(cur, f"FROM delays_before WHERE ({_KEY}) NOT IN (SELECT {_KEY} FROM delays_after)"),
            )

    yield changes
    with conn, conn.cursor() as cur:
        cur.execute("DROP TABLE delays_before")


def _count(cur: cursor, rows: str) -> int:
    cur.execute(f"SELECT count(*) {rows}")
    return int((cur.fetchone() or (0,))[0])
