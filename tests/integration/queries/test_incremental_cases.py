"""Named cases that variant delta must get right.

They cover changes of several tables at once, rows that leave the result, and late commits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import qbcd
from qbcd.api import parts_of
from qbcd.errors import QbcdError
from qbcd.status import stream_status
from qbcd.strategies.base import table_name
from tests.support import no_sessions, wait_until
from tests.support.places import Place
from tests.support.project import config, opened, poll
from tests.support.query_streams import checkpoint, detect, replica_differs

NOW = "clock_timestamp()"
TABLES = f"""
CREATE TABLE orders (id integer PRIMARY KEY, customer integer, region text NOT NULL, amount integer, note text,
  at timestamptz NOT NULL DEFAULT {NOW});
CREATE TABLE lines (id integer PRIMARY KEY, order_id integer, quantity integer NOT NULL, kind text,
  at timestamptz NOT NULL DEFAULT {NOW});
CREATE TABLE keyless (n integer); CREATE MATERIALIZED VIEW big AS SELECT id, region FROM orders WHERE amount > 50;
INSERT INTO orders SELECT i, i % 4, CASE WHEN i % 2 = 0 THEN 'east' ELSE 'west' END, i * 10
  FROM generate_series(1, 9) i;
INSERT INTO lines SELECT i, i % 6, i, CASE WHEN i % 3 = 0 THEN 'x' END FROM generate_series(1, 20) i
"""
BY_REGION = """SELECT o.region, COUNT(l.id) AS n, SUM(l.quantity) AS q
    FROM public.orders o LEFT JOIN public.lines l ON l.order_id = o.id GROUP BY o.region"""
WITH_X = """SELECT o.id, o.amount FROM public.orders o
    WHERE EXISTS (SELECT 1 FROM public.lines l WHERE l.order_id = o.id AND l.kind = 'x')"""
WITHOUT_X = WITH_X.replace("EXISTS", "NOT EXISTS")
MANY = """SELECT o.customer AS c, COUNT(*) AS n FROM public.orders o WHERE o.customer IS NOT NULL
    GROUP BY o.customer HAVING COUNT(*) > 2"""
BY_KIND = """SELECT COALESCE(l.kind, 'none') AS kind, COUNT(*) AS n
    FROM public.orders o LEFT JOIN public.lines l ON l.id = o.customer + 1 GROUP BY COALESCE(l.kind, 'none')"""
TOTAL = "SELECT COUNT(*) AS n, SUM(amount) AS sum FROM public.orders WHERE region = 'west'"
SOME = "SELECT MAX(amount) AS most FROM public.orders HAVING MAX(amount) > 75"
TOTALS = """SELECT o.n, l.q FROM (SELECT COUNT(*) AS n FROM public.orders) o,
    (SELECT SUM(quantity) AS q FROM public.lines WHERE quantity > 1) l WHERE o.n > 3"""
LISTED = """SELECT o.area, COUNT(x.line) AS n, SUM(x.quantity) AS q
    FROM public.orders AS o (number, buyer, area) LEFT JOIN public.lines AS x (line, number) ON x.number = o.number
    WHERE o.amount > 10 GROUP BY o.area"""
STAMPS = {"public.orders": "at", "public.lines": "at"}
KEYS = {BY_REGION: ["region"], WITH_X: ["id"], WITHOUT_X: ["id"], MANY: ["c"], BY_KIND: ["kind"], LISTED: ["area"]}

# By case: the query, the changes, the events.
CASES: dict[str, tuple[str, str, dict[str, int]]] = {
    "both tables change, so that neither new row meets the other's old one": (
        BY_REGION,
        f"UPDATE orders SET region = 'north', at = {NOW} WHERE id = 3;"
        f"UPDATE lines SET order_id = 3, at = {NOW} WHERE id = 4; DELETE FROM lines WHERE id = 9",
        {"u": 2, "c": 1},
    ),
    "a row leaves one group for another": (
        BY_REGION,
        f"UPDATE orders SET region = 'west', at = {NOW} WHERE id = 2",
        {"u": 2},
    ),
    "a row leaves an EXISTS": (WITH_X, f"UPDATE lines SET kind = 'y', at = {NOW} WHERE order_id = 3", {"d": 1}),
    "a row leaves the table of an EXISTS": (WITH_X, "DELETE FROM lines WHERE order_id = 3", {"d": 1}),
    "a row comes into a NOT EXISTS by another's leaving": (
        WITHOUT_X,
        f"UPDATE lines SET order_id = 77, at = {NOW} WHERE id IN (3, 9, 15)",
        {"c": 1},
    ),
    "a group falls under HAVING": (MANY, f"UPDATE orders SET customer = 7, at = {NOW} WHERE id = 1", {"d": 1}),
    "a group rises over HAVING": (MANY, "INSERT INTO orders VALUES (20, 0, 'east', 1)", {"c": 1}),
    "a partner goes, and its row joins those without one": (
        BY_KIND,
        "DELETE FROM lines WHERE id = 3",
        {"d": 1, "u": 1},
    ),
    "both sides go at once": (
        BY_KIND,
        "DELETE FROM lines WHERE id IN (2, 3); DELETE FROM orders WHERE customer = 1",
        {"d": 1, "u": 1},
    ),
    "all rows leave what one row is made of": (
        TOTAL,
        f"DELETE FROM orders WHERE id = 1; UPDATE orders SET region = 'x', at = {NOW}",
        {"u": 1},
    ),
    "one row falls under HAVING": (SOME, f"UPDATE orders SET amount = 1, at = {NOW} WHERE id > 7", {"d": 1}),
    "one row of two totals": (TOTALS, "DELETE FROM lines WHERE id = 9", {"u": 1}),
    "columns that have other names where their tables are joined": (
        LISTED,
        f"UPDATE orders SET region = 'north', at = {NOW} WHERE id = 3;"
        f"UPDATE lines SET order_id = 3, at = {NOW} WHERE id = 4; DELETE FROM lines WHERE id = 9",
        {"u": 2, "c": 1},
    ),
    "nothing that the query shows": (BY_REGION, f"UPDATE orders SET note = 'n', at = {NOW} WHERE id = 3", {}),
}


def configured(place: Place, query: str, **more: Any) -> dict[str, Any]:
    """Return one stream of a query as configuration; each poll searches for deleted rows."""
    stamps = {table: at for table, at in STAMPS.items() if table in query}
    strategy = {"type": "vbd", "variant": "delta", "timestamps": stamps, "deletes": {"every": "1ms"}, **more}
    key = KEYS.get(query)
    return config(
        place.url,
        {"name": "q", "query": query, "strategy": strategy, "baseline": "silent", **({"key": key} if key else {})},
    )


@pytest.fixture
def tables(place: Place) -> Iterator[Place]:
    """A place with the tables."""
    place.sql(TABLES)
    yield place


@pytest.mark.parametrize("of", [slice(0, None, 4), pytest.param(slice(0, None), marks=pytest.mark.campaign)], ids=str)
def test_exact(of: slice, place: Place, workspace: Path) -> None:
    streams = {case: f"q{n}" for n, case in enumerate([*CASES][of])}
    data = configured(place, BY_REGION)
    data["tables"] = [configured(place, CASES[case][0])["tables"][0] | {"name": name} for case, name in streams.items()]
    with opened(data, workspace) as project:
        for case, name in streams.items():
            query, happens, expected = CASES[case]
            place.sql(f"DROP TABLE IF EXISTS orders, lines, keyless CASCADE; {TABLES}")
            project.stream(name).prepare()
            place.sql(happens)
            assert found(project, name) == expected, case
            assert not replica_differs(place, name, query), case
            assert found(project, name) == {}, case


def test_a_row_that_moves_at_each_poll_leads_to_where_it_was(tables: Place, workspace: Path) -> None:
    with opened(configured(tables, BY_REGION), workspace) as project:
        project.stream("q").prepare()
        for region, expected in (("north", {"u": 1, "c": 1}), ("south", {"c": 1, "d": 1}), ("west", {"u": 1, "d": 1})):
            tables.sql(f"UPDATE orders SET region = '{region}', at = {NOW} WHERE id = 3")
            assert found(project) == expected, region
            assert not replica_differs(tables, "q", BY_REGION), region


def found(project: qbcd.Project, name: str = "q") -> dict[str, int]:
    """Poll once; return the events by op."""
    return {op: n for d in detect(project, name) if d.header for op, n in d.header.counts.items()}


def test_one_row_is_computed_where_a_row_leads_to_it_alone(tables: Place, workspace: Path) -> None:
    """It is computed once per poll, and not at all if all changed rows are and stay outside."""
    moved = f"UPDATE orders SET amount = amount + 1, at = {NOW} WHERE id IN ({{}})"
    with opened(configured(tables, TOTAL), workspace) as project:
        project.stream("q").prepare()
        for ids, computed in (("2, 4", 0), ("1, 2, 3", 1), ("8", 0)):
            tables.sql(moved.format(ids))
            reached: list[str] = []
            _poll_with_progress(project, lambda _, what, reached=reached: reached.append(what))
            assert len([what for what in reached if what.startswith("computing")]) == computed, ids
            assert not replica_differs(tables, "q", TOTAL)


def test_a_poll_sees_one_state(tables: Place, workspace: Path) -> None:
    """A row enters an affected group during the poll, and leaves it before the next one."""
    with opened(configured(tables, BY_REGION), workspace) as project:
        project.stream("q").prepare()
        tables.sql(f"UPDATE lines SET quantity = 100, at = {NOW} WHERE order_id = 2")  # the east is affected
        move = "UPDATE orders SET region = '{}', at = clock_timestamp() WHERE id = 3"
        reached = []

        def progress(_: str, what: str) -> None:
            if what.startswith("computing"):
                reached.append(what)
                tables.sql(move.format("east"))

        _poll_with_progress(project, progress)
        assert len(reached) == 1
        tables.sql(move.format("west"))
        found(project)
        assert not replica_differs(tables, "q", BY_REGION)


def _poll_with_progress(project: qbcd.Project, progress: Any) -> None:
    from qbcd.planning import plan_of

    work = parts_of(project).open_stream("q")
    work.site.context.progress = lambda what: progress("q", what)
    with work.site.context.hold() as held:
        plan, _ = plan_of(work, held.row)
        list(work.site.detect(plan, work.settings, held))


def test_a_transaction_that_was_open_is_seen_when_it_ends(tables: Place, workspace: Path) -> None:
    with opened(configured(tables, BY_REGION), workspace) as project:
        project.stream("q").prepare()
        with tables.connect() as conn:
            tables.run(conn, f"UPDATE orders SET region = 'south', at = {NOW} WHERE id = 5")
            tables.sql(f"UPDATE lines SET quantity = 7, at = {NOW} WHERE id = 1")
            assert found(project) == {"u": 1}
        assert found(project) == {"u": 1, "c": 1}
        assert not replica_differs(tables, "q", BY_REGION)


def test_a_row_deleted_unseen_that_comes_back_as_it_was(tables: Place, workspace: Path) -> None:
    """Its group was computed without it in between."""
    data = configured(tables, BY_REGION)
    del data["tables"][0]["strategy"]["deletes"]
    with opened(data, workspace) as project:
        project.stream("q").prepare()
        tables.sql("DELETE FROM orders WHERE id = 3")
        assert found(project) == {}, "a timestamp cannot show it"
        tables.sql(f"UPDATE lines SET quantity = 1, at = {NOW} WHERE order_id = 1")
        assert found(project) == {"u": 1}
        tables.sql("INSERT INTO orders VALUES (3, 3, 'west', 30)")
        assert found(project) == {"u": 1}
        assert not replica_differs(tables, "q", BY_REGION)


def test_a_row_found_deleted_that_comes_back_as_it_was(tables: Place, workspace: Path) -> None:
    """Its table has no timestamp, and its lineage must forget it.

    Otherwise it would look unchanged.
    """
    timestamps = {"public.orders": "at"}
    with opened(configured(tables, WITH_X, timestamps=timestamps), workspace) as project:
        project.stream("q").prepare()
        tables.sql("CREATE TABLE gone AS SELECT * FROM lines WHERE order_id = 3; DELETE FROM lines WHERE order_id = 3")
        assert found(project) == {"d": 1}
        tables.sql("INSERT INTO lines SELECT * FROM gone")
        assert found(project) == {"c": 1}
        assert not replica_differs(tables, "q", WITH_X)


def test_a_number_that_is_written_otherwise(place: Place, workspace: Path) -> None:
    """The value is equal, but the text that the query makes of it is another one."""
    place.sql(
        "CREATE TABLE n (id integer PRIMARY KEY, v numeric, w double precision); INSERT INTO n VALUES (1, 1.0, 0)"
    )
    query = "SELECT id, v::text AS v, w::text AS w FROM public.n"
    with opened(configured(place, query), workspace) as project:
        project.stream("q").prepare()
        for change in ("UPDATE n SET v = 1.00", "UPDATE n SET w = '-0'"):
            place.sql(change)
            assert found(project) == {"u": 1}, change


def test_another_digest_recomputes_all_rows(tables: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that a new encoder version recomputes all rows and rewrites the lineage.

    The recomputation also finds a change that no timestamp showed.
    """
    tables.sql("UPDATE lines SET at = '2020-01-01'")
    with opened(configured(tables, BY_REGION), workspace) as project:
        project.stream("q").prepare()
        tables.sql("UPDATE lines SET quantity = 500 WHERE order_id = 2")
        assert found(project) == {}
        connector = type(parts_of(project).open_stream("q").source.connector)
        monkeypatch.setattr(connector, "encoder_version", connector.encoder_version + 1)
        assert found(project) == {"u": 1}
        tables.sql(f"UPDATE lines SET quantity = 0, at = {NOW} WHERE order_id = 3; DELETE FROM orders WHERE id = 2")
        assert found(project) == {"u": 2}
        assert not replica_differs(tables, "q", BY_REGION)


def test_nothing_is_computed_where_nothing_changed(tables: Place, workspace: Path) -> None:
    """The server's statistics show reads of nothing but the index on the timestamp."""
    tables.sql(
        "CREATE INDEX ON orders (at); CREATE INDEX ON lines (at); INSERT INTO orders (id, region, at) SELECT i, "
        "'far', '2020-01-01' FROM generate_series(100, 9000) i; UPDATE lines SET at = '2020-01-01'; "
        "UPDATE orders SET at = '2020-01-01'; ANALYZE"
    )
    data = configured(tables, BY_REGION)
    del data["tables"][0]["strategy"]["deletes"]
    with opened(data, workspace) as project:
        project.stream("q").prepare()
        found(project)
        names = [table_name("replica", "q"), table_name("lineage0", "q"), "orders"]
        before = scans(tables, names)
        assert found(project) == {}
        assert [scans(tables, [name]) for name in names] == [before[:1], before[1:2], before[2:]]
        tables.sql(f"UPDATE lines SET quantity = 1, at = {NOW} WHERE order_id = 1")
        assert found(project) == {"u": 1}
        assert scans(tables, names[:1]) > before[:1]


def scans(place: Place, names: list[str]) -> list[tuple[Any, ...]]:
    """Return by table the number of full scans, and the number of index reads of the replica.

    The server's planner reads indexes of the tables that a statement names, and counts those reads.
    """
    wait_until(lambda: no_sessions(place.url), what="the end of sessions, which tell what they read")
    return [
        place.sql(
            "SELECT seq_scan, CASE WHEN relname LIKE 'replica%%' THEN idx_scan END FROM pg_stat_all_tables "
            "WHERE relname = %s",
            [name],
        )[0]
        for name in names
    ]


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "a window": ("SELECT id, rank() OVER (ORDER BY amount) AS r FROM public.orders", {}, "has window functions"),
    "a limit within": (
        "SELECT o.id, d.q FROM public.orders o JOIN "
        "(SELECT order_id, quantity AS q FROM public.lines ORDER BY id LIMIT 3) d ON d.order_id = o.id",
        {"key": ["id"]},
        "keeps some rows only (LIMIT)",
    ),
    "a subquery about no row": (
        "SELECT id, amount FROM public.orders WHERE amount > (SELECT AVG(amount) FROM public.orders)",
        {},
        "has a subquery that does not depend on the outer row",
    ),
    "an aggregate as key": (
        "SELECT MAX(id) AS k, region FROM public.orders GROUP BY region",
        {"key": ["k"]},
        "computes its key column k",
    ),
    "no key of a table": (
        "SELECT o.id, k.n FROM public.orders o JOIN public.keyless k ON k.n = o.id",
        {"key": ["id"]},
        "public.keyless has no key",
    ),
    "a materialized view": (
        "SELECT id, region FROM public.big",
        {"key": ["id"]},
        "it reads public.big, which is a materialized view",
    ),
    "a type that is written otherwise": (
        'SELECT o.id, o.region::"bit" AS r FROM public.orders o',
        {},
        'casts to "bit"',
    ),
    "a function of another type": (
        "SELECT o.id, date_part('day', o.at) AS d FROM public.orders o",
        {},
        "calls date_part: write extract",
    ),
    "arms of several types": (
        "SELECT id FROM public.orders WHERE amount IN (SELECT id FROM public.lines UNION SELECT 1.5 FROM public.lines)",
        {},
        "a UNION whose arms are of several types",
    ),
    "several rows of one": (
        "SELECT o.id, generate_series(1, 2) AS n FROM public.orders o",
        {"key": ["id", "n"]},
        "several rows",
    ),
    "a function unknown": ("SELECT o.id, public.own(o.amount) AS n FROM public.orders o", {"key": ["id"]}, "calls "),
    "recursion": (
        "WITH RECURSIVE t AS (SELECT id FROM public.orders UNION ALL SELECT id + 100 FROM t WHERE id < 50) "
        "SELECT id, COUNT(*) AS n FROM t GROUP BY id",
        {"key": ["id"]},
        "is recursive",
    ),
    "lateral": (
        "SELECT o.id, d.q FROM public.orders o CROSS JOIN LATERAL (SELECT MAX(l.quantity) AS q FROM public.lines l "
        "WHERE l.order_id = o.id) d",
        {"key": ["id"]},
        "the query ",
    ),
    "a table that is not read": (
        "SELECT id, region FROM public.orders",
        {"strategy": {"timestamps": {"public.nowhere": "at"}}},
        "timestamps names public.nowhere",
    ),
    "a column that is none": (
        "SELECT id, region FROM public.orders",
        {"strategy": {"timestamps": {"public.orders": "att"}}},
        'column "att" does not exist',
    ),
}


def test_tables_whose_names_need_quotes(place: Place, workspace: Path) -> None:
    name = '"m.10"."t ""x"" y"'
    place.sql(
        f'CREATE SCHEMA "m.10"; CREATE TABLE {name} (id integer PRIMARY KEY, v integer, at timestamptz);'
        f"INSERT INTO {name} VALUES (1, 1, now())"
    )
    data = configured(place, f"SELECT id, v FROM {name}", timestamps={name: "at"}, margin="1ms", deletes=None)
    data["tables"][0]["strategy"].pop("deletes")
    with opened(data, workspace) as project:
        project.stream("q").prepare()
        place.sql(f"UPDATE {name} SET v = 2, at = clock_timestamp()")
        [outcome] = poll(project, "q")
        assert outcome.report is not None
        assert outcome.report.counts == {"u": 1}


def test_refused_by_name(tables: Place, workspace: Path) -> None:
    tables.sql("CREATE FUNCTION own(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT $1'")
    data = config(
        tables.url,
        *(
            {
                "name": name,
                "query": query,
                **more,
                "strategy": {"type": "vbd", "variant": "delta", **more.get("strategy", {})},
            }
            for name, (query, more, _) in {n.replace(" ", "-"): case for n, case in REFUSED.items()}.items()
        ),
    )
    with opened(data, workspace) as project:
        for name, (_, _, reason) in REFUSED.items():
            with pytest.raises(QbcdError) as caught:
                project.stream(name.replace(" ", "-")).prepare()
            assert reason in caught.value.what, name
            assert caught.value.remedy
    assert tables.sql("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'qbcd'") == [(0,)]


def test_auto_chooses_delta_with_timestamps_and_explains_other_choices(tables: Place, workspace: Path) -> None:
    window = "SELECT id, rank() OVER (ORDER BY amount) AS r FROM public.orders"
    data = configured(tables, BY_REGION, variant="auto")
    other = configured(tables, window, variant="auto")["tables"][0] | {"name": "w", "key": ["id"]}
    data["tables"].append(other)
    with opened(data, workspace) as project:
        for stream in ("q", "w"):
            project.stream(stream).prepare()
        labels = {stream: _label(project, stream) for stream in ("q", "w")}
        assert labels == {"q": "vbd, variant delta", "w": "vbd, variant compare"}
        findings = [str(finding) for finding in project.check() if finding.stream == "w"]
        assert any("variant delta cannot follow: the query has window functions" in text for text in findings), findings


def _label(project: qbcd.Project, stream: str) -> str:
    from qbcd.planning import plan_of

    work = parts_of(project).open_stream(stream)
    return work.site.strategy(plan_of(work, work.site.context.row())[0]).label


def test_a_reset_leaves_no_table_behind(tables: Place, workspace: Path) -> None:
    with opened(configured(tables, BY_REGION), workspace) as project:
        project.stream("q").prepare()
        assert len(own(tables)) > 5
        tables.sql("UPDATE orders SET region = 'north' WHERE id = 3")
        assert [d.op for d in project.stream("q").verify()] == ["u", "c"], "a verification needs no timestamp"
        titles = [step.title for step in project.stream("q").explain()]
        assert titles[:2] == [
            "public.orders: read rows written since the watermark",
            "public.orders: find deleted rows, when that is due",
        ]
        assert any("CREATE INDEX" in statement and '"orders"' in statement for statement in project.stream("q").ddl())
        project.stream("q").reset(discard=True)
        assert own(tables) == []
        project.stream("q").prepare()
        assert not replica_differs(tables, "q", BY_REGION)


def own(place: Place) -> list[Any]:
    """Return qbcd's tables of the stream."""
    return place.sql(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'qbcd' AND "
        "table_name LIKE '%%\\_q\\_%%'",
        [],
    )


def test_a_row_that_was_missing_unseen_by_transaction_ids(tables: Place, workspace: Path) -> None:
    """Its values do not show that it was missing when the result was computed."""
    query = """SELECT o.id, l.kind FROM public.orders o LEFT JOIN public.lines l ON l.id = o.customer"""
    data = configured(tables, query)
    data["tables"][0]["strategy"] |= {"timestamps": {"public.orders": "at", "public.lines": "xmin"}}
    del data["tables"][0]["strategy"]["deletes"]
    with opened(data, workspace) as project:
        project.stream("q").prepare()
        tables.sql("CREATE TABLE away AS SELECT * FROM lines WHERE id = 3; DELETE FROM lines WHERE id = 3")
        assert found(project) == {}, "no sweep searches for deletes"
        tables.sql(f"UPDATE orders SET amount = 1, at = {NOW} WHERE customer = 3")
        assert found(project) == {"u": 2}
        tables.sql("INSERT INTO lines SELECT * FROM away")
        assert found(project) == {"u": 2}
        assert not replica_differs(tables, "q", query)


# A row written without its timestamp is not found; the audit finds it.
@pytest.mark.parametrize("variant", ["delta", "auto"])
def test_an_audit_finds_changes_without_a_timestamp(variant: str, tables: Place, workspace: Path) -> None:
    data = configured(tables, BY_REGION, variant=variant)
    data["tables"][0] |= {"audit": {"every": "1ms"}}
    tables.sql("UPDATE orders SET at = '2001-01-01'; UPDATE lines SET at = '2001-01-01'")  # before any window
    with opened(data, workspace) as project:
        project.stream("q").prepare()
        tables.sql("UPDATE orders SET region = 'south' WHERE id = 3")
        events = [json.loads(line) for line in polled_lines(project, workspace)]
        assert sorted((e["op"], e["key"]["region"], e["reason"]) for e in events) == [
            ("c", "south", "audit"),
            ("u", "west", "audit"),
        ]
        assert not replica_differs(tables, "q", BY_REGION)
        tables.sql(f"UPDATE lines SET quantity = 99, at = {NOW} WHERE id = 3")
        assert [json.loads(line)["reason"] for line in polled_lines(project, workspace)] == [None]
        assert polled_lines(project, workspace) == []
        assert stream_status(parts_of(project).open_stream("q")).audited_ago is not None
        titles = [step.title for step in project.stream("q").explain()]
        assert [t for t in titles if t.startswith("audit")] == [
            "audit: compare the whole query with the replica, into the outbox",
            *(f"audit: fill the lineage of public.{name} again" for name in ("orders", "lines") for _ in range(2)),
        ]


def test_an_audit_while_a_transaction_is_prepared(tables: Place, workspace: Path) -> None:
    """The watermark stays, as in any poll; rows of the transaction are seen when it has ended."""
    data = configured(tables, BY_REGION)
    data["tables"][0] |= {"audit": {"every": "1ms"}}
    with opened(data, workspace) as project:
        project.stream("q").prepare()
        before = checkpoint(project, "q")["marks"]
        with tables.connect(autocommit=True) as conn:
            for text in (
                "BEGIN",
                f"UPDATE orders SET region = 'south', at = {NOW} WHERE id = 3",
                f"PREPARE TRANSACTION '{tables.name}'",
            ):
                tables.run(conn, text)
        try:
            tables.sql("UPDATE orders SET region = 'north', at = '2001-01-01' WHERE id = 5")
            assert [json.loads(line)["reason"] for line in polled_lines(project, workspace)] == ["audit", "audit"]
            assert checkpoint(project, "q")["marks"] == before
        finally:
            with tables.connect(autocommit=True) as conn:
                tables.run(conn, f"COMMIT PREPARED '{tables.name}'")
        assert found(project) == {"c": 1, "u": 1}
        assert not replica_differs(tables, "q", BY_REGION)


def polled_lines(project: qbcd.Project, workspace: Path) -> list[str]:
    """Poll once; return the new lines of the sink."""
    before = dict.fromkeys(workspace.rglob("*.jsonl"))
    poll(project, "q")
    return [line for path in workspace.rglob("*.jsonl") if path not in before for line in path.read_text().splitlines()]
