"""Ranges that a restriction on the key excludes are not asked for, and rows that enter it are found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qbcd.model import KeyRange
from qbcd.sites.lake import checksums
from qbcd.sql import excluded_ranges
from tests.golden.plans import CONNECTORS, plan_of
from tests.support.oracle import batches
from tests.support.places import Place, over
from tests.support.project import config, opened, poll

RANGES = [KeyRange(1, None, ("10",)), KeyRange(2, ("10",), ("20",)), KeyRange(3, ("20",), None)]
LIMITS: list[tuple[str, set[int]]] = [
    ("id >= 10", {1}),
    ("id > 9", set()),
    ("id > 19", {1}),
    ("id < 10", {2, 3}),
    ("id <= 10", {3}),
    ("20 <= id", {1, 2}),
    ("id BETWEEN 12 AND 14", {1, 3}),
    ("id = -7", {2, 3}),
    ("(id >= 20) AND v = 'x'", {1, 2}),
    ("id >= 20 OR v = 'x'", set()),
    ("NOT id < 20", set()),
    ("id + 0 >= 20", set()),
    ("v >= 'x'", set()),
]


@over("composite", [False, pytest.param(True, marks=pytest.mark.campaign)])
def test_what_the_text_proves(composite: bool, place: Place) -> None:
    key = ("id", "v") if composite else ("id",)
    for where, expected in LIMITS:
        query = excluded_ranges(CONNECTORS[place.kind], _plan(place.kind, key, where), RANGES)
        found = {int(row[0]) for row in place.sql(query.sql)} if query else set()
        if composite:  # the bound's first value may have rows below the bound
            assert found <= expected, where
        else:
            assert found == expected, where


def _plan(kind: str, key: tuple[str, ...], where: str) -> Any:
    simple = plan_of(kind, "simple", "id_rcs")
    named = (replace(simple.key[0], name="id"), replace(simple.columns[0], name="v"))
    return replace(simple, key=named[: len(key)], columns=named[len(key) :], where=where)


@over("limit", [pytest.param(30, id="where")], elsewhere=[])
def test_a_range_is_asked_again_once_rows_may_be_there(
    limit: int, place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    of_ranges = checksums.checksums

    def noted(poll: Any, known: Any, *more: Any) -> Any:
        asked.append(len(known))
        return of_ranges(poll, known, *more)

    monkeypatch.setattr("qbcd.sites.lake.dirty_ranges.checksums", noted)
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, v integer)")
    place.insert("t", [(i, i) for i in range(40)])
    strategy = {"type": "id_rcs", "rows_per_range": 4, "buckets": "key"}
    data = config(place.url, {"name": "s", "table": place.table("t"), "strategy": strategy, "baseline": "silent"})
    with opened(data, workspace) as project:
        project.stream("s").prepare()
        poll(project, "s")
    data["tables"][0]["where"] = f"id >= {limit}"
    with opened(data, workspace) as project:
        poll(project, "s")
        place.sql("UPDATE t SET v = -1 WHERE id IN (3, 35)")
        poll(project, "s")
    data["tables"][0]["where"] = f"id >= {limit - 10}"
    with opened(data, workspace) as project:
        poll(project, "s")
        poll(project, "s")
        assert project.stream("s").verify() == []
    first, changed, after, wider, _ = asked
    assert (first, changed) == (10, 10), "rows that leave the restriction are looked for"
    assert after <= 4 < wider <= 7
    events = [sorted((e["op"], e["key"]["id"]) for e in batch) for _, batch in batches(workspace / "out/changes", "s")]
    assert events == [[("d", i) for i in range(limit)], [("u", 35)], [("c", i) for i in range(limit - 10, limit)]]
