"""Targets of table sinks drawn at random: a stream, options of its sink, and a table that exists before.

The rows of the batches satisfy the constraints that are drawn, so that a target is either refused before the first
batch, or takes every one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from qbcd.model import PlannedBatch, Travel
from tests.support.table_batches import EPOCH, MadeBatch, Row, batch_of, planned
from tests.support.table_targets import TargetPlace

KINDS = ("postgresql", "mariadb", "sqlite", "duckdb")
NAMES = (
    *("v", "w", "Order", "order", "a b", "x`y", 'q"t', "p%s", "c:d", "é", "e", "я" * 40, "n" * 63, "n" * 64, "m" * 70),
    *("select", "?q", "$1", "a.b", "tab\there"),
)
ODD_NAMES = ("😀", "qbcd_op", "is_deleted", "valid_to", "batch_seq", "ctid", "trail ", "DB_ROW_ID", "v" + "n" * 62)
TABLES = ("t", "Orders", "a b", "x`y", 'q"t', "p%s", "c:d", "é")
ODD_TABLES = ("sqlite_t", "qbcd_sink", "QBCD_STAGE", "я" * 40, "t" * 70, "😀", "trail ")
FORMS = {
    "int": Travel("int32"),
    "big": Travel("int64"),
    "text": Travel("text"),
    "dec": Travel("decimal", 12, 2),
    "float": Travel("float64"),
    "bool": Travel("boolean"),
    "day": Travel("date"),
    "at": Travel("timestamp"),
    "zone": Travel("timestamptz"),
    "raw": Travel("binary"),
}
TYPES = {
    kind: dict(zip(FORMS, text.split(";"), strict=True))
    for kind, text in {
        "postgresql": "int;bigint;text;numeric(12,2);double precision;boolean;date;timestamp;timestamptz;bytea",
        "mariadb": "int;bigint;longtext;decimal(12,2);double;tinyint(1);date;datetime(6);datetime(6);longblob",
        "sqlite": "integer;integer;text;text;real;boolean;text;text;text;blob",
        "duckdb": "INTEGER;BIGINT;VARCHAR;DECIMAL(12,2);DOUBLE;BOOLEAN;DATE;TIMESTAMP;TIMESTAMPTZ;BLOB",
    }.items()
}
KEY_TEXT = {"mariadb": "varchar(300)"}
OTHER_TYPES = {
    "postgresql": ("smallint", "varchar(9)", "bigint", "numeric", "jsonb", "char(9)"),
    "mariadb": ("smallint", "varchar(9)", "bigint", "json", "char(9)", "text CHARACTER SET latin1", "bigint unsigned"),
    "sqlite": ("varchar(9)", "int", "numeric", "text COLLATE NOCASE"),
    "duckdb": ("SMALLINT", "HUGEINT", "BIGINT", "VARCHAR COLLATE NOCASE", "FLOAT"),
}


@dataclass
class Drawn:
    """A drawn target.

    Attributes:
        planned: The facts of the batches.
        options: Options of the sink.
        ddl: Statements that make what exists before.
        own: Names of the user's own columns in which values are written after the baseline, with SQL of a value.
        others: The user's other tables.
        facts: What was drawn, in words.
        kinds: The kind of each captured column.
        wider: A column that gets a wider type in the source, int to bigint, with the third batch; usually empty.
    """

    planned: PlannedBatch
    options: dict[str, Any]
    table: str
    ddl: list[str] = field(default_factory=list)
    own: dict[str, str] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)
    wider: str = ""

    def widen(self) -> None:
        """Let the source alter the type of the column `wider`."""
        self.kinds[self.wider] = "big"
        columns = ((name, FORMS["big"] if name == self.wider else form) for name, form in self.planned.columns)
        self.planned = replace(self.planned, columns=tuple(columns))


class TargetDrawing:
    """Draws one target.

    Args:
        seed: Decides everything.
        place: The database, of which quotes and kind are used.
    """

    def __init__(self, seed: int, place: TargetPlace) -> None:
        self.random, self.place, self.kind = random.Random(seed), place, place.kind

    def draw(self) -> Drawn:
        """Return a target."""
        names = self._names(self.random.randint(3, 5))
        keys = self.random.choice([1, 1, 2])
        kinds = {
            name: self.random.choice(["int", "big", "text"] if i < keys else list(FORMS))
            for i, name in enumerate(names)
        }
        table = self.random.choice(TABLES if self._chance(0.85) else ODD_TABLES)
        facts = planned(
            {name: FORMS[kinds[name]] for name in names},
            names[:keys],
            consistency=self.random.choice(["snapshot", "snapshot", "range"]),
            nullable=frozenset(name for name in names[keys:] if self._chance(0.6)),
        )
        drawn = Drawn(facts, self._options(table), table, kinds=kinds)
        if self._chance(0.75):
            self._existing(drawn)
        named = " ".join([*drawn.facts, *drawn.ddl])
        plain = [name for name in names[keys:] if kinds[name] == "int" and f"{name} is" not in named]
        if plain and self._chance(0.5):
            drawn.wider = plain[0]
        return drawn

    def _chance(self, share: float) -> bool:
        return self.random.random() < share

    def _names(self, count: int) -> list[str]:
        pool = [*NAMES, *([self.random.choice(ODD_NAMES)] if self._chance(0.2) else [])]
        if self._chance(0.6):
            pool = [name for name in pool if len(name) < 40 and name not in ("Order", "é")]
        return self.random.sample(pool, count)

    def _options(self, table: str) -> dict[str, Any]:
        found: dict[str, Any] = self.random.choice(
            [
                *[{}] * 6,
                {"deletes": "soft"},
                {"mode": "scd2"},
                {"mode": "log"},
                {"mode": "log", "envelope": self.random.choice(["debezium", "changes"])},
            ]
        )
        return {**found, "table": table.replace("{", "{{").replace("}", "}}")}

    # -- the table that exists ---------------------------------------------------------------------------------------
    def _existing(self, drawn: Drawn) -> None:
        """Make the statements for a table that fits, and change some things about it."""
        planned, quote = drawn.planned, self.place.quote
        if self._chance(0.05):
            drawn.ddl.append(f"CREATE VIEW {quote(drawn.table)} AS SELECT 1 AS {quote(planned.columns[0][0])}")
            drawn.facts.append("a view")
            return
        columns = {name: self._column(drawn, name) for name, _ in planned.columns}
        if drawn.options.get("mode") in ("scd2", "log") or "deletes" in drawn.options:
            columns = {name: columns[name] for name in planned.key} if self._chance(0.3) else {}
            if not columns:
                drawn.facts.append("no table")
                return
        if drawn.options.get("mode") is None and self._chance(0.15):
            columns.pop(planned.columns[-1][0], None)
            drawn.facts.append("a column is missing")
        for n in range(self.random.choice([0, 0, 1, 2])):
            columns[f"own{n}"] = self._own(drawn, f"own{n}")
        parts = [f"{quote(name)} {text}" for name, text in columns.items()]
        parts += self._constraints(drawn, columns)
        end = ""
        if self.kind == "mariadb":
            engine = "MyISAM" if self._chance(0.05) else "InnoDB"
            end = f" ENGINE = {engine} DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin"
        begin = "CREATE UNLOGGED TABLE" if self.kind == "postgresql" and self._chance(0.05) else "CREATE TABLE"
        drawn.ddl.append(f"{begin} {quote(drawn.table)} ({', '.join(parts)}){end}")
        self._after(drawn, columns)

    def _type(self, drawn: Drawn, name: str) -> str:
        kind = drawn.kinds[name]
        if kind == "text" and name in drawn.planned.key:
            return KEY_TEXT.get(self.kind, TYPES[self.kind][kind])
        return TYPES[self.kind][kind]

    def _column(self, drawn: Drawn, name: str) -> str:
        """Return the definition of a captured column."""
        text, in_key = self._type(drawn, name), name in drawn.planned.key
        if self._chance(0.06):
            other = self.random.choice(OTHER_TYPES[self.kind])
            drawn.facts.append(f"{name} is {other}")
            text = other
        elif not in_key and self._chance(0.06):
            drawn.facts.append(f"{name} is generated")
            stored = " STORED" if self.kind == "postgresql" else ""
            return f"{text} GENERATED ALWAYS AS (NULL){stored}"
        if in_key and self.kind != "duckdb":
            return f"{text} NOT NULL"
        if not in_key and self._chance(0.15):
            drawn.facts.append(f"{name} is NOT NULL")
            return f"{text} NOT NULL"
        if self._chance(0.1) and drawn.kinds[name] in ("int", "big") and not in_key:
            drawn.facts.append(f"{name} is by default 7")
            return f"{text} DEFAULT 7"
        return text

    def _own(self, drawn: Drawn, name: str) -> str:
        """Return the definition of a column of the user's own."""
        text = TYPES[self.kind]["int"]
        choice = self.random.choice(["nullable", "nullable", "default", "required", "generated", "numbered"])
        drawn.facts.append(f"{name} is {choice}")
        if choice == "nullable":
            drawn.own[name] = "42"
            return text
        if choice == "default":
            drawn.own[name] = "43"
            return f"{text} DEFAULT 5" if self._chance(0.5) else f"{text} NOT NULL DEFAULT 5"
        if choice == "required":
            return f"{text} NOT NULL"
        if choice == "generated":
            stored = " STORED" if self.kind == "postgresql" else ""
            return f"{text} GENERATED ALWAYS AS (1 + 1){stored}"
        numbered = {
            "postgresql": "int GENERATED ALWAYS AS IDENTITY",
            "mariadb": "int AUTO_INCREMENT UNIQUE",
            "sqlite": "integer",
            "duckdb": "INTEGER DEFAULT nextval('numbers')",
        }
        if self.kind == "duckdb":
            drawn.ddl.append("CREATE SEQUENCE numbers")
        return numbered[self.kind]

    def _constraints(self, drawn: Drawn, columns: dict[str, str]) -> list[str]:
        planned, quote, found = drawn.planned, self.place.quote, []
        key = list(planned.key)
        if self._chance(0.06):
            key = key[:-1]
            drawn.facts.append("another key")
        if key:
            word = "UNIQUE" if self._chance(0.1) else "PRIMARY KEY"
            found.append(f"{word} ({', '.join(map(quote, key))})")
        unique = [name for name in columns if drawn.kinds.get(name) in ("int", "big") and name not in planned.key]
        if unique and self._chance(0.2):
            drawn.facts.append(f"{unique[0]} is unique")
            found.append(f"UNIQUE ({quote(unique[0])})")
        if unique and self._chance(0.2):
            drawn.facts.append(f"check on {unique[-1]}")
            found.append(f"CHECK ({quote(unique[-1])} > -1)")
        return found

    def _after(self, drawn: Drawn, columns: dict[str, str]) -> None:
        """Add the user's other tables, and what else may be there."""
        planned, quote = drawn.planned, self.place.quote
        key = planned.key[0]
        whole = len(planned.key) == 1 and "another key" not in drawn.facts and drawn.kinds[key] != "text"
        if whole and self._chance(0.3) and not any("is generated" in one or key in one for one in drawn.facts):
            action = self.random.choice(["", " ON DELETE CASCADE"]) if self.kind != "duckdb" else ""
            engine = " ENGINE = InnoDB" if self.kind == "mariadb" else ""
            table = quote(drawn.table)
            drawn.facts.append(f"a table refers to it{action}")
            drawn.others.append("note")
            kind = TYPES[self.kind][drawn.kinds[key]]
            drawn.ddl.append(
                f"CREATE TABLE note (n int PRIMARY KEY, about {kind}, "
                f"FOREIGN KEY (about) REFERENCES {table} ({quote(key)}){action}){engine}"
            )
        else:
            drawn.others.append("note")
            drawn.ddl.append("CREATE TABLE note (n int PRIMARY KEY, about int)")
        if self._chance(0.04):
            listed = [name for name, text in columns.items() if "GENERATED" not in text and "AUTO" not in text]
            ones = ", ".join(self._literal(drawn, name) for name in listed)
            drawn.facts.append("it has a row")
            drawn.ddl.append(f"INSERT INTO {quote(drawn.table)} ({', '.join(map(quote, listed))}) VALUES ({ones})")

    def _literal(self, drawn: Drawn, name: str) -> str:
        kind = drawn.kinds.get(name, "int")
        texts = {"day": "'2024-01-01'", "at": "'2024-01-01 00:00:00'", "zone": "'2024-01-01 00:00:00'"}
        return texts.get(kind, {"text": "'1'", "bool": "true", "raw": "NULL"}.get(kind, "1"))


class DrawnHistory:
    """Batches for a drawn target. The first two rows stay, and their keys too.

    Attributes:
        rows: The rows now, by key.
    """

    def __init__(self, seed: int, drawn: Drawn) -> None:
        self.random, self.drawn, self.rows = random.Random(seed), drawn, dict[tuple[Any, ...], Row]()
        self._next = 0

    def batches(self, count: int) -> Iterator[MadeBatch]:
        """Yield a baseline and batches of inserts, updates and deletes."""
        for _ in range(6):
            self._insert()
        yield self._batch([self._event("r", None, row) for row in self.rows.values()], 1)
        for number in range(2, count + 2):
            if number == 3 and self.drawn.wider:
                self.drawn.widen()
            before = {key: dict(row) for key, row in self.rows.items()}
            for _ in range(self.random.randint(2, 5)):
                self.random.choice([self._insert, self._update, self._update, self._delete, self._swap, self._rekey])()
            yield self._batch([*self._changes(before)], number)

    def _changes(self, before: dict[tuple[Any, ...], Row]) -> Iterator[Row]:
        for key, row in before.items():
            if key not in self.rows:
                yield self._event("d", row, None)
        for key, row in self.rows.items():
            if key in before and before[key] != row:
                yield self._event("u", before[key], row)
        for key, row in self.rows.items():
            if key not in before:
                yield self._event("c", None, row)

    def _batch(self, events: list[Row], number: int) -> MadeBatch:
        planned = self.drawn.planned
        counts = {op: n for op in "cudr" if (n := sum(event["op"] == op for event in events))}
        made = batch_of([], number, key=planned.key, columns=planned.columns, consistency=planned.consistency)
        source: Row = {"name": "shop", "table": "public.orders", "strategy": "mds"}
        source |= {"consistency": planned.consistency}
        source |= {"epoch": EPOCH, "batch_seq": number}
        for n, event in enumerate(events):
            event |= {"changed": None, "reason": None, "pair_id": None, "source": source, "ts_ms": made.header.ts_ms}
            event["event_id"] = f"orders:{EPOCH}:{number}:{n}"
        return MadeBatch(replace(made.header, counts=counts), events)

    def _event(self, op: str, before: Row | None, after: Row | None) -> Row:
        image = after or before
        assert image is not None
        return {
            "op": op,
            "key": {name: image[name] for name in self.drawn.planned.key},
            "before": before,
            "after": after,
        }

    def _insert(self) -> None:
        row = {name: self._value(name) for name, _ in self.drawn.planned.columns}
        self.rows[self._key(row)] = row

    def _key(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in self.drawn.planned.key)

    def _free(self) -> list[tuple[Any, ...]]:
        """Return the keys that other tables do not refer to."""
        return list(self.rows)[2:]

    def _update(self) -> None:
        key = self.random.choice(list(self.rows))
        names = [name for name, _ in self.drawn.planned.columns if name not in self.drawn.planned.key]
        name = self.random.choice(names)
        self.rows[key] = {**self.rows[key], name: self._value(name)}

    def _delete(self) -> None:
        if self._free():
            del self.rows[self.random.choice(self._free())]

    def _rekey(self) -> None:
        if self._free():
            row = self.rows.pop(self.random.choice(self._free()))
            row = {**row, **{name: self._value(name) for name in self.drawn.planned.key}}
            self.rows[self._key(row)] = row

    def _swap(self) -> None:
        """Let two rows swap all values but their keys."""
        first, second = self.random.sample(list(self.rows), 2)
        key = self.drawn.planned.key
        one, two = self.rows[first], self.rows[second]
        self.rows[first] = {name: one[name] if name in key else two[name] for name in one}
        self.rows[second] = {name: two[name] if name in key else one[name] for name in two}

    def _value(self, name: str) -> Any:
        """Return a value that no other row has, where the type has so many."""
        self._next += 1
        n, kind = self._next, self.drawn.kinds[name]
        if name in self.drawn.planned.nullable and self.random.random() < 0.2:
            return None
        values: dict[str, Any] = {
            "int": n,
            "big": n + 10**12,
            "text": f"{'Vv'[n % 2]}{n // 2}",  # two that differ in case
            "dec": Decimal(n).scaleb(-2).quantize(Decimal("0.01")),
            "float": n / 4,
            "bool": n % 2 == 0,
            "day": date(2024, 1, 1) + timedelta(days=n),
            "at": datetime(2024, 1, 1, 0, 0, 0, n),
            "zone": datetime(2024, 1, 1, 0, 0, 0, n, tzinfo=timezone.utc),
            "raw": bytes([n % 256, 0]),
        }
        return values[kind]
