"""The built-in sinks on real files.

Their content, and each batch exactly once after a crash.
"""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from qbcd.common import hooks
from qbcd.config.sink_registry import BUILT_SINKS
from qbcd.errors import ConfigError, DeliveryError, NotBuilt
from qbcd.local.database import LocalDatabase
from qbcd.model import BatchHeader, Travel
from qbcd.sinks import Sink, SinkBatch, make_sink, sink_types
from qbcd.sinks.console import ConsoleSink
from qbcd.sinks.jsonl import JsonlSink
from qbcd.sinks.parquet import ParquetSink
from qbcd.spark.paths import to_read
from qbcd.stores.base import ATTEMPTS
from qbcd.stores.folders import locked, remove
from tests.support.file_batches import target_of
from tests.support.local_batches import local_rows
from tests.support.staged_rows import header_of, staged_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = [("id", Travel("int64")), ("na me.`x`", Travel("text")), ("amount", Travel("decimal", 10, 2))]


class Engine:
    """The engine that delivers the batches of a test."""

    database: LocalDatabase
    is_local = True


# Tests that Spark runs in `make test`, too: one of each way in which a sink reads rows, and their failures.
BY_SPARK = frozenset(
    {
        "test_jsonl_writes_lines_in_order",
        "test_jsonl_attempt_that_stops_half_way_shows_nothing",
        "test_fewer_rows_than_the_batch_has_are_an_error",
        "test_batches_of_several_parts_keep_their_order",
        "test_rows_that_fail_in_spark_are_one_message",
        "test_parquet_writes_typed_events_in_order",
        "test_parquet_types_and_odd_names_survive",
        "test_parquet_attempt_that_stops_half_way_shows_nothing",
        "test_console_shows_the_first_events_and_counts_the_others",
    }
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests that read rows with both engines, others once."""
    marks = [] if metafunc.function.__name__ in BY_SPARK else [pytest.mark.campaign]
    engines = ["local", pytest.param("spark", marks=marks)] if "spark" in metafunc.fixturenames else ["local"]
    metafunc.parametrize("engine", engines, indirect=True)


@pytest.fixture(autouse=True)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Deliver the batches of :func:`sink_batch` by each engine."""
    Engine.database = LocalDatabase(1 << 28, tmp_path / "spill")
    Engine.is_local = request.param == "local"
    yield request.param
    Engine.database.close()


def sink_batch(spark: SparkSession, header: BatchHeader, wire: list[list[Any]]) -> SinkBatch:
    """Return a batch of staged rows for the engine of the test."""
    staged = no_rows if Engine.is_local else lambda: staged_rows(spark, header, wire)
    return SinkBatch(header, staged, lambda part: local_rows(Engine.database, header, wire), is_local=Engine.is_local)


@pytest.fixture(autouse=True)
def no_hooks() -> Iterator[None]:
    yield
    for point in hooks.POINTS:
        hooks.register(point, None)


def batch_of(spark: SparkSession, rows: int = 5, **header: Any) -> SinkBatch:
    """Return a batch whose rows are in the wrong order: a delete, an update, then inserts."""
    made = header_of(COLUMNS, counts={"d": 1, "u": 1, "c": rows - 2}, **header)
    wire: list[list[Any]] = [
        ["d", None, None, 0, None, 0, "gone", "1.00", None, None, None],
        ["u", None, None, 1, "2", 1, "a", "1.50", 1, "a", "-2.00"],
        *[["c", None, None, i, None, None, None, None, i, f"n{i}\n", f"{i}.00"] for i in range(2, rows)],
    ]
    return sink_batch(spark, made, wire[::-1])


def no_rows() -> DataFrame:
    raise AssertionError("the rows were asked for")


def again(batch: SinkBatch, **changes: Any) -> SinkBatch:
    """Return the same batch again, with a stage that must not be read."""
    return SinkBatch(replace(batch.header, **changes), no_rows)


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def stop_at(point: str) -> None:
    def stop() -> None:
        hooks.register(point, None)
        raise KeyboardInterrupt

    hooks.register(point, stop)


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# -- jsonl -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def jsonl(tmp_path: Path) -> JsonlSink:
    return JsonlSink("changes", tmp_path / "out %20 [d]ir*" / "changes")


NAME = "5-000000000007.jsonl"
SIDECAR = f".{NAME}.fingerprint"


def test_jsonl_writes_lines_in_order(spark: SparkSession, jsonl: JsonlSink) -> None:
    batch = batch_of(spark, rows=1000, seq=7)
    jsonl.write(batch)
    folder = jsonl.path / "orders"
    assert everything(folder) == [f"{SIDECAR}", ".lock", NAME]
    text = (folder / NAME).read_text(encoding="utf-8")
    assert text.endswith("\n")
    found = [json.loads(line) for line in text.split("\n")[:-1]]
    assert [event["op"] for event in found] == ["d", "u", *["c"] * 998]
    assert [event["event_id"] for event in found] == [f"orders:5:7:{i}" for i in range(1000)]
    assert found[1]["changed"] == ["amount"]
    assert found[1]["after"] == {"id": 1, "na me.`x`": "a", "amount": "-2.00"}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_jsonl_leaves_a_complete_batch(spark: SparkSession, jsonl: JsonlSink) -> None:
    batch = batch_of(spark, seq=7)
    jsonl.write(batch)
    target = target_of(jsonl, batch.header)
    before = target.stat()
    attempt = target.parent / ATTEMPTS / "0123"  # of a process that was killed after it had published the batch
    attempt.mkdir()
    jsonl.write(again(batch))
    after = target.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert not attempt.exists()


def test_jsonl_refuses_another_batch_of_the_same_number(spark: SparkSession, jsonl: JsonlSink) -> None:
    batch = batch_of(spark, seq=7)
    jsonl.write(batch)
    content = target_of(jsonl, batch.header).read_bytes()
    with pytest.raises(
        DeliveryError, match=r"stream orders: sink changes: .*another batch 5/7 \(fingerprint f1, not f2\)"
    ):
        jsonl.write(again(batch, fingerprint="f2"))
    assert target_of(jsonl, batch.header).read_bytes() == content


@pytest.mark.parametrize("left", ["torn", "torn with sidecar", "sidecar only", "torn sidecar", "temporary"])
def test_jsonl_writes_an_incomplete_attempt_again(spark: SparkSession, jsonl: JsonlSink, left: str) -> None:
    batch = batch_of(spark, seq=7)
    jsonl.write(batch)
    folder = jsonl.path / "orders"
    target, sidecar = folder / NAME, folder / SIDECAR
    whole = target.read_bytes()
    if left.startswith("torn"):
        target.write_bytes(whole[: len(whole) // 2])
    if left == "torn":
        sidecar.unlink()
    if left == "torn sidecar":
        sidecar.write_bytes(sidecar.read_bytes()[:9])
    if left in ("sidecar only", "temporary"):
        target.unlink()
    if left == "temporary":
        sidecar.unlink()
        (folder / f".{NAME}.0123.tmp").mkdir()
        (folder / f".{NAME}.0123.tmp" / "part-00000").write_bytes(b"half")
        (folder / f".{SIDECAR[1:]}.0123.tmp").write_bytes(b"half")  # as before version 0.2
        (folder / ATTEMPTS / "0123").mkdir()
        (folder / ATTEMPTS / "0123" / "part-00000").write_bytes(b"half")
        jsonl = JsonlSink("changes", jsonl.path)
    jsonl.write(batch)
    assert target.read_bytes() == whole
    assert everything(folder) == [SIDECAR, ".lock", NAME]
    jsonl.write(again(batch))


def test_jsonl_attempt_that_stops_half_way_shows_nothing(spark: SparkSession, jsonl: JsonlSink) -> None:
    batch = batch_of(spark, seq=7)
    stop_at("mid_publish")
    with pytest.raises(KeyboardInterrupt):
        jsonl.write(batch)
    assert everything(jsonl.path / "orders") == [".lock"]
    jsonl.write(batch)
    assert len(read_lines(target_of(jsonl, batch.header))) == 5


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_files_of_a_dying_attempt_are_removed_later(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    """The Java process of a killed Python process goes on for a moment."""
    sink = make_sink("s", kind, {"path": tmp_path})
    root = tmp_path / "orders"
    left = root / ATTEMPTS / "0123"
    left.mkdir(parents=True)
    alive = threading.Event()

    def write() -> None:
        number = 0
        while not alive.is_set():
            number += 1
            with suppress(FileNotFoundError):  # as soon as the folder is deleted after all
                (left / f"part-{number}").touch()
            time.sleep(0.0002)

    writer = threading.Thread(target=write)
    writer.start()
    while len(list(left.iterdir())) < 500:  # removing them takes longer than writing another one
        pass
    try:
        sink.write(batch_of(spark, seq=7))
    finally:
        alive.set()
        writer.join()
    sink.write(batch_of(spark, seq=8))
    assert not left.exists()


def test_jsonl_stale_publisher_takes_nothing_away(spark: SparkSession, jsonl: JsonlSink) -> None:
    """A publisher pauses between rows and rename; another takes over and completes.

    The first goes on.
    """
    batch = batch_of(spark, seq=7)
    target = target_of(jsonl, batch.header)
    seen: list[tuple[int, bytes]] = []

    def other() -> None:
        hooks.register("mid_publish", None)
        JsonlSink("changes", jsonl.path).write(batch_of(spark, seq=7))
        seen.append((target.stat().st_ino, target.read_bytes()))

    hooks.register("mid_publish", other)
    jsonl.write(batch)
    assert seen == [(target.stat().st_ino, target.read_bytes())]
    assert everything(target.parent) == [SIDECAR, ".lock", NAME]


def test_jsonl_stale_publisher_of_another_batch_fails(spark: SparkSession, jsonl: JsonlSink) -> None:
    def other() -> None:
        hooks.register("mid_publish", None)
        JsonlSink("changes", jsonl.path).write(batch_of(spark, rows=9, seq=7, fingerprint="f2"))

    hooks.register("mid_publish", other)
    with pytest.raises(DeliveryError, match="fingerprint f2, not f1"):
        jsonl.write(batch_of(spark, seq=7))
    assert len(read_lines(jsonl.path / "orders" / NAME)) == 9


def test_jsonl_file_has_its_name_only_when_it_is_whole(spark: SparkSession, jsonl: JsonlSink) -> None:
    batch = batch_of(spark, seq=7)
    seen: list[list[str]] = []
    hooks.register("mid_publish", lambda: seen.append(everything(jsonl.path / "orders")))
    jsonl.write(batch)
    (names,) = seen
    assert [name for name in names if not name.startswith(".")] == []
    assert any(name.endswith("/lines") for name in names)


def test_the_lock_excludes_other_processes_and_dies_with_them(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from qbcd.stores.folders import locked\n"
        "with locked(Path(sys.argv[1])):\n    print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    got = threading.Event()

    def take() -> None:
        with locked(tmp_path):
            got.set()

    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        waiter = threading.Thread(target=take)
        waiter.start()
        assert not got.wait(0.3)
        limited = make_sink("out", "jsonl", {"path": tmp_path.parent, "lock_timeout": timedelta(seconds=0.1)})
        header = header_of(COLUMNS, stream=tmp_path.name)
        with pytest.raises(DeliveryError, match=r"sink out: another process has held this lock for 0.1 s"):
            limited.write(SinkBatch(header, lambda: pytest.fail("the batch is not read")))
    finally:
        holder.kill()
        holder.communicate()
    waiter.join(10)
    assert got.is_set()


def test_path_that_is_a_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    for kind in ("jsonl", "parquet"):
        sink = make_sink("out", kind, {"path": tmp_path / "taken"})
        said = rf"^sink out: folder {tmp_path}/taken cannot be written: Not a directory \(check the path, its owner and"
        with pytest.raises(DeliveryError, match=said):
            sink.check()
        above = make_sink("out", kind, {"path": tmp_path})
        above.check()
        above.check_stream("orders")
        with pytest.raises(DeliveryError, match=said):
            above.check_stream("taken")
        with pytest.raises(DeliveryError, match=r"stream orders: sink out: .*taken.*the batch stays pending"):
            sink.write(SinkBatch(header_of(COLUMNS), no_rows))


def test_check_changes_nothing(tmp_path: Path) -> None:
    for kind in ("jsonl", "parquet"):
        make_sink("out", kind, {"path": tmp_path / "a" / "b"}).check()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_fewer_rows_than_the_batch_has_are_an_error(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """As on a cluster whose executors write to a folder of their own."""
    batch = batch_of(spark, seq=7)
    sink = make_sink("out", kind, {"path": tmp_path})
    short = batch.first(4)
    with pytest.raises(DeliveryError, match="has 4 events of batch 5/7, not all 5"):
        sink.write(short)
    assert everything(tmp_path) == ["orders/.lock"]


def test_batches_of_several_parts_keep_their_order(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qbcd.sinks.stored.json_files.EVENTS_PER_PART", 100)
    monkeypatch.setattr("qbcd.sinks.stored.parquet_files.EVENTS_PER_FILE", 100)
    batch = batch_of(spark, rows=650, seq=7)
    lines, files = JsonlSink("a", tmp_path / "a"), ParquetSink("b", tmp_path / "b")
    lines.write(batch)
    files.write(batch)
    ids = [f"orders:5:7:{i}" for i in range(650)]
    assert [event["event_id"] for event in read_lines(target_of(lines, batch.header))] == ids
    parts = sorted(target_of(files, batch.header).glob("*.parquet"))
    assert len(parts) == 7
    found = [row[0] for part in parts for row in spark.read.parquet(to_read(part)).select("event_id").collect()]
    assert found == ids


def test_rows_that_fail_in_spark_are_one_message(spark: SparkSession, tmp_path: Path) -> None:
    header = header_of([("id", Travel("int64")), ("day", Travel("date"))], counts={"c": 1})
    rows = [["c", None, None, 0, None, None, None, 1, "infinity"]]
    sink = ParquetSink("lake", tmp_path)
    with pytest.raises(DeliveryError) as caught:
        sink.write(SinkBatch(header, lambda: staged_rows(spark, header, rows)))
    assert "column day: not a value of type date: infinity" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert everything(tmp_path / "orders") == [".lock"]


# -- parquet -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def parquet(tmp_path: Path) -> ParquetSink:
    return ParquetSink("lake", tmp_path / "the lake %20 [a]{b,c}*?")


def read_batch(spark: SparkSession, sink: ParquetSink, header: BatchHeader) -> list[dict[str, Any]]:
    frame = spark.read.parquet(to_read(target_of(sink, header)))
    return [row.asDict(recursive=True) for row in frame.collect()]


def test_parquet_writes_typed_events_in_order(spark: SparkSession, parquet: ParquetSink) -> None:
    batch = batch_of(spark, rows=50, seq=7)
    parquet.write(batch)
    folder = parquet.path / "orders" / "epoch=5" / "batch_seq=7"
    assert target_of(parquet, batch.header) == folder
    names = everything(parquet.path / "orders")
    assert [name for name in names if not name.endswith(".parquet")] == [".lock", "epoch=5/batch_seq=7/_SUCCESS"]
    assert json.loads((folder / "_SUCCESS").read_text())["fingerprint"] == "f1"
    found = read_batch(spark, parquet, batch.header)
    assert [event["event_id"] for event in found] == [f"orders:5:7:{i}" for i in range(50)]
    assert found[1]["before"] == {"id": 1, "na me.`x`": "a", "amount": Decimal("1.50")}
    assert found[1]["changed"] == ["amount"]
    assert found[0]["after"] is None
    whole = spark.read.parquet(to_read(parquet.path / "orders"))
    assert whole.select("epoch", "batch_seq").distinct().collect() == [(5, 7)]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_parquet_types_and_odd_names_survive(spark: SparkSession, parquet: ParquetSink) -> None:
    kinds = ["date", "timestamp", "timestamptz", "time", "binary", "float32"]
    names = ["a.b", "A.B", 'q"`\\', "semi;colon,{}()\n\t=", "ключ", " "]
    columns: list[tuple[str, Travel]] = [("id", Travel("int64"))]
    columns += [(name, Travel(kind)) for name, kind in zip(names, kinds, strict=True)]  # type: ignore[arg-type]
    columns.append(("list", Travel("array", element=Travel("decimal", 5, 1))))
    header = header_of(columns, counts={"c": 1})
    day, time = "0001-01-01", "1582-10-10T00:00:00.000001"
    wire = [1, day, time, f"{time}Z", "24:00:00", bytearray(b"\xff"), 0.5, '["1.5"]']
    rows = [["c", None, None, 0, None, *[None] * 8, *wire]]
    parquet.write(sink_batch(spark, header, rows))
    frame = spark.read.parquet(to_read(target_of(parquet, header)))
    after = frame.select("after.*")
    assert after.dtypes == [
        ("id", "bigint"),
        *zip(names, ["date", "timestamp_ntz", "timestamp", "string", "binary", "float"], strict=True),
        ("list", "array<decimal(5,1)>"),
    ]
    texts = after.toDF(*"abcdefgh").selectExpr("cast(b as string)", "cast(c as string)", "cast(d as string)").first()
    assert texts == (day, "1582-10-10 00:00:00.000001", "1582-10-10 00:00:00.000001")


def test_parquet_leaves_a_complete_batch(spark: SparkSession, parquet: ParquetSink) -> None:
    batch = batch_of(spark, seq=7)
    parquet.write(batch)
    names = everything(parquet.path)
    inode = target_of(parquet, batch.header).stat().st_ino
    parquet.write(again(batch))
    assert (everything(parquet.path), target_of(parquet, batch.header).stat().st_ino) == (names, inode)


def test_parquet_refuses_another_batch_of_the_same_number(spark: SparkSession, parquet: ParquetSink) -> None:
    batch = batch_of(spark, seq=7)
    parquet.write(batch)
    names = everything(parquet.path)
    with pytest.raises(DeliveryError, match="another batch 5/7"):
        parquet.write(again(batch, fingerprint="f2"))
    assert everything(parquet.path) == names


@pytest.mark.parametrize("left", ["no marker", "empty marker", "file missing", "file torn", "temporary"])
def test_parquet_writes_an_incomplete_attempt_again(spark: SparkSession, parquet: ParquetSink, left: str) -> None:
    batch = batch_of(spark, seq=7)
    parquet.write(batch)
    folder = target_of(parquet, batch.header)
    (file,) = folder.glob("*.parquet")
    if left == "no marker":
        (folder / "_SUCCESS").unlink()
    elif left == "empty marker":
        (folder / "_SUCCESS").write_text("")
    elif left == "file missing":
        file.unlink()
    elif left == "file torn":
        file.write_bytes(file.read_bytes()[:100])
    else:
        os.rename(folder, parquet.path / "orders" / "_tmp-0123")  # as before version 0.2
        parquet = ParquetSink("lake", parquet.path)
    parquet.write(batch)
    assert [event["event_id"] for event in read_batch(spark, parquet, batch.header)] == [
        f"orders:5:7:{i}" for i in range(5)
    ]
    assert not list((parquet.path / "orders").glob("_tmp-*"))
    parquet.write(again(batch))


def test_parquet_attempt_that_stops_half_way_shows_nothing(spark: SparkSession, parquet: ParquetSink) -> None:
    batch = batch_of(spark, seq=7)
    stop_at("mid_publish")
    with pytest.raises(KeyboardInterrupt):
        parquet.write(batch)
    assert everything(parquet.path) == ["orders/.lock"]


def test_parquet_stale_publisher_takes_nothing_away(spark: SparkSession, parquet: ParquetSink) -> None:
    batch = batch_of(spark, seq=7)
    seen: list[list[str]] = []

    def other() -> None:
        hooks.register("mid_publish", None)
        ParquetSink("lake", parquet.path).write(batch_of(spark, seq=7))
        seen.append(everything(parquet.path))

    hooks.register("mid_publish", other)
    parquet.write(batch)
    assert seen == [everything(parquet.path)]
    assert len(read_batch(spark, parquet, batch.header)) == 5


def test_parquet_half_swept_attempt_never_becomes_a_batch(
    spark: SparkSession, parquet: ParquetSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A publisher pauses; another one dies during its sweep, or finds a file missing.

    The first goes on.
    """
    monkeypatch.setattr("qbcd.sinks.stored.parquet_files.EVENTS_PER_FILE", 100)
    batch = batch_of(spark, rows=650, seq=7)

    def sweep_half() -> None:
        (attempt,) = (parquet.path / "orders" / ATTEMPTS).iterdir()
        for file in sorted(attempt.glob("*.parquet"))[:3]:
            file.unlink()

    hooks.register("mid_publish", sweep_half)
    with pytest.raises(DeliveryError, match=r"stream orders: sink lake: another publisher has taken over batch 5/7"):
        parquet.write(batch)
    assert everything(parquet.path) == ["orders/.lock"]
    hooks.register("mid_publish", None)
    parquet.write(batch)
    assert len(read_batch(spark, parquet, batch.header)) == 650


def test_a_folder_is_removed_by_two_at_once(tmp_path: Path) -> None:
    for turn in range(5):
        folder = tmp_path / str(turn)
        for inner in (folder, folder / "inner"):
            inner.mkdir()
            for i in range(200):
                (inner / f".{i}.crc").touch()
        gate, failed = threading.Barrier(2), []

        def take_away(gate: threading.Barrier = gate, folder: Path = folder) -> None:
            gate.wait()
            try:
                remove(folder)
            except OSError as error:
                failed.append(error)  # noqa: B023 -- the threads end with their turn

        both = [threading.Thread(target=take_away) for _ in range(2)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
        assert (failed, folder.exists()) == ([], False)


# -- console and the registry ------------------------------------------------------------------------------------------


def test_console_shows_the_first_events_and_counts_the_others(spark: SparkSession) -> None:
    out = io.StringIO()
    ConsoleSink("screen", limit=3, console=Console(file=out, width=100)).write(batch_of(spark, rows=1500, seq=7))
    text = out.getvalue()
    assert "orders  5/7: 1 delete, 1 update, 1,498 inserts" in text
    assert "amount: 1.50 → -2.00" in text
    assert "n2\\n" in text
    assert "n3" not in text
    assert "… and 1,497 more" in text


def test_console_does_not_obey_the_data(spark: SparkSession) -> None:
    header = header_of([("id", Travel("text")), ("v", Travel("text"))], counts={"c": 1})
    rows = [["c", None, None, 0, None, None, None, "[red]k[/red]", "\x1b[2J[bold]x\u202e"]]
    out = io.StringIO()
    ConsoleSink("screen", console=Console(file=out, width=100)).write(sink_batch(spark, header, rows))
    assert "[red]k[/red]" in out.getvalue()
    assert "\\x1b[2J[bold]x\\u202e" in out.getvalue()
    assert "\x1b" not in out.getvalue()


@pytest.mark.parametrize("kind", sorted(BUILT_SINKS))
def test_registry_makes_each_sink(kind: str, tmp_path: Path) -> None:
    path = str(tmp_path)
    others = {"database": {"url": f"sqlite:///{path}/target.db"}, "webhook": {"url": "http://127.0.0.1:9/"}}
    options = {"console": {}, **others}.get(kind, {"path": path})
    sink = make_sink("out", kind, options)
    assert isinstance(sink, Sink)
    assert sink.name == "out"
    assert sink.typed == (kind in ("parquet", "database", "delta"))
    if kind != "webhook":  # there is no server
        sink.check()


def test_registry_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no sink type pulsar \(one of console, database, delta, jsonl, parquet"):
        make_sink("out", "pulsar", {})
    with pytest.raises(ConfigError, match=r"sink type jsonl has no setting \"color\" \(there are path"):
        make_sink("out", "jsonl", {"path": tmp_path, "color": "red"})
    with pytest.raises(NotBuilt, match="s3a://bucket/x are not built yet"):
        make_sink("out", "jsonl", {"path": "s3a://bucket/x"})


def test_sinks_of_other_packages_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution on the path, as pip would have installed it."""
    info = tmp_path / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[qbcd.sinks]\nnull = other_sinks:Null\nbad = other_sinks:NAME\n")
    (tmp_path / "other_sinks.py").write_text(
        "from qbcd.sinks import Sink\nNAME = 'x'\nclass Null(Sink):\n"
        "    def write(self, batch): pass\n    def check(self): pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert sink_types() == ["bad", "console", "database", "delta", "jsonl", "null", "parquet", "webhook"]
    assert make_sink("out", "null", {}).name == "out"
    with pytest.raises(ConfigError, match="is not a Sink class"):
        make_sink("out", "bad", {})
