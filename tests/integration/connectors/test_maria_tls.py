"""TLS to MariaDB with a private authority: verified in full by both drivers, or refused."""

from __future__ import annotations

import datetime as dt
import ipaddress
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from sqlalchemy import make_url

from qbcd.catalog.source import Source
from qbcd.connectors import connector_for
from qbcd.errors import ConfigError, QbcdError, SourceError
from qbcd.spark.jdbc import explained, read_query
from tests.support.maria_server import MariaServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENCRYPTED = "SELECT variable_value AS c0 FROM information_schema.session_status WHERE variable_name = 'SSL_CIPHER'"


@dataclass(frozen=True)
class Authority:
    """A certificate authority with its certificate as a PEM file."""

    pem: Path
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate


def authority(folder: Path, name: str) -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = _builder(subject, subject, key).add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
    made = made.add_extension(
        x509.KeyUsage(False, False, False, False, False, True, True, False, False), critical=True
    ).add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    certificate = made.sign(key, hashes.SHA256())
    pem = folder / f"{name}.pem"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return Authority(pem, key, certificate)


def issue(ca: Authority, folder: Path, address: str) -> tuple[Path, Path]:
    """Issue certificate and key of a server at `address`, as PEM files for any account."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
    made = _builder(name, ca.certificate.subject, key)
    made = made.add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), False)
    made = made.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca.key.public_key()), critical=False)
    certificate = made.sign(ca.key, hashes.SHA256())
    paths = folder / "server.pem", folder / "server-key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    for path in (folder, *paths):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return paths


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=2))
    )


@dataclass(frozen=True)
class Secured:
    """A server with TLS, the authority of its certificate, and another authority."""

    server: MariaServer
    trusted: Path
    other: Path

    def source(self, query: str, host: str = "127.0.0.1") -> Source:
        url = make_url(f"mariadb://tls:secret-word@{host}:{self.server.port}/mysql?{query}")
        return Source("shop", url, connector_for(url), "qbcd")


@pytest.fixture(scope="module")
def secured(mariadb: MariaServer) -> Iterator[Secured]:
    with tempfile.TemporaryDirectory(prefix="qbcd-tls-") as made:
        folder = Path(made)
        ca, stranger = authority(folder, "ours"), authority(folder, "theirs")
        certificate, key = issue(ca, folder, "127.0.0.1")
        with MariaServer.start(settings={"ssl_cert": str(certificate), "ssl_key": str(key)}) as server:
            url = make_url(server.url_of("mysql"))
            plain = Source("setup", url, connector_for(url), "qbcd")
            with plain.write("") as session:
                session.run("CREATE USER tls IDENTIFIED BY 'secret-word' REQUIRE SSL")
                session.run("GRANT SELECT ON mysql.* TO tls")
            plain.close()
            yield Secured(server, ca.pem, stranger.pem)


def jdbc(source: Source, spark: SparkSession) -> str:
    """Return the cipher of a JDBC session, read through Spark."""
    url, options = source.jdbc("s")

    def read() -> str:
        return str(read_query(spark, url, options, ENCRYPTED).collect()[0][0])

    return explained(read, lambda error: source.explain(error, "s"))


@pytest.mark.parametrize("mode", ["verify_identity", "verify_ca"])
def test_both_drivers_verify_and_encrypt(secured: Secured, spark: SparkSession, mode: str) -> None:
    source = secured.source(f"ssl_mode={mode}&ssl_ca={secured.trusted}")
    with source.read("s") as session:
        assert str(session.one(ENCRYPTED).c0).startswith("TLS")
    assert jdbc(source, spark).startswith("TLS")


def test_an_unknown_authority_is_refused_by_both(secured: Secured, spark: SparkSession) -> None:
    source = secured.source(f"ssl_mode=verify_identity&ssl_ca={secured.other}")
    with pytest.raises(SourceError, match=r"cannot be reached.*check host, port, network and TLS"), source.read("s"):
        pass
    with pytest.raises(SourceError) as caught:
        jdbc(source, spark)
    assert "secret-word" not in str(caught.value)


def test_another_name_than_the_certificates_is_refused_by_both(secured: Secured, spark: SparkSession) -> None:
    source = secured.source(f"ssl_mode=verify_identity&ssl_ca={secured.trusted}", host="localhost")
    with pytest.raises(SourceError, match="cannot be reached"), source.read("s"):
        pass
    with pytest.raises(SourceError):
        jdbc(source, spark)


def test_without_tls_the_server_refuses_the_user(secured: Secured) -> None:
    with pytest.raises(QbcdError, match="Access denied"), secured.source("ssl_mode=disabled").read("s"):
        pass


def test_off_this_machine_tls_is_the_default() -> None:
    url = make_url("mariadb://reader@db.example/shop")
    connector = connector_for(url)
    assert "ssl" in connector.sessions.connect_args(url, stream="s", read_only=True)
    assert "sslMode=verify-full" in connector.sessions.jdbc_url(url)
    local = make_url("mariadb://reader@127.0.0.1/shop")
    assert connector.sessions.connect_args(local, stream="s", read_only=True)["ssl_disabled"] is True


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("ssl_mode=prefer", "ssl_mode to a value that it cannot have.*disabled, verify_ca, verify_identity"),
        ("ssl_modus=disabled", "may not set 'ssl_modus'.*did you mean ssl_mode"),
        ("ssl_mode=verify_ca&ssl_ca=/no/such.pem", "ssl_ca /no/such.pem cannot be read"),
        ("connect_timeout=soon", "connect_timeout.*whole seconds"),
        ("allowLoadLocalInfile=true", "may not set 'allowLoadLocalInfile'"),
    ],
)
def test_options_that_cannot_be_used(query: str, says: str) -> None:
    url = make_url(f"mariadb://reader@127.0.0.1/shop?{query}")
    with pytest.raises(ConfigError, match=says):
        connector_for(url).sessions.connect_args(url, stream="s", read_only=True)
