"""Sinks `delta` and `iceberg` in a real S3 server: drawn batches, two writers, kills, a store that is away."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from qbcd.common import hooks
from qbcd.errors import DeliveryError
from qbcd.sinks.lake.lake_sink import LakeSink
from tests.support.killing import DyingProcesses, die
from tests.support.lake_batches import keyed, lake_batches, overtaken
from tests.support.s3_server import S3Server, s3_server
from tests.support.table_batches import State

pytestmark = pytest.mark.campaign
KINDS = ("delta", "iceberg")


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with s3_server() as running:
        running.make_bucket("lake")
        yield running


@pytest.fixture(autouse=True)
def no_hooks() -> Iterator[None]:
    yield
    hooks.register("mid_publish", None)


def delta_options(s3: S3Server) -> dict[str, str]:
    own = s3.storage
    keys = {"AWS_ACCESS_KEY_ID": own["access_key"], "AWS_SECRET_ACCESS_KEY": own["secret_key"]}
    return {**keys, "AWS_ENDPOINT_URL": s3.endpoint, "AWS_REGION": own["region"], "AWS_ALLOW_HTTP": "true"}


def catalog(s3: S3Server, folder: Path) -> dict[str, str]:
    own = s3.storage
    keys = {"s3.access-key-id": own["access_key"], "s3.secret-access-key": own["secret_key"]}
    place = {"s3.endpoint": s3.endpoint, "s3.region": own["region"], "warehouse": f"s3://lake/{folder.name}"}
    return {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", **place, **keys}


def sink_of(kind: str, s3: S3Server, folder: Path, **options: Any) -> LakeSink:
    from qbcd.sinks.lake.delta import DeltaSink
    from qbcd.sinks.lake.iceberg import IcebergSink

    if kind == "delta":
        return DeltaSink("copy", f"s3://lake/{folder.name}", delta_options(s3), **options)
    return IcebergSink("copy", catalog(s3, folder), **options)


def table_of(kind: str, s3: S3Server, folder: Path, name: str = "public_orders") -> Any:
    from deltalake import DeltaTable
    from pyiceberg.catalog import load_catalog

    if kind == "delta":
        return DeltaTable(f"s3://lake/{folder.name}/{name}", storage_options=delta_options(s3))
    return load_catalog("default", **catalog(s3, folder)).load_table(("qbcd", name))


def rows_of(kind: str, table: Any) -> list[Any]:
    found = table.to_pyarrow_table() if kind == "delta" else table.scan().to_arrow()
    rows: list[Any] = found.to_pylist()
    return rows


def numbers(kind: str, table: Any) -> list[int]:
    """Return the numbers of the batches by the commits, oldest first."""
    if kind == "delta":
        return [int(one["qbcd.batch_seq"]) for one in reversed(table.history()) if "qbcd.batch_seq" in one]
    found = [int(one.summary.additional_properties["qbcd.batch_seq"]) for one in table.snapshots()]
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("mode", ["mirror", "scd2", "log"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_bucket_has_the_rows(kind: str, mode: str, s3: S3Server, tmp_path: Path) -> None:
    sink, events, rows = sink_of(kind, s3, tmp_path, mode=mode), 0, State()
    sink.check()
    left = fs.FileSelector(f"lake/{tmp_path.name}", recursive=True, allow_not_found=True)
    assert s3.client().get_file_info(left) == []
    for batch, state in lake_batches(3, 12):
        sink.write(batch)
        sink.write(batch)
        events, rows = events + len(batch.made), state
    table = table_of(kind, s3, tmp_path)
    found = rows_of(kind, table)
    if mode == "log":
        assert len({row["qbcd_event_id"] for row in found}) == len(found) == events
    else:
        assert keyed([row for row in found if row.get("valid_to") is None]) == rows
    assert numbers(kind, table) == list(range(1, 13))


@pytest.mark.parametrize("kind", KINDS)
def test_of_two_writers_at_once_one_applies_the_batch(kind: str, s3: S3Server, tmp_path: Path) -> None:
    (first, _), (second, rows) = lake_batches(4, 2)
    overtaken(sink_of(kind, s3, tmp_path), sink_of(kind, s3, tmp_path), first, second)
    table = table_of(kind, s3, tmp_path)
    assert keyed(rows_of(kind, table)) == rows
    assert numbers(kind, table) == [1, 2]


def write_all(kind: str, endpoint: str, folder: str, kill_at: int) -> None:
    """Write the batches; be killed while number `kill_at` is on its way."""
    sink = sink_of(kind, S3Server(endpoint), Path(folder))
    for batch, _ in lake_batches(8, 6):
        if batch.header.seq == kill_at:
            hooks.register("mid_publish", die)
        try:
            sink.write(batch)
        except DeliveryError as error:
            assert "later than" in error.what  # the process before had it


@pytest.mark.parametrize("kind", KINDS)
def test_killed_writers_leave_each_batch_once(kind: str, s3: S3Server, tmp_path: Path) -> None:
    writers = DyingProcesses()
    for kill_at in (1, 3, 4, 6, 0):
        assert writers.run(write_all, kind, s3.endpoint, str(tmp_path), kill_at) == bool(kill_at)
    table = table_of(kind, s3, tmp_path)
    *_, (_, rows) = lake_batches(8, 6)
    assert keyed(rows_of(kind, table)) == rows
    assert numbers(kind, table) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_that_is_away_is_named_soon(kind: str, tmp_path: Path) -> None:
    ((batch, _),) = lake_batches(4, 1)
    sink, begun = sink_of(kind, S3Server("http://127.0.0.1:9"), tmp_path), time.monotonic()
    for step in (sink.check, lambda: sink.write(batch)):
        with pytest.raises(DeliveryError) as raised:
            step()
        assert "s3cr/et" not in str(raised.value)
    assert time.monotonic() - begun < 120
