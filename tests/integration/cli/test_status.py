"""The state of a stream: its lag by this machine's clock, and the process that works on it."""

from __future__ import annotations

from pathlib import Path
from time import time as clock

import pytest

from qbcd.api import parts_of
from qbcd.errors import GuardTripped, LeaseHeld
from qbcd.status import StreamStatus, stream_status
from tests.support.pausing import at
from tests.support.places import Place, over
from tests.support.project import config, opened, poll

AHEAD = 3600.0  # seconds by which the clock of `prepare` is ahead of this one


@over(elsewhere=[])
def test_the_lag_grows_though_the_stream_was_prepared_in_the_future(
    place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, n integer)")
    place.insert("t", [(i, 0) for i in range(4)])
    guards = {"max_delete_fraction": 0.5, "allow_empty": False}
    data = config(place.url, {"name": "s", "table": place.table("t"), "strategy": "mds", "guards": guards})
    with opened(data, workspace) as project:
        project.stream("s").prepare()
        monkeypatch.setattr("qbcd.polling.outcome.time.time", lambda: clock() - AHEAD)
        poll(project)
        place.sql("DELETE FROM t")
        with pytest.raises(GuardTripped):
            poll(project)
        now = clock() - AHEAD + 60
        status = stream_status(parts_of(project).open_stream("s"), now)
        assert status.epoch > now
        assert status.lag == pytest.approx(60, abs=30)  # since the poll without changes


@over(elsewhere=[])
def test_a_stream_that_is_worked_on_shows_since_when(place: Place, workspace: Path) -> None:
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, n integer)")
    data = config(place.url, {"name": "s", "table": place.table("t"), "strategy": "mds"})
    preparing: list[StreamStatus] = []

    def now() -> StreamStatus:
        with opened(data, workspace) as project:
            return project.status()[0]

    with opened(data, workspace) as project:
        began = clock()
        with at("after_lease", lambda: preparing.append(now())):
            project.stream("s").prepare()
        poll(project)
        before = now()
        with parts_of(project).open_stream("s").site.context.hold():
            with opened(data, workspace) as other, pytest.raises(LeaseHeld):
                poll(other)
            busy = now()
        after = now()
    assert [(s.prepared, s.polling, s.state) for s in (preparing[0], before, busy, after)] == [
        (False, True, "not prepared"),
        (True, False, "ok"),
        (True, True, "ok"),
        (True, False, "ok"),
    ]
    assert preparing[0].polling_since is not None
    assert busy.polling_since is not None
    assert began - 0.1 <= preparing[0].polling_since < busy.polling_since <= clock()
    assert before.last_poll == after.last_poll  # the poll that could not begin does not count
