"""The engine is drawn again for each piece of work, within polls too: replay equals the source."""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from qbcd.api import parts_of
from qbcd.common import hooks
from qbcd.config.streams import EngineName
from qbcd.errors import LocalOutOfMemory, QbcdError
from qbcd.sites.engine_choice import EngineChoice
from qbcd.sites.lake.context import LakeContext
from qbcd.sites.lake.engines.base import Engine
from tests.integration.sites.test_property import run
from tests.support import sql
from tests.support.places import Place, over, place_of
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def drawn_engines(monkeypatch: pytest.MonkeyPatch, seed: int) -> Counter[str]:
    """Draw the engine of each piece of work; return the number of draws by engine.

    Deliveries are local: Java below 19 has other last digits for some floats.
    """
    rng, drawn, engine_for = Random(f"engines {seed}"), Counter[str](), LakeContext.engine_for
    engines: list[EngineName] = ["local", "spark"]

    def drawn_for(self: LakeContext, choice: EngineChoice, rows: int) -> AbstractContextManager[Engine]:
        undrawn = [name for name in engines if not drawn[name]]
        engine = rng.choice(undrawn or engines)  # both occur, however few draws there are
        drawn[engine] += 1
        return engine_for(self, EngineChoice(engine), rows)

    monkeypatch.setattr(LakeContext, "engine_for", drawn_for)
    return drawn


@over("seed", [1, *(pytest.param(seed, marks=pytest.mark.campaign) for seed in range(1000, 1012))], elsewhere=[])
def test_engines_may_alternate_at_any_time(
    seed: int, place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = drawn_engines(monkeypatch, seed)
    ops, _ = run(seed, place, workspace, spark, rounds=2 if seed == 1 else 4, count=2)
    assert ops["u"] + ops["d"] > 0, ops
    assert min(drawn["local"], drawn["spark"]) > 0, drawn


@pytest.mark.campaign
@over("rows", [40], elsewhere=[])
def test_spark_continues_if_duckdb_needs_more_memory(
    rows: int, database: str, workspace: Path, spark: SparkSession
) -> None:
    long_text = "text" if database.startswith("postgresql") else "longtext"
    sql(database, f"CREATE TABLE t (id int PRIMARY KEY, v {long_text})")
    table = {"name": "t", "table": "t", "strategy": "id_rcs"}
    made = config(place_of(database).url, {**table, "name": "local", "engine": "local"}, table)
    with opened(made | {"local_memory": "20MB"}, workspace, spark) as project:
        for name in ("t", "local"):
            project.stream(name).prepare()
        for number in range(rows):
            place_of(database).insert("t", [(number, Random(number).randbytes(500_000).hex())])
        with pytest.raises(LocalOutOfMemory, match="ran out of memory"):
            poll(project, "local")
        (outcome,) = poll(project, "t")
        assert outcome.report is not None
        assert outcome.report.counts == {"c": rows}
        assert outcome.report.cost.why_spark == "DuckDB ran out of memory (local_memory)"
        assert project.stream("t").verify() == []


@pytest.mark.campaign
@over("point", ["before_commit"], elsewhere=[])
def test_a_failed_step_leaves_no_views_in_spark(point: str, place: Place, workspace: Path, spark: SparkSession) -> None:
    def views() -> list[str]:
        with provider.working():
            return [row.viewName for row in provider.get().sql("SHOW VIEWS LIKE 'qbcd_*'").collect()]

    def fail() -> None:
        assert views(), "the step has views"
        raise RuntimeError("a failed step")

    place.sql("CREATE TABLE t (id integer PRIMARY KEY, v varchar(9)); INSERT INTO t VALUES (1, 'a')")
    table = {"name": "s", "table": place.table("t"), "strategy": "id_rcs", "engine": "spark"}
    with opened(config(place.url, table), workspace, spark) as project:
        provider = parts_of(project).spark
        project.stream("s").prepare()
        place.sql("UPDATE t SET v = 'b'")
        hooks.register(point, fail)
        try:
            with pytest.raises(QbcdError, match="a failed step"):
                poll(project, "s")
        finally:
            hooks.register(point, None)
        assert views() == []
        (outcome,) = poll(project, "s")
        assert outcome.report is not None
        assert outcome.report.counts == {"u": 1}


@over("engine", ["local", "spark"], elsewhere=[])
def test_verify_works_with_the_engine_of_the_stream(
    engine: EngineName, place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, v varchar(9)); INSERT INTO t VALUES (1, 'a')")
    table = {"name": "s", "table": place.table("t"), "strategy": "id_rcs", "engine": engine}
    with opened(config(place.url, table), workspace, spark) as project:
        project.stream("s").prepare()
        place.sql("UPDATE t SET v = 'b'")
        used, engine_for = Counter[str](), LakeContext.engine_for

        def noted(self: LakeContext, choice: EngineChoice, rows: int) -> AbstractContextManager[Engine]:
            used[choice.engine] += 1
            return engine_for(self, choice, rows)

        monkeypatch.setattr(LakeContext, "engine_for", noted)
        assert [one.op for one in project.stream("s").verify()] == ["u"]
        assert used.keys() == {engine}
