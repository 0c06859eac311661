"""Temporary folders of killed processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from qbcd.common.temporary import TemporaryFolder

HELD = "import sys, time; from pathlib import Path; from qbcd.common.temporary import TemporaryFolder; " + (
    "print(TemporaryFolder('x-', Path(sys.argv[1])).path, flush=True); time.sleep(60)"
)


def test_folders_that_no_process_has_are_removed(tmp_path: Path) -> None:
    one, other = TemporaryFolder("x-", tmp_path), tmp_path / "x-other"
    left = [tmp_path / name for name in ("x-old", "y-old")]
    for path in (*left, other):
        (path / "rows").mkdir(parents=True)
    for path in (one.path, *left):
        os.utime(path, (0, 0))
    with TemporaryFolder("x-", tmp_path) as second:
        # one is locked, other is recent, the last one has another name
        assert set(tmp_path.iterdir()) == {one.path, second, other, left[1]}
    one.remove()
    one.remove()
    assert set(tmp_path.iterdir()) == {other, left[1]}


@pytest.mark.campaign
def test_the_folder_of_a_killed_process_is_removed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HELD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        path = Path(process.stdout.readline().strip())
        os.utime(path, (0, 0))
        TemporaryFolder("x-", tmp_path).remove()
        assert path.is_dir()
        process.kill()
    TemporaryFolder("x-", tmp_path).remove()
    assert not path.exists()
