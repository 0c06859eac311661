"""Random DDL between polls: partitions attached, detached and exchanged, tables and columns replaced, rows rewritten.

Rows that come with a table or a partition have old timestamps, so that no window shows them. After each poll, replay
gives the source, for every strategy. Statements that move rows and change none give no event.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from typing_extensions import override

from qbcd.errors import SchemaChanged
from tests.support.oracle import batches
from tests.support.places import Place, over
from tests.support.project import config, opened, poll
from tests.support.query_streams import detect, replica_differs
from tests.support.watched_polls import COLUMNS, Row, Watched, stamped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.campaign
OLD = "'2001-01-01 00:00:00'"
SIZE, PARTS = 100, 5  # keys of a partition, and how many there can be
ROUNDS = 14
UNUSED = {"unused": {"type": "mds"}}  # where a project of its own has the streams
TICK = 1.1  # longer than the resolution of MariaDB's clock of definitions
BY_RANGE = f"{COLUMNS}) PARTITION BY RANGE (id"
IN_MARIA = ", ".join(f"PARTITION p{i} VALUES LESS THAN ({SIZE * (i + 1)})" for i in range(2))
Change = Callable[[], None]


class Alterations:
    """Statements that alter table `t`, each by a method; those whose names begin with `same` change no row.

    Attributes:
        apart: Numbers of the partitions that are tables of their own now.
        lost: Keys of rows that were in a detached partition, a table that was swapped, or deleted by a statement.
    """

    def __init__(self, seen: Watched, rng: Random, *, partitioned: bool) -> None:
        self.seen, self.rng, self.partitioned, self.serial = seen, rng, partitioned, 0
        self.apart: set[int] = set()
        self.made = {0, 1} if partitioned else set()

    @property
    def methods(self) -> list[Change]:
        kind = "parted" if self.partitioned else "plain"
        return [getattr(self, name) for name in sorted(dir(self)) if name.split("_")[0] in (kind, "any", "same")]

    def run(self, *statements: str) -> None:
        with self.seen.place.connect(autocommit=True) as conn:
            for text in statements:
                self.seen.run(text, conn)

    def value(self) -> str:
        self.serial += 1
        return f"value {self.serial}"

    def old_rows(self, table: str, part: int) -> str:
        """Return a statement that inserts rows with old timestamps and fresh keys."""
        known = {row[0] for row in self.seen.place.sql(f"SELECT id FROM {table}")}
        free = sorted(set(range(part * SIZE, (part + 1) * SIZE)) - known - {0})
        keys = self.rng.sample(free, 3)
        return f"INSERT INTO {table} (id, v, at) VALUES " + ", ".join(f"({k}, '{self.value()}', {OLD})" for k in keys)

    def old_change(self, table: str) -> str:
        """Return a statement that changes some rows, and their timestamps to old ones."""
        return f"UPDATE {table} SET v = '{self.value()}', at = {OLD} WHERE id % 3 = {self.rng.randrange(3)}"

    def attached(self) -> list[int]:
        return sorted(self.made - self.apart)

    # -- both kinds of tables ----------------------------------------------------------------------------------------
    def any_rows(self) -> None:
        """Write as an application does, with timestamps."""
        rows = [row[0] for row in self.seen.place.sql("SELECT id FROM t WHERE NOT gone ORDER BY id")]
        for key in self.rng.sample(rows, min(3, len(rows))):
            self.seen.update(key, self.value())
        top = max((SIZE * (i + 1) for i in self.attached()), default=SIZE) if self.partitioned else SIZE * 3
        low = top - SIZE
        free = sorted(set(range(low, top)) - {row[0] for row in self.seen.place.sql("SELECT id FROM t")} - {0})
        if not self.partitioned or self.attached():
            for key in free[:2]:
                self.seen.insert(key, self.value())
        if rows:
            self.seen.flag(self.rng.choice(rows))

    def any_column(self) -> None:
        """Drop a captured column and add one of its name."""
        for table in ["t", *(f"t_{i}" for i in sorted(self.apart))]:
            self.run(f"ALTER TABLE {table} DROP COLUMN n", f"ALTER TABLE {table} ADD n integer DEFAULT {self.serial}")
        self.serial += 1

    def same_rewritten(self) -> None:
        """Rewrite the table: rows move, and none changes."""
        if self.seen.place.kind != "postgresql":
            self.run("ALTER TABLE t FORCE")
            return
        for one in [f"t_{i}" for i in self.attached()] if self.partitioned else ["t"]:
            by_key = self.rng.random() < 0.5
            self.run(f"CLUSTER {one} USING {one}_pkey" if by_key else f"VACUUM FULL {one}")
        self.run("VACUUM FULL pg_inherits")

    # -- plain tables ------------------------------------------------------------------------------------------------
    def plain_swap(self) -> None:
        """Take another table, with other rows, under this name."""
        self.serial += 1
        old, postgres = f"old_{self.serial}", self.seen.place.kind == "postgresql"
        like = "(LIKE t INCLUDING ALL)" if postgres else "LIKE t"
        self.run(
            f"CREATE TABLE other {like}",
            f"INSERT INTO other SELECT * FROM t WHERE id % 5 <> {self.rng.randrange(5)}",
            self.old_change("other"),
        )
        self.run(self.old_rows("other", self.rng.randrange(3)))
        if postgres:
            self.run(f"ALTER TABLE t RENAME TO {old}; ALTER TABLE other RENAME TO t")
            ((key,),) = self.seen.place.sql(
                "SELECT conname FROM pg_constraint WHERE conrelid = 't'::regclass AND contype = 'p'"
            )
            self.run(f"ALTER TABLE {old} DROP CONSTRAINT t_pkey", f"ALTER TABLE t RENAME CONSTRAINT {key} TO t_pkey")
        else:
            self.run(f"RENAME TABLE t TO {old}, other TO t")

    # -- partitioned tables ------------------------------------------------------------------------------------------
    def parted_new_and_empty(self) -> None:
        part = next((i for i in range(PARTS) if i not in self.made), None)
        if part is not None:
            self.run(f"CREATE TABLE t_{part} PARTITION OF t {self._values(part)}")
            self.made.add(part)

    def parted_new_with_rows(self) -> None:
        part = next((i for i in range(PARTS) if i not in self.made), None)
        if part is not None:
            self.run(f"CREATE TABLE t_{part} (LIKE t INCLUDING ALL)")
            self.run(self.old_rows(f"t_{part}", part), self._attach(part))
            self.made.add(part)

    def parted_detached(self) -> None:
        if len(self.attached()) > 1:
            part = self.rng.choice(self.attached())
            self.run(f"ALTER TABLE t DETACH PARTITION t_{part}{self.rng.choice(['', ' CONCURRENTLY'])}")
            self.apart.add(part)

    def parted_attached(self) -> None:
        for part in sorted(self.apart)[:1]:
            self.run(self.old_change(f"t_{part}"), self.old_rows(f"t_{part}", part), self._attach(part))
            self.apart.discard(part)

    def parted_out_and_in(self) -> None:
        part = self.rng.choice(self.attached())
        detach = f"ALTER TABLE t DETACH PARTITION t_{part}"
        self.run(detach, self.old_change(f"t_{part}"), self._attach(part))

    def parted_swap(self) -> None:
        """Take another partitioned table with the same partitions, and other rows in one, under this name."""
        self.serial += 1
        old, parts = f"old_{self.serial}", self.attached()
        ((key,),) = self.seen.place.sql(
            "SELECT conname FROM pg_constraint WHERE conrelid = 't'::regclass AND contype = 'p'"
        )
        self.run(
            f"ALTER TABLE t RENAME TO {old}",
            *(f"ALTER TABLE {old} DETACH PARTITION t_{i}" for i in parts),
            f"ALTER TABLE {old} RENAME CONSTRAINT {key} TO {old}_pkey",
            f"CREATE TABLE t (LIKE {old} INCLUDING ALL) PARTITION BY RANGE (id)",
            self.old_change(f"t_{self.rng.choice(parts)}"),
            *map(self._attach, parts),
        )

    def _values(self, part: int) -> str:
        return f"FOR VALUES FROM ({part * SIZE}) TO ({(part + 1) * SIZE})"

    def _attach(self, part: int) -> str:
        return f"ALTER TABLE t ATTACH PARTITION t_{part} {self._values(part)}"


class MariaAlterations(Alterations):
    """The same on MariaDB, whose partitions are exchanged."""

    @override
    def parted_new_and_empty(self) -> None:
        part = max(self.made) + 1
        if part < PARTS:
            self.run(f"ALTER TABLE t ADD PARTITION (PARTITION p{part} VALUES LESS THAN ({SIZE * (part + 1)}))")
            self.made.add(part)

    @override
    def parted_new_with_rows(self) -> None:
        self.parted_out_and_in()

    @override
    def parted_detached(self) -> None:
        part = self.rng.choice(self.attached())
        self.run(f"ALTER TABLE t TRUNCATE PARTITION p{part}")

    @override
    def parted_attached(self) -> None:
        self.parted_out_and_in()

    @override
    def parted_out_and_in(self) -> None:
        """Exchange a partition for a table with a copy of its rows, some of them changed, and some more."""
        part = self.rng.choice(self.attached())
        other = f"o_{self.serial}"
        self.serial += 1
        if self.seen.place.kind == "mysql":
            self.run("ALTER TABLE t FORCE")  # it exchanges none with columns that were added without a rebuild
        self.run(f"CREATE TABLE {other} LIKE t", f"ALTER TABLE {other} REMOVE PARTITIONING")
        self.run(f"INSERT INTO {other} SELECT * FROM t PARTITION (p{part})", self.old_change(other))
        self.run(self.old_rows(other, part), f"ALTER TABLE t EXCHANGE PARTITION p{part} WITH TABLE {other}")

    @override
    def parted_swap(self) -> None:
        self.plain_swap()


def altered(place: Place, folder: Path, rng: Random, streams: dict[str, Any], *, partitioned: bool) -> Alterations:
    """Return the alterations of a new table with two partitions, or none; its streams are not prepared."""
    postgres = place.kind == "postgresql"
    columns = COLUMNS if not partitioned else BY_RANGE if postgres else f"{BY_RANGE}) ({IN_MARIA}"
    seen = Watched(place, folder, streams, columns=columns)
    for part in range(2) if partitioned and postgres else ():
        seen.run(f"CREATE TABLE t_{part} PARTITION OF t FOR VALUES FROM ({part * SIZE}) TO ({(part + 1) * SIZE})")
    for key in range(95, 107):
        seen.insert(key, f"old {key}")
    kind = Alterations if postgres else MariaAlterations
    return kind(seen, rng, partitioned=partitioned)


def drawn(all_of: Alterations, rounds: int) -> Iterator[tuple[str, Change]]:
    """Yield names and alterations: each at least once, then some at random."""
    methods = all_of.methods
    order = all_of.rng.sample(methods, len(methods))
    order += all_of.rng.choices(methods, k=max(0, rounds - len(methods)))
    for method in order:
        yield method.__name__, method


def in_source(place: Place) -> dict[str, Any]:
    swept = {"deletes": {"every": "1ms"}}
    found = {
        "mds": {"type": "mds"},
        "id": {"type": "id", "rows_per_range": 5},
        "tlcs": {"type": "tlcs", "rows_per_range": 5},
        "in_row": {"type": "tlcs", "checksums": "column", "checksum_column": "chk", "rows_per_range": 5},
        "ts": stamped(place, "ts", **swept),
        "tdi": stamped(place, "tdi"),
        "atdi": stamped(place, "atdi"),
    }
    return found | ({"xmin": {"type": "ts", "timestamp": "xmin", **swept}} if place.kind == "postgresql" else {})


def checked(seen: Watched, name: str) -> None:
    """Compare a stream's copy with the source; a delete flag does not show rows that vanish with a table."""
    source, copy = seen.source(seen.live(name)), seen.copies[name]
    if name in ("tdi", "atdi"):
        there = seen.source()
        copy = {key: row for key, row in copy.items() if key in there}
    assert copy == source


@over("seed, partitioned", [(seed, kind) for seed in range(1, 4) for kind in (True, False)])
def test_strategies_of_the_database_wing(seed: int, partitioned: bool, place: Place, workspace: Path) -> None:
    rng = Random(seed)
    streams = in_source(place)
    work = altered(place, workspace, rng, streams, partitioned=partitioned)
    history: list[str] = []
    with work.seen as seen:
        seen.prepare()
        for what, alter in drawn(work, ROUNDS):
            if place.kind != "postgresql":
                time.sleep(TICK)
            history.append(what)
            alter()
            for name in streams:
                try:
                    found = seen.poll(name)
                    checked(seen, name)
                    assert what.split("_")[0] != "same" or not found
                    assert name in ("tdi", "atdi") or not seen.project.stream(name).verify()
                except Exception as error:
                    raise AssertionError(f"seed {seed}, {name} after {history}") from error


@pytest.mark.parametrize("seed", range(1, 4))
def test_variant_delta(seed: int, place: Place, workspace: Path) -> None:
    """It refuses another column or table of the same name; the stream is then prepared again."""
    rng = Random(seed)
    query = "SELECT t.id, t.v, t.n, b.w FROM public.t JOIN public.b ON t.id % 5 = b.k"
    strategy = {"type": "vbd", "variant": "delta", "timestamps": {"public.t": "at"}, "deletes": {"every": "1ms"}}
    table = {"name": "q", "query": query, "key": ["id"], "strategy": {**strategy, "margin": "1ms"}, "sinks": []}
    place.sql(
        "CREATE TABLE b (k int PRIMARY KEY, w int); INSERT INTO b SELECT i, i * 7 FROM generate_series(0, 4) AS i"
    )
    work = altered(place, workspace, rng, UNUSED, partitioned=True)
    history: list[str] = []
    with work.seen, opened(config(place.url, table), second_folder(workspace)) as project:
        project.stream("q").prepare()
        for what, alter in drawn(work, ROUNDS):
            history.append(what)
            alter()
            try:
                detect(project, "q")
            except SchemaChanged:
                assert what in ("any_column", "parted_swap"), history
                project.stream("q").reset(discard=True)
                project.stream("q").prepare()
            assert not replica_differs(place, "q", query), history


LAKE: dict[str, Any] = {
    "keys": {"type": "id_rcs", "rows_per_range": 5, "buckets": "key"},
    "hashes": {"type": "id_rcs", "rows_per_range": 5, "buckets": "hash"},
    "digests": {"type": "tlcs", "checksums": "remote", "rows_per_range": 5},
    "ts": {"type": "ts", "timestamp": "at", "replica": "spark", "margin": "1ms", "deletes": {"every": "1ms"}},
}
PAGES = {"pages": {"type": "id_rcs", "rows_per_range": 5, "buckets": "page"}}


@over("seed, partitioned", [(seed, kind) for seed in range(1, 3) for kind in (True, False)])
def test_strategies_of_the_lake_wing(
    seed: int, partitioned: bool, place: Place, workspace: Path, spark: SparkSession
) -> None:
    rng, postgres = Random(seed), place.kind == "postgresql"
    work = altered(place, workspace, rng, UNUSED, partitioned=partitioned)
    streams = LAKE | (PAGES if postgres and not partitioned else {})
    streams["ts"] = {**streams["ts"], **({} if postgres else {"lag": "2ms"})}
    fixed = {"table": place.table("t"), "columns": ["v", "n"]}
    tables = [{"name": name, "strategy": strategy, **fixed} for name, strategy in streams.items()]
    history: list[str] = []
    folder = second_folder(workspace)
    with work.seen as seen, opened(config(place.url, *tables), folder, spark) as project:
        copies = dict.fromkeys(streams, seen.source())
        for name in streams:
            project.stream(name).prepare()
        for what, alter in drawn(work, ROUNDS):
            if not postgres:
                time.sleep(TICK)
            history.append(what)
            alter()
            time.sleep(0.01)
            poll(project)
            for name in streams:
                copies[name], events = replayed(folder, name, copies[name])
                assert copies[name] == seen.source(), f"seed {seed}, {name} after {history}"
                assert what.split("_")[0] != "same" or not events, f"seed {seed}, {name} after {history}"
        for name in streams:
            assert not project.stream(name).verify()


def second_folder(folder: Path) -> Path:
    """Return a new folder for a second project."""
    found = folder / "second"
    found.mkdir(parents=True)
    return found


def replayed(folder: Path, name: str, copy: dict[int, Row]) -> tuple[dict[int, Row], int]:
    """Return the copy after new batches, whose files are removed, and the number of their events."""
    rows, count = dict(copy), 0
    for file, batch in batches(folder / "out" / "changes", name):
        count += len(batch)
        for event in batch:
            rows.pop(event["key"]["id"], None)
        for event in batch:
            if event["op"] != "d":
                rows[event["key"]["id"]] = (event["key"]["id"], event["after"]["v"], event["after"]["n"])
        (folder / "out" / "changes" / name / file).rename(folder / f"{name}-{file}")
    return rows, count
