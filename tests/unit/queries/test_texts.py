"""Query texts: parsing, refusals that name their cause, and keys that a query proves."""

from __future__ import annotations

import pytest

from qbcd.errors import ConfigError
from qbcd.model import Column, Table, Travel
from qbcd.queries import CapturedQuery, Relation, parse_query, relation_of
from tests.support.pg_source import PG

PLAIN = "SELECT a.id, a.v FROM s.a"


def parsed(text: str, dialect: str = "postgres") -> CapturedQuery:
    return parse_query(text, dialect, stream="q", place="qbcd.yaml:3: tables[0].query")


# -- the text ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "runs"),
    [
        (f"{PLAIN} -- why; oh why", PLAIN),
        ("SELECT a.id, /* first; */ a.v FROM s.a", "SELECT a.id, a.v FROM s.a"),
        (f"{PLAIN}\nORDER BY a.v, (SELECT 1)", PLAIN),
        (f"{PLAIN} ORDER BY id LIMIT 3", f"{PLAIN} ORDER BY id LIMIT 3"),
        ("SELECT a.id, '-- x; ''%s' AS v FROM s.a", "SELECT a.id, '-- x; ''%s' AS v FROM s.a"),
    ],
)
def test_the_text_runs_as_written(text: str, runs: str) -> None:
    assert parsed(text).text == runs
    assert parsed(parsed(text).text) == parsed(runs)  # the stored text is the parsed one


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is not a SELECT"),
        ("SELECT 1 AS a", "reads no table"),
        ("(SELECT id FROM s.a)", "begins with a bracket"),
        ("TABLE s.a", "is not a SELECT"),
        ("EXPLAIN SELECT id FROM s.a", "is not a SELECT"),
        ("DELETE FROM s.a", "is not a SELECT"),
        ("SELECT id FROM s.a; SELECT 2", "holds a semicolon"),
        ("SELECT id FROM s.a WHERE", "is not one SELECT"),
        ("SELECT id FROM s.a WHERE (v = 1", "is not one SELECT that qbcd can read: reading stops at '1' in line 1"),
        (
            "SELECT id\nFROM s.a JOIN s.b\nUSING (id) AS j",
            "is not one SELECT that qbcd can read: reading stops at 'AS' in",
        ),
        ("SELECT id FROM s.a WHERE v = 'x", "cannot be read as SQL"),
        ("WITH x AS (DELETE FROM s.a RETURNING *) SELECT id FROM x", "does more than read"),
        ("SELECT id INTO s.b FROM s.a", "does more than read"),
        ("SELECT id FROM s.a FOR UPDATE", "does more than read"),
        ("SELECT id FROM s.a WHERE v = :v", "holds a placeholder"),
        ("SELECT id FROM s.a WHERE v = $1", "holds a placeholder"),
        ("SELECT id FROM s.a TABLESAMPLE BERNOULLI (5)", "takes a sample"),
        ("SELECT 7 AS n FROM s.a ORDER BY count(*)", "has one row only because of an aggregate in its ORDER BY"),
        ("SELECT id, count(*) FROM s.a GROUP BY id", "gives its column 2 no name (COUNT(*))"),
        ('SELECT id, v AS "id" FROM s.a', 'has two columns called "id"'),
        ("SELECT id, v AS ID FROM s.a", 'has two columns called "id"'),
        ("SELECT id FROM s.a\x00", "holds a NUL character"),
        ("SELECT /*+ x */ id FROM s.a", "holds a comment that the database may run"),
    ],
)
def test_queries_that_cannot_be_captured_are_refused(text: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parsed(text)
    assert f"the query {why}" in caught.value.what
    assert caught.value.where == "qbcd.yaml:3: tables[0].query"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SELECT /*!50000 id, */ v FROM a", "holds a comment that the database may run"),
        ("SELECT v FROM a WHERE id = @id", "holds a placeholder or a variable"),
        ("SELECT v FROM a WHERE id = ?", "holds a placeholder"),
    ],
)
def test_refusals_of_another_dialect(text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=f"the query {why}"):
        parsed(text, "mysql")


def test_parts_of_a_query() -> None:
    query = parsed(
        "WITH t AS (SELECT * FROM T), u AS (SELECT DISTINCT ON (v) * FROM t) SELECT u.Id, "
        'string_agg(x."V", \',\') AS vs FROM u JOIN "S"."X" AS x USING (id) GROUP BY u.id ORDER BY 1'
    )
    assert {(b.schema, b.name, b.alias) for b in query.bases} == {("", "t", "t"), ("S", "X", "x")}
    assert query.outputs == ("id", "vs")
    assert (query.order_dropped, query.groups, query.inner_limit, query.limit) == (True, True, True, False)
    assert query.unordered == ("STRING_AGG(x.\"V\", ',')",)
    assert parsed("SELECT * FROM s.a").outputs is None


@pytest.mark.parametrize(
    ("order", "by"),
    [
        ("id", ("id",)),
        ("2, 1", ("v", "id")),
        ("a.v", ("v",)),
        ("lower(v), id", ("id",)),
        ("a.other", ()),
        ("w", ("w",)),
    ],
)
def test_the_order_that_a_limit_follows(order: str, by: tuple[str, ...]) -> None:
    assert parsed(f"SELECT a.id, a.v, a.x AS w, a.w AS x FROM s.a ORDER BY {order} LIMIT 3").order == by


# -- keys --------------------------------------------------------------------------------------------------------------
def table(name: str, *columns: str, unique: tuple[str, ...] = ()) -> Table:
    """Return a table; columns are ``name type``, NOT NULL unless they end in ``?``.

    The first is the key.
    """
    made = []
    for column in columns:
        called, sql_type = column.rstrip("?").split()
        travel = Travel("int32" if sql_type == "int4" else "text")
        made.append(Column(called, sql_type, sql_type, column.endswith("?"), "", "typed", travel))
    return Table("s", name, "table", tuple(made), (made[0].name,), tuple((u,) for u in unique))


TABLES = {
    "a": table("a", "id int4", "b_id int4?", "c_code text", "v text?"),
    "b": table("b", "id int4", "name text", "v text", unique=("name",)),
    "c": table("c", "code text", "title text?"),
}


def known(text: str) -> Relation:
    query = parsed(text)
    return relation_of(query.tree, [TABLES[b.name] for b in query.bases], PG.dialect)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("SELECT id, v FROM s.a", [("id",)]),
        ("SELECT * FROM s.a", [("id",)]),
        ("SELECT v FROM s.a", []),
        ("SELECT a.id AS k, b.name FROM s.a JOIN s.b ON a.b_id = b.id", [("k",)]),
        ("SELECT a.id, b.name FROM s.a, s.b WHERE b.id = a.b_id AND a.v <> ''", [("id",)]),
        ("SELECT a.id, b.name FROM s.a LEFT JOIN s.b ON a.b_id = b.id AND b.v = 'x'", [("id",)]),
        ("SELECT a.id, c.title FROM s.a LEFT JOIN s.b ON a.b_id = b.id LEFT JOIN s.c ON c.code = b.name", [("id",)]),
        ("SELECT a.id, b.id AS b FROM s.a JOIN s.b ON a.v = b.v", [("id", "b")]),
        ("SELECT a.id FROM s.a JOIN s.b ON a.v = b.v", []),
        ("SELECT a.id, b.id AS b FROM s.a LEFT JOIN s.b ON a.v = b.v", []),  # b is NULL where no row matches
        ("SELECT a.id, b.name FROM s.b RIGHT JOIN s.a ON a.b_id = b.id", [("id",)]),
        ("SELECT a.id, b.name FROM s.a RIGHT JOIN s.b ON a.b_id = b.id", []),
        ("SELECT a.id, b.id AS b FROM s.a FULL JOIN s.b ON a.b_id = b.id", []),
        ("SELECT a.id, b.v FROM s.a CROSS JOIN s.b WHERE b.name = 'one'", [("id",)]),
        ("SELECT a.id, b.v FROM s.a JOIN s.b ON b.id = a.b_id OR b.id = 1", []),
        ("SELECT a.id, b.v FROM s.a JOIN s.b ON b.id = a.c_code", []),  # of another type: several may be equal
        ("SELECT x.id, y.v FROM s.a AS x JOIN s.a AS y ON y.id = x.b_id", [("id",)]),
        ("SELECT id, b.v FROM s.b JOIN s.c ON c.code = b.name", [("id",)]),
        ("SELECT id, v FROM s.b JOIN s.a USING (id)", [("id",)]),
        # USING joins the relation after the comma, and means the first of several there.
        ("SELECT x.id, z.v FROM s.b AS x, s.b AS y JOIN s.a AS z USING (id) WHERE y.id = z.b_id", []),
        ("SELECT x.id, y.id AS y FROM s.b AS x, s.b AS y JOIN s.a AS z USING (id)", [("id", "y")]),
        ("SELECT x.id, z.v FROM s.a AS x LEFT JOIN s.b AS y USING (id) LEFT JOIN s.b AS z USING (id)", [("id",)]),
        ("SELECT id, count(*) AS n FROM s.a GROUP BY id", [("id",)]),
        ("SELECT v AS w, b_id, sum(id) AS n FROM s.a GROUP BY w, 2", [("w", "b_id")]),
        ("SELECT lower(v) AS v, count(*) AS n FROM s.a GROUP BY v", []),  # by the table's v, which is not in the result
        ("SELECT lower(v) AS w, count(*) AS n FROM s.a GROUP BY lower(v)", [("w",)]),
        ("SELECT v, count(*) AS n FROM s.a GROUP BY ROLLUP (v)", []),
        ("SELECT DISTINCT v, c_code FROM s.a", [("v", "c_code")]),
        ("SELECT v FROM s.a UNION SELECT v FROM s.b", [("v",)]),
        ("SELECT v FROM s.a UNION ALL SELECT v FROM s.b", []),
        ("SELECT q.id, c.title FROM (SELECT id, c_code FROM s.a) AS q JOIN s.c ON c.code = q.c_code", [("id",)]),
        (
            "WITH g AS (SELECT b_id, count(*) AS n FROM s.a GROUP BY b_id) SELECT b.id, g.n FROM s.b "
            "LEFT JOIN g ON g.b_id = b.id",
            [("id",)],
        ),
        ("SELECT q.k, q.x FROM (SELECT id, v FROM s.a) AS q (k, x)", [("k",)]),
        ("SELECT q.k, q.v FROM (SELECT id, v FROM s.a) AS q (k)", [("k",)]),
        ("SELECT x.v AS id, x.id AS v FROM (SELECT id, v FROM s.a) AS x (v, id)", [("id",)]),
        ("SELECT x.v, x.id FROM (SELECT id, v FROM s.a) AS x (w, id)", []),  # x has no v, and its id is not unique
        ("SELECT x.w, x.k FROM s.a AS x (k, w, c, v)", [("k",)]),
        ("SELECT x.k FROM s.a AS x (k, w, c, v, z)", []),  # more columns than it has
        ("SELECT x, y FROM (SELECT a.id, b.id FROM s.a JOIN s.b ON a.v = b.v) AS q (x, y)", []),  # two named id
        (
            "WITH g (b, n) AS (SELECT b_id, count(*) FROM s.a GROUP BY b_id) SELECT b.id, g.n FROM s.b "
            "LEFT JOIN g ON g.b = b.id",
            [("id",)],
        ),
        ("SELECT a.id, g.x FROM s.a, generate_series(1, 2) AS g(x)", []),
        ("SELECT id, unnest(ARRAY[1, 2]) AS x FROM s.a", []),
        ("SELECT id, s.mine(v) AS x FROM s.a", []),
        ("SELECT a.id, b.v FROM ((s.a LEFT JOIN s.b ON b.id = a.b_id) LEFT JOIN s.c ON c.code = b.name)", [("id",)]),
        ("SELECT a.id, c.code FROM (s.a CROSS JOIN s.c)", [("id", "code")]),
        ("SELECT id FROM ((SELECT id FROM s.b) AS d CROSS JOIN s.c)", []),
        ("SELECT * FROM ((SELECT id FROM s.b) AS d CROSS JOIN s.c)", [("id", "code")]),
        ("SELECT j.id FROM ((SELECT id FROM s.b) AS d CROSS JOIN s.c) AS j", []),
        ("SELECT a.id FROM s.a LEFT JOIN (s.b CROSS JOIN s.c) ON b.id = a.b_id", []),
        ("SELECT a.id FROM s.a LEFT JOIN ((SELECT id FROM s.b) AS d CROSS JOIN s.c) ON d.id = a.b_id", []),
        ("SELECT a.id, t.m FROM s.a CROSS JOIN (SELECT max(id) AS m FROM s.b) AS t", [("id",)]),
    ],
)
def test_keys_are_proven_or_not(text: str, keys: list[tuple[str, ...]]) -> None:
    assert list(known(text).keys) == keys


@pytest.mark.parametrize("mention", ["s.b FOR SYSTEM_TIME ALL", "s.b FOR SYSTEM_TIME BETWEEN '2020-01-01' AND NOW(6)"])
def test_versions_of_a_row_have_one_key(mention: str) -> None:
    for text in (f"SELECT id, v FROM {mention}", f"SELECT a.id, b.v FROM s.a JOIN {mention} AS b ON b.id = a.b_id"):
        query = parse_query(text, "mysql")
        assert list(relation_of(query.tree, [TABLES[b.name] for b in query.bases], "mysql").keys) == []


def test_a_key_is_likely_where_only_a_function_is_in_doubt() -> None:
    assert known("SELECT id, s.mine(v) AS x FROM s.a").likely == (("id",),)


def test_one_row() -> None:
    assert known("SELECT count(*) AS n, max(id) AS m FROM s.a").one_row
    assert not known("SELECT count(*) AS n FROM s.a GROUP BY v").one_row
    assert not known("SELECT sum(id) OVER () AS n FROM s.a").one_row
    assert not known("SELECT unnest(array_agg(id)) AS n FROM s.a").one_row
    assert not known("SELECT s.max(id) AS n FROM s.a").one_row  # a function of the user's own
    assert known(
        "SELECT x.n, y.m FROM (SELECT count(*) AS n FROM s.a) AS x LEFT JOIN (SELECT max(id) AS m FROM s.b "
        "HAVING count(*) > 1) AS y ON y.m = x.n WHERE x.n > 2"
    ).one_row
    assert known("SELECT x.n FROM (SELECT count(*) AS n FROM s.a FULL JOIN s.b ON b.id = a.b_id) AS x").one_row
    assert not known("SELECT x.n FROM (SELECT count(*) AS n FROM s.a) AS x CROSS JOIN s.b").one_row
    assert not known(
        "SELECT x.n FROM (SELECT count(*) AS n FROM s.a) AS x FULL JOIN (SELECT max(id) AS m FROM s.b) "
        "AS y ON y.m = x.n"
    ).one_row
    assert not known("SELECT x.n FROM (SELECT count(*) AS n FROM s.a) AS x, generate_series(1, 2) AS g(i)").one_row


def test_only_names_that_are_nobodys_own_prove_one_row() -> None:
    """Check that a function name proves one row only if it cannot be the user's own.

    Without a schema, a function with the name of another database's aggregate may be the user's own.
    """
    for text, proven in (("SELECT median(id) AS n FROM s.a", False), ("SELECT sum(id) AS n FROM s.a", True)):
        query = parsed(text)
        found = relation_of(query.tree, [TABLES[b.name] for b in query.bases], "postgres", bare_names=True)
        assert found.one_row is proven
        assert known(text).one_row


def test_columns_that_may_be_null() -> None:
    found = known("SELECT a.id, a.v, b.name, 1 AS one FROM s.a LEFT JOIN s.b ON b.id = a.b_id")
    assert [c.nullable for c in found.columns or ()] == [False, True, True, True]
    found = known("SELECT c_code, count(*) AS n FROM s.a GROUP BY CUBE (c_code)")
    assert [c.nullable for c in found.columns or ()] == [True, True]
