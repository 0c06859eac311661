"""One history gives the same net events on every database and by every strategy.

A model in Python computes them. If a strategy cannot see something, exactly that is missing (`tests.support.variants`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import qbcd
from qbcd.config.strategy_registry import BUILT_STRATEGIES
from tests.support.model import FlaggedModel, Model, Restriction
from tests.support.oracle import batches, net
from tests.support.places import Place, configured, over
from tests.support.project import config, opened, poll
from tests.support.value_shapes import SHAPES
from tests.support.variants import FLAGGED, SERVICES, VARIANTS, Stream, Variant, everything

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAST_THE_MARGIN = 0.02  # seconds; the variants' margin and lag are milliseconds
FEW = ("whole", "word", "money", "instant")  # enough to distinguish strategies; a covering index has room for them
# No name may be executed, expanded, folded or confused with a name of qbcd's own.
HOSTILE = {
    "id": "range_id",
    "part": " p'art; --",
    "whole": "w%s",
    "big": "%(epoch)s",
    "money": ":epoch",
    "ratio": "{{ 7 * 7 }}",
    "word": "back\\slash",
    "long": "select",
    "raw": 'a."b`',
    "day": "ümläut Ж",
    "moment": "$1 ?",
    "instant": "line\nbreak",
    "updated": "up'dated %",
    "gone": 'go"ne`',
    "number": ":lo",
    "sum_of_row": "%(first)s",
    "rewritten": "{% raw %}",
    "sometimes": "some\\times",
}
PLAIN: Mapping[str, str] = {}


class Histories:
    """Two tables, one of which flags its deleted rows, and streams of many variants over them.

    Args:
        names: Names of columns that differ from those here.
        shapes: Shapes of the captured columns without the key; the table with flags has few.
        wheres: By variant, the restrictions for which it has streams: ``all`` and ``some`` of the rows.
    """

    def __init__(
        self,
        place: Place,
        rng: Random,
        folder: Path,
        *,
        names: Mapping[str, str],
        shapes: Sequence[str],
        wheres: Mapping[Variant, Sequence[str]],
    ) -> None:
        self.place, self.folder, self.names = place, folder, names
        hostile = names is not PLAIN
        self.tables = {
            False: ('t"; DROP TABLE x; -- `%s' if hostile else "t", Model, SERVICES),
            True: ("f'; --`%(x)s" if hostile else "f", FlaggedModel, FLAGGED),
        }
        key = [self._name("part"), self._name("id")]
        self.models = {
            flagged: make(
                place,
                rng,
                place.quote(name),
                self._columns(FEW if flagged else shapes),
                key,
                {self._name(c): s for c, s in services.items()},
            )
            for flagged, (name, make, services) in self.tables.items()
            if flagged in {v.flagged for v in wheres}
        }
        whole = self._name("whole")
        self.wheres: dict[str, Restriction] = {
            "all": lambda record: True,
            "some": lambda record: record[whole] is not None and record[whole] >= 0,
        }
        self.streams = {
            f"{variant.name}.{where}": Stream(variant, self.models[variant.flagged], self.wheres[where])
            for variant, listed in wheres.items()
            for where in listed
        }
        self._seen = dict.fromkeys(self.streams, 0)

    def _name(self, column: str) -> str:
        return self.names.get(column, column)

    def _columns(self, shapes: Sequence[str]) -> dict[str, str]:
        return {self._name(c): s for c, s in {"id": "whole", "part": "word", **{s: s for s in shapes}}.items()}

    def configuration(self, *, silent: bool) -> dict[str, Any]:
        """Return a configuration of all streams; with `silent`, half of them have silent baselines."""
        tables = []
        for i, (name, stream) in enumerate(self.streams.items()):
            table, _, services = self.tables[stream.variant.flagged]
            tables.append(
                {
                    "name": name,
                    **self._captured(stream.variant, table),
                    "strategy": stream.variant.configured(self.place.kind, self.names),
                    "exclude": [self._name(c) for c in services],
                    "baseline": "silent" if silent and i % 2 else "events",
                    **({"where": f"{self.place.quote(self._name('whole'))} >= 0"} if name.endswith(".some") else {}),
                }
            )
        return config(self.place.url, *tables)

    def _captured(self, variant: Variant, table: str) -> dict[str, str]:
        """Return the table, or a query of all its rows."""
        if not variant.of_query:
            return {"table": configured(self.place.schema, table)}
        return {"query": f"SELECT * FROM {self.place.quote(self.place.schema)}.{self.place.quote(table)} AS q"}

    def prepare(self, project: qbcd.Project) -> None:
        """Prepare all streams, and check the events of their baselines."""
        time.sleep(PAST_THE_MARGIN)
        for name, stream in self.streams.items():
            project.stream(name).prepare()
            expected = stream.baseline()
            assert self._fresh(name) == (expected if project.stream(name).config.baseline == "events" else []), name

    def poll(self, project: qbcd.Project) -> None:
        """Poll every stream as often as it needs, and check the events."""
        for number in range(max(stream.variant.polls for stream in self.streams.values())):
            time.sleep(PAST_THE_MARGIN)
            poll(project, *(name for name, stream in self.streams.items() if stream.variant.polls > number))
        for name, stream in self.streams.items():
            assert self._fresh(name) == stream.poll(), name

    def _fresh(self, name: str) -> list[str]:
        """Return the net events that were delivered since the last call."""
        found = batches(self.folder / "out" / "changes", name)
        fresh = [event for _, batch in found[self._seen[name] :] for event in batch]
        self._seen[name] = len(found)
        return net(fresh)


def run(place: Place, folder: Path, spark: SparkSession, seed: int, rounds: int, **more: Any) -> Histories:
    """Poll all variants after every round; the table grows first, and is emptied at the end."""
    rng = Random(seed)
    silent = more.pop("silent", False)
    made = Histories(place, rng, folder, **more)
    for model in made.models.values():
        model.steps(15)
    with opened(made.configuration(silent=silent), folder, spark) as project:
        made.prepare(project)
        for number in range(rounds):
            for model in made.models.values():
                if number == 0:
                    model.grow(40)  # more rows than the ranges are made for
                elif number == rounds - 1:
                    model.empty()
                model.steps(rng.choice([1, 6, 15]))
            made.poll(project)
        for name, stream in made.streams.items():
            if stream.variant.sees is everything:
                assert project.stream(name).verify() == []
    return made


BOTH = ("all", "some")
BY_KEY = (
    "id_rcs-digest",
    "id_rcs-digest-128",
    "tlcs-remote",
)  # run by default in `test_narrow`, which fetches their rows by key
# The other variants of the campaign: each has a twin in `make test` that does the same and more.
TWINNED = (
    "id-keys",
    "tlcs-in-row-source",
    "tlcs-in-row-lake",
    "vbd-checksum",
    "id-rows",
    "ts-swept",
    "ts-spark",
    "ts-number-nothing",
    "tdi",
    "tlcs-remote-no-deletes",
    "vbd-digest-128",
)
TWINS = [variant for variant in VARIANTS if variant.name in ("mds", "id_rcs")]


def of(place: Place, *, both: bool) -> dict[Variant, tuple[str, ...]]:
    """Return the variants of a database, each with one restriction or `both`."""
    had = [variant for variant in VARIANTS if not variant.kinds or place.kind in variant.kinds]
    return {
        v: BOTH[: 1 + v.restricted] if both and not v.alone else (BOTH[i % 2 * v.restricted],)
        for i, v in enumerate(had)
    }


def test_every_strategy_has_a_variant() -> None:
    assert {variant.strategy["type"] for variant in VARIANTS} == {*BUILT_STRATEGIES} - {"dump"}  # of files
    assert len({variant.name for variant in VARIANTS}) == len(VARIANTS)


@pytest.mark.campaign
@over("seed", (1, 2), elsewhere=[2])
def test_events_are_those_of_the_model(seed: int, place: Place, workspace: Path, spark: SparkSession) -> None:
    wheres = dict.fromkeys(TWINS, BOTH) if seed == 1 else of(place, both=True)
    run(place, workspace, spark, seed, 2 if seed == 1 else 8, names=PLAIN, shapes=tuple(SHAPES), wheres=wheres)


@over("seed", [1, pytest.param(2, marks=pytest.mark.campaign)], elsewhere=[])
def test_every_variant_reports_what_it_can_see(seed: int, place: Place, workspace: Path, spark: SparkSession) -> None:
    first = seed == 1
    wheres = {
        v: where for v, where in of(place, both=not first).items() if not first or v.name not in (*BY_KEY, *TWINNED)
    }
    run(place, workspace, spark, seed, 2 if first else 6, names=HOSTILE, shapes=FEW, wheres=wheres, silent=True)
