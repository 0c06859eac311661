"""Random tables that grow and shrink, with small ranges and polls stopped half way.

Replay is exact. Ranges are split and merged meanwhile.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

import qbcd
from qbcd.api import parts_of
from qbcd.common import hooks
from qbcd.errors import Refused
from qbcd.sites.database import range_poll
from qbcd.state import StoredRange
from tests.support.captured_tables import Captured, prepare, reproducible
from tests.support.drawn_tables import draw_tables
from tests.support.places import Place, over
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = 4
ROUNDS = 10
FIRST_STEP = 8.0  # rows: a pass has many steps, the later ones of several ranges


@pytest.fixture(autouse=True)
def _short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(range_poll, "FIRST_ROWS", FIRST_STEP)


class Ranges:
    """The key ranges of a stream: they cover all keys, count its rows, and never repeat an id."""

    def __init__(self, project: qbcd.Project, one: Captured) -> None:
        (stream,) = one.streams
        self.one, self.site = one, parts_of(project).open_stream(stream["name"]).site
        self.ids: set[int] = set()
        self.seen: Counter[str] = Counter()

    def _known(self) -> list[StoredRange]:
        with self.site.context.reading() as conn:
            return self.site.context.store.ranges(conn, self.site.context.stream)

    @property
    def is_open(self) -> bool:
        """Return True if the outbox has events without a batch number."""
        row = self.site.context.row()
        return row is not None and bool(row.checkpoint.get("open"))

    def check(self) -> None:
        """Check the ranges after a whole pass."""
        known = self._known()
        now = {r.range_id for r in known}
        edges = [edge for r in known for edge in (r.lo, r.hi)]
        assert edges[0] is None
        assert edges[-1] is None
        assert edges[1:-1:2] == edges[2:-1:2], "each begins where the one before ends"
        assert len(now) == len(known)
        assert now - self.ids == {n for n in now if n > max(self.ids, default=0)}, "an id came again"
        where = f"WHERE ({self.one.table.where})" if self.one.table.where else ""
        ((rows,),) = self.one.table.place.sql(f"SELECT count(*) FROM {self.one.table.quoted} {where}")
        assert sum(r.rows for r in known) == rows
        self.seen["cut or joined"] += len(self.ids - now)
        self.ids |= now


def stopped(project: qbcd.Project, ranges: Ranges, nth: int) -> bool:
    """Poll up to the `nth` commit; return True if the poll had as many."""

    def stop() -> None:
        nonlocal nth
        nth -= 1
        if nth == 0:
            raise Refused("stopped by the test")

    hooks.register("after_commit", stop)
    try:
        poll(project, ranges.site.context.stream)
    except Refused:
        ranges.seen["stopped"] += 1
        ranges.seen["open"] += ranges.is_open
        return True
    finally:
        hooks.register("after_commit", None)
    return False


def change(rng: Random, one: Captured) -> None:
    """Grow or shrink the table, or change a few rows."""
    kind = rng.choice(["grow", "grow", "thin", "empty", "act"])
    if kind == "grow":
        one.history.fill(rng.choice([10, 40]))
    elif kind == "thin":
        one.history.thin()
    elif kind == "empty":
        one.history.empty()
    one.history.act(rng.choice([1, 6, 12]))


def one_round(rng: Random, project: qbcd.Project, one: Captured, ranges: Ranges) -> None:
    """Make changes and poll; at random, stop the poll while the table goes on changing."""
    (stream,) = one.streams
    change(rng, one)
    halted = rng.random() < 0.5 and stopped(project, ranges, rng.randint(1, 4))
    if halted:
        change(rng, one)
        poll(project, stream["name"])  # the open batch, and the rest of the pass that was begun
    poll(project, stream["name"])
    one.check(at_once=not halted)
    ranges.check()


def run(seed: int, place: Place, folder: Path, spark: SparkSession) -> Counter[str]:
    """Run one project over newly drawn tables; return what happened to ranges and polls."""
    rng = Random(seed)
    tables = draw_tables(rng, place, TABLES)
    at: list[str] = []
    with reproducible(seed, tables, at, folder):
        changes = folder / "out" / "changes"
        captured = [
            # a stopped poll saw ranges at different times
            Captured(rng, t, i, changes, {"id": {"type": "id", "rows_per_range": (2, 5, 3, 4)[i]}}, whole=False)
            for i, t in enumerate(tables)
        ]
        with opened(config(place.url, *(s for c in captured for s in c.streams)), folder, spark) as project:
            every = []
            for one in captured:
                at[:] = [one.table.quoted]
                prepare(project, one)
                every.append(Ranges(project, one))
            for _ in range(ROUNDS):
                for one, ranges in zip(captured, every, strict=True):
                    at[:] = [one.table.quoted]
                    one_round(rng, project, one, ranges)
    return sum((ranges.seen for ranges in every), Counter())


@pytest.mark.campaign
@over("seed", [2, *(pytest.param(seed, marks=pytest.mark.campaign) for seed in range(3, 6))], elsewhere=[])
def test_ranges_may_be_split_and_merged_at_any_time(
    seed: int, place: Place, workspace: Path, spark: SparkSession
) -> None:
    seen = run(seed, place, workspace, spark)
    assert set(seen) == {"cut or joined", "stopped", "open"}, seen
