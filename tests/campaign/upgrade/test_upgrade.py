"""A project of an earlier version continues under this version.

Right events, no loss, no new baseline. The earlier version prepares and polls all streams in a process of its own. That
is killed in two polls, and one sink takes none of its batches. Then this version polls the same project on
the same server.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import qbcd
from qbcd.sites.lake import compaction
from tests.campaign.upgrade.old import OldVersion, names
from tests.campaign.upgrade.stored import KINDS, Stored, folders, stored
from tests.campaign.upgrade.streams import EXACT, IN_TURNS, KILLED, LATE, Consumer, Tables, configuration
from tests.support.oracle import batches
from tests.support.places import Place, over
from tests.support.project import poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.campaign
PAST_THE_MARGIN = 0.02  # seconds; the streams' margin and lag are milliseconds
MOST_POLLS = 40  # until passes have visited every range
LAYERED = ("ranges", "ranges_hash")
SEED = 36


@over(without={"mysql": None})  # version 0.1 cannot read MySQL 9
def test_this_version_goes_on(
    old: OldVersion, place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(place, workspace)
    scene.polled_by(old)
    then = scene.stored()
    scene.has_what_is_promised(then)
    delivered = scene.files()

    (workspace / "out" / "late").unlink()
    with qbcd.open(workspace / "qbcd.yaml", spark) as project:
        assert {s.stream: (s.epoch, s.batches) for s in project.status()} == {n: s.numbers for n, s in then.items()}
        scene.finds_what_is_missing(project)
        scene.goes_on_from(then)
        monkeypatch.setattr(compaction, "COMPACT_BATCHES", 2)
        scene.tables.change()
        scene.polled(project)
        scene.has_compacted(then)
        scene.settled(project)
        for name in scene.streams:
            assert project.stream(name).verify() == [], name
        assert all(s.prepared and not s.error and not s.failures for s in project.status())
    scene.is_whole(then)
    assert scene.files().items() >= delivered.items(), "a file that the old version delivered was changed"


class Scene:
    """A project in `folder` over tables of `place`, and its consumers.

    Attributes:
        streams: Configuration by name.
    """

    def __init__(self, place: Place, folder: Path) -> None:
        self.place, self.folder = place, folder
        self.tables = Tables(place, SEED)
        data = configuration(place, self.tables)
        self.streams: dict[str, dict[str, Any]] = dict(zip(names(data["tables"]), data["tables"], strict=True))
        self.consumers = {n: Consumer(place, folder / "out" / "changes", s) for n, s in self.streams.items()}
        (folder / "qbcd.yaml").write_text(json.dumps(data, indent=2), "utf-8")
        (folder / "out").mkdir()
        (folder / "out" / "late").touch()  # a file where the sink wants a folder

    # -- the old version ---------------------------------------------------------------------------------------------
    def polled_by(self, old: OldVersion) -> None:
        """Prepare, poll, die twice, then change rows that no poll has seen."""
        time.sleep(PAST_THE_MARGIN)
        with old.process(self.folder) as process:
            process.prepare(*self.streams)
            for consumer in self.consumers.values():
                consumer.take_baseline()
            for _ in range(3):
                self.tables.change()
                time.sleep(PAST_THE_MARGIN)
                failures = process.poll(*self.streams)
                assert {name: list(failed) for name, failed in failures.items()} == {name: ["late"] for name in LATE}
            self.tables.change()
            process.poll_until("before_commit", 1, "ranges_killed")
        with old.process(self.folder) as process:
            process.poll_until("before_commit", 15, "steps_killed")
        self.tables.change()

    def stored(self) -> dict[str, Stored]:
        """Return the stored state by stream."""
        return {name: stored(self.place, self.folder, stream) for name, stream in self.streams.items()}

    def has_what_is_promised(self, then: Mapping[str, Stored]) -> None:
        """Prove that the old version has left every kind of state that this version must read."""
        for name in LAYERED:
            kinds = Counter(segment.partition("-")[0] for segment, _ in then[name].segments)
            assert kinds["segment"] >= 1, f"{name}: nothing was compacted: {then[name].segments}"
            assert then[name].on_top >= 1, f"{name}: no batch is on top of the replica"
        for name in (*IN_TURNS, "steps_killed"):
            assert then[name].pass_is_open, f"{name}: {then[name].checkpoint['pass']}"
        assert "open" in then["steps_killed"].checkpoint
        assert "batch" in folders(self.folder, "ranges_killed")
        for name in LATE:
            assert batches(self.folder / "out" / "late" / "changes", name) == []
        assert then["counter"].checkpoint["mark"]["at"]
        assert len(then["totals"].checkpoint["marks"]) == 2
        if self.place.kind == "postgresql":
            for name in LAYERED:
                assert then[name].checkpoint["leaves"]["part"]
                assert then[name].checkpoint["recent"]["since"]
                assert "leaves" in folders(self.folder, name)

    # -- this version ------------------------------------------------------------------------------------------------
    def polled(self, project: qbcd.Project) -> None:
        """Poll each stream once."""
        time.sleep(PAST_THE_MARGIN)
        poll(project, *self.streams)

    def finds_what_is_missing(self, project: qbcd.Project) -> None:
        """Poll, and prove that this brings the missing events and delivers the waiting batches."""
        missing = {}
        for name, consumer in self.consumers.items():
            consumer.read()
            missing[name] = consumer.differing()
            assert missing[name], f"{name}: no event is missing"
        self.polled(project)
        found = {name: consumer.read() for name, consumer in self.consumers.items()}
        assert {n: found[n] for n in EXACT} == {n: missing[n] for n in EXACT}
        later = {*IN_TURNS, *KILLED, *(() if self.place.kind == "postgresql" else ("counter",))}
        for name in self.streams.keys() - later:
            assert not self.consumers[name].differing(), name
        for name in LATE:
            late = batches(self.folder / "out" / "late" / "changes", name)
            assert late == batches(self.folder / "out" / "changes", name)

    def goes_on_from(self, then: Mapping[str, Stored]) -> None:
        """Prove that checkpoints kept their keys, and passes went on."""
        now = self.stored()
        for name, before in then.items():
            left_out = before.checkpoint.keys() - now[name].checkpoint.keys() - {"open"}
            assert not left_out, f"{name}: the checkpoint has lost {left_out}"
            assert now[name].row["epoch"] == before.row["epoch"]
        for name in IN_TURNS:
            assert now[name].checkpoint["pass"]["began"] == then[name].checkpoint["pass"]["began"], name

    def has_compacted(self, then: Mapping[str, Stored]) -> None:
        """Prove that layers of the old version are in this version's segments."""
        now = self.stored()
        for name in LAYERED:
            level = then[name].numbers[1]
            assert max(folded for _, folded in now[name].segments) > level, now[name].segments
            assert now[name].segments != then[name].segments

    def settled(self, project: qbcd.Project) -> None:
        """Poll until passes have seen all changes and every copy equals its source."""
        time.sleep(PAST_THE_MARGIN)
        for _ in range(MOST_POLLS):
            behind = [name for name, consumer in self.consumers.items() if consumer.read() or consumer.differing()]
            if not behind:
                return
            poll(project, *behind)
        raise AssertionError({name: self.consumers[name].copy.differences() for name in behind})

    def is_whole(self, then: Mapping[str, Stored]) -> None:
        """Prove one epoch, batch numbers without a gap, unique event ids, and known kinds of files."""
        ids: Counter[str] = Counter()
        for name in self.streams:
            found = batches(self.folder / "out" / "changes", name)
            numbers = [tuple(map(int, file.removesuffix(".jsonl").split("-"))) for file, _ in found]
            epoch, last = then[name].numbers
            assert numbers == [(epoch, 1 + i) for i in range(len(numbers))], name
            assert len(numbers) > last, f"{name}: this version delivered nothing"
            ids.update(event["event_id"] for _, events in found for event in events)
            assert folders(self.folder, name) <= KINDS, name
        assert [event_id for event_id, times in ids.items() if times > 1] == []

    def files(self) -> dict[str, bytes]:
        """Return the complete batches in the sinks, by path."""
        return {str(path): path.read_bytes() for path in (self.folder / "out").rglob("*.jsonl")}
