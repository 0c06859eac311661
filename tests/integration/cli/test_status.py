"""The lag of a stream, measured by the clock of this machine.

The clock of the host that prepared the stream does not count.
"""

from __future__ import annotations

from pathlib import Path
from time import time as clock

import pytest

from qbcd.api import assembly_of
from qbcd.errors import GuardTripped
from qbcd.status import stream_status
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
        monkeypatch.setattr("qbcd.job.time.time", lambda: clock() - AHEAD)
        poll(project)
        place.sql("DELETE FROM t")
        with pytest.raises(GuardTripped):
            poll(project)
        now = clock() - AHEAD + 60
        status = stream_status(assembly_of(project).open_stream("s"), now)
        assert status.epoch > now
        assert status.lag == pytest.approx(60, abs=30)  # since the poll without changes
