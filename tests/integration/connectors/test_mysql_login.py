"""Logins to MySQL with `caching_sha2_password`, by both drivers, with TLS and without.

The server caches what it has verified. FLUSH PRIVILEGES empties the cache, so that each login sends a password.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import make_url

from qbcd.catalog.source import Source
from qbcd.connectors import connector_for
from qbcd.errors import QbcdError, SourceError
from qbcd.spark.jdbc import explained, read_query
from tests.support.mysql_server import MySQLServer
from tests.support.places import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CIPHER = "SELECT variable_value AS c0 FROM performance_schema.session_status WHERE variable_name = 'Ssl_cipher'"
KEY = "&allowPublicKeyRetrieval=true"
pytestmark = pytest.mark.parametrize("database", [pytest.param("mysql", marks=pytest.mark.campaign)], indirect=True)


@dataclass(frozen=True)
class Login:
    """A user with a password.

    Attributes:
        place: The database that it may read.
        url: The user's URL, without options.
        authority: PEM file of the authority of the server's certificate.
    """

    place: Place
    url: str
    authority: str

    def source(self, query: str) -> Source:
        self.place.sql("FLUSH PRIVILEGES")
        url = make_url(f"{self.url}?{query}")
        return Source("shop", url, connector_for(url), "qbcd")


@pytest.fixture
def login(place: Place, mysql: MySQLServer) -> Iterator[Login]:
    if not isinstance(mysql, MySQLServer):
        pytest.skip("only the run's own server has a certificate whose authority is known")
    with place.user("secret-word") as user:
        place.sql(f"GRANT SELECT ON {place.quote(place.name)}.* TO {user}")
        yield Login(place, place.url_as(user, "secret-word"), str(mysql.directory / "data" / "ca.pem"))


def by_jdbc(source: Source, spark: SparkSession, without: str = "") -> str:
    """Return the cipher of a JDBC session."""
    url, options = source.jdbc("s")
    url = url.replace(without, "")
    return explained(
        lambda: str(read_query(spark, url, options, CIPHER).collect()[0][0]), lambda error: source.explain(error, "s")
    )


@pytest.mark.parametrize("query", ["ssl_mode=disabled", "ssl_mode=verify_ca"])
def test_both_drivers_log_in(login: Login, spark: SparkSession, query: str) -> None:
    encrypted = "disabled" not in query
    query += f"&ssl_ca={login.authority}" if encrypted else ""
    with login.source(query).read("s") as session:
        assert bool(session.one(CIPHER).c0) == encrypted
    assert bool(by_jdbc(login.source(query), spark)) == encrypted


def test_a_server_key_that_the_driver_may_not_take(login: Login, spark: SparkSession) -> None:
    """As to another machine without TLS, where nothing says whose key it is."""
    source = login.source("ssl_mode=disabled")
    with pytest.raises(SourceError) as caught:
        by_jdbc(source, spark, without=KEY)
    assert "allowPublicKeyRetrieval" in caught.value.remedy, str(caught.value)
    assert "secret-word" not in str(caught.value)
    elsewhere = make_url("mysql://reader@db.example/shop?ssl_mode=disabled")
    sessions = connector_for(elsewhere).sessions
    assert KEY[1:] not in sessions.jdbc_url(elsewhere)
    assert KEY[1:] in sessions.jdbc_url(elsewhere, {"allowPublicKeyRetrieval": "true"})


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ("ALTER USER {} IDENTIFIED BY 'another'", "check the user and the password"),
        ("ALTER USER {} PASSWORD EXPIRE", "set a new password"),
        ("ALTER USER {} ACCOUNT LOCK", "ACCOUNT UNLOCK"),
        ("ALTER USER {} REQUIRE SSL", "REQUIRE SSL"),
        ("SET GLOBAL require_secure_transport = ON", "ssl_mode=verify_identity"),
    ],
)
def test_jdbc_has_the_same_remedies(login: Login, spark: SparkSession, words: str, remedy: str) -> None:
    source, user = login.source("ssl_mode=disabled"), str(make_url(login.url).username)
    with login.place.connect(autocommit=True) as before:
        login.place.run(before, words.format(user))
        try:
            with pytest.raises(QbcdError) as caught:
                by_jdbc(source, spark)
        finally:
            login.place.run(before, "SET GLOBAL require_secure_transport = OFF")
    assert remedy in caught.value.remedy, str(caught.value)
