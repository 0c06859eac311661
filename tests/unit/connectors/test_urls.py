"""One URL for SQLAlchemy and JDBC.

The same TLS on both sides, an allow-list, hidden secrets.
"""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest
from sqlalchemy import URL, make_url

from qbcd.catalog.source import Source
from qbcd.config.databases import BUILT_CONNECTORS
from qbcd.connectors import CONNECTORS, Connector, PostgreSQL, connector_for
from qbcd.connectors.base import Connector as Base
from qbcd.connectors.postgresql.session import is_local
from qbcd.errors import ConfigError

PG = PostgreSQL()


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost", True),
        ("LOCALHOST.", True),
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        (None, True),
        ("", True),
        ("/run/postgresql", True),
        ("db.example", False),
        ("10.0.0.1", False),
        ("localhost.evil.example", False),
        ("::2", False),
    ],
)
def test_local_hosts(host: str | None, local: bool) -> None:
    assert is_local(host) is local


def test_off_this_machine_tls_is_verified_on_both_sides_unless_the_url_says_otherwise() -> None:
    bare = make_url("postgresql://u:pw@db.example/shop")
    assert PG.sessions.sqlalchemy_url(bare).query["sslmode"] == "verify-full"
    assert "sslmode=verify-full" in PG.sessions.jdbc_url(bare)
    weak = make_url("postgresql+psycopg2://u:pw@db.example/shop?sslmode=require")
    assert PG.sessions.sqlalchemy_url(weak).query["sslmode"] == "require"
    assert "sslmode=require" in PG.sessions.jdbc_url(weak)
    here = make_url("postgresql://u@localhost/shop")
    assert "sslmode" not in PG.sessions.sqlalchemy_url(here).query
    assert "sslmode" not in PG.sessions.jdbc_url(here)


def test_tls_files_travel_to_both() -> None:
    url = make_url(
        "postgresql://u@db.example:6432/shop?sslmode=verify-ca&sslrootcert=/a%20b/ca.pem&sslcert=/c&sslkey=/k"
    )
    assert dict(PG.sessions.sqlalchemy_url(url).query) == {
        "connect_timeout": "10",
        "sslmode": "verify-ca",
        "sslrootcert": "/a b/ca.pem",
        "sslcert": "/c",
        "sslkey": "/k",
    }
    place, settings = parts(PG.sessions.jdbc_url(url))
    assert place == "jdbc:postgresql://db.example:6432/shop"
    assert [settings[n] for n in ("sslmode", "sslrootcert", "sslcert", "sslkey")] == [
        "verify-ca",
        "/a b/ca.pem",
        "/c",
        "/k",
    ]
    system = make_url("postgresql://u@db.example/shop?sslrootcert=system")
    assert "sslfactory=org.postgresql.ssl.DefaultJavaSSLFactory" in PG.sessions.jdbc_url(system)
    assert "sslrootcert" not in PG.sessions.jdbc_url(system)


def test_jdbc_urls() -> None:
    odd = URL.create("postgresql", username="u", password="CANARY", host="::1", database="a/b?c")
    written = PG.sessions.jdbc_url(odd)
    assert written.startswith("jdbc:postgresql://[::1]:5432/a%2Fb%3Fc?")
    assert "CANARY" not in written
    with pytest.raises(ConfigError, match="names no database"):
        PG.sessions.jdbc_url(make_url("postgresql://u@localhost"))


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("sslmod=require", "did you mean sslmode"),
        ("options=-c%20default_transaction_read_only%3Doff", "may not set 'options'"),
        ("password=CANARY", "may not set 'password'"),
        ("sslmode=require&sslmode=disable", "twice"),
        ("socketFactory=evil", "may not set"),
        ("host=elsewhere", "may not set 'host'"),
    ],
)
def test_options_that_both_sides_do_not_share_are_refused(query: str, hint: str) -> None:
    url = make_url(f"postgresql://u@localhost/shop?{query}")
    for use in (PG.sessions.sqlalchemy_url, PG.sessions.jdbc_url):
        with pytest.raises(ConfigError, match=hint) as raised:
            use(url)
        assert "CANARY" not in str(raised.value)


def parts(jdbc_url: str) -> tuple[str, dict[str, str]]:
    place, _, query = jdbc_url.partition("?")
    return place, dict(parse_qsl(query))


def test_jdbc_sessions_are_read_only_whatever_the_user_sets() -> None:
    url = make_url("postgresql://u:p%40ss@localhost/shop")
    users = {"socketTimeout": "30", "prepareThreshold": "5"}
    _, settings = parts(PG.sessions.jdbc_url(url, users, stream="orders", statement_timeout=60))
    assert (settings["socketTimeout"], settings["prepareThreshold"]) == ("30", "5")
    assert settings["ApplicationName"] == "qbcd/orders"
    assert "readOnly" not in settings  # outside autocommit it would make read-write the default
    assert settings["options"].split(" -c ")[0] == "-c default_transaction_read_only=on"
    assert "statement_timeout=60000" in settings["options"]
    options = PG.sessions.jdbc_options(url, fetchsize=500)
    # Spark passes options in lower case where predicates split a read
    assert options == {"driver": "org.postgresql.Driver", "fetchsize": "500", "user": "u", "password": "p@ss"}


@pytest.mark.parametrize(
    "name",
    [
        "sslmode",
        "ssl",
        "sslfactory",
        "socketFactory",
        "loggerFile",
        "options",
        "readOnly",
        "user",
        "password",
        "url",
        "driver",
        "preferQueryMode",
        "autosave",
        "currentSchema",
        "targetServerType",
        "sessionInitStatement",
        "ApplicationName",
        "dbtable",
    ],
)
def test_jdbc_properties_outside_the_list_are_refused(name: str) -> None:
    assert name not in PG.jdbc_properties
    with pytest.raises(ConfigError, match=f"may not set '{name}'"):
        PG.sessions.jdbc_url(make_url("postgresql://u@localhost/shop"), {name: "x"})


def test_a_fetchsize_of_nothing_is_refused() -> None:
    for size in (0, -1):
        with pytest.raises(ConfigError, match="fetchsize"):
            PG.sessions.jdbc_options(make_url("postgresql://u@localhost/shop"), fetchsize=size)


def test_connectors_are_found_by_the_urls_database() -> None:
    assert isinstance(connector_for("postgresql://h/d"), PostgreSQL)
    assert isinstance(connector_for("postgres://h/d"), PostgreSQL)
    assert tuple(sorted(CONNECTORS)) == BUILT_CONNECTORS
    assert isinstance(connector_for(make_url("postgresql+psycopg2://h/d")), PostgreSQL)
    for text, hint in [
        ("postgre://u:CANARY@h/d", 'did you mean "postgresql"'),
        ("psql://u:CANARY@h/d", 'did you mean "postgresql"'),
        ("oracle://h/d", "there are mariadb, mysql, postgresql; docs/[a-z-]+/add-a-connector.md says how to add one"),
        ("mssql+pyodbc://u:CANARY@h/d", 'for database "mssql" \\(there are mariadb, mysql, postgresql'),
        ("CANARY", "dialect://"),
        ("jdbc:postgresql://h/d?password=CANARY", "this is a JDBC URL"),
        ("postgresql://u:CANARY@h:54x2/d", "the port in the URL is not a whole number"),
    ]:
        with pytest.raises(ConfigError, match=hint) as raised:
            connector_for(text)
        assert "CANARY" not in str(raised.value)


class _Point:
    def __init__(self, name: str, made: object) -> None:
        self.name, self.value, self._made = name, f"pkg:{name}", made

    def load(self) -> object:
        if isinstance(self._made, Exception):
            raise self._made
        return self._made


def test_connectors_of_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(PostgreSQL):
        name = "Other"

    points = [_Point("other", Other), _Point("wrong", object), _Point("postgresql", Other)]
    points.append(_Point("broken", ImportError("no module named pkg\nand more")))
    monkeypatch.setattr("qbcd.common.plugins.entry_points", lambda group: points if group == "qbcd.connectors" else [])
    assert connector_for("other://h/d").name == "Other"
    assert type(connector_for("postgresql://h/d")) is CONNECTORS["postgresql"]
    with pytest.raises(ConfigError, match="is no qbcd Connector"):
        connector_for("wrong://h/d")
    with pytest.raises(ConfigError) as raised:
        connector_for("broken://h/d")
    assert str(raised.value) == (
        "the installed connector for broken (pkg:broken) cannot be loaded: ImportError: no module named pkg "
        "(update or remove the package that provides it)"
    )
    with pytest.raises(ConfigError, match='did you mean "other"'):
        connector_for("othr://h/d")
    assert Connector is Base


def test_configuration_errors_carry_the_sources_place() -> None:
    url = make_url("postgresql://u:CANARY@localhost/d?sslmod=x")
    source = Source("shop", url, PG, "qbcd", place="qbcd.yaml:7: sources.shop")
    for use in (lambda: source.jdbc("s"), lambda: source.read("s").__enter__()):
        with pytest.raises(ConfigError, match=r"^qbcd.yaml:7: sources.shop: ") as raised:
            use()
        assert "CANARY" not in str(raised.value)
    assert "CANARY" not in repr(source)
    assert source.label == "shop (localhost)"
