"""A history of changes, polls and kills, drawn from a seed; after each recovery nothing is lost or repeated."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from qbcd.api import parts_of
from qbcd.local.database import SPILL
from qbcd.sites import Site
from tests.campaign.kill_delivery.child import POINTS, STREAM
from tests.campaign.kill_delivery.consumer import Consumer
from tests.campaign.kill_delivery.poller import Doom, Ended, Poller
from tests.campaign.kill_delivery.tables import Table
from tests.faults.stage import left_behind
from tests.support.places import Place
from tests.support.project import opened

KILLS = 5  # of a case
POLLS = 6  # polls after which a stream must have nothing more to find
# Seconds from a point to the acknowledgement, before any are known.
FIRST = {"before_publish": 3.0, "mid_publish": 0.05, "after_publish": 0.005}
NAMES = {
    "before_publish": "while the sink writes",
    "mid_publish": "around the rename",
    "after_publish": "after the rename",
    "after_acknowledge": "between two sinks",
}


class KilledDeliveries:
    """One table, its stream, and pollers that are killed in the middle of deliveries.

    Args:
        place: An empty database.
        folder: An empty folder.
        strategy, variant: See :data:`tests.campaign.kill_delivery.tables.VARIANTS`.
        seed: Draws all but the time that a delivery takes.
    """

    def __init__(self, place: Place, folder: Path, strategy: str, variant: str, seed: int) -> None:
        self.rng = Random(f"{strategy} {seed}")
        self.folder = folder / "project"
        self.folder.mkdir()
        self.name = f"{strategy} ({variant}) on {place.kind}, seed {seed}"
        self.table = Table(place, self.rng, strategy, variant)
        self.data = self.table.configured(self.rng.choice(["events", "silent"]))
        self.kills, self.late, self.again, self.history = Counter[str](), 0, 0, list[str]()
        # by point, and by whether it is of the first delivery of a Java
        self.spent = {
            (point, cold): deque([seconds], maxlen=4) for point, seconds in FIRST.items() for cold in (True, False)
        }
        self.poller, self.cold = Poller(self.data, self.folder), True

    def run(self) -> None:
        """Kill deliveries until there are enough, and print the figures."""
        began = time.monotonic()
        try:
            self._do("create", self.table.create)
            with opened(self.data, self.folder) as self.project:
                self._begin()
                while self.kills.total() < KILLS:
                    self._round()
        except Exception as error:
            steps = "\n  ".join(self.history)
            raise AssertionError(f"{self.name}, after {self.kills.total()} kills: {error}\n  {steps}") from error
        finally:
            self.poller.stop()
        print(f"{self.name}: {self._figures()}, {time.monotonic() - began:.0f} s", *self.history, sep="\n  ")

    def _figures(self) -> str:
        kinds = ", ".join(f"{count} {name}" for name, count in sorted(self.kills.items()))
        return (
            f"{self.kills.total()} kills ({kinds}), {self.again} of them in a redelivery; {self.late} more after the "
            f"last acknowledgement; {self.consumer.events:,} events"
        )

    # -- the history -------------------------------------------------------------------------------------------------
    def _begin(self) -> None:
        """Prepare the stream; a baseline of events is a delivery too."""
        silent = self.data["tables"][0]["baseline"] == "silent"
        base = self.table.source().values() if silent else ()
        self.consumer = Consumer(self.folder, self.table.columns, base)
        self._doomed("prepare")
        self._recover()

    def _round(self) -> None:
        """Change the table, kill the delivery, and let another poller recover from that."""
        back = self.rng.random() < 0.3
        if back:
            self._do("remember", self.table.remember)
        self._do("change", self.table.change)
        if self._doomed("poll"):
            if back:
                self._do("put back", self.table.put_back)
            while self.rng.random() < 1 / 3:
                self._perhaps_change()
                self._doomed("poll")
            self._perhaps_change()
        self._recover()
        self._do("clean", self.table.clean)
        self.consumer.forget()

    def _perhaps_change(self) -> None:
        if self.rng.random() < 0.5:
            self._do("small change", lambda: self.table.change(0.01))

    def _recover(self) -> None:
        """Poll until nothing is found; check sinks, source, and what is left behind."""
        for _ in range(POLLS):
            if not self._poll("poll").result:
                break
        else:
            raise AssertionError(f"{POLLS} polls in a row found changes")
        self._do("read the sinks", self.consumer.take)
        self._do("compare with the source", lambda: self.consumer.check(self.table.source()))
        left = left_behind(self._site(), self.folder) + self._spilled()
        assert not left, f"files are left behind: {left}"
        differences = self._poll("verify").result
        assert not differences, f"verify found {len(differences)} differences: {differences[:3]}"
        assert not self._pending(), "a batch is not acknowledged"

    # -- steps -------------------------------------------------------------------------------------------------------
    def _do(self, what: str, step: Callable[[], Any]) -> None:
        began = time.monotonic()
        self.history.append(what)
        step()
        self.history[-1] += f" in {time.monotonic() - began:.1f} s"

    def _poll(self, task: str, doom: Doom | None = None) -> Ended:
        self.history.append(f"{task}{f', to be killed {doom}' if doom else ''}")
        began = time.monotonic()
        ended = self.poller.run(task, doom)
        self._measure(ended)
        end = "killed" if ended.killed else f"found {ended.result}"
        self.history[-1] += f": {end} in {time.monotonic() - began:.1f} s"
        return ended

    def _doomed(self, task: str) -> bool:
        """Run a task whose delivery is killed; return False if it ended before its moment came."""
        point, nth = self.rng.choice(["before_publish"] * 4 + ["mid_publish", "after_publish"]), self.rng.randint(1, 2)
        redelivered = task == "poll" and self._pending()
        after = self.rng.choice(self.spent[point, nth == 1 and self.cold]) * self.rng.random()
        ended = self._poll(task, Doom(point, nth, after))
        if not ended.killed:
            return False
        self.poller, self.cold = Poller(self.data, self.folder), True  # its Java starts while the sinks are read
        if self._pending():
            self.kills[NAMES[ended.visits[-1][0]]] += 1
            self.again += redelivered
        else:
            self.late += 1
        self.consumer.expect(self._site().context.batches())
        self._do("read the sinks", self.consumer.take)
        return True

    def _measure(self, ended: Ended) -> None:
        """Note how long the points of finished deliveries were before the acknowledgement."""
        since: dict[str, float] = {}
        for point, at in ended.visits:
            if point == POINTS[-1]:
                for known, began in since.items():
                    self.spent[known, self.cold].append(at - began)
                since, self.cold = {}, False
            else:
                since[point] = at

    # -- the state ---------------------------------------------------------------------------------------------------
    def _site(self) -> Site:
        return parts_of(self.project).open_stream(STREAM).site

    def _pending(self) -> bool:
        """Return True if a sink has not acknowledged a sealed batch."""
        row = self._site().context.row()
        assert row is not None
        acks = parts_of(self.project).state.acknowledged(STREAM)
        return any(ack.seq < row.last_batch_seq for ack in acks.values())

    def _spilled(self) -> list[str]:
        """Return files of the workdir's root that no running process needs."""
        own = str(parts_of(self.project).state.project_id)
        known, root = ("state.db", own, SPILL), self.folder / ".qbcd"
        spilled = root / SPILL  # the folder itself stays
        return [
            *(path.name for path in root.iterdir() if not path.name.startswith(known)),
            *(path.name for path in (spilled.iterdir() if spilled.is_dir() else ())),
        ]
