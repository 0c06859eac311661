"""Queries over views: a view is replaced by its definition.

A changed definition stops the stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import qbcd
from qbcd.api import parts_of
from qbcd.errors import ConfigError, MissingPrivilege, QbcdError, Refused, SchemaChanged
from qbcd.planning import plan_of
from tests.support.places import Place, over
from tests.support.project import config, opened
from tests.support.query_streams import detect, replica_differs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STAMPED = "at timestamptz NOT NULL DEFAULT clock_timestamp()"
TABLES = f"""
CREATE SCHEMA kept;
CREATE TABLE kept.orders (id integer PRIMARY KEY, customer integer, region varchar(20) NOT NULL,
  amount numeric(8, 2), {STAMPED});
CREATE TABLE kept.lines (id integer PRIMARY KEY, order_id integer, quantity integer NOT NULL, kind text, {STAMPED});
INSERT INTO kept.orders SELECT i, i % 4, CASE i % 3 WHEN 0 THEN 'east' WHEN 1 THEN 'west' ELSE 'Nord' END, i * 10
  FROM generate_series(1, 12) i;
INSERT INTO kept.lines SELECT i, i % 9, i, CASE WHEN i % 3 = 0 THEN 'x' END FROM generate_series(1, 25) i;
CREATE VIEW big AS SELECT id, customer, region, amount FROM kept.orders
  WHERE region IN ('east', 'west') AND region NOT LIKE 'z%' AND amount > 20 ORDER BY amount;
CREATE VIEW many (order_id, n, quantity) AS SELECT order_id, COUNT(*) FILTER (WHERE kind IS NULL), SUM(quantity)
  FROM kept.lines WHERE order_id IS NOT NULL GROUP BY order_id HAVING COUNT(*) > 1;
CREATE VIEW "Both" AS
  WITH rich AS (SELECT id, substring(region from 1 for 2) AS "Region", amount FROM big WHERE amount BETWEEN 25 AND 999)
  SELECT r.id, r."Region", m.n, COALESCE(m.quantity, 0) AS quantity
  FROM rich r LEFT JOIN many m ON m.order_id = r.id JOIN kept.orders o USING (id)
  WHERE NOT EXISTS (SELECT 1 FROM kept.lines l WHERE l.order_id = o.id AND l.kind = 'gone');
CREATE VIEW either AS SELECT id, 'order' AS what FROM big UNION ALL SELECT order_id, 'line' FROM many
"""
QUERIES = {
    "plain": "SELECT v.id, v.region, v.amount FROM public.big AS v",
    "joined": "SELECT b.id, b.region, m.n FROM public.big AS b LEFT JOIN public.many AS m ON m.order_id = b.id",
    "grouped": "SELECT b.region, COUNT(*) AS n, SUM(m.quantity) AS q FROM public.big AS b "
    "JOIN public.many AS m ON m.order_id = b.id GROUP BY b.region",
    "deep": 'SELECT "Region", COUNT(n) AS n, SUM(quantity) AS q FROM public."Both" GROUP BY "Region"',
    "twice": "SELECT e.what, e.id FROM public.either AS e WHERE e.id IN (SELECT id FROM public.big WHERE amount > 40)",
}
KEYS = {"deep": ["Region"], "twice": ["what", "id"]}  # the definitions prove a key of the others
POLLED = ("grouped", "deep", "twice")
PROVEN = {"plain": ("id",), "joined": ("id",), "grouped": ("region",)}
NOW = "clock_timestamp()"
CHANGES = (
    f"UPDATE kept.orders SET region = 'west', at = {NOW} WHERE id = 3;"
    f"UPDATE kept.lines SET order_id = 3, at = {NOW} WHERE id IN (4, 5)",
    f"UPDATE kept.orders SET amount = 1, at = {NOW} WHERE id = 6; DELETE FROM kept.lines WHERE order_id = 7",
    f"UPDATE kept.lines SET kind = 'gone', at = {NOW} WHERE id IN (3, 12); INSERT INTO kept.orders VALUES "
    "(20, 1, 'east', 500); INSERT INTO kept.lines VALUES (40, 20, 1, NULL), (41, 20, 2, 'x')",
    "DELETE FROM kept.orders WHERE id IN (4, 9)",
)


def configured(place: Place, *names: str, variant: str = "delta", **more: Any) -> dict[str, Any]:
    """Return streams of queries, with timestamps of the tables behind the views."""
    strategy: dict[str, Any] = {"type": "vbd", "variant": variant}
    tables = []
    for name in names:
        query = QUERIES.get(name, name)
        if variant in ("delta", "auto"):
            stamps = {"kept.orders": "at"} | ({} if name == "plain" else {"kept.lines": "at"})
            strategy = {**strategy, "timestamps": stamps, "deletes": {"every": "1ms"}}
        key = {"key": KEYS[name]} if name in KEYS else {}
        tables.append(
            {
                "name": name if name in QUERIES else "q",
                "query": query,
                **key,
                "strategy": strategy,
                "baseline": "silent",
                **more,
            }
        )
    return config(place.url, *tables)


@pytest.fixture
def views(place: Place) -> Iterator[Place]:
    """A place with tables, and views over views of them."""
    place.sql(TABLES)
    yield place


def found(project: qbcd.Project, name: str) -> dict[str, int]:
    """Poll once; return the events by op."""
    return {op: n for d in detect(project, name) if d.header for op, n in d.header.counts.items()}


def test_after_each_poll_the_replica_is_the_result(views: Place, workspace: Path) -> None:
    moved = dict.fromkeys(POLLED, 0)
    with opened(configured(views, *QUERIES), workspace) as project:
        for name, key in PROVEN.items():
            plan, _ = plan_of(parts_of(project).open_stream(name), None)
            assert (plan.table.primary_key, plan.key_is_proven) == (key, True), name
        for name in POLLED:
            project.stream(name).prepare()
        for change in CHANGES:
            views.sql(change)
            for name in POLLED:
                moved[name] += sum(found(project, name).values())
                assert not replica_differs(views, name, QUERIES[name]), (name, change)
        assert all(moved.values()), moved
        assert not any(found(project, name) for name in POLLED)


@pytest.mark.parametrize("variant", ["delta", "compare"])
def test_a_replaced_view_stops_the_stream(views: Place, workspace: Path, variant: str) -> None:
    """Also a view behind another one, and one that is replaced during a poll."""
    before = views.sql("SELECT pg_get_viewdef('many'::regclass)")[0][0]
    other = (
        "CREATE OR REPLACE VIEW many AS SELECT order_id, COUNT(*) AS n, SUM(quantity) AS quantity FROM kept.lines "
        "GROUP BY order_id"
    )
    with opened(configured(views, "deep", "plain", variant=variant), workspace) as project:
        for name in ("deep", "plain"):
            project.stream(name).prepare()
        work = parts_of(project).open_stream("deep")
        with work.site.context.hold() as held:
            plan, _ = plan_of(work, held.row)
            views.sql(other)
            with pytest.raises(SchemaChanged, match="which the query reads, was changed a moment"):
                list(work.site.detect(plan, work.settings, held))
        for step in (lambda: detect(project, "deep"), lambda: project.stream("deep").verify()):
            with pytest.raises(SchemaChanged) as caught:
                step()
            assert "view public.many, which the query reads, has another definition now" in caught.value.what
        findings = [str(finding) for finding in project.check() if finding.stream == "deep"]
        assert any("view public.many, which the query reads, has another definition now" in text for text in findings)
        assert found(project, "plain") == {}, "it does not read that view"
        views.sql(f"CREATE OR REPLACE VIEW many AS {before}")
        assert found(project, "deep") == {}
        views.sql("ALTER TABLE kept.orders RENAME TO old; CREATE TABLE kept.orders (LIKE kept.old INCLUDING ALL)")
        with pytest.raises(SchemaChanged, match="has another definition now"):
            detect(project, "plain")


def test_ddl_waits_for_a_poll_at_views_and_behind_them(views: Place, workspace: Path) -> None:
    barred = []

    def progress(what: str) -> None:
        if what.startswith("computing"):
            for ddl in (
                "ALTER TABLE kept.orders ADD COLUMN more integer",
                "DROP VIEW big CASCADE",
                "CREATE OR REPLACE VIEW many AS SELECT 1 AS order_id, 2::bigint AS n, 3::bigint AS quantity",
            ):
                with pytest.raises(views.barred):
                    views.sql(f"{views.impatient}; {ddl}")
                barred.append(ddl)

    with opened(configured(views, "deep"), workspace) as project:
        project.stream("deep").prepare()
        views.sql(CHANGES[0])
        work = parts_of(project).open_stream("deep")
        work.site.context.progress = progress
        with work.site.context.hold() as held:
            list(work.site.detect(plan_of(work, held.row)[0], work.settings, held))
    assert len(barred) == 3


# A view, and the reason why delta refuses a query over it.
REFUSED = {
    "CREATE VIEW v AS SELECT id, region FROM kept.orders ORDER BY id LIMIT 3": "the query reads view public.v, which keeps some rows only (LIMIT)",
    "CREATE VIEW w AS SELECT id, rank() OVER (ORDER BY amount) AS region FROM kept.orders; "
    "CREATE VIEW v AS SELECT * FROM w": "the query reads view public.w, which has window functions",
    "CREATE RECURSIVE VIEW v (id, region) AS SELECT id, 1 FROM kept.orders UNION SELECT 100 + id, 2 FROM v "
    "WHERE id < 5": "the query reads view public.v, which is recursive",
    "CREATE VIEW v AS SELECT o.id, l.region FROM kept.orders o LEFT JOIN (kept.lines k JOIN kept.orders l "
    "USING (at)) ON k.id = o.id": "the query reads view public.v, which joins by USING",
    "CREATE VIEW v AS SELECT oid::bigint AS id, relname::text AS region FROM pg_class": "the query reads view public.v, which reads the server's own pg_class",
    "CREATE VIEW v AS SELECT id, @ customer AS region FROM kept.orders": "the query reads view public.v, which holds a placeholder or a variable",
    "CREATE TABLE n (id integer, region text); CREATE VIEW v AS SELECT * FROM n": "public.n (behind view public.v) has no key",
    "CREATE MATERIALIZED VIEW m AS SELECT id, region FROM kept.orders; CREATE VIEW v AS SELECT * FROM m": "it reads public.m (behind view public.v), which is a materialized view",
    "CREATE EXTENSION citext SCHEMA kept; CREATE TABLE s (id integer PRIMARY KEY, a kept.citext); "
    "CREATE TABLE t (a kept.citext PRIMARY KEY); CREATE VIEW "
    "v AS SELECT id, a::text AS region FROM s JOIN t USING (a)": 'the query reads view public.v, which compares column "a" by operators of an extension',
    "CREATE FUNCTION kept.twice(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT 2 * $1'; "
    "CREATE VIEW v AS SELECT id, kept.twice(customer) AS region FROM kept.orders": "the query reads view public.v, which calls ",
}
BY_ITSELF = {
    "CREATE VIEW v AS SELECT id, region FROM kept.orders WHERE at < now()": "now",
    "CREATE VIEW w AS SELECT id, CURRENT_USER::text AS region FROM kept.orders; CREATE VIEW v AS SELECT * FROM w": "current_user",
    "CREATE VIEW v AS SELECT id, random() AS region FROM kept.orders": "random",
}
READS = "SELECT v.id, v.region FROM public.v AS v"


@pytest.mark.campaign
def test_refused_by_the_view_s_name(views: Place, workspace: Path) -> None:
    """Under auto the query is compared instead, and `check` names the reason."""
    for number, (made, why) in enumerate(REFUSED.items()):
        views.sql(f"DROP VIEW IF EXISTS v, w; {made}")
        data = configured(views, READS, key=["id"])
        auto = configured(views, READS, variant="auto", key=["id"])
        for one in (data, auto):
            one["tables"][0]["strategy"]["timestamps"] = {"kept.orders": "at"}
        with opened(data, workspace / str(number)) as project, pytest.raises(Refused) as caught:
            project.stream("q").prepare()
        assert why in caught.value.what, made
        with opened(auto, workspace / str(number)) as project:
            findings = [str(finding) for finding in project.check()]
            assert any("variant compare" in text and why in text for text in findings), (why, findings)


def test_a_view_that_changes_by_itself_is_refused_by_every_variant(views: Place, workspace: Path) -> None:
    for made, what in BY_ITSELF.items():
        views.sql(f"DROP VIEW IF EXISTS v, w; {made}")
        for variant in ("delta", "compare", "checksum"):
            data = configured(views, READS, variant=variant, key=["id"])
            with opened(data, workspace / variant) as project, pytest.raises(ConfigError) as caught:
                project.stream("q").prepare()
            name = "public.w" if "VIEW w" in made else "public.v"
            assert f"the query reads view {name}, which uses {what}" in caught.value.what


def test_unstable_parts_of_a_view_are_reported(views: Place, workspace: Path) -> None:
    views.sql(
        "CREATE VIEW v AS SELECT id, string_agg(region, ',') OVER (ORDER BY id) AS region FROM kept.orders; "
        "CREATE VIEW w AS SELECT id, @ customer AS region FROM kept.orders"
    )
    query = "SELECT v.id, w.region FROM public.v AS v JOIN public.w AS w ON w.id = v.id"
    with opened(configured(views, query, variant="compare", key=["id"]), workspace) as project:
        findings = [str(finding) for finding in project.check()]
    assert any("over public.v (a view of kept.orders), public.w" in text for text in findings)
    assert any("view public.v: window functions" in text for text in findings)
    assert any("view public.w holds a placeholder or a variable" in text for text in findings)


def test_the_role_needs_rights_on_tables_behind_a_view(views: Place, workspace: Path) -> None:
    with views.user() as role:
        views.sql(
            f"GRANT USAGE ON SCHEMA public TO {role}; GRANT CREATE ON DATABASE {views.name} TO {role}; "
            f"GRANT pg_read_all_stats TO {role}; GRANT SELECT ON many TO {role}"
        )
        query = "SELECT order_id, n FROM public.many"
        data = configured(views, query, key=["order_id"])
        data["tables"][0]["strategy"]["timestamps"] = {"kept.lines": "at"}
        data["sources"]["shop"]["url"] = views.url_as(role)

        def refused(kind: type[QbcdError]) -> QbcdError:
            with opened(data, workspace) as project, pytest.raises(kind) as caught:
                project.stream("q").prepare()
            return caught.value

        error = refused(MissingPrivilege)
        assert "may not read kept.lines, which is behind view public.many" in error.what
        grants = error.remedy.partition("; or ")[0]
        assert grants == f'GRANT USAGE ON SCHEMA "kept" TO "{role}"; GRANT SELECT ON "kept"."lines" TO "{role}"'
        data["tables"][0]["strategy"]["variant"] = "auto"
        with opened(data, workspace) as project:
            assert any(grants in str(finding) and "variant compare" in str(finding) for finding in project.check())
        views.sql(grants)
        data["tables"][0]["strategy"]["variant"] = "delta"
        views.sql("ALTER TABLE kept.lines ENABLE ROW LEVEL SECURITY")
        assert "row-level security hides rows of kept.lines (behind view public.many)" in refused(Refused).what
        views.sql("ALTER TABLE kept.lines DISABLE ROW LEVEL SECURITY")
        with opened(data, workspace) as project:
            project.stream("q").prepare()
            views.sql(CHANGES[0])
            assert found(project, "q")
            assert not replica_differs(views, "q", query)
            views.sql(f'REVOKE SELECT ON kept.lines FROM "{role}"')
            with pytest.raises(MissingPrivilege):
                detect(project, "q")


@pytest.mark.campaign
def test_a_replaced_view_stops_a_stream_with_a_lake_replica(views: Place, workspace: Path, spark: SparkSession) -> None:
    with opened(configured(views, "plain", variant="checksum"), workspace, spark) as project:
        project.stream("plain").prepare()
        work = parts_of(project).open_stream("plain")
        with work.site.context.hold() as held:
            plan, _ = plan_of(work, held.row)
            views.sql("CREATE OR REPLACE VIEW big AS SELECT id, customer, region, amount FROM kept.orders")
            with pytest.raises(SchemaChanged, match="was changed a moment ago"):
                list(work.site.detect(plan, work.settings, held))
        with pytest.raises(SchemaChanged, match="has another definition now"):
            detect(project, "plain")


@over(elsewhere=["mariadb"])
def test_two_views_of_one_table(place: Place, workspace: Path) -> None:
    for text in (
        "CREATE TABLE orders (id integer PRIMARY KEY, amount integer)",
        "CREATE VIEW small AS SELECT id, amount FROM orders WHERE amount < 10",
        "CREATE VIEW large AS SELECT id, amount FROM orders WHERE amount > 20",
        "INSERT INTO orders VALUES (1, 5), (2, 15), (3, 25)",
    ):
        place.sql(text)
    schema = place.quote(place.schema)
    query = f"SELECT id FROM {schema}.small AS v UNION ALL SELECT id FROM {schema}.large AS w"
    table = {"name": "s", "query": query, "key": ["id"], "strategy": {"type": "vbd", "variant": "compare"}}
    with opened(config(place.url, table), workspace) as project:
        project.stream("s").prepare()
        place.sql("UPDATE orders SET amount = 1 WHERE id = 2")
        [found] = project.stream("s").poll()
        assert [(event["op"], event["key"]) for event in found.rows()] == [("c", {"id": 2})]
