"""The examples of `examples/`, run as they are against a real server: what the documentation shows is what happens."""

from __future__ import annotations

import json
import runpy
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import sql
from tests.support.cli import Cli

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FIRST = EXAMPLES / "first-stream"


@pytest.fixture
def shop(database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The database of the examples, which find it in the environment as their readers' would be."""
    sql(database, (FIRST / "shop.sql").read_text(encoding="utf-8"))
    monkeypatch.setenv("SHOP_URL", database)
    return database


def changed(database: str) -> None:
    sql(database, (FIRST / "changes.sql").read_text(encoding="utf-8"))


def event(op: str, order: int, before: dict[str, Any] | None, after: dict[str, Any] | None) -> tuple[Any, ...]:
    return op, {"order_id": order}, before, after


def row(order: int, customer: str, status: str, amount: str | None) -> dict[str, Any]:
    return {"order_id": order, "customer": customer, "status": status, "amount": amount}


def test_first_stream(
    shop: str, spark: SparkSession, workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in FIRST.iterdir():
        shutil.copy(file, workspace)
    monkeypatch.chdir(workspace)
    run = Cli(capsys)
    assert run("check").code == 0
    assert "baseline of 2 rows" in run("prepare").out
    assert run("run", "--once").code == 0
    assert not list(workspace.glob("out/changes/orders/*.jsonl"))  # nothing has changed yet

    changed(shop)
    assert run("run", "--once").code == 0
    (file,) = workspace.glob("out/changes/orders/*.jsonl")
    events = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    found = [(e["op"], e["key"], e["before"], e["after"]) for e in events]
    assert found == [
        event("d", 2, row(2, "Edgar", "paid", "99.00"), None),
        event("u", 1, row(1, "Ada", "new", "12.50"), row(1, "Ada", "paid", "14.00")),
        event("c", 3, None, row(3, "Grace", "new", "7.25")),
        event("c", 4, None, row(4, "Barbara", "new", None)),
    ]
    assert events[1]["changed"] == ["status", "amount"]
    assert run("verify", "orders").code == 0


def test_first_stream_needs_select_alone(
    shop: str, spark: SparkSession, workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The grants of docs/connectors.md, and no others."""
    role = f"reader_{shop.rsplit('/', 1)[1]}"
    sql(
        shop,
        f"CREATE ROLE {role} LOGIN PASSWORD 'four words and more'; GRANT USAGE ON SCHEMA public TO {role};"
        f"GRANT SELECT ON public.orders TO {role}",
    )
    try:
        monkeypatch.setenv("SHOP_URL", shop.replace("postgres@", f"{role}:four%20words%20and%20more@"))
        for file in FIRST.iterdir():
            shutil.copy(file, workspace)
        monkeypatch.chdir(workspace)
        run = Cli(capsys)
        assert run("prepare").code == 0
        changed(shop)
        assert run("run", "--once", "--json").data["counts"] == {"d": 1, "u": 1, "c": 2}
        assert "qbcd" not in {name for (name,) in sql(shop, "SELECT nspname FROM pg_namespace")}
    finally:
        sql(shop, f"DROP OWNED BY {role}; DROP ROLE {role}")


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
    assert printed() == []  # the batch was taken
