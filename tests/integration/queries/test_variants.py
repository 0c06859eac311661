"""Drawn queries under every variant.

Polls of accepted ones are exact, refusals have a reason.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.errors import Refused
from tests.integration.queries.test_streams import Result
from tests.support.oracle import events
from tests.support.places import NO_DELTA, Place, over
from tests.support.project import config, opened, poll
from tests.support.query_drawing import DrawnQuery, DrawnSchema, Queries
from tests.support.query_streams import delta, some_stamps, stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REASON = "computes its key column"


def variants(rng: Random, place: Place, drawn: DrawnQuery, tables: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Return every variant as configuration; delta with timestamps in all tables, and in some."""
    read = [t for t in tables if f".{t} " in drawn.text]
    whole: dict[str, dict[str, Any]] = {
        "compare": {"type": "vbd", "variant": "compare"},
        "checksum": {"type": "vbd", "variant": "checksum", "rows_per_range": 4},
    }
    if place.kind in NO_DELTA:
        return whole
    return {**whole, "delta": delta(place, read), "mixed": delta(place, some_stamps(rng, read))}


def run(seed: int, place: Place, folder: Path, spark: SparkSession, queries: int, rounds: int) -> Counter[str]:
    """Poll streams of every variant over one history; return events by kind, and refusals."""
    rng = Random(seed)
    schema = DrawnSchema.made(rng, place)
    draw = Queries(rng, schema)
    asked = [draw.draw() for _ in range(queries)]
    named = {
        f"q{n}.{variant}": (one, strategy)
        for n, one in enumerate(asked)
        for variant, strategy in variants(rng, place, one, schema.tables).items()
    }
    tables = [{**stream(name, one, how), "baseline": "events"} for name, (one, how) in named.items()]
    found: Counter[str] = Counter()
    with opened(config(place.url, *tables), folder, spark) as project:
        results = {name: Result(place, folder, name, one.text) for name, (one, _) in named.items()}
        for name in list(results):
            try:
                project.stream(name).prepare()
            except Refused as error:
                assert REASON in error.what and named[name][0].key, error.what
                assert not name.endswith((".compare", ".checksum")), name
                del results[name]
                found["refused"] += 1
        for number in range(rounds + 1):
            if number:
                schema.act()
                poll(project, *results)
            by_query: dict[str, set[str]] = {}
            for name, result in results.items():
                ops = Counter(event["op"] for event in result.check())
                found += ops
                by_query.setdefault(name.split(".")[0], set()).add(str(sorted(ops.items())))
            assert all(len(seen) == 1 for seen in by_query.values()), (by_query, schema.history[-12:])
    return found


@pytest.mark.parametrize("seed", [3])
def test_every_variant_is_exact(seed: int, place: Place, workspace: Path, spark: SparkSession) -> None:
    found = run(seed, place, workspace, spark, queries=1, rounds=2)
    assert len(set(found) - {"refused"}) > 1, found


@pytest.mark.campaign
@over("seed", range(400, 404))
def test_every_variant_is_exact_in_many_histories(
    seed: int, place: Place, workspace: Path, spark: SparkSession
) -> None:
    assert run(seed, place, workspace, spark, queries=6, rounds=5)


def test_distinct_on_takes_the_row_that_its_order_names(place: Place, workspace: Path, spark: SparkSession) -> None:
    """An ORDER BY that selects the rows of the result matters, with a LIMIT or without."""
    place.sql(
        "CREATE TABLE t (id integer PRIMARY KEY, g integer NOT NULL); INSERT INTO t VALUES (1, 1), (2, 1), (3, 2)"
    )
    query = f"SELECT DISTINCT ON (t.g) t.g, t.id FROM {place.table('t')} AS t ORDER BY t.g, t.id DESC"
    variants = ("compare", "checksum")
    tables = [
        {"name": v, "query": query, "key": ["g"], "strategy": {"type": "vbd", "variant": v}, "baseline": "events"}
        for v in variants
    ]
    with opened(config(place.url, *tables), workspace, spark) as project:
        for name in variants:
            project.stream(name).prepare()
        poll(project, *variants)
        place.sql("INSERT INTO t VALUES (4, 1), (5, 3); DELETE FROM t WHERE id = 3")
        poll(project, *variants)
        for name in variants:
            result: dict[int, int] = {}
            for event in events(workspace / "out/changes", name):
                result.pop(event["key"]["g"], None)
                result.update({} if event["after"] is None else {event["key"]["g"]: event["after"]["id"]})
            assert result == dict(place.sql(query)) == {1: 4, 3: 5}
