"""Acknowledgements against a real source: new and removed sinks, Python consumers, history.

No rows travel.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from typing_extensions import override

import qbcd
from qbcd.api import parts_of
from qbcd.errors import ConfigError, DeliveryError, GuardTripped, Refused, SourceError, StateConflict, UnsupportedType
from qbcd.polling.outcome import Outcome
from qbcd.sinks import Sink, SinkBatch
from qbcd.state import ProjectState
from tests.support import sql
from tests.support.cli import Cli
from tests.support.project import config, opened

TABLE = "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t SELECT i, 'old' FROM generate_series(1, 10) i"


class Kept(Sink):
    """A sink that keeps the numbers of its batches, or raises a given error."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.seen: list[int] = []
        self.error: Exception | None = None

    @override
    def check(self) -> None:
        """Accept any configuration."""

    @override
    def write(self, batch: SinkBatch) -> None:
        if self.error:
            raise self.error
        self.seen.append(batch.header.seq)


class Shop:
    """Stream `s` over table `t`, opened repeatedly with other sinks."""

    def __init__(self, url: str, folder: Path, **table: Any) -> None:
        self.url, self.folder, self.table = url, folder, table
        self.a, self.b = Kept("a"), Kept("b")
        sql(url, TABLE)

    def data(self, *sinks: str) -> dict[str, Any]:
        table = {"name": "s", "table": "public.t", "strategy": "mds", "sinks": list(sinks), **self.table}
        return config(self.url, table, sinks={"a": {"type": "console"}, "b": {"type": "console"}})

    @contextmanager
    def open(self, *sinks: str) -> Iterator[qbcd.Project]:
        with opened(self.data(*sinks), self.folder) as project:
            parts_of(project)._sinks.update(a=self.a, b=self.b)
            yield project

    def change(self) -> None:
        sql(self.url, "UPDATE t SET v = v || '+' WHERE id = 1")


@pytest.fixture
def shop(database: str, workspace: Path) -> Shop:
    return Shop(database, workspace)


def poll(project: qbcd.Project, **options: Any) -> Outcome:
    (outcome,) = project.run(once=True, **options).outcomes
    return outcome


def changed(shop: Shop, project: qbcd.Project) -> Outcome:
    """Poll and return the outcome, which must have changes; raise errors."""
    shop.change()
    outcome = poll(project)
    if outcome.error:
        raise outcome.error
    assert outcome.report is not None
    assert outcome.report.header is not None
    return outcome


def warnings(outcome: Outcome) -> list[str]:
    assert outcome.report is not None
    return outcome.report.warnings


def acks(project: qbcd.Project) -> dict[str, tuple[int, bool]]:
    """Return by sink the batch number, and True if that batch was delivered."""
    return {sink: (ack.seq, bool(ack.fingerprint)) for sink, ack in parts_of(project).state.acknowledged("s").items()}


def kept(project: qbcd.Project) -> list[int]:
    return [header.seq for header in parts_of(project).open_stream("s").site.context.batches()]


def pending(project: qbcd.Project) -> dict[str, int]:
    return dict(project.status()[0].pending)


# -- sinks that are added ----------------------------------------------------------------------------------------------
def test_a_new_sink_is_enrolled_by_a_poll_that_finds_nothing(shop: Shop) -> None:
    with shop.open("a") as project:
        project.stream("s").prepare()
        assert acks(project) == {"a": (0, False)}
        changed(shop, project)
    with shop.open("a", "b") as project:
        poll(project)
        assert acks(project) == {"a": (1, True), "b": (1, False)}
        assert pending(project) == {}
        changed(shop, project)
        assert (shop.a.seen, shop.b.seen) == ([1, 2], [2])
        assert acks(project) == {"a": (2, True), "b": (2, True)}


def test_a_new_sink_that_fails_from_its_first_batch_on_loses_none(shop: Shop) -> None:
    shop.table["retain"] = "0s"
    with shop.open("a") as project:
        project.stream("s").prepare()
        changed(shop, project)
    shop.b.error = DeliveryError("sink b: is down")
    with shop.open("a", "b") as project:
        for _ in range(3):
            changed(shop, project)
        assert pending(project) == {"b": 3}
        assert kept(project) == [2, 3, 4]
        with pytest.raises(Refused, match="3 batches are not delivered to every sink"):
            project.stream("s").reset()
        shop.b.error = None
        poll(project)
        assert (shop.b.seen, kept(project), pending(project)) == ([2, 3, 4], [], {})


def test_a_baseline_of_events_reaches_the_sinks_that_are_there(shop: Shop) -> None:
    shop.table["baseline"] = "events"
    with shop.open("a") as project:
        project.stream("s").prepare()
        assert shop.a.seen == [1]
        assert acks(project) == {"a": (1, True)}


def test_without_sinks_everything_is_delivered(shop: Shop) -> None:
    shop.table["retain"] = "0s"
    with shop.open() as project:
        project.stream("s").prepare()
        changed(shop, project)
        poll(project)
        assert (kept(project), acks(project)) == ([], {})


# -- sinks that are removed --------------------------------------------------------------------------------------------
def test_a_removed_sink_keeps_its_batches_until_it_is_retired(shop: Shop) -> None:
    shop.table["retain"] = "0s"
    with shop.open("a", "b") as project:
        project.stream("s").prepare()
        changed(shop, project)
    with shop.open("a") as project:
        warning = "sink b is no longer configured; {} for it: add it again, or qbcd retire s b"
        assert warning.format("1 batch waits") in warnings(changed(shop, project))
        assert warning.format("2 batches wait") in warnings(changed(shop, project))
        assert (kept(project), pending(project)) == ([2, 3], {"b": 2})
        with pytest.raises(ConfigError, match="sink 'a' is still configured"):
            project.stream("s").retire("a")
        with pytest.raises(ConfigError, match=r"has no sink 'c' \(sinks that can be retired: b\)"):
            project.stream("s").retire("c")
        assert project.stream("s").retire("b") == 2
        assert warnings(poll(project)) == []
        assert (kept(project), acks(project)) == ([], {"a": (3, True)})
    with shop.open("a", "b") as project:  # once more a new sink
        changed(shop, project)
        assert shop.b.seen == [1, 4]


def test_a_sink_that_is_put_back_gets_what_it_missed(shop: Shop) -> None:
    with shop.open("a", "b") as project:
        project.stream("s").prepare()
        changed(shop, project)
    with shop.open("a") as project:
        changed(shop, project)
        changed(shop, project)
    with shop.open("a", "b") as project:
        changed(shop, project)
        assert (shop.a.seen, shop.b.seen) == ([1, 2, 3, 4], [1, 2, 3, 4])


@pytest.mark.parametrize("described", [True, False])
def test_a_sink_that_may_be_put_back_has_to_take_what_waits_for_it(shop: Shop, described: bool) -> None:
    """A change that the sink could not hold, or may not be able to hold, is not found.

    It would block the sink for ever.
    """
    sql(shop.url, "ALTER TABLE t ADD d date")
    shop.b.typed = True
    with shop.open("a", "b") as project:
        project.stream("s").prepare()
    data = shop.data("a")
    if not described:
        del data["sinks"]["b"]
        data["defaults"]["sinks"] = ["a"]
    with opened(data, shop.folder) as project:
        parts_of(project)._sinks.update(a=shop.a, **({"b": shop.b} if described else {}))
        sql(shop.url, "UPDATE t SET d = 'infinity' WHERE id = 1")
        error = poll(project).error
        assert isinstance(error, UnsupportedType)
        assert "sink b, which is no longer configured, may be one and may be added again (qbcd retire" in str(error)
        project.stream("s").retire("b")
        assert poll(project).report is not None
        assert shop.a.seen == [1]


def test_retire_on_the_command_line(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with shop.open("a", "b") as project:
        project.stream("s").prepare()
    with shop.open("a") as project:
        changed(shop, project)
    (shop.folder / "qbcd.yaml").write_text(yaml.safe_dump(shop.data("a")))
    monkeypatch.chdir(shop.folder)
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    cli = Cli(capsys)
    assert "sink b is no longer configured; 1 batch waits" in cli("run", "--once").err
    assert cli("retire", "s", "a", "--yes").code == 2
    asked = cli("retire", "s", "b")
    assert (asked.code, "nothing was changed" in asked.err) == (1, True)
    assert cli("retire", "s", "b").code == 2  # no stream of this name is left
    assert cli("retire", "s", "b", "--yes").out == "s: sink b is retired; 1 batch waited for it\n"
    assert "no longer" not in cli("run", "--once").err
    assert cli("retire", "s", "b", "--yes", "--json").code == 2


# -- a consumer in Python ----------------------------------------------------------------------------------------------
def numbers(project: qbcd.Project) -> list[int]:
    return [batch.seq for batch in project.stream("s").poll()]


def test_a_consumer_that_is_retired_in_its_own_loop_stays_so(shop: Shop) -> None:
    with shop.open() as project:
        project.stream("s").prepare()
        assert numbers(project) == []
        changed(shop, project)
        changed(shop, project)
        for batch in project.stream("s").poll():
            assert batch.seq == 1
            project.stream("s").retire("python")
        assert acks(project) == {}


def test_python_begins_with_the_stored_batches(shop: Shop) -> None:
    shop.table["baseline"] = "events"
    with shop.open("a") as project:
        project.stream("s").prepare()
        changed(shop, project)
        shop.change()
        assert numbers(project) == [1, 2, 3]
        assert numbers(project) == []


def test_an_empty_poll_registers_python_which_keeps_batches_until_retired(shop: Shop) -> None:
    shop.table["retain"] = "0s"
    with shop.open("a") as project:
        project.stream("s").prepare()
        assert numbers(project) == []
        assert acks(project)["python"] == (0, False)
        changed(shop, project)
        changed(shop, project)
        assert (kept(project), pending(project)) == ([1, 2], {"python": 2})
        assert next(project.stream("s").poll()).seq == 1  # not acknowledged: the next one was not requested
        assert numbers(project) == [1, 2]
        assert project.stream("s").retire("python") == 0
        changed(shop, project)
        assert (kept(project), set(acks(project))) == ([], {"a"})


def test_python_gets_staged_batches_before_a_refusal_is_raised(shop: Shop) -> None:
    shop.table["guards"] = {"max_delete_fraction": 0.1}
    with shop.open("a") as project:
        project.stream("s").prepare()
        changed(shop, project)
        sql(shop.url, "DELETE FROM t WHERE id > 5")
        found: list[int] = []
        with pytest.raises(GuardTripped):
            take(project, found)
        assert found == [1]
        assert acks(project)["python"] == (1, True)
        sql(shop.url, "DROP TABLE t")  # the poll fails now; no batch waits
        with pytest.raises(Refused):
            numbers(project)


def take(project: qbcd.Project, found: list[int]) -> None:
    for batch in project.stream("s").poll():
        found.append(batch.seq)


def test_python_gets_nothing_of_a_site_that_went_back(shop: Shop) -> None:
    with shop.open("a") as project:
        project.stream("s").prepare()
        assert numbers(project) == []
        changed(shop, project)
        parts_of(project).state.enroll("s", "ahead", project.status()[0].epoch, 9)
        with pytest.raises(StateConflict, match="the state does not match sink 'ahead'"):
            next(project.stream("s").poll())


# -- history of polls -------------------------------------------------------------------------------------------------
def test_a_history_that_cannot_be_written_ends_nothing(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(self: ProjectState, *args: Any) -> int:
        raise SourceError("the state is busy")

    with shop.open("a") as project:
        project.stream("s").prepare()
        monkeypatch.setattr(ProjectState, "record_run", fails)
        with caplog.at_level(logging.WARNING, "qbcd"):
            changed(shop, project)
            sql(shop.url, "ALTER TABLE t RENAME TO gone")
            assert poll(project).error is not None
        assert shop.a.seen == [1]
        assert caplog.text.count("this poll is missing in the history: the state is busy") == 2


def test_a_sink_that_raises_anything_stops_only_itself(shop: Shop) -> None:
    with shop.open("a", "b") as project:
        project.stream("s").prepare()
        shop.a.error = ValueError("no such topic\nand more")
        outcome = changed(shop, project)
        assert outcome.report is not None
        failure = outcome.report.failures["a"]
        assert isinstance(failure, DeliveryError)
        assert isinstance(failure.__cause__, ValueError)
        assert "sink a: ValueError: no such topic" in str(failure)
        assert "and more" not in str(failure)
        assert (shop.b.seen, pending(project)) == ([1], {"a": 1})
        assert parts_of(project).state.runs("s")[0].outcome == "failed"
        shop.a.error = None
        poll(project)
        assert shop.a.seen == [1]


def test_confirmed_refusals_are_in_the_history(shop: Shop) -> None:
    shop.table["guards"] = {"max_delete_fraction": 0.1}
    with shop.open("a") as project:
        project.stream("s").prepare()
        sql(shop.url, "DELETE FROM t WHERE id > 5")
        assert isinstance(poll(project).error, GuardTripped)
        poll(project, accept_deletes=True)
        run = parts_of(project).state.runs("s")[0]
        assert run.outcome == "ok"
        assert "deletes were accepted" in run.message
        changed(shop, project)
        assert parts_of(project).state.runs("s")[0].message == ""


# -- plans -------------------------------------------------------------------------------------------------------------
@pytest.mark.campaign
def test_mds_refuses_a_table_that_its_outbox_cannot_mirror(shop: Shop) -> None:
    columns = ", ".join(f"c{i} int" for i in range(796))
    sql(shop.url, f"CREATE TABLE wide (id int PRIMARY KEY, {columns})")
    shop.table.update(table="public.wide", strategy={"type": "ts", "timestamp": "c0", "replica": "spark"})
    with shop.open("a") as project:
        found = " ".join(finding.message for finding in project.check())
        assert "outbox" not in found, "a lake replica has none"
    shop.table.update(strategy="mds")
    what = "797 captured columns need an outbox of 1602 columns, and a table of PostgreSQL has 1600 at most"
    with shop.open("a") as project:
        with pytest.raises(Refused, match=what):
            project.stream("s").prepare()
        assert what in " ".join(finding.message for finding in project.check())
        assert sql(shop.url, "SELECT to_regnamespace('qbcd')") == [(None,)]
    shop.table.update(exclude=["c0"])
    with shop.open("a") as project:
        project.stream("s").prepare()
        sql(shop.url, "INSERT INTO wide (id) VALUES (1)")
        poll(project)
        assert shop.a.seen == [1]
