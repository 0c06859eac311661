"""`qbcd resend` and `initial: replica`: a sink that is new or was lost gets the rows of the replica."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyarrow import parquet

import qbcd
from qbcd.api import parts_of
from qbcd.common import hooks
from qbcd.errors import ConfigError, DeliveryError, QbcdError, Refused, SourceError
from qbcd.sites.lake import compaction
from tests.support import wait_until
from tests.support.places import Place, new_place, over, place_of
from tests.support.project import config, opened, poll

LOG = {"log": {"type": "jsonl", "path": "out"}}
MIRROR = {"copy": {"type": "database", "url": "duckdb:///copy.duckdb", "table": "copied"}}
HISTORY = {"history": {"type": "database", "url": "sqlite:///history.db", "mode": "scd2", "table": "kept"}}
FEED = {"feed": {"type": "database", "url": "sqlite:///feed.db", "mode": "log", "table": "fed"}}
CREATE = "CREATE TABLE t (id int PRIMARY KEY, v varchar(20))"
STRATEGIES: dict[str, Any] = {
    "mds": "mds",
    "id": {"type": "id", "rows_per_range": 2},
    "id_rcs": {"type": "id_rcs", "rows_per_range": 2},
}


def data(place: Place, sinks: dict[str, Any], strategy: Any = "mds", **table: Any) -> dict[str, Any]:
    plain = {"name": "s", "table": place.table("t"), "strategy": strategy, "sinks": list(sinks)}
    return config(place.url, {**plain, **table}, sinks=sinks)


def fill(place: Place) -> None:
    place.sql(CREATE)
    place.sql("INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')")


def rows_of(place: Place) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in place.sql("SELECT id, v FROM t"))


def mirrored(folder: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(folder / "copy.duckdb")) as connection:
        return connection.execute("SELECT id, v FROM copied ORDER BY id").fetchall()


def in_mirror(folder: Path, *statements: str) -> None:
    with duckdb.connect(str(folder / "copy.duckdb")) as connection:
        for statement in statements:
            connection.execute(statement)


def in_sqlite(path: Path, query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


@over("strategy", ["mds", "id_rcs", pytest.param("id", marks=pytest.mark.campaign)], elsewhere=[])
def test_new_sinks_get_the_rows_and_then_the_changes(place: Place, strategy: str, workspace: Path) -> None:
    """A mirror, a history and files that are added later; the first sink gets its batches alone."""
    fill(place)
    before = data(place, LOG, STRATEGIES[strategy])
    with opened(before, workspace) as project:
        project.stream("s").prepare()
        place.sql("UPDATE t SET v = 'deux' WHERE id = 2")
        poll(project)
    files = {"files": {"type": "parquet", "path": "files", "initial": "replica"}}
    place.sql("DELETE FROM t WHERE id = 1")
    with opened(data(place, {**LOG, **MIRROR, **HISTORY, **files}, STRATEGIES[strategy]), workspace) as project:
        poll(project)
        assert mirrored(workspace) == rows_of(place) == [(2, "deux"), (3, "three")]
        place.sql("INSERT INTO t VALUES (4, 'four')")
        poll(project)
    assert mirrored(workspace) == rows_of(place)
    kept = in_sqlite(workspace / "history.db", "SELECT id, v, is_deleted, batch_seq FROM kept ORDER BY id, valid_from")
    assert kept == [(1, "one", 1, 1), (2, "deux", 0, 1), (3, "three", 0, 1), (4, "four", 0, 3)]
    sent = parquet.read_table(next((workspace / "files" / "s.resend-1").rglob("*.parquet")), partitioning=None)
    assert sent.column("op").to_pylist() == ["r", "r", "r"]
    assert sorted(row["v"] for row in sent.column("after").to_pylist()) == ["deux", "one", "three"]
    first = sent.to_pylist()[0]
    assert first["event_id"] == f"s:{first['source']['epoch']}:1.resend-1:0"
    assert [path.name[-10:] for path in sorted((workspace / "out" / "s").glob("*.jsonl"))] == [
        f"00000{n}.jsonl"[-10:] for n in (1, 2, 3)
    ]


@pytest.mark.campaign
@pytest.mark.parametrize("strategy", ["mds", pytest.param("id_rcs", marks=pytest.mark.campaign)])
def test_a_lost_mirror_is_filled_between_two_batches(strategy: str, database: str, workspace: Path) -> None:
    """The mirror fails, another sink goes on; the batches that wait for the mirror are in the rows of the replica."""
    place = place_of(database)
    fill(place)
    with opened(data(place, {**LOG, **MIRROR, **HISTORY}, STRATEGIES[strategy]), workspace) as project:
        stream = project.stream("s")
        stream.prepare()
        (workspace / "copy.duckdb").unlink()
        in_mirror(workspace, "CREATE TABLE copied (id int, v text)")
        for value in ("a", "b"):
            place.sql(f"UPDATE t SET v = '{value}' WHERE id = 1")
            with pytest.raises(DeliveryError, match="has no record of batches before"):
                poll(project)
        (workspace / "copy.duckdb").unlink()
        assert stream.resend("copy") == 3
        assert mirrored(workspace) == rows_of(place)
        assert project.status("s")[0].pending == {}
        place.sql("DELETE FROM t WHERE id = 3")
        poll(project)
        assert mirrored(workspace) == rows_of(place)
        kept = in_sqlite(workspace / "history.db", "SELECT count(*), max(batch_seq) FROM kept")
        assert stream.resend("history") == 2
        assert in_sqlite(workspace / "history.db", "SELECT count(*), max(batch_seq) FROM kept") == kept
        assert len(list((workspace / "out" / "s").glob("*.jsonl"))) == 4, "the other sink got batches alone"


@over()
def test_a_mirror_is_filled_from_a_lake_replica_while_the_source_is_away(place: Place, workspace: Path) -> None:
    """The replica is in files: the recorded columns are enough, unless the configuration requests others."""
    fill(place)
    with opened(data(place, LOG, STRATEGIES["id_rcs"]), workspace) as project:
        project.stream("s").prepare()
    away = data(place, {**LOG, **MIRROR}, STRATEGIES["id_rcs"])
    away["sources"]["shop"]["url"] = re.sub(r":\d+/", ":1/", away["sources"]["shop"]["url"])
    with opened(away, workspace) as project:
        assert project.stream("s").resend("copy") == 3
    assert mirrored(workspace) == rows_of(place)
    away["tables"][0]["exclude"] = ["v"]
    with opened(away, workspace) as project, pytest.raises(SourceError, match="refused"):
        project.stream("s").resend("copy")
    place.sql("UPDATE t SET v = 'zwei' WHERE id = 2")
    with opened(data(place, {**LOG, **MIRROR}, STRATEGIES["id_rcs"]), workspace) as project:
        poll(project, "s")
    assert mirrored(workspace) == rows_of(place)


def test_after_a_skipped_batch_a_mirror_asks_for_a_resend(database: str, workspace: Path) -> None:
    place = place_of(database)
    fill(place)
    with opened(data(place, MIRROR), workspace) as project:
        stream = project.stream("s")
        stream.prepare()
        in_mirror(workspace, "ALTER TABLE copied ADD COLUMN w int DEFAULT 1", "ALTER TABLE copied ALTER w SET NOT NULL")
        in_mirror(workspace, "ALTER TABLE copied ALTER w DROP DEFAULT")
        place.sql("UPDATE t SET v = 'x' WHERE id = 1")
        with pytest.raises(DeliveryError):
            poll(project)
        (header,) = [h for h in parts_of(project).open_stream("s").site.context.batches() if h.seq == 2]
        stream.skip("copy", header.number)
        in_mirror(workspace, "ALTER TABLE copied DROP w")
        place.sql("UPDATE t SET v = 'y' WHERE id = 2")
        with pytest.raises(DeliveryError, match="is not the next one") as error:
            poll(project)
        assert "qbcd resend s copy" in error.value.remedy
        assert stream.resend("copy") == 3
        place.sql("UPDATE t SET v = 'z' WHERE id = 3")
        poll(project)
    assert mirrored(workspace) == rows_of(place)


def broken() -> None:
    """End like a process that is killed."""
    raise ZeroDivisionError


@pytest.mark.parametrize("loss", ["batches", pytest.param("table", marks=pytest.mark.campaign), "record"])
@pytest.mark.parametrize("killed", [False, pytest.param(True, marks=pytest.mark.campaign)])
def test_a_log_that_lacks_batches_or_its_table_gets_the_rows(
    loss: str, killed: bool, database: str, workspace: Path
) -> None:
    """The batches that wait are passed over, since the rows have their changes; a part of the rows fills no gap."""
    place = place_of(database)
    fill(place)
    with opened(data(place, {**LOG, **FEED}, baseline="events"), workspace) as project:
        project.stream("s").prepare()
    if loss == "batches":
        with opened(data(place, LOG, baseline="events"), workspace) as project:
            place.sql("UPDATE t SET v = 'x' WHERE id = 1")
            poll(project)
            project.stream("s").retire("feed")
    elif loss == "table":
        in_sqlite(workspace / "feed.db", "DROP TABLE fed")
    else:
        (workspace / "feed.db").unlink()
    with opened(data(place, {**LOG, **FEED}, baseline="events"), workspace) as project:
        stream = project.stream("s")
        place.sql("UPDATE t SET v = 'y' WHERE id = 2")
        message = {"batches": "is not the next one", "table": "is missing, and it had", "record": "has no record of"}
        with pytest.raises(DeliveryError, match=message[loss]) as error:
            poll(project)
        assert "qbcd resend s feed" in error.value.remedy
        with pytest.raises(DeliveryError, match=message[loss]):
            stream.resend("feed", where="id = 1")
        if killed:
            hooks.register("after_publish", broken)
            try:
                with pytest.raises(QbcdError, match="ZeroDivisionError"):
                    stream.resend("feed")
            finally:
                hooks.register("after_publish", None)
            poll(project)
        else:
            assert stream.resend("feed") == 3
        place.sql("DELETE FROM t WHERE id = 3")
        poll(project)
    fed = in_sqlite(workspace / "feed.db", "SELECT id, v, qbcd_op FROM fed ORDER BY rowid")
    rows = [(1, "x" if loss == "batches" else "one", "r"), (2, "y", "r"), (3, "three", "r"), (3, "three", "d")]
    assert fed == [(1, "one", "r"), (2, "two", "r"), (3, "three", "r")] * (loss == "batches") + rows


def test_some_rows_go_to_a_log_and_files(database: str, workspace: Path) -> None:
    """In the SQL of the replica's place; a log gets the batches that wait first, and the same resend once."""
    place = place_of(database)
    fill(place)
    with opened(data(place, {**LOG, **FEED}), workspace) as project:
        stream = project.stream("s")
        stream.prepare()
        assert stream.resend("feed", where="length(v) = 3") == 2
        assert stream.resend("log", where="v SIMILAR TO 't%'") == 2
        place.sql("UPDATE t SET v = 'x' WHERE id = 1")
        poll(project)
    fed = in_sqlite(workspace / "feed.db", "SELECT id, qbcd_op, qbcd_event_id FROM fed ORDER BY rowid")
    epoch = fed[0][2].split(":")[1]
    assert fed == [(1, "r", f"s:{epoch}:0.part-1:0"), (2, "r", f"s:{epoch}:0.part-1:1"), (1, "u", f"s:{epoch}:1:0")]
    (path,) = (workspace / "out" / "s.part-1").glob("*.jsonl")
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert [event["after"]["v"] for event in events] == ["two", "three"]


@pytest.mark.parametrize(
    "strategy",
    ["mds", pytest.param("id_rcs", marks=pytest.mark.campaign), pytest.param("tlcs", marks=pytest.mark.campaign)],
)
def test_after_a_reset_an_empty_source_empties_mirrors(strategy: str, database: str, workspace: Path) -> None:
    """An empty baseline has no batch that would do it."""
    place = place_of(database)
    fill(place)
    with opened(data(place, {**MIRROR, **HISTORY}, strategy), workspace) as project:
        stream = project.stream("s")
        stream.prepare()
        stream.reset()
        place.sql("DELETE FROM t")
        warnings = stream.prepare().warnings
        found = [one for one in warnings if "keeps rows of before until its first batch" in one]
        assert len(found) == (2 if strategy == "tlcs" else 0)  # its replica has no rows to send
        if strategy == "tlcs":
            place.sql("INSERT INTO t VALUES (7, 'seven')")
            poll(project)
    assert mirrored(workspace) == rows_of(place)
    current = in_sqlite(workspace / "history.db", "SELECT id FROM kept WHERE valid_to IS NULL AND NOT is_deleted")
    assert current == [row[:1] for row in rows_of(place)]
    with opened(data(place, {**MIRROR, **HISTORY}, strategy), workspace) as project:
        place.sql("INSERT INTO t VALUES (8, 'eight')")
        poll(project)
    assert mirrored(workspace) == rows_of(place)


def test_resends_after_a_reset_have_folders_of_their_own(database: str, workspace: Path) -> None:
    place = place_of(database)
    fill(place)
    with opened(data(place, LOG), workspace) as project:
        stream = project.stream("s")
        for _ in range(2):
            stream.prepare()
            assert stream.resend("log") == 3
            stream.reset()
    files = sorted(path.parent.name for path in (workspace / "out").glob("s.*/*.jsonl"))
    assert files == ["s.resend-1", "s.resend-2"]


@pytest.mark.parametrize("resent", [False, pytest.param(True, marks=pytest.mark.campaign)])
def test_a_log_in_a_lake_may_be_new_and_not_lost(resent: bool, database: str, workspace: Path) -> None:
    """Its first batch creates the table; after that, or after a resend of rows, a missing table is lost."""
    from deltalake import DeltaTable

    place = place_of(database)
    fill(place)
    with opened(data(place, LOG), workspace) as project:
        project.stream("s").prepare()
        for value in ("x", "y"):
            place.sql(f"UPDATE t SET v = '{value}' WHERE id = 1")
            poll(project)
    lake = {"lake": {"type": "delta", "path": "lake", "mode": "log", "table": "events"}}
    with opened(data(place, {**LOG, **lake}), workspace) as project:
        assert project.stream("s").resend("lake", where="id > 9") == 0
        assert not (workspace / "lake").exists()
        if resent:
            assert project.stream("s").resend("lake", where="id > 1") == 2
        else:
            place.sql("UPDATE t SET v = 'z' WHERE id = 1")
            poll(project)
        rows = DeltaTable(workspace / "lake" / "events").to_pyarrow_table().to_pylist()
        assert sorted(row["id"] for row in rows) == ([2, 3] if resent else [1])
        shutil.rmtree(workspace / "lake")
        place.sql("DELETE FROM t WHERE id = 1")
        with pytest.raises(DeliveryError, match=r"table events does not exist, and batch .* is not the first"):
            poll(project)


def test_a_condition_may_name_a_column_like_a_word_of_ours(database: str, workspace: Path) -> None:
    """`subscriptions >= 2` is a condition, and no request for the rows of new subscriptions."""
    place = place_of(database)
    place.sql("CREATE TABLE t (id int PRIMARY KEY, subscriptions int)")
    place.sql("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
    with opened(data(place, LOG), workspace) as project:
        stream = project.stream("s")
        stream.prepare()
        assert stream.resend("log", where="subscriptions >= 2") == 2
        assert stream.resend("log", where="subscriptions >= 2 AND id > 2") == 1
        with pytest.raises(QbcdError, match="semicolon"):
            stream.resend("log", where=";subscriptions 2")
        poll(project)


def test_a_request_that_fails_holds_up_its_sink_alone(database: str, workspace: Path) -> None:
    """Its batches wait until the rows have come; the other sink goes on."""
    place = place_of(database)
    fill(place)
    with opened(data(place, {**LOG, **FEED}), workspace) as project:
        stream, state = project.stream("s"), parts_of(project).state
        stream.prepare()
        state.request_resend("s", "log", "id > 'one'")
        place.sql("UPDATE t SET v = 'x' WHERE id = 1")
        with pytest.raises(DeliveryError, match="invalid input syntax") as error:
            poll(project)
        assert "qbcd resend s log" in error.value.remedy
        assert not (workspace / "out").exists()
        assert in_sqlite(workspace / "feed.db", "SELECT qbcd_op FROM fed") == [("u",)]
        assert stream.resend("log") == 3
        assert len(list((workspace / "out" / "s").glob("*.jsonl"))) == 1
        assert state.resends("s") == {}


@pytest.mark.campaign
def test_a_mirror_cannot_be_without_the_rows(database: str, workspace: Path) -> None:
    """A resend that fails is skipped for logs only; a batch that waits is another one."""
    place = place_of(database)
    fill(place)
    with opened(data(place, LOG), workspace) as project:
        project.stream("s").prepare()
    lost = {"copy": {**MIRROR["copy"], "url": "duckdb:///missing/copy.duckdb"}}
    with opened(data(place, {**LOG, **lost}), workspace) as project:
        with pytest.raises(DeliveryError):
            poll(project)
        place.sql("UPDATE t SET v = 'x' WHERE id = 1")
        with pytest.raises(DeliveryError):
            poll(project)
        with pytest.raises(ConfigError, match="shows all rows of the stream, and would lack"):
            project.stream("s").skip("copy", "1/1.resend-1")
        with pytest.raises(ConfigError, match=r"the next batch of sink copy is .*/1, not 1/1.resend-2"):
            project.stream("s").skip("copy", "1/1.resend-2")


@pytest.mark.parametrize(
    ("sink", "where", "what"),
    [
        ("copy", "id > 1", "shows all rows of the stream"),
        ("nothing", "", "has no sink 'nothing'"),
        ("python", "", "the consumer in Python gets no resends"),
        ("log", "id > 1; DROP TABLE t", "holds a semicolon"),
        ("log", "id IN (SELECT id FROM public.t)", "--where has a query"),
        ("log", "nr > 1", "--where has the column nr"),
        ("log", "id > 'one'", "invalid input syntax"),
    ],
)
def test_a_resend_that_cannot_be_is_refused_and_leaves_no_request(
    sink: str, where: str, what: str, prepared: qbcd.Project
) -> None:
    with pytest.raises(QbcdError, match=what):
        prepared.stream("s").resend(sink, where)
    assert prepared.status("s")[0].resends == {}


@pytest.fixture(scope="module")
def prepared(server: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[qbcd.Project]:
    """A stream with a mirror and files, for what changes nothing."""
    with new_place(server, "postgresql") as place:
        fill(place)
        with opened(data(place, {**LOG, **MIRROR}), tmp_path_factory.mktemp("resend")) as project:
            project.stream("s").prepare()
            yield project


@pytest.mark.parametrize(
    ("strategy", "what"),
    [
        ({"type": "id_rcs", "replica": "digest"}, "its replica keeps digests"),
        pytest.param("tlcs", "its replica keeps digests", marks=pytest.mark.campaign),
        pytest.param(
            {"type": "ts", "timestamp": "at", "replica": "none"}, "it keeps no replica", marks=pytest.mark.campaign
        ),
    ],
)
def test_without_rows_in_the_replica_a_mirror_is_refused(
    strategy: Any, what: str, database: str, workspace: Path
) -> None:
    place = place_of(database)
    place.sql("CREATE TABLE t (id int PRIMARY KEY, v varchar(20), at timestamptz NOT NULL DEFAULT now())")
    with opened(data(place, LOG, strategy), workspace) as project:
        project.stream("s").prepare()
        with pytest.raises(Refused, match=what):
            project.stream("s").resend("log")
    with opened(data(place, {**LOG, **MIRROR}, strategy), workspace) as project:
        (outcome,) = project.run(once=True).outcomes
        assert what in str(outcome.error)
        assert "qbcd reset s" in str(outcome.error)
        assert any(what in finding.message for finding in project.check("s"))
        assert "copy" not in parts_of(project).state.acknowledged("s")


def test_the_captured_table_is_not_read(server: Any, database: str, workspace: Path) -> None:
    """The server's statement log has the replica, and never the table."""
    place = place_of(database)
    place.sql("CREATE TABLE secret_rows (id int PRIMARY KEY, v varchar(20)); INSERT INTO secret_rows VALUES (1, 'one')")
    for strategy, read in (("mds", "replica_"), ("id_rcs", "pg_")):
        folder = workspace / strategy
        shown = data(place, LOG, strategy, table=place.table("secret_rows"), name=f"s_{strategy}")
        with opened(shown, folder) as project:
            project.stream(f"s_{strategy}").prepare()
        place.sql(f"ALTER DATABASE {place.name} SET log_statement = 'all'")
        began = (server.directory / "log").stat().st_size
        with opened(shown, folder) as project:
            assert project.stream(f"s_{strategy}").resend("log") == 1
        with (server.directory / "log").open("rb") as log:
            log.seek(began)
            statements = log.read().decode()
        place.sql(f"ALTER DATABASE {place.name} RESET log_statement")
        assert read in statements
        assert not re.search(r'"?public"?\s*\.\s*"?secret_rows', statements), "only the catalog is asked about it"


def test_a_poll_that_has_the_stream_lets_the_resend_wait(database: str, workspace: Path) -> None:
    """The request is stored while a poll is in its transaction; its batches wait for the rows, and nothing is lost."""
    place = place_of(database)
    fill(place)
    with (
        opened(data(place, {**LOG, **MIRROR}), workspace) as project,
        opened(data(place, {**LOG, **MIRROR}), workspace) as other,
    ):
        project.stream("s").prepare()
        (workspace / "copy.duckdb").unlink()
        place.sql("INSERT INTO t VALUES (4, 'four')")
        sending = threading.Thread(target=lambda: other.stream("s").resend("copy"))

        def request() -> None:
            hooks.register("before_commit", None)
            sending.start()
            wait_until(lambda: bool(parts_of(other).state.resends("s")), what="the request")

        hooks.register("before_commit", request)
        [outcome] = poll(project)
        assert outcome.report is not None
        assert outcome.report.pending["copy"] == 1
        sending.join(30)
        assert mirrored(workspace) == rows_of(place)
        place.sql("DELETE FROM t WHERE id = 1")
        poll(project)
        assert mirrored(workspace) == rows_of(place)


FLAGGED = {"timestamp": "at", "delete_flag": "gone", "margin": "1ms"}
OTHERS: dict[str, dict[str, Any]] = {
    "ts": {"strategy": {"type": "ts", "timestamp": "at", "margin": "1ms"}, "columns": ["v"]},
    "ts in the lake": {"strategy": {"type": "ts", "timestamp": "at", "margin": "1ms", "replica": "spark"}},
    "tdi": {"strategy": {"type": "tdi", **FLAGGED}, "columns": ["v"]},
    "atdi": {"strategy": {"type": "atdi", **FLAGGED, "create_index": True}, "columns": ["v"]},
    "restricted": {"strategy": "id_rcs", "where": "v <> 'two'"},
    "compare": {"strategy": {"type": "vbd", "variant": "compare"}},
    "delta": {"strategy": {"type": "vbd", "variant": "delta"}},
    "checksum": {"strategy": {"type": "vbd", "variant": "checksum"}},
}


@pytest.mark.campaign
@over("name", list(OTHERS), without={"mysql": ["delta"]})
def test_every_replica_with_rows_fills_a_mirror(place: Place, name: str, workspace: Path) -> None:
    flag, clock = ("boolean", "timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)")
    if place.kind == "postgresql":
        clock = "timestamptz NOT NULL DEFAULT clock_timestamp()"
    place.sql(f"CREATE TABLE t (id int PRIMARY KEY, v varchar(20), at {clock}, gone {flag} NOT NULL DEFAULT false)")
    place.sql("INSERT INTO t (id, v) VALUES (1, 'one'), (2, 'two'), (3, 'three')")
    stream = {"name": "s", "table": place.table("t"), **OTHERS[name]}
    if "timestamp" in stream["strategy"] and place.kind != "postgresql":
        stream["strategy"] = {**stream["strategy"], "lag": "2ms"}  # open transactions are not all visible there
    if "variant" in stream["strategy"]:
        del stream["table"]
        stream |= {"query": f"SELECT id, v FROM {place.table('t')}", "key": ["id"]}

    def described(sinks: dict[str, Any]) -> dict[str, Any]:
        return config(place.url, {**stream, "sinks": list(sinks)}, sinks=sinks)

    def source() -> list[tuple[Any, ...]]:
        where = "v <> 'two'" if "where" in stream else "NOT gone"
        return sorted(tuple(row) for row in place.sql(f"SELECT id, v FROM t WHERE {where}"))

    with opened(described(LOG), workspace) as project:
        project.stream("s").prepare()
        now = "clock_timestamp()" if place.kind == "postgresql" else "CURRENT_TIMESTAMP(6)"
        place.sql(f"UPDATE t SET v = 'new', at = {now} WHERE id = 1")
        place.sql(f"INSERT INTO t (id, v, at) VALUES (4, 'four', {now})")
        if name in ("tdi", "atdi"):
            place.sql(f"UPDATE t SET gone = true, at = {now} WHERE id = 3")
        wait_until(lambda: _polled(project), what="all changes")
    with opened(described({**LOG, **MIRROR}), workspace) as project:
        poll(project)
        assert mirrored(workspace) == source()
        place.sql(f"UPDATE t SET v = 'last', at = {now} WHERE id = 4")
        wait_until(lambda: bool(poll(project)) and mirrored(workspace) == source(), what="the last change")


def _polled(project: qbcd.Project) -> bool:
    """Poll; return True once a poll finds nothing, after the watermark has passed the changes."""
    poll(project)
    (outcome,) = poll(project)
    found = sum(project.status("s")[0].events.values())
    return found >= 2 and outcome.report is not None and outcome.report.header is None


@pytest.mark.campaign
@pytest.mark.parametrize(("strategy", "later"), [("mds", "local"), ("id_rcs", "local"), ("id_rcs", "spark")])
def test_each_attempt_numbers_the_rows_equally(
    strategy: str, later: str, database: str, workspace: Path, request: pytest.FixtureRequest
) -> None:
    """A poll between the attempts merges ranges into others, and another engine reads them."""
    place = place_of(database)
    place.sql(CREATE)
    place.sql("INSERT INTO t SELECT i, 'v' FROM generate_series(1, 300) i")
    options = {"type": strategy, "rows_per_range": 20} if strategy == "id_rcs" else strategy
    spark = request.getfixturevalue("spark") if later == "spark" else None
    ranges = []
    with opened(data(place, LOG, options), workspace) as project:
        project.stream("s").prepare()
        place.sql("DELETE FROM t WHERE id % 10 < 8 AND id < 250 AND id > 30")
        poll(project)
        assert project.stream("s").resend("log") == 125
        ranges.append(ranges_of(project))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compaction, "COMPACT_BATCHES", 1)
        with opened(data(place, LOG, options, engine=later), workspace, spark) as project:
            poll(project)
            ranges.append(ranges_of(project))
            project.stream("s").resend("log")
    first, second = (
        [(one["event_id"].rpartition(":")[2], one["after"]) for one in files_of(workspace / "out" / f"s.resend-{n}")]
        for n in (1, 2)
    )
    assert len(first) == 125
    assert first == second
    assert strategy == "mds" or ranges[0] != ranges[1]


def ranges_of(project: qbcd.Project) -> set[int]:
    """Return the ids of the ranges of the replica."""
    context = parts_of(project).open_stream("s").site.context
    with context.reading() as conn:
        return {one.range_id for one in context.store.ranges(conn, "s")} if context.kind == "lake" else set()


def files_of(folder: Path) -> list[dict[str, Any]]:
    """Return the events of a folder in the order of its lines."""
    return [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()]
