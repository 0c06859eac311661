"""Refusals of a query, before anything is made and after source or configuration changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from qbcd.api import parts_of
from qbcd.errors import ConfigError, MissingPrivilege, QbcdError, Refused, SchemaChanged, UnsafeKey, UnsupportedType
from tests.support.places import Place, over
from tests.support.project import config, opened, poll

TABLES = """
CREATE TABLE a (id integer NOT NULL PRIMARY KEY, b_id integer, v varchar(9), w varchar(9));
CREATE TABLE b (id integer NOT NULL PRIMARY KEY, name varchar(9));
INSERT INTO b VALUES (1, 'one'), (2, 'two');
INSERT INTO a VALUES (1, 1, 'x', 'x'), (2, 1, 'y', 'x'), (3, NULL, 'x', NULL)
"""
REFUSED: Mapping[str, tuple[str, dict[str, Any], type[QbcdError], str]] = {
    "time": ("SELECT id, CURRENT_DATE AS d FROM {a}", {}, ConfigError, "uses current_date, so that"),
    "column": ("SELECT id, nope FROM {a}", {}, ConfigError, "the query is refused: "),
    "table": ("SELECT id FROM {schema}.nope", {}, ConfigError, "reads {schema}.nope, which does not exist"),
    "limit": ("SELECT id, v FROM {a} ORDER BY v LIMIT 2", {}, Refused, "LIMIT takes other rows"),
    "no key": ("SELECT v, w FROM {a}", {}, UnsafeKey, "nothing in the query"),
    "twice": ("SELECT v, w FROM {a}", {"key": ["v"]}, UnsafeKey, "key (v) has duplicate or NULL"),
    "null": ("SELECT w, COUNT(*) AS n FROM {a} GROUP BY w", {}, UnsafeKey, "key (w) has duplicate or NULL"),
    "grouped": ("SELECT v, w, COUNT(*) AS n FROM {a} GROUP BY v", {}, ConfigError, "the query is refused: "),
    "where": ("SELECT id FROM {a}", {"where": "v = 'x'"}, ConfigError, "the restriction is refused"),
}

COMPARED_AS_CITEXT = (
    "SELECT c.id FROM public.c AS c JOIN {a} AS a ON a.v = c.v",
    "SELECT id, lower(v) AS v FROM public.c",
    "SELECT c.id FROM public.c JOIN {a} AS a USING (v)",
    "SELECT c.id FROM public.c NATURAL JOIN {a} AS a",
    "SELECT d.id FROM (SELECT id, v AS w FROM public.c) AS d WHERE d.w = 'x'",
    "SELECT id FROM (SELECT * FROM public.c) AS d WHERE v = 'x'",
    "SELECT e.id FROM (SELECT d.id, (d.w) AS u FROM (SELECT id, v AS w FROM public.c) AS d) AS e WHERE e.u = 'x'",
    "SELECT d.p FROM (SELECT id, v FROM public.c) AS d(p, q) WHERE q = 'x'",
    "WITH d AS (SELECT id, v AS w FROM public.c) SELECT x.id FROM d AS x WHERE x.w > 'x'",
    "SELECT id FROM (SELECT id, NULL AS w FROM {a} UNION ALL SELECT id, v FROM public.c) AS d WHERE w > 'x'",
    "SELECT id FROM {a} WHERE v IN (SELECT v AS w FROM public.c)",
    "SELECT id FROM {a} AS a WHERE v = (SELECT c.v FROM public.c WHERE c.id = a.id)",
    "SELECT a.id FROM {a} AS a WHERE (a.id, a.v) IN (SELECT c.id, c.v FROM public.c)",
    "SELECT c.id FROM public.c AS c WHERE (c.id, c.v) = (1, 'x')",
    "SELECT id FROM {a} WHERE v = ANY (SELECT d.w FROM (SELECT v AS w FROM public.c) AS d)",
)


def stream(place: Place, query: str, variant: str = "compare", **more: Any) -> dict[str, Any]:
    names = {"a": place.table("a"), "b": place.table("b"), "schema": place.schema}
    return config(
        place.url,
        {"name": "q", "query": query.format(**names), "strategy": {"type": "vbd", "variant": variant}, **more},
    )


@over(elsewhere=None)
def test_before_anything_is_made(place: Place, workspace: Path) -> None:
    place.sql(TABLES)
    for name, (query, more, error, why) in REFUSED.items():
        with opened(stream(place, query, **more), workspace / name, None) as project:
            with pytest.raises(error) as caught:
                project.stream("q").prepare()
            assert why.format(schema=place.schema) in caught.value.what, name
            assert caught.value.where or caught.value.stream, name
    assert not any(name.startswith(f"{place.own_schema}.") for name in place.contents(()))


def test_refusals_of_this_database_only(place: Place, workspace: Path) -> None:
    place.sql(
        TABLES
        + """; CREATE TABLE hidden (id integer NOT NULL PRIMARY KEY);
        ALTER TABLE hidden ENABLE ROW LEVEL SECURITY"""
    )
    cases: dict[str, tuple[type[QbcdError], str]] = {
        "SELECT * FROM {a} AS a JOIN {b} AS b ON b.id = a.b_id": (ConfigError, 'two columns called "id"'),
        "SELECT id FROM a": (ConfigError, "names a without its schema"),
        'SELECT id, v COLLATE "C" || (w COLLATE "POSIX") AS x FROM {a}': (ConfigError, "the query is refused"),
        'SELECT id, CASE id WHEN 1 THEN p ELSE q END AS x FROM (SELECT id, v COLLATE "C" AS p, w COLLATE "POSIX" AS q '
        "FROM {a}) AS s": (UnsupportedType, "the collation of its texts is not defined"),
    }
    for query, (error, why) in cases.items():
        with opened(stream(place, query), workspace / str(len(query)), None) as project:
            with pytest.raises(error) as caught:
                project.stream("q").prepare()
            assert why in caught.value.what
    place.sql("CREATE EXTENSION citext SCHEMA public; CREATE TABLE c (id integer PRIMARY KEY, v public.citext)")
    for query in COMPARED_AS_CITEXT:
        with opened(stream(place, query), workspace / "c", None) as project, pytest.raises(ConfigError) as caught:
            project.stream("q").prepare()
        assert "whose operators are in schema public" in caught.value.what, query
    with place.user() as role:
        place.grant("SELECT", "a", role)
        place.grant("SELECT", "hidden", role)
        place.sql(f"GRANT USAGE ON SCHEMA {place.schema} TO {role}")
        joined = "SELECT a.id, b.name FROM {a} AS a LEFT JOIN {b} AS b ON b.id = a.b_id"
        for query, kind, why in (
            (joined, MissingPrivilege, "SELECT from public.b"),
            ("SELECT a.id FROM {a} AS a JOIN public.hidden AS h ON h.id = a.id", Refused, "row-level security"),
        ):
            data = stream(place, query)
            data["sources"]["shop"]["url"] = place.url_as(role)
            with opened(data, workspace / str(len(query)), None) as project:
                with pytest.raises(kind) as refused:
                    project.stream("q").prepare()
                assert why in refused.value.what
    plain = (
        "SELECT v, count(v) AS n FROM public.c WHERE v IS NOT NULL AND v::text <> 'x' GROUP BY v",
        "SELECT d.id, d.w, a.v FROM (SELECT id, v AS w FROM public.c) AS d JOIN {a} AS a ON a.id = d.id AND a.v = 'x'",
        "SELECT d.id FROM (SELECT id, v::text AS w FROM public.c WHERE EXISTS (SELECT v FROM public.c)) AS d "
        "WHERE d.w = 'x'",
    )
    for number, query in enumerate(plain):
        with opened(stream(place, query), workspace / f"d{number}", None) as project:
            project.stream("q").prepare()
            place.sql("DROP SCHEMA qbcd CASCADE")


def test_a_query_or_what_it_reads_is_another(place: Place, workspace: Path) -> None:
    place.sql(TABLES)
    query = "SELECT a.id, a.v, b.name FROM {a} AS a LEFT JOIN {b} AS b ON b.id = a.b_id"

    def refused(why: str, more: str = "", **settings: Any) -> None:
        data = stream(place, query + more, **settings)
        with opened(data, workspace, None) as project, pytest.raises(SchemaChanged) as caught:
            poll(project)
        assert why in str(caught.value)

    with opened(stream(place, query), workspace, None) as project:
        project.stream("q").prepare()
        assert not project.stream("q").verify()
    refused("where is fixed at prepare, and was changed in the configuration since", where="id > 1")
    refused("query is fixed at prepare, and was changed in the configuration since", " WHERE a.id > 0")
    place.sql("ALTER TABLE b RENAME COLUMN name TO named")
    refused("column b.name does not exist")
    place.sql("ALTER TABLE b RENAME COLUMN named TO name; ALTER TABLE b ALTER COLUMN name TYPE integer USING 1")
    refused("captured column 'name' of query q is integer now")
    place.sql("ALTER TABLE b ALTER COLUMN name TYPE varchar(40)")
    with opened(stream(place, query), workspace, None) as project:
        poll(project)


def test_auto_takes_what_the_source_allows(place: Place, workspace: Path) -> None:
    place.sql(TABLES)
    rows, one = "SELECT id, v FROM {a}", "SELECT COUNT(*) AS n FROM {a}"
    for number, (query, key, kind) in enumerate(
        ((rows, {}, "database"), (one, {}, "database"), (one, {"key": "none"}, "lake"))
    ):
        with opened(stream(place, query, "auto", **key), workspace / str(number), None) as project:
            assert parts_of(project).open_stream("q").site.context.kind == kind
    with place.user() as role:
        place.grant("SELECT", "a", role)
        place.sql(f"GRANT USAGE ON SCHEMA {place.schema} TO {role}")
        data = stream(place, rows, "auto")
        with opened(data, workspace / "database", None) as project:
            project.stream("q").prepare()
        data["sources"]["shop"]["url"] = place.url_as(role)
        with opened(data, workspace / "reader", None) as project:
            assert parts_of(project).open_stream("q").site.context.kind == "lake"
        place.sql(f"GRANT USAGE ON SCHEMA qbcd TO {role}; GRANT SELECT ON ALL TABLES IN SCHEMA qbcd TO {role}")
        with opened(data, workspace / "database", None) as project:  # it stays as it was prepared
            assert parts_of(project).open_stream("q").site.context.kind == "database"
