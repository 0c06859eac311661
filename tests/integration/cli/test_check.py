"""The output of `qbcd check`: findings that are not ok, each error once, and a summary line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import sql
from tests.support.cli import Cli

CONFIG = """\
version: 1
workdir: {workdir}
sources:
  shop: {{url: "{url}"}}
sinks:
  changes: {{type: jsonl, path: {sink}}}
defaults: {{sinks: [changes]}}
tables:
  - {{source: shop, table: public.orders, strategy: id_rcs}}
  - {{source: shop, table: public.customers, strategy: id_rcs}}
  - {{source: shop, table: public.quiet, strategy: {{type: ts, timestamp: at, lag: 1m}}}}
"""


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, workspace: Path, database: str) -> Cli:
    monkeypatch.chdir(workspace)
    for table in ("orders", "customers", "quiet"):
        sql(database, f"CREATE TABLE {table} (id int PRIMARY KEY, at timestamptz NOT NULL)")
    sql(database, "CREATE INDEX ON quiet (at); ANALYZE")
    (workspace / "file").write_text("")
    return Cli(capsys)


def configure(workspace: Path, url: str, workdir: str = ".qbcd", sink: str = "out") -> None:
    (workspace / "qbcd.yaml").write_text(CONFIG.format(url=url, workdir=workdir, sink=sink))


def test_a_sum_line_and_what_is_not_ok(cli: Cli, workspace: Path, database: str) -> None:
    configure(workspace, database)
    ran = cli("check")
    warning, total = ran.out.splitlines()
    assert (ran.code, ran.err, total) == (0, "", "3 streams: 2 ok, 1 warning")
    assert warning.startswith("  warning  stream quiet: strategy: ts: a timestamp cannot show a deleted row")
    assert cli("check", "orders").out == "1 stream: 1 ok\n"
    everything = cli("check", "-v").out.splitlines()
    assert (everything[0], everything[-1]) == ("qbcd.yaml: the configuration is valid", total)
    assert "  ok       sink changes: takes batches" in everything
    assert len(everything) > 20


def test_a_folder_that_cannot_be_written_is_reported_once(cli: Cli, workspace: Path, database: str) -> None:
    configure(workspace, database, workdir="file/work", sink="file/out")
    ran = cli("check")
    assert ran.code == 3
    folder = f"folder {workspace}/file cannot be written: Not a directory; workdir, sink changes need it"
    assert ran.err.splitlines() == [f"error: {folder} (check its owner, rights and free space)"]
    assert ran.out.splitlines()[-1] == "3 streams: 2 ok, 1 warning; project: 1 error"
    assert cli("check", "-v").err == ran.err
