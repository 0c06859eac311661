"""Variant delta on MariaDB, where statements that write read the newest rows.

Only a cursor reads a single state there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qbcd.api import parts_of
from qbcd.errors import QbcdError
from qbcd.planning import plan_of
from qbcd.sites.database import query_poll
from tests.integration.queries.test_incremental_cases import found
from tests.support.places import Place
from tests.support.project import config, opened
from tests.support.query_streams import replica_differs

pytestmark = pytest.mark.parametrize("database", ["mariadb"], indirect=True)
STAMP = "at timestamp(6) NOT NULL DEFAULT current_timestamp(6) ON UPDATE current_timestamp(6)"
TABLES = f"""
CREATE TABLE orders (id integer PRIMARY KEY, customer integer, region varchar(20) NOT NULL, amount integer, {STAMP});
CREATE TABLE more (id integer PRIMARY KEY, order_id integer, quantity integer NOT NULL, {STAMP});
INSERT INTO orders (id, customer, region, amount) VALUES (1, 1, 'west', 10), (2, 2, 'east', 20), (3, 3, 'west', 30),
  (4, 0, 'east', 40), (5, 1, 'west', 50);
INSERT INTO more (id, order_id, quantity) VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4), (5, 2, 5), (6, 2, 6)
"""


def by_region(place: Place) -> str:
    return (
        f"SELECT o.region, COUNT(m.id) AS n, SUM(m.quantity) AS q FROM {place.table('orders')} AS o "
        f"LEFT JOIN {place.table('more')} AS m ON m.order_id = o.id GROUP BY o.region"
    )


def stream(place: Place, query: str, *key: str, stamped: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    """Return the configuration of one stream of a query.

    Tables without a timestamp are compared in full.
    """
    times = {place.table(name): "at" for name in stamped}
    lag = {"deletes": {"every": "1ms"}, "lag": "2ms", "margin": "1ms"} if times else {}
    strategy = {"type": "vbd", "variant": "delta", "timestamps": times, **lag}
    named = {"key": list(key)} if key else {}
    return {"name": "q", "query": query, "strategy": strategy, "baseline": "silent", **named, **more}


@pytest.fixture
def tables(place: Place) -> Iterator[Place]:
    """A place with the tables."""
    place.sql(TABLES)
    yield place


# -- one state, and nobody waits --------------------------------------------------------------------------------------
def meddling(place: Place, monkeypatch: pytest.MonkeyPatch, *changes: str) -> list[str]:
    """Run a change in another session after each read of a base table.

    Return the changes that were run. The other session waits for no lock.
    """
    done: list[str] = []
    find = query_poll._Step._find

    def changing_find(step: Any, session: Any, lineage: Any) -> int:
        seen = find(step, session, lineage)
        if len(done) < len(changes):
            with place.connect() as conn:
                place.run(conn, place.impatient)
                place.run(conn, changes[len(done)])
            done.append(changes[len(done)])
        return seen

    monkeypatch.setattr(query_poll._Step, "_find", changing_find)
    return done


@pytest.mark.parametrize("stamped", [("orders", "more"), ()])
def test_a_poll_sees_one_state_and_nobody_waits(
    stamped: tuple[str, ...], tables: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows enter an affected group during the poll, and leave it before the next one."""
    query = by_region(tables)
    with opened(config(tables.url, stream(tables, query, "region", stamped=stamped)), workspace) as project:
        project.stream("q").prepare()
        tables.sql("UPDATE more SET quantity = 100 WHERE order_id = 2")  # the east is affected
        done = meddling(
            tables,
            monkeypatch,
            "UPDATE orders SET region = 'east' WHERE id = 3; DELETE FROM more WHERE id = 5; "
            "INSERT INTO orders (id, customer, region) VALUES (9, 9, 'east')",
            "UPDATE more SET order_id = 2, quantity = 7 WHERE id = 1; INSERT INTO more VALUES (9, 4, 1000, now())",
        )
        assert found(project) == {"u": 1}
        assert len(done) == 2
        tables.sql(
            "UPDATE orders SET region = 'west' WHERE id = 3; DELETE FROM orders WHERE id = 9; "
            "DELETE FROM more WHERE id = 9; UPDATE more SET order_id = 1 WHERE id = 1"
        )
        found(project)
        assert not replica_differs(tables, "q", query)


def test_prepare_reads_one_state_too(tables: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row is inserted and deleted after the replica was filled, before the lineages are."""
    query, fill = by_region(tables), query_poll.fill

    def late(*args: Any) -> float:
        with tables.connect() as conn:
            tables.run(conn, tables.impatient)
            tables.run(conn, "UPDATE orders SET region = 'north' WHERE id = 3; DELETE FROM more WHERE id = 6")
        return fill(*args)

    monkeypatch.setattr(query_poll, "fill", late)
    with opened(config(tables.url, stream(tables, query, "region")), workspace) as project:
        project.stream("q").prepare()
        assert found(project) == {"c": 1, "u": 2}
        assert not replica_differs(tables, "q", query)


def test_an_audit_computes_the_whole_and_rebuilds_the_lineages(tables: Place, workspace: Path) -> None:
    query = by_region(tables)
    data = config(tables.url, stream(tables, query, "region", stamped=("orders", "more"), audit={"every": "1ms"}))
    with opened(data, workspace) as project:
        project.stream("q").prepare()
        tables.sql("UPDATE more SET quantity = 100, at = '2001-01-01' WHERE id = 1")  # before any window
        assert found(project) == {"u": 1}
        tables.sql("UPDATE orders SET region = 'north' WHERE id = 1")
        assert found(project) == {"u": 1, "c": 1}
        assert not replica_differs(tables, "q", query)


def test_the_rights_that_timestamps_and_lineages_need_are_printed(tables: Place, workspace: Path) -> None:
    """The right to see other sessions is printed once, and not at all without a timestamp."""
    for stamped, times in ((("orders", "more"), 1), ((), 0)):
        data = config(tables.url, stream(tables, by_region(tables), "region", stamped=stamped))
        with opened(data, workspace) as project:
            work = parts_of(project).open_stream("q")
            printed = work.site.ddl(plan_of(work, None)[0])
        assert sum("GRANT PROCESS ON *.*" in statement for statement in printed) == times
        assert sum(", INDEX, ALTER ON " in statement for statement in printed) == 1


# -- values and texts --------------------------------------------------------------------------------------------------
VALUES = """
CREATE TABLE v (id bigint unsigned PRIMARY KEY, grp integer, ti tinyint(1), un bigint unsigned, d decimal(38, 20),
  f float, r double, b bit(9), y year, day date, at datetime(6), ts timestamp(6) NULL, tm time(6),
  c char(5) CHARACTER SET latin1, s varchar(40), t longtext, bin binary(4), vb varbinary(9), bl longblob,
  e enum('a', 'b,''c', ''), st set('x', 'y', 'z'), js json, u uuid, i6 inet6, g point);
INSERT INTO v VALUES
  (18446744073709551615, 1, 1, 18446744073709551615, -1.00000000000000000001, 0.1, -0e0, b'101010101', 1901,
   '0000-00-00', '9999-12-31 23:59:59.999999', '2038-01-19 03:14:07.5', '-838:59:59.999999', 'é', 'it''s \\\\ 100%  ',
   repeat('ü', 70000), x'00ff', x'', x'00275c25', 'b,''c', 'x,z', '{"a": 1.00}', uuid(), '::1', point(1, -2.5)),
  (0, 1, NULL, 0, 0, -0e0, 1e-308, b'0', 0, '2024-02-29', '0000-00-00', NULL, '00:00', '', '', '', x'', x'2020', x'',
   '', '', '[]', uuid(), 'ffff::', NULL),
  (7, NULL, 0, 1, 1, 3.4e38, 1.7976931348623157e308, b'1', 2155, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
   NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE w (id integer PRIMARY KEY, name varchar(20) NOT NULL); INSERT INTO w VALUES (1, 'one'), (2, 'two')
"""
SHOWN = (
    "id",
    "grp",
    "ti",
    "un",
    "d",
    "f",
    "r",
    "b",
    "y",
    "day",
    "at",
    "ts",
    "tm",
    "c",
    "s",
    "t",
    "bin",
    "vb",
    "bl",
    "js",
    "u",
    "i6",
    "g",
)


def test_every_value_passes_through_variables(place: Place, workspace: Path) -> None:
    place.sql(VALUES)
    shown = ", ".join(f"v.{c}" for c in SHOWN)
    query = (
        f"SELECT {shown}, CAST(v.e AS CHAR) AS e, CAST(v.r AS CHAR) AS read_text, w.name FROM {place.table('v')} AS v "
        f"LEFT JOIN {place.table('w')} AS w ON w.id = v.grp"
    )
    with opened(config(place.url, stream(place, query, "id")), workspace) as project:
        project.stream("q").prepare()
        assert not replica_differs(place, "q", query)
        for change, ops in (
            ("UPDATE v SET grp = 2, f = 0e0, r = 0e0", {"u": 3}),
            ("UPDATE v SET r = '-0' WHERE id = 0", {}),  # stored as 0
            ("UPDATE w SET name = 'TWO' WHERE id = 2", {"u": 3}),
            ("DELETE FROM w WHERE id = 2; DELETE FROM v WHERE id = 7", {"u": 2, "d": 1}),
        ):
            place.sql(change)
            assert found(project) == ops, change
            assert not replica_differs(place, "q", query), change


TEXTS = """
CREATE TABLE a (id integer PRIMARY KEY, ci varchar(20), bi varchar(20) COLLATE utf8mb4_bin, n integer, d decimal(9, 3));
CREATE TABLE b (id integer PRIMARY KEY, ci varchar(20), bi varchar(20) COLLATE utf8mb4_bin, n integer, l char(9)
  CHARACTER SET latin1);
CREATE TABLE c (id integer PRIMARY KEY, d decimal(9, 3)); INSERT INTO c VALUES (1, 1), (2, 2);
INSERT INTO a VALUES (1, 'x', 'x', 1, 1.5), (2, 'X', 'X', 2, 1.500), (3, 'é', 'é ', 3, 0), (4, '5', '05', 5, 5);
INSERT INTO b VALUES (1, 'X', 'x', 1, 'x'), (2, 'x ', 'x ', 2, 'é'), (3, 'E', 'e', 5, '5')
"""
# The query over tables {a}, {b} and {c}, its key.
BY_TEXT: dict[str, tuple[str, tuple[str, ...]]] = {
    "a group of texts that ignore case": (
        "SELECT a.ci AS k, COUNT(*) AS n, SUM(a.d) AS s FROM {a} AS a WHERE a.ci IS NOT NULL GROUP BY a.ci",
        ("k",),
    ),
    "joined without case and with it": (
        "SELECT a.id, b.id AS other FROM {a} AS a JOIN {b} AS b ON b.ci = a.ci AND b.n > 0",
        ("id", "other"),
    ),
    "by two collations": ("SELECT a.id, b.id AS other FROM {a} AS a JOIN {b} AS b ON b.bi = a.ci", ("id", "other")),
    "a text and a number": (
        "SELECT a.id, COUNT(b.id) AS n FROM {a} AS a LEFT JOIN {b} AS b ON b.n = a.bi GROUP BY a.id",
        ("id",),
    ),
    "a text of another character set": (
        "SELECT a.id, b.id AS other, b.l FROM {a} AS a JOIN {b} AS b ON b.l = a.ci",
        ("id", "other"),
    ),
    "a derived group of texts, joined by their own collation": (
        "SELECT a.id, d.n FROM {a} AS a JOIN (SELECT y.ci, COUNT(*) AS n FROM {b} AS y GROUP BY y.ci) AS d "
        "ON d.ci = a.ci",
        ("id",),
    ),
    "a derived group by number, joined by a text": (
        "SELECT a.id, d.m FROM {a} AS a JOIN (SELECT y.n, COUNT(y.ci) AS m FROM {b} AS y GROUP BY y.n) AS d "
        "ON d.n = a.bi",
        ("id",),
    ),
    "NOT IN by another collation": (
        "SELECT a.id, a.n FROM {a} AS a WHERE a.bi NOT IN (SELECT y.ci FROM {b} AS y WHERE y.n > 1)",
        ("id",),
    ),
    "arms of other types": (
        "SELECT 1 AS arm, a.ci AS k, a.n FROM {a} AS a WHERE a.n > 1 UNION ALL SELECT 2, b.id, b.n FROM {b} AS b "
        "UNION ALL SELECT 3 + c.id, c.d, c.id FROM {c} AS c",
        ("arm", "k"),
    ),
    "EXISTS of an aggregate, which there always is": (
        "SELECT a.id, a.n FROM {a} AS a WHERE EXISTS (SELECT MAX(y.id) FROM {b} AS y WHERE y.n = a.n)",
        ("id",),
    ),
    "a name of the select list in HAVING": (
        "SELECT a.n AS k, COUNT(*) AS rows_, MAX(a.d) AS d FROM {a} AS a GROUP BY k HAVING rows_ > 1 AND MAX(d) > 0",
        ("k",),
    ),
    "a text of the query's own": (
        "SELECT CASE WHEN a.n > 2 THEN 'much ' ELSE 'few' END AS k, COUNT(*) AS n FROM {a} AS a "
        "GROUP BY CASE WHEN a.n > 2 THEN 'much ' ELSE 'few' END",
        ("k",),
    ),
}
HAPPENS = (
    "UPDATE b SET ci = 'É', n = n + 1 WHERE id = 3",
    "UPDATE a SET ci = 'e ', bi = 'e' WHERE id = 1",
    "INSERT INTO b VALUES (9, 'x', '5 ', 3, 'X')",
    "UPDATE a SET d = d + 1, n = 5 WHERE id = 2",
    "DELETE FROM a WHERE id = 3; UPDATE b SET ci = 'x' WHERE id = 1",
    "UPDATE b SET bi = 'X', l = 'e' WHERE n < 4",
    "INSERT INTO a VALUES (7, 'Y ', 'é', 5, 5); DELETE FROM b WHERE id = 2",
    "UPDATE a SET ci = upper(ci)",
    "UPDATE b SET n = 9 WHERE id = 3; UPDATE c SET d = 2.5 WHERE id = 1; UPDATE c SET id = 7 WHERE id = 2",
    "UPDATE a SET n = 77 WHERE id = 4",
)


@pytest.mark.parametrize("changes", [HAPPENS[:3], pytest.param(HAPPENS, marks=pytest.mark.campaign)], ids=len)
def test_texts_that_are_equal_and_not_the_same(changes: tuple[str, ...], place: Place, workspace: Path) -> None:
    place.sql(TEXTS)
    names = {f"q{n}": case for n, case in enumerate(BY_TEXT)}
    queries = {n: BY_TEXT[case][0].format(**{t: place.table(t) for t in "abc"}) for n, case in names.items()}
    streams = [stream(place, queries[n], *BY_TEXT[case][1]) | {"name": n} for n, case in names.items()]
    with opened(config(place.url, *streams), workspace) as project:
        for name in names:
            project.stream(name).prepare()
        for change in changes:
            place.sql(change)
            for name, case in names.items():
                found(project, name)
                # of equal texts in a group, any one is shown
                by = "hex(weight_string(k)), n, s" if name == "q0" else "*"
                assert not replica_differs(place, name, queries[name], by), (case, change)


# -- refused and accepted queries -------------------------------------------------------------------------------------
REFUSED: dict[str, tuple[str, tuple[str, ...], str]] = {
    "a group of texts, of which the result shows more": (
        "SELECT md5(a.ci) AS k, COUNT(*) AS n FROM {a} AS a GROUP BY a.ci",
        ("k",),
        "computes its key column k",
    ),
    "a group of texts, joined by another collation": (
        "SELECT d.ci AS k, b.id FROM (SELECT a.ci, COUNT(*) AS n FROM {a} AS a GROUP BY a.ci) AS d "
        "JOIN {b} AS b ON b.bi = d.ci WHERE concat(d.ci, 'x') > b.bi",
        ("k", "id"),
        "",
    ),
    "a function that is written otherwise": ("SELECT a.id, log10(a.n) AS n FROM {a} AS a", ("id",), "calls log10"),
    "a pattern": ("SELECT a.id FROM {a} AS a WHERE a.ci REGEXP 'x'", ("id",), "which qbcd may not reproduce exactly"),
    "a backslash": ("SELECT a.id FROM {a} AS a WHERE a.ci LIKE 'a\\_b'", ("id",), "has a backslash in the text"),
    "either of two": ("SELECT a.id FROM {a} AS a WHERE a.n > 1 XOR a.d > 1 AND a.ci = 'x'", ("id",), "calls "),
    "a column in another case": ("SELECT a.id, a.N FROM {a} AS a", ("id",), "names that cannot be resolved"),
    "texts in a row": ("SELECT a.n AS k, GROUP_CONCAT(a.ci) AS t FROM {a} AS a GROUP BY a.n", ("k",), ""),
    "a zero date, which is NULL in one place alone": (
        "SELECT d.id FROM (SELECT z.id, z.day AS since FROM {z} AS z) AS d WHERE d.since IS NULL",
        ("id",),
        "zero date",
    ),
    "USING by columns of two types": (
        "SELECT z.id FROM {z} AS z JOIN {a} AS a USING (bi) WHERE bi > '8'",
        ("id",),
        "may have different types",
    ),
    "USING by columns of one": (
        "SELECT a.id, b.id AS other FROM {a} AS a JOIN {b} AS b USING (n) WHERE n > 1",
        ("id", "other"),
        "",
    ),
    "a name that is the server's in another case": (
        "SELECT z.id FROM {z} AS z WHERE EXISTS (SELECT 1 FROM {a} AS a WHERE a.id = z.id AND D = 5)",
        ("id",),
        "is the same name",
    ),
    "WITH in another case": ("WITH W AS (SELECT a.id FROM {a} AS a) SELECT w.id FROM w", ("id",), "relations"),
    "a function of the user's own": ("SELECT a.id, len(a.ci) AS n FROM {a} AS a", ("id",), "calls len"),
    "a comparison of a comparison": (
        "SELECT a.id FROM {a} AS a WHERE a.n NOT IN (1, 2) = a.id",
        ("id",),
        "write brackets",
    ),
    "a view": ("SELECT v.id FROM {v} AS v", ("id",), ""),
    "a view with texts of its own": ("SELECT w.id FROM {w} AS w", ("id",), "a view whose definition cannot be read"),
    "a name of qbcd's own": ("SELECT a.id, a.n AS `qbcd$0` FROM {a} AS a", ("id",), "qbcd's own names"),
}


def test_refused_by_name(place: Place, workspace: Path) -> None:
    place.sql(
        f"{TEXTS}; CREATE VIEW v AS SELECT id FROM a; CREATE VIEW w AS SELECT id, 'x' AS t FROM a;"
        "CREATE FUNCTION len(s varchar(99)) RETURNS integer DETERMINISTIC "
        "NO SQL RETURN 7; CREATE TABLE z (id integer PRIMARY KEY, day date NOT NULL, bi integer, D integer)"
    )
    tables = {name: place.table(name) for name in "abvwz"}
    cases = {f"q{n}": case for n, case in enumerate(REFUSED)}
    streams = [stream(place, REFUSED[c][0].format(**tables), *REFUSED[c][1]) | {"name": n} for n, c in cases.items()]
    with opened(config(place.url, *streams), workspace) as project:
        for name, case in cases.items():
            if not REFUSED[case][2]:
                project.stream(name).prepare()
                continue
            with pytest.raises(QbcdError) as caught:
                project.stream(name).prepare()
            assert REFUSED[case][2] in caught.value.what, case
            assert caught.value.remedy


@pytest.mark.parametrize(
    "altered",
    [
        "ALTER TABLE more RENAME COLUMN quantity TO q_old; ALTER TABLE more ADD quantity integer NOT NULL DEFAULT 7",
        "CREATE TABLE other LIKE more; INSERT INTO other SELECT id, order_id, quantity + 1, at FROM more; "
        "RENAME TABLE more TO gone, other TO more",
    ],
    ids=["column", "table"],
)
def test_a_table_or_column_that_another_took_the_name_of(altered: str, tables: Place, workspace: Path) -> None:
    query = by_region(tables)
    data = config(tables.url, stream(tables, query, "region", stamped=("orders", "more")))
    with opened(data, workspace) as project:
        project.stream("q").prepare()
        time.sleep(1.1)  # the server's clock of definitions has whole seconds
        tables.sql(altered)
        assert found(project) == {"u": 2}
        assert not replica_differs(tables, "q", query)
        assert found(project) == {}
