"""Tables with keys of every kind, an ID/RCS stream and a copy that replays its events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.support.oracle import batches, copy_of
from tests.support.places import Place
from tests.support.project import config

ENGLISH = "CREATE COLLATION english (provider = icu, locale = 'en-US')"
WORDS = [
    "",
    " ",
    "a",
    "a b",
    "ab",
    "Äb",
    "ß",
    "sz",
    "Z",
    "z-1",
    "日本",
    "🙂",
    *(f"w{'x' * (i % 5)}{i}" for i in range(50)),
]
FOLDED = ["", "a", "a b", "ab", "Z", "z-1", "日本", "🙂", *WORDS[12:]]  # texts that no collation treats as equal
SPELT = [*WORDS, "A", "a ", "AB", "äb", "Z1", "z 1", "ss", "é", "e\u0301"]
ENDS = [*(-(2**63) + i for i in range(20)), *range(-8, 8), *(2**63 - 1 - i for i in range(20))]
DAYS = ["0001-01-01", "1582-10-10", "1969-12-31", *(f"2024-{m:02}-{d:02}" for m in range(1, 7) for d in range(20, 29))]
STAMPS = ["1000-01-01 00:00:00", "9999-12-31 23:59:59.999999", *(f"2024-03-10 02:30:00.0000{i:02}" for i in range(50))]
UUIDS = [f"{i * 2654435761 % 2**32:08x}-0000-4000-8000-{i:012x}" for i in range(60)]
NUMBERS = ["0", "-0.5", "0.0000001", "10000000000", "-10000000000", *(f"{i}.{i % 7}25" for i in range(50))]
BYTES = ["", "00", "0000", "61", "6100", "ff", *(f"{i * 7919 % 65536:04x}{i:02x}" for i in range(50))]


@dataclass(frozen=True)
class Kind:
    """A key: its types on each database, and values as input texts, one list per column."""

    first: Sequence[str]
    family: Sequence[str]
    texts: Sequence[Sequence[str]]

    def keys(self, place: Place) -> list[str]:
        """Return the keys as SQL."""
        types = self.types(place)
        lists = [[_literal(place, t, text) for text in texts] for t, texts in zip(types, self.texts, strict=True)]
        size = len(lists[0]) if len(lists) == 1 else MANY
        return [", ".join(texts[i % len(texts)] for texts in lists) for i in range(size)]

    def types(self, place: Place) -> Sequence[str]:
        """Return the types of the key's columns."""
        return self.first if place.kind == "postgresql" else [place.spelt(one) for one in self.family]


def _literal(place: Place, sql_type: str, text: str) -> str:
    if sql_type in ("bytea", "varbinary(20)"):
        text = ("\\x" if sql_type == "bytea" else "0x") + text
    if sql_type == "boolean" or sql_type.startswith("decimal"):
        return text
    return place.literal(sql_type, text)


_CI = "varchar(20) COLLATE utf8mb4_general_ci"
_MIXED = [FOLDED[:7], NUMBERS[:11], DAYS[:13], ["true", "false"]]
KINDS: dict[str, Kind] = {
    "integer": Kind(["integer"], ["integer"], [[str(i * 37 - 900) for i in range(60)]]),
    "bigint": Kind(["bigint"], ["bigint"], [list(map(str, ENDS))]),
    "numeric": Kind(["numeric"], ["decimal(30,9)"], [NUMBERS]),
    "date": Kind(["date"], ["date"], [DAYS]),
    "timestamp": Kind(["timestamp"], ["datetime(6)"], [STAMPS]),
    "uuid": Kind(["uuid"], ["uuid"], [UUIDS]),
    "text in C": Kind(['text COLLATE "C"'], ["varchar(20) COLLATE utf8mb4_nopad_bin"], [SPELT]),
    "text": Kind(["text"], [_CI], [FOLDED]),
    "bytes": Kind(["bytea"], ["varbinary(20)"], [BYTES]),
    "boolean": Kind(["boolean"], ["boolean"], [["true", "false"]]),
    "mixed": Kind(["text", "numeric", "date", "boolean"], [_CI, "decimal(30,9)", "date", "boolean"], _MIXED),
    "none": Kind(["text", "numeric"], ["varchar(20)", "decimal(30,9)"], [FOLDED, NUMBERS]),
}
IN_ICU = {  # the embedded server has no such collations
    "text in ICU": Kind(["text COLLATE english"], [], [SPELT]),
    "mixed in ICU": Kind(["text COLLATE english", *KINDS["mixed"].first[1:]], [], [SPELT, *_MIXED[1:]]),
}
CASES = [(kind, how) for kind in KINDS for how in ("key", "hash") if (kind, how) != ("none", "key")]
PAGED = [kind for kind in KINDS if kind != "none"]  # of PostgreSQL
PAD = "pad"  # a column of these tables that is not captured
MANY = 60  # keys of several columns


class Keyed:
    """Table t with a key of some kind, its stream and its copy."""

    def __init__(self, place: Place, kind: str, how: str, folder: Path, rng: Random) -> None:
        self.place, self.rng, self.folder = place, rng, folder
        keys = {**KINDS, **IN_ICU}[kind]
        types = keys.types(place)
        self.names = [f"k{i}" for i in range(len(types))]
        columns = ", ".join(f"{n} {t} NOT NULL" for n, t in zip(self.names, types, strict=True))
        if kind in IN_ICU:
            place.sql(ENGLISH)
        key = "" if kind == "none" else f", PRIMARY KEY ({', '.join(self.names)})"
        # so wide that a page holds a few rows, and an update moves a row to another page
        pad = f", {PAD} char(1800) NOT NULL DEFAULT ''" if how == "page" else ""
        place.sql(f"CREATE TABLE t ({columns}, a integer NOT NULL{pad}{key})")
        if pad:
            place.sql(f"ALTER TABLE t ALTER {PAD} SET STORAGE PLAIN")
        self.free, self.taken = keys.keys(place), list[str]()
        rng.shuffle(self.free)
        self.made = 0
        strategy = {"type": "id_rcs", "rows_per_range": 3, **({} if kind == "none" else {"buckets": how})}
        more = {"key": "none"} if kind == "none" else {"key": self.names, **({"exclude": [PAD]} if pad else {})}
        self.config = config(
            place.url, {"name": "s", "table": place.table("t"), "strategy": strategy, "retain": "0s", **more}
        )
        # without a key, all values identify a row; no two rows here have the same values
        names = [*self.names, "a"]
        identity = names if kind == "none" else self.names
        self.copy = copy_of(place.url, place.quote("t"), identity, columns=names)

    def insert(self, share: float) -> None:
        """Insert rows under a share of the free keys."""
        size = max(1, round(len(self.free) * share)) if self.free else 0
        new, self.free = self.free[:size], self.free[size:]
        if new:
            rows = ", ".join(f"({key}, {self._next()})" for key in new)
            self.place.sql(f"INSERT INTO t VALUES {rows}")
            self.taken += new

    def delete(self, share: float) -> None:
        """Delete a share of the rows."""
        self.rng.shuffle(self.taken)
        size = max(1, round(len(self.taken) * share))
        deleted, self.taken = self.taken[:size], self.taken[size:]
        self.free += deleted
        self.place.sql("; ".join(f"DELETE FROM t WHERE {self._on(key)}" for key in deleted))

    def update(self, share: float) -> None:
        """Update the value of a share of the rows, and the key of one row."""
        some = self.rng.sample(self.taken, round(len(self.taken) * share))
        for key in some:
            self.place.sql(f"UPDATE t SET a = {self._next()} WHERE {self._on(key)}")
        if self.free and self.taken:
            old, new = self.taken.pop(), self.free.pop()
            values = zip(self.names, new.split(", "), strict=True)
            sets = ", ".join(f"{n} = {value}" for n, value in values)
            self.place.sql(f"UPDATE t SET {sets} WHERE {self._on(old)}")
            self.taken.append(new)
            self.free.append(old)

    def _on(self, key: str) -> str:
        return " AND ".join(f"{n} = {value}" for n, value in zip(self.names, key.split(", "), strict=True))

    def _next(self) -> int:
        self.made += 1
        return self.made

    def move(self, share: float) -> None:
        """Move a share of the rows to other pages; no captured value changes."""
        for key in self.rng.sample(self.taken, round(len(self.taken) * share)):
            self.place.sql(f"UPDATE t SET {PAD} = {PAD} WHERE {self._on(key)}")

    def replay(self) -> Counter[str]:
        """Apply the new batches to the copy, compare it with the table, and return the ops."""
        wanted = Counter(op for op, *_ in self.copy.differences())
        found = Counter(e["op"] for e in self.copy.replay(batches(self.folder / "out/changes", "s")))
        assert self.copy.differences() == []
        assert found == wanted
        return found
