"""Page counts of ranges: counted or estimated, kept, shown, renewed, and what splits and merges ranges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from qbcd import status
from qbcd.api import Project, parts_of
from tests.support.places import Place, over
from tests.support.project import config, opened, poll

ROWS = 400
WIDE, WIDER = 700, 3000  # bytes of a row; the update makes pages, and no rows
TARGET = 10


@pytest.fixture
def data(place: Place) -> dict[str, Any]:
    """Return stream `s`, whose ranges have `TARGET` pages; there are rows in `ROWS` pages and fewer."""
    place.sql(f"CREATE TABLE t (id integer PRIMARY KEY, v varchar({WIDER}))")
    if place.kind == "postgresql":
        place.sql("ALTER TABLE t ALTER COLUMN v SET STORAGE PLAIN")
    place.insert("t", [(i, "x" * WIDE) for i in range(ROWS)])
    analyze(place)
    strategy = {"type": "id", "pages_per_range": TARGET}
    return config(place.url, {"name": "s", "table": place.table("t"), "strategy": strategy, "baseline": "silent"})


def analyze(place: Place) -> None:
    place.sql("ANALYZE t" if place.kind == "postgresql" else "ANALYZE TABLE t")


def stored(place: Place) -> dict[int, int]:
    """Return the stored pages by range; only of ranges that exist."""
    own = place.own_schema
    found = place.sql(
        f"SELECT r.range_id, p.pages FROM {own}.range r JOIN {own}.range_pages p "
        "ON p.stream = r.stream AND p.range_id = r.range_id"
        if place.kind == "postgresql"
        else f"SELECT r.range_id, p.pages FROM {own}.`range` r JOIN {own}.range_pages p "
        "ON p.stream = r.stream AND p.range_id = r.range_id"
    )
    return {int(range_id): int(pages) for range_id, pages in found}


def shown(project: Project) -> tuple[int, int, int]:
    """Return the ranges, those with a page count, and the sum of the counts, as in the status."""
    visits = status.stream_status(parts_of(project).open_stream("s")).visits
    assert visits is not None
    return visits.ranges, *((visits.pages.counted, visits.pages.total) if visits.pages else (0, 0))


@over()
def test_ranges_are_split_and_merged_by_their_pages(place: Place, data: dict[str, Any], workspace: Path) -> None:
    with opened(data, workspace) as project:
        project.stream("s").prepare()
        before = stored(place)
        assert before
        assert shown(project) == (len(before), len(before), sum(before.values()))
        if place.kind == "postgresql":
            assert list(before.values()) == [10, 10, 10, 7]  # eleven rows a page
        place.sql(f"DROP TABLE {place.own_schema}.range_pages")  # as a version without page counts leaves it
        assert shown(project) == (len(before), 0, 0)
        poll(project, "s")
        assert stored(place) == before, "what an older version left is counted by the next poll"

        place.sql(f"UPDATE t SET v = '{'y' * WIDER}'")
        analyze(place)
        poll(project, "s")
        wider = stored(place)
        assert len(wider) >= 2 * len(before), "there are as many rows as before, on more pages"
        assert max(wider.values()) <= 2 * TARGET
        if place.kind == "postgresql":
            assert sum(wider.values()) >= ROWS / 2  # two rows a page

        place.sql(f"DELETE FROM t WHERE mod(id, 50) > 0; UPDATE t SET v = '{'z' * WIDE}'")
        if place.kind != "postgresql":
            place.sql("OPTIMIZE TABLE t")  # statistics count empty pages too
        analyze(place)
        poll(project, "s")
        assert len(stored(place)) < len(wider)
        assert shown(project)[:2] == (len(stored(place)),) * 2
        assert project.stream("s").verify() == []


def test_status_shows_the_pages_of_ranges(place: Place, data: dict[str, Any], workspace: Path) -> None:
    with opened(data, workspace) as project:
        project.stream("s").prepare()
        facts = dict(status_lines(project))
        assert facts["pages"] == "37 in 4 ranges; the largest has 10 pages"


def status_lines(project: Project) -> list[tuple[str, str]]:
    from qbcd.cli.status import _facts

    return list(_facts(status.stream_status(parts_of(project).open_stream("s"))))


def test_a_role_that_cannot_create_the_table_polls_as_before(
    place: Place, data: dict[str, Any], workspace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """State of an older version, made by a DBA."""
    with opened(data, workspace) as project:
        project.stream("s").prepare()
    place.sql("DROP TABLE qbcd.range_pages")
    place.sql("DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN; GRANT USAGE ON SCHEMA qbcd, public TO guest")
    place.sql("GRANT ALL ON ALL TABLES IN SCHEMA qbcd, public TO guest")
    try:
        with opened({**data, "sources": {"shop": {"url": place.url_as("guest")}}}, workspace) as project:
            place.sql("INSERT INTO t VALUES (1000, 'new')")
            for _ in range(2):
                poll(project, "s")
            assert shown(project) == (4, 0, 0)
            assert sum(status.stream_status(parts_of(project).open_stream("s")).events.values()) == 1
        assert caplog.text.count("no right to create table range_pages in schema qbcd") == 1
    finally:
        place.sql("DROP OWNED BY guest; DROP ROLE guest")
