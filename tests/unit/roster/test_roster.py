"""Streams of patterns: the tables that they match, new and dropped tables, names, sources that do not answer."""

from __future__ import annotations

from typing import Any

import pytest

from qbcd.config import config_from_dict
from qbcd.config.patterns import TablePattern
from qbcd.connectors.facts import ListedTable
from qbcd.errors import SourceError
from qbcd.roster.known_tables import KnownTable
from qbcd.roster.roster import Roster, SourceTables, roster_of

APP = tuple(ListedTable("app", name) for name in ("a", "b", "tmp_x"))


def roster(
    *entries: dict[str, Any],
    tables: tuple[ListedTable, ...] = APP,
    known: tuple[KnownTable, ...] = (),
    error: SourceError | None = None,
    named: dict[str, tuple[str, str]] | None = None,
) -> Roster:
    config = config_from_dict(
        {
            "version": 1,
            "sources": {"shop": {"url": "postgresql://reader@127.0.0.1/shop"}},
            "defaults": {"source": "shop", "strategy": "mds"},
            "tables": list(entries),
        }
    )
    listed = {"shop": SourceTables(tables, named or {}, frozenset({"qbcd"}), error)}
    return roster_of(config, listed, known)


def row(name: str, state: Any = "captured") -> KnownTable:
    return KnownTable(name, "shop", "app", name, state)


ALL = {"tables": "app.*"}
CAPTURE = {**ALL, "new_tables": "capture"}


@pytest.mark.parametrize(
    ("pattern", "matched", "not_matched"),
    [
        ("app.*", ("app", "orders"), ("app2", "orders")),
        ("app.t_*_x", ("app", "t_1_x"), ("app", "t_1_y")),
        ("*.orders", ("crm", "orders"), ("crm", "order")),
        ('"My App".*', ("My App", "t"), ("My", "t")),
        ('app."a*b"', ("app", "a*b"), ("app", "axb")),
        ("app.a.b", None, None),
        ("app", None, None),
        ("", None, None),
    ],
)
def test_patterns(pattern: str, matched: tuple[str, str] | None, not_matched: tuple[str, str] | None) -> None:
    if matched is None or not_matched is None:
        with pytest.raises(ValueError, match="not a pattern"):
            TablePattern.parse(pattern)
        return
    assert TablePattern.parse(pattern).matches(*matched)
    assert not TablePattern.parse(pattern).matches(*not_matched)


@pytest.mark.parametrize(
    ("made", "streams"),
    [
        (roster(ALL), ["a", "b", "tmp_x"]),
        (roster({**ALL, "exclude": ["app.tmp_*"]}), ["a", "b"]),
        (roster({**ALL, "name": "{schema}.{table}"}), ["app.a", "app.b", "app.tmp_x"]),
        (
            roster({**ALL, "exclude": "app.tmp_*"}, {"table": "app.b", "strategy": "id_rcs", "name": "bees"}),
            ["a", "bees"],
        ),
        (roster({"table": "b"}, ALL, named={"b": ("app", "b")}), ["b", "a", "tmp_x"]),
        (roster({"tables": "app.tmp_*", "strategy": "id_rcs"}, ALL), ["tmp_x", "a", "b"]),
        (roster({"tables": "*.*"}, tables=(*APP[:1], ListedTable("qbcd", "stream"))), ["a"]),
        # partitions, and children of a table that is captured, are read with it
        (
            roster(
                {"tables": "*.*"},
                tables=(
                    ListedTable("app", "ev"),
                    ListedTable("app", "ev_1", ("app", "ev"), True),
                    ListedTable("app", "child", ("app", "ev")),
                    ListedTable("app", "stray", ("other", "parent")),
                ),
            ),
            ["ev", "stray"],
        ),
        (roster({"tables": "parts.*"}, tables=(ListedTable("parts", "ev_1", ("app", "ev"), True), *APP)), []),
    ],
)
def test_streams_of_patterns(made: Roster, streams: list[str]) -> None:
    assert list(made.streams) == streams
    assert made.new == {}


def test_single_entries_override_with_their_own_options() -> None:
    made = roster(ALL, {"table": "app.b", "strategy": "id_rcs"})
    assert {name: one.strategy for name, one in made.streams.items()} == {"a": "mds", "tmp_x": "mds", "b": "id_rcs"}


@pytest.mark.parametrize(
    ("made", "streams", "new", "appeared"),
    [
        (roster(ALL, known=(row("a"),)), ["a"], ["b", "tmp_x"], ["b", "tmp_x"]),
        (roster(ALL, known=(row("a"), row("b", "reported"))), ["a"], ["b", "tmp_x"], ["tmp_x"]),
        (roster(CAPTURE, known=(row("a"),)), ["a", "b", "tmp_x"], [], ["b", "tmp_x"]),
        (roster(CAPTURE, known=(row("a"), row("b", "reported"))), ["a", "b", "tmp_x"], [], ["b", "tmp_x"]),
        (roster(ALL, known=(row("a"), row("b", "gone"), row("tmp_x"))), ["a", "b", "tmp_x"], [], []),
    ],
)
def test_tables_that_appear(made: Roster, streams: list[str], new: list[str], appeared: list[str]) -> None:
    assert (list(made.streams), list(made.new), made.appeared) == (streams, new, appeared)


def test_tables_that_are_dropped_are_reported_once() -> None:
    known = (row("a"), row("b"), row("c"), row("d", "gone"), row("e", "reported"))
    made = roster(ALL, tables=APP[:2], known=known)
    assert list(made.streams) == ["a", "b"]
    assert (sorted(made.dropped), made.unreported) == (["c", "d"], ["c"])


def test_if_all_tables_have_gone_their_streams_stay() -> None:
    """A role that lost its rights sees no table; the polls of the streams report that."""
    made = roster(ALL, tables=(), known=(row("a"), row("b")))
    assert (list(made.streams), made.dropped) == (["a", "b"], {})
    assert "no table of source shop matches app.*" in str(made.problems[0])


def test_a_source_that_does_not_answer_has_the_streams_of_the_record() -> None:
    made = roster(ALL, tables=(), known=(row("a"), row("b", "reported")), error=SourceError("down"))
    assert (list(made.streams), made.dropped, [str(one) for one in made.problems]) == (["a"], {}, ["down"])


@pytest.mark.parametrize(
    ("entries", "tables", "problem"),
    [
        ([ALL], (ListedTable("app", "odd name"), *APP), '"odd name" cannot be a stream\'s name'),
        ([{"tables": ["app.*", "crm.*"]}], (*APP, ListedTable("crm", "a")), "would have the same stream a"),
        ([ALL, {"table": "crm.a"}], APP, "the name of tables[1]"),
        ([{"tables": "crm.*"}], APP, "no table of source shop matches crm.*"),
    ],
)
def test_problems_leave_the_other_tables(
    entries: list[dict[str, Any]], tables: tuple[ListedTable, ...], problem: str
) -> None:
    made = roster(*entries, tables=tables)
    assert [problem in str(one) for one in made.problems] == [True]
    assert len(made.streams) == (0 if "no table" in problem else 3)
