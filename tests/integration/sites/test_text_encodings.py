"""Databases of another encoding than UTF-8: text without a Unicode form, which no sink can take.

Such text is refused before its batch is committed; a batch that an earlier version committed can be skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import qbcd
from qbcd.errors import ConfigError, QbcdError, Undeliverable, UnsupportedType
from qbcd.sites import base as sites
from qbcd.sites.database import commit
from qbcd.status import StreamStatus
from tests.support.cli import Cli
from tests.support.oracle import batches
from tests.support.places import Place, place_of
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BAD = {"SQL_ASCII": "E'caf\\xe9'", "WIN1252": "chr(129)"}  # neither has a meaning in Unicode
MDS = {"name": "s", "table": "public.t", "strategy": "mds", "baseline": "silent"}


@pytest.fixture
def encoded(database: str, request: pytest.FixtureRequest) -> Iterator[Place]:
    """A database in the encoding of the parameter, with a table `t`."""
    server = place_of(database)
    place = server.at(f"{server.name}_e")
    server.sql(
        f"CREATE DATABASE {place.name} TEMPLATE template0 ENCODING '{request.param}' LOCALE 'C' LOCALE_PROVIDER libc"
    )
    try:
        place.sql(
            "CREATE TABLE t (id int PRIMARY KEY, v text, n int, j jsonb); INSERT INTO t VALUES (1, 'a'), (2, 'b')"
        )
        yield place
    finally:
        place.drop()


def project_of(place: Place, folder: Path, spark: SparkSession | None = None, **table: Any) -> qbcd.Project:
    """Return a project of one stream; without `spark`, it has no sink, so that polls need no Spark."""
    data = config(place.url, {**MDS, **({} if spark else {"sinks": []}), **table})
    return opened(data, folder, spark)


def status_of(project: qbcd.Project) -> StreamStatus:
    """Return the status of the project's only stream."""
    return project.status()[0]


def prepared_by_an_earlier_version(project: qbcd.Project, patched: pytest.MonkeyPatch) -> None:
    """Prepare a stream without the check of the encoding."""
    with patched.context() as before:
        before.setattr(sites, "unknown_encoding", lambda *args: None)
        project.stream("s").prepare()


@pytest.mark.parametrize("encoded", ["SQL_ASCII"], indirect=True)
@pytest.mark.parametrize("strategy", ["mds", pytest.param("id_rcs", marks=pytest.mark.campaign)])
def test_a_database_without_an_encoding(strategy: str, encoded: Place, workspace: Path) -> None:
    words = r"column 'v' holds text, and the database has no encoding \(SQL_ASCII\)"
    with project_of(encoded, workspace, strategy=strategy) as project:
        errors = [finding.error for finding in project.check() if finding.error and finding.stream]
        assert [type(error) for error in errors] == [UnsupportedType]
        with pytest.raises(UnsupportedType, match=words) as refused:
            project.stream("s").prepare()
        assert """convert_to("v", 'SQL_ASCII') AS "v\"""" in refused.value.remedy
    assert encoded.sql("SELECT 1 FROM pg_namespace WHERE nspname = 'qbcd'") == []
    encoded.sql("""CREATE VIEW seen AS SELECT id, convert_to("v", 'SQL_ASCII') AS "v" FROM t""")
    tables: list[dict[str, Any]] = [{"columns": ["n"]}, {"table": "public.seen", "key": ["id"], "strategy": "mds"}]
    for table in tables:
        with project_of(encoded, workspace, None, **{"strategy": strategy, **table}) as project:
            assert not [finding for finding in project.check() if finding.error and finding.stream]


@pytest.mark.parametrize("encoded", BAD, indirect=True)
@pytest.mark.parametrize("place_of_text", ["v", pytest.param("j", marks=pytest.mark.campaign)])
def test_text_without_a_unicode_form_is_refused_before_the_commit(
    place_of_text: str, encoded: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoding = encoded.sql("SHOW server_encoding")[0][0]
    bad = BAD[encoding] if place_of_text == "v" else f"to_jsonb(({BAD[encoding]})::text)"
    with project_of(encoded, workspace) as project:
        prepared_by_an_earlier_version(project, monkeypatch)
        encoded.sql("INSERT INTO t SELECT i, 'new' FROM generate_series(3, 9) AS i")
        encoded.sql(f"UPDATE t SET {place_of_text} = {bad} WHERE id IN (6, 8)")
        with pytest.raises(UnsupportedType) as refused:
            poll(project, "s")
        where = f"in the row with key (id) = (6); the database's encoding is {encoding}"
        assert refused.value.what == f"column '{place_of_text}' holds text without a Unicode form {where}"
        assert status_of(project).batches == 0
        encoded.sql(f"UPDATE t SET {place_of_text} = NULL WHERE id IN (6, 8)")
        [outcome] = poll(project, "s")
        assert outcome.report and outcome.report.counts == {"c": 7}
        assert not outcome.report.cost.spark  # without a sink nothing needs it


# The remedy of the refusal, and a baseline with events.
@pytest.mark.campaign
@pytest.mark.parametrize("encoded", BAD, indirect=True)
def test_an_excluded_column_and_a_baseline(encoded: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoding = encoded.sql("SHOW server_encoding")[0][0]
    with project_of(encoded, workspace) as project:
        prepared_by_an_earlier_version(project, monkeypatch)
        encoded.sql(f"UPDATE t SET v = {BAD[encoding]}, n = 1 WHERE id = 2")
        with pytest.raises(UnsupportedType, match=r"\(id\) = \(2\)"):
            poll(project, "s")
    with project_of(encoded, workspace, exclude=["v"]) as project:
        [outcome] = poll(project, "s")
        assert outcome.report and outcome.report.counts == {"u": 1}
        project.stream("s").reset()
    monkeypatch.setattr(sites, "unknown_encoding", lambda *args: None)
    again = project_of(encoded, workspace, baseline="events")
    with again, pytest.raises(UnsupportedType, match=r"column 'v' .* \(id\) = \(2\)"):
        again.stream("s").prepare()


# A batch that an earlier version committed: one sink cannot take it, polls go on, and it can be skipped.
@pytest.mark.campaign
@pytest.mark.parametrize("encoded", BAD, indirect=True)
def test_a_batch_that_no_sink_can_take(
    encoded: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoding = encoded.sql("SHOW server_encoding")[0][0]
    with project_of(encoded, workspace, spark) as project:
        prepared_by_an_earlier_version(project, monkeypatch)
        stream = project.stream("s")
        encoded.sql(f"UPDATE t SET v = {BAD[encoding]} WHERE id = 2")
        with (
            monkeypatch.context() as before,
            pytest.raises(Undeliverable, match=r"changes: batch \d+/1 cannot be read"),
        ):
            before.setattr(commit, "check_text", lambda *args: None)
            poll(project, "s")
        encoded.sql("UPDATE t SET v = 'A' WHERE id = 1")
        with pytest.raises(Undeliverable) as refused:
            poll(project, "s")
        number = f"{status_of(project).epoch}/1"
        assert refused.value.exit_code == 3
        assert "the next poll tries again" not in str(refused.value)
        assert f"qbcd skip s changes --batch {number} passes over it" in refused.value.remedy
        assert stream.skip("changes", number).size == 1
        poll(project, "s")
        assert [name for name, _ in batches(workspace / "out/changes", "s")] == [f"{number[:-2]}-000000000002.jsonl"]
        assert [one.seq for one in status_of(project).skipped] == [1]


# Without Spark: the sink's folder cannot be made.
def test_skip(
    place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place.sql("CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    monkeypatch.chdir(workspace)
    data = config(place.url, MDS)
    (workspace / "qbcd.yaml").write_text(str(data))
    cli = Cli(capsys)
    with opened(data, workspace) as project:
        stream = project.stream("s")
        stream.prepare()
        with pytest.raises(ConfigError, match="no batch waits for sink changes"):
            stream.skip("changes", "1/1")
        (workspace / "out").write_text("no folder")
        for n in (1, 2):
            place.sql(f"UPDATE t SET v = v || '{n}'")
            with pytest.raises(QbcdError, match="changes"):
                poll(project, "s")
        epoch = status_of(project).epoch
        with pytest.raises(ConfigError, match=r"has no sink 'other' \(its sinks: changes\)"):
            stream.skip("other", f"{epoch}/1")
        wrong = cli("skip", "s", "changes", "--batch", f"{epoch}/2", "--yes")
        assert wrong.code == 2
        assert f"the next batch of sink changes is {epoch}/1, not {epoch}/2" in wrong.err
        done = cli("skip", "s", "changes", "--batch", f"{epoch}/1", "--yes")
        assert done.out == f"s: batch {epoch}/1 is skipped; 2 events are missing in changes\n"
        assert cli("skip", "s", "changes", "--batch", f"{epoch}/2", "--yes").code == 2  # it has not failed itself
        status = status_of(project)
        assert [(one.sink, one.epoch, one.seq, one.events) for one in status.skipped] == [("changes", epoch, 1, 2)]
        assert status.pending == {"changes": 1}
        assert "skipped" in cli("status", "s").out
        [shown] = cli("status", "s", "--json").data["streams"]
        assert shown["skipped"][0]["batch_seq"] == 1
