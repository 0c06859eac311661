"""The demonstration reports differences from its changes, and empties only its folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from qbcd.config import load_config
from qbcd.config.strategy_registry import BUILT_STRATEGIES
from qbcd.demo.flights import TableChanges
from qbcd.demo.folder import Folder
from qbcd.demo.tables import compared
from qbcd.errors import ConfigError


def test_the_demonstration_compares_applied_and_found_changes() -> None:
    applied = {"a": TableChanges(inserted=2, deleted=1), "b": TableChanges()}
    assert compared({"a": {"c": 2, "d": 1}, "b": {}}, applied)[1]
    missing, updated, other = {"c": 2}, {"c": 2, "d": 1, "u": 1}, {"c": 2, "d": 1}
    for found in ({"a": missing, "b": {}}, {"a": updated, "b": {}}, {"a": other, "b": {"c": 1}}):
        table, good = compared(found, applied)
        assert not good
        assert "[bold red]differ[/]" in list(table.columns[-1].cells)


def test_it_polls_by_each_strategy(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.configure("postgresql://postgres@127.0.0.1/db")
    assert {stream.strategy for stream in load_config(folder.config).streams} == {*BUILT_STRATEGIES} - {"dump"}


def test_a_folder_is_emptied_only_after_a_demonstration(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "demo")
    folder.claim()
    folder.configure("postgresql://somewhere/db")
    (folder.path / "events").mkdir()
    folder.claim()
    assert sorted(path.name for path in folder.path.iterdir()) == ["qbcd.yaml"]
    folder.config.write_text("version: 1")
    with pytest.raises(ConfigError, match="contains files that no demonstration wrote"):
        folder.claim()
