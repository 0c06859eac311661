"""Watermarks under load of late commits, rollbacks, savepoints: no event is lost or early.

*Lost* is a key whose row, after replay of the events, is not that of the source, once all writers have ended and the
watermark has passed. *Early* is an event in a committed batch whose content was not in the writers' log, which every
transaction writes before it ends; or a row whose timestamp is not before the watermark committed with its batch, so
that the next window has it again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from qbcd import watermark
from qbcd.api import parts_of
from qbcd.connectors.base import HighWater
from qbcd.planning import plan_of
from qbcd.strategies.outbox import outbox_name
from tests.support.late_writers import Load, Work, late_writers, set_up
from tests.support.maria_source import KINDS
from tests.support.places import Place
from tests.support.project import config, opened

SAFE = ("ts", "tdi", "atdi")
CONTROL = "control"
MARGIN = {CONTROL: timedelta(milliseconds=77)}  # identifies the control in the patched function
BRIEF = Load(rows=6_000, polls=90, long=(0.3, 1.5))
DEFAULT = Load(rows=20_000, polls=300, long=(0.5, 3.0))
TURNS = 14  # transactions that may begin from one poll to the next
SHORT = Load(rows=5_000, polls=100, long=(0.3, 1.5))
LONG = Load(rows=100_000, polls=1_000, long=(0.5, 3.0))


class Watch:
    """Streams by each strategy on the writers' table, polled in turn under held leases."""

    def __init__(self, place: Place, folder: Path, stack: ExitStack, lag: float | None) -> None:
        self.place, self.lag = place, lag
        set_up(place)
        tables = [self._table(name) for name in (*SAFE, CONTROL)]
        project = stack.enter_context(opened(config(place.url, *tables), folder))
        self.polls = dict.fromkeys((*SAFE, CONTROL), 0)
        self.early = dict.fromkeys((*SAFE, CONTROL), 0)
        self.work = {}
        for name in self.polls:
            project.stream(name).prepare()
            stream = parts_of(project).open_stream(name)
            held = stack.enter_context(stream.site.context.hold())
            self.work[name] = (stream, held, plan_of(stream, held.row)[0])

    def _table(self, name: str) -> dict[str, Any]:
        flag = {} if name == "ts" else {"delete_flag": "gone"}
        lag = {} if self.lag is None else {"lag": f"{self.lag:g}s"}
        margin = "77ms" if name == CONTROL else "10ms"
        strategy = {"type": "tdi" if name == CONTROL else name, "timestamp": "at", "margin": margin, **lag, **flag}
        index = {"create_index": True} if name == "atdi" else {}
        fixed = {"table": self.place.table("t"), "columns": ["v", "at"], "sinks": []}
        return {"name": name, "strategy": strategy | index, **fixed}

    def poll(self, name: str) -> int:
        """Run one step of a poll; return the number of events, and count early ones."""
        stream, held, plan = self.work[name]
        found = [detection.header for detection in stream.site.detect(plan, stream.settings, held)]
        self.polls[name] += 1
        headers = [header for header in found if header is not None]
        for header in headers:
            self.early[name] += self._early(name, header.seq, held.row.checkpoint["mark"]["at"])
        return sum(header.size for header in headers)

    def _outbox(self, name: str) -> str:
        return f"{self.place.quote(self.place.own_schema)}.{outbox_name(name)}"

    def _early(self, name: str, seq: int, watermark: str) -> int:
        zone = " AT TIME ZONE 'UTC'" if self.place.kind == "postgresql" else ""
        outbox = f"FROM {self._outbox(name)} AS o WHERE o.batch_seq = {seq}"
        token = "CASE WHEN o.op = 'd' THEN concat('gone ', o.b_id) ELSE o.a_v END"
        ((number,),) = self.place.sql(
            f"SELECT COUNT(*) {outbox} AND (NOT EXISTS (SELECT 1 FROM log AS l WHERE l.token = {token}) "
            f"OR o.op <> 'd' AND o.a_at{zone} >= '{watermark}')"
        )
        return int(number)

    def lost(self, name: str) -> set[int]:
        """Return the keys whose replayed row is not the source's."""
        shown = "true" if name == "ts" else "NOT gone"
        source = {row[0]: row[1] for row in self.place.sql(f"SELECT id, v FROM t WHERE {shown}")}
        copy: dict[int, str] = {}
        order = "ORDER BY batch_seq, ordinal"
        for op, key, new in self.place.sql(f"SELECT op, coalesce(a_id, b_id), a_v FROM {self._outbox(name)} {order}"):
            copy.pop(key, None)
            if op != "d":
                copy[key] = new
        return {key for key in source.keys() | copy.keys() if source.get(key) != copy.get(key)}

    def run(self, load: Load, seed: int) -> Work:
        """Poll while writers work, and until all their changes are found."""
        with late_writers(self.place, load, seed) as work:
            while not work.stop.is_set() and not self._enough(load):
                for name in self.work:
                    self.poll(name)
                    for _ in range(TURNS):
                        work.turns.release()
        time.sleep((self.lag or 0) + 0.1)
        for name in self.work:
            while self.poll(name):
                pass
        return work

    def _enough(self, load: Load) -> bool:
        return sum(self.polls[name] for name in SAFE) >= load.polls and self._rows() >= load.rows

    def _rows(self) -> int:
        return int(self.place.sql("SELECT COUNT(*) FROM t")[0][0])


def watched(
    place: Place, folder: Path, load: Load, monkeypatch: pytest.MonkeyPatch, lag: float | None = None
) -> Mapping[str, Any]:
    """Run `load`; the control reads up to the clock itself."""
    real = watermark.safe_high_watermark

    def unbounded(high_water: HighWater, margin: timedelta, lag: timedelta | None) -> str:
        return high_water.clock if margin == MARGIN[CONTROL] else real(high_water, margin, lag)

    monkeypatch.setattr(watermark, "safe_high_watermark", unbounded)
    with ExitStack() as stack:
        watch = Watch(place, folder, stack, lag)
        work = watch.run(load, seed=4)
        rows = watch._rows()
        print(f"{rows:,} rows, {work.committed:,} transactions, {work.late} late, the longest {work.longest:.1f} s")
        print(f"polls {watch.polls}, early {watch.early}")
        lost = {name: watch.lost(name) for name in watch.polls}
        print({name: len(keys) for name, keys in lost.items()})
    assert lag is None or work.longest < lag, "a transaction outlasted the lag: it may be lost"
    assert rows >= load.rows
    assert work.late >= load.rows // 500
    return {"lost": lost, "early": watch.early}


def judge(found: Mapping[str, Any]) -> None:
    """Check that nothing is lost and nothing early.

    The control proves that the test can see a loss.
    """
    assert {name: found["lost"][name] for name in SAFE} == {name: set() for name in SAFE}
    assert {name: found["early"][name] for name in SAFE} == dict.fromkeys(SAFE, 0)
    assert found["lost"][CONTROL]


@pytest.mark.parametrize("load", [BRIEF, *(pytest.param(load, marks=pytest.mark.campaign) for load in (DEFAULT, LONG))])
def test_late_writers(load: Load, place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge(watched(place, workspace, load, monkeypatch))


@pytest.mark.campaign
@pytest.mark.parametrize("database", KINDS, indirect=True)
def test_late_writers_within_the_lag(place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge(watched(place, workspace, SHORT, monkeypatch, lag=6.0))
