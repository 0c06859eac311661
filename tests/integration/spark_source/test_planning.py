"""Plans of a Spark read, without a JVM: offsets, refusals, changed columns, replica rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import StructType

from qbcd.common import hooks
from qbcd.errors import ConfigError, NotBuilt, QbcdError, SchemaChanged, StateConflict
from qbcd.spark_source.executor import Rows, read_rows
from qbcd.spark_source.fitness import examine
from qbcd.spark_source.options import options_of
from qbcd.spark_source.planned import load, plan_batch
from qbcd.spark_source.source import STREAM_READER, QbcdDataSource
from qbcd.spark_source.streaming import Follower
from tests.support.places import Place
from tests.support.project import config, opened, poll
from tests.support.spark_reads import as_counter, change_rows

TABLE = "CREATE TABLE t (id bigint PRIMARY KEY, v text, n integer)"


class Reads:
    """A project with stream `s`, read as Spark's Python processes read it."""

    def __init__(self, place: Place, folder: Path, **table: Any) -> None:
        self.place, self.folder = place, folder
        self.data = config(place.url, {"name": "s", "table": place.table("t"), "strategy": "id_rcs", **table})
        self.write()

    def write(self) -> None:
        self.file = self.folder / "qbcd.yaml"
        self.file.write_text(json.dumps(self.data), encoding="utf-8")

    def poll(self) -> None:
        with opened(self.data, self.folder) as project:
            poll(project, "s")

    def options(self, **given: str) -> Any:
        return options_of({"config": str(self.file), "path": "s", **given})

    def rows(self, **given: str) -> list[dict[str, Any]]:
        options = self.options(**given)
        return rows_of(plan_batch(options, load(options), ()))

    def follower(self, **given: str) -> Follower:
        options = self.options(consumer="etl", **given)
        return Follower(options, load(options))


def rows_of(planned: list[Rows]) -> list[dict[str, Any]]:
    return [row for part in planned for piece in read_rows(part) for row in piece.to_pylist()]


@pytest.fixture
def reads(place: Place, tmp_path: Path) -> Iterator[Reads]:
    place.sql(TABLE)
    place.insert("t", [(i, f"v{i}", i) for i in range(1, 101)])
    made = Reads(place, tmp_path)
    with opened(made.data, tmp_path) as project:
        project.stream("s").prepare()
    yield made


@pytest.mark.parametrize("polls", [2, pytest.param(9, marks=pytest.mark.campaign)])
def test_replica_rows_are_the_rows_of_the_source(polls: int, reads: Reads) -> None:
    for n in range(polls):
        assert sorted((r["id"], r["v"], r["n"]) for r in reads.rows(rows="replica")) == reads.place.sql(
            "SELECT id, v, n FROM t ORDER BY id"
        )
        reads.place.sql(
            f"DELETE FROM t WHERE id = {n + 1}; UPDATE t SET n = n + 1 WHERE id > {50 + n};"
            f"INSERT INTO t VALUES ({200 + n}, 'new', NULL)"
        )
        reads.poll()
    rows = reads.rows(rows="replica", columns="n,id")
    assert {tuple(r) for r in rows} == {("n", "id", "_commit_version")}
    assert {r["_commit_version"] for r in rows} == {polls}


def test_a_schema_change_stops_the_query_before_its_rows(reads: Reads) -> None:
    follower = reads.follower()
    start = follower.begin()
    reads.place.sql("UPDATE t SET n = 0 WHERE id = 1")
    reads.poll()
    reads.place.sql("ALTER TABLE t ADD more text")
    reads.data["tables"][0]["columns"] = ["v", "n", "more"]
    reads.write()
    reads.poll()
    reads.place.sql("UPDATE t SET more = 'x' WHERE id = 2")
    reads.poll()
    end = follower.latest(start)
    assert end["seq"] == start["seq"] + 1  # the batch before the change
    assert [r["id"] for r in rows_of(follower.plan(start, end))] == [1, 1]
    with pytest.raises(SchemaChanged, match="restart the query"):
        follower.latest(end)
    follower.close()
    restarted = reads.follower()
    last = restarted.latest(end)
    images = rows_of(restarted.plan(start, last))  # the batch that was not committed comes again
    assert [(r["id"], r["more"]) for r in images] == [(1, None), (1, None), (2, None), (2, "x")]
    restarted.close()


def test_offsets_keep_batches_and_refuse_what_does_not_follow(reads: Reads) -> None:
    for n in range(5):
        reads.place.sql(f"UPDATE t SET n = {-n - 1} WHERE id <= {n + 1}")
        reads.poll()
    follower = reads.follower(maxRowsPerTrigger="7")
    start = follower.begin()
    ends = []
    while (end := follower.latest(start, 7)) != start:
        ends.append(end["seq"] - start["seq"])
        start = end
    assert ends == [2, 1, 1, 1]  # of 2, 4, 6, 8 and 10 change rows: whole batches, at least one
    assert follower.latest(start, 7) == start
    follower.close()
    with pytest.raises(StateConflict, match="new checkpoint"):
        reads.follower().begin()
    other = reads.follower(startingVersion="3")
    assert other.begin()["seq"] == 2
    other.close()
    with opened(reads.data, reads.folder) as project:
        status = project.status("s")[0]
        assert status.pending == {"spark:etl": 3}
        assert not [w for o in poll(project, "s") if o.report for w in o.report.warnings]
        project.stream("s").reset(discard=True)
        project.stream("s").prepare()
    late = reads.follower()
    with pytest.raises(StateConflict, match="was reset"):
        late.latest(start)
    late.close()
    reads.place.sql("DELETE FROM t WHERE id = 3")
    reads.poll()
    assert [r["_change_type"] for r in reads.rows()] == ["delete"]
    with pytest.raises(StateConflict, match="versions 2 to 5 are not there"):
        reads.rows(startingVersion="2")


def test_versions_of_which_none_is_left_are_refused(reads: Reads) -> None:
    reads.data["tables"][0]["retain"] = "0s"
    reads.write()
    for n in range(2):
        reads.place.sql(f"UPDATE t SET n = {-n - 1} WHERE id = 1")
        reads.poll()
    reads.poll()
    assert reads.rows() == reads.rows(startingVersion="3") == []
    for given, missing in (({}, "1 to 2"), ({"endingVersion": "1"}, "1 to 1")):
        with pytest.raises(StateConflict, match=f"versions {missing} are not there: the next version is 3"):
            reads.rows(startingVersion="1", **given)


def test_latest_is_the_same_version_until_the_first_batch_is_done(reads: Reads) -> None:
    follower = reads.follower(startingVersion="latest")
    start = follower.begin()
    reads.place.sql("UPDATE t SET n = 0 WHERE id = 1")
    reads.poll()
    end = follower.latest(start)
    assert follower.begin() == start  # Spark asks again when it plans, and after a restart
    follower.close()
    restarted = reads.follower(startingVersion="latest")
    assert restarted.begin() == start
    assert [r["id"] for r in rows_of(restarted.plan(start, end))] == [1, 1]
    restarted.acknowledge(end)
    reads.poll()
    assert restarted.begin() == end  # another checkpoint begins now
    restarted.close()


def test_a_version_after_the_next_one_is_refused_and_polls_go_on(reads: Reads) -> None:
    follower = reads.follower(startingVersion="3")
    with pytest.raises(ConfigError, match="startingVersion is 3, but the next version is 1"):
        follower.begin()
    follower.close()
    reads.place.sql("DELETE FROM t WHERE id = 1")
    reads.poll()
    after = reads.follower(startingVersion="2")
    assert after.begin()["seq"] == 1
    after.close()


def test_change_rows_are_those_of_the_iterator_in_both_wings(reads: Reads) -> None:
    reads.data["tables"].append({**reads.data["tables"][0], "name": "m", "strategy": "mds"})
    reads.write()
    with opened(reads.data, reads.folder) as project:
        project.stream("m").prepare()
        for name in ("s", "m"):
            list(project.stream(name).poll())
        reads.place.sql("UPDATE t SET v = NULL WHERE id < 5; DELETE FROM t WHERE id > 90; INSERT INTO t VALUES (-1)")
        for name in ("s", "m"):
            events = [e for batch in project.stream(name).poll() for e in batch.rows()]
            expected = change_rows(events, ["id", "v", "n"])
            for _ in range(2):  # the second time from the files that the first one wrote
                assert as_counter(reads.rows(path=name), ["id", "v", "n"]) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"path": "nothing"}, "nothing"),
        ({"path": "app.*"}, "is a pattern"),
        ({"columns": "idd"}, "did you mean"),
        ({"config": "missing.yaml"}, "missing.yaml"),
        ({"rows": "replica", "path": "m"}, "in the source"),
    ],
)
def test_what_cannot_be_read_is_refused_with_words(reads: Reads, given: dict[str, str], words: str) -> None:
    reads.data["tables"].append({**reads.data["tables"][0], "name": "m", "strategy": "mds"})
    reads.write()
    with opened(reads.data, reads.folder) as project:
        project.stream("m").prepare()
    with pytest.raises(QbcdError, match=words):
        reads.rows(**given)


@pytest.mark.parametrize(("given", "words"), [({}, "option consumer"), ({"rows": "replica"}, "for batch reads")])
def test_a_stream_refuses_options_at_its_first_offset(reads: Reads, given: dict[str, str], words: str) -> None:
    """Spark hides an error of `streamReader` behind one of its own."""
    source = QbcdDataSource({"config": str(reads.file), "path": "s", **given})
    reader = source.streamReader(source.schema())
    assert isinstance(reader, STREAM_READER)
    with pytest.raises(ConfigError, match=words):
        reader.initialOffset()
    reader.stop()


def test_a_file_removed_after_the_plan_says_load_again(reads: Reads) -> None:
    reads.place.sql("DELETE FROM t WHERE id = 3")
    reads.poll()
    options = reads.options()
    planned = plan_batch(options, load(options), ())
    with opened(reads.data, reads.folder) as project:
        project.stream("s").reset(discard=True)
    with pytest.raises(StateConflict, match="load the stream again"):
        rows_of(planned)


def test_rows_of_the_baseline_alone_are_no_change_rows(reads: Reads) -> None:
    """A join with change rows does not find them; one with the replica does."""
    reads.place.sql("UPDATE t SET n = 0 WHERE id = 1")
    reads.poll()
    assert {r["id"] for r in reads.rows()} == {1}
    assert {r["id"] for r in reads.rows(rows="replica")} == set(range(1, 101))


def test_a_write_is_refused_whatever_its_options(reads: Reads) -> None:
    source = QbcdDataSource({"checkpointLocation": "x", "path": "s"})
    with pytest.raises(NotBuilt, match="writes nothing"):
        source.writer(StructType(), False)
    with pytest.raises(NotBuilt, match="writes nothing"):
        source.streamWriter(StructType(), False)


def test_an_empty_name_of_python_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "")
    found = {one.subject: one for one in examine(tmp_path / "none.yaml", start=False)}
    assert found["workers"].level == "ok"


@pytest.fixture
def enriched(place: Place, tmp_path: Path) -> Reads:
    """A stream with a set, which gets a lookup and subscriptions after its first batch."""
    place.sql("CREATE TABLE customer (no integer PRIMARY KEY, name text); INSERT INTO customer VALUES (1, 'Zoë')")
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, customer integer, tags text[])")
    place.sql("INSERT INTO t VALUES (1, 1, '{a,b}'), (2, 2, '{}'), (3, 1, NULL)")
    made = Reads(place, tmp_path, types={"tags": "set"})
    with opened(made.data, tmp_path) as project:
        project.stream("s").prepare()
        place.sql("UPDATE t SET tags = '{b,c}' WHERE id = 1")
        poll(project, "s")
    made.data["sinks"]["hooks"] = {"type": "jsonl", "path": "out/hooks"}
    made.data["lookups"] = {
        "customer": {"source": "shop", "table": place.table("customer"), "on": {"customer": "no"}, "take": ["name"]}
    }
    made.data["tables"][0]["enrich"] = ["customer"]
    late = {"id": "late", "stream": "s", "condition": "id = 2"}
    made.data["subscriptions"] = {"streams": {"s": "all"}, "deliver": ["hooks"], "inline": [late]}
    made.write()
    return made


def test_change_rows_have_the_fields_of_their_events(enriched: Reads) -> None:
    reads = enriched
    reads.poll()  # the enrichment begins after the first batch
    reads.place.sql("UPDATE t SET tags = '{x}' WHERE id = 2; DELETE FROM t WHERE id = 3")
    reads.poll()
    found = {(r["_commit_version"], r["id"], r["_change_type"]): r for r in reads.rows()}
    fields = ("_elements", "_subscriptions", "_lookup")
    shown = {each: tuple(row[name] for name in fields) for each, row in found.items()}
    first = '{"tags":{"added":["c"],"removed":["a"]}}', None, None
    second = '{"tags":{"added":["x"],"removed":[]}}', ["late"], '{"customer":null}'
    assert shown == {
        (1, 1, "update_preimage"): first,
        (1, 1, "update_postimage"): first,
        (2, 2, "update_preimage"): second,
        (2, 2, "update_postimage"): second,
        (2, 3, "delete"): (None, [], '{"customer":{"name":"Zoë"}}'),
    }
    [one] = reads.rows(columns="_lookup, id", startingVersion="2")[-1:]
    assert list(one) == ["id", "_lookup", "_change_type", "_commit_version", "_commit_timestamp"]
    assert "_lookup" not in reads.rows(columns="id")[0]
    [file] = reads.folder.rglob("enriched/*/*/*.parquet")
    file.write_bytes(b"")
    with pytest.raises(StateConflict, match="was changed"):
        reads.rows()


def test_a_batch_that_waits_for_its_fields_is_not_there_yet(enriched: Reads) -> None:
    reads = enriched
    reads.poll()
    follower = reads.follower()
    start = follower.begin()
    end = follower.latest(start)
    assert end["seq"] == 1

    def die() -> None:
        raise KeyboardInterrupt

    reads.place.sql("UPDATE t SET customer = 1 WHERE id = 2")
    hooks.register("before_enrichment", die)
    try:
        with pytest.raises(KeyboardInterrupt):
            reads.poll()
    finally:
        hooks.register("before_enrichment", None)
    assert {r["_commit_version"] for r in reads.rows()} == {1}
    assert reads.rows(startingVersion="latest") == []
    follower.close()
    follower = reads.follower()
    assert follower.latest(end) == end == follower.newest()
    reads.poll()
    follower.close()
    follower = reads.follower()
    last = follower.latest(end)
    assert last["seq"] == 2
    assert {r["_lookup"] for r in rows_of(follower.plan(end, last))} == {'{"customer":{"name":"Zoë"}}'}
    follower.close()
