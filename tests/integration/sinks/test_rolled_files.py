"""Files that roll and expire, in local folders and in object stores: exact whatever dies, whole for every reader."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from qbcd.api import parts_of
from qbcd.common import hooks
from qbcd.errors import DeliveryError, SinkConflict
from qbcd.sinks.folder import FolderSink
from qbcd.sinks.jsonl import JsonlSink
from qbcd.sinks.parquet import ParquetSink
from qbcd.sinks.stored.writer import Roll
from tests.support import sql
from tests.support.file_batches import (
    EPOCH,
    READERS,
    STREAM,
    FileBatch,
    Killed,
    Life,
    MortalFolder,
    batches,
    bucket_store,
    expected,
)
from tests.support.project import config, opened

SINKS: dict[str, type[FolderSink]] = {"jsonl": JsonlSink, "parquet": ParquetSink}
HOUR = Roll(timedelta(hours=1), 1 << 30)
OF_ROLLING = ("mid_publish", "before_roll", "mid_roll", "after_roll", "mid_expire")
campaign = pytest.mark.campaign


@pytest.fixture(autouse=True)
def no_hooks() -> Iterator[None]:
    yield
    for point in hooks.POINTS:
        hooks.register(point, None)


class Clock:
    """A clock that a test sets forward."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


def sink_at(kind: str, place: str, folder: Path, life: Life | None = None, **options: Any) -> FolderSink:
    """Return a sink, as a new process has it, in a local folder or a bucket that is a folder."""
    life = life or Life()
    made = SINKS[kind]("lake", folder if place == "local" else "s3://lake", **options)
    if place == "local":
        store = MortalFolder(folder, made.lock_timeout)
        store.life = life
        made.__dict__["store"] = store
    else:
        made.__dict__["store"] = bucket_store(folder, life)
    return made


def visible(place: str, folder: Path) -> Path:
    """Return the folder that consumers read."""
    return folder if place == "local" else folder / "lake"


def deliver(sink: FolderSink, made: list[FileBatch], acknowledged: list[FileBatch], clock: Clock) -> None:
    """Deliver what is not acknowledged as polls do; an hour passes after every third batch, and at the end."""
    sink.stored.clock = clock
    for batch in made[len(acknowledged) :]:
        sink.write(batch)
        acknowledged.append(batch)
        clock.ahead += 3700 * (batch.header.seq % 3 == 0)
        sink.maintain(STREAM, (batch.header.epoch, batch.header.seq))
    clock.ahead += 3700
    sink.maintain(STREAM, (made[-1].header.epoch, made[-1].header.seq))


def killed_and_restarted(kind: str, place: str, folder: Path, made: list[FileBatch], last: int) -> None:
    """Kill the process before step `last` and go on with a new one.

    Before each step a consumer sees a beginning of the events, at least as long as before; at the end it sees all.
    """
    whole, clock = expected(made), Clock()
    acknowledged: list[FileBatch] = []
    longest = 0

    def consume() -> None:
        nonlocal longest
        found = READERS[kind](visible(place, folder))
        assert found == whole[: len(found)]
        assert len(found) >= longest
        longest = len(found)

    for life in (Life(last), Life()):
        life.before_step = consume
        with suppress(Killed):
            deliver(sink_at(kind, place, folder, life, roll=HOUR), made, acknowledged, clock)
    consume()
    assert longest == len(whole)
    names = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    assert {name.name for name in names if {".pending", ".attempts"} & set(name.parts)} <= {"roll"}


@pytest.mark.parametrize(
    ("kind", "place", "count"),
    [
        ("jsonl", "local", 2),
        ("jsonl", "bucket", 2),
        *(pytest.param(k, p, 7, marks=campaign) for k in SINKS for p in ("local", "bucket")),
    ],
)
def test_a_roll_is_exact_at_each_step_where_its_process_dies(kind: str, place: str, count: int, tmp_path: Path) -> None:
    made = [*batches(count), *batches(1, first=count + 1, seed=2, epoch=EPOCH + 9)]
    life = Life()
    deliver(sink_at(kind, place, tmp_path / "all", life, roll=HOUR), made, [], Clock())
    assert life.steps > 20
    for last in range(life.steps):
        killed_and_restarted(kind, place, tmp_path / str(last), made, last)


def test_a_folder_without_its_note_is_completed_not_left(tmp_path: Path) -> None:
    """A process dies while a roll's Parquet files appear in a bucket; then one more batch is there."""
    made, folder = batches(3), visible("bucket", tmp_path)

    def half_written() -> bool:
        return any(not (path.parent / "_SUCCESS").exists() for path in folder.glob(f"{STREAM}/epoch=*/*/*.parquet"))

    life = Life()
    sink = sink_at("parquet", "bucket", tmp_path, life, roll=HOUR)
    for batch in made[:2]:
        sink.write(batch)

    def die() -> None:
        if half_written():
            raise Killed

    life.before_step, sink.stored.clock = die, lambda: 1e11
    with pytest.raises(Killed):
        sink.maintain(STREAM, (EPOCH, 2))
    assert READERS["parquet"](folder) == []
    after = sink_at("parquet", "bucket", tmp_path, roll=HOUR)
    after.stored.clock = lambda: 1e11
    after.write(made[2])
    assert READERS["parquet"](folder) == expected(made)
    assert not half_written()


@pytest.mark.parametrize("point", [p if p == "after_roll" else pytest.param(p, marks=campaign) for p in OF_ROLLING])
@pytest.mark.parametrize("kind", ["jsonl", pytest.param("parquet", marks=campaign)])
def test_a_killed_process_leaves_an_exact_roll(kind: str, point: str, tmp_path: Path) -> None:
    """A process of its own that dies by SIGKILL, at each hook point."""
    made = batches(5)

    def work(clock: Clock) -> None:
        sink = sink_at(kind, "local", tmp_path, roll=HOUR, keep=timedelta(minutes=30))
        deliver(sink, made, [], clock)

    child = os.fork()
    if child == 0:
        try:
            hooks.register(point, lambda: os.kill(os.getpid(), signal.SIGKILL))
            work(Clock())
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    before, whole = READERS[kind](tmp_path), expected(made)
    expired = 0 if point != "mid_expire" else len(expected(made[:3]))
    assert before == whole[expired : expired + len(before)]
    seen = max((seq for _, seq, _ in before), default=0)
    deliver(sink_at(kind, "local", tmp_path, roll=HOUR), made, made[:seen], Clock())
    assert READERS[kind](tmp_path) == whole[expired:]


def test_without_roll_files_are_what_they_were(tmp_path: Path) -> None:
    """Names and bytes in a local folder, and the same in a bucket."""
    made = batches(2)
    for kind in SINKS:
        for place in ("local", "bucket"):
            sink = sink_at(kind, place, tmp_path / kind / place, keep=timedelta(days=1))
            for batch in made:
                sink.write(batch)
                sink.write(batch)
                assert not sink.maintain(STREAM, (EPOCH, batch.header.seq))
    lines = "".join(f"{line}\n" for batch in made for (line,) in batch.json_lines())
    size = [len("".join(f"{line}\n" for (line,) in batch.json_lines()).encode()) for batch in made]
    for folder in (tmp_path / "jsonl/local", tmp_path / "jsonl/bucket/lake"):
        names = [f"{EPOCH}-{n:012d}.jsonl" for n in (1, 2)]
        assert "".join((folder / STREAM / name).read_text() for name in names) == lines
        for batch, name, length in zip(made, names, size, strict=True):
            note = f'{{"bytes": {length}, "events": {batch.header.size}, "fingerprint": "{batch.header.fingerprint}"}}'
            assert (folder / STREAM / f".{name}.fingerprint").read_text() == note
        assert files(folder) == sorted(f"{STREAM}/{n}" for n in [*names, *(f".{x}.fingerprint" for x in names)])
    for folder in (tmp_path / "parquet/local", tmp_path / "parquet/bucket/lake"):
        targets = [f"{STREAM}/epoch={EPOCH}/batch_seq={n}" for n in (1, 2)]
        parts = [f"{target}/part-00000.snappy.parquet" for target in targets]
        assert files(folder) == sorted([*parts, *(f"{target}/_SUCCESS" for target in targets)])
        for batch, target, part in zip(made, targets, parts, strict=True):
            length = (folder / part).stat().st_size
            counted = f'{{"events": {batch.header.size}, "files": {{"part-00000.snappy.parquet": {length}}}, '
            text = f'{counted}"fingerprint": "{batch.header.fingerprint}"}}'
            assert (folder / target / "_SUCCESS").read_text() == text
        assert READERS["parquet"](folder) == expected(made)


def files(folder: Path) -> list[str]:
    """Return the files of a sink, without locks."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return sorted(path.relative_to(folder).as_posix() for path in found)


def test_size_closes_a_file_and_a_large_batch_has_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = batches(4)
    size = sum(len(line) + 1 for batch in made[:3] for (line,) in batch.json_lines())
    sink = sink_at("jsonl", "local", tmp_path, roll=Roll(timedelta(hours=1), size))
    for batch in made[:3]:
        assert READERS["jsonl"](tmp_path) == []
        sink.write(batch)
    assert [name for name in files(tmp_path) if name.endswith("l")] == [f"{STREAM}/{EPOCH}-{3:012d}.jsonl"]
    sink.write(made[3])
    assert READERS["jsonl"](tmp_path) == expected(made[:3])
    monkeypatch.setattr("qbcd.sinks.stored.writer.EVENTS_PER_FILE", 0)
    large = batches(1, first=5, seed=3)
    sink.write(large[0])
    assert READERS["jsonl"](tmp_path) == expected([*made, *large])
    assert len([name for name in files(tmp_path) if name.endswith(".jsonl")]) == 3


@pytest.mark.parametrize("roll", [HOUR, pytest.param(None, marks=campaign)], ids=["roll", "each"])
@pytest.mark.parametrize("kind", ["parquet", pytest.param("jsonl", marks=campaign)])
def test_a_batch_without_events_is_a_batch(kind: str, roll: Roll | None, tmp_path: Path) -> None:
    """All of its events wait for a row of a lookup."""
    first, second, third = batches(3)
    empty = FileBatch(replace(second.header, counts={}), [])
    clock = Clock()
    sink = sink_at(kind, "local", tmp_path, roll=roll)
    deliver(sink, [first, empty, third], [], clock)
    sink_at(kind, "local", tmp_path, roll=roll).write(empty)
    alone = FileBatch(replace(empty.header, seq=4), [])
    deliver(sink, [alone], [], clock)
    sink = sink_at(kind, "local", tmp_path, roll=roll)
    sink.write(alone)
    with pytest.raises(SinkConflict):
        sink.write(FileBatch(replace(alone.header, fingerprint="other"), []))
    if kind == "parquet":
        assert READERS[kind](tmp_path) == expected([first, empty, third])


def test_a_merged_parquet_file_has_one_schema(tmp_path: Path) -> None:
    made = batches(3)
    narrow = batches(1, first=4, columns=made[0].header.columns[:3])
    sink = sink_at("parquet", "local", tmp_path, roll=HOUR)
    deliver(sink, [*made, *narrow], [], Clock())
    assert READERS["parquet"](tmp_path) == expected([*made, *narrow])


@pytest.mark.parametrize("place", ["local", pytest.param("bucket", marks=campaign)])
@pytest.mark.parametrize("kind", ["jsonl", pytest.param("parquet", marks=campaign)])
def test_expiry_keeps_the_newest_and_what_is_not_delivered(kind: str, place: str, tmp_path: Path) -> None:
    made, clock = batches(4), Clock()
    sink = sink_at(kind, place, tmp_path, keep=timedelta(days=30))
    sink.stored.clock = clock
    for batch in made:
        sink.write(batch)
    read, folder = READERS[kind], visible(place, tmp_path)
    clock.ahead = 29 * 86400
    assert not sink.maintain(STREAM, (EPOCH, 4))
    clock.ahead = 30 * 86400 + 60
    assert sink.maintain(STREAM, (EPOCH, 2))
    assert read(folder) == expected(made[2:])
    clock.ahead += 7200
    assert sink.maintain(STREAM, (EPOCH, 4))
    assert read(folder) == expected(made[3:])
    assert len(files(folder)) == 2
    sink.write(made[3])
    assert read(folder) == expected(made[3:])


def test_held_batches_become_visible_when_roll_is_removed(tmp_path: Path) -> None:
    for place in ("local", "bucket"):
        made, folder = batches(4), tmp_path / place
        rolling = sink_at("jsonl", place, folder, roll=HOUR)
        for batch in made[:2]:
            rolling.write(batch)
        assert READERS["jsonl"](visible(place, folder)) == []
        sink_at("jsonl", place, folder).write(made[2])
        assert READERS["jsonl"](visible(place, folder)) == expected(made[:3])
        sink_at("jsonl", place, folder, roll=HOUR).write(made[3])
        sink_at("jsonl", place, folder).maintain(STREAM, (EPOCH, 4))
        assert READERS["jsonl"](visible(place, folder)) == expected(made)


@pytest.mark.parametrize("place", ["local", "bucket"])
def test_another_batch_of_a_number_is_refused_held_or_rolled(place: str, tmp_path: Path) -> None:
    made = batches(3)
    sink = sink_at("jsonl", place, tmp_path, roll=HOUR)
    for batch in made:
        sink.write(batch)
    other = batches(1, first=2, fingerprint="other")[0]
    with pytest.raises(SinkConflict, match=rf"another batch {EPOCH}/2 \(fingerprint f2, not other\)"):
        sink.write(other)
    sink.stored.clock = lambda: 1e11
    assert sink.maintain(STREAM, (EPOCH, 3))
    with pytest.raises(SinkConflict, match=rf"000003.jsonl has another batch {EPOCH}/2 \(fingerprint f2, not other\)"):
        sink_at("jsonl", place, tmp_path, roll=HOUR).write(other)
    sink_at("jsonl", place, tmp_path, roll=HOUR).write(made[1])
    assert READERS["jsonl"](visible(place, tmp_path)) == expected(made)


def test_held_files_that_somebody_changed_are_refused(tmp_path: Path) -> None:
    made = batches(2)
    sink = sink_at("jsonl", "local", tmp_path, roll=HOUR)
    for batch in made:
        sink.write(batch)
    cut = next((tmp_path / STREAM / ".pending").glob("*-000000000002-*"))
    cut.write_text(cut.read_text()[:-1])
    sink.stored.clock = lambda: 1e11
    with pytest.raises(
        DeliveryError, match=r"batches .*/1 to .*/2 in .* have .* events, not .*: somebody changed them"
    ):
        sink.maintain(STREAM, (EPOCH, 2))
    assert READERS["jsonl"](tmp_path) == []


def test_a_poll_without_changes_closes_a_file_and_clears_its_failure(database: str, workspace: Path) -> None:
    sql(database, "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    table = {"name": STREAM, "table": "public.t", "strategy": "mds", "baseline": "events"}

    def polled(every: str, *, prepare: bool = False) -> list[str]:
        """Poll once and return the failures of sinks, as the state has them too."""
        sinks = {"lake": {"type": "jsonl", "path": "out", "roll": {"every": every}}}
        with opened(config(database, table, sinks=sinks), workspace) as project:
            if prepare:
                project.stream(STREAM).prepare()
            (outcome,) = project.run(once=True).outcomes
            assert outcome.error is None and outcome.report is not None
            failures = [error.what for error in outcome.report.failures.values()]
            recorded = parts_of(project).state.delivery_failures(STREAM)
            assert [failure.message for failure in recorded.values()] == failures
            return failures

    assert polled("1h", prepare=True) == []
    sql(database, "UPDATE t SET v = 'c' WHERE id = 1")
    assert polled("1h") == []
    assert READERS["jsonl"](workspace / "out") == []
    (held,) = (workspace / "out" / STREAM / ".pending").glob("*-000000000002-*")
    whole = held.read_text()
    held.write_text(whole[:-1])
    (failure,) = polled("1ms")
    assert "somebody changed them" in failure
    held.write_text(whole)
    assert polled("1ms") == []
    assert [seq for _, seq, _ in READERS["jsonl"](workspace / "out")] == [1, 1, 2]
