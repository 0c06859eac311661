"""Contents of a skeleton, and queries that have none, without a server.

Integration tests compare the rest with the true result.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from qbcd.connectors.queries import SupportsIncrementalQueries
from qbcd.errors import Refused
from qbcd.queries.qualify import prepare_query
from qbcd.queries.syntax_tree import NotIncremental
from qbcd.queries.unsupported import refusals
from qbcd.queries.views import check_written_again
from qbcd.strategies import VbdDelta
from qbcd.strategies.incremental.affected_keys import Skeleton
from tests.golden.plans import CONNECTORS, plan_of

COLUMNS = {("public", t): ["id", "f", "g", "Mixed Case"] for t in "abc"}
FG = "(SELECT f, g FROM public.b)"
WINDOW = "has window functions, whose values depend on other rows"
LIMIT = "keeps some rows only (LIMIT)"


def tree(text: str) -> Any:
    return sqlglot.parse_one(text, read="postgres")


def skeleton(text: str, *key: str) -> Skeleton:
    return Skeleton(prepare_query(tree(text), "postgres", COLUMNS), key)


def restricted(text: str, *key: str, exact: bool = True) -> str:
    keys = exp.to_table("q.k")
    return skeleton(text, *key).restricted(keys, key if exact else ()).sql(dialect="postgres")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT id, rank() OVER (ORDER BY g) AS r FROM public.a", WINDOW),
        ("SELECT a.id FROM public.a JOIN (SELECT f FROM public.b ORDER BY id LIMIT 1) AS d ON d.f = a.id", LIMIT),
        ("SELECT DISTINCT ON (g) g, id FROM public.a ORDER BY g, id", "keeps one row of several (DISTINCT ON)"),
        ("SELECT g, f, COUNT(*) AS n FROM public.a GROUP BY ROLLUP (g, f)", "groups in several ways at once"),
        ("SELECT id FROM public.a UNION SELECT id FROM public.b LIMIT 3", LIMIT),
        ("SELECT a.id FROM ONLY public.a", "reads a part of a table"),
        ("SELECT a.id FROM public.a TABLESAMPLE SYSTEM (5)", "reads a part of a table"),
        ("SELECT a.id FROM public.a LEFT JOIN (public.b JOIN public.c USING (f)) ON b.id = a.f", "joins by USING or"),
        ("SELECT a.id FROM public.a LEFT JOIN (public.b NATURAL JOIN public.c) ON b.id = a.f", "joins by USING or NAT"),
        (
            "SELECT a.id FROM public.a JOIN (public.b JOIN public.c ON c.f = b.f) USING (id)",
            "has JOIN .. USING next to",
        ),
        ("SELECT j.id FROM (public.a JOIN public.b USING (id)) AS j", "joins by USING or NATURAL within brackets"),
        (
            "SELECT a.id FROM public.a LEFT JOIN (public.b JOIN public.c ON c.id IN (SELECT f FROM public.a)) "
            "ON b.id = a.f AND EXISTS (SELECT 1 FROM public.c AS x WHERE x.f = c.f)",
            "has a subquery in the condition of an outer join",
        ),
        (
            "SELECT a.id, s.n FROM public.a CROSS JOIN generate_series(1, 2) AS s(n)",
            "reads from something other than a",
        ),
        ("SELECT a.id FROM public.a JOIN (VALUES (1), (2)) AS v(n) ON v.n = a.f", "reads from something other than a"),
        ("SELECT a.id, own(a.f) AS n FROM public.a", "calls own, which may not return"),
        ("SELECT id FROM public.a WHERE f > (SELECT AVG(f) FROM public.b)", "has a subquery that does not depend"),
        (
            "SELECT id FROM public.a WHERE EXISTS (SELECT 1 FROM public.b WHERE g = 1)",
            "has a subquery that does not depend",
        ),
        (
            "SELECT a.id FROM public.a LEFT JOIN public.b "
            "ON b.f = a.id AND EXISTS (SELECT 1 FROM public.c WHERE c.f = b.id)",
            "has a subquery in the condition of an outer join",
        ),
        (
            "SELECT c.id FROM public.a JOIN public.b ON b.f = a.id AND a.g IN (SELECT x.f FROM public.c AS x) "
            "RIGHT JOIN public.c ON c.id = a.f",
            "has a subquery in the condition of an outer join",
        ),
        (
            "SELECT g, COUNT(*) AS n FROM public.a GROUP BY g "
            "HAVING EXISTS (SELECT 1 FROM public.b WHERE b.f = MAX(a.f))",
            "aggregates rows of the outer query in a subquery",
        ),
        ("SELECT a.id FROM public.a, public.b RIGHT JOIN public.c ON c.id = b.f", "mixes a comma in FROM with a RIGHT"),
        (
            "SELECT a.id FROM public.a, (SELECT COUNT(*) IN (SELECT f FROM public.c) AS n FROM public.b) AS d",
            "has a subquery next to aggregates without GROUP BY",
        ),
        ("SELECT id FROM public.a WHERE ROW(f, g) IN (SELECT f, g FROM public.b)", "compares a row with a subquery"),
        ("SELECT id FROM public.a WHERE ((f, g)) NOT IN (SELECT f, g FROM public.b)", "compares a row with a subquery"),
        ("SELECT a.id FROM public.a NATURAL JOIN public.b", "has a NATURAL JOIN"),
        ("SELECT a.id FROM public.a RIGHT JOIN public.b USING (f)", "has JOIN .. USING (f)"),
        ("SELECT a.id FROM public.a FULL JOIN public.b USING (f) LEFT JOIN public.c USING (f)", "has JOIN .. USING"),
        ("SELECT a.id FROM public.a, public.b LEFT JOIN public.c USING (f)", "has JOIN .. USING (f)"),
        ("SELECT b.id FROM (SELECT 1 AS n FROM public.a) AS d, public.b LEFT JOIN public.c USING (f)", "has JOIN .."),
        ("SELECT md5(a.*::text) AS h FROM public.a", 'uses a whole row as one value ("a".*)'),
        ("SELECT a.id FROM public.a WHERE a IS NOT NULL", 'uses a whole row as one value ("a")'),
        ("SELECT f, COUNT(a) AS n FROM public.a GROUP BY f", 'uses a whole row as one value ("a")'),
        ("SELECT a.id FROM public.a WHERE EXISTS (SELECT 1 FROM public.b WHERE a IS NULL)", "uses a whole row"),
        *(
            (f"SELECT o.g FROM public.a AS o WHERE EXISTS (SELECT {inner})", "uses id, but a column of")
            for inner in (
                f"i.f AS id FROM {FG} AS i WHERE i.g = id",
                f"i.f AS id, id + 1 AS w FROM {FG} AS i",
                f"i.f AS id FROM {FG} AS i GROUP BY i.f HAVING MAX(i.g) > id",
                f"1 FROM (SELECT i.f AS id FROM {FG} AS i WHERE i.g = id) AS d",
                f"i.f AS id FROM {FG} AS i GROUP BY i.f, id + 1",
            )
        ),
    ],
)
def test_refused(query: str, reason: str) -> None:
    try:
        found = refusals(prepare_query(tree(query), "postgres", COLUMNS).tree)
    except NotIncremental as refused:  # the reason why it has no skeleton at all
        found = [str(refused)]
    assert any(text.startswith(reason) or reason in text for text in found), found


@pytest.mark.parametrize(
    ("query", "key", "reason"),
    [
        ("SELECT MAX(id) AS k, g FROM public.a GROUP BY g", "k", "computes its key column k"),
        ("SELECT d.n AS k FROM (SELECT g, COUNT(*) AS n FROM public.a GROUP BY g) AS d", "k", "computes its key"),
        ("SELECT (SELECT MAX(b.id) FROM public.b WHERE b.f = a.id) AS k FROM public.a", "k", "computes its key"),
        ("SELECT a.nothing AS k FROM public.a", "k", "has names that cannot be resolved"),
        ("WITH RECURSIVE t AS (SELECT id FROM public.a UNION ALL SELECT id + 1 FROM t) SELECT id FROM t", "id", "is "),
    ],
)
def test_no_skeleton(query: str, key: str, reason: str) -> None:
    with pytest.raises(NotIncremental) as caught:
        skeleton(query, key)
    assert str(caught.value).startswith(reason)


def test_a_key_goes_as_far_inside_as_equality_leads() -> None:
    text = restricted(
        "SELECT a.id, d.n FROM public.a LEFT JOIN (SELECT b.f, COUNT(*) AS n FROM public.b GROUP BY b.f) AS d "
        "ON d.f = a.id",
        "id",
    )
    assert text.count("EXISTS") == 2
    assert 'WHERE "qbcd_k"."id" = "q2"."f") GROUP BY "q2"."f") AS "q1"' in text


@pytest.mark.parametrize(
    ("join", "why"),
    [
        ("RIGHT JOIN", "rows of the other side have no partner whose key could be affected"),
        ("FULL JOIN", "the same"),
        (
            "LEFT JOIN public.c ON c.f = a.id AND d.f = a.id LEFT JOIN",
            "the equality of another outer join holds no row",
        ),
    ],
)
def test_a_key_does_not_go_inside(join: str, why: str) -> None:
    grouped = "(SELECT b.f, COUNT(*) AS n FROM public.b GROUP BY b.f) AS d"
    if "public.c" in join:
        query = f"SELECT a.id, d.n FROM public.a CROSS JOIN {grouped} LEFT JOIN public.c ON c.f = a.id AND d.f = a.id"
    else:
        query = f"SELECT COALESCE(a.id, -1) AS id, d.n FROM public.a {join} {grouped} ON d.f = a.id"
    assert restricted(query, "id").count("qbcd_k") == restricted(query, "id", exact=False).count("qbcd_k"), why


VIEWS = {
    ("public", "v"): (["g", "n"], "SELECT g, COUNT(*) AS count FROM public.a GROUP BY g ORDER BY 2"),
    ("public", "w"): (["id", "n"], "WITH v AS (SELECT 1 AS one) SELECT x.g, x.n + v.one FROM public.v x, v"),
    ("public", "u"): (["id", "n"], "SELECT id, n FROM public.v AS k (id) JOIN public.b USING (id)"),
}


def over_views(text: str) -> str:
    columns = {**COLUMNS, **{name: names for name, (names, _) in VIEWS.items()}}
    views = {name: tree(definition) for name, (_, definition) in VIEWS.items()}
    return prepare_query(tree(text), "postgres", columns, views).tree.sql(dialect="postgres").replace('"', "")


def test_views_are_in_their_places() -> None:
    inner = "(SELECT {}COUNT(*) AS n FROM public.a AS q1 GROUP BY q1.g) AS q0"  # with the columns that are used
    assert over_views("SELECT v.n FROM public.v") == f"SELECT q0.n AS n FROM {inner.format('')}"
    renamed = over_views("SELECT k.x, k.n FROM public.v AS k (x)")
    assert renamed == f"SELECT q0.x AS x, q0.n AS n FROM {inner.format('q1.g AS x, ')}"
    joined = over_views("SELECT u.n FROM public.a LEFT JOIN public.u ON u.id = a.id")
    assert joined.count("FROM public.a") == 2, joined
    assert "JOIN public.b AS" in joined


@pytest.mark.parametrize(
    ("query", "made"),
    [
        (
            "((public.a LEFT JOIN public.b ON b.id = a.f) JOIN public.c ON c.id = b.f)",
            "public.a AS q0 LEFT JOIN public.b AS q1 ON q1.id = q0.f JOIN public.c AS q2 ON q2.id = q1.f",
        ),
        (
            "(public.a, public.b) JOIN public.c ON c.id = a.f",
            "public.a AS q0 CROSS JOIN public.b AS q1 JOIN public.c AS q2 ON q2.id = q0.f",
        ),
        (
            "public.a LEFT JOIN (public.b JOIN public.c ON c.id = b.f) ON b.id = a.f AND c.g = a.g",
            "public.a AS q0 LEFT JOIN (SELECT q1.id AS c0, q2.g AS c1 FROM public.b AS q1 JOIN public.c AS q2 "
            "ON q2.id = q1.f) AS q3 ON q3.c0 = q0.f AND q3.c1 = q0.g",
        ),
        (
            "public.a LEFT JOIN public.b LEFT JOIN (public.c CROSS JOIN public.b AS d) ON c.id = b.f ON c.g = a.f",
            "public.a AS q0 LEFT JOIN (SELECT q5.c0 AS c0 FROM public.b AS q1 LEFT JOIN (SELECT q2.g AS c0, q2.id "
            "AS c1 FROM public.c AS q2 CROSS JOIN public.b AS q3) AS q5 ON q5.c1 = q1.f) AS q4 ON q4.c0 = q0.f",
        ),
    ],
)
def test_joins_in_brackets(query: str, made: str) -> None:
    assert over_views(f"SELECT a.id FROM {query}") == f"SELECT q0.id AS id FROM {made}"


@pytest.mark.parametrize(
    ("query", "made"),
    [
        ("SELECT x.k, x.g FROM public.a AS x (k)", "q0.k AS k, q0.g AS g FROM (SELECT q1.id AS k, q1.g AS g FROM {})"),
        ("SELECT k FROM public.a AS x (k, l)", "q0.k AS k FROM (SELECT q1.id AS k FROM {})"),
        (
            "WITH w AS (SELECT id, f FROM public.a) SELECT z.id FROM w AS z (f, id)",
            "q0.id AS id FROM (SELECT q1.f AS id FROM (SELECT q2.f AS f FROM {}) AS q1)",
        ),
    ],
)
def test_names_for_the_columns_of_a_table(query: str, made: str) -> None:
    table = f"public.a AS q{made.count('SELECT')}"
    assert over_views(query) == f"SELECT {made.format(table)} AS q0"


@pytest.mark.parametrize(
    ("query", "made"),
    [
        ("(SELECT * FROM public.a)", "(SELECT q1.id AS id FROM public.a AS q1)"),
        (
            "(SELECT id, COUNT(*) AS n FROM public.a GROUP BY id)",
            "(SELECT q1.id AS id, COUNT(*) AS n FROM public.a AS q1 GROUP BY q1.id)",
        ),
        (
            "(SELECT id, (SELECT b.f FROM public.b WHERE b.id = a.id) AS n FROM public.a)",
            "(SELECT q1.id AS id, (SELECT q2.f AS f FROM public.b AS q2 WHERE q2.id = q1.id) AS n FROM public.a AS q1)",
        ),
        (
            "(SELECT id, regexp_split_to_table(f, ',') AS n FROM public.a)",
            "(SELECT q1.id AS id, REGEXP_SPLIT_TO_TABLE(q1.f, ',') AS n FROM public.a AS q1)",
        ),
        (
            "(SELECT 1 AS one, id FROM public.a GROUP BY 1, 2)",
            "(SELECT 1 AS one, q1.id AS id FROM public.a AS q1 GROUP BY 1, q1.id)",
        ),
        ("(SELECT DISTINCT id, f FROM public.a)", "(SELECT DISTINCT q1.id AS id, q1.f AS f FROM public.a AS q1)"),
        (
            "(SELECT id, f FROM public.a UNION ALL SELECT g, f FROM public.b)",
            "(SELECT q1.id AS id FROM public.a AS q1 UNION ALL SELECT q2.g AS g FROM public.b AS q2)",
        ),
        (
            "(SELECT id, f FROM public.a EXCEPT ALL SELECT g, f FROM public.b)",
            "(SELECT q1.id AS id, q1.f AS f FROM public.a AS q1 EXCEPT ALL SELECT q2.g AS g, q2.f AS f FROM public.b "
            "AS q2)",
        ),
    ],
)
def test_unused_columns_are_left_out(query: str, made: str) -> None:
    """So that other columns may be added or dropped.

    Columns that identify rows and aggregates stay.
    """
    assert over_views(f"SELECT d.id FROM {query} AS d") == f"SELECT q0.id AS id FROM {made} AS q0"


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT n FROM ONLY public.v", "reads view public.v in a way that qbcd cannot follow"),
        ("SELECT a.x FROM ONLY public.a AS a (x)", "reads a in a way that qbcd cannot follow"),
    ],
)
def test_mentions_that_are_not_followed(query: str, reason: str) -> None:
    with pytest.raises(NotIncremental) as caught:
        over_views(query)
    assert str(caught.value) == reason


def test_views_that_grow_too_large() -> None:
    """Eight views, each of them twice the one before."""
    names = [("public", "a"), *(("public", f"v{n}") for n in range(8))]
    views = {
        name: tree(f"SELECT x.id FROM {'.'.join(below)} AS x JOIN {'.'.join(below)} AS y ON y.id = x.id")
        for below, name in itertools.pairwise(names)
    }
    columns = {**COLUMNS, **{name: ["id"] for name in views}}
    with pytest.raises(NotIncremental, match="mentions tables more than 200 times"):
        prepare_query(tree("SELECT id FROM public.v7"), "postgres", columns, views)


def test_a_total_is_never_held() -> None:
    """With fewer rows it would have another value."""
    text = restricted("SELECT a.id, d.n FROM public.a CROSS JOIN (SELECT COUNT(*) AS n FROM public.b) AS d", "id")
    assert '(SELECT COUNT(*) AS "n" FROM "public"."b" AS "q1") AS "q1"' in text or "q2" in text
    assert text.count("EXISTS") == 1


def test_names_are_those_of_the_database() -> None:
    made = skeleton(
        'SELECT lower(A.f::text) AS g, COUNT(*) AS n FROM public.a AS A WHERE "Mixed Case" > 0 '
        "GROUP BY g, lower(A.f::text)",
        "g",
    )
    assert made.prepared.used() == {("public", "a"): ["f", "Mixed Case", "g"]}, "g in GROUP BY is the column"
    assert set(made.kept["public", "a"]) == {"f", "Mixed Case"}


def test_columns_that_lead_nowhere_are_not_kept() -> None:
    made = skeleton("SELECT a.g AS k, SUM(b.f) AS s FROM public.a JOIN public.b ON b.id = a.f GROUP BY a.g", "k")
    assert made.kept == {("public", "a"): ["g", "f"], ("public", "b"): ["id"]}
    assert made.joined_by() == {("public", "a"): ["f"], ("public", "b"): ["id"]}


def test_refused_where_a_transaction_that_writes_sees_several_states() -> None:
    connector, plan = CONNECTORS["mysql"], plan_of("mysql", "simple", "mds")
    table = replace(plan.table, kind="query", query="SELECT order_id FROM shop.simple", bases=(plan.table,))
    strategy = VbdDelta(connector, replace(plan, strategy="vbd", table=table), "qbcd")
    with pytest.raises(Refused, match="shows a transaction that writes another state at each statement"):
        strategy.check()
    assert strategy.lineages == []


class Whole:
    """A state equal to the earlier one."""

    exact = True

    def relation(self, alias: str, *, changed: bool) -> Any:
        return exp.alias_(exp.to_table("changed" if changed else "same"), alias, table=True)


@pytest.mark.parametrize(
    ("query", "mention", "relations"),
    [
        ("SELECT a.id FROM public.a JOIN public.b ON b.id = a.f JOIN public.c ON c.id = a.g", "q0", ["q0"]),
        ("SELECT a.id FROM public.a JOIN public.b ON b.id = a.f JOIN public.c ON c.id = a.g", "q1", ["q0", "q1"]),
        ("SELECT a.id FROM public.a JOIN public.b ON b.id = a.f JOIN public.c ON c.id = b.g", "q0", ["q0", "q1"]),
        ("SELECT a.id FROM public.a JOIN public.b ON b.id = a.f WHERE b.g = 1", "q0", ["q0", "q1"]),
        ("SELECT a.id FROM public.a JOIN public.b ON b.id = a.f AND a.g = 1", "q0", ["q0", "q1"]),
        ("SELECT a.id FROM public.a JOIN public.b ON b.id > a.f", "q0", ["q0", "q1"]),
        ("SELECT a.g FROM public.a JOIN public.b ON b.id = a.f GROUP BY a.g", "q0", ["q0", "q1"]),
    ],
)
def test_joins_that_only_look_a_row_up_are_left_out(query: str, mention: str, relations: list[str]) -> None:
    made = skeleton(query, tree(query).named_selects[0])
    [arm] = made.affected(mention, Whole())
    assert sorted(table.alias for table in arm.find_all(exp.Table)) == relations
    assert set(itertools.chain(*made.kept.values())) >= {"id", "f"}  # old rows lead to the same keys


def test_a_condition_of_a_later_join_keeps_its_columns() -> None:
    query = "SELECT a.id, c.id AS cid FROM public.a LEFT JOIN public.b ON b.id = a.f JOIN public.c ON b.g > 5"
    made = skeleton(query, "id", "cid")
    for mention in ("q0", "q1", "q2"):
        for arm in made.affected(mention, Whole()):
            joined = {table.alias for table in arm.find_all(exp.Table)}
            assert {column.table for column in arm.find_all(exp.Column)} <= joined, arm.sql()


@pytest.mark.parametrize(
    ("text", "dialect", "reason"),
    [
        ("SELECT t + interval '1 day 02:00' AS x FROM s.a", "postgres", "has the literal '1 day 02:00', which qbcd"),
        ("SELECT t - INTERVAL '1 day ago' AS x FROM s.a", "postgres", "has the literal '1 day ago', which qbcd"),
        ('SELECT to_char(t, \'DD"d" MI"min"\') AS x FROM s.a', "postgres", "has the literal"),
        ("SELECT regexp_like(v, '^b', 'n') AS x FROM s.a", "postgres", "calls regexp_like: write ~ or ~*"),
        ("SELECT |/ n + 1 AS x FROM s.a", "postgres", "has the operator |/: write sqrt(..) or cbrt(..)"),
        ("SELECT date_bin('15 min', t, u) AS x FROM s.a", "postgres", "calls date_bin, which qbcd may not reproduce"),
        (
            "SELECT v ^@ 'a' || w AS x FROM s.a",
            "postgres",
            "has the operator ^@ next to ||: write LIKE, or starts_with",
        ),
        ("SELECT v !~~* w || 'a' AS x FROM s.a", "postgres", "has the operator"),
        (
            "SELECT id FROM s.a WHERE id NOT IN (1, 2) < f",
            "postgres",
            "compares NOT id IN (1, 2) with something: write",
        ),
        ("SELECT v !~* 'x' = f AS x FROM s.a", "postgres", "compares NOT v ~* 'x' with something: write brackets"),
        ("SELECT id FROM s.a WHERE n NOT BETWEEN 1 AND 2 <> f", "postgres", "compares NOT n BETWEEN 1 AND 2 with"),
    ],
)
def test_texts_that_would_be_rewritten_differently(text: str, dialect: str, reason: str) -> None:
    known = CONNECTORS["postgresql"].require(SupportsIncrementalQueries).written_again
    with pytest.raises(NotIncremental) as caught:
        check_written_again(text, dialect, known)
    assert str(caught.value).startswith(reason)


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("SELECT t + interval '1 Day' AS x, t - INTERVAL '2 hours 3 min' AS y FROM s.a", "postgres"),
        ("SELECT date_trunc('month', t) AS x, to_char(t, 'YYYY-MM') AS y, .5 * n AS z FROM s.a", "postgres"),
        ("SELECT t - interval '3' day AS x, date_trunc('MONTH'::text, t) AS y, date(t) AS z FROM s.a", "postgres"),
        ("SELECT '1 day 02:00'::interval + t AS x, strpos(v, 'a') AS y FROM s.a", "postgres"),
        (
            "SELECT (id NOT IN (1, 2)) < f AS x, NOT n = 1 AND NOT f AS y FROM s.a WHERE id NOT IN (3) OR n = 2",
            "postgres",
        ),
        ("SELECT v || 'x' AS x, v ~~ 'a' AS y, (v || w) ~~ 'b' AS z FROM s.a", "postgres"),
        ("SELECT v LIKE 'a' AS x, v ~~ 'a' AS y, b'11' AS z FROM s.a WHERE NOT EXISTS (SELECT 1 FROM s.b)", "postgres"),
    ],
)
def test_texts_that_are_rewritten_unchanged(text: str, dialect: str) -> None:
    known = CONNECTORS["postgresql"].require(SupportsIncrementalQueries).written_again
    check_written_again(text, dialect, known)


def test_after_an_omitted_lookup_no_row_surely_lacks_a_partner() -> None:
    query = (
        "SELECT c.id FROM public.a JOIN public.b ON b.id = a.f RIGHT JOIN public.c ON c.id = a.id "
        "WHERE a.g IS NULL AND EXISTS (SELECT 1 FROM public.b AS x WHERE x.f = c.id)"
    )
    arms = skeleton(query, "id").affected("q3", Whole())
    assert len(arms) == 2
    assert not any(join.side == "RIGHT" for arm in arms for join in arm.args["joins"])


class Uncertain(Whole):
    """A state of which nothing is certain."""

    exact = False


@pytest.mark.campaign
@pytest.mark.parametrize(("left", "arms"), [("a{}", 10), ("a0", 0)])
def test_many_outer_joins_whose_columns_are_used(left: str, arms: int) -> None:
    """Each of them occurs twice: with its partners and without.

    It is not without if another one has a partner.
    """
    tables = " ".join(f"LEFT JOIN public.a AS a{n} ON a{n}.f = {left.format(n - 1)}.id" for n in range(1, 10))
    spoken = " AND ".join(f"(a{n}.g > 1 OR a{n}.g IS NULL)" for n in range(1, 10))
    query = f"SELECT a0.id FROM public.a AS a0 {tables}"
    [arm] = skeleton(query, "id").affected("q0", Uncertain())
    assert len(list(arm.find_all(exp.Table))) == 1, "whom nobody speaks of changes no key"
    try:
        assert len(skeleton(f"{query} WHERE {spoken}", "id").affected("q9", Uncertain())) == arms
    except NotIncremental as refused:
        assert str(refused).startswith("has too many outer joins whose columns its key or conditions use")
        assert not arms
