"""Facts, names and session settings that every registered connector must get right."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import pytest
import sqlglot
from sqlalchemy import make_url

from qbcd.catalog.source import Source
from qbcd.connectors import CONNECTORS, Connector, connector_for
from qbcd.connectors.sessions import SupportsSnapshots
from qbcd.errors import ConfigError, UnsupportedPrimitive
from qbcd.state.dialects import store_facts
from tests.support.oracle import batches, net
from tests.support.places import FIRST, OTHERS, Place, kinds, over, place_of
from tests.support.project import config, opened
from tests.support.refusals import STRATEGIES, polled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERY = sorted(CONNECTORS)
URL = "://reader:secret@db.example/shop"


def test_every_connector_has_a_place_in_these_tests() -> None:
    assert sorted(kinds()) == sorted([FIRST, *OTHERS]) == EVERY


def test_every_connector_has_golden_statements() -> None:
    golden = Path(__file__).parents[1] / "golden"
    assert [name for name in EVERY if not list((golden / name).glob("*.sql"))] == []


def test_names_and_drivers_are_distinct() -> None:
    made = [CONNECTORS[name]() for name in EVERY]
    assert len({c.name for c in made}) == len(made)
    assert len({c.sqlalchemy_driver for c in made}) == len(made)


@pytest.mark.parametrize("name", EVERY)
def test_every_fact_is_stated(name: str) -> None:
    made = connector_for(f"{name}{URL}")
    assert type(made) is CONNECTORS[name]
    assert not inspect.isabstract(type(made))
    hints = get_type_hints(Connector)
    for fact in (
        "name",
        "dialect",
        "sqlalchemy_driver",
        "encoder_version",
        "identifier_limit",
        "column_limit",
        "full_join",
        "ranges_per_statement",
    ):
        assert type(getattr(made, fact)) is hints[fact], fact
        assert getattr(made, fact) not in ("", 0) or hints[fact] is bool, fact
    assert set(hints) <= {fact for fact in dir(made) if not fact.startswith("_")}, "a fact is stated nowhere"
    assert sqlglot.Dialect.get(made.dialect) is not None
    assert make_url(f"{made.sqlalchemy_driver}://h/d").get_dialect().name == name
    assert store_facts(name).drivername == made.sqlalchemy_driver, "replica and stream row move in one transaction"


@pytest.mark.parametrize("name", EVERY)
def test_the_driver_is_known_by_every_name(name: str) -> None:
    driver = CONNECTORS[name].driver
    assert len(driver.maven.split(":")) == 3
    assert driver.maven.split(":")[1] in driver.jar_names[0]
    assert all(pattern.endswith(".jar") for pattern in driver.jar_names)
    assert driver.debian.startswith("lib")
    assert driver.driver_class.endswith(".Driver")


@pytest.mark.parametrize("name", EVERY)
def test_no_property_of_the_user_weakens_tls_or_loads_code(name: str) -> None:
    barred = ("ssl", "tls", "trust", "key", "factory", "class", "plugin", "file", "init", "sessionvariables", "multi")
    only_without_tls = {"allowPublicKeyRetrieval"}  # of a connection for which the URL has turned TLS off
    allowed = CONNECTORS[name].jdbc_properties - only_without_tls
    assert [p for p in allowed if any(word in p.lower() for word in barred)] == []


@pytest.mark.parametrize("name", EVERY)
def test_urls_hide_no_password_and_keep_tls(name: str) -> None:
    made, url = CONNECTORS[name](), make_url(f"{name}{URL}")
    jdbc = made.sessions.jdbc_url(url, stream="s", statement_timeout=9)
    assert jdbc.startswith("jdbc:")
    assert "secret" not in jdbc
    assert made.sessions.jdbc_options(url, fetchsize=7)["password"] == "secret"
    assert made.sessions.jdbc_options(url, fetchsize=7)["fetchsize"] == "7"
    assert made.sessions.sqlalchemy_url(url).host == "db.example"
    with pytest.raises(ConfigError):
        made.sessions.jdbc_url(url, {"noSuchProperty": "1"})
    with pytest.raises(ConfigError):
        made.sessions.jdbc_options(url, fetchsize=0)


@pytest.mark.parametrize("name", EVERY)
def test_missing_abilities_are_refused_by_name(name: str) -> None:
    made = CONNECTORS[name]()
    if made.supports(SupportsSnapshots):
        assert made.require(SupportsSnapshots).snapshot_pins("1-1")[: len(made.sessions.pins())] == made.sessions.pins()
        return
    snapshots: Any = made.require(SupportsSnapshots)
    for primitive in ("snapshot_pins", "export_snapshot"):
        with pytest.raises(UnsupportedPrimitive, match=f"the {made.name} connector has no {primitive}"):
            getattr(snapshots, primitive)


# -- names -------------------------------------------------------------------------------------------------------------
NAMES = [
    'quo"te',
    "back`tick",
    "it's",
    "%s",
    "%(a)s",
    "%%",
    "a.b",
    "{{ 7 * 7 }}",
    "{% raw %}",
    "back\\slash",
    ":bind",
    "$1",
    "?",
    "new\nline",
    "  -- x",
    "/* x */",
    ";",
    "select",
    "ümläut Ж 数",
    '""',
    "``",
    "\\`",
    'x"; DROP TABLE t; --',
    "x`; DROP TABLE t; --",
    "a\x01b",
    "@@x",
    "#x",
]


@contextmanager
def reading(place: Place) -> Iterator[Any]:
    """Yield a session of qbcd on the place."""
    source = Source("shop", make_url(place.url), connector_for(place.url), place.own_schema)
    with source.read("s") as session:
        yield session
    source.close()


@over()
def test_quoted_names_come_back_from_the_server(place: Place) -> None:
    connector = connector_for(place.url)
    names = [*NAMES, "n" * connector.identifier_limit]
    place.sql(f"CREATE TABLE t ({', '.join(f'{place.quote(n)} integer' for n in names)})")
    place.sql(f"INSERT INTO t VALUES ({', '.join(map(str, range(len(names))))})")
    with reading(place) as session:
        table = connector.catalog.probe_table(session.connection, place.schema, "t")
        assert table is not None
        assert [c.name for c in table.columns] == names
        for number, name in enumerate(names):
            (row,) = session.rows(f"SELECT {connector.quote(name)} FROM {place.table('t')}")
            assert tuple(row) == (number,), name


@over()
def test_hostile_names_of_tables_and_schemas_are_found(place: Place) -> None:
    connector = connector_for(place.url)
    schema = place.schema
    for name in NAMES:
        place.sql(f"CREATE TABLE {place.quote(schema)}.{place.quote(name)} (id integer PRIMARY KEY)")
    with reading(place) as session:
        for name in NAMES:
            table = connector.catalog.probe_table(session.connection, schema, name)
            assert table is not None, name
            assert (table.schema, table.name, table.primary_key) == (schema, name, ("id",))
        assert connector.catalog.probe_table(session.connection, schema, "T_") is None
        assert {f"{schema}.{name}" for name in NAMES} <= set(connector.catalog.table_names(session.connection))


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("bad", ["", "a\0b", "\0"])
def test_invalid_names_are_refused(name: str, bad: str) -> None:
    with pytest.raises(ValueError, match="cannot be an identifier"):
        CONNECTORS[name]().quote(bad)
    with pytest.raises(ValueError, match="cannot be an identifier"):
        CONNECTORS[name]().quote("n" * (1 + CONNECTORS[name].identifier_limit))


# -- pins --------------------------------------------------------------------------------------------------------------
VALUES = {
    "postgresql": """
CREATE TABLE v (id integer PRIMARY KEY, k varchar(200), f4 real, f8 double precision, n numeric(20,5), ts timestamp,
  tz timestamptz, d date, t time, b bytea, s text, c character(5), i interval, j jsonb);
INSERT INTO v SELECT g, repeat('k', 150) || g, 1 / 3.0 + g, 1e-7 / 3 + g, 100.5 + g, '2021-03-04 05:06:07.123456',
  '2021-07-04 05:06:07.123456+00', '2021-03-04', '05:06:07.1', '\\x00ff27',
  'ümläut \\ '' "', 'a', '1 year -2 days', '{}'
FROM generate_series(1, 12) g""",
    "family": """
CREATE TABLE v (id integer PRIMARY KEY, k varchar(200), f4 float, f8 double, n decimal(20,5), ts datetime(6),
  tz timestamp(6) NULL, d date, t time(6), b blob, s text, c char(5), e enum('b', 'a'), u bigint unsigned, j json)""",
}
HOSTILE = {
    "postgresql": (
        "DateStyle = 'SQL, DMY'",
        "TimeZone = 'Asia/Kathmandu'",
        "extra_float_digits = -15",
        "bytea_output = 'escape'",
        "IntervalStyle = 'sql_standard'",
        "statement_timeout = '1ms'",
        "standard_conforming_strings = off",
        "client_encoding = 'LATIN1'",
        "default_transaction_read_only = on",
        "lock_timeout = '1ms'",
        "default_transaction_isolation = 'serializable'",
    ),
    "family": (
        "sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,IGNORE_SPACE,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH'",
        "sql_mode = 'ANSI_QUOTES,HIGH_NOT_PRECEDENCE,NO_UNSIGNED_SUBTRACTION,REAL_AS_FLOAT,NO_ZERO_DATE'",
        "time_zone = '+13:00'",
        "max_allowed_packet = 16384",
        "div_precision_increment = 0",
        "lc_time_names = 'de_DE'",
        "collation_connection = 'latin1_german2_ci'",
        "character_set_client = 'latin1'",
        "sql_select_limit = 1",
        "character_set_results = 'latin1'",
        "max_sort_length = 64",
        "group_concat_max_len = 4",
        "default_week_format = 3",
        "sql_auto_is_null = 1",
        "sql_safe_updates = 1",
        "autocommit = 0",
        "completion_type = 'CHAIN'",
        "default_storage_engine = 'MyISAM'",
        "explicit_defaults_for_timestamp = OFF",
        "lock_wait_timeout = 1",
        "innodb_lock_wait_timeout = 1",
        "wait_timeout = 2",
        "sql_big_selects = 0",
        "max_join_size = 1",
    ),
}
MARIADB_ONLY = ("tx_isolation = 'SERIALIZABLE'", "tx_read_only = 1")
# A limit of the server, and a statement that takes longer: only its own configuration limits qbcd's statements.
LIMITED = {
    "postgresql": ("statement_timeout = '100ms'", "SELECT pg_sleep(0.3)::text"),
    "mariadb": ("max_statement_time = 0.1", "SELECT sleep(0.3)"),
    "mysql": ("max_execution_time = 100", "SELECT sleep(0.3)"),
}


def family(place: Place) -> str:
    return "postgresql" if place.kind == "postgresql" else "family"


def make_values(place: Place) -> None:
    place.sql(VALUES[family(place)])
    if family(place) == "family":
        row = (
            1 / 3,
            1e-7 / 3,
            "100.50000",
            "2021-03-04 05:06:07.123456",
            "2021-07-04 05:06:07.123456",
            "2021-03-04",
            "05:06:07.1",
            b"\0\xff'",
            "ümläut \\ ' \"",
            "a",
            "b",
            2**64 - 1,
            "{}",
        )
        place.insert("v", [(g, "k" * 150 + str(g), *row) for g in range(1, 13)])


@contextmanager
def hostile(place: Place, user: str, settings: Sequence[str]) -> Iterator[None]:
    """Start new sessions of `user`, or of the whole server, with `settings` during the block."""
    if place.kind == "postgresql":
        place.sql("; ".join(f"ALTER ROLE {user} SET {setting}" for setting in settings))
        yield
        place.sql(f"ALTER ROLE {user} RESET ALL")
        return
    names = [setting.partition(" = ")[0] for setting in settings]
    old = dict(zip(names, place.sql(f"SELECT {', '.join(f'@@GLOBAL.{n}' for n in names)}")[0], strict=True))
    with place.connect(autocommit=True) as conn:
        try:
            for setting in settings:
                place.run(conn, f"SET GLOBAL {setting}")
            yield
        finally:
            for name, value in old.items():
                place.run(conn, f"SET GLOBAL {name} = %s", [value])


@over(elsewhere=[])
def test_hostile_settings_make_no_event_and_hide_none(place: Place, workspace: Path, spark: SparkSession) -> None:
    make_values(place)
    settings = [*HOSTILE[family(place)], *(MARIADB_ONLY if place.kind == "mariadb" else ())]
    strategies: dict[str, Any] = {"mds": "mds", "id_rcs": {"type": "id_rcs", "rows_per_range": 3}}
    tables = [{"name": n, "table": place.table("v"), "strategy": s} for n, s in strategies.items()]
    with place.user() as user:
        place.grant("SELECT", "v", user)
        place.grant_own_schema(user)
        data = config(place.url_as(user), *tables)
        with opened(data, workspace, spark) as project:
            for name in STRATEGIES:
                project.stream(name).prepare()
        # a setting occurs once in each part
        parts = (settings,) if place.kind == FIRST else (settings[::2], settings[1::2])
        for number, part in enumerate(parts):
            with hostile(place, user, part), opened(data, workspace, spark) as project:
                assert [polled(project, name) for name in STRATEGIES] == [[], []], part
                place.sql(f"UPDATE v SET s = 'changed {number}' WHERE id = 3; DELETE FROM v WHERE id = {7 + number}")
                for name in STRATEGIES:
                    assert polled(project, name) == [{"u": 1, "d": 1}], part
                    assert project.stream(name).verify() == []
    found = [batches(workspace / "out" / "changes", name) for name in STRATEGIES]
    events = [[event for _, batch in one for event in batch] for one in found]
    assert net(events[0]) == net(events[1])
    assert [event["changed"] for event in events[0] if event["op"] == "u"] == [["s"]] * len(parts)


@over()
def test_a_time_limit_of_the_server_is_not_ours(place: Place) -> None:
    make_values(place)
    setting, slow = LIMITED[place.kind]
    with place.user() as user:
        place.grant("SELECT", "v", user)
        with hostile(place, user, [setting]), reading(place_of(place.url_as(user))) as session:
            assert session.rows(slow) in ([("",)], [(0,)])
