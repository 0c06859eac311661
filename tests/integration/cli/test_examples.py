"""The examples of `examples/`, run unchanged on a real server, have the documented output."""

from __future__ import annotations

import json
import runpy
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import sql
from tests.support.cli import Cli
from tests.support.places import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
FIRST = EXAMPLES / "first-stream"
MARIADB = EXAMPLES / "mariadb"


@pytest.fixture
def shop(database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The database of the examples, which read its URL from the environment as for a reader."""
    sql(database, (FIRST / "shop.sql").read_text(encoding="utf-8"))
    monkeypatch.setenv("SHOP_URL", database)
    return database


def changed(database: str) -> None:
    sql(database, (FIRST / "changes.sql").read_text(encoding="utf-8"))


def event(op: str, order: int, before: dict[str, Any] | None, after: dict[str, Any] | None) -> tuple[Any, ...]:
    return op, {"order_id": order}, before, after


def row(order: int, customer: str, status: str, amount: str | None) -> dict[str, Any]:
    return {"order_id": order, "customer": customer, "status": status, "amount": amount}


def test_python_api(
    shop: str, spark: SparkSession, workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(workspace)

    def printed() -> list[str]:
        capsys.readouterr()
        runpy.run_path(str(EXAMPLES / "python_api.py"), run_name="__main__")
        return capsys.readouterr().out.splitlines()

    assert printed() == []
    changed(shop)
    assert printed() == [
        "batch 1: u order 1 status = paid, amount = 14.00",
        "batch 1: d order 2",
        "batch 1: c order 3",
        "batch 1: c order 4",
    ]
    assert printed() == []  # the batch was acknowledged


@pytest.fixture
def maria_shop(place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """The MariaDB of the example; its role has only the grants of docs/how-to/grant-rights.md."""
    place.sql((MARIADB / "shop.sql").read_text(encoding="utf-8"))
    for file in MARIADB.iterdir():
        shutil.copy(file, workspace)
    monkeypatch.chdir(workspace)
    with place.user("four words and more") as reader:
        for table in ("orders", "customers"):
            place.grant("SELECT", table, reader)
        place.sql(f"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX ON qbcd.* TO {reader}@'%'")
        monkeypatch.setenv("SHOP_URL", place.url_as(reader, "four%20words%20and%20more"))
        yield place
    place.sql("DROP DATABASE IF EXISTS qbcd")


def changed_on(shop: Place) -> None:
    shop.sql((MARIADB / "changes.sql").read_text(encoding="utf-8"))


@pytest.mark.parametrize("database", ["mariadb"], indirect=True)
def test_mariadb(maria_shop: Place, spark: SparkSession, workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Cli(capsys)
    assert run("check").code == 0
    assert "orders: baseline of 2 rows" in (prepared := run("prepare").out)
    assert "customers: baseline of 2 rows" in prepared
    assert run("run", "--once").code == 0
    assert not list(workspace.glob("out/changes/*/*.jsonl"))  # nothing has changed yet

    changed_on(maria_shop)
    assert run("run", "--once").code == 0
    last, seen = 2**64 - 1, {}
    for file in workspace.glob("out/changes/*/*.jsonl"):
        lines = file.read_text(encoding="utf-8").splitlines()
        seen[file.parent.name] = [(e["op"], e["before"], e["after"]) for e in map(json.loads, lines)]
    assert seen == {
        "orders": [
            ("d", order(2, "paid", "99.00", "0000-00-00"), None),
            ("u", order(1, "new", "12.50", "2026-12-24"), order(1, "paid", "14.00", "2026-12-24")),
            ("c", None, order(last, "new", "7.25", "0000-00-00")),
        ],
        "customers": [
            ("u", {"email": "ada@example.com", "name": "Ada"}, {"email": "Ada@example.com", "name": "Ada"}),
            ("c", None, {"email": "grace@example.com", "name": "Grace"}),
        ],
    }
    assert run("verify", "orders").code == 0
    assert run("verify", "customers").code == 0


def order(number: int, status: str, amount: str, due: str) -> dict[str, Any]:
    return {"order_id": number, "status": status, "amount": amount, "due": due, "region": "EU"}


@pytest.mark.parametrize("database", ["mariadb"], indirect=True)
def test_mariadb_followed_from_python(
    maria_shop: Place, spark: SparkSession, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed() -> list[str]:
        capsys.readouterr()
        runpy.run_path(str(workspace / "follow.py"), run_name="__main__")
        return capsys.readouterr().out.splitlines()

    assert printed() == []
    changed_on(maria_shop)
    assert printed() == [
        "orders 1 (range): c 18446744073709551615",
        "orders 1 (range): d 2",
        "orders 1 (range): u 1 status: new -> paid, amount: 12.50 -> 14.00",
        "customers 1 (statement): c grace@example.com",
        "customers 1 (statement): u Ada@example.com email: ada@example.com -> Ada@example.com",
    ]
    assert printed() == []  # both batches were acknowledged
