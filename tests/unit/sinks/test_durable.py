"""Sinks of files: data, then name, then folder are on the disk before a batch counts as delivered."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from typing_extensions import override

from qbcd.errors import SinkConflict
from qbcd.model import BatchHeader
from qbcd.sinks import SinkBatch
from qbcd.sinks.folder import FolderSink
from qbcd.sinks.jsonl import JsonlSink
from qbcd.sinks.parquet import ParquetSink
from qbcd.sinks.stored.json_files import LINES
from qbcd.sinks.stored.parquet_files import MARKER
from tests.support.file_batches import target_of

HEADER = BatchHeader("s", 5, 7, 0, {"c": 2}, (), "print", "shop", "t", "mds", "snapshot", ("id",), (), location={})


class Rows:
    """Rows of a batch, which it writes as Spark writes text and Parquet."""

    lines = events = write = sparkSession = conf = property(lambda self: self)  # noqa: N815 -- the names in Spark

    def get(self, setting: str) -> str:
        return "true"

    def select(self, *names: str) -> Rows:
        return self

    def options(self, **settings: str) -> Rows:
        return self

    def text(self, path: str, lineSep: str) -> None:  # noqa: N803 -- the name in Spark
        folder = Path(path.removeprefix("file://"))
        folder.mkdir()
        (folder / "part-0").write_text(f"one{lineSep}two{lineSep}")

    def parquet(self, path: str) -> None:
        folder = Path(path.removeprefix("file://"))
        folder.mkdir()
        parquet.write_table(pa.table({"n": [1, 2]}), folder / "part-0.parquet")


class WrittenBatch(SinkBatch):
    """A batch of two lines, without Spark."""

    @override
    def ordered(self, events_per_part: int) -> Any:
        made: Any = Rows()
        made.header = self.header
        return made


def batch() -> SinkBatch:
    made: Any = Rows()
    return WrittenBatch(HEADER, lambda: made)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Return what is flushed and renamed from now on, in order, by the present names."""
    found: list[tuple[str, str]] = []
    fsync, rename, replace = os.fsync, os.rename, os.replace

    def flushed(descriptor: int) -> None:
        fsync(descriptor)
        found.append(("flush", Path(os.readlink(f"/proc/self/fd/{descriptor}")).name))

    def renamed(old: Path, new: Path) -> None:
        rename(old, new)
        found.append(("rename", Path(new).name))

    monkeypatch.setattr(os, "fsync", flushed)

    def replaced(old: Path, new: Path) -> None:
        replace(old, new)
        found.append(("rename", Path(new).name))

    monkeypatch.setattr(os, "rename", renamed)
    monkeypatch.setattr(os, "replace", replaced)
    return found


def order(steps: list[tuple[str, str]], *wanted: tuple[str, str]) -> bool:
    """Return True if `wanted` are among the steps, in this order."""
    left = iter(steps)
    return all(step in left for step in wanted)


def test_jsonl_is_on_the_disk_before_it_has_its_name(tmp_path: Path, steps: list[tuple[str, str]]) -> None:
    sink = JsonlSink("changes", tmp_path)
    sink.write(batch())
    target = target_of(sink, HEADER)
    assert target.read_text() == "one\ntwo\n"
    noted = ("rename", f".{target.name}.fingerprint")
    assert order(steps, ("flush", LINES), noted, ("flush", "s"), ("rename", target.name), ("flush", "s")), steps
    assert [step for step, _ in steps[steps.index(noted) - 1 :][:2]] == ["flush", "rename"]  # the note before its name


def test_parquet_is_on_the_disk_before_it_has_its_name(tmp_path: Path, steps: list[tuple[str, str]]) -> None:
    sink = ParquetSink("lake", tmp_path)
    target = target_of(sink, HEADER)
    sink.write(batch())
    named = ("rename", target.name)
    (attempt,) = {
        name for step, name in steps if len(name) == 32 and (target / name).parent.exists() and step == "x"
    } or {steps[steps.index(named) - 2][1]}
    assert order(steps, ("flush", "part-0.parquet"), ("flush", attempt), named, ("flush", "epoch=5")), steps
    assert sum(MARKER in name for _, name in steps[: steps.index(named)])


def test_a_batch_of_another_fingerprint_is_refused(tmp_path: Path) -> None:
    sink = JsonlSink("changes", tmp_path)
    sink.write(batch())
    other = BatchHeader(**{**HEADER.__dict__, "fingerprint": "other"})
    with pytest.raises(SinkConflict, match="has another batch"):
        sink.write(WrittenBatch(other, batch))  # type: ignore[arg-type]


def test_a_cut_file_is_written_again(tmp_path: Path) -> None:
    sink: FolderSink = JsonlSink("changes", tmp_path)
    sink.write(batch())
    target = target_of(sink, HEADER)
    target.write_text("one\n")
    sink.write(batch())
    assert target.read_text() == "one\ntwo\n"
