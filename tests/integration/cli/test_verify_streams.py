"""`qbcd verify` of all streams, and of streams whose polls do not show deletes.

Such deletes are no differences.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import qbcd
from tests.support import sql
from tests.support.cli import Cli

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = "INSERT INTO t SELECT i, 'old', 1, '2001-01-01' FROM generate_series(1, 9) i"
TABLE = f"CREATE TABLE t (id int PRIMARY KEY, v text, n int, at timestamptz NOT NULL); {ROWS}"
DELETE = "DELETE FROM t WHERE id IN (3, 4)"
STAMP = {"type": "ts", "timestamp": "at"}


def configure(url: str, **streams: dict[str, Any]) -> None:
    """Write qbcd.yaml with streams of table t, without sinks."""
    data = {
        "version": 1,
        "sources": {"shop": {"url": url}},
        "tables": [{"source": "shop", "table": "public.t", "name": name, **one} for name, one in streams.items()],
    }
    Path("qbcd.yaml").write_text(json.dumps(data))  # without anchors for repeated values


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, workspace: Path, database: str) -> Cli:
    monkeypatch.chdir(workspace)
    sql(database, TABLE)
    return Cli(capsys)


def test_every_stream_is_compared(cli: Cli, database: str) -> None:
    configure(database, first={"strategy": "mds"}, last={"strategy": "tlcs"})
    assert cli("prepare").code == 0
    same = cli("verify")
    assert (same.code, same.out.count("replica and source are equal")) == (0, 2)
    sql(database, "UPDATE t SET v = 'new' WHERE id = 1")
    differing = cli("verify", "--json")
    assert (differing.code, [line["stream"] for line in differing.lines]) == (4, ["first", "last"])
    assert all(line["differences"] == [{"op": "u", "key": "1"}] for line in differing.lines)
    assert cli("verify", "last", "lst").code == 2
    streams: dict[str, dict[str, Any]] = {"new": {"strategy": "mds"}, "first": {"strategy": "mds"}}
    configure(database, **streams, last={"strategy": "tlcs"})
    refused = cli("verify", "new", "first")  # a refused stream does not stop the comparison of others
    assert (refused.code, "first: 1 difference" in refused.out, "qbcd prepare new" in refused.err) == (3, True, True)
    polled = cli("run", "--once", "first", "last").err  # without sinks no row travels
    assert polled.count(" shipped nothing ") == polled.count("without Spark)") == 2
    with qbcd.open("qbcd.yaml") as project:
        assert [(one.stream, one.exit_code) for one in project.verify(["new", "last"])] == [("new", 3), ("last", 0)]


def test_deletes_that_no_poll_has_searched(cli: Cli, database: str) -> None:
    configure(
        database,
        hourly={"strategy": {**STAMP, "deletes": {"every": "1h"}}},
        due={"strategy": {**STAMP, "deletes": {"every": "1ms"}}},
        audited={"strategy": STAMP, "audit": {"every": "2h"}},
        never={"strategy": STAMP},
        checksums={"strategy": {"type": "tlcs", "deletes": False}},
    )
    assert cli("prepare").code == 0
    sql(database, DELETE)
    assert cli("run", "--once", "hourly", "never", "checksums").code == 0
    told = cli("verify")
    assert (told.code, told.err) == (0, "")
    later = "2 deletes not looked for yet (next"
    assert told.out.splitlines() == [
        f"hourly: no differences; {later} sweep in 59 min)",
        f"due: no differences; {later} sweep at the next poll)",
        f"audited: no differences; {later} audit in 1 h)",
        "never: no differences; 2 deletes that this stream does not look for (see `deletes` of its strategy)",
        "checksums: no differences; 2 deletes that this stream does not look for (see `deletes` of its strategy)",
    ]
    found = {line["stream"]: line for line in cli("verify", "--json").lines}
    assert all((one["equal"], one["differences"]) == (True, []) for one in found.values())
    unseen = {name: one["deletes_not_looked_for"] for name, one in found.items()}
    assert all((one["keys"], one["truncated"]) == (["3", "4"], False) for one in unseen.values())
    assert 3500 < unseen["hourly"]["next_in_seconds"] <= 3600
    assert {name: one["by"] for name, one in unseen.items()} == {
        "hourly": "sweep",
        "due": "sweep",
        "audited": "audit",
        "never": None,
        "checksums": None,
    }
    assert cli("run", "--once", "due").code == 0
    assert "replica and source are equal" in cli("verify", "due").out


WHERE = "n < 5"
SCATTER = (
    f"{DELETE}; UPDATE t SET n = 9 WHERE id = 5; UPDATE t SET v = 'by hand' WHERE id = 6"  # without their timestamps
)


def check_apart(cli: Cli, stream: str, *, exits: bool) -> None:
    """Check that `verify` lists missed changes, and deletes apart from them."""
    ran = cli("verify", stream, "--json")
    listed = sorted((one["op"], one["key"]) for one in ran.data["differences"])
    assert (ran.code, listed) == (4, [("d", "5"), ("u", "6")] if exits else [("u", "6")])
    assert sorted(ran.data["deletes_not_looked_for"]["keys"])[:2] == ["3", "4"]
    number = len(listed)
    assert f"{stream}: {number} difference{'s' if number > 1 else ''}; " in cli("verify", stream).out


def test_differences_next_to_such_deletes(cli: Cli, database: str) -> None:
    configure(database, s={"strategy": STAMP, "where": WHERE})
    assert cli("prepare").code == 0
    sql(database, SCATTER)
    check_apart(cli, "s", exits=True)


@pytest.mark.campaign
@pytest.mark.usefixtures("spark")
def test_a_replica_in_files(cli: Cli, database: str, spark: SparkSession) -> None:
    remote = {"type": "tlcs", "checksums": "remote", "deletes": False}
    configure(
        database,
        stamped={"strategy": {**STAMP, "replica": "spark", "deletes": {"every": "1h"}}, "where": WHERE},
        whole={"strategy": {**STAMP, "replica": "spark"}},
        checksums={"strategy": remote},
    )
    assert cli("prepare").code == 0
    assert "replica and source are equal" in cli("verify", "stamped").out
    sql(database, DELETE)
    assert cli("run", "--once").code == 0
    told = cli("verify")
    assert (told.code, told.out.count("no differences; 2 deletes ")) == (0, 3)
    assert "2 deletes not looked for yet (next sweep in 59 min)" in told.out
    sql(database, SCATTER)
    check_apart(cli, "stamped", exits=True)
