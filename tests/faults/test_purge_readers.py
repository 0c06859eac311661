"""A row is purged only when every stream that reads it by a timestamp has read it.

The streams reach it by other paths and columns. See docs/design/protocol.md#rule-13.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from tests.support.places import Place, over
from tests.support.project import poll
from tests.support.watched_polls import COLUMNS, SETTLE, Watched, stamped

NUMBERED = COLUMNS + ", ver bigint NOT NULL DEFAULT 0, seen {at}"
LATEST = 60  # polls until transactions of the server itself have ended
SEQUENCE = {"postgresql": "CREATE SEQUENCE ver", "mariadb": "CREATE SEQUENCE ver NOCACHE", "mysql": ""}
GIVEN = {"postgresql": "nextval('ver')", "mariadb": "nextval(ver)", "mysql": "uuid_short()"}


class Purged(Watched):
    """A stream that purges, and others that read the same rows.

    The application numbers each change.
    """

    def __init__(self, place: Place, folder: Path, others: dict[str, Any], **more: Any) -> None:
        if SEQUENCE[place.kind]:
            place.sql(SEQUENCE[place.kind])
        streams = {"s": stamped(place, "tdi", purge=True), **others}
        super().__init__(place, folder, streams, columns=NUMBERED, **more)

    @override
    def flag(self, key: int, flagged: bool = True, conn: Any = None) -> None:
        number = GIVEN[self.place.kind]
        sets = f"gone = {flagged}, at = {self.clock}, seen = {self.clock}, ver = {number}"
        self.run(f"UPDATE t SET {sets} WHERE id = {key}", conn)

    def finds(self, other: str, events: int) -> None:
        """Check the number of events of a stream without a copy.

        A stream whose timestamp is a number needs more polls.
        """
        found = 0
        for _ in range(LATEST if events else 3):
            time.sleep(SETTLE)
            (outcome,) = poll(self.project, other)
            assert outcome.report is not None
            found += sum(outcome.report.counts.values())
            if events and found >= events:
                break
        assert found == events

    def first_found(self) -> list[list[tuple[int, str]]]:
        """Return the events of the first poll that finds any.

        A transaction of the server may delay it.
        """
        for _ in range(LATEST):
            if found := self.ops():
                return found
        return []

    def flagged(self, *remarks: str) -> None:
        """Flag a row that `s` reports; check that it stays, and the warnings."""
        self.flag(5)
        assert self.first_found() == [[(5, "d")]]
        for _ in range(2):
            assert self.poll() == []
            assert self.there(5)
            assert self.outcome.report is not None
            warnings = self.outcome.report.warnings
            assert len(warnings) == len(remarks), warnings
            for warning, remark in zip(warnings, remarks, strict=True):
                assert remark in warning

    def is_purged(self) -> None:
        """Check that the next poll purges the row."""
        assert self.poll() == []
        assert not self.there(5)
        self.check()


@over("by", ["ver", "seen", "xmin"], elsewhere=["ver", "seen"])
def test_another_column_of_the_same_table(place: Place, workspace: Path, by: str) -> None:
    if by == "xmin" and place.kind != "postgresql":
        pytest.skip("has no versions of rows")
    own: dict[str, dict[str, Any]] = {"ver": {"counter": "table"}, "xmin": {"margin": None}}
    more = own.get(by, {})
    other = {k: v for k, v in stamped(place, "ts", timestamp=by, **more).items() if v is not None}
    each = {"other": {"columns": ["v", "n", "gone"]}}
    with Purged(place, workspace, {"other": other}, each=each).fill() as seen:
        seen.finds("other", 0)
        seen.flagged()
        seen.finds("other", 1)
        seen.is_purged()


@over("of", ["part", "whole"], elsewhere=[])
def test_a_part_of_the_table_and_what_it_is_a_part_of(place: Place, workspace: Path, of: str) -> None:
    if place.kind != "postgresql":
        pytest.skip("has no parts of its own name")
    own, other = ("whole_t", "t") if of == "part" else ("t", "whole_t")
    each = {"s": {"table": f"public.{own}"}, "other": {"table": f"public.{other}"}, "apart": {"table": "public.rest"}}
    with Purged(place, workspace, {n: stamped(place, "tdi") for n in ("other", "apart")}, each=each) as seen:
        seen.run(
            "CREATE TABLE whole_t (LIKE t INCLUDING DEFAULTS) PARTITION BY RANGE (id);"
            "ALTER TABLE whole_t ATTACH PARTITION t FOR VALUES FROM (0) TO (1000);"
            "CREATE TABLE rest PARTITION OF whole_t (PRIMARY KEY (id)) DEFAULT;"
            "ALTER TABLE whole_t ADD PRIMARY KEY (id)"
        )
        seen.fill()
        seen.flagged()
        seen.finds("other", 1)
        if of == "whole":
            seen.is_purged()  # the table of the other partition never had the row
        else:
            seen.finds("apart", 0)
            seen.is_purged()


@over("how", ["view", "view of a view", "function"], elsewhere=["view", "view of a view"])
def test_a_view_of_the_table(place: Place, workspace: Path, how: str) -> None:
    """Check that flagged rows stay while another stream reads the table through a view.

    The view may compute its timestamp column from anything.
    """
    if how == "function" and place.kind != "postgresql":
        pytest.skip("has no functions of rows")
    shown = "id, v, n, gone, at"
    each = {"s": {"key": ["id"]}, "other": {"table": place.table("shown"), "key": ["id"]}}
    with Purged(place, workspace, {"other": stamped(place, "tdi")}, each=each) as seen:
        of = "t"
        if how == "view of a view":
            seen.run(f"CREATE VIEW inner_t AS SELECT {shown} FROM t WHERE id > 0")
            of = "inner_t"
        if how == "function":
            seen.run("CREATE FUNCTION rows_t() RETURNS SETOF t LANGUAGE sql STABLE AS 'SELECT * FROM public.t'")
            of = "rows_t()"
        seen.run(f"CREATE VIEW shown AS SELECT {shown} FROM {of}")
        seen.fill()
        seen.flagged(
            f"stay, since stream other reads it through {place.table('shown')}, and it cannot be known how far"
        )
        seen.finds("other", 1)
        seen.poll()
        assert seen.there(5)
        seen.project.stream("other").reset(discard=True)
        seen.is_purged()


@over()
def test_a_view_of_another_table(place: Place, workspace: Path) -> None:
    each = {"other": {"table": place.table("shown"), "key": ["id"]}}
    with Purged(place, workspace, {"other": stamped(place, "ts")}, each=each) as seen:
        seen.run("CREATE TABLE u AS SELECT id, v, n, at FROM t; CREATE VIEW shown AS SELECT * FROM u")
        seen.fill()
        seen.flag(5)
        assert seen.ops() == [[(5, "d")]]
        seen.is_purged()


@over()
def test_a_stream_that_the_project_keeps_by_another_source(place: Place, workspace: Path) -> None:
    """One server under two source names with different schemas for qbcd; a source that is down."""
    again = place.own_schema + "_again"
    with Purged(place, workspace, {"other": stamped(place, "tdi")}) as seen:
        entries = seen.data["sources"]
        entries["again"] = {**entries["shop"], "schema": again}
        seen.data["tables"][1]["source"] = "again"
        seen.reopen()
        try:
            seen.fill()
            seen.flagged()
            entries["again"]["url"] = place.url_as("nobody_of_that_name", "pw")
            seen.reopen()
            assert seen.poll() == []
            assert seen.there(5)
            assert seen.outcome.report is not None
            (warning,) = seen.outcome.report.warnings
            assert "not all streams of this project could be asked how far they have read it: " in warning
            entries["again"]["url"] = place.url
            seen.reopen()
            seen.finds("other", 1)
            seen.is_purged()
        finally:
            if place.kind != "postgresql":
                place.sql(f"DROP DATABASE IF EXISTS {place.quote(again)}")


@pytest.mark.campaign
@over(elsewhere=[])
def test_the_base_of_a_query_by_a_number(place: Place, workspace: Path) -> None:
    if place.kind != "postgresql":
        pytest.skip("has no variant delta")
    strategy = {"type": "vbd", "variant": "delta", "timestamps": {"public.t": "ver"}, "margin": "1ms"}
    query = {"query": "SELECT id, v, n FROM public.t WHERE NOT gone", "strategy": strategy, "key": ["id"]}
    with Purged(place, workspace, {}) as seen:
        seen.data["tables"].append({"name": "other", "source": "shop", "sinks": [], "baseline": "silent", **query})
        seen.reopen()
        seen.fill()
        seen.run("UPDATE t SET ver = nextval('ver')")
        seen.project.stream("other").prepare()
        seen.flagged()
        seen.finds("other", 1)
        seen.is_purged()
