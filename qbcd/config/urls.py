"""Database URLs: parsing, hosts and passwords. No error repeats a URL."""

from __future__ import annotations

import ipaddress
import os
import re

import sqlalchemy
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import SQLAlchemyError

from qbcd.config.databases import database_name
from qbcd.config.secrets import is_stand_in, without_secrets

PASSWORD_PARAMETERS = frozenset({"password", "passwd", "pass", "pwd", "sslpassword", "ssl_password"})


SPELLING = "write dialect://user@host:port/database and percent-encode special characters"
_BAD_PORT = re.compile(r"[^:/?#]+://(?:[^/?#]*@)?(?:\[[^\]]*\]|[^:/?#@]*):[^/?#]*[^0-9/?#]")


class BadUrl(ValueError):
    """A text that is not a database URL; neither message nor remedy repeats it."""

    def __init__(self, what: str, remedy: str = SPELLING) -> None:
        super().__init__(what)
        self.remedy = remedy


def parse_url(text: str | URL) -> URL:
    """Return the URL of a database, with qbcd's name of the database.

    Raises:
        BadUrl: It cannot be parsed, or a special character is not percent-encoded.
    """
    try:
        url = make_url(text)
    except (SQLAlchemyError, ValueError):
        raise _bad_url(str(text)) from None
    if url.port is not None and not 0 < url.port < 65536:
        raise BadUrl("the port in the URL is not between 1 and 65535", "write the server's port, such as 5432")
    if url.host and "%" in (url.database or "") and sqlalchemy.__version__.startswith("2.0."):
        what = "SQLAlchemy 2.0 does not decode a percent-encoded name of a database"
        raise BadUrl(what, "pip install 'sqlalchemy>=2.1', or give the database a name without special characters")
    # a plain @ or / in a password would become part of host or database, which messages show
    if "@" in (url.host or "") or (url.host and "@" in (url.database or "")):
        raise BadUrl("there is an @ after the user part of the URL")
    name, plus, driver = url.drivername.partition("+")
    return url.set(drivername=f"{database_name(name)}{plus}{driver}")


def _bad_url(text: str) -> BadUrl:
    """Return the reason why SQLAlchemy cannot read a URL."""
    if text.startswith("jdbc:"):
        what = "this is a JDBC URL, but qbcd needs a SQLAlchemy URL and derives the JDBC URL from it"
        return BadUrl(what, "write dialect://user@host:port/database, without `jdbc:`")
    if _BAD_PORT.match(text):
        return BadUrl("the port in the URL is not a whole number", "write the server's port, such as 5432")
    return BadUrl("not a database URL")


def hosts_of(url: URL) -> list[str]:
    """Return every host in the URL; empty for a socket or a file."""
    found = [url.host] if url.host else []
    for name in ("host", "hostaddr"):
        for text in _values(url, name):
            found += [_without_port(part) for part in text.split(",") if part]
    return found


def is_local(url: URL) -> bool:
    """Return True if the URL can only lead to this machine.

    That is localhost, a loopback address, a Unix socket or a file.
    """
    return "service" not in url.query and all(is_local_host(host) for host in hosts_of(url))


def has_password_parameter(url: URL) -> bool:
    """Return True if the query part has a password, which masks and JDBC would not find."""
    return any(name.lower() in PASSWORD_PARAMETERS for name in url.query)


def literal_password(written: str) -> bool:
    """Return True if a URL in the file has a literal password, not a placeholder."""
    try:
        password = parse_url(without_secrets(written)).password
    except BadUrl:
        return False  # the expanded URL is checked elsewhere; as written it has no readable password
    return bool(password) and not is_stand_in(str(password))


def is_memory_database(url: URL) -> bool:
    """Return True if an SQLite URL names no file."""
    database = url.database or ""
    return database in ("", ":memory:") or ":memory:" in database or "memory" in _values(url, "mode")


def _values(url: URL, name: str) -> tuple[str, ...]:
    value = url.query.get(name, ())
    return (value,) if isinstance(value, str) else tuple(value)


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0] if host.count(":") == 1 else host


def is_local_host(host: str) -> bool:
    """Return True if a host is this machine: localhost, a loopback address, a socket path."""
    if host.lower() == "localhost" or host.startswith(("/", "@")) or os.path.isabs(host):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
