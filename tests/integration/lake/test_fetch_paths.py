"""Each fetch path can be switched off by name.

Polls then take another path and find the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.ranges import key_recovery
from qbcd.sites.lake.fetch import leaf_checksums, page_fallback, paths, recent_writes, two_phase, whole_table
from qbcd.sites.lake.fetch.base import DISABLED, FetchPath
from tests.support import sql
from tests.support.forced_leaves import FORCED, TRACED
from tests.support.oracle import batches, copy_of
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 400
CHANGE = "UPDATE t SET v = v || 'x' WHERE n % 100 = {}"  # other rows each time: updated rows get the same page
LEAVES = {(leaf_checksums, name): value for name, value in FORCED.items()}
RECENT = {(recent_writes, "LEAST_ROWS"): 0, (recent_writes, "MOST_SHARE"): 1.0}
PAGES = {(leaf_checksums, "LEAST_ROWS"): 100, (page_fallback, "FEW"): 0.1, (page_fallback, "PATIENCE"): 1}
# By switch: the thresholds under which polls of a small table take the path, and the path that shows it.
FORCING: dict[str, tuple[Mapping[tuple[Any, str], float], str]] = {
    "whole_table": ({(whole_table, "POLLS"): 1}, "whole_table"),
    "leaf_checksums": (LEAVES, "leaf_checksums"),
    "key_recovery": ({**LEAVES, **{(key_recovery, n): v for n, v in TRACED.items()}}, "streamed_keys"),
    "recent_writes": (RECENT, "recent_writes"),
    "streamed_keys": (RECENT, "streamed_keys"),
    "two_phase": ({(two_phase, "SAVED_BYTES"): -(10**12)}, "two_phase"),
    "page_fallback": (PAGES, "page_fallback"),
}


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which polls append the names of their fetch paths."""
    names, is_taken = list[str](), paths._is_taken

    def watched(path: FetchPath, *args: Any) -> bool:
        names.extend([path.name] if (found := is_taken(path, *args)) else [])
        return found

    monkeypatch.setattr(paths, "_is_taken", watched)
    return names


def test_every_switch_is_tried() -> None:
    assert FORCING.keys() == paths.SWITCHES


@pytest.mark.parametrize("name", FORCING)
def test_polls_find_the_same_without_a_path(
    name: str, database: str, workspace: Path, spark: SparkSession, taken: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    constants, shown_by = FORCING[name]
    for (module, constant), value in constants.items():
        monkeypatch.setattr(module, constant, value)
    key = "md5(i::text)::uuid" if name == "page_fallback" else "i"  # only keys in no order get ranges of pages
    sql(database, f"CREATE TABLE t AS SELECT {key} AS k, i AS n, md5(i::text) AS v FROM generate_series(1, {ROWS}) i")
    sql(database, "ALTER TABLE t ADD PRIMARY KEY (k); ANALYZE t")
    stream = {"name": "s", "table": "public.t", "strategy": {"type": "id_rcs", "rows_per_range": 50}}
    numbers = itertools.count()
    with opened(config(database, stream), workspace, spark) as project:
        copy = copy_of(database, "public.t", ["k"])
        project.stream("s").prepare()
        copy.take_baseline()

        def takes() -> bool:
            taken.clear()
            if name != "whole_table":
                sql(database, CHANGE.format(next(numbers)))
            poll(project, "s")
            copy.replay(batches(workspace / "out/changes", "s"))
            assert copy.differences() == []
            return shown_by in taken

        if name == "page_fallback":  # decided once, after a poll that read most pages
            takes()
            with paths.disabled(name):
                assert not takes()
            assert takes()
        else:
            assert any(takes() for _ in range(3))
            with paths.disabled(name):
                assert not takes()
        assert not DISABLED


def test_a_path_that_polls_need_has_no_switch() -> None:
    for name in ("range_checksums", "whole_ranges", "every_row", "narrow"):
        with pytest.raises(ValueError, match=f"no fetch path to switch off: {name}"), paths.disabled(name):
            pass
    with paths.disabled("streamed_keys"), paths.disabled("streamed_keys", "two_phase"):
        assert {"streamed_keys", "two_phase"} == DISABLED
    assert not DISABLED
