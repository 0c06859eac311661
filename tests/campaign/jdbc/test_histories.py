"""Longer histories on each database in files, with many buckets and with rows without old values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.firebird_server import VERSIONS
from tests.support.jdbc_histories import History
from tests.support.jdbc_places import IN_FILES, JdbcPlace


@pytest.mark.campaign
@pytest.mark.parametrize("replica", ["rows", "digest", "wide digest"])
@pytest.mark.parametrize("name", [*IN_FILES, *VERSIONS])
def test_events_of_a_long_history_give_the_table(
    new_place: Callable[[str], JdbcPlace], tmp_path: Path, name: str, replica: str
) -> None:
    kept = {"replica": "digest", "digest": 128} if replica == "wide digest" else {"replica": replica}
    strategy = {"type": "id_rcs", "rows_per_range": 20, **kept}
    history = History(new_place(name), tmp_path, seed=7, baseline="events", strategy=strategy)
    history.change(300)
    with history.open() as project:
        [prepared] = project.prepare()
        assert prepared.error is None
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
