"""Types of columns that get wider: a table with one column for each case, altered as a user alters it.

`WIDER` has the rows of the table of types in docs/how-to/schema-changes.md, `OTHERS` changes that are refused.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.oracle import Event, events
from tests.support.places import Place
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTLE = 0.02  # longer than margin and lag of `STRATEGIES`
STAMPED = {"type": "ts", "timestamp": "at", "margin": "1ms", "lag": "2ms"}
SMALL = {"rows_per_range": 2}
STRATEGIES: Mapping[str, Any] = {
    "mds": "mds",
    "id": {"type": "id", **SMALL},
    "tlcs": {"type": "tlcs", **SMALL},
    "tlcs_source": {"type": "tlcs", "replica": "source", **SMALL},
    "ts": STAMPED,
    "ts_keys": {**STAMPED, "replica": "keys"},
    "id_rcs": {"type": "id_rcs", **SMALL},
    "digest": {"type": "id_rcs", "replica": "digest", **SMALL},
    "hash": {"type": "id_rcs", "buckets": "hash", **SMALL},
    "tlcs_lake": {"type": "tlcs", "replica": "lake"},
    "remote": {"type": "tlcs", "checksums": "remote"},
    "ts_lake": {**STAMPED, "replica": "lake"},
    "page": {"type": "id_rcs", "buckets": "page"},
    "vbd": {"type": "vbd", "variant": "compare"},
}
IN_SOURCE = ("mds", "id", "tlcs", "tlcs_source", "ts", "ts_keys", "vbd")
WITH_ROWS = ("mds", "id", "tlcs_source", "ts", "id_rcs", "hash", "tlcs_lake", "ts_lake", "vbd")  # in their replica


@dataclass(frozen=True)
class Widening:
    """A change of a column's type that keeps its values.

    Attributes:
        then: The type of a new table.
        now: The type that it gets.
        held: SQL of values that both types hold; the first two differ.
        beyond: SQL of a value of the wider type alone, as different from `held` as a careless digest may confuse.
        in_key: A key column may have these types.
    """

    then: str
    now: str
    held: tuple[str, ...]
    beyond: str
    in_key: bool = False

    @property
    def label(self) -> str:
        """A name for test ids."""
        return f"{self.then} to {self.now}".replace(" ", "_").replace("'", "")


FIRST_OWN = 20  # the key of the first case's own row
LONG, FOLDED = f"'{'x' * 400}'", "4294967300"  # FOLDED: PostgreSQL's hash of it as a bigint is that of 5
LABELS = ",".join(f"'m{i}'" for i in range(2, 64))
WIDER: Mapping[str, Sequence[Widening]] = {
    "postgresql": (
        Widening("smallint", "integer", ("5", "-32768", "32767"), "40000", True),
        Widening("smallint", "bigint", ("5", "-32768", "32767"), FOLDED, True),
        Widening("integer", "bigint", ("5", "-2147483648", "2147483647"), FOLDED, True),
        Widening("varchar(10)", "varchar(500)", ("'5'", "'a '", "''"), LONG, True),
        Widening("varchar(10)", "varchar", ("'5'", "'a '", "''"), LONG, True),
        Widening("varchar(10)", "text", ("'5'", "'a '", "''"), LONG, True),
        Widening("numeric(8,2)", "numeric(14,2)", ("5.00", "-999999.99", "0.10"), "123456789012.34", True),
        Widening("numeric(40,2)", "numeric(50,2)", ("5.00", "-999999.99", "0.10"), f"{'9' * 45}.10", True),
        Widening(
            "timestamp(0)", "timestamp", ("'2024-02-29 10:00:00'", "'1999-01-01'"), "'2024-02-29 10:00:00.001'", True
        ),
        Widening(
            "timestamptz(3)",
            "timestamptz(6)",
            ("'2024-02-29 10:00:00.1+00'", "'1999-01-01 00:00+00'"),
            "'2024-02-29 10:00:00.100001+00'",
            True,
        ),
        Widening("time(0)", "time(6)", ("'10:00:00'", "'23:59:59'"), "'10:00:00.000001'", True),
        Widening("varbit(5)", "varbit(9)", ("B'101'", "B''"), "B'101010101'", True),
    ),
    "mariadb": (
        Widening("tinyint", "smallint", ("5", "-128", "127"), "300", True),
        Widening("tinyint(1)", "int", ("5", "0", "1"), "40000", True),
        Widening("smallint", "bigint", ("5", "-32768", "32767"), FOLDED, True),
        Widening("int", "bigint", ("5", "-2147483648", "2147483647"), FOLDED, True),
        Widening("int unsigned", "bigint", ("5", "0", "4294967295"), "4294967300", True),
        Widening("int unsigned", "bigint unsigned", ("5", "0", "4294967295"), "18446744073709551615", True),
        Widening("tinyint unsigned", "smallint", ("5", "0", "255"), "-1", True),
        Widening("varchar(10)", "varchar(60)", ("'5'", "'a '", "''"), f"'{'x' * 60}'", True),
        Widening("varchar(10)", "varchar(500)", ("'5'", "'a '", "''"), LONG, True),
        Widening("varchar(100)", "varchar(500)", ("'5'", "'a '", f"'{'x' * 99}'"), LONG),
        Widening("varchar(10)", "text", ("'5'", "'a '", "''"), LONG),
        Widening("tinytext", "longtext", ("'5'", "'a '", "''"), LONG),
        Widening("char(5)", "char(9)", ("'5'", "'a'", "''"), "'5     x'", True),
        Widening("char(5)", "varchar(90)", ("'5'", "'a'", "''"), "'a         b '", True),
        Widening("varbinary(10)", "varbinary(400)", ("x'05'", "x'00'", "''"), f"x'{'00' * 300}'"),
        Widening("tinyblob", "blob", ("x'05'", "x'00'", "''"), f"x'{'00' * 300}'"),
        Widening("decimal(8,2)", "decimal(14,2)", ("5.00", "-999999.99", "0.10"), "123456789012.34", True),
        Widening("decimal(40,2)", "decimal(50,2)", ("5.00", "-999999.99", "0.10"), f"{'9' * 45}.10", True),
        Widening("enum('a','b')", "enum('a','b','c')", ("'b'", "'a'"), "'c'", True),
        Widening(
            r"enum('a''','b\\')", rf"enum('a''','b\\','{'x' * 100}')", (r"'b\\'", "'a'''"), f"'{'x' * 100}'", True
        ),
        Widening("set('a','b')", f"set('a','b',{LABELS})", ("'a,b'", "''"), "'a,m9,m63'", True),
        Widening("bit(5)", "bit(12)", ("b'101'", "b'0'"), "b'100000000101'", True),
    ),
}
OTHERS: Mapping[str, Sequence[tuple[str, str, str]]] = {  # old type, new type, value
    "postgresql": (
        ("bigint", "integer", "5"),
        ("integer", "numeric(12,0)", "5"),
        ("integer", "text", "5"),
        ("varchar(10)", "varchar(5)", "'5'"),
        ("text", "varchar(10)", "'5'"),
        ("char(5)", "char(9)", "'5'"),
        ("char(5)", "varchar(9)", "'5'"),
        ("numeric(8,2)", "numeric(14,4)", "5"),
        ("numeric(8,2)", "numeric(9,3)", "5"),
        ("numeric(8,2)", "numeric", "5"),
        ("numeric(8,2)", "numeric(40,2)", "5"),
        ("date", "timestamp", "'2024-01-01'"),
        ("timestamp", "timestamptz", "'2024-01-01'"),
        ("real", "double precision", "0.1"),
        ("varchar(10)", 'varchar(20) COLLATE "C"', "'5'"),
    ),
    "mariadb": (
        ("bigint", "int", "5"),
        ("int", "int unsigned", "5"),
        ("int", "bigint unsigned", "5"),
        ("int(5) zerofill", "bigint(9) zerofill", "5"),
        ("int", "decimal(12,0)", "5"),
        ("varchar(10)", "varchar(5)", "'5'"),
        ("varchar(10)", "char(20)", "'5'"),
        ("varchar(10)", "varchar(20) CHARACTER SET latin1", "'5'"),
        ("binary(5)", "binary(9)", "'5'"),
        ("decimal(8,2)", "decimal(14,4)", "5"),
        ("decimal(8,2)", "decimal(40,2)", "5"),
        ("date", "datetime", "'2024-01-01'"),
        ("datetime", "datetime(6)", "'2024-01-01'"),
        ("float", "double", "0.1"),
        ("enum('a','b')", "enum('a','c','b')", "'b'"),
    ),
}


def kind_of(place: Place) -> str:
    """Return the kind whose rows a place has."""
    return "postgresql" if place.kind == "postgresql" else "mariadb"


def wider_key(place: Place) -> Widening:
    """Return the case of a key that is an integer, and then a bigint."""
    return next(c for c in WIDER[kind_of(place)] if c.then in ("integer", "int") and c.now == "bigint")


def alter(place: Place, table: str, columns: Mapping[str, str], *, required: Sequence[str] = ()) -> str:
    """Return ALTER TABLE that gives columns other types."""
    if place.kind == "postgresql":
        return f"ALTER TABLE {table} " + ", ".join(f"ALTER COLUMN {c} TYPE {kind}" for c, kind in columns.items())
    parts = (f"MODIFY COLUMN {c} {k} {'NOT NULL' if c in required else 'NULL'}" for c, k in columns.items())
    return f"ALTER TABLE {table} {', '.join(parts)}"


class WideTable:
    """A table `t` with a key and one column for each case: rows of held values, one for each case, and one of NULL.

    Args:
        place: The database.
        cases: The cases.
        key: The case of the key column `id`; its values are 1, 2 and so on. None: an integer that stays.
    """

    def __init__(self, place: Place, cases: Sequence[Widening], key: Widening | None = None) -> None:
        self.place, self.cases, self.key = place, cases, key
        at = "timestamptz NOT NULL DEFAULT clock_timestamp()"
        if place.kind != "postgresql":
            at = "timestamp(6) NOT NULL DEFAULT now(6) ON UPDATE now(6)"
        columns = "".join(f", c{i} {case.then}" for i, case in enumerate(cases))
        place.sql(f"CREATE TABLE t (id {key.then if key else 'int'} NOT NULL PRIMARY KEY{columns}, at {at})")
        self.names = [f"c{i}" for i in range(len(cases))]
        rows = max(len(case.held) for case in cases) if cases else 3
        for row in range(rows):
            self._insert(str(row + 1), [case.held[row % len(case.held)] for case in cases])
        self._insert("9", ["NULL"] * len(cases))
        for i in range(len(cases)):
            self._insert(str(FIRST_OWN + i), [case.held[0] for case in cases])

    @classmethod
    def of(cls, place: Place) -> WideTable:
        """Return the scene of a table `t` that exists."""
        made = cls.__new__(cls)
        made.place, made.cases, made.key, made.names = place, [], None, []
        return made

    def _insert(self, key: str, values: Sequence[str]) -> None:
        names, sql = ", ".join(["id", *self.names]), ", ".join([key, *values])
        self.place.sql(f"INSERT INTO t ({names}) VALUES ({sql})")

    def widen(self) -> None:
        """Give all columns their wider types."""
        wanted = {name: case.now for name, case in zip(self.names, self.cases, strict=True)}
        if self.key:
            wanted["id"] = self.key.now
        self.place.sql(alter(self.place, "t", wanted, required=["id"]))

    def retype(self, column: str, kind: str) -> None:
        """Give one column another type."""
        self.place.sql(alter(self.place, "t", {column: kind}, required=["id"]))

    def touch(self, key: str, column: str, value: str) -> None:
        """Update one value, and the row's timestamp."""
        self.place.sql(f"UPDATE t SET {column} = {value}, at = {self._clock} WHERE id = {key}")

    @property
    def _clock(self) -> str:
        return "clock_timestamp()" if self.place.kind == "postgresql" else "now(6)"

    def use(self) -> None:
        """Write what only the wider types hold: into one row for each case, and a new row."""
        updates = [
            f"UPDATE t SET {name} = {case.beyond}, at = {self._clock} WHERE id = {FIRST_OWN + i}"
            for i, (name, case) in enumerate(zip(self.names, self.cases, strict=True))
        ]
        if updates:
            self.place.sql("; ".join(updates))
        self._insert(self.key.beyond if self.key else "77", [case.beyond for case in self.cases])

    def used(self, found: Sequence[Event]) -> bool:
        """Return True if the events are those of `use`, each with its own column alone."""
        updates = [(e["key"]["id"], e["changed"]) for e in found if e["op"] == "u"]
        unknown = all(changed is None for _, changed in updates)  # without old values
        wanted = [(FIRST_OWN + i, None if unknown else [name]) for i, name in enumerate(self.names)]
        return sorted(updates) == wanted and [e["op"] for e in found if e["op"] != "u"] == ["c"]


class WideStream:
    """A stream `s` on a `WideTable`, with a file of events and targets, polled step by step.

    Args:
        wide: The table.
        folder: The project's folder.
        strategy: As configuration.
        sinks: Further sinks, by name.
        spark: The session of streams whose engine is Spark.
        more: Further keys of the table's configuration.
    """

    def __init__(
        self,
        wide: WideTable,
        folder: Path,
        strategy: Any,
        sinks: Mapping[str, Any] | None = None,
        spark: SparkSession | None = None,
        **more: Any,
    ) -> None:
        self.wide, self.folder, self.place, self.spark = wide, folder, wide.place, spark
        self.sinks = {"changes": {"type": "jsonl", "path": "out/changes"}, **(sinks or {})}
        about = {"table": self.place.table("t"), "exclude": ["at"], **more}
        if isinstance(strategy, dict) and strategy["type"] == "vbd":
            listed = ", ".join(["id", *wide.names])
            query = f"SELECT {listed} FROM {self.place.table('t')} WHERE at IS NOT NULL"
            about |= {"table": None, "exclude": None, "query": query}
        self.about = {key: value for key, value in about.items() if value is not None}
        self.streams = [{"name": "s", "strategy": strategy, **self.about}]
        self.reopen()
        time.sleep(SETTLE)
        self.project.stream("s").prepare()
        self.read = len(events(folder / "out" / "changes", "s"))  # of a baseline that targets get too

    def __enter__(self) -> WideStream:
        return self

    def __exit__(self, *error: object) -> None:
        self.project.close()

    @property
    def data(self) -> dict[str, Any]:
        """The project's configuration."""
        return config(self.place.url, *self.streams, sinks=self.sinks)

    def reopen(self) -> None:
        """Open the project, as a process that starts."""
        self.project = opened(self.data, self.folder, self.spark)

    def poll(self, **options: Any) -> list[Event]:
        """Poll once; return the new events."""
        time.sleep(SETTLE)
        outcome = poll(self.project, "s", **options)[0]
        assert outcome.report is not None
        self.warnings = outcome.report.warnings
        found = events(self.folder / "out" / "changes", "s")
        fresh, self.read = found[self.read :], len(found)
        return fresh

    def verify(self) -> list[Any]:
        """Return the differences between replica and source."""
        return list(self.project.stream("s").verify())

    def prepare_again(self) -> None:
        """Prepare a second stream `again` on the table as it is now, with the same sinks."""
        self.project.close()
        strategy = self.streams[0]["strategy"] if "query" in self.about else "mds"
        self.streams.append({"name": "again", "strategy": strategy, **self.about, "baseline": "events"})
        self.reopen()
        self.project.stream("again").prepare()
