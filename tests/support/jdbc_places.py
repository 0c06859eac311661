"""Databases that a JDBC driver alone reaches, made and written by the Java of the tests' Spark session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qbcd.connectors.jdbc.profiles import PROFILES
from qbcd.spark.drivers import find_driver, user_cache
from tests.support.firebird_server import LOGIN as FIREBIRD_LOGIN
from tests.support.firebird_server import FirebirdServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PASSWORD = "QBCD_TEST_JDBC_PASSWORD"  # the variable of a server's password
IN_FILES = ("h2", "hsqldb", "derby", "sqlite", "duckdb")  # databases of this process


def add_drivers(spark: SparkSession, *names: str) -> None:
    """Put the drivers of some profiles on the class path of a running local session."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for name in names:
        profile = PROFILES[name]
        if loader.getResource(profile.driver.driver_class.replace(".", "/") + ".class") is None:
            jar = find_driver(profile.driver, configured=None, cache=user_cache()).jar
            loader.addURL(jvm.java.io.File(str(jar)).toURI().toURL())


@dataclass(frozen=True)
class JdbcPlace:
    """A database of one profile.

    Attributes:
        url: The URL that a configuration has.
        writing: The URL by which the tests create and write it.
        login: User and password of the writer.
    """

    spark: SparkSession
    name: str
    url: str
    writing: str
    login: Mapping[str, str] = field(default_factory=dict)

    @property
    def profile(self) -> Any:
        """The profile."""
        return PROFILES[self.name]

    def execute(self, *statements: str) -> None:
        """Run statements in one session, and commit."""
        jvm = self.spark.sparkContext._jvm
        assert jvm is not None
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        driver = jvm.java.lang.Class.forName(self.profile.driver.driver_class, True, loader).newInstance()
        properties = jvm.java.util.Properties()
        for key, value in self.login.items():
            properties.setProperty(key, value)
        connection = driver.connect(self.writing, properties)
        try:
            for text in statements:
                statement = connection.createStatement()
                statement.execute(text)
                statement.close()
        finally:
            connection.close()

    def quoted(self, name: str) -> str:
        """Return a quoted name."""
        return str(self.profile.quote(name))


def file_place(spark: SparkSession, name: str, folder: Path) -> JdbcPlace:
    """Return a new database of a profile in a folder."""
    path = folder / name
    path.mkdir(parents=True)
    urls = {
        "h2": (f"jdbc:h2:file:{path}/shop", ""),
        "hsqldb": (f"jdbc:hsqldb:file:{path}/shop", ""),
        "derby": (f"jdbc:derby:{path}/shop", ";create=true"),
        "sqlite": (f"jdbc:sqlite:{path}/shop.db", ""),
        "duckdb": (f"jdbc:duckdb:{path}/shop.db", ""),
    }
    url, more = urls[name]
    login = {"user": "SA", "password": ""} if name == "hsqldb" else {}
    return JdbcPlace(spark, name, url, f"{url}{more}", login)


def firebird_place(spark: SparkSession, server: FirebirdServer, name: str, dialect: str = "firebird") -> JdbcPlace:
    """Return a new database of a Firebird server."""
    url = server.database(name)
    return JdbcPlace(spark, dialect, url, f"{url}?encoding=UTF8", FIREBIRD_LOGIN)


def source_lines(place: JdbcPlace) -> dict[str, Any]:
    """Return the source's section of a configuration."""
    user = {"user": place.login["user"]} if place.login.get("user") else {}
    password = {"password": f"${{env:{PASSWORD}}}"} if place.login.get("password") else {}
    dialect = {"dialect": place.name} if place.name == "firebird4" else {}
    return {"url": place.url, **user, **password, **dialect}
