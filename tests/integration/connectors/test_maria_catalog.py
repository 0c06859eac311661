"""Facts from the catalog of MariaDB and MySQL: kinds, sizes, keys and rights."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from qbcd.model import Table
from tests.support.maria_source import KINDS, column, connector_of, probe, reading
from tests.support.places import Place, new_place, server_of


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A new database."""
    with new_place(server_of(request, request.param), request.param) as made:
        yield made


# -- tables and keys -------------------------------------------------------------------------------------------------
def test_keys_that_the_catalog_proves(place: Place) -> None:
    place.sql("""
        CREATE TABLE k (
          id int PRIMARY KEY, u int NOT NULL, nullable int, part varchar(40) NOT NULL, body text NOT NULL,
          a int NOT NULL, b varchar(9) NOT NULL, c varchar(9) NOT NULL, plain int,
          UNIQUE one (u), UNIQUE two (nullable), UNIQUE three (part(5)), UNIQUE four (body(20)), UNIQUE five (a, b),
          UNIQUE six (a, part(3)), UNIQUE seven (a, nullable), UNIQUE eight (c DESC), KEY nine (plain))
        """)
    ignored = "IGNORED" if place.kind == "mariadb" else "INVISIBLE"
    place.sql(f"ALTER TABLE k ALTER INDEX one {ignored}")  # it is still unique
    if place.kind == "mysql":
        place.sql("ALTER TABLE k ADD UNIQUE ten ((lower(b))), ADD UNIQUE eleven (a, (lower(b)))")
    with reading(place) as session:
        table = probe(session, place, "k")
    assert table.primary_key == ("id",)
    assert sorted(table.unique_keys) == [("a", "b"), ("c",), ("u",)]
    assert {c.name for c in table.columns if c.nullable} == {"nullable", "plain"}


def test_keys_of_long_texts_and_of_periods(place: Place) -> None:
    if place.kind == "mysql":
        pytest.skip("MySQL has neither")
    place.sql("""
        CREATE TABLE hashed (id int, body text NOT NULL, wide varchar(3000) NOT NULL, UNIQUE (body), UNIQUE (wide));
        CREATE TABLE history (id int PRIMARY KEY, v int NOT NULL UNIQUE) WITH SYSTEM VERSIONING;
        INSERT INTO history VALUES (1, 1); UPDATE history SET v = 2;
        CREATE TABLE spans (id int, a date, b date, PERIOD FOR p (a, b), PRIMARY KEY (id, p WITHOUT OVERLAPS))
        """)
    connector = connector_of(place)
    with reading(place) as session:
        hashed, history, spans = (probe(session, place, n) for n in ("hashed", "history", "spans"))
        assert session.one("SELECT count(*) AS n FROM history").n == 1
    assert sorted(hashed.unique_keys) == [("body",), ("wide",)]  # the hash is checked together with the whole values
    assert "prefixes" in connector.catalog.key_problem(column(hashed, "body"))  # but no range of the key uses it
    assert (history.kind, history.primary_key, [c.name for c in history.columns]) == ("table", ("id",), ["id", "v"])
    assert set(spans.primary_key) == {"id", "a", "b"}


def test_kinds_and_sizes(place: Place) -> None:
    place.sql("""
        CREATE TABLE t (k int PRIMARY KEY, v char(96) CHARACTER SET latin1);
        CREATE TABLE p (k int PRIMARY KEY, v int) PARTITION BY HASH (k) PARTITIONS 3;
        CREATE VIEW v AS SELECT k, v, k / 2.0 AS half, concat(v, '!') AS more FROM t;
        CREATE TABLE bare (k int);
        CREATE TABLE rich (id int PRIMARY KEY, secret int INVISIBLE, doubled int GENERATED ALWAYS AS (id * 2) VIRTUAL,
          kept varchar(20) GENERATED ALWAYS AS (concat('n', id)) STORED)
        """)
    place.insert("t", [(n, "x") for n in range(5000)])
    place.sql("ANALYZE TABLE t, p")
    connector = connector_of(place)
    with reading(place) as session:
        found = {n: probe(session, place, n) for n in ("t", "p", "v", "bare", "rich")}
        assert connector.catalog.probe_table(session.connection, place.schema, "none") is None
        assert connector.catalog.probe_table(session.connection, "", "t") == found["t"]  # in the session's own database
        assert connector.catalog.probe_table(session.connection, place.schema.upper(), "t") is None
        assert connector.catalog.probe_table(session.connection, place.schema, "T") is None
        assert f"{place.schema}.v" in connector.catalog.table_names(session.connection)
    assert {n: t.kind for n, t in found.items()} == {
        "t": "table",
        "p": "partitioned",
        "v": "view",
        "bare": "table",
        "rich": "table",
    }
    t = found["t"]
    assert 4500 <= t.rows <= 5500
    assert 90 <= t.row_width <= 400
    assert 20 <= t.pages <= 120
    assert (t.key_correlation, found["bare"].key_correlation) == (1.0, None)
    assert (found["v"].rows, found["v"].primary_key, found["v"].unique_keys) == (-1, (), ())
    assert found["p"].primary_key == ("k",)
    assert [c.name for c in found["rich"].columns] == ["id", "secret", "doubled", "kept"]
    assert connector.ddl.column_type(column(found["rich"], "kept")).startswith("varchar(20) CHARACTER SET")
    assert connector.sessions.lock_against_rewrite(t) == f"SELECT 1 FROM `{place.schema}`.`t` LIMIT 0"


def test_objects_that_are_no_tables(place: Place) -> None:
    place.sql("CREATE PROCEDURE routine() SELECT 1")
    names = ["routine"]
    if place.kind == "mariadb":
        place.sql("CREATE SEQUENCE counter")
        names.append("counter")
    connector = connector_of(place)
    with reading(place) as session:
        for name in names:
            assert connector.catalog.probe_table(session.connection, place.schema, name) is None
            assert f"{place.schema}.{name}" not in connector.catalog.table_names(session.connection)


def test_names_that_need_quotes(place: Place) -> None:
    connector = connector_of(place)
    table, key = "ta'b`le %s ü", 'k"; DROP TABLE x; -- \\ %(a)s'
    place.sql(f"CREATE TABLE {place.quote(table)} ({place.quote(key)} enum('a', 'b') PRIMARY KEY, `select` int)")
    with reading(place) as session:
        found = probe(session, place, table)
        assert (found.name, found.primary_key, found.columns[0].name) == (table, (key,), key)
        rights = connector.catalog.privileges(session.connection, found, [key, "select"], place.own_schema)
        assert (rights.select, rights.missing_columns, rights.own_schema) == (True, (), True)
        session.run(connector.sessions.lock_against_rewrite(found) or "")
    for bad in ("", "a\x00b", "x" * 65, "a "):
        with pytest.raises(ValueError, match="identifier"):
            connector.quote(bad)


def test_a_table_that_was_read_keeps_its_definition(place: Place) -> None:
    place.sql("CREATE TABLE t (k int PRIMARY KEY)")
    with reading(place) as session:
        session.run(connector_of(place).sessions.lock_against_rewrite(probe(session, place, "t")) or "")
        place.sql("INSERT INTO t VALUES (1)")
        with pytest.raises(Exception, match="Lock wait timeout"), place.connect() as conn:
            place.run(conn, "SET lock_wait_timeout = 1; TRUNCATE t")


# -- rights ----------------------------------------------------------------------------------------------------------
def rights_of(place: Place, user: str, schema: str = "") -> tuple[bool, tuple[str, ...], bool, bool]:
    """Return (select, missing columns, owns the schema, may lock) of a user.

    The columns are k, a and secret of table t.
    """
    table = Table(place.schema, "t", "table", (), ("k",))
    with reading(place, place.url_as(user)) as session:
        connector = connector_of(place)
        found = connector.catalog.privileges(
            session.connection, table, ["k", "a", "secret"], schema or place.own_schema
        )
        assert found.role.startswith(f"{user}@")
        assert found.create_schema == found.own_schema
        return found.select, found.missing_columns, found.own_schema, found.lock


def test_rights(place: Place) -> None:
    place.sql("CREATE TABLE t (k int PRIMARY KEY, a int, secret int); CREATE TABLE u (k int)")
    database, own = place.quote(place.schema), place.own_schema
    escaped = place.quote(own.replace("_", "\\_"))
    pattern, wrong = place.quote(f"{own[:-4]}%"), place.quote(own.replace("_", "\\_")[:-4] + "\\____")
    needed = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP"
    cases = [
        ([f"SELECT ON {database}.u"], (False, ("k", "a", "secret"), False, False)),
        ([f"SELECT ON {database}.t"], (True, (), False, True)),
        ([f"SELECT (k, a), INSERT (secret) ON {database}.t"], (False, ("secret",), False, False)),
        ([f"SELECT (k, a) ON {database}.t", f"SELECT (secret) ON {database}.t"], (True, (), False, False)),
        ([f"INSERT ON {database}.t", f"SELECT ON {database}.u"], (False, ("k", "a", "secret"), False, False)),
        ([f"SELECT ON {database}.*"], (True, (), False, True)),
        ([f"SELECT ON {database}.*", f"{needed} ON {escaped}.*"], (True, (), True, True)),
        ([f"SELECT ON {database}.*", f"{needed} ON {pattern}.*"], (True, (), True, True)),
        ([f"SELECT ON {database}.*", f"{needed} ON {wrong}.*"], (True, (), False, True)),
        ([f"SELECT ON {database}.*", f"ALL ON {escaped}.*"], (True, (), True, True)),
        ([f"SELECT ON {database}.*", f"{needed.replace('DROP', 'INDEX')} ON {escaped}.*"], (True, (), False, True)),
        (
            [
                f"SELECT ON {database}.*",
                f"SELECT, INSERT, UPDATE ON {escaped}.*",
                f"DELETE, CREATE, DROP ON {pattern}.*",
            ],
            (True, (), True, True),
        ),
        ([f"{needed} ON *.*"], (True, (), True, True)),
    ]
    for grants, wanted in cases:
        with place.user() as user:
            for grant in grants:
                place.sql(f"GRANT {grant} TO {user}@'%'")
            assert rights_of(place, user) == wanted, grants


def test_rights_through_a_role(place: Place) -> None:
    place.sql("CREATE TABLE t (k int PRIMARY KEY, a int, secret int)")
    role = f"role_{place.schema[2:14]}"
    place.sql(f"CREATE ROLE {role}")
    try:
        place.sql(f"GRANT SELECT ON {place.quote(place.schema)}.t TO {role}")
        place.sql(f"GRANT ALL ON {place.quote(place.own_schema)}.* TO {role}")
        with place.user() as user:
            place.sql(f"GRANT {role} TO {user}@'%'")
            place.sql(f"GRANT INSERT ON {place.quote(place.schema)}.t TO {user}@'%'")
            assert rights_of(place, user) == (False, ("k", "a", "secret"), False, False)  # granted, but not active
            to = f"{role} FOR {user}@'%'" if place.kind == "mariadb" else f"{role} TO {user}@'%'"
            place.sql(f"SET DEFAULT ROLE {to}")
            assert rights_of(place, user) == (True, (), True, True)
    finally:
        place.sql(f"DROP ROLE {role}")
