"""Lists of `qbcd verify` that show fewer rows than differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from qbcd.sites.values import LISTED
from tests.support import sql
from tests.support.cli import Cli

CONFIG = """\
version: 1
sources:
  shop: {{url: "{url}"}}
tables:
  - {{source: shop, table: public.t, name: inside, strategy: mds}}
  - {{source: shop, table: public.t, name: under_spark, strategy: id_rcs}}
"""


@pytest.mark.campaign
@pytest.mark.usefixtures("spark")
def test_a_shortened_list_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, workspace: Path, database: str
) -> None:
    monkeypatch.chdir(workspace)
    sql(database, "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1)")
    (workspace / "qbcd.yaml").write_text(CONFIG.format(url=database))
    cli = Cli(capsys)
    assert cli("prepare").code == 0
    sql(database, f"INSERT INTO t SELECT i, i FROM generate_series(2, {LISTED + 1}) i")
    for stream in ("inside", "under_spark"):
        found = cli("verify", stream, "--json").data
        assert (found["equal"], found["truncated"], len(found["differences"])) == (False, False, LISTED)
        assert f"{stream}: 1,000 differences" in cli("verify", stream).out
    sql(database, "UPDATE t SET n = 0 WHERE id = 1")
    for stream in ("inside", "under_spark"):
        ran = cli("verify", stream, "--json")
        assert ran.code == 4
        assert (ran.data["truncated"], len(ran.data["differences"])) == (True, LISTED)
        assert f"{stream}: the first 1,000 differences" in cli("verify", stream).out
