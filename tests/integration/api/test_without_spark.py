"""Deliveries, the consumer in Python and `changes` in this process: values, waits, failures; Spark is not started."""

from __future__ import annotations

import datetime as dt
import json
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typing_extensions import override

import qbcd
from qbcd.api import parts_of
from qbcd.errors import EnvironmentMissing, QbcdError, UnsupportedType
from qbcd.sinks import Sink, SinkBatch
from tests.support import sql
from tests.support.places import over, place_of
from tests.support.project import config, opened, poll

STREAMS = ("mds", "id_rcs")
TABLE = """
CREATE TABLE t (id int PRIMARY KEY, amount decimal(10, 2), day date, at timestamp, note varchar(50));
INSERT INTO t VALUES (1, 1.50, '2024-02-29', '2024-02-29 10:00:00', 'one'), (2, 2.00, NULL, NULL, NULL)
"""
SINKS = {
    "changes": {"type": "jsonl", "path": "out/changes"},
    "lake": {"type": "parquet", "path": "out/lake"},
    "screen": {"type": "console"},
}


def project_of(url: str, folder: Path, *streams: str, **more: Any) -> qbcd.Project:
    engine = more.pop("engine", "auto")
    tables = [{"name": name, "table": "t", "strategy": name, "engine": engine} for name in streams or STREAMS]
    return opened(config(place_of(url).url, *tables, **{"sinks": SINKS, **more}), folder)


def changed(url: str) -> None:
    sql(url, "UPDATE t SET amount = 3.25 WHERE id = 1; DELETE FROM t WHERE id = 2")


@over()
def test_values_and_files_without_spark(database: str, workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql(database, TABLE)
    old = {"id": 2, "amount": Decimal("2.00"), "day": None, "at": None, "note": None}
    with project_of(database, workspace) as project:
        for name in STREAMS:
            project.stream(name).prepare()
        changed(database)
        for name in STREAMS:
            (batch,) = project.stream(name).poll()
            deleted, updated = batch.rows()
            assert (deleted["op"], deleted["before"], deleted["after"]) == ("d", old, None)
            assert updated["changed"] == ["amount"]
            after = updated["after"]
            assert (after["amount"], after["day"]) == (Decimal("3.25"), dt.date(2024, 2, 29))
            assert after["at"].replace(tzinfo=None) == dt.datetime(2024, 2, 29, 10)
            assert updated["source"]["batch_seq"] == batch.seq
            assert isinstance(batch.arrow(), pa.RecordBatchReader)
            assert batch.arrow().read_all().to_pylist() == [deleted, updated]
            ((header, lines),) = project.stream(name).latest()
            assert [json.loads(line)["event_id"] for line in lines] == [deleted["event_id"], updated["event_id"]]
            file = workspace / "out" / "changes" / name / f"{header.epoch}-{header.seq:012d}.jsonl"
            assert file.read_text().splitlines() == lines
            assert len(list((workspace / "out" / "lake" / name).rglob("*.parquet"))) == 1
            assert f"{name}  {header.number}: 1 delete, 1 update" in capsys.readouterr().out
        assert not parts_of(project).spark.started


def test_a_frame_of_pandas(database: str, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sql(database, TABLE)
    with project_of(database, workspace, "mds") as project:
        project.stream("mds").prepare()
        changed(database)
        for batch in project.stream("mds").poll():
            assert batch.to_pandas()["op"].tolist() == ["d", "u"]
            monkeypatch.setattr("qbcd.api.find_spec", lambda name: None)
            with pytest.raises(EnvironmentMissing, match=r"needs the package pandas \(pip install pandas\)"):
                batch.to_pandas()


def test_values_that_were_never_checked_are_refused(database: str, workspace: Path) -> None:
    """A batch that is older than the consumer."""
    sql(database, TABLE)
    jsonl = {"changes": SINKS["changes"]}
    with project_of(database, workspace, sinks=jsonl) as project:
        for name in STREAMS:
            project.stream(name).prepare()
        sql(database, "UPDATE t SET day = 'infinity' WHERE id = 1")
        poll(project)
        for name in STREAMS:
            (batch,) = project.stream(name).poll()
            for read in (batch.arrow, batch.to_pandas, lambda batch=batch: list(batch.rows())):
                with pytest.raises(UnsupportedType, match=r"older than this consumer .* column 'day'.*skip the batch"):
                    read()
        assert not parts_of(project).spark.started


def test_too_little_memory_is_a_failed_delivery(database: str, workspace: Path) -> None:
    sql(database, "CREATE TABLE t (id int PRIMARY KEY, note text); INSERT INTO t VALUES (1, 'one')")
    jsonl = {"changes": SINKS["changes"]}
    with project_of(database, workspace, "mds", sinks=jsonl) as project:
        project.stream("mds").prepare()
        sql(database, "UPDATE t SET note = repeat('x', 12000000)")
    with project_of(database, workspace, "mds", sinks=jsonl, local_memory="8MB", engine="local") as project:
        (outcome,) = project.run(once=True).outcomes
        assert outcome.error is None
        assert outcome.report is not None
        failure = outcome.report.failures["changes"]
        assert str(failure).startswith("stream mds: sink changes: DuckDB ran out of memory: ")
        assert "raise `local_memory`, or set `engine: spark`" in str(failure)
        assert str(failure).endswith("the batch stays pending)")
    with project_of(database, workspace, "mds", sinks=jsonl) as project:
        poll(project)
        assert project.status()[0].pending == {}


class Single(Sink):
    """A sink for one thread at a time."""

    @override
    def check(self) -> None:
        """Accept any configuration."""

    @override
    def write(self, batch: SinkBatch) -> None:
        """Do nothing with the batch."""


@pytest.mark.parametrize("sink", ["concurrent", "single"])
def test_a_delivery_waits_for_spark_only_if_its_sink_needs_that(database: str, workspace: Path, sink: str) -> None:
    sql(database, TABLE)
    with project_of(database, workspace, "mds") as project:
        project.stream("mds").prepare()
        parts = parts_of(project)
        if sink == "single":
            parts._sinks["screen"] = Single("screen")
        changed(database)
        errors: list[QbcdError | None] = []
        poller = threading.Thread(target=lambda: errors.extend(one.error for one in project.run(once=True).outcomes))
        with parts.spark.turn():  # as a poll of another thread that uses Spark
            parts.spark.await_turn()
            poller.start()
            poller.join(60 if sink == "concurrent" else 1)
            assert poller.is_alive() == (sink == "single")
        poller.join()
        assert errors == [None]
        assert project.status()[0].pending == {}
