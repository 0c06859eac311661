"""Commands whose stdout cannot be written."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from qbcd.cli import main

FULL = Path("/dev/full")
CANNOT = "the output cannot be written: No space left on device"


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("buffering", [1, -1], ids=["lines", "blocks"])
@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["--version"], 1, CANNOT),
        (["--help"], 1, CANNOT),
        (["--json", "schema", "-o", "-"], 1, CANNOT),
        (["--json", "status"], 2, 'there is no configuration file "qbcd.yaml"'),
    ],
)
def test_stdout_that_is_full(
    arguments: list[str],
    code: int,
    error: str,
    buffering: int,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(workspace)
    with FULL.open("w", buffering=buffering) as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        monkeypatch.undo()
    said = capsys.readouterr().err
    assert (ended.value.code, said.count("\n")) == (code, 1), said
    assert said.startswith(f"error: {error}")
