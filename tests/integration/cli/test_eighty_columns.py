"""A terminal of 80 columns: no line is wider, messages break at words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import sql
from tests.support.cli import COMMANDS, Cli

WIDTH = 80
LONG = "orders_of_customers_of_the_northern_region_by_the_day"
CONFIG = """\
version: 1
sources:
  shop: {{url: "{url}"}}
sinks:
  changes: {{type: jsonl, path: out}}
defaults: {{strategy: mds}}
tables:
  - {{source: shop, table: public.orders}}
  - {{source: shop, table: public.orders, name: {long}, strategy: {{type: id, rows_per_range: 10}}}}
  - {{source: shop, table: public.orders, name: stamped, strategy: {{type: ts, timestamp: at, lag: 10m}}}}
"""


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, workspace: Path, database: str) -> Cli:
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    sql(
        database,
        """CREATE TABLE orders (id int PRIMARY KEY, note text, at timestamptz NOT NULL DEFAULT now());
        INSERT INTO orders SELECT i, repeat('note ', 20) FROM generate_series(1, 400) i; ANALYZE""",
    )
    (workspace / "qbcd.yaml").write_text(CONFIG.format(url=database, long=LONG))
    return Cli(capsys)


def lines(cli: Cli, *arguments: str) -> list[str]:
    """Lines of both streams, without frames of the spinner."""
    ran = cli(*arguments, "--no-progress")
    assert ran.code == 0, ran.err
    found = [*ran.out.splitlines(), *ran.err.splitlines()]
    assert found
    return found


@pytest.mark.usefixtures("spark")
def test_nothing_is_wider_than_the_terminal(cli: Cli, workspace: Path, database: str) -> None:
    shown = {
        **{f"{command} --help": lines(cli, command, "--help") for command in COMMANDS},
        "check": lines(cli, "check"),
        "check -v": lines(cli, "check", "-v"),
        "status": lines(cli, "status"),
        "prepare": lines(cli, "prepare"),
        "no change": lines(cli, "run", "--once"),
    }
    sql(database, "UPDATE orders SET note = upper(note) WHERE id <= 12; DELETE FROM orders WHERE id = 30")
    shown |= {
        "run": lines(cli, "run", "--once"),
        "status of all": lines(cli, "status"),
        "status of one": lines(cli, "status", LONG),
        "status of two": lines(cli, "status", "orders", "stamped"),
        "changes": lines(cli, "changes", LONG),
        "verify": lines(cli, "verify", LONG),
    }
    too_long = {name: [line for line in found if len(line) > WIDTH] for name, found in shown.items()}
    assert {name: found for name, found in too_long.items() if found} == {}
    assert len(shown["status of all"]) == 4
    assert [line.split()[0] for line in shown["no change"] if not line.startswith(" ")] == [
        "orders:",
        f"{LONG}:",
        "stamped:",
    ]
    assert any(line.startswith("  scanned ") for line in shown["run"])
