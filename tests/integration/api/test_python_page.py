"""The samples of docs/reference/python.md, run unchanged and in their order."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support import sql

ROOT = Path(__file__).resolve().parents[3]
FIRST = ROOT / "examples" / "first-stream"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.usefixtures("spark")
def test_every_sample_runs(
    database: str, workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sql(database, (FIRST / "shop.sql").read_text(encoding="utf-8"))
    shutil.copy(FIRST / "qbcd.yaml", workspace)
    monkeypatch.setenv("SHOP_URL", database)
    monkeypatch.chdir(workspace)
    namespace: dict[str, Any] = {}
    printed: list[str] = []
    for kind, text in BLOCK.findall((ROOT / "docs/reference/python.md").read_text(encoding="utf-8")):
        if not kind:
            assert printed[-1].strip() == text.strip()
            continue
        if ".poll()" in text:
            sql(database, (FIRST / "changes.sql").read_text(encoding="utf-8"))
        exec(text, namespace)
        printed.append(capsys.readouterr().out)
    prepared, named, polled, ran, counted, failed, explained = printed
    assert (prepared, named, counted) == ("", "['orders']\n", "orders 0\n")
    assert polled.startswith("1 {")
    assert ran == "orders {}\n0\n"
    assert failed.startswith('2 there is no configuration file "missing.yaml"')
    assert "checksums, connection 1 of 1 source shop, read only SELECT" in explained
    assert "1 4\norders True" in explained
    assert "orders privileges ok role postgres may SELECT; the source is only read" in explained
    assert sql(database, "SELECT count(*) FROM pg_namespace WHERE nspname = 'qbcd'") == [(0,)]
