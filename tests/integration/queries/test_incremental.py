"""Variant delta end to end.

After each poll the replica, which only batches change, is the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest

from qbcd.errors import QbcdError, Refused, UnsafeKey
from tests.support.places import NO_DELTA, Place, over
from tests.support.project import config, opened
from tests.support.query_drawing import ROWS, DrawnQuery, DrawnSchema, Queries
from tests.support.query_streams import delta, detect, replica_differs, some_stamps, stream


class Writers:
    """Transactions that stay open over polls, a few at a time.

    Each has keys of its own, so that none waits for another.
    """

    NUMBER = 3

    def __init__(self, schema: DrawnSchema, left: ExitStack) -> None:
        self.schema, place = schema, schema.place
        self.open = [left.enter_context(place.connect()) for _ in range(self.NUMBER)]

    def act(self) -> None:
        """Each writes a little; half of them end, most of these by a commit."""
        schema, rng = self.schema, self.schema.rng
        for number, conn in enumerate(self.open):
            mine = range(number, ROWS, self.NUMBER)
            statements = [
                schema.change(rng.choice(schema.tables), rng.choice(mine), rng.choice(mine))
                for _ in range(rng.randrange(3))
            ]
            for statement in statements:
                schema.place.run(conn, statement)
            end = rng.choice(["", "", "", "COMMIT", "COMMIT", "ROLLBACK"])
            if end:
                getattr(conn, end.lower())()
            schema.history += [f"{number}: {statement}" for statement in (*statements, end or "stays open")]


def drawn(
    seed: int,
    place: Place,
    folder: Path,
    queries: int,
    rounds: int,
    acting: Callable[[DrawnSchema], Callable[[], None]],
) -> Counter[str]:
    """Poll streams of queries over one schema and one history; return the changes by op.

    Odd seeds draw views too, over tables and over each other; one seed of three joins in brackets.
    """
    rng = Random(seed)
    schema = DrawnSchema.made(rng, place)
    views = seed % 2 == 1
    draw = Queries(rng, schema, views=views, brackets=seed % 3 == 0)
    queries_drawn = [draw.draw() for _ in range(queries)]
    streams = {f"s{n}": one for n, one in enumerate(queries_drawn)}
    read = {name: draw.read(one.text) for name, one in streams.items()}
    for view, body in draw.views.items():
        schema.run(f"CREATE VIEW {view} AS {body}")
    tables = [stream(name, one, delta(place, some_stamps(rng, read[name]))) for name, one in streams.items()]
    found: Counter[str] = Counter()
    with opened(config(place.url, *tables), folder) as project:
        for name in list(streams):
            try:
                project.stream(name).prepare()
            except Refused as error:
                assert "computes its key column" in error.what or _is_no_key(place, streams[name], error), error.what
                del streams[name]
                found["refused"] += 1
        act = acting(schema)
        for _ in range(rounds):
            act()
            for name, one in list(streams.items()):
                try:
                    for detection in detect(project, name):
                        found.update(detection.header.counts if detection.header else {})
                except UnsafeKey as error:
                    assert _is_no_key(place, one, error), one.text
                    del streams[name]
                    found["refused"] += 1
                    continue
                wrong = replica_differs(place, name, one.text)
                assert not wrong, f"{wrong} of {one.text} after {schema.history[-12:]}"
    return found


def _is_no_key(place: Place, one: DrawnQuery, error: QbcdError) -> bool:
    """Return True if the query was refused because its drawn key occurs twice.

    A join on other columns can repeat a key.
    """
    twice = f"SELECT 1 FROM ({one.text}) AS q GROUP BY {', '.join(one.key)} HAVING count(*) > 1"
    return isinstance(error, UnsafeKey) and bool(place.sql(twice))


@over("seed", [11], elsewhere=[], without=NO_DELTA)
def test_after_each_poll_the_replica_is_the_result(seed: int, place: Place, workspace: Path) -> None:
    found = drawn(seed, place, workspace, queries=6, rounds=4, acting=lambda schema: schema.act)
    assert set(found) >= {"c", "u", "d"}, found


@pytest.mark.campaign
@over("seed", range(300, 310), without=NO_DELTA)
def test_many_queries_and_histories(seed: int, place: Place, workspace: Path) -> None:
    assert drawn(seed, place, workspace, queries=12, rounds=8, acting=lambda schema: schema.act)


# Elsewhere not all open transactions are visible: `lag` bounds late rows (docs/explanation/watermarks.md).
@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(400, 410))
def test_transactions_that_stay_open(seed: int, place: Place, workspace: Path) -> None:
    with ExitStack() as left:
        found = drawn(seed, place, workspace, 6, 10, lambda schema: Writers(schema, left).act)
    assert found["c"] + found["u"] + found["d"] > 0
