"""Restrictions and queries with random values or texts that mean the present time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from qbcd.errors import ConfigError
from tests.support.places import FIRST, Place, over
from tests.support.project import config, opened

TABLE = "CREATE TABLE t (id integer PRIMARY KEY, a text, d date, at timestamp NOT NULL DEFAULT current_timestamp)"
TS: dict[str, Any] = {"type": "ts", "timestamp": "at", "zone": "UTC"}

MOVES = "whose value changes without the row's timestamp"
MOVING = "which is the present time, so that its result changes by itself"


def refusal(place: Place, workspace: Path, **stream: Any) -> str:
    """Return the message with which `prepare` refuses the stream, or an empty string."""
    with opened(config(place.url, {"name": "s", "baseline": "silent", **stream}), workspace) as project:
        try:
            project.stream("s").prepare()
        except ConfigError as error:
            return error.what
        project.stream("s").reset(discard=True)
        return ""


@over("strategy", ["mds", "id", "id_rcs"], elsewhere=[])
def test_a_restriction_by_chance(strategy: str, place: Place, workspace: Path) -> None:
    place.sql(TABLE)
    words = ["random() < 0.5", "gen_random_uuid() IS NULL"] if place.kind == FIRST else ["rand() < 0.5", "uuid() > a"]
    for word in words:
        message = refusal(place, workspace, table=place.table("t"), where=word, strategy=strategy)
        assert message.startswith(f"the restriction uses {word.split('(')[0]}, whose value differs at each read")
    assert not refusal(place, workspace, table=place.table("t"), where="id > 0", strategy="mds")


OPERATOR = """
CREATE TABLE u (n integer); INSERT INTO u VALUES (5);
CREATE FUNCTION {kind}_most(a integer, b integer) RETURNS boolean LANGUAGE sql {kind} AS 'SELECT a < b';
CREATE OPERATOR public.## (LEFTARG = integer, RIGHTARG = integer, FUNCTION = public.{kind}_most)
"""


@pytest.mark.parametrize(("kind", "operator"), [("stable", "operator(public.##)"), ("immutable", "")])
def test_an_operator_of_the_users_own(place: Place, workspace: Path, kind: str, operator: str) -> None:
    """As with a function of the user's own.

    If it is not declared immutable, its value may change.
    """
    place.sql(f"{TABLE}; {OPERATOR.format(kind=kind)}")
    where = "id OPERATOR(public.##) 5"
    found = refusal(place, workspace, table="public.t", where=where, strategy=TS)
    assert found.split(";")[0] == (f"the restriction uses {operator}, {MOVES}" if operator else "")
    query = f"SELECT id FROM public.t WHERE {where}"
    found = refusal(place, workspace, query=query, strategy={"type": "vbd", "variant": "compare"})
    assert found == (f"the query uses {operator}, so that its result changes by itself" if operator else "")


@pytest.mark.parametrize(
    ("where", "moment"),
    [
        ("d IN ('2020-01-01', 'now')", "'now'"),
        ("at > '2020-01-01' AND a = 'now'", ""),
        *(
            pytest.param(where, moment, marks=pytest.mark.campaign)
            for where, moment in (
                ("at < 'now'", "'now'"),
                ("d >= date 'today'", "'today'"),
                ("'yesterday'::date < d", "'yesterday'"),
                ("at <= 'Today 12:00'", "'Today 12:00'"),
                ("coalesce(d, 'tomorrow') IS NULL", "'tomorrow'"),
                ("CASE WHEN d > '2024-01-01' THEN 'today' ELSE 'old' END = 'today'", ""),
                ("a = 'now'", ""),
                ("md5(a) = ('today')", ""),
                ("d = 'epoch'", ""),
            )
        ),
    ],
)
def test_a_text_that_is_the_present_time(place: Place, workspace: Path, where: str, moment: str) -> None:
    """By timestamp, rows would enter and leave unseen; a query's result would change by itself."""
    place.sql(TABLE)
    message = refusal(place, workspace, table="public.t", where=where, strategy=TS)
    assert message.split(";")[0] == (f"the restriction uses {moment}, {MOVES}" if moment else "")
    query = f"SELECT id, 'now' AS label FROM public.t WHERE {where}"
    message = refusal(place, workspace, query=query, strategy={"type": "vbd", "variant": "compare"})
    assert message == (f"the query uses {moment}, {MOVING}" if moment else "")
