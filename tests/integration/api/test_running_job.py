"""Events during a running job.

A Python consumer is registered and retired; a source is unreachable when the job begins.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from typing_extensions import override

import qbcd
from qbcd.api import parts_of
from qbcd.errors import GuardTripped, SourceError, UnsupportedType
from qbcd.polling.outcome import Outcome
from qbcd.sinks import Sink, SinkBatch
from tests.support import sql
from tests.support.places import Place
from tests.support.project import config, opened

TABLE = """
CREATE TABLE t (id int PRIMARY KEY, at timestamptz NOT NULL);
INSERT INTO t SELECT i, now() FROM generate_series(1, 9) AS i
"""


class Kept(Sink):
    """A sink that takes every batch and needs no rows."""

    @override
    def check(self) -> None:
        """Accept any configuration."""

    @override
    def write(self, batch: SinkBatch) -> None:
        """Do nothing with the batch."""


class Script(threading.Event):
    """A stop event that does not wait.

    After every poll it runs the next of `then`, after the last one it stops.
    """

    def __init__(self, *then: Callable[[], object]) -> None:
        super().__init__()
        self.then, self.outcomes = list(then), list[Outcome]()

    @override
    def wait(self, timeout: float | None = None) -> bool:
        return self.is_set()

    def record(self, outcome: Outcome) -> None:
        """Record a poll."""
        self.outcomes.append(outcome)
        if self.then:
            self.then.pop(0)()
        else:
            self.set()


def project_of(url: str, folder: Path, **table: Any) -> qbcd.Project:
    data = config(url, {"name": "s", **table}, sinks={"a": {"type": "console"}})
    project = opened(data, folder)
    parts_of(project)._sinks["a"] = Kept("a")
    return project


def ran(project: qbcd.Project, *then: Callable[[], object], **options: Any) -> list[Outcome]:
    """Return the polls of a job."""
    script = Script(*then)
    project.run(["s"], on_outcome=script.record, stop=script, **options)
    return script.outcomes


def sinks_of(outcome: Outcome) -> tuple[str, ...]:
    """Return the sinks of the batch that a poll found."""
    assert outcome.error is None
    assert outcome.report is not None
    assert outcome.report.header is not None
    return outcome.report.header.sinks


def test_a_python_consumer_that_enrols_and_is_retired_while_a_job_runs(database: str, workspace: Path) -> None:
    """The consumer takes typed events.

    Values without a Spark type are refused as long as it is registered.
    """
    sql(database, TABLE)

    def change(value: str = "now()") -> None:
        sql(database, f"UPDATE t SET at = {value} WHERE id = 1")

    with project_of(database, workspace, table="public.t", strategy="mds") as project:
        project.stream("s").prepare()
        taken: list[int] = []

        def enrolls() -> None:
            taken.extend(batch.seq for batch in project.stream("s").poll())
            change()

        def retires() -> None:
            assert project.stream("s").retire("python") == 1

        change()
        first, second, refused, last = ran(project, enrolls, lambda: change("'infinity'"), retires)
        assert taken == [1]
        assert sinks_of(first) == ("a",)
        assert sinks_of(second) == ("a", "python")
        assert isinstance(refused.error, UnsupportedType)
        assert sinks_of(last) == ("a",)


def test_a_query_whose_source_was_down_when_the_job_began(place: Place, workspace: Path) -> None:
    """Check that a job finds the prepared variant once its source is reachable.

    The source stores the variant. A lifted guard stays lifted until the first poll that succeeds.
    """
    place.sql(TABLE)
    server = place.at("postgres")
    strategy = {"type": "vbd", "timestamps": {"public.t": "at"}, "margin": "1ms", "deletes": {"every": "1ms"}}
    table = {
        "query": "SELECT id, at FROM public.t",
        "key": ["id"],
        "strategy": strategy,
        "guards": {"max_delete_fraction": 0.1},
    }

    def reachable(how: bool) -> None:
        server.sql(f"ALTER DATABASE {place.name} ALLOW_CONNECTIONS {how}")

    with project_of(place.url, workspace, **table) as project:
        project.stream("s").prepare()
        assert parts_of(project).open_stream("s").config.options["variant"] == "delta"
        place.sql("DELETE FROM t WHERE id > 5")
        (tripped,) = project.run(["s"], once=True).outcomes
        assert isinstance(tripped.error, GuardTripped)
    reachable(False)
    with project_of(place.url, workspace, **table) as project:
        assert parts_of(project).open_stream("s").config.options["variant"] != "delta", "a guess"
        polls = ran(project, lambda: None, lambda: reachable(True), accept_deletes=True)
        assert [type(one.error) for one in polls[:2]] == [SourceError, SourceError]
        assert sinks_of(polls[2]) == ("a",)
        assert polls[2].report is not None
        assert polls[2].report.counts == {"d": 4}
