"""One history has one set of net events, on every database and by every strategy: what a model in Python expects."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.model import SHAPES, Model, Restriction
from tests.support.oracle import batches, net
from tests.support.places import Place, configured, over
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STRATEGIES: dict[str, Any] = {"mds": "mds", "id_rcs": {"type": "id_rcs", "rows_per_range": 5}}
# Nothing is to be executed, expanded, folded or taken for a name of qbcd's own by what it spells.
HOSTILE = {
    "id": "range_id",
    "part": "p'art; --", "whole": "w%s", "big": "%(epoch)s", "money": ":epoch", "ratio": "{{ 7 * 7 }}",
    "word": "back\\slash", "long": "select", "raw": 'a."b`', "day": "ümläut Ж", "moment": "$1 ?",
    "instant": "line\nbreak",
}  # fmt: skip


def run(place: Place, folder: Path, spark: SparkSession, seed: int, rounds: int, *, plain: bool) -> None:
    """Polls after every round by both strategies, with and without a restriction."""
    rng = Random(seed)
    columns = {"id": "whole", "part": "word", **{shape: shape for shape in SHAPES}}
    names = {c: c if plain else HOSTILE[c] for c in columns}
    name = "t" if plain else 't"; DROP TABLE x; -- `%s'
    whole = names["whole"]
    model = Model(
        place, rng, place.quote(name), {names[c]: s for c, s in columns.items()}, [names["part"], names["id"]]
    )
    model.steps(15)

    wheres: dict[str, Restriction] = {
        "all": lambda record: True,
        "some": lambda record: (record[whole] if record[whole] is not None else -1) >= 0,
    }
    streams = [
        {"name": f"{s}.{w}", "table": configured(place.schema, name), "strategy": STRATEGIES[s], "baseline": "events",
         **({"where": f"{place.quote(whole)} >= 0"} if w == "some" else {})}
        for s in STRATEGIES for w in wheres
    ]  # fmt: skip
    seen = dict.fromkeys((stream["name"] for stream in streams), 0)

    def check(expected: dict[str, list[str]]) -> None:
        for stream in seen:
            found = batches(folder / "out" / "changes", stream)
            fresh = [event for _, batch in found[seen[stream] :] for event in batch]
            seen[stream] = len(found)
            assert net(fresh) == expected[stream.partition(".")[2]], stream

    with opened(config(place.url, *streams), folder, spark) as project:
        for stream in seen:
            project.stream(stream).prepare()
        check(model.net(wheres, baseline=True))
        for number in range(rounds):
            if number == 0:
                model.grow(40)  # beyond what the ranges are made for
            elif number == rounds - 1:
                model.empty()
            model.steps(rng.choice([1, 6, 15]))
            poll(project, *seen)
            check(model.net(wheres))
        for stream in seen:
            assert project.stream(stream).verify() == []


@over("seed", [1, *(pytest.param(seed, marks=pytest.mark.campaign) for seed in range(2, 12))])
def test_events_are_those_of_the_model(seed: int, place: Place, workspace: Path, spark: SparkSession) -> None:
    run(place, workspace, spark, seed, 2 if seed == 1 else 8, plain=True)


@over("seed", [1, *(pytest.param(seed, marks=pytest.mark.campaign) for seed in range(2, 5))])
def test_events_are_those_of_the_model_under_hostile_names(
    seed: int, place: Place, workspace: Path, spark: SparkSession
) -> None:
    run(place, workspace, spark, seed, 1 if seed == 1 else 4, plain=False)
