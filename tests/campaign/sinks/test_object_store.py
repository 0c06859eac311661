"""Sinks of files in a real S3 server: the same as local, nothing visible half-written, exact after SIGKILL."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from qbcd.errors import DeliveryError
from qbcd.sinks.stored.writer import Roll
from tests.campaign.sinks.s3_child import SINKS, deliver
from tests.support import sql
from tests.support.cli import Cli
from tests.support.file_batches import READERS, STREAM, FileBatch, Seen, batches, expected
from tests.support.s3_server import S3Server, s3_server

pytestmark = pytest.mark.campaign
POINTS = ("mid_publish", "before_roll", "mid_roll", "after_roll")


@pytest.fixture
def s3() -> Iterator[S3Server]:
    with s3_server() as running:
        for name in ("jsonl", "parquet", "lake"):
            running.make_bucket(name)
        yield running


def objects(server: S3Server, root: str) -> dict[str, bytes]:
    """Return the objects below a folder, by name, without markers of folders."""
    client = server.client()
    found = client.get_file_info(fs.FileSelector(root, recursive=True, allow_not_found=True))
    names = sorted(info.path for info in found if info.type == fs.FileType.File)
    return {name[len(root) + 1 :]: client.open_input_file(name).read() for name in names}


def read(server: S3Server, kind: str, root: str, folder: Path) -> Seen:
    """Read what a consumer sees: parts before the note that completes them could be missing, so notes come first."""
    client = server.client()
    found = client.get_file_info(fs.FileSelector(root, recursive=True, allow_not_found=True))
    names = [info.path for info in found if info.type == fs.FileType.File and "/." not in info.path]
    for name in sorted(names, key=lambda name: not name.endswith("_SUCCESS")):
        path = folder / name[len(root) + 1 :]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(client.open_input_file(name).read())
    return READERS[kind](folder)


@pytest.mark.parametrize("roll", [None, Roll(timedelta(hours=1), 1)])
@pytest.mark.parametrize("kind", SINKS)
def test_a_bucket_has_the_files_of_a_folder(kind: str, roll: Roll | None, s3: S3Server, tmp_path: Path) -> None:
    made = batches(4)
    local = SINKS[kind]("lake", tmp_path, roll=roll)
    remote = SINKS[kind]("lake", "s3://lake/x", roll=roll, storage=s3.storage)
    for batch in made:
        for sink in (local, remote, remote):
            sink.write(batch)
    here = {p.relative_to(tmp_path).as_posix(): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    assert objects(s3, "lake/x") == {name: data for name, data in here.items() if not name.endswith(".lock")}
    assert len([name for name in here if name.endswith(("l", "parquet"))]) == 4


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("kind", SINKS)
def test_a_killed_process_leaves_an_exact_roll(kind: str, point: str, s3: S3Server, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.campaign.sinks.s3_child", kind, s3.endpoint, point]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    made = batches(5)
    before = read(s3, kind, f"{kind}/x", tmp_path / "before")
    assert before == expected(made)[: len(before)]
    last = max((seq for _, seq, _ in before), default=0)
    deliver(kind, s3, made[last:])
    assert read(s3, kind, f"{kind}/x", tmp_path / "after") == expected(made)
    assert not [name for name in objects(s3, f"{kind}/x") if "/.pending/" in name or "/.attempts/" in name]


@pytest.mark.parametrize("kind", SINKS)
def test_a_reader_sees_whole_batches_while_they_are_uploaded(kind: str, s3: S3Server, tmp_path: Path) -> None:
    """Batches of 12 MB: uploads of several parts."""
    made = [wide(batch) for batch in batches(3)]
    sink = SINKS[kind]("lake", "s3://lake/x", storage=s3.storage)
    done, lengths = threading.Event(), set()

    def consume() -> None:
        number = 0
        while not done.is_set():
            number += 1
            found = read(s3, kind, "lake/x", tmp_path / str(number))
            assert found == expected(made)[: len(found)]
            lengths.add(len(found))

    problems: list[BaseException] = []

    def watched() -> None:
        try:
            consume()
        except BaseException as error:  # noqa: BLE001 -- the test reports it
            problems.append(error)

    reader = threading.Thread(target=watched)
    reader.start()
    for batch in made:
        sink.write(batch)
    done.set()
    reader.join()
    assert not problems
    assert read(s3, kind, "lake/x", tmp_path / "end") == expected(made)
    assert lengths <= {0, *(len(expected(made[:n])) for n in (1, 2, 3))}


def wide(batch: FileBatch) -> FileBatch:
    """Return the batch with a long text in each row, which does not compress."""
    import random

    text = random.Random(1)
    for one in batch.made:
        for image in ("before", "after"):
            if one[image]:
                one[image] = {**one[image], "Note %s": "".join(chr(text.randrange(32, 9000)) for _ in range(1 << 20))}
    return batch


def test_problems_have_a_remedy_and_no_secret(s3: S3Server) -> None:
    cases: list[tuple[str, dict[str, str], str]] = [
        ("s3://nowhere/x", {}, "bucket nowhere does not exist .*create it"),
        ("s3://lake/x", {"endpoint": "http://127.0.0.1:1"}, "s3://lake/x cannot be reached .*`endpoint`"),
    ]
    for url, more, message in cases:
        storage = {**s3.storage, **more}
        sink = SINKS["jsonl"]("lake", url, storage=storage)
        for work in (
            sink.check,
            lambda sink=sink: sink.check_stream(STREAM),
            lambda sink=sink: sink.write(batches(1)[0]),
        ):
            with pytest.raises(DeliveryError, match=message) as caught:
                work()
            assert storage["secret_key"] not in str(caught.value)


CONFIG = """\
version: 1
sources: {{shop: {{url: "{url}"}}}}
sinks:
  lake:
    type: {kind}
    path: s3://{bucket}/changes
    roll: {{every: {every}}}
    keep: 30d
    storage: {{endpoint: "{endpoint}", region: us-east-1, access_key: "${{env:KEY}}", secret_key: "${{env:SECRET}}"}}
tables: [{{source: shop, table: public.t, strategy: mds, baseline: events, sinks: lake}}]
"""


def test_a_project_rolls_without_a_new_batch(
    database: str, s3: S3Server, workspace: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", s3.storage["access_key"])
    monkeypatch.setenv("SECRET", s3.storage["secret_key"])
    sql(database, "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    cli, file = Cli(capsys), workspace / "qbcd.yaml"

    def configured(**values: str) -> None:
        facts = {"url": database, "kind": "jsonl", "bucket": "lake", "every": "1h", "endpoint": s3.endpoint}
        file.write_text(CONFIG.format(**{**facts, **values}))

    configured(bucket="nowhere")
    ran = cli("check", "-c", str(file))
    assert "sink lake: bucket nowhere does not exist" in ran.err + ran.out
    assert ran.code == 1
    assert s3.storage["secret_key"] not in ran.err + ran.out
    configured()
    assert cli("run", "--prepare", "--once", "-c", str(file)).code == 0
    sql(database, "UPDATE t SET v = 'c' WHERE id = 1")
    assert cli("run", "--once", "-c", str(file)).code == 0
    assert not [name for name in objects(s3, "lake/changes") if name.endswith(".jsonl")]
    configured(every="1ms")
    assert cli("run", "--once", "-c", str(file)).code == 0
    names = [name for name in objects(s3, "lake/changes") if name.endswith(".jsonl")]
    assert len(names) == 1
    assert names[0].endswith("-000000000002.jsonl")
