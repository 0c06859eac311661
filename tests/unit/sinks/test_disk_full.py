"""A full disk: messages name the path and the reason, for every writer."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from qbcd.config.masking import Masking
from qbcd.error_messages import explain
from qbcd.errors import DeliveryError, SourceError
from qbcd.state import ProjectState, Run, database
from qbcd.stores.folders import delivery

FULL = OSError(errno.ENOSPC, "No space left on device")  # of a write, which does not name its file


def test_the_state_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state.db"
    url = f"sqlite:///{path}"
    ProjectState(url).close()
    monkeypatch.setattr(database, "_PRAGMAS", (*database._PRAGMAS, "max_page_count = 1"))  # no larger than it is now
    state = ProjectState(url)
    try:
        with pytest.raises(SourceError) as caught:
            for _ in range(100):
                state.record_run(Run("s", 0.0, 1.0, "failed", message="x" * 4_000))
    finally:
        state.close()
    assert str(caught.value) == (
        f"the state database {path} cannot be written: database or disk is full (make room on its disk, and try again)"
    )


def test_a_sink(tmp_path: Path) -> None:
    with pytest.raises(DeliveryError) as caught, delivery("changes", "s", tmp_path / "s"):
        raise FULL
    assert caught.value.what == f"sink changes: No space left on device: {tmp_path}/s"


def test_the_workdir(tmp_path: Path) -> None:
    site: Any = SimpleNamespace(context=SimpleNamespace(folder=tmp_path))
    stream: Any = SimpleNamespace(name="s", site=site, source=SimpleNamespace(masking=Masking()))
    assert str(explain(FULL, stream)) == (
        f"{tmp_path}: No space left on device "
        "(check the workdir's owner, rights and free space; the next run continues from the last commit)"
    )
