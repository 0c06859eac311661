"""Polls among writers: pgbench changes what is being read, and no poll may tear, lose or repeat anything."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy.engine import make_url

from qbcd.connectors.postgresql import PostgreSQL
from qbcd.demo.server import EmbeddedPostgres
from qbcd.errors import TornRead
from qbcd.run import plan_of
from qbcd.sites import SparkSite
from qbcd.sites.reading import checksums, snapshot_of
from tests.support import sql, wait_until
from tests.support.oracle import Copy, batches
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLIENTS = 4
RATE = 500  # transactions a second: between two polls they touch every range, and the polls still get a turn
SECONDS = 8  # at least
ROUNDS = 3  # at least

WORK = """
CREATE TABLE work (
  id bigint, part text, amount numeric(12,2), at timestamptz, tags integer[], flag boolean, x double precision, j jsonb,
  PRIMARY KEY (part, id)
);
INSERT INTO work SELECT g, 'p' || g % 3, g / 7.0, '2024-01-01'::timestamptz + g * interval '1 hour', ARRAY[g, NULL],
  g % 2 = 0, g / 3.0, jsonb_build_object('g', g) FROM generate_series(1, 3000) g
"""
# Keys of rows that are moved or made there belong to one client, so that no two writers ever want the same new key.
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


@contextmanager
def writers(server: EmbeddedPostgres, database: str, script: str, folder: Path) -> Iterator[None]:
    """pgbench at work as long as the block; no client may have given up, and no session is left."""
    file = folder / "work.pgbench"
    file.write_text(script)
    command = [
        str(server.bin / "pgbench"), "--no-vacuum", "--client", str(CLIENTS), "--time", "600",
        "--rate", str(RATE), "--max-tries", "50",
        "--file", str(file), "--host", server.host, "--port", str(server.port), "--username", "postgres",
        str(make_url(database).database),
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield
        assert process.poll() is None, process.communicate()[0]
    finally:
        process.kill()
        output, _ = process.communicate(timeout=60)
    assert "aborted" not in output, output
    at_work = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'pgbench' AND datname = current_database()"
    wait_until(lambda: not sql(database, at_work), what="the end of pgbench's sessions")


def test_polls_among_writers(server: EmbeddedPostgres, database: str, workspace: Path, spark: SparkSession) -> None:
    sql(database, WORK)
    guards = {"guards": {"max_delete_fraction": 0.5, "allow_empty": False}}
    streams = {"m": "mds", "r": {"type": "id_rcs", "rows_per_range": 200}}
    data = config(database, *({"name": n, "table": "public.work", "strategy": s, **guards} for n, s in streams.items()))
    copies = {n: Copy(database, "work", ["part", "id"], name=n) for n in streams}
    with opened(data, workspace, spark) as project:
        for name in streams:
            project.stream(name).prepare()
            copies[name].take_baseline()
        found: Counter[str] = Counter()
        started = time.monotonic()
        with writers(server, database, SCRIPT, workspace):
            while time.monotonic() - started < SECONDS or min(found.values()) < ROUNDS:
                for outcome in poll(project):
                    assert outcome.report is not None
                    assert outcome.report.header is not None, "nothing was found among so many writes"
                    found[outcome.stream] += 1
        for name, copy in copies.items():
            poll(project, name)
            copy.replay(batches(workspace / "out" / "changes", name))
            assert copy.differences() == []
            assert project.stream(name).verify() == []
            (outcome,) = poll(project, name)
            assert outcome.report is not None
            assert outcome.report.header is None


# -- the bank: no transfer changes the sum -----------------------------------------------------------------------------

ACCOUNTS = 4000
BANK = f"""
CREATE TABLE bank (id integer PRIMARY KEY, cents bigint);
INSERT INTO bank SELECT g, 1000 FROM generate_series(1, {ACCOUNTS}) g
"""
TRANSFER = f"""
\\set a random(1, {ACCOUNTS})
\\set b random(1, {ACCOUNTS})
\\set cents random(1, 100)
BEGIN;
UPDATE bank SET cents = cents - :cents WHERE id = :a;
UPDATE bank SET cents = cents + :cents WHERE id = :b;
COMMIT;
"""
READS = 20


class Bank:
    """The stream over the bank, and its staged reads one by one."""

    def __init__(self, database: str, folder: Path, spark: SparkSession) -> None:
        sql(database, BANK)
        table = {"name": "b", "table": "public.bank", "strategy": {"type": "id_rcs", "rows_per_range": 500}}
        self.spark = spark
        self.project = opened(config(database, table, source={"connections": 4}), folder, spark)
        self.project.stream("b").prepare()

    def sums(self, reads: int) -> list[tuple[int, int]]:
        """(accounts, cents) of `reads` reads of all ranges, each as a poll stages it."""
        stream = self.project.work("b")
        site = stream.site
        assert isinstance(site, SparkSite)
        found = []
        with site.hold() as held:
            plan, _ = plan_of(stream, held.row)
            with site.reading() as conn:
                known = site.store.ranges(conn, "b")
            strategy = site.strategy(plan)
            for _ in range(reads):
                with snapshot_of(stream.source, plan, held.row.checkpoint) as snapshot:
                    now = checksums(stream.source, strategy, snapshot, known, 4)
                    fetched = site._fetch(strategy, snapshot, now, stream.settings, held)
                rows = site.replica.part_rows(plan, fetched).selectExpr("count(*)", "sum(c1)").head()
                assert rows is not None
                found.append((int(rows[0]), int(rows[1])))
                site.files.discard(fetched)
        return found


def test_pinned_reads_do_not_tear(
    server: EmbeddedPostgres, database: str, workspace: Path, spark: SparkSession
) -> None:
    bank = Bank(database, workspace, spark)
    with bank.project, writers(server, database, TRANSFER, workspace):
        assert bank.sums(READS) == [(ACCOUNTS, 1000 * ACCOUNTS)] * READS
        fetched = []
        for _ in range(2):
            (outcome,) = poll(bank.project, "b")
            assert outcome.report is not None
            fetched.append(outcome.report.cost.dirty)
        assert fetched == [ACCOUNTS // 500] * 2, "transfers touched every range"


def test_control_reads_without_the_pin_tear(
    server: EmbeddedPostgres, database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank = Bank(database, workspace, spark)
    monkeypatch.setattr(PostgreSQL, "snapshot_pins", lambda self, name: self.session_pins())
    with bank.project, writers(server, database, TRANSFER, workspace):
        assert set(bank.sums(READS)) != {(ACCOUNTS, 1000 * ACCOUNTS)}
        mark = bank.project.work("b").site.row()
        with pytest.raises(TornRead):
            poll(bank.project, "b")
        after = bank.project.work("b").site.row()
        assert mark is not None
        assert after is not None
        assert (after.version, after.checkpoint) == (mark.version, mark.checkpoint)
