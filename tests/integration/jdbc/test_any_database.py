"""A history on each database in files: replayed events are the table, and an unchanged poll writes nothing.

H2 and DuckDB add up digests of rows, so no row travels then.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qbcd.errors import UnsafeKey
from tests.support.jdbc_histories import History
from tests.support.jdbc_places import IN_FILES, file_place
from tests.support.project import opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def files_of(folder: Path) -> set[str]:
    """Return the names of all files of a project's workdir."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", IN_FILES)
def test_events_of_a_history_give_the_table(jdbc_spark: SparkSession, tmp_path: Path, name: str) -> None:
    history = History(file_place(jdbc_spark, name, tmp_path), tmp_path, seed=11, baseline="events")
    history.change(60)
    with history.open() as project:
        project.prepare()
        project.run(once=True)
        history.replay()
        history.change(30)
        [outcome] = project.run(once=True).outcomes
        assert outcome.error is None
        history.replay()
        before = files_of(tmp_path / "work")
        [outcome] = project.run(once=True).outcomes
        assert outcome.run is not None
        assert outcome.run.outcome == "empty"
        assert files_of(tmp_path / "work") == before
        assert outcome.report is not None
        added_up = name in ("h2", "duckdb")
        assert outcome.report.cost.rows_shipped == (0 if added_up else len(history.rows))


@pytest.mark.campaign
@pytest.mark.parametrize("connections", [1, 3])
def test_a_key_that_becomes_null_is_refused_by_any_number_of_readers(
    jdbc_spark: SparkSession, tmp_path: Path, connections: int
) -> None:
    history = History(file_place(jdbc_spark, "derby", tmp_path), tmp_path, seed=3)
    q = history.place.quoted
    history.place.execute(
        f"CREATE TABLE {q('Loose')} ({q('id')} BIGINT)", *(f"INSERT INTO {q('Loose')} VALUES ({i})" for i in range(30))
    )
    history.settings["sources"]["shop"]["connections"] = connections
    ranges = {"type": "id_rcs", "buckets": "key", "rows_per_range": 5}
    history.settings["tables"][0] |= {"table": "Loose", "key": ["id"], "strategy": ranges}
    with opened(history.settings, tmp_path, jdbc_spark) as project:
        project.prepare()
        history.place.execute(f"UPDATE {q('Loose')} SET {q('id')} = NULL WHERE {q('id')} = 7")
        with pytest.raises(UnsafeKey, match="is NULL in 1 rows"):
            poll(project)
