"""Longer histories on each database in files, with many buckets and with rows without old values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.jdbc_histories import History
from tests.support.jdbc_places import IN_FILES, file_place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.campaign
@pytest.mark.parametrize("replica", ["rows", "digest"])
@pytest.mark.parametrize("name", IN_FILES)
def test_events_of_a_long_history_give_the_table(
    jdbc_spark: SparkSession, tmp_path: Path, name: str, replica: str
) -> None:
    strategy = {"type": "id_rcs", "rows_per_range": 20, "replica": replica}
    history = History(file_place(jdbc_spark, name, tmp_path), tmp_path, seed=7, baseline="events", strategy=strategy)
    history.change(300)
    with history.open() as project:
        project.prepare()
        project.run(once=True)
        history.replay()
        for number in (1, 5, 60, 2, 120):
            history.change(number)
            [outcome] = project.run(once=True).outcomes
            assert outcome.error is None
            history.replay()
        [checked] = project.verify()
        assert checked.differences is not None
        assert not list(checked.differences)
