"""Changes that affect a key although no single changed row shows it.

Each by name, on a server.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from qbcd.errors import Refused, SchemaChanged
from qbcd.sites.database import query_poll
from tests.integration.queries.test_incremental_cases import found
from tests.support.places import Place
from tests.support.project import config, opened
from tests.support.query_streams import checkpoint, replica_differs

V1 = "SELECT x.id, y.id AS yid FROM public.x LEFT JOIN public.y ON y.xid = x.id"
V2 = "SELECT z.id, w.id AS wid FROM public.z LEFT JOIN public.w ON w.zid = z.id"
NONE = "WHERE v1.yid IS NULL AND v2.wid IS NULL"
LOST = "INSERT INTO y VALUES (10, 1); INSERT INTO w VALUES (20, 1)"
TABLES = """
CREATE TABLE x (id integer PRIMARY KEY, n integer); CREATE TABLE z (id integer PRIMARY KEY, n integer);
CREATE TABLE y (id integer PRIMARY KEY, xid integer); CREATE TABLE w (id integer PRIMARY KEY, zid integer);
INSERT INTO x VALUES (1, 5), (2, 5); INSERT INTO z VALUES (1, 5), (2, 5)
"""

# The query (its first column is its key), the changes, the events.
CASES: dict[str, tuple[str, str, dict[str, int]]] = {
    "two derived tables": (f"SELECT v1.id FROM ({V1}) v1 JOIN ({V2}) v2 ON v2.id = v1.id {NONE}", LOST, {"d": 1}),
    "two views": (f"SELECT v1.id FROM public.v1 v1 JOIN public.v2 v2 ON v2.id = v1.id {NONE}", LOST, {"d": 1}),
    "a table before them": (
        f"SELECT x.id FROM public.x JOIN ({V1}) v1 ON v1.id = x.id JOIN ({V2}) v2 ON v2.id = v1.id {NONE}",
        LOST,
        {"d": 1},
    ),
    "a derived table left joined": (
        f"SELECT x.id FROM public.x LEFT JOIN public.y ON y.xid = x.id LEFT JOIN ({V2}) v2 ON v2.id = x.id "
        "WHERE y.id IS NULL AND v2.id = x.id AND v2.wid IS NULL",
        LOST,
        {"d": 1},
    ),
    "two deep": (
        f"SELECT v1.id FROM ({V1}) v1 JOIN (SELECT d.id, d.wid FROM ({V2}) d) v2 ON v2.id = v1.id {NONE}",
        LOST,
        {"d": 1},
    ),
    "groups of derived tables": (
        f"SELECT v1.id, COUNT(*) AS n FROM ({V1}) v1 JOIN ({V2}) v2 ON v2.id = v1.id {NONE} GROUP BY v1.id",
        LOST,
        {"d": 1},
    ),
    "derived groups": (
        f"SELECT v1.id, v2.n FROM ({V1}) v1 JOIN (SELECT d.id, d.wid, COUNT(*) AS n FROM ({V2}) d GROUP BY d.id, d.wid)"
        f" v2 ON v2.id = v1.id {NONE}",
        LOST,
        {"d": 1},
    ),
    "common table expressions": (
        f"WITH v1 AS ({V1}), v2 AS ({V2}) SELECT v1.id FROM v1 JOIN v2 ON v2.id = v1.id {NONE}",
        LOST,
        {"d": 1},
    ),
    "an EXISTS of two": (
        f"SELECT t.id FROM public.x t WHERE EXISTS (SELECT 1 FROM ({V1}) v1 JOIN ({V2}) v2 ON v2.id = v1.id {NONE} "
        "AND v1.id = t.id)",
        LOST,
        {"d": 1},
    ),
    "a union in one": (
        f"SELECT v1.id FROM ({V1}) v1 JOIN ({V2} UNION ALL SELECT z.id + 100, z.n FROM public.z) v2 "
        f"ON v2.id = v1.id {NONE}",
        LOST,
        {"d": 1},
    ),
    "a right join lost next to a derived table": (
        f"SELECT z.id FROM (SELECT y.xid FROM public.y) d RIGHT JOIN public.z ON d.xid = z.id "
        f"JOIN ({V2}) v2 ON v2.id = z.id WHERE d.xid IS NULL AND v2.wid IS NULL",
        LOST,
        {"d": 1},
    ),
    "a full join lost next to a derived table": (
        f"SELECT z.id FROM (SELECT y.xid FROM public.y) d FULL JOIN public.z ON d.xid = z.id "
        f"JOIN ({V2}) v2 ON v2.id = z.id WHERE d.xid IS NULL AND v2.wid IS NULL",
        LOST,
        {"d": 1},
    ),
    "both sides of a full join": (
        f"SELECT COALESCE(v1.id, 0) AS id FROM ({V1}) v1 FULL JOIN ({V2}) v2 ON v2.id = v1.id {NONE}",
        LOST,
        {"d": 1},
    ),
    "both sides of a right join": (
        f"SELECT v2.id FROM ({V1}) v1 RIGHT JOIN ({V2}) v2 ON v2.id = v1.id {NONE}",
        LOST,
        {"d": 1},
    ),
    "a NOT EXISTS in one": (
        "SELECT d.id FROM (SELECT x.id FROM public.x WHERE NOT EXISTS (SELECT 1 FROM public.y WHERE y.xid = x.id)) d "
        f"JOIN ({V2}) v2 ON v2.id = d.id WHERE v2.wid IS NULL",
        LOST,
        {"d": 1},
    ),
    "one below the other": (
        f"SELECT x.id FROM public.x LEFT JOIN (SELECT d.id FROM ({V2}) d LEFT JOIN public.y ON y.xid = d.id "
        "WHERE d.wid IS NULL AND y.id IS NULL) e ON e.id = x.id WHERE e.id = x.id",
        LOST,
        {"d": 1},
    ),
    "joins in brackets": (
        "SELECT x.id, y.id AS yid, w.id AS wid FROM (public.x JOIN public.z ON z.id = x.id) LEFT JOIN "
        "(public.y LEFT JOIN public.w ON w.zid = y.xid) ON y.xid = x.id WHERE y.id IS NULL AND w.id IS NULL",
        LOST,
        {"d": 1},
    ),
    "an EXISTS about joins in brackets": (
        "SELECT x.id FROM public.x LEFT JOIN (public.z LEFT JOIN public.y ON y.xid = z.id) ON z.id = x.id "
        "WHERE NOT EXISTS (SELECT 1 FROM public.w WHERE w.zid = z.id AND y.id IS NOT NULL)",
        LOST,
        {"d": 1},
    ),
    "found at once": (
        f"SELECT v1.id FROM ({V1}) v1 JOIN ({V2}) v2 ON v2.id = v1.id {NONE}",
        f"INSERT INTO x VALUES (3, 5); INSERT INTO z VALUES (3, 5); {LOST}",
        {"c": 1, "d": 1},
    ),
}


@pytest.mark.campaign
def test_two_that_found_no_partner_find_one_in_one_poll(place: Place, workspace: Path) -> None:
    streams = {f"q{n}": case for n, case in enumerate(CASES)}
    place.sql(f"{TABLES}; CREATE VIEW v1 AS {V1}; CREATE VIEW v2 AS {V2}")
    tables = [_stream(name, CASES[case][0]) for name, case in streams.items()]
    with opened(config(place.url, *tables), workspace) as project:
        for name, case in streams.items():
            query, happens, expected = CASES[case]
            place.sql("TRUNCATE x, y, z, w; INSERT INTO x VALUES (1, 5), (2, 5); INSERT INTO z VALUES (1, 5), (2, 5)")
            project.stream(name).prepare()
            place.sql(happens)
            assert found(project, name) == expected, case
            assert not replica_differs(place, name, query), case
            place.sql("DELETE FROM y; DELETE FROM w")
            found(project, name)
            assert not replica_differs(place, name, query), f"{case}, and back"


def _stream(name: str, query: str, *key: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "query": query,
        "key": list(key or ("id",)),
        "baseline": "silent",
        "strategy": {"type": "vbd", "variant": "delta"},
        "guards": {"allow_empty": True, "max_delete_fraction": 1},
        **more,
    }


REFUSED: dict[str, tuple[str, str]] = {
    "USING after a comma": ("SELECT x.id FROM public.x, public.z LEFT JOIN public.w USING (id)", "USING (id)"),
    "USING after FULL JOIN": (
        "SELECT COALESCE(x.id, 0) AS id FROM public.x FULL JOIN public.z USING (n) LEFT JOIN public.t USING (n)",
        "USING (n)",
    ),
    "RIGHT JOIN USING": ("SELECT z.id FROM public.x RIGHT JOIN public.z USING (n)", "USING (n)"),
    "NATURAL": ("SELECT x.id FROM public.x NATURAL JOIN public.z", "NATURAL JOIN"),
    "a whole row": ("SELECT x.id, md5(x.*::text) AS h FROM public.x", "uses a whole row"),
    "a row": ("SELECT x.id, md5(x::text) AS h FROM public.x", "uses a whole row"),
    "a number by its bits": ("SELECT x.id, x.n + 0b11 AS n FROM public.x", "has a number as 0b11: write its digits"),
    "a column named as one of qbcd's own": (
        "SELECT own.id FROM public.own WHERE own.qbcd_digest > 1",
        "a column qbcd_digest",
    ),
    "a row in WHERE": ("SELECT x.id FROM public.x WHERE x.*::text <> 'a'", "uses a whole row"),
    "a name of the select list": (
        "SELECT t.id FROM public.t WHERE EXISTS (SELECT y.id AS n FROM public.y WHERE y.xid = n)",
        "uses n, but a column of the select list",
    ),
}


BEYOND = 2**53  # one more is equal to it as a floating point number
MIXED = "SELECT q.n AS v, q.id AS k FROM public.q UNION ALL SELECT r.d, r.id + 100 FROM public.r"
FLOATS: dict[str, tuple[str, dict[str, int]]] = {  # the query, the events
    "a derived table of both": (f"SELECT p.big, u.k, u.v FROM public.p JOIN ({MIXED}) u ON u.v = p.big", {"c": 1}),
    "groups of both": (
        f"SELECT p.big, 1 AS k, u.n FROM public.p LEFT JOIN "
        f"(SELECT w.v, COUNT(*) AS n FROM ({MIXED}) w GROUP BY w.v) u ON u.v = p.big",
        {"u": 1},
    ),
    "there and back again": (
        "SELECT p.big, 1 AS k, u.n FROM public.p LEFT JOIN (SELECT r.d, MAX(t.n) AS n FROM public.r "
        "LEFT JOIN (SELECT q.n, q.id FROM public.q) t ON t.n = r.d GROUP BY r.d) u ON u.d = p.big",
        {"u": 1},
    ),
}


@pytest.mark.campaign
def test_whole_numbers_next_to_floating_point_numbers(place: Place, workspace: Path) -> None:
    """Equality between kinds of numbers is not transitive."""
    place.sql(
        "CREATE TABLE p (id integer PRIMARY KEY, big bigint NOT NULL UNIQUE);"
        "CREATE TABLE q (id integer PRIMARY KEY, n bigint); CREATE TABLE r (id integer PRIMARY KEY, d float8);"
        f"INSERT INTO p VALUES (1, {BEYOND + 1}), (2, 5); INSERT INTO r VALUES (1, {BEYOND})"
    )
    names = {case: f"q{number}" for number, case in enumerate(FLOATS)}
    arms = "SELECT id FROM public.p WHERE big IN (SELECT n FROM public.q UNION SELECT d FROM public.r)"
    tables = [_stream(names[case], FLOATS[case][0], "big", "k") for case in FLOATS]
    with opened(config(place.url, *tables, _stream("arms", arms)), workspace) as project:
        for name in names.values():
            project.stream(name).prepare()
        with pytest.raises(Refused, match="a UNION whose arms are of several types"):
            project.stream("arms").prepare()
        place.sql(f"INSERT INTO q VALUES (1, {BEYOND})")
        for case, (query, expected) in FLOATS.items():
            assert found(project, names[case]) == expected, case
            assert not replica_differs(place, names[case], query), case


def test_refused_by_name(place: Place, workspace: Path) -> None:
    place.sql(f"{TABLES}; CREATE TABLE t (id integer PRIMARY KEY, n integer)")
    place.sql("CREATE TABLE own (id integer PRIMARY KEY, qbcd_digest integer)")
    names = {case: f"q{number}" for number, case in enumerate(REFUSED)}
    with opened(config(place.url, *(_stream(names[c], q) for c, (q, _) in REFUSED.items())), workspace) as project:
        for case, (_, reason) in REFUSED.items():
            with pytest.raises(Refused) as caught:
                project.stream(names[case]).prepare()
            assert "cannot follow the query" in caught.value.what, case
            assert reason in caught.value.what, case


def test_using_is_followed(place: Place, workspace: Path) -> None:
    place.sql(f"{TABLES}; INSERT INTO w VALUES (1, 1), (7, 1); INSERT INTO z VALUES (8, 8), (9, NULL)")
    query = """SELECT id, COUNT(w.zid) AS c, MAX(x.n) AS m FROM public.x LEFT JOIN public.w USING (id)
        FULL JOIN public.z USING (id) GROUP BY id"""
    with opened(config(place.url, _stream("q", query)), workspace) as project:
        project.stream("q").prepare()
        for change in ("DELETE FROM x WHERE id = 1", "INSERT INTO x VALUES (8, 1), (10, 4)", "DELETE FROM z"):
            place.sql(change)
            assert found(project)
            assert not replica_differs(place, "q", query), change


# -- keys that are equal and not identical, and arms of other types ---------------------------------------------------
VALUES = """
CREATE EXTENSION IF NOT EXISTS citext SCHEMA public;
CREATE TABLE c (id integer PRIMARY KEY, v public.citext, n numeric, k text);
INSERT INTO c VALUES (1, 'A', 1.0, 'x'), (2, 'a', 1.00, 'x'), (3, 'b', 2, 'y');
CREATE TABLE s (id integer PRIMARY KEY, day date, i integer, m numeric);
CREATE TABLE r (id integer PRIMARY KEY, day date, i integer, m numeric);
INSERT INTO s VALUES (1, '2024-01-01', 3, 1.5), (2, '2024-01-02', 5, 2.5);
INSERT INTO r VALUES (1, '2024-01-01', 3, 1.5), (5, '2024-01-02', 5, 2.5);
CREATE TABLE g (n numeric PRIMARY KEY, v integer); INSERT INTO g VALUES (1.5, 1), (2.5, 2);
CREATE TABLE h (n float8 PRIMARY KEY, v integer); INSERT INTO h VALUES (0, 1), (2.5, 2);
CREATE TABLE none (id integer PRIMARY KEY);
CREATE TABLE kinds (k text PRIMARY KEY); INSERT INTO kinds VALUES ('number')
"""
EQUAL: dict[str, tuple[str, list[str], str]] = {
    "a group of texts that ignore case": (
        "SELECT v, COUNT(*) AS n FROM public.c WHERE v IS NOT NULL GROUP BY v",
        ["v"],
        "UPDATE c SET k = 'z' WHERE id = 2; INSERT INTO c VALUES (4, 'a', 3, 'x')",
    ),
    "a computed key": (
        "SELECT id > 1 AS big, n + 1 AS m, COUNT(*) AS c FROM public.c GROUP BY id > 1, n + 1",
        ["big", "m"],
        "INSERT INTO c VALUES (4, 'a', 1.0, 'x')",
    ),
    "an untyped arm": (
        "SELECT id, day, 1 AS arm FROM public.s UNION ALL SELECT id, '2020-02-02', 2 FROM public.r",
        ["id", "day"],
        "INSERT INTO r VALUES (7, NULL, 1, 1); INSERT INTO s VALUES (8, '2024-01-08', 1, 1)",
    ),
    "an untyped arm in a derived table": (
        "SELECT d.id, d.day, r.m FROM (SELECT id, day FROM public.s UNION ALL SELECT id, '2024-01-02' FROM public.r) d "
        "JOIN public.r ON r.day = d.day",
        ["id", "day"],
        "INSERT INTO r VALUES (9, NULL, 1, 1)",
    ),
    "arms of other types in a derived table": (
        "SELECT d.id, COUNT(*) AS n FROM (SELECT id, i AS x FROM public.s UNION ALL SELECT id + 100, m FROM public.r) "
        "d WHERE d.x / 2 > 1 GROUP BY d.id",
        ["id"],
        "INSERT INTO s VALUES (9, NULL, 3, NULL)",
    ),
    "a key written otherwise": ("SELECT g.v, g.n::text AS t FROM public.g", ["v"], "UPDATE g SET n = 1.50 WHERE v = 1"),
    "a floating point key written otherwise": (
        "SELECT h.v, h.n::text AS t FROM public.h",
        ["v"],
        "UPDATE h SET n = '-0' WHERE v = 1",
    ),
    "one row by HAVING alone": (
        "SELECT s.id, d.one FROM public.s, (SELECT 1 AS one FROM public.none HAVING TRUE) d",
        ["id"],
        "INSERT INTO s VALUES (9, NULL, 3, NULL)",
    ),
    "one row by the order of an aggregate": (
        "SELECT s.id, d.one FROM public.s, (SELECT 1 AS one FROM public.none ORDER BY COUNT(*)) d",
        ["id"],
        "INSERT INTO s VALUES (9, NULL, 3, NULL)",
    ),
    "a column that only a star speaks of": (
        "WITH w AS (SELECT * FROM public.s) SELECT w.id, w.i FROM w",
        ["id"],
        "ALTER TABLE s ADD more integer; ALTER TABLE s DROP day; UPDATE s SET i = 4 WHERE id = 1",
    ),
    "a star in an EXISTS": (
        "SELECT s.id FROM public.s WHERE EXISTS (SELECT * FROM public.r WHERE r.id = s.id)",
        ["id"],
        "ALTER TABLE r ADD more integer; INSERT INTO r VALUES (2, NULL, 1, 1)",
    ),
    "a subquery that nothing speaks of": (
        "SELECT v.id, v.i FROM (SELECT s.id, s.i, (SELECT r.m FROM public.r WHERE r.id = s.id) AS x FROM public.s) v",
        ["id"],
        "UPDATE r SET m = 9; UPDATE s SET i = 7 WHERE id = 1",
    ),
    "a cast that a join guards": (
        "SELECT c.id, c.v::integer AS v FROM public.c JOIN public.kinds k ON k.k = c.k",
        ["id", "v"],
        "INSERT INTO c VALUES (4, 'no number', 1, 'x'), (5, '7', 1, 'number')",
    ),
}


@pytest.mark.parametrize("case", EQUAL)
def test_equal_and_not_the_same(case: str, place: Place, workspace: Path) -> None:
    query, key, happens = EQUAL[case]
    place.sql(VALUES)
    with opened(config(place.url, _stream("q", query, *key)), workspace) as project:
        project.stream("q").prepare()
        place.sql(happens)
        assert found(project)
        assert not replica_differs(place, "q", query)


# -- base tables that are altered --------------------------------------------------------------------------------------
ORDERS = """CREATE TABLE orders (id integer PRIMARY KEY, region text, amount numeric, other numeric, note text,
  at timestamptz NOT NULL DEFAULT '2001-01-01'); CREATE UNIQUE INDEX other_key ON orders (amount);
  ALTER TABLE orders ALTER amount SET NOT NULL;
  INSERT INTO orders VALUES (1, 'a', 1.4, 7, 'x'), (2, 'a', 2.4, 8, 'y'), (3, 'b', 3.4, 9, NULL)"""
SUMS = "SELECT region, SUM(amount)::text AS s FROM public.orders WHERE region IS NOT NULL GROUP BY region"
ALTERED: dict[str, tuple[str, str]] = {
    "another type": (
        "ALTER TABLE orders ALTER amount TYPE numeric(10,0)",
        "public.orders, which the query reads, has column 'amount' as numeric(10,0) now and had numeric",
    ),
    "another column under its name": (
        "ALTER TABLE orders RENAME amount TO was; ALTER TABLE orders RENAME other TO amount",
        "has another column 'amount' now",
    ),
    "another key": ("ALTER TABLE orders DROP CONSTRAINT orders_pkey", "has key (amount) now and had (id)"),
    "another timestamp": (
        "ALTER TABLE orders ALTER at TYPE timestamptz(0)",
        "has column 'at' as timestamp(0) with time zone now",
    ),
    "another table": (
        "CREATE TABLE o (LIKE orders INCLUDING ALL); INSERT INTO o SELECT * FROM orders; DROP TABLE "
        "orders; ALTER TABLE o RENAME TO orders",
        "has another column 'amount' now",
    ),
}


@pytest.mark.campaign
@pytest.mark.parametrize("case", ALTERED)
def test_an_altered_base_table(case: str, place: Place, workspace: Path) -> None:
    happens, reason = ALTERED[case]
    place.sql(ORDERS)
    data = config(place.url, _stream("q", SUMS, "region"))
    data["tables"][0]["strategy"] = {"type": "vbd", "variant": "delta", "timestamps": {"public.orders": "at"}}
    with opened(data, workspace) as project:
        project.stream("q").prepare()
        assert found(project) == {}
        place.sql(happens)
        with pytest.raises(SchemaChanged) as caught:
            found(project)
        assert reason in caught.value.what
        assert "qbcd reset q" in str(caught.value.remedy)
        project.stream("q").reset(discard=True)
        project.stream("q").prepare()
        assert found(project) == {}
        assert not replica_differs(place, "q", SUMS)


def test_a_name_that_is_another_columns_now(place: Place, workspace: Path) -> None:
    place.sql(
        f"{ORDERS}; CREATE TABLE parts (id integer PRIMARY KEY, order_id integer, v integer);"
        "INSERT INTO parts VALUES (1, 1, 5), (2, 2, 5)"
    )
    query = "SELECT p.id FROM public.parts p WHERE (SELECT o.other > v FROM public.orders o WHERE o.id = p.order_id)"
    with opened(config(place.url, _stream("q", query)), workspace) as project:
        project.stream("q").prepare()
        assert found(project) == {}
        place.sql("ALTER TABLE orders ADD v integer")
        with pytest.raises(SchemaChanged, match=r"refers to column 'v' of public\.orders now, and did not"):
            found(project)
        place.sql("ALTER TABLE orders DROP v")
        assert found(project) == {}


def test_columns_that_a_query_does_not_read_may_be_altered(
    place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream prepared before base tables were stored adds them."""
    place.sql(ORDERS)
    with opened(config(place.url, _stream("q", SUMS, "region")), workspace) as project:
        with monkeypatch.context() as earlier:
            earlier.setattr(query_poll, "watermarks_before", lambda *_: {"marks": {}})
            project.stream("q").prepare()
        assert "bases" not in checkpoint(project, "q")
        assert found(project) == {}
        assert checkpoint(project, "q")["bases"]["public.orders"]["key"] == ["id"]
        place.sql("ALTER TABLE orders DROP note, ALTER other TYPE integer, ADD more integer; DROP INDEX other_key")
        assert found(project) == {}
        place.sql("ALTER TABLE orders ALTER amount TYPE numeric(10,0)")
        with pytest.raises(SchemaChanged):
            found(project)


# -- groups by equality whose result shows more than that ------------------------------------------------------------
FINER: dict[str, str] = {
    "a text that ignores case": "SELECT v::text AS k, COUNT(*) AS n FROM public.c GROUP BY v",
    "a number": "SELECT n::text AS k, COUNT(*) AS n FROM public.c GROUP BY n",
    "in a derived table": "SELECT d.k, d.c FROM (SELECT n::text AS k, COUNT(*) AS c FROM public.c GROUP BY n) d",
    "of a derived table": "SELECT d.n::text AS k, d.c FROM (SELECT n, COUNT(*) AS c FROM public.c GROUP BY n) d",
    "of a DISTINCT": "SELECT d.n::text AS k FROM (SELECT DISTINCT n FROM public.c) d",
    "of a UNION": "SELECT d.n::text AS k FROM (SELECT n FROM public.c UNION SELECT m FROM public.s) d",
}
# The query, its key, the changes: all of this is followed.
BY_EQUALITY: dict[str, tuple[str, list[str], str]] = {
    "a key that is grouped by": (
        "SELECT n, v::text AS t, COUNT(*) AS c FROM public.c GROUP BY n, v::text",
        ["n", "t"],
        "UPDATE c SET n = 1.000 WHERE id = 3; DELETE FROM c WHERE id = 1",
    ),
    "a derived group, joined by its equality": (
        "SELECT s.id, d.c FROM public.s JOIN (SELECT n, COUNT(*) AS c FROM public.c GROUP BY n) d ON d.n = s.m",
        ["id"],
        "UPDATE c SET n = 1.50; INSERT INTO c VALUES (9, 'z', 1.5000, 'x')",
    ),
    "a derived group, joined by its text": (
        "SELECT s.id, d.c FROM public.s JOIN (SELECT n, COUNT(*) AS c FROM public.c GROUP BY n) d "
        "ON d.n::text = s.day::text",
        ["id"],
        "UPDATE c SET n = 1.50; INSERT INTO c VALUES (9, 'z', 1.5000, 'x')",
    ),
    "a computed key of a group that is the same": (
        "SELECT upper(k) AS u, k || 'x' AS x, COUNT(*) AS c FROM public.c GROUP BY k",
        ["u", "x"],
        "UPDATE c SET k = 'w' WHERE id = 1; DELETE FROM c WHERE id = 3",
    ),
    "IN a group": (
        "SELECT s.id FROM public.s WHERE s.m IN (SELECT n FROM public.c WHERE c.id > s.id GROUP BY n)",
        ["id"],
        "UPDATE c SET n = 1.50; INSERT INTO c VALUES (9, 'z', 1.5000, 'x')",
    ),
}


def test_a_key_finer_than_its_groups_is_refused(place: Place, workspace: Path) -> None:
    place.sql(VALUES)
    names = {case: f"q{number}" for number, case in enumerate(FINER)}
    with opened(config(place.url, *(_stream(names[c], q, "k") for c, q in FINER.items())), workspace) as project:
        for case in FINER:
            with pytest.raises(Refused) as caught:
                project.stream(names[case]).prepare()
            assert "computes its key column k" in caught.value.what, case


@pytest.mark.parametrize("case", BY_EQUALITY)
def test_groups_by_equality(case: str, place: Place, workspace: Path) -> None:
    query, key, happens = BY_EQUALITY[case]
    place.sql(VALUES)
    with opened(config(place.url, _stream("q", query, *key)), workspace) as project:
        project.stream("q").prepare()
        for change in happens.split("; "):
            place.sql(change)
            found(project)
            assert not replica_differs(place, "q", query), change
