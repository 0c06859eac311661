"""Options changed after prepare: some take effect, fixed ones are refused."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from qbcd.errors import QbcdError
from tests.support.places import Place, over
from tests.support.watched_polls import Watched, stamped


@over(elsewhere=[])
def test_a_sweep_begun_later_finds_deleted_rows(place: Place, workspace: Path) -> None:
    with Watched(place, workspace, {"s": stamped(place, "ts")}).fill() as seen:
        seen.delete(5)
        assert seen.poll() == []
        seen.reconfigure("s", deletes={"every": "1ms"})
        assert seen.ops() == [[(5, "d")]]
        seen.check()
        seen.delete(6)
        seen.reconfigure("s", deletes=None)
        assert seen.poll() == []
        assert 6 in seen.copies["s"]


def test_only_the_option_deletes_is_fixed(place: Place, workspace: Path) -> None:
    ways = {"s": stamped(place, "ts"), "only": stamped(place, "ts", deletes="only")}
    with Watched(place, workspace, ways).fill() as seen:
        seen.reconfigure("s", deletes="only")
        seen.reconfigure("only", deletes={"every": "1h"})
        for name in ways:
            with pytest.raises(
                QbcdError, match=r"strategy\.deletes is fixed at prepare, and was changed in the configuration since"
            ):
                seen.poll(name)


@over(elsewhere=[])
def test_a_purge_begun_later(place: Place, workspace: Path) -> None:
    """Rows that were reported before the purge began stay; those of later polls are purged."""
    with Watched(place, workspace, {"s": stamped(place, "tdi")}).fill() as seen:
        seen.flag(5)
        assert seen.ops() == [[(5, "d")]]
        seen.reconfigure("s", purge=True)
        assert seen.poll() == []
        seen.flag(6)
        assert seen.ops() == [[(6, "d")]]
        assert seen.poll() == []
        assert (seen.there(5), seen.there(6)) == (True, False)
        seen.check()


def test_a_poll_after_a_job_that_was_stopped(place: Place, workspace: Path) -> None:
    with Watched(place, workspace, {"s": {"type": "id", "rows_per_range": 4}}).fill() as seen:
        stop = threading.Event()
        stop.set()
        seen.project.run(["s"], stop=stop)
        seen.run("UPDATE t SET v = 'changed' WHERE id = 3")
        list(seen.project.stream("s").poll())
        assert [[(e.key, e.op) for e in batch] for batch in seen.fresh()] == [[(3, "u")]]
