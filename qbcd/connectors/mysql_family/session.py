"""Sessions on MariaDB and MySQL: URLs, TLS and pinned settings.

The URLs for SQLAlchemy and JDBC come from one URL, and both have the same TLS settings.
"""

from __future__ import annotations

import difflib
import ipaddress
import ssl
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from sqlalchemy.engine import URL
from typing_extensions import override

from qbcd.connectors.facts import Fetch
from qbcd.connectors.mysql_family import session_pool
from qbcd.connectors.mysql_family.facts import MYSQL_DRIVER_CLASS, FamilyFacts, Spelling
from qbcd.connectors.sessions import Sessions, SupportsSessionPool
from qbcd.errors import ConfigError
from qbcd.model import Table

DEFAULT_PORT = 3306
CONNECT_TIMEOUT = 10  # seconds
IDLE_TIMEOUT = 86_400  # maximum seconds of waiting for Spark, or for a slow reader of rows
SQL_MODE = "STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION"
LOCK_TIMEOUT = 30  # maximum seconds of waiting for DDL or another poller

# Options of a source's URL; they apply to SQLAlchemy and JDBC.
URL_OPTIONS = frozenset({"ssl_mode", "ssl_ca", "connect_timeout"})
SSL_MODES = {"disabled": "disable", "verify_ca": "verify-ca", "verify_identity": "verify-full"}  # ours -> JDBC


def pinned(spelling: Spelling) -> tuple[str, ...]:
    """Return session variables, each with its value.

    The mode is strict, so that no copied value is cut; invalid dates are allowed, since the source may contain them; a
    table is not created in another engine than requested. Double quotes delimit texts and backslashes escape, as in
    the default mode: restrictions of users rely on it.
    """
    return (
        f"sql_mode = '{SQL_MODE}'",
        "time_zone = '+00:00'",
        "character_set_client = utf8mb4",
        "character_set_results = utf8mb4",
        "collation_connection = utf8mb4_bin",
        "lc_time_names = 'en_US'",
        "default_week_format = 0",
        "div_precision_increment = 4",
        "sql_auto_is_null = OFF",
        "sql_safe_updates = OFF",
        "sql_big_selects = ON",
        "max_sort_length = 65536",  # bytes of a key that a sort compares
        "group_concat_max_len = 1073741824",  # most bytes of a packet: sets of any size are whole
        "sql_select_limit = 18446744073709551615",
        f"lock_wait_timeout = {LOCK_TIMEOUT}",
        f"innodb_lock_wait_timeout = {LOCK_TIMEOUT}",
        f"wait_timeout = {IDLE_TIMEOUT}",
        f"net_write_timeout = {IDLE_TIMEOUT}",
        *spelling.extra,
    )


def _from_the_start(spelling: Spelling, read_only: bool, statement_timeout: int) -> list[str]:
    """Return `variables` with the pinned SQL mode and the isolation level.

    SQLAlchemy reads the mode from a new session, to know how it quotes names. A reader sees one state in all its
    statements. A writer sees a new state in each statement, and blocks nobody.
    """
    level = "REPEATABLE-READ" if read_only else "READ-COMMITTED"
    own = [f"sql_mode='{SQL_MODE}'", f"{spelling.isolation}='{level}'", "autocommit=0"]
    return [*own, *variables(spelling, read_only, statement_timeout)]


def variables(spelling: Spelling, read_only: bool, statement_timeout: int) -> list[str]:
    """Return session variables that make a session read-only and limit its statements."""
    name, units = spelling.time_limit
    return [f"{spelling.read_only}={int(read_only)}", f"{name}={statement_timeout * units}"]  # 0 is no limit


def is_local(host: str | None) -> bool:
    """Return True if `host` is this machine: loopback, a socket, or no host."""
    if not host or host.startswith("/") or host.rstrip(".").lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _database(url: URL) -> str:
    if not url.database:
        raise ConfigError("the source's url names no database", remedy="end it with /DATABASE")
    return url.database


def _options(url: URL) -> dict[str, str]:
    """Return the URL's options, checked; another machine gets TLS with full verification."""
    for name, value in url.query.items():
        if not isinstance(value, str):
            raise ConfigError(f"the source's url sets {name} twice", remedy="keep one of them")
    _refuse_unknown(url.query, URL_OPTIONS, "the source's url", "other options cannot apply to JDBC too")
    options = {name: str(value) for name, value in url.query.items()}
    options["ssl_mode"] = options.get("ssl_mode", "disabled" if is_local(url.host) else "verify_identity").lower()
    if options["ssl_mode"] not in SSL_MODES:
        raise ConfigError(
            "the source's url sets ssl_mode to a value that it cannot have", remedy=f"use one of {', '.join(SSL_MODES)}"
        )
    if not options.get("connect_timeout", "1").isdecimal():
        raise ConfigError("connect_timeout in the source's url is no number", remedy="write whole seconds")
    return options


def _tls(options: Mapping[str, str]) -> ssl.SSLContext | None:
    if options["ssl_mode"] == "disabled":
        return None
    try:
        context = ssl.create_default_context(cafile=options.get("ssl_ca"))
    except OSError as error:
        raise ConfigError(
            f"ssl_ca {options.get('ssl_ca')} cannot be read: {error.strerror or error}",
            remedy="name a PEM file of the authority that signed the server's certificate",
        ) from error
    context.check_hostname = options["ssl_mode"] == "verify_identity"
    return context


def _mariadb_driver(options: Mapping[str, str]) -> dict[str, str]:
    """Return settings of MariaDB Connector/J, with TLS of releases 3 (sslMode) and 2 (useSsl)."""
    mode = options["ssl_mode"]
    settings = {"permitMysqlScheme": "true", "sslMode": SSL_MODES[mode]}
    if mode == "disabled":
        return settings
    settings["useSsl"] = "true"
    if mode == "verify_ca":
        settings["disableSslHostnameVerification"] = "true"
    if "ssl_ca" in options:
        settings["serverSslCert"] = options["ssl_ca"]
    return settings


def _mysql_driver(options: Mapping[str, str]) -> dict[str, str]:
    """Return settings of MySQL Connector/J. It uses Java's trust store, not a PEM file."""
    if "ssl_ca" in options and options["ssl_mode"] != "disabled":
        raise ConfigError(
            "MySQL Connector/J cannot read ssl_ca, a PEM file",
            remedy="add the authority to Java's trust store and remove ssl_ca, or use MariaDB Connector/J",
        )
    # without useCursorFetch it keeps whole results in memory
    return {"sslMode": options["ssl_mode"].upper(), "useCursorFetch": "true"}


def _refuse_unknown(given: Mapping[str, Any], known: frozenset[str], place: str, why: str) -> None:
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(known))}; {why}"
            raise ConfigError(f"{place} may not set {name!r}", remedy=hint)


def _row(connection: Any, text: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(text)
        return cursor.fetchone()


class FamilySessions(Sessions, SupportsSessionPool):
    """Sessions of PyMySQL and of both JDBC drivers."""

    facts: FamilyFacts
    keep_sessions = staticmethod(session_pool.keep_sessions)

    @override
    def use_level(self, level: str) -> tuple[str, ...]:
        return (f"SET {self.facts.spelling.isolation} = '{level.replace(' ', '-')}'",)

    @override
    def sqlalchemy_url(self, url: URL) -> URL:
        """Return the URL with the driver that qbcd uses; its options are passed by `connect_args`.

        Raises:
            ConfigError: The URL names no database.
        """
        _options(url)
        return URL.create(
            self.facts.sqlalchemy_driver,
            url.username,
            None if url.password is None else str(url.password),
            url.host or "localhost",
            url.port or DEFAULT_PORT,
            _database(url),
        )

    @override
    def connect_args(self, url: URL, *, stream: str, read_only: bool, statement_timeout: int = 0) -> dict[str, Any]:
        """Return arguments of PyMySQL's connect().

        Raises:
            ConfigError: An option of the URL is unknown or cannot be used.
        """
        options = _options(url)
        arguments: dict[str, Any] = {
            "connect_timeout": int(options.get("connect_timeout", CONNECT_TIMEOUT)),
            "charset": "utf8mb4",
            "program_name": f"qbcd/{stream}" if stream else "qbcd",
            # one statement instead of several by driver and SQLAlchemy for each session
            "autocommit": None,
            "init_command": f"SET {', '.join(_from_the_start(self.facts.spelling, read_only, statement_timeout))}",
            "local_infile": False,
        }
        context = _tls(options)
        return {**arguments, "ssl": context} if context else {**arguments, "ssl_disabled": True}

    @override
    def shared_by(self, connection: Any, another: Callable[[], Any], *, read_only: bool, statement_timeout: int) -> str:
        """A direct session has the number of its greeting and costs one round trip."""
        spelling, level = self.facts.spelling, "REPEATABLE-READ" if read_only else "READ-COMMITTED"
        asked = {spelling.read_only: int(read_only), spelling.isolation: level, "autocommit": 0}
        text = f"SELECT connection_id(), {', '.join(f'@@session.{name}' for name in asked)}"
        number, *settings = _row(connection, text)
        for (name, value), found in zip(asked.items(), settings, strict=True):
            if str(found) != str(value):
                return f"{name} is {found}, although the session began with {value}"
        if number != connection.thread_id() and _row(connection, text)[0] != number:
            return "two statements of one client ran in two sessions of the server"
        return ""

    @override
    def engine_options(self, *, read_only: bool) -> dict[str, Any]:
        return {"pool_reset_on_return": None}  # a session ends with its transaction, which is then rolled back

    @override
    def fetches(self) -> tuple[Fetch, ...]:
        """The driver of MariaDB reads a stream that the server sends without requests."""
        return super().fetches() if self.facts.driver.driver_class == MYSQL_DRIVER_CLASS else (Fetch(1),)

    @override
    def pins(self) -> tuple[str, ...]:
        return (f"SET {', '.join(pinned(self.facts.spelling))}",)

    @override
    def home(self, url: URL) -> str:
        return url.database or ""

    @override
    def jdbc_url(
        self, url: URL, properties: Mapping[str, str] | None = None, *, stream: str = "", statement_timeout: int = 0
    ) -> str:
        """Return ``jdbc:mysql://host:port/database?..`` with all properties, without credentials.

        For this scheme Spark quotes names as these servers do. For ``jdbc:mariadb:`` it would use double quotes, which
        are texts on these servers: it would read the names of columns as their values.

        Raises:
            ConfigError: The URL names a socket, no database or an unknown option; or a property is not on the
                allow-list.
        """
        options, host, facts = _options(url), url.host or "localhost", self.facts
        spelling, driver_class = facts.spelling, facts.driver.driver_class
        if host.startswith(("/", "@")):
            raise ConfigError(
                f"JDBC cannot connect through the socket {host}", remedy="name a host and port in the url"
            )
        _refuse_unknown(
            properties or {}, facts.jdbc_properties, "jdbc.properties", "TLS settings belong in the source's url"
        )
        own = _mysql_driver(options) if driver_class == MYSQL_DRIVER_CLASS else _mariadb_driver(options)
        settings = {
            "connectTimeout": str(1000 * int(options.get("connect_timeout", CONNECT_TIMEOUT))),
            "tcpKeepAlive": "true",
            "tinyInt1isBit": "false",
            "yearIsDateType": "false",
            **own,
            **(properties or {}),
        }
        if options["ssl_mode"] == "disabled" and is_local(host):
            settings["allowPublicKeyRetrieval"] = "true"  # no other host is between two processes of one machine
        for name, value in settings.items():
            if any(c in value for c in "&#?\\\"'"):
                what = f"the value of {name} contains a character that a JDBC URL cannot contain"
                raise ConfigError(what, remedy="write it without & # ? \\ and quotes")
        # Spark reads a query's columns before it runs the pins, so that the pins must apply from the start. A statement
        # must see committed rows, whatever the server's default is.
        from_start = [*pinned(spelling), f"{spelling.isolation} = 'REPEATABLE-READ'"]
        from_start += variables(spelling, True, statement_timeout)
        text = ",".join(setting.replace(" = ", "=") for setting in from_start)
        # the driver of MySQL decodes the values of its URL, that of MariaDB does not
        settings["sessionVariables"] = quote(text, safe="=,'") if driver_class == MYSQL_DRIVER_CLASS else text
        address = f"[{host.strip('[]')}]" if ":" in host else host
        place = f"{address}:{url.port or DEFAULT_PORT}/{quote(_database(url), safe='')}"
        return f"jdbc:mysql://{place}?{'&'.join(f'{name}={value}' for name, value in settings.items())}"

    @override
    def lock_against_rewrite(self, table: Table) -> str | None:
        # A transaction that has read a table keeps DDL on it waiting until it ends.
        tables = table.bases if table.query else (table,)
        named = dict.fromkeys(f"(SELECT 1 FROM {self.facts.quoted_table(one)} LIMIT 0)" for one in tables)
        return " UNION ALL ".join(named)[1:-1] if len(named) == 1 else " UNION ALL ".join(named) or None
