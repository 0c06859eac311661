"""Missing rights of a role: the refusal names the grant that fixes it.

Rows that the role may not see never count as deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

import qbcd
from qbcd.api import parts_of
from qbcd.demo.server import EmbeddedPostgres
from qbcd.errors import MissingPrivilege, Refused
from tests.support.project import config
from tests.support.refusals import STRATEGIES, Place, new_place, new_role, polled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = """
CREATE TABLE orders (id int PRIMARY KEY, region text, amount int);
INSERT INTO orders VALUES (1, 'EU', 10), (2, 'US', 20);
CREATE TABLE owned (id int PRIMARY KEY, owner text);
INSERT INTO owned VALUES (1, 'a'), (2, 'b');
ALTER TABLE owned ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON owned USING (owner = current_user);
CREATE TABLE other (id int);
CREATE SCHEMA sales; CREATE TABLE sales.orders (id int PRIMARY KEY);
"""
EVERY = (
    "DROP POLICY IF EXISTS every ON owned; DROP POLICY IF EXISTS few ON owned;"
    "CREATE POLICY every ON owned TO ROLE USING (true)"
)


@pytest.fixture(scope="module")
def place(server: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with new_place(server, tmp_path_factory.mktemp("rights") / "project") as made:
        made.sql(TABLES)
        yield made


@pytest.fixture(autouse=True)
def _no_schema(place: Place) -> Iterator[None]:
    yield
    place.sql("DROP SCHEMA IF EXISTS qbcd CASCADE; DROP TABLE IF EXISTS later")


@pytest.fixture
def role(place: Place) -> Iterator[str]:
    with new_role(place) as made:
        yield made


def project_of(place: Place, role: str, strategy: str, spark: SparkSession | None = None, **table: Any) -> qbcd.Project:
    written = config(
        place.url_as(role),
        {"name": "s", "table": "public.orders", "strategy": strategy, **table},
        state=f"sqlite:///{strategy}.db",
        workdir=f"work_{strategy}",
        sinks={"out": {"type": "jsonl", "path": "out"}},
    )
    return qbcd.Project.from_dict(written, spark=spark, base_dir=place.folder)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    ("granted", "table", "message"),
    [
        (
            "",
            {},
            "tables[0].table: role ROLE may not SELECT from public.orders (columns id, region, amount) "
            '(GRANT SELECT ON "public"."orders" TO "ROLE")',
        ),
        (
            "GRANT SELECT (id, region) ON orders TO ROLE",
            {},
            "tables[0].table: role ROLE may not SELECT from public.orders (columns amount) "
            '(GRANT SELECT ON "public"."orders" TO "ROLE")',
        ),
        (
            "GRANT SELECT (id, region) ON orders TO ROLE",
            {"columns": ["region"]},
            "tables[0].table: role ROLE may read columns of public.orders only, not lock it or see it as a whole "
            '(GRANT SELECT ON "public"."orders" TO "ROLE", or capture a view)',
        ),
        (
            "GRANT SELECT ON sales.orders TO ROLE",
            {"table": "sales.orders"},
            'tables[0].table: role ROLE may not use schema sales (GRANT USAGE ON SCHEMA "sales" TO "ROLE")',
        ),
        (
            "GRANT SELECT ON orders TO ROLE",
            {"where": "EXISTS (SELECT FROM public.other)"},
            "tables[0].where: source shop (HOST): permission denied for table other "
            "(GRANT SELECT ON \"other\" TO the user of the source's url; ALL if it is qbcd's own)",
        ),
        (
            "GRANT SELECT ON orders, owned TO ROLE",
            {"where": "EXISTS (SELECT FROM public.owned)"},
            "tables[0].where: source shop (HOST): row-level security would hide rows: query would be affected by "
            'row-level security policy for table "owned" '
            "(ALTER ROLE .. BYPASSRLS, or capture a view that selects the visible rows)",
        ),
        (
            "GRANT SELECT ON owned TO ROLE",
            {"table": "public.owned"},
            "tables[0].table: row-level security hides rows of public.owned from role ROLE; hidden rows would look "
            "like deletes (use a role with BYPASSRLS, or capture a view that shows what ROLE may see)",
        ),
        (
            f"{EVERY}; GRANT SELECT ON owned TO ROLE",
            {"table": "public.owned"},
            "tables[0].table: row-level security of public.owned applies to role ROLE: policy every shows all rows "
            "now, but a later policy could hide some, and hidden rows would look like deletes (ALTER ROLE "
            '"ROLE" BYPASSRLS, or capture a view whose owner is not subject to it)',
        ),
        (
            f"{EVERY}; CREATE POLICY few ON owned AS RESTRICTIVE USING (id > 1); GRANT SELECT ON owned TO ROLE",
            {"table": "public.owned"},
            "tables[0].table: row-level security hides rows of public.owned from role ROLE; hidden rows would look "
            "like deletes (use a role with BYPASSRLS, or capture a view that shows what ROLE may see)",
        ),
    ],
)
def test_tables_that_a_role_may_not_read(
    place: Place, role: str, strategy: str, granted: str, table: dict[str, Any], message: str
) -> None:
    if granted:
        place.sql(granted.replace("ROLE", role))
    kind = Refused if "row-level" in message else MissingPrivilege
    with project_of(place, role, strategy, **table) as project:
        assert parts_of(project).state.project_id
        assert place.refused(project.stream("s").prepare, kind, 3).replace(role, "ROLE") == message


def test_mds_needs_a_schema_and_id_rcs_does_not(place: Place, role: str, spark: SparkSession) -> None:
    place.sql(f"GRANT SELECT ON orders TO {role}")
    with project_of(place, role, "mds") as project:
        assert parts_of(project).state.project_id
        assert place.refused(project.stream("s").prepare, MissingPrivilege, 3) == (
            "stream s: no right to create tables in schema qbcd of source shop (source shop (HOST): permission "
            "denied for database DATABASE) (qbcd prepare s --dry-run prints the DDL for a DBA; strategy id_rcs needs "
            "only SELECT)"
        )
        place.sql("CREATE SCHEMA qbcd")
        message = place.refused(project.stream("s").prepare, MissingPrivilege, 3)
        assert "permission denied for schema qbcd" in message
        place.sql("DROP SCHEMA qbcd")
    with project_of(place, role, "id_rcs", spark) as project:
        project.stream("s").prepare()
        assert polled(project, "s") == []
        place.sql("UPDATE orders SET amount = amount + 1 WHERE id = 1")
        assert polled(project, "s") == [{"u": 1}]
    assert place.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'qbcd'") == [(0,)]


def test_the_ddl_that_a_dba_runs_is_all_that_mds_needs(place: Place, role: str) -> None:
    place.sql(f"GRANT SELECT ON orders TO {role}")
    with project_of(place, role, "mds") as project:
        ddl = project.stream("s").ddl()
        place.sql(";\n".join(ddl))
        place.sql(f"GRANT USAGE ON SCHEMA qbcd TO {role}; GRANT ALL ON ALL TABLES IN SCHEMA qbcd TO {role}")
        project.stream("s").prepare()
        assert polled(project, "s") == []


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_row_security_and_rights_that_change_after_prepare(
    place: Place, role: str, strategy: str, spark: SparkSession
) -> None:
    name = f"later_{strategy}"
    place.sql(
        "CREATE TABLE later (id int PRIMARY KEY, owner text); INSERT INTO later VALUES (1, 'a'), (2, 'b');"
        f"GRANT SELECT ON later TO {role}; GRANT CREATE ON DATABASE {place.database} TO {role}"
    )
    with project_of(place, role, strategy, spark, table="public.later", name=name) as project:
        project.stream(name).prepare()
        place.sql("ALTER TABLE later ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON later USING (owner = 'a')")
        message = place.refused(lambda: polled(project, name), Refused, 3)
        assert message.replace(role, "ROLE") == (
            "tables[0].table: row-level security hides rows of public.later from role ROLE; hidden rows would look "
            "like deletes (use a role with BYPASSRLS, or capture a view that shows what ROLE may see)"
        )
        place.sql(f"ALTER TABLE later DISABLE ROW LEVEL SECURITY; REVOKE SELECT ON later FROM {role}")
        message = place.refused(lambda: polled(project, name), MissingPrivilege, 3)
        assert message.replace(role, "ROLE") == (
            "tables[0].table: role ROLE may not SELECT from public.later (columns id, owner) "
            '(GRANT SELECT ON "public"."later" TO "ROLE")'
        )
        place.sql(f"GRANT SELECT ON later TO {role}; DELETE FROM later WHERE id = 2")
        assert polled(project, name) == [{"d": 1}]


def test_a_purge_that_lost_its_right(place: Place, role: str) -> None:
    place.sql(
        "CREATE TABLE later (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp(), gone bool);"
        "INSERT INTO later VALUES (1, now(), false), (2, now(), false);"
        f"GRANT SELECT, UPDATE, DELETE ON later TO {role}; GRANT pg_monitor TO {role};"
        f"GRANT CREATE ON DATABASE {place.database} TO {role}"
    )
    options = {"type": "tdi", "timestamp": "at", "delete_flag": "gone", "deleted_value": True, "purge": True}
    url = place.url_as(role)
    table = {"name": "purging", "table": "public.later", "strategy": {**options, "margin": "1ms"}}
    written = config(url, table, state="sqlite:///purging.db", workdir="purging")
    with qbcd.Project.from_dict(written, base_dir=place.folder) as project:
        project.stream("purging").prepare()
        place.sql("UPDATE later SET gone = true, at = clock_timestamp() WHERE id = 2")
        assert polled(project, "purging") == [{"d": 1}]
        place.sql(f"REVOKE DELETE ON later FROM {role}")
        message = place.refused(lambda: polled(project, "purging"), MissingPrivilege, 3).replace(role, "ROLE")
        assert message == (
            "stream purging: role ROLE may not DELETE from public.later, which option purge needs (grant it, or take "
            "the option out)"
        )
        place.sql(f"GRANT DELETE ON later TO {role}")
        assert polled(project, "purging") == []
        assert place.sql("SELECT id FROM later") == [(1,)]


def test_all_rights_that_are_missing_are_named_at_once(place: Place, role: str) -> None:
    place.sql(
        "CREATE TABLE later (id int PRIMARY KEY, at timestamptz NOT NULL, gone bool NOT NULL);"
        f"GRANT SELECT ON later TO {role}; GRANT pg_monitor TO {role}"
    )
    options = {"type": "tdi", "timestamp": "at", "delete_flag": "gone", "purge": True, "create_index": True}
    table = {"name": "all", "table": "public.later", "strategy": options}
    with qbcd.Project.from_dict(config(place.url_as(role), table), base_dir=place.folder) as project:

        def refused() -> MissingPrivilege:
            (error,) = [one.error for one in project.check("all") if one.error is not None]
            assert isinstance(error, MissingPrivilege)
            return error

        lacking = (
            "role ROLE may not DELETE from public.later, which option purge needs; "
            "role ROLE does not own public.later, which option create_index needs"
        )
        first = refused()
        assert first.what.replace(role, "ROLE") == (
            f"role ROLE may not create schema qbcd, which strategy tdi needs; {lacking}"
        )
        assert first.remedy.startswith('CREATE SCHEMA "qbcd" AUTHORIZATION "')
        place.sql(f"GRANT CREATE ON DATABASE {place.database} TO {role}")
        assert refused().what.replace(role, "ROLE") == lacking
        place.sql(f"REVOKE CREATE ON DATABASE {place.database} FROM {role}")


def test_the_rights_to_read_write_and_see_sessions_are_named_with_their_grants(place: Place, role: str) -> None:
    place.sql("CREATE TABLE sales.all_rights (id int PRIMARY KEY, at timestamptz NOT NULL, gone bool NOT NULL)")
    options = {"type": "tdi", "timestamp": "at", "delete_flag": "gone", "purge": True}
    table = {"name": "all", "table": "sales.all_rights", "strategy": options}
    with qbcd.Project.from_dict(config(place.url_as(role), table), base_dir=place.folder) as project:
        (error,) = [one.error for one in project.check("all") if one.error is not None]
        assert isinstance(error, MissingPrivilege)
        assert error.what.replace(role, "ROLE") == (
            "role ROLE may not use schema sales; may not SELECT from sales.all_rights (columns id, at, gone); "
            "role ROLE may not create schema qbcd, which strategy tdi needs; "
            "role ROLE may not DELETE from sales.all_rights, which option purge needs; "
            "role ROLE may not see other sessions, which strategy tdi needs"
        )
        place.sql(error.remedy)
        assert [one for one in project.check("all") if one.level != "ok" and "index" not in one.message] == []


def test_a_query_names_all_tables_that_the_role_may_not_read(place: Place, role: str) -> None:
    query = "SELECT o.id, o.region, p.id AS other FROM public.orders o JOIN sales.orders p ON p.id = o.id"
    table = {"name": "joined", "query": query, "key": ["id"], "strategy": {"type": "vbd", "variant": "compare"}}
    with qbcd.Project.from_dict(config(place.url_as(role), table), base_dir=place.folder) as project:
        (error,) = [one.error for one in project.check("joined") if one.error is not None]
        assert isinstance(error, MissingPrivilege)
        assert error.what.replace(role, "ROLE") == (
            "role ROLE may not SELECT from public.orders (columns id, region, amount); may not use schema sales; "
            "may not SELECT from sales.orders (columns id); role ROLE may not create schema qbcd, which strategy vbd "
            "needs"
        )
        place.sql(error.remedy)
        assert all(one.error is None for one in project.check("joined"))
