"""ID/RCS over keys of every kind, by ranges of the key and of its hash.

Replay gives the source. Ranges are small, so that growth splits them. Batches are compacted all the time, which merges
small ranges. A reader with a pin holds the first batch and all rows of the replica over later polls; these may not
remove its files, although every sink has them and nothing names them any more (docs/design/protocol.md#rule-11,
#rule-23).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

import qbcd
from qbcd.api import parts_of
from qbcd.planning import plan_of
from qbcd.sinks import SinkBatch
from qbcd.sites import LakeSite
from qbcd.sites.lake import compaction
from qbcd.sites.lake.engines.spark.engine import SparkEngine
from tests.conftest import GivenServer
from tests.support import batch_layers
from tests.support.key_kinds import CASES, IN_ICU, Keyed
from tests.support.oracle import batches
from tests.support.places import Place, new_place, over
from tests.support.project import opened, poll
from tests.support.watched_polls import at_nth

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUICK = [("bigint", "key"), ("mixed", "key")]
BRIEF = [(0.9, 0.2), (0.1, 0.9)]
LONG = [(0.9, 0.2), (0.1, 0.9), (0.9, 0.1), (0.2, 0.8), (0.9, 0.3)]


class Reader:
    """A reader of the replica's rows and of the oldest batch, which reads the files later."""

    def __init__(self, project: qbcd.Project) -> None:
        stream = parts_of(project).open_stream("s")
        assert isinstance(stream.site, LakeSite)
        self.site = stream.site
        self.plan, _ = plan_of(stream, self.site.context.row())

    def begin(self) -> None:
        """Register a pin, then read the manifest."""
        site = self.site
        with site.context.writing() as conn:
            self.pin = site.context.store.add_pin(conn, "s", 600.0)
        with site.context.reading() as conn:
            known = site.context.store.ranges(conn, "s")
            engine = SparkEngine(site.context.spark)
            kept = site.context.strategy(self.plan).stored_columns
            self._rows = engine.frame(site.context.replica.rows(conn, engine, self.plan, kept, known))
        self._batch = SinkBatch(site.context.batches()[0], lambda: site.staged(site.context.batches()[0]))
        assert self._batch.events.columns, "its files are known from here on"
        self.parts = self.named()

    def named(self) -> set[str]:
        """Return the parts that the manifest names now."""
        with self.site.context.reading() as conn:
            segments = {s.segment_id for s in self.site.context.store.segments(conn, "s")}
        return segments | {str(h.location["part"]) for h in self.site.context.batches()}

    def existing(self) -> set[str]:
        """Return the parts in the stream's folder."""
        return {path.name for path in self.site.context.files.root.iterdir()}

    def values(self) -> set[int]:
        """Return the replica's rows by their value, which is unique."""
        place = [c.name for c in self.plan.captured].index("a")
        return {int(row[0]) for row in self._rows.select(f"c{place}").collect()}

    def ops(self) -> dict[str, str]:
        """Return the op of each event."""
        return {row["event_id"]: row["op"] for row in self._batch.events.collect()}

    def end(self) -> None:
        """End the pin, which must still be valid."""
        with self.site.context.writing() as conn:
            self.site.context.store.check_pin(conn, self.pin)
            self.site.context.store.drop_pin(conn, self.pin)


def range_ids(project: qbcd.Project) -> set[int]:
    """Return the ids of the stream's ranges; the store itself refuses gaps and overlaps."""
    site = parts_of(project).open_stream("s").site
    with site.context.reading() as conn:
        return {r.range_id for r in site.context.store.ranges(conn, "s")}


@over(
    "kind, how",
    [case if case in QUICK else pytest.param(*case, marks=pytest.mark.campaign) for case in CASES],
    elsewhere=[],
)
def test_replay_equals_the_source(
    kind: str, how: str, place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "COMPACT_BATCHES", 1)
    batch_layers.at_times(monkeypatch)
    run(place, kind, how, workspace, spark, BRIEF if (kind, how) in QUICK else LONG)


@pytest.mark.campaign
@pytest.mark.parametrize("how", ["key", "hash"])
@pytest.mark.parametrize("kind", IN_ICU)
def test_collations_of_icu(
    kind: str, how: str, icu: GivenServer, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "COMPACT_BATCHES", 1)
    batch_layers.at_times(monkeypatch)
    with new_place(icu, "postgresql") as place:
        run(place, kind, how, workspace, spark, LONG)


def run(
    place: Place, kind: str, how: str, folder: Path, spark: SparkSession, rounds: Sequence[tuple[float, float]]
) -> None:
    """Poll after every round; a round is the shares by which the table grows and shrinks."""
    table = Keyed(place, kind, how, folder, Random(f"{kind} {how}"))
    table.insert(0.3)
    with opened(table.config, folder, spark) as project:
        project.stream("s").prepare()
        table.copy.take_baseline()
        seen, before = Counter[str](), len(range_ids(project))
        reader, found = Reader(project), set[int]()
        for grown, shrunk in rounds:
            table.update(0.2)
            table.delete(shrunk)
            table.insert(grown)
            if found:
                poll(project, "s")
            else:  # it begins while the batch of the first poll exists, which that poll compacts
                found = {int(row[0]) for row in place.sql("SELECT a FROM t")}
                with at_nth("after_commit", 1, reader.begin):
                    poll(project, "s")
            seen += table.replay()
            now = len(range_ids(project))
            seen["cut"], seen["joined"], before = seen["cut"] + (now > before), seen["joined"] + (now < before), now
        assert reader.site.context.batches() == [], "all are delivered, folded in and let go"
        assert not reader.parts & reader.named(), "the replica's files are others by now"
        assert reader.parts <= reader.existing()
        assert reader.values() == found
        (_, first), *_ = batches(folder / "out/changes", "s")
        assert reader.ops() == {event["event_id"]: event["op"] for event in first}
        assert project.stream("s").verify() == []
        reader.end()
        assert [o.report and o.report.header for o in poll(project, "s")] == [None]
        assert reader.existing() == reader.named()
    assert min(seen["c"], seen["d"]) > 0, seen
    assert min(seen["cut"], seen["joined"]) > 0 or kind == "boolean", seen
