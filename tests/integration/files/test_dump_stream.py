"""Streams of dumps: batches, refusals without effect, guards, verify, and kill -9 at every point."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.common import hooks
from qbcd.errors import GuardTripped, QbcdError, Refused, SchemaChanged
from qbcd.snapshots import feeds
from tests.support.dumps import FIRST, SECOND, STREAM, THIRD, DumpScene, text_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HEAD = b"id;name;credit\n"


def begun(folder: Path, **options: Any) -> DumpScene:
    scene = DumpScene(folder, **options)
    scene.put("01.csv", FIRST)
    scene.prepare()
    return scene


@pytest.mark.parametrize("replica", ["rows", "digest"])
def test_each_dump_is_a_batch(workspace: Path, replica: str) -> None:
    scene = begun(workspace, strategy={"replica": replica})
    scene.put("02.csv.gz", SECOND)
    scene.put("03.csv", THIRD)
    assert scene.poll().exit_code == 0
    first, second = scene.batches()
    assert [(e["op"], e["key"]["id"]) for e in first] == [("d", 2), ("u", 3), ("u", 4), ("c", 5)]
    assert [(e["op"], e["key"]["id"]) for e in second] == [("c", 6)]
    if replica == "rows":
        assert first[1]["before"] == {"id": 3, "name": "Cat", "credit": "7.00"}
        assert (first[1]["changed"], first[2]["changed"]) == (["credit"], ["name"])
    else:
        assert first[1]["before"] is None
    assert scene.replayed(FIRST) == dict(THIRD)
    modified = (scene.files / "customers-03.csv").stat().st_mtime_ns
    assert second[0]["ts_ms"] == modified // 1_000_000
    assert second[0]["source"]["table"] == "partner.customers"
    scene.poll()
    assert len(scene.batches()) == 2  # no dump is taken twice
    with scene.open() as project:
        assert list(project.stream(STREAM).verify()) == []
        [status] = project.status()
        assert (status.state, status.batches) == ("ok", 2)
        assert [f.level for f in project.check(STREAM) if f.stream] == ["ok"] * 6


@pytest.mark.parametrize("replica", ["rows", pytest.param("digest", marks=pytest.mark.campaign)])
def test_spark_compares_dumps(workspace: Path, spark: SparkSession, replica: str) -> None:
    """Changes, a key twice, and the engine of a method."""
    scene = DumpScene(workspace, strategy={"replica": replica})
    scene.data["defaults"] = {"engine": "spark"}
    scene.put("01.csv", FIRST)
    scene.prepare()
    scene.put("02.csv", SECOND)
    assert scene.poll().exit_code == 0
    [found] = scene.batches()
    assert [(e["op"], e["key"]["id"]) for e in found] == [("d", 2), ("u", 3), ("u", 4), ("c", 5)]
    assert scene.replayed(FIRST) == dict(SECOND)
    with scene.open() as project:
        assert project.stream(STREAM).engine == "Spark (engine: spark)"
        assert list(project.stream(STREAM).verify()) == []
    scene.put("03.csv", HEAD + b"1;x;1\n1;y;1\n")
    [outcome] = scene.poll().outcomes
    assert "customers-03.csv: the key is not unique: id 1 occurs 2 times" in str(outcome.error)
    if replica == "rows":
        scene.data["tables"][0]["strategy"] |= {"method": "ph", "memory": "128MB"}
        with scene.open() as project:
            assert project.stream(STREAM).engine == "local (method ph is of this process)"


def test_python_reads_the_baseline_and_the_batches(workspace: Path) -> None:
    scene = DumpScene(workspace, table={"baseline": "events"})
    scene.put("01.csv", FIRST)
    scene.prepare()
    scene.put("02.csv", SECOND)
    with scene.open() as project:
        counts = [dict(batch.counts) for batch in project.stream(STREAM).poll()]
    assert counts == [{"r": 4}, {"d": 1, "u": 2, "c": 1}]


def test_the_replica_is_sent_again(workspace: Path) -> None:
    scene = begun(workspace)
    scene.put("02.csv", SECOND)
    scene.poll()
    with scene.open() as project:
        (sink,) = project.stream(STREAM).config.sinks
        assert project.stream(STREAM).resend(sink) == len(dict(SECOND))


@pytest.mark.parametrize(
    "method", ["window", *(pytest.param(m, marks=pytest.mark.campaign) for m in ("nl", "sm", "ph", "hh", "ordered"))]
)
def test_a_method_of_the_paper(workspace: Path, method: str) -> None:
    scene = begun(workspace, strategy={"method": method})
    scene.put("02.csv", SECOND)
    scene.put("03.csv", THIRD)
    assert scene.poll().exit_code == 0
    assert [[(e["op"], e["key"]["id"], e["changed"]) for e in batch] for batch in scene.batches()] == [
        [("d", 2, None), ("u", 3, ["credit"]), ("u", 4, ["name"]), ("c", 5, None)],
        [("c", 6, None)],
    ]
    assert scene.replayed(FIRST) == dict(THIRD)


def test_auto_uses_the_figures_of_the_last_comparison(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = begun(workspace)

    def taken(name: str, rows: Any) -> tuple[str, str]:
        """Return the method that took a dump, and the explanation of the next one."""
        scene.put(name, rows)
        assert scene.poll().exit_code == 0
        with scene.open() as project:
            return methods[-1], project.stream(STREAM).explain()[1].title

    methods: list[str] = []
    original = feeds.LastComparison.after

    def after(last: feeds.LastComparison, *args: Any) -> feeds.LastComparison:
        found = original(last, *args)
        methods.append(found.method)
        return found

    monkeypatch.setattr(feeds.LastComparison, "after", after)
    method, explained = taken("02.csv", SECOND)
    assert method == "join" and "method join: both sides fit into memory: 0 MB" in explained
    monkeypatch.setattr(feeds, "_JOIN_BYTES", 1 << 40)
    method, explained = taken("03.csv", THIRD)
    assert method == "window" and "method window: both sides, 0 MB, do not fit into memory; at most" in explained
    assert scene.replayed(FIRST) == dict(THIRD)


@pytest.mark.parametrize(
    "options", [{"method": "join"}, {"replica": "digest"}, {"replica": "digest", "digest": 128}], ids=str
)
def test_sides_beyond_the_memory_are_joined_in_parts(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    monkeypatch.setattr(feeds, "_JOIN_BYTES", 1 << 22)
    assert feeds.parts_of_join(feeds.Sides(4, 4, 32.0), 256 << 20) == 4
    scene = begun(workspace, strategy=options)
    scene.put("02.csv", SECOND)
    assert scene.poll().exit_code == 0
    assert [(e["op"], e["key"]["id"]) for e in scene.batches()[0]] == [("d", 2), ("u", 3), ("u", 4), ("c", 5)]
    with scene.open() as project:
        assert list(project.stream(STREAM).verify()) == []


def many(count: int, credit: str) -> dict[int, tuple[str, str]]:
    return {number: (f"n{number}", credit) for number in range(1, count + 1)}


@pytest.mark.parametrize(
    "settings", [{"local_bytes": 1000}, pytest.param({"local_rows": 1}, marks=pytest.mark.campaign)], ids=str
)
def test_files_of_any_size_are_compared_in_this_process(workspace: Path, settings: dict[str, Any]) -> None:
    """Java is not started, not even beyond a limit of `auto`; with a cluster as master Spark compares them."""
    scene = DumpScene(workspace)
    scene.data.update(settings)
    scene.put("01.csv", many(2000, "1.00"))
    scene.prepare()
    scene.put("02.csv", {**many(1999, "1.00"), 7: ("x", "2.00")})
    assert scene.poll().exit_code == 0
    assert [[event["op"] for event in batch] for batch in scene.batches()] == [["d", "u"]]
    with scene.open() as project:
        handle = project.stream(STREAM)
        assert [one.level for one in project.check(STREAM)] == ["ok"] * 7
        assert handle.engine == project.status()[0].engine == "local (files are compared in this process)"
        assert list(handle.verify()) == []
        assert handle.resend("out") == 1999
        assert project.run(once=True).exit_code == 0


def test_a_file_that_is_replaced_by_one_of_equal_size_and_time(workspace: Path) -> None:
    scene = DumpScene(workspace)
    scene.data["sources"]["partner"].update(files="in/one.csv", complete="{file}.done")
    path, modified = scene.files / "one.csv", 10**18
    for number, (rows, prepare) in enumerate(((FIRST, True), ({**FIRST, 1: ("Ann", "1.50")}, False))):
        other = scene.files / "other"
        other.write_bytes(text_of(rows))
        os.utime(other, ns=(modified, modified))
        other.rename(path)
        (scene.files / "one.csv.done").touch()
        if prepare:
            scene.prepare()
        assert scene.poll().exit_code == 0
        assert len(scene.batches()) == number
    assert scene.poll().exit_code == 0
    assert [(e["op"], e["after"]["name"]) for [e] in scene.batches()] == [("u", "Ann")]


def test_numbers_in_names_and_a_warning_of_check(workspace: Path) -> None:
    scene = DumpScene(workspace)
    for number, rows in ((8, FIRST), (9, SECOND), (10, THIRD)):
        scene.put(f"{number}.csv", rows)
        modified = 10**18 + number * 10**9
        os.utime(scene.files / f"customers-{number}.csv", ns=(modified, modified))
    scene.prepare()
    assert scene.poll().exit_code == 0
    assert scene.replayed(FIRST) == dict(THIRD)
    scene.put("11.csv", THIRD)
    os.utime(scene.files / "customers-11.csv", ns=(1, 1))
    with scene.open() as project:
        [warning] = [one.message for one in project.check(STREAM) if one.level == "warning" and one.stream]
    assert warning.startswith("by name customers-10.csv is before customers-11.csv, by time of modification after it")


REFUSED: list[tuple[str, bytes, str]] = [
    ("a last line that was cut", text_of(SECOND)[:-1], "customers-02.csv, line 5: the last line has no line end"),
    ("a missing column", b"id;name\n1;x\n", "customers-02.csv, line 1: has no column 'credit', which the dump before"),
    ("a new column", b"id;name;credit;x\n1;a;1;2\n", "customers-02.csv, line 1: has a column 'x', which the dump"),
    ("a row of fewer values", HEAD + b"1;x;1\n3;y\n", "customers-02.csv, line 3: has 2 values where the header has 3"),
    ("a wrong value", HEAD + b"1;x;1\n3;y;1,5\n", "customers-02.csv, line 3: column credit has '1,5', which is not"),
    ("a key that is NULL", HEAD + b"1;x;1\n;y;1\n", "customers-02.csv, line 3: column id of the key is NULL"),
    ("a key twice", HEAD + b"1;x;1\n1;y;1\n", "customers-02.csv: the key is not unique: id 1 occurs 2 times"),
    ("a dump without rows", HEAD, "the source is empty now and held 4 rows before"),
    ("a dump that lost most rows", HEAD + b"1;x;1\n", "this poll would deliver 3 deletes of 4 rows, more than"),
]


def test_a_refused_dump_changes_nothing(workspace: Path) -> None:
    scene = begun(workspace)
    with scene.open() as project:
        before = project.status()[0].epoch
    for case, content, message in REFUSED:
        scene.put("02.csv", content)
        [outcome] = scene.poll().outcomes
        assert isinstance(outcome.error, Refused), case
        assert outcome.error.what.startswith(message), case
        assert outcome.error.stream == STREAM, case
        assert outcome.error.remedy, case
    scene.put("02.csv", SECOND)
    assert scene.poll().exit_code == 0
    assert scene.replayed(FIRST) == dict(SECOND)
    assert len(scene.batches()) == 1
    with scene.open() as project:
        assert project.status()[0].epoch == before
    left = {path.name.partition("-")[0] for path in (workspace / ".qbcd").glob("*/customers/*")}
    assert left == {"fetch", "batch"}
    assert len(list((workspace / ".qbcd").glob("*/customers/fetch-*"))) == 1  # one segment: nothing else is left


@pytest.mark.campaign
def test_accepted_deletes_and_a_late_dump(workspace: Path) -> None:
    scene = begun(workspace)
    scene.put("03.csv", {1: FIRST[1]})
    assert isinstance(scene.poll().outcomes[0].error, GuardTripped)
    with scene.open() as project:
        assert project.run(once=True, accept_deletes=True).exit_code == 0
    scene.put("02.csv", SECOND)
    [outcome] = scene.poll().outcomes
    assert "customers-02.csv is new, but by its name it is older than customers-03.csv" in str(outcome.error)
    assert len(scene.batches()) == 1


def test_what_prepare_fixes(workspace: Path) -> None:
    scene = DumpScene(workspace)
    with pytest.raises(Refused, match="there is no complete file"):
        scene.prepare()
    scene.put("01.csv", FIRST)
    (scene.files / "customers-01.csv.done").unlink()
    with pytest.raises(Refused, match=r"its marker customers-01\.csv\.done does not exist yet") as waiting:
        scene.prepare()
    assert (waiting.value.remedy or "").startswith("wait until the file is complete, then run qbcd prepare")
    scene.put("01.csv", FIRST)
    scene.data["tables"][0]["key"] = ["ident"]
    with pytest.raises(QbcdError, match="has no column 'ident'"):
        scene.prepare()
    scene.data["tables"][0]["key"] = ["id"]
    scene.prepare()
    scene.data["tables"][0]["exclude"] = ["name"]
    assert isinstance(scene.poll().outcomes[0].error, SchemaChanged)
    del scene.data["tables"][0]["exclude"]
    scene.data["sources"]["partner"]["format"]["types"]["credit"] = "double"
    scene.put("02.csv", SECOND)
    assert "column credit is double now and was decimal(10,2)" in str(scene.poll().outcomes[0].error)
    scene.data["sources"]["partner"]["format"]["types"]["credit"] = "decimal(12,3)"
    assert scene.poll().exit_code == 0
    assert scene.batches()[0][1]["before"]["credit"] == "7.000", "the type is wider, and values stay"
    (scene.files / "customers-02.csv").unlink()
    with scene.open() as project, pytest.raises(Refused, match="does not exist any more or was changed"):
        project.stream(STREAM).verify()


CHILD = """
import json, os, signal, sys
from qbcd import Project
from qbcd.common import hooks
data, folder, point, what = json.loads(sys.argv[1]), *sys.argv[2:]
hooks.register(point, lambda: os.kill(os.getpid(), signal.SIGKILL))
with Project.from_dict(data, base_dir=folder) as project:
    project.run(once=True) if what == "poll" else project.stream("customers").prepare()
"""
POINTS = ("after_lease", "after_fetch", "after_stage", "before_commit", "after_commit", "before_publish",
          "mid_publish", "after_publish", "after_acknowledge")  # fmt: skip


def killed(scene: DumpScene, point: str, what: str = "poll") -> None:
    arguments = [sys.executable, "-c", CHILD, json.dumps(scene.data), str(scene.folder), point, what]
    assert subprocess.run(arguments, capture_output=True, timeout=120, check=False).returncode == -9


class Interrupted(Exception):
    pass


def test_an_interrupted_step_leaves_nothing(workspace: Path) -> None:
    def interrupt() -> None:
        raise Interrupted

    scene = begun(workspace)
    scene.put("02.csv", SECOND)
    scene.put("03.csv", THIRD)
    hooks.register("before_commit", interrupt)
    try:
        assert scene.poll().exit_code == 1
    finally:
        hooks.register("before_commit", None)
    assert scene.batches() == []
    assert scene.poll().exit_code == 0
    assert scene.replayed(FIRST) == dict(THIRD)
    assert [len(batch) for batch in scene.batches()] == [4, 1]


@pytest.mark.campaign
@pytest.mark.parametrize("point", POINTS)
def test_kill(workspace: Path, point: str) -> None:
    scene = begun(workspace)
    scene.put("02.csv", SECOND)
    scene.put("03.csv", THIRD)
    killed(scene, point)
    assert scene.poll().exit_code == 0
    assert scene.replayed(FIRST) == dict(THIRD)
    assert [len(batch) for batch in scene.batches()] == [4, 1]
    with scene.open() as project:
        assert list(project.stream(STREAM).verify()) == []


@pytest.mark.campaign
@pytest.mark.parametrize("point", ["after_stage", "before_commit", "after_commit"])
def test_kill_of_a_baseline(workspace: Path, point: str) -> None:
    scene = DumpScene(workspace)
    scene.put("01.csv", FIRST)
    killed(scene, point, "prepare")
    scene.prepare()
    scene.put("02.csv", SECOND)
    assert scene.poll().exit_code == 0
    assert scene.replayed(FIRST) == dict(SECOND)


@pytest.mark.campaign
@pytest.mark.parametrize("change", [lambda rows: rows, lambda rows: dict(reversed(rows.items()))], ids=["same", "back"])
def test_a_dump_without_changes_is_no_batch(workspace: Path, change: Callable[[Any], Any]) -> None:
    scene = begun(workspace)
    scene.put("02.csv", change(FIRST))
    assert scene.poll().exit_code == 0
    assert scene.batches() == []
    scene.put("03.csv", SECOND)
    scene.poll()
    assert scene.replayed(FIRST) == dict(SECOND)
