"""Completion of stream names: from the file as written, without errors, output or connections."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import COMMANDS

CONFIG = """\
version: 1
state: sqlite:///x/state.db
sources:
  shop: {url: "postgresql://127.0.0.1:1/shop", password: "${env:NOT_SET}"}
tables:
  - {source: shop, table: public.orders, strategy: id_rcs}
  - {source: shop, table: 'public."$(touch owned)"', strategy: id_rcs}
  - {source: shop, name: old.orders, table: '"O"."x"', strategy: nonsense}
  - {source: shop, tables: app.*, name: "{schema}.{table}"}
  - {source: shop, name: "${env:NAME}", query: SELECT 1}
  - [{}, 5]
  - {table: {}, name: }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "qbcd.yaml").write_text(CONFIG)
    (tmp_path / "other.yaml").write_text("tables: [{table: b}]")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def offered(line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the words that bash gets at the end of a line."""
    from qbcd.cli import main

    monkeypatch.setenv("_QBCD_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert (ended.value.code, printed.err) == (0, "")
    return printed.out.split()


def test_words_are_the_streams_with_an_entry(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    both = ["orders", "old.orders"]
    words = {
        "qbcd explain ": both,
        "qbcd run --once ": both,
        "qbcd status orders ": ["old.orders"],
        "qbcd changes or": ["orders"],
        "qbcd retire x": [],
        "qbcd -c other.yaml verify ": ["b"],
        "qbcd -c other.yaml verify -c qbcd.yaml o": both,
        "qbcd -c nowhere.yaml run ": [],
        "qbcd -c . run ": [],
    }
    assert {line: offered(line, capsys, monkeypatch) for line in words} == words
    takers = {name for name in COMMANDS if "orders" in offered(f"qbcd {name} ord", capsys, monkeypatch)}
    assert takers == {
        *("check", "advise", "explain", "prepare", "run", "status", "report", "changes", "verify"),
        *("retire", "skip", "resend", "reset"),
    }
    assert sorted(path.name for path in folder.iterdir()) == ["other.yaml", "qbcd.yaml"]  # no state, no `owned`


@pytest.mark.parametrize(
    "text", ["", "tables: 5", "tables: [5, {name: 5}]", "tables: [{name: a", "- a", "\udcff", "a: &a [*a]", "[" * 5000]
)
def test_a_file_that_is_not_valid_has_no_words(
    text: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "qbcd.yaml").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert offered("qbcd run ", capsys, monkeypatch) == []


def test_bash_completes_with_the_script_that_the_program_prints(folder: Path) -> None:
    program = folder / "qbcd"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m qbcd "$@"\n')
    program.chmod(0o755)
    script = (
        'eval "$(_QBCD_COMPLETE=source_bash qbcd)"\nCOMP_WORDS=(qbcd run ol) COMP_CWORD=2\n'
        '_qbcd_completion qbcd\nprintf "%s\\n" "${COMPREPLY[@]}"'
    )
    path = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=path, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "old.orders\n", "")
