"""A table of some 100,000 rows whose changes make large batches, with the configuration of each strategy."""

from __future__ import annotations

import time
from collections.abc import Mapping
from random import Random
from typing import Any

from tests.support import wait_until
from tests.support.places import Place, Row
from tests.support.project import config
from tests.support.watched_polls import CLOCK, SETTLE, comes_to_rest, stamped, word

ROWS = 90_000
MOST = 160_000  # rows of the table of numbers
GROUPS = 50
COLUMNS = ("id", "v", "n", "amount", "x", "day", "seen", "raw")
SERVICES = ("at", "gone", "row_sum", "place")  # columns that streams of the table do not capture
SINKS = {"changes": {"type": "jsonl", "path": "out/changes"}, "lake": {"type": "parquet", "path": "out/lake"}}
TYPES = {
    "postgresql": {"at": "timestamptz", "seen": "timestamp", "raw": "bytea"},
    "mariadb": {"at": "timestamp(6)", "seen": "datetime(6)", "raw": "varbinary(16)"},
}
TYPES["mysql"] = TYPES["mariadb"]
HASH = {"postgresql": "decode(md5({}), 'hex')", "": "unhex(left(sha2({}, 256), 32))"}
TABLES = """
CREATE TABLE t (id bigint PRIMARY KEY, v varchar(60), n integer, amount decimal(14,3), x double precision, day date,
  seen {seen}, raw {raw}, at {at} NOT NULL, gone boolean NOT NULL DEFAULT false, row_sum bigint,
  place integer NOT NULL);
CREATE TABLE old (id bigint PRIMARY KEY, v varchar(60), n integer, amount decimal(14,3), x double precision, day date,
  seen {seen}, raw {raw}, place integer NOT NULL);
CREATE TABLE g (id integer PRIMARY KEY, name varchar(40), at {at} NOT NULL);
CREATE TABLE numbers (i integer PRIMARY KEY)
"""
TEXT = 'é "quoted" \\ \t\n \U0001f600 </script> '
VARIANTS: Mapping[str, tuple[str, ...]] = {
    "mds": ("table",),
    "ts": ("table", "spark"),
    "tdi": ("purged", "kept"),
    "tlcs": ("table", "column", "remote"),
    "vbd": ("compare", "delta", "checksum"),
}


def strategy_of(place: Place, name: str, variant: str) -> dict[str, Any]:
    """Return a strategy in one of its variants, as configuration."""
    if name == "ts":
        kept = {"replica": "spark"} if variant == "spark" else {}
        return stamped(place, "ts", deletes={"every": "1ms"}, **kept)
    if name == "tdi":
        return stamped(place, "tdi", purge=variant == "purged")
    if name == "tlcs":
        column = {"checksum_column": "row_sum"} if variant == "column" else {}
        return {"type": "tlcs", "checksums": variant, **column}
    if variant == "delta":
        stamps = {place.table(table): "at" for table in ("t", "g")}
        lag = {} if place.kind == "postgresql" else {"lag": "2ms"}
        how = {"type": "vbd", "variant": "delta", "timestamps": stamps, "margin": "1ms"}
        return {**how, **lag, "zone": "UTC", "deletes": {"every": "1ms"}}
    return {"type": name, **({"variant": variant} if name == "vbd" else {})}


class Table:
    """Table `t` with its changes, each in one transaction, and the rows that a stream of it must give.

    Attributes:
        columns: Names of the captured columns, the key first.
    """

    def __init__(self, place: Place, rng: Random, strategy: str, variant: str) -> None:
        self.place, self.rng, self.strategy = place, rng, strategy_of(place, strategy, variant)
        self.flagged, self.query = "delete_flag" in self.strategy, ""
        self.columns: tuple[str, ...] = COLUMNS
        if strategy == "vbd":
            self.columns = (*COLUMNS, "name")
            listed = ", ".join(f"t.{column}" for column in COLUMNS)
            joined = f"{place.table('t')} t JOIN {place.table('g')} g ON g.id = t.place"
            self.query = f"SELECT {listed}, g.name FROM {joined} WHERE NOT t.gone"
        self.now, self.hash = word(place, CLOCK), word(place, HASH)
        self._top = 0

    def configured(self, baseline: str) -> dict[str, Any]:
        """Return a project whose stream ``s`` is delivered to both sinks of files, by Spark."""
        of = {"query": self.query, "key": ["id"]} if self.query else {"table": self.place.table("t")}
        more = {} if self.query else {"exclude": list(SERVICES)}
        stream = {"name": "s", **of, **more, "strategy": self.strategy, "baseline": baseline}
        return config(
            self.place.url,
            {**stream, "engine": "spark", "retain": "0s"},
            sinks=SINKS,
            spark={"master": "local[2]", "conf": {"spark.driver.memory": "1g"}},
        )

    def create(self) -> None:
        """Make the tables and their first rows."""
        self.place.sql(TABLES.format(**TYPES[self.place.kind]))
        with self.place.connect() as conn:
            self.place.run(conn, "INSERT INTO numbers VALUES (1)")
            made = 1
            while made < MOST:
                self.place.run(conn, f"INSERT INTO numbers SELECT i + {made} FROM numbers")
                made *= 2
            self.place.run(conn, f"INSERT INTO g SELECT i, 'group', {self.now} FROM numbers WHERE i <= {GROUPS}")
            self._insert(conn, ROWS)
        self._settle()

    # -- changes -----------------------------------------------------------------------------------------------------
    def change(self, share: float = 1.0) -> None:
        """Insert, update and delete so many rows that a batch has some 60,000 to 150,000 events, or a share of them."""
        live = self.place.sql("SELECT count(*) FROM t WHERE NOT gone")[0][0]
        deleted, updated = (int(share * self.rng.randint(*some)) for some in ((150, 350), (450, 800)))
        inserted = int(share * self.rng.randint(25_000, 35_000 if live > ROWS else 60_000))
        self._top += self.rng.choice((0, 1, 1000))
        with self.place.connect() as conn:
            self._delete(conn, f"mod(id * 104729 + {self._salt()}, 1000) < {deleted}")
            self._update(conn, f"mod(id * 7919 + {self._salt()}, 1000) < {updated}")
            if self.query:
                name, group = f"'renamed {self._salt()}'", self.rng.randint(1, GROUPS)
                self.place.run(conn, f"UPDATE g SET name = {name}, at = {self.now} WHERE id = {group}")
            self._insert(conn, inserted)
        self._settle()

    def remember(self) -> None:
        """Remember the state, for `put_back`."""
        with self.place.connect() as conn:
            self.place.run(conn, "DELETE FROM old")
            self.place.run(conn, f"INSERT INTO old SELECT {', '.join(COLUMNS)}, place FROM t WHERE NOT gone")

    def put_back(self) -> None:
        """Put the table back to the state remembered; only the application's timestamps are new."""
        with self.place.connect() as conn:
            if self.flagged:
                self._delete(conn, "id NOT IN (SELECT id FROM old)")
                self.place.run(conn, "DELETE FROM t WHERE id IN (SELECT id FROM old)")
            else:
                self.place.run(conn, "DELETE FROM t")
            listed = ", ".join(COLUMNS)
            self.place.run(conn, f"INSERT INTO t ({listed}, place, at) SELECT {listed}, place, {self.now} FROM old")
        self._settle()

    def clean(self) -> None:
        """Remove dead rows, as a server does by itself where autovacuum is on."""
        if self.place.kind == "postgresql":
            self.place.sql("VACUUM")

    def _delete(self, conn: Any, where: str) -> None:
        delete = (
            f"UPDATE t SET gone = true, at = {self.now} WHERE NOT gone AND" if self.flagged else "DELETE FROM t WHERE"
        )
        self.place.run(conn, f"{delete} {where}")

    def _update(self, conn: Any, where: str) -> None:
        salt = self._salt()
        self.place.run(
            conn,
            f"UPDATE t SET v = CASE WHEN mod(id + {salt}, 17) = 0 THEN NULL ELSE concat(%s, '{salt} ', id) END, "
            f"n = mod(coalesce(n, 7) + {salt}, 100000), amount = amount + 0.125, x = (id + {salt}) * 0.37e0, "
            f"day = day + INTERVAL '1' DAY, seen = seen + INTERVAL '1' DAY, place = 1 + mod(id + {salt}, {GROUPS}), "
            f"at = {self.now} WHERE NOT gone AND {where}",
            [TEXT],
        )

    def _insert(self, conn: Any, count: int) -> None:
        first = self._top
        self._top += count
        raw = self.hash.format(f"concat('x', {first} + i)")
        self.place.run(
            conn,
            f"INSERT INTO t ({', '.join(COLUMNS)}, place, at) SELECT {first} + i, concat(%s, i), "
            f"CASE WHEN mod(i, 13) = 0 THEN NULL ELSE i END, i * 0.5, i * 1.1e0, DATE '2024-02-29', "
            f"TIMESTAMP '2024-02-29 12:30:00.123456', CASE WHEN mod(i, 11) = 0 THEN NULL ELSE {raw} END, "
            f"1 + mod(i, {GROUPS}), {self.now} FROM numbers WHERE i <= {count}",
            [TEXT],
        )

    def _salt(self) -> int:
        return self.rng.randrange(1, 100_000)

    def _settle(self) -> None:
        """Let the application's last timestamp pass, and MariaDB forget the session that wrote it."""
        time.sleep(SETTLE)
        if self.place.kind != "postgresql":
            wait_until(lambda: comes_to_rest(self.place), timeout=60, what="rest of the server")

    # -- the truth ---------------------------------------------------------------------------------------------------
    def source(self) -> dict[int, Row]:
        """Return the rows that a consumer must have, by key."""
        query = self.query or f"SELECT {', '.join(COLUMNS)} FROM t WHERE NOT gone"
        found: dict[int, Row] = {}
        for row in self.place.sql(query):
            found[row[0]] = tuple(bytes(value) if isinstance(value, memoryview) else value for value in row)
        return found
