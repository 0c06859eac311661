"""ID/RCS over keys of every kind, by ranges of the key and of its hash: replay of the events gives the source, typed.

Ranges are small, so that growth cuts them; batches are folded in all the time, by which small ranges are joined; and
a reader with a pin holds the first batch and all rows of the replica over later polls, which may not take its files
away although every sink has what it wants and nothing names them any more (protocol.md 11, 23).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

import qbcd
from qbcd.run import plan_of
from qbcd.sinks import SinkBatch
from qbcd.sites import SparkSite, upkeep
from tests.conftest import GivenServer
from tests.support import layered
from tests.support.oracle import batches, copy_of
from tests.support.places import Place, new_place, over
from tests.support.project import config, opened, poll
from tests.support.watched import at_nth

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
FOLDED = ["", "a", "a b", "ab", "Z", "z-1", "日本", "🙂", *WORDS[12:]]  # which no collation equates
SPELT = [*WORDS, "A", "a ", "AB", "äb", "Z1", "z 1", "ss", "é", "e\u0301"]
ENDS = [*(-(2**63) + i for i in range(20)), *range(-8, 8), *(2**63 - 1 - i for i in range(20))]
DAYS = ["0001-01-01", "1582-10-10", "1969-12-31", *(f"2024-{m:02}-{d:02}" for m in range(1, 7) for d in range(20, 29))]
STAMPS = [
    "1000-01-01 00:00:00", "9999-12-31 23:59:59.999999", *(f"2024-03-10 02:30:00.0000{i:02}" for i in range(50)),
]  # fmt: skip
UUIDS = [f"{i * 2654435761 % 2**32:08x}-0000-4000-8000-{i:012x}" for i in range(60)]
NUMBERS = ["0", "-0.5", "0.0000001", "10000000000", "-10000000000", *(f"{i}.{i % 7}25" for i in range(50))]
BYTES = ["", "00", "0000", "61", "6100", "ff", *(f"{i * 7919 % 65536:04x}{i:02x}" for i in range(50))]


@dataclass(frozen=True)
class Kind:
    """A key: its types on each database, and keys of it as input texts, one list a column."""

    first: Sequence[str]
    family: Sequence[str]
    texts: Sequence[Sequence[str]]

    def keys(self, place: Place) -> list[str]:
        """The keys as SQL."""
        types = self.types(place)
        lists = [[_literal(place, t, text) for text in texts] for t, texts in zip(types, self.texts, strict=True)]
        size = len(lists[0]) if len(lists) == 1 else MANY
        return [", ".join(texts[i % len(texts)] for texts in lists) for i in range(size)]

    def types(self, place: Place) -> Sequence[str]:
        """The types of its columns."""
        return self.first if place.kind == "postgresql" else self.family


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
QUICK = [("bigint", "key"), ("mixed", "key")]
BRIEF = [(0.9, 0.2), (0.1, 0.9)]
LONG = [(0.9, 0.2), (0.1, 0.9), (0.9, 0.1), (0.2, 0.8), (0.9, 0.3)]
MANY = 60  # keys of several columns


class Keyed:
    """Table t under a kind of key, changed by chance, with its stream, its reader and its copy."""

    def __init__(self, place: Place, kind: str, how: str, folder: Path, rng: Random) -> None:
        self.place, self.rng, self.folder = place, rng, folder
        keys = {**KINDS, **IN_ICU}[kind]
        types = keys.types(place)
        self.names = [f"k{i}" for i in range(len(types))]
        columns = ", ".join(f"{n} {t} NOT NULL" for n, t in zip(self.names, types, strict=True))
        if kind in IN_ICU:
            place.sql(ENGLISH)
        key = "" if kind == "none" else f", PRIMARY KEY ({', '.join(self.names)})"
        place.sql(f"CREATE TABLE t ({columns}, a integer NOT NULL{key})")
        self.free, self.taken = keys.keys(place), list[str]()
        rng.shuffle(self.free)
        self.made = 0
        strategy = {"type": "id_rcs", "rows_per_range": 3, **({} if kind == "none" else {"buckets": how})}
        told = {"key": "none"} if kind == "none" else {"key": self.names}
        self.config = config(
            place.url, {"name": "s", "table": place.table("t"), "strategy": strategy, "retain": "0s", **told}
        )
        # without a key a row is told by all its values, which are never those of another row here
        self.copy = copy_of(place.url, place.quote("t"), [*self.names, "a"] if kind == "none" else self.names)

    def insert(self, share: float) -> None:
        """Rows under a share of the keys that are free."""
        size = max(1, round(len(self.free) * share)) if self.free else 0
        new, self.free = self.free[:size], self.free[size:]
        if new:
            rows = ", ".join(f"({key}, {self._next()})" for key in new)
            self.place.sql(f"INSERT INTO t VALUES {rows}")
            self.taken += new

    def delete(self, share: float) -> None:
        """A share of the rows goes."""
        self.rng.shuffle(self.taken)
        size = max(1, round(len(self.taken) * share))
        gone, self.taken = self.taken[:size], self.taken[size:]
        self.free += gone
        self.place.sql("; ".join(f"DELETE FROM t WHERE {self._on(key)}" for key in gone))

    def update(self, share: float) -> None:
        """A share of the rows gets another value, and one row another key."""
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

    def replay(self) -> Counter[str]:
        """Brings the copy level with the table by what came since the last call; its ops."""
        wanted = Counter(op for op, *_ in self.copy.differences())
        found = Counter(e["op"] for e in self.copy.replay(batches(self.folder / "out/changes", "s")))
        assert self.copy.differences() == []
        assert found == wanted
        return found


class Reader:
    """Reads the replica's rows and the oldest batch as they are when it begins, and takes its time with their files."""

    def __init__(self, project: qbcd.Project) -> None:
        stream = project.work("s")
        assert isinstance(stream.site, SparkSite)
        self.site = stream.site
        self.plan, _ = plan_of(stream, self.site.row())

    def begin(self) -> None:
        """Registers a pin, and reads the manifest after it."""
        site = self.site
        with site.writing() as conn:
            self.pin = site.store.add_pin(conn, "s", 600.0)
        with site.reading() as conn:
            known = site.store.ranges(conn, "s")
            self._rows = site.replica.rows(conn, self.plan, site.strategy(self.plan).kept, known)
        self._batch = SinkBatch(site.batches()[0], lambda: site.staged(site.batches()[0]))
        assert self._batch.events.columns, "its files are known from here on"
        self.parts = self.named()

    def named(self) -> set[str]:
        """The parts that the manifest names now."""
        with self.site.reading() as conn:
            segments = {s.segment_id for s in self.site.store.segments(conn, "s")}
        return segments | {str(h.location["part"]) for h in self.site.batches()}

    def standing(self) -> set[str]:
        """The parts that stand in the stream's folder."""
        return {path.name for path in self.site.files.root.iterdir()}

    def values(self) -> set[int]:
        """The replica's rows by their value, which none shares with another."""
        place = [c.name for c in self.plan.captured].index("a")
        return {int(row[0]) for row in self._rows.select(f"c{place}").collect()}

    def told(self) -> dict[str, str]:
        """Op by event."""
        return {row["event_id"]: row["op"] for row in self._batch.events.collect()}

    def end(self) -> None:
        """Gives the pin back, which must not have ended before."""
        with self.site.writing() as conn:
            self.site.store.check_pin(conn, self.pin)
            self.site.store.drop_pin(conn, self.pin)


def range_ids(project: qbcd.Project) -> set[int]:
    """Ids of the stream's ranges; the store refuses gaps and overlaps itself."""
    site = project.work("s").site
    with site.reading() as conn:
        return {r.range_id for r in site.store.ranges(conn, "s")}


@over(
    "kind, how",
    [case if case in QUICK else pytest.param(*case, marks=pytest.mark.campaign) for case in CASES],
    elsewhere=[],
)
def test_replay_equals_the_source(
    kind: str, how: str, place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "COMPACT_BATCHES", 1)
    layered.at_times(monkeypatch)
    run(place, kind, how, workspace, spark, BRIEF if (kind, how) in QUICK else LONG)


@pytest.mark.campaign
@pytest.mark.parametrize("how", ["key", "hash"])
@pytest.mark.parametrize("kind", IN_ICU)
def test_collations_of_icu(
    kind: str, how: str, icu: GivenServer, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "COMPACT_BATCHES", 1)
    layered.at_times(monkeypatch)
    with new_place(icu, "postgresql") as place:
        run(place, kind, how, workspace, spark, LONG)


def run(
    place: Place, kind: str, how: str, folder: Path, spark: SparkSession, rounds: Sequence[tuple[float, float]]
) -> None:
    """Polls after every round, of which each is the shares that the table grows and shrinks by."""
    table = Keyed(place, kind, how, folder, Random(f"{kind} {how}"))
    table.insert(0.3)
    with opened(table.config, folder, spark) as project:
        project.stream("s").prepare()
        table.copy.take_baseline()
        seen, before = Counter[str](), len(range_ids(project))
        reader, found = Reader(project), set[int]()
        for grown, shrunk in rounds:
            table.update(0.2)
            table.delete(shrunk)
            table.insert(grown)
            if found:
                poll(project, "s")
            else:  # it begins while the batch of the first poll stands there, which that very poll folds in
                found = {int(row[0]) for row in place.sql("SELECT a FROM t")}
                with at_nth("after_commit", 1, reader.begin):
                    poll(project, "s")
            seen += table.replay()
            now = len(range_ids(project))
            seen["cut"], seen["joined"], before = seen["cut"] + (now > before), seen["joined"] + (now < before), now
        assert reader.site.batches() == [], "all are delivered, folded in and let go"
        assert not reader.parts & reader.named(), "the replica's files are others by now"
        assert reader.parts <= reader.standing()
        assert reader.values() == found
        (_, first), *_ = batches(folder / "out/changes", "s")
        assert reader.told() == {event["event_id"]: event["op"] for event in first}
        assert project.stream("s").verify() == []
        reader.end()
        assert [o.report and o.report.header for o in poll(project, "s")] == [None]
        assert reader.standing() == reader.named()
    assert min(seen["c"], seen["d"]) > 0, seen
    assert min(seen["cut"], seen["joined"]) > 0 or kind == "boolean", seen
