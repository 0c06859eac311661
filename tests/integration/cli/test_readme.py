"""The lines that the README and the quickstart show do what they say, pasted one after the other."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.demo.server import EmbeddedPostgres
from tests.support import sql
from tests.support.cli import Cli

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[3]
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INSTALLED = ("python3 -m venv .venv", ". .venv/bin/activate", "pip install '.[demo]'", 'eval "$(qbcd demo --serve)"')


def lines_of(page: str) -> list[str]:
    """The lines of a page that its reader pastes into a shell."""
    blocks = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    return [line for block in blocks for line in block.splitlines()]


def row(order: int, customer: str, status: str, amount: str | None) -> dict[str, Any]:
    return {"order_id": order, "customer": customer, "status": status, "amount": amount}


def assert_is_captured(folder: Path) -> None:
    """The events of `changes.sql` are in the sink's one file, in their order."""
    (file,) = folder.glob("out/changes/orders/*.jsonl")
    events = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [(e["op"], e["key"]["order_id"], e["before"], e["after"], e["changed"]) for e in events] == [
        ("d", 2, row(2, "Edgar", "paid", "99.00"), None, None),
        ("u", 1, row(1, "Ada", "new", "12.50"), row(1, "Ada", "paid", "14.00"), ["status", "amount"]),
        ("c", 3, None, row(3, "Grace", "new", "7.25"), None),
        ("c", 4, None, row(4, "Barbara", "new", None), None),
    ]


def test_readme_and_quickstart_show_the_same_lines() -> None:
    assert lines_of("README.md") == lines_of("docs/tutorials/quickstart.md")
    assert tuple(lines_of("README.md")[: len(INSTALLED)]) == INSTALLED


def test_the_lines_of_the_readme(
    database: str,
    server: EmbeddedPostgres,
    spark: SparkSession,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    """In this process, after installation and start of the server; the campaign runs them all, in a shell."""
    name = database.rpartition("/")[2]
    where = {"PGHOST": server.host, "PGPORT": str(server.port), "PGUSER": "postgres", "PGDATABASE": name}
    for variable, value in {**where, "PATH": f"{server.bin}:{os.environ['PATH']}"}.items():
        monkeypatch.setenv(variable, value)
    request.addfinalizer(lambda: sql(database, "DROP OWNED BY reader; DROP ROLE reader"))
    shutil.copytree(ROOT / "examples", workspace / "examples")
    monkeypatch.chdir(workspace)
    run, printed = Cli(capsys), []
    for line in lines_of("README.md")[len(INSTALLED) :]:
        command, *words = [Template(word).substitute(os.environ) for word in shlex.split(line)]
        if command == "qbcd":
            done = run(*words)
            assert done.code == 0, done.err
            printed.append(done.out)
        elif command == "cd":
            monkeypatch.chdir(words[0])
        elif command == "export":
            monkeypatch.setenv(*words[0].split("=", 1))
        else:
            subprocess.run([command, *words], check=True)
    assert_is_captured(Path.cwd())
    assert "baseline of 2 rows" in printed[1]
    # the role has SELECT alone, and nothing was created at the source
    assert "qbcd" not in {name for (name,) in sql(database, "SELECT nspname FROM pg_namespace")}
    assert "equal" in printed[-1]


@pytest.mark.campaign
def test_all_lines_of_the_readme_in_a_shell(tmp_path: Path) -> None:
    """A new user's clone, home and shell: nothing is there but Python, Java and the package index."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, tracked.decode().split("\0")):
        target = tmp_path / "clone" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).exists():  # a link is copied as a link
            shutil.copy(ROOT / name, target, follow_symlinks=False)
    own = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME")
    environment = {name: value for name, value in os.environ.items() if name not in own} | {"HOME": str(tmp_path)}
    environment["PATH"] = os.pathsep.join(p for p in environment["PATH"].split(os.pathsep) if ".venv" not in p)
    script = "\n".join(["set -eu", "trap 'qbcd demo --stop' EXIT", *lines_of("README.md")])
    ran = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path / "clone",
        env=environment,
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert_is_captured(tmp_path / "clone" / "my-first-stream")
    assert "replica and source are equal" in ran.stdout
    assert "PostgreSQL is stopped" in ran.stderr
    assert not list((tmp_path / ".cache" / "qbcd").glob("demo-server.json"))
