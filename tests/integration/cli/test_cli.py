"""The command line on a real server: what users type, what they read, and exit codes."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg2
import pytest

from qbcd.check import check_machine
from qbcd.config import SparkConfig
from qbcd.connectors import PostgreSQL
from qbcd.spark.drivers import Wanted
from qbcd.spark.provider import SparkProvider
from tests.support import connect, sql, wait_until
from tests.support.cli import Cli, finished, spawn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = """
CREATE TABLE orders (id int PRIMARY KEY, status text, amount numeric(10,2), region text);
INSERT INTO orders SELECT i, 'new', i * 1.5, CASE WHEN i % 2 = 0 THEN 'EU' ELSE 'US' END FROM generate_series(1, 400) i;
CREATE TABLE customers (id int PRIMARY KEY, name text);
INSERT INTO customers SELECT i, 'n' || i FROM generate_series(1, 20) i;
CREATE TABLE loose (a int, b text);
INSERT INTO loose VALUES (1, 'x'), (2, 'y');
ANALYZE
"""
CONFIG = """\
version: 1
sources:
  shop: {{url: "{url}"}}
sinks:
  changes: {{type: jsonl, path: out}}
defaults: {{every: 1s, sinks: [changes]}}
tables:
  - {{source: shop, table: public.orders, strategy: {{type: id_rcs, rows_per_range: 50}}, where: "{where}"}}
  - {{source: shop, table: public.customers, strategy: mds}}
"""
DAY = """
UPDATE orders SET status = 'paid' WHERE id = 2;
UPDATE orders SET region = 'US' WHERE id = 4;
INSERT INTO customers VALUES (21, 'new');
UPDATE customers SET name = 'x' WHERE id = 1;
DELETE FROM customers WHERE id = 2
"""


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, workspace: Path, database: str) -> Cli:
    monkeypatch.chdir(workspace)
    sql(database, TABLES)
    configure(workspace, database)
    return Cli(capsys)


def configure(workspace: Path, url: str, where: str = "region = 'EU'", more: str = "") -> None:
    (workspace / "qbcd.yaml").write_text(CONFIG.format(url=url, where=where) + more)


def role(database: str, *rights: str) -> str:
    """Return the URL of a new role with `rights`, in which ``{}`` is its name."""
    name = f"r_{time.monotonic_ns()}"
    sql(database, f"CREATE ROLE {name} LOGIN")
    for right in rights:
        sql(database, right.format(name))
    return database.replace("postgres@", f"{name}@")


def names_in(workspace: Path) -> list[str]:
    return sorted(path.name for path in workspace.iterdir())


def test_commands_that_only_read_change_nothing(cli: Cli, workspace: Path, database: str) -> None:
    assert cli("check").out == "2 streams: 2 ok\n"
    checked = cli("check", "-v")
    assert checked.code == 0, checked.err
    for said in (
        "configuration is valid",
        "PostgreSQL 18",
        "about 400 rows",
        "(id), unique by the catalog",
        "Java",
        "driver org.postgresql.Driver",
        "create schema qbcd",
    ):
        assert said in checked.out
    explained = cli("explain", "customers")
    assert explained.code == 0
    assert "FULL JOIN" in explained.out
    assert "N + M + own: N 1" in explained.out
    orders = cli("explain", "orders", "--json").data
    assert orders["prediction"]["formula"] == "R*N + dirty ranges again"
    assert orders["ships_unchanged"] == "count and checksum of each range"
    assert all("region = 'EU'" in s["sql"] for s in orders["steps"] if "FROM" in s["sql"])
    ddl = cli("prepare", "--dry-run")
    assert ddl.code == 0
    assert 'CREATE TABLE IF NOT EXISTS "qbcd"."replica_customers' in ddl.out
    assert "orders: the source is only read" in ddl.out
    assert cli("status").code == 0
    assert sql(database, "SELECT count(*) FROM pg_namespace WHERE nspname = 'qbcd'") == [(0,)]
    assert names_in(workspace) == ["qbcd.yaml"]


def test_a_table_without_statistics_has_its_size(cli: Cli, workspace: Path, database: str) -> None:
    sql(database, "CREATE TABLE fresh (id int PRIMARY KEY, t text) WITH (autovacuum_enabled = false)")
    sql(database, "INSERT INTO fresh SELECT i, repeat('x', 100) FROM generate_series(1, 1000) AS i")
    [(pages,)] = sql(database, "SELECT pg_relation_size('fresh') / 8192")
    configure(workspace, database, more="  - {source: shop, table: public.fresh, strategy: id_rcs}\n")
    explained = cli("explain", "fresh")
    assert f"N + dirty ranges again: N {pages}\n" in explained.out
    assert "the table was never analyzed: run ANALYZE" in explained.out
    assert "ships unknown rows" in explained.out


def test_dry_run_gives_what_prepare_needs(cli: Cli, workspace: Path, database: str) -> None:
    """A DBA runs the DDL; a role without the right to create then prepares and polls."""
    ddl = cli("prepare", "customers", "--dry-run").out
    sql(database, ddl)
    grants = (
        "GRANT SELECT ON customers TO {}",
        "GRANT USAGE ON SCHEMA qbcd TO {}",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA qbcd TO {}",
    )
    configure(workspace, role(database, *grants))
    ran = cli("prepare", "customers")
    assert ran.code == 0, ran.err


@pytest.mark.usefixtures("spark")
def test_the_life_of_a_project(cli: Cli, workspace: Path, database: str) -> None:
    refused = cli("run", "--once", "--json")
    assert refused.code == 3
    assert [line["remedy"] for line in refused.lines] == ["qbcd prepare orders", "qbcd prepare customers"]

    prepared = cli("prepare")
    assert (prepared.code, prepared.err) == (0, "")
    assert "orders: baseline of 200 rows taken" in prepared.out
    assert "is prepared already" in cli("prepare", "orders").err
    assert cli("check").code == 0

    sql(database, DAY)
    differing = cli("verify", "customers", "--json")
    assert differing.code == 4
    assert sorted((d["op"], d["key"]) for d in differing.data["differences"]) == [("c", "21"), ("d", "2"), ("u", "1")]
    assert cli("verify", "orders").code == 4

    polled = cli("run", "--once", "--json")
    assert polled.code == 0, polled.err
    assert [(p["stream"], p["counts"]) for p in polled.lines] == [
        ("orders", {"d": 1, "u": 1}),
        ("customers", {"d": 1, "u": 1, "c": 1}),
    ]
    assert polled.lines[0]["cost"]["dirty"] == 1
    assert [(p["cost"]["rows_shipped"] > 0, p["cost"]["spark"]) for p in polled.lines] == [(True, False)] * 2

    unchanged = cli("run", "--once")
    assert unchanged.code == 0
    assert unchanged.err.count("no change (scanned") == 2
    assert unchanged.err.count("shipped nothing") == 2
    assert unchanged.out == ""
    assert "orders: replica and source are equal" in cli("verify", "orders").out

    sql(database, "UPDATE customers SET name = 'y' WHERE id IN (1, 3)")
    assert cli("run", "--once", "customers").code == 0
    events = cli("changes", "customers", "-n", "3", "--json").lines
    found = [(e["source"]["batch_seq"], e["op"], e["key"]["id"]) for e in events]
    assert (found[0], sorted(found[1:])) == ((1, "c", 21), [(2, "u", 1), (2, "u", 3)])
    shown = cli("changes", "orders")
    assert "status: new → paid" in shown.out
    assert re.match(r"orders  \d+/1: 1 update, 1 delete\n", shown.out)

    status = {s["stream"]: s for s in cli("status", "--json").data["streams"]}
    assert status["customers"]["events"] == {"d": 1, "u": 3, "c": 1}
    assert status["customers"]["last_batch"]["batch_seq"] == 2
    assert status["orders"]["pending"] == {"changes": 0} or status["orders"]["pending"] == {}
    assert status["orders"]["last_poll"]["outcome"] == "empty"
    assert 0 <= status["orders"]["lag_seconds"] < 120

    assert cli("reset", "orders", "-y").code == 0
    assert cli("run", "--once", "orders").code == 3
    assert "not prepared" in cli("status", "orders").out


def test_status_says_how_far_a_table_is_read(cli: Cli, workspace: Path, database: str) -> None:
    sql(
        database,
        """CREATE TABLE seen (id int PRIMARY KEY, n bigint NOT NULL, at timestamptz NOT NULL DEFAULT now());
        INSERT INTO seen SELECT i, i FROM generate_series(1, 40) i""",
    )
    how = {
        "by_clock": "ts, timestamp: at, lag: 10m, deletes: {every: 1h}",
        "by_number": "ts, timestamp: n, counter: table, replica: keys",
        "by_range": "id, rows_per_range: 10",
    }
    line = "  - {{source: shop, table: public.seen, name: {}, sinks: [], strategy: {{type: {}}}}}\n"
    configure(workspace, database, more="".join(line.format(name, strategy) for name, strategy in how.items()))
    prepared = cli("prepare", *how)
    assert prepared.code == 0, prepared.err
    found = {s["stream"]: s for s in cli("status", "--json").data["streams"]}
    assert 600 <= found["by_clock"]["watermark"]["lag_seconds"] < 720
    assert found["by_number"]["watermark"] == {"at": "40", "lag_seconds": None}
    assert (
        [found[s]["pass"] for s in ("by_number", "customers")] == [found["by_range"]["watermark"], None] == [None] * 2
    )
    assert (found["by_range"]["pass"]["ranges"], found["by_range"]["pass"]["visited"]) == (4, 4)
    assert 0 <= found["by_clock"]["pass"]["oldest_visit_seconds_ago"] < 120
    shown = cli("status", *how).out
    assert all(said in shown for said in (", 10 min ago", "watermark   40", "4 of 4 ranges visited"))
    assert "watermark" not in cli("status", "customers").out


@pytest.mark.usefixtures("spark")
def test_a_batch_that_a_sink_refuses_waits(cli: Cli, workspace: Path, database: str) -> None:
    assert cli("prepare", "customers").code == 0
    sql(database, "UPDATE customers SET name = 'x' WHERE id = 1")
    (workspace / "out").write_text("in the way")
    failed = cli("run", "--once", "customers", "--json")
    assert failed.code == 1
    assert failed.lines[0]["outcome"] == "failed"
    assert "error: stream customers: sink changes" in failed.err
    status = cli("status", "customers", "--json").data["streams"][0]
    assert status["pending"] == {"changes": 1}
    assert status["failures"]["changes"]["attempts"] == 1
    assert "1 attempt" in cli("status").err
    assert "1 attempt" in (shown := cli("status", "customers")).out
    assert ("pending     changes 1 batch\n" in shown.out, shown.err) == (True, "")
    assert (cli("status").code, cli("status", "--check").code) == (0, 5)
    refused = cli("reset", "customers", "-y")
    assert refused.code == 3
    assert "--discard" in refused.err
    (workspace / "out").unlink()
    assert "1 earlier delivery made" in cli("run", "--once", "customers").err
    assert cli("status", "customers", "--json").data["streams"][0]["failures"] == {}
    assert cli("reset", "customers", "-y").code == 0


@pytest.mark.usefixtures("spark")
def test_an_outbox_that_somebody_dropped(cli: Cli, workspace: Path, database: str) -> None:
    assert cli("prepare", "customers").code == 0
    sql(database, "UPDATE customers SET name = 'x' WHERE id = 1")
    (workspace / "out").write_text("in the way")
    assert cli("run", "--once", "customers").code == 1
    (workspace / "out").unlink()
    [(outbox,)] = sql(database, "SELECT tablename FROM pg_tables WHERE schemaname = 'qbcd' AND tablename ~ '^outbox'")
    sql(database, f"DROP TABLE qbcd.{outbox}")
    ran = cli("run", "--once", "customers")
    assert ran.code == 3
    remedy = "restore it, or qbcd reset customers --discard and prepare it again"
    assert f"its outbox qbcd.{outbox} does not exist any more ({remedy})" in ran.err
    assert cli("reset", "customers", "-y", "--discard").code == 0
    assert cli("prepare", "customers").code == 0
    assert cli("run", "--once", "customers").code == 0


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("a = 1; drop table x", "semicolon"),
        ("select 1", "expression"),
        ("id = 1 --", "comment"),
        ("count(*) > 1", "aggregate"),
        ("regio = 'EU'", "regio"),
        ("id + 1", "boolean"),
    ],
)
def test_a_bad_restriction_is_found_with_its_line(
    cli: Cli, workspace: Path, database: str, where: str, said: str
) -> None:
    configure(workspace, database, where)
    ran = cli("check", "orders")
    assert ran.code == 2
    assert "qbcd.yaml:8: tables[0].where" in ran.err
    assert said in ran.err
    assert cli("prepare", "orders").code == 2


def test_check_collects_every_stream(cli: Cli, workspace: Path, database: str) -> None:
    more = (
        "  - {source: shop, table: public.loose, key: [a], strategy: mds}\n"
        "  - {source: shop, table: public.loose, name: twice, key: [b], strategy: id_rcs}\n"
        "  - {source: shop, table: public.losse, key: [a], strategy: id_rcs}\n"
    )
    sql(database, "INSERT INTO loose VALUES (3, 'x')")
    configure(workspace, database, more=more)
    ran = cli("check", "--json")
    found = {(f["stream"], f["subject"]): f for f in ran.data["findings"]}
    assert ran.code == 3  # the worse of 2 and 3
    assert found["loose", "key"]["message"].startswith("(a), unique now")
    assert "not unique" in found["twice", "stream"]["error"]
    assert found["twice", "stream"]["where"] == "qbcd.yaml:11: tables[3].key"
    assert 'did you mean "public.loose"' in found["losse", "stream"]["remedy"]
    assert found["customers", "privileges"]["level"] == "ok"
    assert "more than" in cli("check", "twice").err


def test_a_role_without_rights(cli: Cli, workspace: Path, database: str) -> None:
    configure(workspace, role(database, "GRANT SELECT ON orders, customers TO {}"))
    ran = cli("check")
    assert ran.code == 3
    assert "may not create schema qbcd" in ran.err
    assert 'CREATE SCHEMA "qbcd" AUTHORIZATION "' in ran.err
    assert "qbcd prepare customers --dry-run" in ran.err
    sql(database, "CREATE SCHEMA qbcd")
    refused = cli("check", "customers").err
    assert "may not create tables in schema qbcd" in refused
    assert 'GRANT USAGE, CREATE ON SCHEMA "qbcd" TO "' in refused
    assert cli("check", "orders").code == 0


def test_a_key_that_does_not_follow_the_table_is_a_warning(cli: Cli, workspace: Path, database: str) -> None:
    sql(database, "CREATE TABLE shuffled AS SELECT md5(i::text) AS k, i FROM generate_series(1, 2000) i")
    sql(database, "ALTER TABLE shuffled ADD PRIMARY KEY (k); ANALYZE shuffled")
    own = "strategy: {type: id_rcs, buckets: key}"
    more = f"  - {{source: shop, table: shuffled, {own}}}\n  - {{source: shop, table: shuffled, name: suited, "
    more += "strategy: id_rcs}\n  - {source: shop, table: shuffled, name: by_hash, strategy: {type: id_rcs, buckets: "
    configure(workspace, database, more=more + "hash}}\n")
    ran = cli("check", "shuffled")
    assert ran.code == 0
    assert "warning" in ran.out
    assert "does not follow the table's physical order" in ran.out
    assert "warning" not in cli("check", "suited", "by_hash").out
    assert "count rows and pages, by which ranges of pages are sized" in cli("explain", "suited").out
    explained = cli("explain", "by_hash").out
    assert "count the rows, by which buckets of the key's hash are sized" in explained
    assert "AS qbcd_bucket" in explained


def test_a_password_is_never_printed(cli: Cli, workspace: Path, database: str) -> None:
    configure(workspace, database.replace("postgres@", "nobody:hunter22@"))
    for command in ("check", "check --json", "prepare -v", "explain orders", "status -v"):
        ran = cli(*command.split())
        assert ran.code in (0, 1), command
        assert "hunter22" not in ran.out + ran.err


@pytest.mark.campaign
def test_the_first_signal_finishes_the_step_and_the_second_does_not(cli: Cli, workspace: Path, database: str) -> None:
    assert cli("prepare", "customers").code == 0
    for second in (False, True):
        with connect(database) as lock, lock.cursor() as cursor:
            cursor.execute("LOCK TABLE customers IN ACCESS EXCLUSIVE MODE")
            process = spawn(workspace, "run", "customers", "--json")
            wait_until(lambda: _waits_for_lock(database), what="the poll that waits for the lock")
            try:
                process.send_signal(signal.SIGTERM if not second else signal.SIGINT)
                assert process.stderr is not None
                assert "polling 1 stream" in process.stderr.readline()
                assert "stopping after the current step" in process.stderr.readline()
                assert process.poll() is None
                if second:
                    process.send_signal(signal.SIGINT)
                    assert finished(process, 60).code == 130
            except BaseException:
                process.kill()
                raise
        if not second:
            ran = finished(process, 60)
            assert ran.code == 0, ran.err
            assert [line["outcome"] for line in ran.lines] == ["empty"]
    assert cli("run", "--once", "customers").code == 0  # the lease of a killed poller hinders nobody


def _waits_for_lock(database: str) -> bool:
    waiting = sql(
        database,
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    )
    return bool(waiting[0][0])


@pytest.mark.campaign
def test_the_demo_cleans_up_after_ctrl_c(workspace: Path) -> None:
    process = spawn(workspace, "demo", "--directory", "shown")
    config = workspace / "shown" / "qbcd.yaml"
    try:
        # The state is made after the configuration, which may be half written when it is first seen.
        wait_until((workspace / "shown" / ".qbcd").exists, timeout=180, what="the project's state")
        url = config.read_text().split('"')[1]
        with psycopg2.connect(url):
            pass
        process.send_signal(signal.SIGINT)
        assert finished(process, 120).code == 130
    finally:
        process.kill()
    with pytest.raises(psycopg2.OperationalError):
        psycopg2.connect(url)
    assert names_in(workspace / "shown") == ["qbcd.yaml"]


def test_the_demo_leaves_other_folders_alone(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (workspace / "mine.txt").write_text("mine")
    ran = Cli(capsys)("demo", "--directory", str(workspace))
    assert ran.code == 2
    assert "contains files that no demonstration wrote" in ran.err
    assert names_in(workspace) == ["mine.txt"]


def test_executors_are_checked_for_the_workdir(workspace: Path, spark: SparkSession) -> None:
    config = SparkConfig(master="spark://cluster:7077")
    provider = SparkProvider(config, list, session=spark)
    for workdir in (workspace, workspace / "new", workspace / "far" / "below" / "new"):
        found = check_machine([Wanted(PostgreSQL.driver)], workdir, config, provider)
        assert [(f.subject, f.level) for f in found][-1] == ("executors", "ok")
    assert provider.started
    assert names_in(workspace) == []
    (workspace / "file").write_text("")
    [*_, last] = check_machine([], workspace / "file" / "below", config, provider)
    assert (last.subject, last.level) == ("workdir", "error")


@pytest.mark.campaign
def test_the_demo_finds_what_was_applied(workspace: Path) -> None:
    for _ in range(2):  # the second demonstration replaces the first
        ran = finished(spawn(workspace, "demo", "--json"), 240)
        assert ran.code == 0, ran.err
        assert ran.data["found"]["flights"] == {"d": 62, "u": 719, "c": 760}
        assert ran.data["unchanged_poll"]["spark_jobs"] == 0
        assert ran.data["found"]["delays"] == {"d": 316, "u": 509, "c": 14}
        assert ran.data["found"]["airlines-ts"] == ran.data["found"]["airlines-atdi"] == {"d": 1, "u": 1}
        assert {Path(file).parent.name for file in ran.data["files"]} == {
            "airlines",
            "airlines-atdi",
            "airlines-ts",
            "delays",
            "flights",
            "planes",
        }
        assert names_in(workspace / "qbcd-demo") == ["events", "lake", "mirror.duckdb", "qbcd.yaml"]
