"""Mistakes on the command line: exit code, problem and fix in one message.

There is no traceback.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from qbcd.demo.server import EmbeddedPostgres
from tests.support.cli import Cli
from tests.support.places import Place, new_place

CONFIG = """\
version: 1
sources:
  shop: {{url: "{url}"}}
sinks:
  changes: {{type: jsonl, path: out}}
defaults: {{every: 1s, sinks: [changes]}}
tables:
  - {{source: shop, table: public.orders, strategy: mds}}
  - {{source: shop, table: public.customers, strategy: mds}}
"""


@pytest.fixture(scope="module")
def shop(server: EmbeddedPostgres) -> Iterator[Place]:
    """Two tables without a prepared stream."""
    with new_place(server, "postgresql") as place:
        for table in ("orders", "customers"):
            place.sql(f"CREATE TABLE {table} (id int PRIMARY KEY, name text)")
        yield place


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, workspace: Path, shop: Place) -> Cli:
    monkeypatch.chdir(workspace)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    monkeypatch.setenv("COLUMNS", "200")  # usage messages are in a box, whose lines would be wrapped
    (workspace / "qbcd.yaml").write_text(CONFIG.format(url=shop.url))
    (workspace / "notes.txt").write_text("mine")
    (workspace / "tab.yaml").write_text("version: 1\nsources:\n\tshop: {}\n")
    (workspace / "empty.yaml").write_text("")
    return Cli(capsys)


@pytest.mark.parametrize(
    ("typed", "code", "what", "fix"),
    [
        ("chek", 2, "No such command 'chek'", "Did you mean 'check'"),
        ("frobnicate", 2, "No such command 'frobnicate'", "qbcd -h"),
        ("run --onse", 2, "No such option", "--once"),
        ("prepare --dryrun", 2, "No such option", "--dry-run"),
        ("status --chek", 2, "No such option", "--check"),
        ("status ordrs", 2, 'there is no stream "ordrs"', 'did you mean "orders"?'),
        ("run --once ordrs", 2, 'there is no stream "ordrs"', 'did you mean "orders"?'),
        ("run --prepare xyzzy", 2, 'there is no stream "xyzzy"', "orders, customers"),
        ("check -c other.yaml", 2, "other.yaml", "qbcd init"),
        ("check -c .", 2, "is not a regular file", "name a YAML file"),
        ("check -c tab.yaml", 2, "tab.yaml:3", "indent"),
        ("check -c empty.yaml", 2, "empty.yaml", "qbcd init"),
        ("check --config", 2, "requires an argument", "--config"),
        ("changes orders -n 0", 2, "Invalid value for '-n'", "1"),
        ("changes orders -n ten", 2, "Invalid value for '-n'", "integer"),
        ("changes", 2, "Missing argument 'STREAM'", "qbcd changes -h"),
        ("changes orders customers", 2, "(customers)", "qbcd changes -h"),
        ("run --log-format xml", 2, "'xml' is not one of 'text', 'json'", "--log-format"),
        ("init -c qbcd.yaml", 2, "qbcd.yaml exists and is not overwritten", "another"),
        ("init here -c mine.yaml", 2, "init accepts a folder or -c FILE, but not both", "remove one of them"),
        ("demo --directory .", 2, "contains files that no demonstration wrote", "directory"),
        ("advise --source shop", 2, "--source needs --table", "--source SOURCE --table SCHEMA.TABLE"),
        ("reset orders", 2, "reset was not confirmed", "--yes"),
        ("reset ordrs -y", 2, 'there is no stream "ordrs"', 'did you mean "orders"?'),
        ("retire orders changes -y", 2, "sink 'changes' is still configured", "remove it from the stream's `sinks`"),
        ("retire orders lake -y", 2, "has no sink 'lake'", "it has no sink that can be retired"),
        ("changes orders", 3, "stream orders: is not prepared", "qbcd prepare orders"),
        ("verify orders", 3, "stream orders: is not prepared", "qbcd prepare orders"),
        ("run --once orders", 3, "stream orders: is not prepared", "qbcd prepare orders"),
        ("run", 3, "none of the 2 streams is prepared", "qbcd prepare, or qbcd run --prepare"),
        ("run orders", 3, "stream orders: is not prepared", "qbcd prepare orders, or qbcd run orders --prepare"),
    ],
)
def test_a_mistake(cli: Cli, typed: str, code: int, what: str, fix: str) -> None:
    ran = cli(*typed.split())
    assert ran.code == code, ran.err
    said = re.sub(r"[│╭╮╰╯─]", " ", ran.err)
    assert what in said, said
    assert fix in said, said
    assert "Traceback" not in ran.err
    assert ran.out == ""
