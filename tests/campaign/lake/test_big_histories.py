"""Histories of 220,000 rows whose changes would deceive weak checksums, on every fetch path.

Values are swapped between rows, changed by +1 and -1, rotated, moved between columns, and rows are exchanged between
ranges: all sums of plain values, and XOR of row hashes, stay as they are. The oracle is a dictionary in Python. It gets
the events of the sink, and must equal both the intended rows and those that SELECT returns.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from qbcd.sites.lake.fetch import paths
from qbcd.sites.lake.fetch.leaf_checksums import KEY_RECOVERY, LeafChecksums
from qbcd.sites.lake.fetch.recent_writes import RecentWrites
from tests.support.places import Place
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.campaign

ROWS = 220_000
SOME = 400  # changed rows, or groups of rows, of a round
NAMES = ("a", "b", "x", "y", "v")
WITHOUT_CHANGES = 9  # polls, of which the last asks for one checksum of the whole table
Row = list[Any]  # a, b, x, y, v
Rows = dict[Any, Row]

KINDS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "key": ("number", {"type": "id_rcs", "buckets": "key"}),
    "hash": ("uuid", {"type": "id_rcs", "buckets": "hash"}),
    "page": ("uuid", {"type": "id_rcs", "buckets": "page"}),
    "page or hash": ("uuid", {"type": "id_rcs"}),
    "digest by key": ("number", {"type": "id_rcs", "buckets": "key", "replica": "digest"}),
    "digest by hash": ("uuid", {"type": "id_rcs", "buckets": "hash", "replica": "digest"}),
    "digest by page": ("uuid", {"type": "id_rcs", "buckets": "page", "replica": "digest"}),
    "tlcs": ("number", {"type": "tlcs", "checksums": "remote"}),
}
SHARED = {"range_checksums", "whole_ranges"}  # paths of sources without snapshots
LEAVES = {"leaf_checksums"}
SCANNED = {*SHARED, *LEAVES, "recent_writes", "streamed_keys", "two_phase", "whole_table"}
TAKEN: Mapping[str, set[str]] = {
    "key": {*SCANNED, KEY_RECOVERY},
    "hash": SCANNED,
    "page": {*SHARED, "whole_table"},
    "page or hash": {*SHARED, *LEAVES, "page_fallback", "whole_table"},
    "digest by key": {*SCANNED, KEY_RECOVERY},
    "digest by hash": SCANNED,
    "digest by page": {*SHARED, "whole_table"},
    "tlcs": {*SCANNED, KEY_RECOVERY},
}
MARIADB = ("digest by hash", "tlcs")


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the fetch paths that helped a poll, by name."""
    counts = Counter[str]()

    def watch(kind: type[Any], method: str) -> None:
        whole = getattr(kind, method)

        def watched(self: Any, poll: Any, plan: Any) -> Any:
            found = whole(self, poll, plan)
            helped = found is not None
            if kind in (LeafChecksums, RecentWrites):
                helped = helped and (found.in_leaves or found.traced is not None)
            if kind is LeafChecksums and helped and found.traced is not None:
                counts[KEY_RECOVERY] += 1
            counts[kind.name] += helped
            return found

        monkeypatch.setattr(kind, method, watched)

    for of_stage, method in (
        (paths.DETECT, "narrow"),
        (paths.NARROW, "narrow"),
        (paths.REPLAN, "replan"),
        (paths.FETCH, "fetch"),
    ):
        for path in of_stage:
            watch(type(path), method)
    return counts


class BigTable:
    """Table `t`, its intended rows, and the rows of a consumer.

    Args:
        place: The database.
        keys: ``number`` or ``uuid``.
        folder: The project's.
    """

    def __init__(self, place: Place, keys: str, folder: Path) -> None:
        self.place, self.folder, self.keys, self.rng = place, folder / "out/changes/s", keys, Random(keys)
        self.read: set[str] = set()
        self.rows: Rows = {self.key(i): self.row(i) for i in range(1, ROWS + 1)}
        self.next = ROWS + 1
        kind = "bigint" if keys == "number" else "uuid" if place.kind == "postgresql" else "varchar(36)"
        place.sql(
            f"CREATE TABLE t (k {kind} PRIMARY KEY, a integer, b integer, x varchar(20), y varchar(20), v varchar(200))"
        )
        self._write(list(self.rows), update=False)
        if place.kind == "postgresql":
            with place.connect(autocommit=True) as conn:
                place.run(conn, "VACUUM ANALYZE t")
        self.consumer = {key: list(row) for key, row in self.rows.items()}

    def key(self, number: int) -> Any:
        return number if self.keys == "number" else str(UUID(int=self.rng.getrandbits(128)))

    def row(self, number: int) -> Row:
        x = ("", None, "N", "NULL", f"x{number % 1000}")[number % 5]
        return [number % 10_000, 7, x, f"y{number % 777}", f"{self.rng.getrandbits(800):0200x}"]

    # -- the source --------------------------------------------------------------------------------------------------
    def write(self, changed: Rows) -> None:
        """Write rows that are new or changed."""
        self.rows.update(changed)
        self._write(list(changed), update=True)

    def _write(self, keys: list[Any], *, update: bool) -> None:
        names = ", ".join(("k", *NAMES))
        ending = ""
        if update and self.place.kind == "postgresql":
            ending = f" ON CONFLICT (k) DO UPDATE SET {', '.join(f'{n} = excluded.{n}' for n in NAMES)}"
        elif update:
            ending = f" ON DUPLICATE KEY UPDATE {', '.join(f'{n} = VALUES({n})' for n in NAMES)}"
        with self.place.connect() as conn:
            for start in range(0, len(keys), 2000):
                some = keys[start : start + 2000]
                values = [value for key in some for value in (key, *self.rows[key])]
                places = ", ".join([f"({', '.join(['%s'] * (1 + len(NAMES)))})"] * len(some))
                self.place.run(conn, f"INSERT INTO t ({names}) VALUES {places}{ending}", values)

    def delete(self, keys: list[Any]) -> None:
        for start in range(0, len(keys), 2000):
            some = keys[start : start + 2000]
            self.place.sql(f"DELETE FROM t WHERE k IN ({', '.join(['%s'] * len(some))})", some)
        for key in keys:
            del self.rows[key]

    def pick(self, number: int) -> list[Any]:
        return self.rng.sample(list(self.rows), number)

    # -- what a consumer has -----------------------------------------------------------------------------------------
    def apply(self) -> Counter[str]:
        """Apply new files to the consumer's rows, each event strictly; return the ops."""
        ops = Counter[str]()
        files = sorted(self.folder.glob("*.jsonl"), key=lambda p: tuple(map(int, p.stem.split("-"))))
        for file in (f for f in files if f.name not in self.read):
            self.read.add(file.name)
            events = [json.loads(line) for line in file.read_text("utf-8").split("\n") if line]
            keys = [event["key"]["k"] for event in events]
            assert len(keys) == len(set(keys)), "a key occurs twice in a batch"
            for event, key in zip(events, keys, strict=True):
                ops[event["op"]] += 1
                assert (key in self.consumer) == (event["op"] != "c"), event
                before, after = event["before"], event["after"]
                if before is not None and "v" in before:
                    assert [before[n] for n in NAMES] == self.consumer[key], event
                self.consumer.pop(key, None)
                if after is not None:
                    self.consumer[key] = [after[n] for n in NAMES]
        return ops

    def check(self) -> None:
        """Compare the intended rows, the table's and the consumer's."""
        found = {
            row[0] if self.keys == "number" else str(row[0]): list(row[1:])
            for row in self.place.sql(f"SELECT k, {', '.join(NAMES)} FROM t")
        }
        assert found == self.rows
        different = [k for k in found.keys() | self.consumer.keys() if found.get(k) != self.consumer.get(k)]
        assert not different, f"{len(different)} rows differ, such as {different[0]}"


# -- changes: each returns the number of events of each op -------------------------------------------------------------
def exchanged(t: BigTable) -> dict[str, int]:
    """Pairs of rows anywhere exchange all of their values."""
    keys = t.pick(2 * SOME)
    pairs = zip(keys[::2], keys[1::2], strict=True)
    t.write({k: t.rows[other] for a, b in pairs for k, other in ((a, b), (b, a))})
    return {"u": 2 * SOME}


def one_value_swapped(t: BigTable) -> dict[str, int]:
    keys, changed = t.pick(2 * SOME), Rows()
    for a, b in zip(keys[::2], keys[1::2], strict=True):
        changed |= {a: [*t.rows[a][:4], t.rows[b][4]], b: [*t.rows[b][:4], t.rows[a][4]]}
    t.write(changed)
    return {"u": 2 * SOME}


def plus_and_minus(t: BigTable) -> dict[str, int]:
    keys = t.pick(2 * SOME)
    t.write({k: [t.rows[k][0] + (1 if i % 2 else -1), *t.rows[k][1:]] for i, k in enumerate(keys)})
    return {"u": 2 * SOME}


def columns_swapped(t: BigTable) -> dict[str, int]:
    """In rows anywhere, two columns of one type exchange their values."""
    keys = [k for k in t.pick(4 * SOME) if t.rows[k][0] != t.rows[k][1]][:SOME]
    t.write({k: [t.rows[k][1], t.rows[k][0], *t.rows[k][2:]] for k in keys})
    return {"u": SOME}


def border_moved(t: BigTable) -> dict[str, int]:
    """The concatenation of two columns stays: a character moves from one to the other."""
    keys = [k for k in t.pick(8 * SOME) if t.rows[k][2] and t.rows[k][3]][:SOME]
    t.write({k: [*t.rows[k][:2], t.rows[k][2] + t.rows[k][3][:1], t.rows[k][3][1:], t.rows[k][4]] for k in keys})
    return {"u": SOME}


def rotated(t: BigTable) -> dict[str, int]:
    """Three rows pass a value on."""
    keys, changed = t.pick(3 * SOME), Rows()
    for three in zip(keys[::3], keys[1::3], keys[2::3], strict=True):
        for k, other in zip(three, three[1:] + three[:1], strict=True):
            changed[k] = [*t.rows[k][:4], t.rows[other][4]]
    t.write(changed)
    return {"u": 3 * SOME}


def nothing_spelled_otherwise(t: BigTable) -> dict[str, int]:
    """NULL, the empty text and the texts N and NULL become one another."""
    turn: dict[Any, Any] = {None: "", "": "N", "N": "NULL", "NULL": None}
    keys = [k for k in t.pick(2 * SOME) if t.rows[k][2] in turn][:SOME]
    t.write({k: [*t.rows[k][:2], turn[t.rows[k][2]], *t.rows[k][3:]] for k in keys})
    return {"u": SOME}


def equal_pairs(t: BigTable) -> dict[str, int]:
    """Pairs of rows become equal but for their keys: their hashes would cancel in XOR."""
    keys = t.pick(2 * SOME)
    values = [t.row(t.next + i) for i in range(SOME)]
    t.write({k: values[i // 2] for i, k in enumerate(keys)})
    return {"u": 2 * SOME}


def moved_to_other_keys(t: BigTable) -> dict[str, int]:
    """Rows are deleted, and inserted with the same values under another key: the count stays."""
    keys = t.pick(SOME)
    values = [t.rows[k] for k in keys]
    t.delete(keys)
    t.write({t.key(t.next + i): row for i, row in enumerate(values)})
    t.next += SOME
    return {"d": SOME, "c": SOME}


def written_again(t: BigTable) -> dict[str, int]:
    """Rows are deleted and inserted as they were; others change and change back."""
    keys, again = t.pick(SOME), t.pick(SOME)
    values = {k: t.rows[k] for k in keys}
    t.delete(keys)
    t.write(values)
    before = {k: t.rows[k] for k in again}
    t.write({k: [0, 0, None, None, None] for k in again})
    t.write(before)
    return {}


def a_few(t: BigTable) -> dict[str, int]:
    a, b, c = t.pick(3)
    t.write({a: t.rows[b], b: t.rows[a], c: [*t.rows[c][:4], None]})
    return {"u": 3}


def a_block(t: BigTable) -> dict[str, int]:
    """Neighbors by key, many of them."""
    keys = sorted(t.rows)[10_000:15_000]
    t.write({k: [-1, *t.rows[k][1:]] for k in keys})
    return {"u": sum(t.rows[k][0] == -1 for k in keys)}


Change = Callable[[BigTable], dict[str, int]]
# Paths that are switched off, and the changes of the polls that do without them.
LEGS: tuple[tuple[tuple[str, ...], tuple[Change, ...]], ...] = (
    ((), (a_few, exchanged, one_value_swapped, written_again)),
    (("recent_writes",), (plus_and_minus, columns_swapped, border_moved, rotated)),
    (("recent_writes", "key_recovery"), (nothing_spelled_otherwise, equal_pairs, moved_to_other_keys)),
    (("recent_writes", "leaf_checksums"), (a_block, a_few, exchanged)),
)
CASES = [("postgresql", name) for name in KINDS] + [("mariadb", name) for name in MARIADB]


@pytest.mark.parametrize(("database", "name"), CASES, indirect=["database"])
def test_changes_that_deceive_weak_checksums(
    name: str,
    place: Place,
    workspace: Path,
    spark: SparkSession,
    taken: Counter[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    keys, strategy = KINDS[name]
    t, events = BigTable(place, keys, workspace), Counter[str]()
    table = {"name": "s", "table": place.table("t"), "strategy": strategy}
    with opened(config(place.url, table), workspace, spark) as project:
        project.stream("s").prepare()

        def polled(expected: dict[str, int]) -> None:
            poll(project, "s")
            found = t.apply()
            assert found == expected
            events.update(found)

        for switched_off, changes in LEGS:
            with paths.disabled(*switched_off):
                for change in changes:
                    polled(change(t))
                    t.check()
        for _ in range(WITHOUT_CHANGES):
            polled({})
        polled(a_few(t))
        t.check()
        assert project.stream("s").verify() == []
    with capsys.disabled():
        print(f"\n{place.kind}, {name}: {sum(events.values()):,} events {dict(events)}, paths {dict(taken)}")
    expected = TAKEN[name] if place.kind == "postgresql" else SHARED
    assert expected <= {path for path, times in taken.items() if times}
