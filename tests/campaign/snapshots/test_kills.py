"""kill -9 while `qbcd diff FILE` writes, and in polls of a stream of dumps: the next call finds the same events."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import qbcd
from tests.support.cli import finished, spawn
from tests.support.dumps import FIRST, SECOND, STREAM, THIRD, DumpScene

pytestmark = pytest.mark.campaign

ROOT = Path(__file__).parents[3]
OLD = "id,name\n1,ann\n2,bob\n3,cat\n"
NEW = "id,name\n1,ann\n3,cid\n4,dan\n"
Event = tuple[Any, ...]
EXPECTED: list[Event] = [
    ("d", {"id": "2"}, {"id": "2", "name": "bob"}, None, None),
    ("u", {"id": "3"}, {"id": "3", "name": "cat"}, {"id": "3", "name": "cid"}, ["name"]),
    ("c", {"id": "4"}, None, {"id": "4", "name": "dan"}, None),
]
# It dies before its nth access to what it writes; reads count too.
DIFF = """
import os, signal, sys
from qbcd.cli import main
last, arguments, visits = int(sys.argv[1]), sys.argv[2:], 0
WATCHED = ("open", "os.mkdir", "os.rename", "os.remove")
def die(event, values):
    global visits
    if event in WATCHED and any(name in str(values[0]) for name in (".qbcd", "out.jsonl")):
        visits += 1
        if visits == last:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(die)
main(arguments)
"""


def ends(folder: Path, begin: Callable[[], None], *arguments: str) -> Iterable[int]:
    """Kill `qbcd diff a.csv` before its first access, then before its second one .. until it ends by itself."""
    for last in range(1, 100):
        begin()
        command = [sys.executable, "-c", DIFF, str(last), "diff", "a.csv", "--key", "id", *arguments]
        ran = subprocess.run(command, cwd=folder, env=_environment(), capture_output=True, timeout=120, check=False)
        if ran.returncode != -signal.SIGKILL:
            assert ran.returncode in (0, 4), ran.stderr
            assert last > 5, "it dies at few points only"
            return
        yield last
    raise AssertionError("it never ends")


def _environment() -> dict[str, str]:
    path = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH", "")) if part)
    return {**os.environ, "PYTHONPATH": path}


def events(found: Iterable[Mapping[str, Any]]) -> list[Event]:
    return [tuple(event[name] for name in ("op", "key", "before", "after", "changed")) for event in found]


def called(**options: Any) -> list[Event]:
    """Return the events of `qbcd.diff` of one operand."""
    with qbcd.diff("a.csv", key="id", **options) as found:
        return events(found)


def written(path: Path) -> list[Event] | None:
    """Return the events in a file, if it is there."""
    return events(map(json.loads, path.read_text().splitlines())) if path.exists() else None


@pytest.fixture
def folder(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(workspace)
    return workspace


def nothing_kept() -> None:
    shutil.rmtree(".qbcd", ignore_errors=True)
    Path("out.jsonl").unlink(missing_ok=True)
    Path("a.csv").write_text(OLD)


def old_kept() -> None:
    nothing_kept()
    called()
    Path("a.csv").write_text(NEW)


def test_kill_of_the_first_call(folder: Path) -> None:
    for last in ends(folder, nothing_kept):
        assert called() == [], last
        Path("a.csv").write_text(NEW)
        assert called() == EXPECTED, last


@pytest.mark.parametrize("method", ["join", "window"])
def test_kill_of_a_comparison(folder: Path, method: str) -> None:
    for last in ends(folder, old_kept, "--method", method, "-o", "out.jsonl"):
        assert written(folder / "out.jsonl") in (None, EXPECTED), last
        assert called(method=method) == EXPECTED, last


def test_kill_of_a_call_that_keeps_the_new_rows(folder: Path) -> None:
    """The kept rows are replaced after the events are written: they are found again, or are in the file."""
    renewed = 0
    for last in ends(folder, old_kept, "--keep", "-o", "out.jsonl"):
        delivered = written(folder / "out.jsonl")
        assert delivered in (None, EXPECTED), last
        found = called(renew=True)
        assert found == EXPECTED or (found, delivered) == ([], EXPECTED), last
        renewed += found == []
        assert called(renew=True) == [], last
        assert len(list(folder.glob(".qbcd/diff/*/*"))) == 3, "rows, their description, and figures"
    assert renewed, "it is killed after the replacement too"


def test_kill_while_rows_are_kept(folder: Path) -> None:
    """DuckDB has begun the file of the new rows."""
    rows = [f"{number},{number * 7919 % 1_000_003}\n" for number in range(400_000)]
    Path("a.csv").write_text("id,n\n" + "".join(rows))
    assert called() == []
    before = {path.name: path.read_bytes() for path in folder.glob(".qbcd/diff/*/*")}
    rows[1], rows[2] = "1,x\n", ""
    Path("a.csv").write_text("id,n\n" + "".join(rows))
    process = spawn(folder, "diff", "a.csv", "--key", "id", "--keep")
    ends_at = time.monotonic() + 120
    while not (begun := {p.name for p in folder.glob(".qbcd/diff/*/*-rows.parquet")} - before.keys()):
        assert process.poll() is None and time.monotonic() < ends_at
    process.send_signal(signal.SIGKILL)
    assert finished(process).code == -signal.SIGKILL
    about = next(folder.glob(".qbcd/diff/*/about.json"))
    assert (about.read_bytes(), len(begun)) == (before["about.json"], 1)
    assert [(op, key) for op, key, *_ in called(renew=True)] == [("d", {"id": "2"}), ("u", {"id": "1"})]
    assert called() == []
    assert not begun & {path.name for path in about.parent.iterdir()}


# It dies at the nth visit to a point; `in_method`: when a method has found the changes, before its files are removed.
POLL = """
import json, os, signal, sys
from qbcd import Project
from qbcd.common import hooks
from qbcd.sites.dumps import take
data, folder, point, last = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
visits = 0
def die():
    global visits
    visits += 1
    if visits == last:
        os.kill(os.getpid(), signal.SIGKILL)
if point == "in_method":
    compare = take.changes_by
    def changes_by(*arguments):
        found = compare(*arguments)
        (arguments[4].folder / "spilled").write_bytes(b"x")
        die()
        return found
    take.changes_by = changes_by
else:
    hooks.register(point, die)
with Project.from_dict(data, base_dir=folder) as project:
    project.run(once=True)
"""
POINTS = ("after_fetch", "after_stage", "before_commit", "after_commit", "before_publish", "mid_publish",
          "after_publish", "after_acknowledge")  # fmt: skip
FORMS = {"window": {"method": "window"}, "hybrid": {"method": "hh"}, "digests": {"replica": "digest"}}
CASES = [(form, point, last) for form in FORMS for point in POINTS for last in (1, 2) if form != "hybrid"]
CASES += [(form, "after_lease", 1) for form in FORMS]
CASES += [(form, "in_method", last) for form in ("window", "hybrid") for last in (1, 2)]


def begun(folder: Path, form: str) -> DumpScene:
    scene = DumpScene(folder, FORMS[form])
    scene.put("01.csv", FIRST)
    scene.prepare()
    scene.put("02.csv", SECOND)
    scene.put("03.csv", THIRD)
    return scene


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, DumpScene]:
    """The same polls without a kill."""
    made = {form: begun(tmp_path_factory.mktemp(form), form) for form in FORMS}
    assert [scene.poll().exit_code for scene in made.values()] == [0] * len(FORMS)
    return made


@pytest.mark.parametrize(("form", "point", "last"), CASES)
def test_kill_of_a_poll(workspace: Path, undisturbed: dict[str, DumpScene], form: str, point: str, last: int) -> None:
    scene, whole = begun(workspace, form), undisturbed[form]
    command = [sys.executable, "-c", POLL, json.dumps(scene.data), str(scene.folder), point, str(last)]
    ran = subprocess.run(command, env=_environment(), capture_output=True, timeout=120, check=False)
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    out = scene.folder / "out" / STREAM
    seen = {path: path.read_bytes() for path in out.glob("*.jsonl")}  # a consumer may have read them
    assert scene.poll().exit_code == 0
    assert [events(batch) for batch in scene.batches()] == [events(batch) for batch in whole.batches()]
    assert all(path.read_bytes() == content for path, content in seen.items())
    assert scene.replayed(FIRST) == dict(THIRD)
    with scene.open() as project:
        assert list(project.stream(STREAM).verify()) == []
    assert kinds_of_files(scene) == kinds_of_files(whole)


def kinds_of_files(scene: DumpScene) -> list[str]:
    """Return the kinds of all folders of the stream, each as often as it is there."""
    return sorted(path.name.partition("-")[0] for path in (scene.folder / ".qbcd").glob(f"*/{STREAM}/*"))
