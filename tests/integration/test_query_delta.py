"""Variant delta end to end: after each poll the replica, which its batches alone have made, is the query's result."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from qbcd.errors import Refused
from tests.support.places import Place, over
from tests.support.project import config, opened
from tests.support.query_drawing import DrawnSchema, Queries
from tests.support.query_streams import delta, detect, replica_differs, some_stamps, stream


def drawn(seed: int, place: Place, folder: Path, queries: int, rounds: int) -> Counter[str]:
    """Streams of queries over one schema and one history; how many changes of each kind were found.

    Odd seeds draw views too, over tables and over each other, where these are followed; each third joins in brackets.
    """
    rng = Random(seed)
    schema = DrawnSchema.made(rng, place)
    views = seed % 2 == 1 and place.kind != "mysql"  # whose views are not looked into
    draw = Queries(rng, schema, views=views, brackets=seed % 3 == 0)
    asked = [draw.draw() for _ in range(queries)]
    streams = {f"s{n}": one for n, one in enumerate(asked)}
    read = {name: draw.read(one.text) for name, one in streams.items()}
    for view, body in draw.views.items():
        schema.run(f"CREATE VIEW {view} AS {body}")
    told = [stream(name, one, delta(place, some_stamps(rng, read[name]))) for name, one in streams.items()]
    found: Counter[str] = Counter()
    with opened(config(place.url, *told), folder) as project:
        for name in list(streams):
            try:
                project.stream(name).prepare()
            except Refused as error:
                assert "computes its key column" in error.what, error.what
                del streams[name]
                found["refused"] += 1
        for _ in range(rounds):
            schema.act()
            for name, one in streams.items():
                for detection in detect(project, name):
                    found.update(detection.header.counts if detection.header else {})
                wrong = replica_differs(place, name, one.text)
                assert not wrong, f"{wrong} of {one.text} after {schema.history[-12:]}"
    return found


@over("seed", [11])
def test_after_each_poll_the_replica_is_the_result(seed: int, place: Place, workspace: Path) -> None:
    found = drawn(seed, place, workspace, queries=6, rounds=4)
    assert set(found) >= {"c", "u", "d"}, found


@pytest.mark.campaign
@over("seed", range(300, 330))
def test_many_queries_and_histories(seed: int, place: Place, workspace: Path) -> None:
    assert drawn(seed, place, workspace, queries=12, rounds=8)
