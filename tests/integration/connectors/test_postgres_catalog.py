"""Facts from the catalog of PostgreSQL: kinds, keys, NULLs, rights, row security, identity."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from qbcd.connectors.postgresql import types
from qbcd.model import Travel
from tests.support import connect, sql
from tests.support.pg_source import PG, probe, reading

KEYS = """
CREATE TABLE k (
  id int PRIMARY KEY, u int UNIQUE NOT NULL, nullable int UNIQUE, late int NOT NULL UNIQUE DEFERRABLE,
  part int NOT NULL, expr text NOT NULL, a int NOT NULL, b text NOT NULL, c text NOT NULL, extra int NOT NULL,
  g int GENERATED ALWAYS AS (id * 2) STORED, i int GENERATED ALWAYS AS IDENTITY);
CREATE UNIQUE INDEX ON k (part) WHERE id > 0;
CREATE UNIQUE INDEX ON k (lower(expr));
CREATE UNIQUE INDEX ON k (extra, lower(expr));
CREATE UNIQUE INDEX ON k (a, b) INCLUDE (extra);
CREATE UNIQUE INDEX ON k (c COLLATE "POSIX");
"""


@contextmanager
def role(database: str, rights: str) -> Iterator[str]:
    """Return the URL of a role with the rights that `rights` grants to ``{role}``."""
    name = database.rsplit("/", 1)[1] + "_r"
    sql(database, f"CREATE ROLE {name} LOGIN")
    try:
        if rights:
            sql(database, rights.format(role=name))
        yield database.replace("//postgres@", f"//{name}@")
    finally:
        sql(database, f"DROP OWNED BY {name}; DROP ROLE {name}")


def test_keys_that_the_catalog_proves(database: str) -> None:
    sql(database, KEYS)
    with reading(database) as session:
        table = probe(session, "k")
    assert table.primary_key == ("id",)
    assert table.unique_keys == (("u",), ("a", "b"))
    assert {c.name for c in table.columns if c.nullable} == {"nullable", "g"}
    assert [c.name for c in table.columns][-2:] == ["g", "i"]


def test_kinds_and_sizes(database: str) -> None:
    sql(
        database,
        """
        CREATE TABLE t (k int PRIMARY KEY, v text);
        INSERT INTO t SELECT g, repeat('x', 96) FROM generate_series(1, 5000) g;
        CREATE TABLE p (k int PRIMARY KEY, v text) PARTITION BY RANGE (k);
        CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100) PARTITION BY RANGE (k);
        CREATE TABLE p11 PARTITION OF p1 FOR VALUES FROM (0) TO (50);
        CREATE TABLE p12 PARTITION OF p1 FOR VALUES FROM (50) TO (100);
        CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (100) TO (200);
        INSERT INTO p SELECT g, 'x' FROM generate_series(0, 199) g;
        CREATE VIEW v AS SELECT k, v, (k / 2.0)::numeric(8,2) AS h FROM t;
        CREATE MATERIALIZED VIEW m AS SELECT * FROM t;
        CREATE TABLE parent (k int PRIMARY KEY); CREATE TABLE child () INHERITS (parent);
        CREATE TABLE fresh (k int PRIMARY KEY);
        CREATE EXTENSION file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
        CREATE FOREIGN TABLE f (k int NOT NULL, n numeric(8,2)) SERVER files OPTIONS (filename '/dev/null');
        """,
    )
    with connect(database, autocommit=True) as conn, conn.cursor() as cursor:
        cursor.execute("ANALYZE")
        cursor.execute("DROP TABLE fresh; CREATE TABLE fresh (k int PRIMARY KEY)")
    with reading(database) as session:
        found = {n: probe(session, n) for n in ("t", "p", "v", "m", "parent", "fresh", "f")}
        assert PG.catalog.probe_table(session.connection, "public", "none") is None
        assert PG.catalog.probe_table(session.connection, "", "t") == found["t"]  # on the role's own search path
        assert PG.catalog.probe_table(session.connection, "", "pg_class") is None
    assert {n: t.kind for n, t in found.items()} == {
        "t": "table",
        "p": "partitioned",
        "v": "view",
        "m": "matview",
        "parent": "table",
        "fresh": "table",
        "f": "foreign",
    }
    t = found["t"]
    assert (t.rows, t.row_width, t.key_correlation) == (5000, 101, 1.0)
    assert t.pages > 50
    assert [c.width for c in t.columns] == [4, 97]
    assert (found["p"].rows, found["p"].primary_key) == (200, ("k",))
    assert found["p"].pages >= 3
    assert (found["v"].rows, found["v"].primary_key, found["v"].unique_keys) == (-1, (), ())
    assert (found["fresh"].rows, found["fresh"].key_correlation) == (-1, None)
    # children of plain inheritance may repeat the parent's keys
    assert (found["parent"].primary_key, found["parent"].columns[0].nullable) == ((), True)
    # nothing enforces NOT NULL or a scale on a foreign table
    assert found["f"].columns[0].nullable
    assert found["f"].columns[1].fact("loose") == "yes"
    assert PG.sessions.lock_against_rewrite(found["t"]) == 'LOCK TABLE "public"."t" IN ACCESS SHARE MODE'
    assert [PG.sessions.lock_against_rewrite(found[n]) is None for n in ("p", "v", "m", "f")] == [
        False,
        False,
        True,
        True,
    ]


def test_the_lock_keeps_ddl_away_and_readers_in(database: str) -> None:
    sql(database, "CREATE TABLE t (k int PRIMARY KEY); CREATE VIEW v AS SELECT * FROM t")
    with reading(database) as session:
        for name in ("t", "v"):
            session.run(PG.sessions.lock_against_rewrite(probe(session, name)) or "")
        sql(database, "INSERT INTO t VALUES (1)")
        with pytest.raises(Exception, match="lock timeout"):
            sql(database, "SET lock_timeout = 50; TRUNCATE t")


def test_names_that_need_quotes(database: str) -> None:
    schema, table, key = 'Sch"ema; drop', "ta'ble %s ü", 'k"; DROP TABLE x; --'
    where = f"{PG.quote(schema)}.{PG.quote(table)}"
    sql(database, f"CREATE SCHEMA {PG.quote(schema)}")
    sql(database, f"CREATE TYPE {PG.quote(schema)}.{PG.quote('my type')} AS ENUM ('a', 'b')")
    sql(database, f"CREATE TABLE {where} ({PG.quote(key)} {PG.quote(schema)}.{PG.quote('my type')} PRIMARY KEY)")
    sql(database, f"INSERT INTO {where} VALUES ('a')")
    with reading(database) as session:
        found = probe(session, table, schema)
        column = found.columns[0]
        assert (found.schema, found.name, column.name, found.primary_key) == (schema, table, key, (key,))
        assert column.sql_type == '"Sch""ema; drop"."my type"'
        copy = PG.ddl.create_table("pg_temp.copy", [(column.name, types.storage_type(column))], [column.name])
        rights = PG.catalog.privileges(session.connection, found, [key], schema)
        assert (rights.select, rights.missing_columns, rights.own_schema) == (True, (), True)
        session.run(PG.sessions.lock_against_rewrite(found) or "")
        assert f"{schema}.{table}" in PG.catalog.table_names(session.connection)
    sql(database, f"{copy}; INSERT INTO pg_temp.copy SELECT * FROM {where}")
    for bad in ("", "a\x00b", "x" * 64, "ü" * 32):
        with pytest.raises(ValueError, match="cannot be an identifier"):
            PG.quote(bad)


def test_domains_and_collations_are_seen_through(database: str) -> None:
    sql(
        database,
        """
        CREATE DOMAIN low AS numeric(8,3); CREATE DOMAIN high AS low CHECK (VALUE > 0);
        CREATE DOMAIN posix AS text COLLATE "POSIX";
        CREATE TABLE d (a high, b posix, c text COLLATE "C", d posix COLLATE "C", e high[], f name, g text);
        """,
    )
    with reading(database) as session:
        a, b, c, d, e, f, g = probe(session, "d").columns
    assert (a.sql_type, a.base_type, types.storage_type(a), a.travel) == (
        "public.high",
        "numeric",
        "numeric(8,3)",
        Travel("decimal", 8, 3),
    )
    assert [x.collation for x in (b, c, d, f, g)] == ['pg_catalog."POSIX"', 'pg_catalog."C"', 'pg_catalog."C"', "", ""]
    assert (types.storage_type(b), b.base_type, b.comparison) == ("text", "text", "typed")
    assert (e.travel, e.comparison) == (Travel("text"), "text")


def test_types_without_a_way_back_are_refused_by_name(database: str) -> None:
    sql(database, "CREATE TABLE a (x aclitem, y aclitem[], z int)")
    with reading(database) as session:
        x, y, z = probe(session, "a").columns
        tree = probe(session, "pg_attrdef", "pg_catalog").column("adbin")
    assert "aclitem" in PG.catalog.type_problem(x)
    assert "aclitem[]" in PG.catalog.type_problem(y)
    assert PG.catalog.type_problem(z) == ""
    assert tree is not None
    assert "pg_node_tree" in PG.catalog.type_problem(tree)


def test_rights(database: str) -> None:
    sql(database, "CREATE TABLE t (k int PRIMARY KEY, a int, secret int); CREATE SCHEMA qbcd")
    cases = {
        "": (False, ("k", "a", "secret"), False, False),
        "GRANT SELECT ON t TO {role}": (True, (), False, False),
        "GRANT SELECT (k, a) ON t TO {role}": (False, ("secret",), False, False),
        "GRANT SELECT ON t TO {role}; GRANT USAGE ON SCHEMA qbcd TO {role}": (True, (), False, False),
        "GRANT SELECT ON t TO {role}; GRANT ALL ON SCHEMA qbcd TO {role}": (True, (), False, True),
    }
    for grants, wanted in cases.items():
        with role(database, grants) as url, reading(url) as session:
            table = probe(session, "t")
            r = PG.catalog.privileges(session.connection, table, ["k", "a", "secret"], "qbcd")
            assert (r.select, r.missing_columns, r.create_schema, r.own_schema) == wanted, grants
            assert r.role in url
            assert PG.catalog.privileges(session.connection, table, ["k"], "none").own_schema is False
            assert PG.catalog.table_names(session.connection) == (["public.t"] if grants else [])
    with reading(database) as session:
        assert PG.catalog.privileges(session.connection, probe(session, "t"), ["k"], "qbcd").create_schema


def test_row_security_applies_to_some_roles(database: str) -> None:
    sql(database, "CREATE TABLE t (k int PRIMARY KEY); ALTER TABLE t ENABLE ROW LEVEL SECURITY")
    with reading(database) as session:
        assert probe(session, "t").row_security is False
    with role(database, "GRANT SELECT ON t TO {role}") as url, reading(url) as session:
        assert probe(session, "t").row_security is True


def test_server_identity(database: str, server: object) -> None:
    with reading(database) as session:
        one = PG.catalog.server_identity(session.connection)
    sql(database, "CREATE TABLE t (k int)")
    with reading(database) as session:
        two = PG.catalog.server_identity(session.connection)
    with reading(database.rsplit("/", 1)[0] + "/postgres") as session:
        other = PG.catalog.server_identity(session.connection)
    assert (one.identity, one.meaning, one.product) == (two.identity, two.meaning, two.product)
    assert two.position > one.position > 0
    assert other.identity.split("/")[0] == one.identity.split("/")[0]
    assert other.identity != one.identity
    assert one.product.startswith("PostgreSQL ")
    assert one.meaning.startswith(one.product.split(" ")[1].split(".")[0] + ";")
    with role(database, "") as url, reading(url) as session:
        assert PG.catalog.server_identity(session.connection).identity == one.identity
