"""Each strategy on each database with `engine: spark`: the events of the model, by Spark alone."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.api import parts_of
from qbcd.local.database import LocalProvider
from tests.conformance.test_histories import FEW, PLAIN, Histories
from tests.support.places import Place, over
from tests.support.project import opened
from tests.support.variants import VARIANTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST_OF = {variant.strategy["type"]: variant for variant in reversed(VARIANTS)}


def _no_local_work(self: LocalProvider) -> Any:
    raise AssertionError("DuckDB was used")


@over("strategy", sorted(FIRST_OF), elsewhere=[])
def test_spark_does_the_work_of(
    strategy: str, place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QBCD_TEST_ENGINE", "spark")
    monkeypatch.setattr(LocalProvider, "open", _no_local_work)
    made = Histories(place, Random(7), workspace, names=PLAIN, shapes=FEW, wheres={FIRST_OF[strategy]: ("all",)})
    for model in made.models.values():
        model.steps(15)
    with opened(made.configuration(silent=False), workspace, spark) as project:
        made.prepare(project)
        for model in made.models.values():
            model.grow(20)
            model.steps(6)
        with parts_of(project).spark.noting() as use:
            made.poll(project)
        assert use.used
