"""Polls as orchestrators see them, without an orchestrator."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from qbcd.errors import EnvironmentMissing
from qbcd.integrations.single_poll import SinglePoll, poll_once, undelivered_runs
from qbcd.state import Run


def _run(at: int, outcome: str, seq: int = 0) -> Run:
    return Run("orders", float(at), float(at), outcome, epoch=7, batch_seq=seq, counts={"u": seq})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "seqs"),
    [
        ([], []),
        ([("ok", 3)], []),
        ([("failed", 3)], [3]),
        ([("failed", 3), ("failed", 0), ("refused", 4)], [3, 4]),
        ([("failed", 3), ("empty", 0), ("failed", 0)], []),
    ],
)
def test_batches_of_failed_polls_directly_before_count(before: list[tuple[str, int]], seqs: list[int]) -> None:
    this = _run(100, "ok", 9)
    runs = [this, *reversed([_run(at, *one) for at, one in enumerate(before)])]
    assert [batch["seq"] for batch in undelivered_runs(runs, this)] == seqs


def test_an_error_is_a_result_that_says_if_a_retry_helps(tmp_path: Path) -> None:
    polled = poll_once(tmp_path / "none.yaml", "orders")
    assert (polled.exit_code, polled.retry) == (2, False)
    assert "none.yaml" in polled.error
    assert [SinglePoll("orders", exit_code=code).retry for code in (0, 1, 2, 3)] == [False, True, False, False]


@pytest.mark.parametrize(("module", "package"), [("airflow", "airflow"), ("dagster", "dagster")])
def test_a_missing_framework_is_named(module: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"qbcd.integrations.{module}", raising=False)
    with pytest.raises(EnvironmentMissing, match=rf"pip install 'qbcd\[{module}\]'"):
        importlib.import_module(f"qbcd.integrations.{module}")
