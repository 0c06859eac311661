"""Tables for which an audit is possible, and tables that inherit one."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.config_files import CANARY, GOOD, failure, load

ALL = "compare every row completely: an audit would find nothing more (remove `audit`; qbcd verify shows whether"
NOTHING = "with `replica: none` qbcd keeps nothing that an audit could compare (write `replica: keys`, or"
TDI = "{type: tdi, timestamp: changed, delete_flag: gone}"


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", CANARY)


@pytest.mark.parametrize(
    ("strategy", "problem"),
    [
        ("{type: id_rcs, replica: digest}", ""),
        ("{type: tlcs, checksums: remote}", ""),
        ("{type: tlcs}", f"polls of strategy tlcs {ALL}"),
        ("id_rcs", ""),
        ("{type: vbd, variant: checksum}", ""),
        ("{type: ts, timestamp: t, deletes: only}", f"polls of strategy ts {ALL}"),
        ("{type: ts, timestamp: t, replica: none}", NOTHING),
        ("{type: ts, timestamp: t, replica: spark}", ""),
        (TDI, ""),
        ("{type: vbd, variant: compare}", f"polls of strategy vbd {ALL}"),
        ("{type: vbd}", f"polls of strategy vbd {ALL}"),
        ("{type: vbd, timestamps: {public.orders: t}}", ""),
        ("{type: vbd, variant: delta}", ""),
    ],
)
def test_an_audit_is_for_what_a_poll_may_miss(tmp_path: Path, strategy: str, problem: str) -> None:
    text = GOOD.replace("strategy: id_rcs", f"strategy: {strategy}").replace("baseline: events", "audit: {every: 24h}")
    text = text.replace("    where: region = 'EU'\n", "")
    if "vbd" in strategy:
        text = text.replace("table: public.orders", "query: SELECT 1 AS a FROM public.orders", 1)
    if problem:
        assert f"qbcd.yaml:20: tables[0].audit: {problem}" in str(failure(tmp_path, text))
    else:
        assert load(tmp_path, text).streams[0].audit == timedelta(days=1)


def test_an_audit_of_all_tables_is_for_those_that_need_one(tmp_path: Path) -> None:
    general = GOOD.replace("{every:", "{audit: {every: 24h}, every:").replace("{type: id_rcs, rows_per_range: 10}", TDI)
    assert [s.audit for s in load(tmp_path, general).streams] == [None, timedelta(days=1)], "not for ID/RCS unasked"
    assert not load(tmp_path, general + "    audit: off\n").streams[1].audit
    assert "write {every: 24h}, or off" in str(failure(tmp_path, general.replace("{every: 24h}", "daily")))
