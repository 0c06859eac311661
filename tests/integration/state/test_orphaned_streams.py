"""State of renamed or removed streams, and `check` on lost files and state."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support import sql
from tests.support.cli import Cli

TABLES = """
CREATE TABLE orders (id int PRIMARY KEY, status text);
INSERT INTO orders SELECT i, 'new' FROM generate_series(1, 20) i;
CREATE TABLE customers (id int PRIMARY KEY, name text);
INSERT INTO customers VALUES (1, 'a'), (2, 'b')
"""
CONFIG = """\
version: 1
sources:
  shop: {{url: "{url}"}}
sinks:
  changes: {{type: jsonl, path: out}}
defaults: {{sinks: [changes]}}
tables:
  - {{source: shop, table: public.orders, name: {orders}, strategy: id_rcs}}
  - {{source: shop, table: public.customers, name: {customers}, strategy: mds}}
"""
OWN = "SELECT count(*) FROM pg_tables WHERE schemaname = 'qbcd' AND tablename LIKE '%customers%'"

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, workspace: Path, database: str) -> Cli:
    monkeypatch.chdir(workspace)
    sql(database, TABLES)
    configure(workspace, database)
    return Cli(capsys)


def configure(workspace: Path, url: str, orders: str = "orders", customers: str = "customers") -> None:
    (workspace / "qbcd.yaml").write_text(CONFIG.format(url=url, orders=orders, customers=customers))


def files_of(workspace: Path, stream: str) -> list[Path]:
    return [path for path in workspace.glob(f".qbcd/*/{stream}/*/*") if path.is_file()]


def test_a_stream_that_was_never_polled_can_be_reset(cli: Cli, workspace: Path, database: str) -> None:
    """Without sinks only its site knows it."""
    text = (workspace / "qbcd.yaml").read_text().replace("defaults: {sinks: [changes]}\n", "")
    (workspace / "qbcd.yaml").write_text(text)
    assert cli("prepare").code == 0
    (workspace / "qbcd.yaml").write_text(text.replace("customers, strategy", "kunden, strategy"))
    assert sql(database, OWN) != [(0,)]
    assert cli("reset", "customers", "-y").code == 0
    assert sql(database, OWN) == [(0,)]


def test_renamed_streams_are_reported_and_can_be_reset(cli: Cli, workspace: Path, database: str) -> None:
    assert cli("prepare").code == 0
    assert cli("run", "--once").code == 0
    assert cli("status", "--json").data["left"] == []
    assert "no longer in the configuration" not in cli("check").out

    configure(workspace, database, orders="bestellungen", customers="kunden")
    status = cli("status")
    assert "stream orders is prepared, but no longer configured" in status.err
    assert [(one["stream"], one["place"]) for one in cli("status", "--json").data["left"]] == [
        ("customers", "schema 'qbcd' of source shop"),
        ("orders", "the workdir"),
    ]
    checked = cli("check")
    assert checked.code == 0
    assert "qbcd reset customers" in checked.out

    assert (sql(database, OWN) == [(0,)], files_of(workspace, "orders") == []) == (False, False)
    assert (cli("reset", "orders", "-y").code, cli("reset", "customers", "-y").code) == (0, 0)
    assert (sql(database, OWN), files_of(workspace, "orders")) == ([(0,)], [])
    assert cli("status", "--json").data["left"] == []
    again = cli("reset", "orders", "-y")
    assert (again.code, 'there is no stream "orders"' in again.err) == (2, True)


def test_batches_that_wait_for_a_sink_are_not_dropped_with_a_name(cli: Cli, workspace: Path, database: str) -> None:
    assert cli("prepare").code == 0
    (workspace / "out" / "customers").mkdir(parents=True)
    (workspace / "out" / "customers").rmdir()
    (workspace / "out" / "customers").write_text("no folder")
    sql(database, "UPDATE customers SET name = 'c' WHERE id = 1")
    assert cli("run", "--once", "customers").code == 1
    configure(workspace, database, customers="kunden")
    refused = cli("reset", "customers", "-y")
    assert refused.code == 3
    assert "1 batch is not delivered to every sink (add the name again and run it" in refused.err
    assert sql(database, OWN) != [(0,)]
    assert cli("reset", "customers", "-y", "--discard").code == 0
    assert sql(database, OWN) == [(0,)]


@pytest.mark.campaign
def test_check_misses_files_and_state(cli: Cli, workspace: Path, database: str) -> None:
    assert cli("prepare").code == 0
    assert cli("check").code == 0
    [file] = [path for path in files_of(workspace, "orders") if path.suffix == ".parquet"]
    kept = file.read_bytes()
    file.write_bytes(kept[:-1])
    torn = cli("check", "orders")
    assert (torn.code, f"{file.name} is missing or was changed" in torn.err) == (3, True)
    file.write_bytes(kept)
    assert cli("check", "orders").code == 0
    shutil.move(workspace / ".qbcd" / "state.db", workspace / "elsewhere.db")
    checked = cli("check", "orders")
    assert checked.code == 0
    assert "there is no state database, but workdir" in checked.out


def test_a_mistake_is_reported_once(cli: Cli, workspace: Path, database: str) -> None:
    configure(workspace, f"{database}?sslmode=ful")
    checked = cli("check")
    assert checked.code == 2
    assert checked.err.count("sslmode") == 1
    assert "sets sslmode to a value that it cannot have (use one of disable, allow, prefer, require, " in checked.err


def test_the_key_cannot_be_excluded(cli: Cli, workspace: Path) -> None:
    path = workspace / "qbcd.yaml"
    path.write_text(path.read_text().replace("strategy: mds", "strategy: mds, exclude: [id]"))
    checked = cli("check", "customers")
    assert checked.code == 2
    assert 'qbcd.yaml:9: tables[1].exclude: exclude names column "id" of the key' in checked.err
