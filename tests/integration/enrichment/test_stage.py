"""Added fields are computed once per batch, stored, and the same for every sink and reader, also after a kill."""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from typing_extensions import override

import qbcd
from qbcd.api import parts_of
from qbcd.common import hooks
from qbcd.delivery.batches import open_batch
from qbcd.enrichment import BatchToEnrich, Enricher, Enrichment, SelectingEnricher
from qbcd.errors import LocalFailed, StateConflict
from qbcd.model import Travel
from qbcd.run import prepare_stream, run_stream
from qbcd.sinks import SinkBatch
from qbcd.status import latest_events
from qbcd.stream import Report, Stream
from tests.support.places import Place, over, place_of
from tests.support.project import config, opened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SINKS = {
    "all": {"type": "jsonl", "path": "out/all"},
    "typed": {"type": "parquet", "path": "out/typed"},
    "some": {"type": "jsonl", "path": "out/some"},
}
POINTS = ("before_enrichment", "enrichment_written", "after_enrichment", "before_publish", "mid_publish")
SHOWN = ("enrichment_written", "after_enrichment")  # outside of a campaign
_RUNS = itertools.count(1)


class Tags(SelectingEnricher):
    """Lists the number of this evaluation and the key, for even keys."""

    field = "tags"
    travel = Travel("array", element=Travel("text"))

    @override
    def values(self, batch: BatchToEnrich) -> Iterator[pa.Array]:
        run = next(_RUNS)
        for piece in batch.events():
            ids = [key["id"] for key in piece.column("key").to_pylist()]
            yield pa.array([json.dumps([f"{run}:{one}"] if one % 2 == 0 else []) for one in ids])

    @override
    def chosen(self, batch: BatchToEnrich, digests: Collection[str]) -> Iterator[pa.Array]:
        yield from self.values(batch)


class Names(Enricher):
    """Gives an object for some keys, in pieces of one event."""

    field = "names"
    travel = Travel("text")

    @override
    def values(self, batch: BatchToEnrich) -> Iterator[pa.Array]:
        for piece in batch.events():
            for key in piece.column("key").to_pylist():
                yield pa.array(['{"name":"Zoë"}' if key["id"] < 3 else None], pa.string())


def stream_of(project: qbcd.Project) -> Stream:
    stream = parts_of(project).open_stream("s")
    return replace(stream, enrichment=Enrichment(stream.site, [Tags(), Names()], frozenset(["some"])))


def polled(project: qbcd.Project) -> Report:
    report = Report("s")
    run_stream(stream_of(project), report)
    for failure in report.failures.values():
        raise failure
    return report


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted(folder.rglob("*.jsonl")) for line in file.read_text().splitlines()]


def prepared(place: Place, strategy: str, workspace: Path) -> dict[str, Any]:
    place.sql("CREATE TABLE s (id integer PRIMARY KEY, v varchar(20)); INSERT INTO s VALUES (1, 'a'), (2, 'b')")
    data = config(place.url, {"name": "s", "table": "s", "strategy": strategy}, sinks=SINKS)
    with opened(data, workspace) as project:
        prepare_stream(stream_of(project))
    return data


@over("strategy", ["mds", "id_rcs"], elsewhere=["id_rcs"])
def test_every_reader_has_the_same_values(strategy: str, place: Place, workspace: Path) -> None:
    data = prepared(place, strategy, workspace)
    with opened(data, workspace) as project:
        polled(project)
        place.sql("UPDATE s SET v = 'c'; INSERT INTO s VALUES (3, 'n'), (4, 'n')")
        assert polled(project).counts == {"c": 2, "u": 2}
        stream = stream_of(project)
        [(header, shown)] = latest_events(stream, 10)
        with open_batch(stream, header) as batch:
            typed = batch.arrow().read_all()
        fresh = stream_of(project).enrichment
        assert fresh is not None
        assert fresh.view(header).path is not None, "also in a process that has read no result yet"
    everything = lines(workspace / "out/all")
    assert [list(event)[-2:] for event in everything] == [["tags", "names"]] * 4
    assert [json.loads(line) for line in shown] == everything
    tags = {event["key"]["id"]: event["tags"] for event in everything}
    assert {key: [one.partition(":")[2] for one in found] for key, found in tags.items()} == {
        1: [],
        2: ["2"],
        3: [],
        4: ["4"],
    }
    assert {event["key"]["id"]: event["names"] for event in everything} == {
        1: {"name": "Zoë"},
        2: {"name": "Zoë"},
        3: None,
        4: None,
    }
    some = lines(workspace / "out/some")
    assert some == [event for event in everything if event["tags"]], "with the same event ids"
    [file] = (workspace / "out/typed").rglob("*.parquet")
    rows = parquet.read_table(file, partitioning=None).to_pylist()
    assert rows == typed.to_pylist()
    assert {row["key"]["id"]: row["tags"] for row in rows} == tags
    assert [row["names"] for row in rows if row["key"]["id"] == 1] == ['{"name":"Zoë"}']


@pytest.mark.parametrize(
    "point", [pytest.param(one, marks=() if one in SHOWN else pytest.mark.campaign) for one in POINTS]
)
def test_killed_between(point: str, place: Place, workspace: Path) -> None:
    data = prepared(place, "id_rcs", workspace)
    place.sql("UPDATE s SET v = 'c'")

    def die() -> None:
        raise KeyboardInterrupt

    hooks.register(point, die)
    try:
        with pytest.raises(KeyboardInterrupt), opened(data, workspace) as project:
            polled(project)
    finally:
        hooks.register(point, None)
    with opened(data, workspace) as project:
        before = latest_events(stream_of(project), 10)
        assert len(before) == (point not in POINTS[:2]), "a batch without its fields is shown to nobody"
        place.sql("UPDATE s SET v = 'd'")
        polled(project)
        polled(project)
        shown = [json.loads(line) for _, some in latest_events(stream_of(project), 10) for line in some]
    everything = lines(workspace / "out/all")
    assert [event["after"]["v"] for event in everything] == ["c", "c", "d", "d"]
    assert shown == everything
    assert [json.loads(line) for _, some in before for line in some] == everything[: 2 * len(before)]
    assert lines(workspace / "out/some") == [event for event in everything if event["tags"]]
    files = [path.name for path in (workspace / ".qbcd/enriched").rglob("*.parquet")]
    assert len(files) == 2, "that of each batch, and no attempt"


def test_a_changed_file_is_refused(place: Place, workspace: Path) -> None:
    data = prepared(place, "id_rcs", workspace)
    place.sql("UPDATE s SET v = 'c'")
    with opened(data, workspace) as project:
        polled(project)
        [path] = (workspace / ".qbcd/enriched").rglob("*.parquet")
        path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(StateConflict, match="was changed"):
            latest_events(stream_of(project), 10)
        path.unlink()
        with pytest.raises(StateConflict, match="cannot be read"):
            latest_events(stream_of(project), 10)


class Surplus(Names):
    """Gives one value more than there are events."""

    @override
    def values(self, batch: BatchToEnrich) -> Iterator[pa.Array]:
        yield from super().values(batch)
        yield pa.array(["{}"], pa.string())


def test_values_without_an_event_are_refused(place: Place, workspace: Path) -> None:
    """Others could then belong to the wrong event."""
    data = prepared(place, "id_rcs", workspace)
    place.sql("UPDATE s SET v = 'c'")
    with opened(data, workspace) as project:
        stream = parts_of(project).open_stream("s")
        stream = replace(stream, enrichment=Enrichment(stream.site, [Surplus()]))
        with pytest.raises(LocalFailed, match="more values than the batch has events"):
            run_stream(stream, Report("s"))


PASSES_OVER = ("spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles")


@pytest.mark.campaign
def test_spark_gives_the_same_values(database: str, workspace: Path, spark: SparkSession) -> None:
    place = place_of(database)
    data = prepared(place, "id_rcs", workspace)
    place.sql("UPDATE s SET v = 'c'; INSERT INTO s VALUES (3, 'n'), (4, 'n')")
    with opened(data, workspace, spark) as project:
        polled(project)
        stream = stream_of(project)
        for sink in ("", "some"):
            [header] = stream.site.context.batches()
            assert stream.enrichment is not None
            view = stream.enrichment.view(header, sink)
            with open_batch(stream, header) as batch:
                local = SinkBatch(
                    view.header,
                    partial(view.frame, partial(stream.site.staged, header), stream.site.context.spark),
                    None,
                )
                lines = [row.line for row in local.lines.orderBy("ordinal").collect()]
                rows = {row.event_id: row.asDict(recursive=True) for row in local.events.collect()}
                typed = batch.arrow().read_all().to_pylist()
            shown = [line for _, some in latest_events(stream, 10) for line in some]
            wanted = [line for line in shown if not sink or json.loads(line)["tags"]]
            assert lines == wanted
            assert rows == {row["event_id"]: row for row in typed if not sink or row["tags"]}
        # a session may pass over files that are missing: events without their values would be none
        for setting in PASSES_OVER:
            spark.conf.set(setting, "true")
        try:
            read = view.frame(partial(stream.site.staged, header), stream.site.context.spark)
            assert view.path is not None
            view.path.unlink()
            with pytest.raises(Exception, match="does not exist"):
                read.collect()
        finally:
            for setting in PASSES_OVER:
                spark.conf.unset(setting)
