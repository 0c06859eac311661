"""`make mysql` where the server cannot be had: one line with the reason, and nothing is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import fetch_server


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["fetch_server", "mysql"])
    return tmp_path / "qbcd" / "servers"


def test_another_system(cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    other = cache.parent / "os-release"
    other.parent.mkdir()
    other.write_text("ID=fedora\nVERSION_ID=43\n")
    monkeypatch.setattr(fetch_server, "SYSTEM", other)
    assert fetch_server.main() == 1
    assert capsys.readouterr().err == "mysql cannot be fetched: this system is not Debian\n"
    assert list(cache.iterdir()) == []


def test_a_folder_that_exists_is_taken(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (cache / "mysql").mkdir(parents=True)
    assert fetch_server.main() == 0
    assert capsys.readouterr().out == f"{cache / 'mysql'}\n"
