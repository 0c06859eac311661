"""Polls among writers that change what is read: no poll tears, loses or repeats anything."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

from qbcd.api import parts_of
from qbcd.connectors.postgresql import session
from qbcd.demo.server import EmbeddedPostgres
from qbcd.errors import TornRead
from qbcd.planning import plan_of
from qbcd.ranges import partition
from qbcd.sites import LakeSite
from qbcd.sites.lake.checksums import checksums
from qbcd.sites.lake.due_ranges import DueRanges
from qbcd.sites.lake.poll import LakePoll
from qbcd.sites.lake.snapshot import snapshot_of
from qbcd.sites.lake.stage import fetch_rows
from tests.support.oracle import batches, copy_of
from tests.support.places import Place, over, server_of
from tests.support.project import config, opened, poll
from tests.support.writers import Work, writers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 120.0
SECONDS = 8  # at least
ROUNDS = 3  # at least

ROWS = 3000
TABLES = {
    "postgresql": """
CREATE TABLE work (
  id bigint, part text, amount numeric(12,2), at timestamptz, tags integer[], flag boolean, x double precision, j jsonb,
  PRIMARY KEY (part, id)
)""",
    "elsewhere": """
CREATE TABLE work (
  id bigint, part varchar(40), amount decimal(12,2), at timestamp(6) NULL, tags text, flag boolean, x double, j json,
  PRIMARY KEY (part, id)
)""",
}
SCRIPT = """
\\set id random(1, 600)
\\set own 1000000 * (:client_id + 1) + random(1, 100)
\\set v random(1, 100000)
\\set kind random(1, 12)
\\if :kind <= 3
INSERT INTO work VALUES (:own, 'p' || :v % 3, :v / 100.0, now(), ARRAY[:v], NULL, :v / 7.0, '{"v": [1, null]}')
  ON CONFLICT DO NOTHING;
\\elif :kind <= 7
UPDATE work SET amount = :v / 100.0, at = clock_timestamp(), tags = tags || :v::integer, x = 'NaN' WHERE id = :id;
\\elif :kind <= 8
DELETE FROM work WHERE id = :own;
\\elif :kind <= 9
UPDATE work SET id = :own WHERE id = :id AND NOT EXISTS (SELECT 1 FROM work WHERE id = :own);
\\elif :kind <= 10
INSERT INTO work SELECT :id, 'p' || :id % 3, NULL, now(), '{}', flag, x, NULL FROM work LIMIT 1 ON CONFLICT DO NOTHING;
\\elif :kind <= 11
BEGIN;
UPDATE work SET j = jsonb_build_object('v', :v) WHERE id BETWEEN :id AND :id + 5;
DELETE FROM work WHERE id = :own;
ROLLBACK;
\\else
BEGIN;
UPDATE work SET flag = NOT flag WHERE id = :id;
SAVEPOINT half;
DELETE FROM work WHERE id = :id;
ROLLBACK TO half;
UPDATE work SET part = gen_random_uuid()::text WHERE id = :own;
COMMIT;
\\endif
"""


def act(rng: Random, client: int) -> list[str]:
    """Return the statements of `SCRIPT` for a server that pgbench does not support."""
    row, own, v, kind = rng.randint(1, 600), 1_000_000 * (client + 1) + rng.randint(1, 100), rng.randint(1, 100_000), 0
    kind = rng.randint(1, 12)
    if kind <= 3:
        json = """'{"v": [1, null]}'"""
        values = f"{own}, 'p{v % 3}', {v} / 100.0, now(6), '[{v}]', NULL, {v} / 7e0, {json}"
        return [f"INSERT IGNORE INTO work VALUES ({values})"]
    if kind <= 7:
        sets = f"amount = {v} / 100.0, at = sysdate(6), tags = left(concat('{v},', tags), 99), x = {v} * 0.1e0"
        return [f"UPDATE work SET {sets} WHERE id = {row}"]
    if kind <= 8:
        return [f"DELETE FROM work WHERE id = {own}"]
    if kind <= 9:
        return [f"UPDATE IGNORE work SET id = {own} WHERE id = {row}"]
    if kind <= 10:
        values = f"{row}, 'p{row % 3}', NULL, now(6), '', TRUE, NULL, NULL"
        return [f"INSERT IGNORE INTO work VALUES ({values})"]
    if kind <= 11:
        many = f"UPDATE work SET j = json_object('v', {v}) WHERE id BETWEEN {row} AND {row + 5}"
        return ["BEGIN", many, f"DELETE FROM work WHERE id = {own}", "ROLLBACK"]
    flip, deleted = f"UPDATE work SET flag = NOT flag WHERE id = {row}", f"DELETE FROM work WHERE id = {row}"
    moved = f"UPDATE work SET part = uuid() WHERE id = {own}"
    return ["BEGIN", flip, "SAVEPOINT half", deleted, "ROLLBACK TO half", moved, "COMMIT"]


def make_work(place: Place) -> None:
    place.sql(TABLES["postgresql" if place.kind == "postgresql" else "elsewhere"])
    tags = "ARRAY[{}]" if place.kind == "postgresql" else "'[{}]'"
    rows = (
        f"({g}, 'p{g % 3}', {g} / 7.0, timestamp '2024-01-01 00:00:00', {tags.format(g)}, {g % 2 == 0}, {g} / 3e0, "
        f"'{{\"g\": {g}}}')"
        for g in range(1, ROWS + 1)
    )
    place.sql(f"INSERT INTO work VALUES {', '.join(rows)}")


@pytest.mark.campaign
@over()
def test_polls_among_writers(
    request: pytest.FixtureRequest, place: Place, workspace: Path, spark: SparkSession
) -> None:
    make_work(place)
    guards = {"guards": {"max_delete_fraction": 0.5, "allow_empty": False}}
    streams = {"m": "mds", "r": {"type": "id_rcs", "rows_per_range": 200}}
    table = {"table": place.table("work"), **guards}
    data = config(place.url, *({"name": n, "strategy": s, **table} for n, s in streams.items()))
    copies = {n: copy_of(place.url, "work", ["part", "id"], name=n) for n in streams}
    with opened(data, workspace, spark) as project:
        for name in streams:
            project.stream(name).prepare()
            copies[name].take_baseline()
        found: Counter[str] = Counter()
        started = time.monotonic()
        with writers(server_of(request, place.kind), place, Work(SCRIPT, act), workspace):
            while time.monotonic() - started < SECONDS or min(found[n] for n in streams) < ROUNDS:
                assert time.monotonic() - started < PATIENCE, f"too few changes were found among many writes: {found}"
                for outcome in poll(project):
                    assert outcome.report is not None
                    found[outcome.stream] += outcome.report.header is not None  # the first poll may be before any write
        for name, copy in copies.items():
            poll(project, name)
            copy.replay(batches(workspace / "out" / "changes", name))
            assert copy.differences() == []
            assert project.stream(name).verify() == []
            (outcome,) = poll(project, name)
            assert outcome.report is not None
            assert outcome.report.header is None


# -- the bank: no transfer changes the sum ----------------------------------------------------------------------------

ACCOUNTS = 4000
RANGE = 500  # accounts
READS = 20  # of unpinned reads, at least one tears
FEW_READS = 6
TRANSFER = f"""
\\set a random(1, {ACCOUNTS})
\\set b random(1, {ACCOUNTS})
\\set cents random(1, 100)
BEGIN;
UPDATE bank SET cents = cents - :cents WHERE id = :a;
UPDATE bank SET cents = cents + :cents WHERE id = :b;
COMMIT;
"""
# From one end of a range to the other, so that the sum of no range changes.
WITHIN = TRANSFER.replace(f"b random(1, {ACCOUNTS})", f"b (:a - 1) / {RANGE} * {RANGE} + random(1, {RANGE})")


def within(rng: Random, client: int) -> list[str]:
    """Return the statements of `WITHIN` for a server that pgbench does not support."""
    start, cents = rng.randrange(0, ACCOUNTS, RANGE), rng.randint(1, 100)
    one, other = (start + rng.randint(1, RANGE) for _ in "ab")
    moves = (f"UPDATE bank SET cents = cents {n:+d} WHERE id = {i}" for i, n in ((one, -cents), (other, cents)))
    return ["BEGIN", *moves, "COMMIT"]


@pytest.fixture(autouse=True)
def _many_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use several readers although the bank has few rows."""
    monkeypatch.setattr(partition, "ROWS_PER_READER", RANGE)


class Bank:
    """The stream over the bank, and its staged reads one by one."""

    def __init__(self, place: Place, folder: Path, spark: SparkSession, engine: str = "local") -> None:
        place.sql("CREATE TABLE bank (id integer PRIMARY KEY, cents bigint)")
        place.insert("bank", [(i, 1000) for i in range(1, ACCOUNTS + 1)])
        self.place, strategy = place, {"type": "id_rcs", "rows_per_range": RANGE}
        table = {"name": "b", "table": place.table("bank"), "strategy": strategy, "engine": engine}
        self.project = opened(config(place.url, table, source={"connections": 4}), folder, spark)
        self.project.stream("b").prepare()

    def sums(self, reads: int, by: Sequence[str] = ()) -> list[tuple[int, int]]:
        """Return (accounts, cents) of `reads` reads, as a poll stages them.

        A read has all ranges, or one group of them if `by` is given.
        """
        stream = parts_of(self.project).open_stream("b")
        site, pinned = stream.site, self.place.kind == "postgresql"
        assert isinstance(site, LakeSite)
        found = []
        with site.context.hold() as held:
            plan, _ = plan_of(stream, held.row)
            with site.context.reading() as conn:
                known = site.context.store.ranges(conn, "b")
            lake = LakePoll(site.context, plan, site.context.strategy(plan), stream.settings, held)
            for _ in range(reads):
                with ExitStack() as work:
                    snapshot = work.enter_context(
                        snapshot_of(stream.source, plan, held.row.checkpoint, one_state=pinned)
                    )
                    table = work.enter_context(lake.at(snapshot, DueRanges.every(known)).on_engine(ACCOUNTS))
                    fetched = fetch_rows(table, checksums(table, known))
                rows = parquet.read_table(site.context.files.root / fetched.part_id)
                sums = rows.group_by(list(by)).aggregate([("range_id", "count"), ("c1", "sum")]).to_pylist()
                found += [(row["range_id_count"], row["c1_sum"]) for row in sums]
                site.context.files.discard(fetched)
        return found


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.campaign)])
@pytest.mark.parametrize("reads", [FEW_READS, pytest.param(200, marks=pytest.mark.campaign)])
def test_pinned_reads_do_not_tear(
    reads: int, engine: str, server: EmbeddedPostgres, place: Place, workspace: Path, spark: SparkSession
) -> None:
    bank = Bank(place, workspace, spark, engine)
    with bank.project, writers(server, place, Work(TRANSFER, within), workspace):
        assert bank.sums(reads) == [(ACCOUNTS, 1000 * ACCOUNTS)] * reads
        fetched = []
        for _ in range(2):
            (outcome,) = poll(bank.project, "b")
            assert outcome.report is not None
            fetched.append(outcome.report.cost.dirty)
        assert fetched == [ACCOUNTS // RANGE] * 2, "transfers touched every range"


# Without an exported snapshot, each range still shows a single state.
@over(elsewhere=[])
def test_a_range_does_not_tear(
    request: pytest.FixtureRequest, place: Place, workspace: Path, spark: SparkSession
) -> None:
    bank, whole = Bank(place, workspace, spark), (RANGE, 1000 * RANGE)
    with bank.project:
        with writers(server_of(request, place.kind), place, Work(WITHIN, within), workspace):
            assert bank.sums(FEW_READS // 2, ["range_id"]) == [whole] * (FEW_READS // 2 * (ACCOUNTS // RANGE))
            (outcome,) = poll(bank.project, "b")
            assert outcome.report is not None
            assert outcome.report.cost.dirty == ACCOUNTS // RANGE, "transfers touched every range"
        poll(bank.project, "b")
        assert bank.project.stream("b").verify() == []


def test_control_reads_without_the_pin_tear(
    server: EmbeddedPostgres, place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank = Bank(place, workspace, spark)
    monkeypatch.setattr(session.PostgresSnapshots, "snapshot_pins", lambda self, name: session.PINS)
    with bank.project, writers(server, place, Work(TRANSFER, within), workspace):
        assert any(bank.sums(1) != [(ACCOUNTS, 1000 * ACCOUNTS)] for _ in range(READS))
        mark = parts_of(bank.project).open_stream("b").site.context.row()
        with pytest.raises(TornRead):
            poll(bank.project, "b")
        after = parts_of(bank.project).open_stream("b").site.context.row()
        assert mark is not None
        assert after is not None
        assert (after.version, after.checkpoint) == (mark.version, mark.checkpoint)
