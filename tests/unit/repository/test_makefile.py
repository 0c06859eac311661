"""Messages of the Makefile when something is missing, and its calls of pytest.

Nothing is installed here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="there is no make(1)")


def program(folder: Path, name: str, text: str) -> Path:
    """Write a shell script in the place of a program."""
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def make(*arguments: str, path: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
    """Run make in the repository with `path` before PATH."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    found = {**own, "PATH": f"{path}:{own['PATH']}", **environ}
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=ROOT, env=found, capture_output=True, text=True, timeout=60, check=False)


def test_tests_and_parts_of_the_campaign_are_handed_to_pytest(tmp_path: Path) -> None:
    noted = tmp_path / "noted"
    program(tmp_path, "python", f'echo "$*" >> {noted}')
    there = ("-o", "venv", "-o", "java", "-o", "mariadb", "-o", "mysql", f"BIN={tmp_path}")
    assert make("test", *there).returncode == 0
    assert make("campaign", *there, "PART=kill_mysql", "CAMPAIGN=-k mds").returncode == 0
    common = "-n 3 --durations=10"
    assert noted.read_text().splitlines() == [
        f"-m pytest {common}",
        f"-m pytest -m campaign {common} --part kill_mysql -k mds",
    ]
    program(tmp_path, "python", "exit 1")
    assert make("test", *there).returncode == 2


def test_packages_that_venv_needs_are_installed_where_allowed(tmp_path: Path) -> None:
    """A python without venv, sudo without a password, and an apt-get that records its arguments."""
    noted, there = tmp_path / "noted", tmp_path / "there"
    program(tmp_path / "bin", "id", "echo 1000")
    program(tmp_path / "bin", "sudo", '[ "$1" = -n ] && shift; env -u http_proxy "$@"')
    program(tmp_path / "bin", "apt-get", f'echo "$http_proxy $*" >> {noted}; [ "$1" = update ] || touch {there}')
    python = program(
        tmp_path / "bin",
        "python9",
        f"""case "$*" in *ensurepip*) [ -e {there} ];; *sys.prefix*) echo python9.9-venv;; -c*) exit 0;;
        *"-m venv"*) mkdir -p {tmp_path}/venv/bin; ln -s $0 {tmp_path}/venv/bin/python;; esac""",
    )
    ran = make("venv", f"PYTHON={python}", f"VENV={tmp_path}/venv", path=f"{tmp_path}/bin", http_proxy="http://p:1")
    assert ran.returncode == 0, ran.stderr
    install = "install -y -qq --no-install-recommends python9.9-venv"
    assert noted.read_text().splitlines() == ["http://p:1 update -qq", f"http://p:1 {install}"]

    there.unlink()
    program(tmp_path / "bin", "sudo", "exit 1")
    ran = make("venv", f"PYTHON={python}", f"VENV={tmp_path}/other", path=f"{tmp_path}/bin")
    assert ran.returncode == 2
    assert "cannot create virtual environments; on Debian and Ubuntu: apt-get install python3-venv" in ran.stderr
