"""Sessions on PostgreSQL: URLs, TLS and pinned settings.

The URLs for SQLAlchemy and JDBC come from one URL, and both have the same TLS settings.
"""

from __future__ import annotations

import difflib
import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from typing import Any
from urllib.parse import quote, urlencode

from sqlalchemy.engine import URL, Connection
from typing_extensions import override

from qbcd.connectors.facts import Fetch
from qbcd.connectors.postgresql import session_pool
from qbcd.connectors.postgresql.catalog import LOCKABLE
from qbcd.connectors.sessions import Sessions, SupportsSessionPool, SupportsSnapshots
from qbcd.errors import ConfigError
from qbcd.model import Table

SQLALCHEMY_DRIVER = "postgresql+psycopg2"
DRIVER_CLASS = "org.postgresql.Driver"
DEFAULT_PORT = 5432
CONNECT_TIMEOUT = 10  # seconds
LOCK_TIMEOUT = 30  # maximum seconds of waiting for DDL or another poller
FETCH_BYTES = 64_000_000  # rows of one request, which a JDBC reader holds in memory

# After a minute the server ends the session of a host that does not answer, and releases its locks.
KEEPALIVE = {
    "tcp_keepalives_idle": 30,
    "tcp_keepalives_interval": 10,
    "tcp_keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}

# All settings that change the text of a value, the meaning of a name, or the visible rows. Plain SETs take no snapshot,
# so that an exported one can still be imported after them.
PINS = (
    "SET search_path = pg_catalog",
    "SET client_encoding = 'UTF8'",
    "SET standard_conforming_strings = on",
    "SET quote_all_identifiers = off",
    "SET transform_null_equals = off",
    "SET DateStyle = 'ISO, YMD'",
    "SET IntervalStyle = 'postgres'",
    "SET TimeZone = 'UTC'",
    "SET extra_float_digits = 1",
    "SET bytea_output = 'hex'",
    "SET lc_monetary = 'C'",
    "SET xmloption = content",
    "SET xmlbinary = base64",
    "SET row_security = off",
    "SET gin_fuzzy_search_limit = 0",
    "SET synchronous_commit = on",
    "SET idle_in_transaction_session_timeout = 0",
    "SET idle_session_timeout = 0",
    # Most time is spent in hash functions, which JIT cannot speed up; and a statement over many ranges compiles slowly.
    "SET jit = off",
    # Without it a statement over ranges of pages would scan the table once for each range.
    "SET enable_tidscan = on",
    # One connection uses one core of the server, so that its load is predictable for other users.
    "SET max_parallel_workers_per_gather = 0",
)

_PROCESS = """
SELECT own.pid, s.name, s.setting FROM (SELECT pg_catalog.pg_backend_pid() AS pid) AS own
LEFT JOIN pg_catalog.pg_settings AS s ON s.name OPERATOR(pg_catalog.=) ANY (%(names)s::pg_catalog.text[])
"""

# URL options that both drivers support, by libpq's name: the JDBC driver's name.
_SHARED = {
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "channel_binding": "channelBinding",
    "connect_timeout": "connectTimeout",
}
_VALUES = {
    "sslmode": ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
    "channel_binding": ("disable", "prefer", "require"),
}
# JDBC properties that users may set. None loads code or files, moves the session to another server, or changes TLS.
JDBC_PROPERTIES = frozenset(
    {
        "connectTimeout",
        "loginTimeout",
        "socketTimeout",
        "cancelSignalTimeout",
        "tcpKeepAlive",
        "tcpNoDelay",
        "receiveBufferSize",
        "sendBufferSize",
        "maxResultBuffer",
        "prepareThreshold",
        "preparedStatementCacheQueries",
        "preparedStatementCacheSizeMiB",
        "databaseMetadataCacheFields",
        "databaseMetadataCacheFieldsMiB",
        "logUnclosedConnections",
    }
)


# Text in which a question mark is no operator: escape strings, strings, quoted identifiers, dollar-quoted strings.
_QUOTED = r"""(?<![\w$])[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|(?<![\w$])\$(\w*)\$.*?\$\1\$"""
_JDBC_TOKEN = re.compile(rf"{_QUOTED}|\?", re.DOTALL)


def jdbc_query(sql: str) -> str:
    """Return `sql` with question marks of operators (jsonb's ``?``) doubled.

    The driver would take a single one for a parameter.
    """
    return _JDBC_TOKEN.sub(lambda found: "??" if found[0] == "?" else found[0], sql)


def is_local(host: str | None) -> bool:
    """Return True if `host` is this machine: loopback, a socket directory, or no host."""
    if not host or host.startswith(("/", "@")) or host.rstrip(".").lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _asked(read_only: bool, statement_timeout: int) -> dict[str, str | int]:
    """Return the settings of a session, with units and spelling of pg_settings."""
    return {
        "default_transaction_read_only": "on" if read_only else "off",
        "statement_timeout": statement_timeout * 1000,
        "lock_timeout": LOCK_TIMEOUT * 1000,
        "idle_in_transaction_session_timeout": 0,
    }


def server_options(*, read_only: bool, statement_timeout: int) -> str:
    """Return settings that apply from the start of a session and survive a rollback.

    They override the settings of the role. The driver decides once, when a session begins, how it writes backslashes in
    bound values.
    """
    settings = {**_asked(read_only, statement_timeout), "standard_conforming_strings": "on", **KEEPALIVE}
    return " ".join(f"-c {name}={value}" for name, value in settings.items())


def application_name(stream: str) -> str:
    """Return the name of qbcd's sessions in pg_stat_activity, cut at its 63 bytes."""
    return f"qbcd/{stream}"[:63] if stream else "qbcd"


def _jdbc_tls(url: URL) -> dict[str, str]:
    """Return the URL's options, with the JDBC driver's names."""
    settings = {}
    for name, value in _options(url).items():
        if (name, value) == ("sslrootcert", "system"):
            settings["sslfactory"] = "org.postgresql.ssl.DefaultJavaSSLFactory"  # the trust store of Java
        else:
            settings[_SHARED[name]] = value
    return settings


def _options(url: URL) -> dict[str, str]:
    """Return the URL's options, checked; another machine gets TLS with full verification."""
    for name, value in url.query.items():
        if not isinstance(value, str):
            raise ConfigError(f"the source's url sets {name} twice", remedy="keep one of them")
    _refuse_unknown(url.query, frozenset(_SHARED), "the source's url", "other options cannot apply to JDBC too")
    options = {name: str(value) for name, value in url.query.items()}
    for name, known in _VALUES.items():
        if options.get(name, known[0]) not in known:
            raise ConfigError(
                f"the source's url sets {name} to a value that it cannot have", remedy=f"use one of {', '.join(known)}"
            )
    if not options.get("connect_timeout", "1").isdecimal():
        raise ConfigError("connect_timeout in the source's url is no number", remedy="write whole seconds")
    if "sslmode" not in options and not is_local(url.host):
        options["sslmode"] = "verify-full"
    return options


def _refuse_unknown(given: Mapping[str, Any], known: frozenset[str], place: str, why: str) -> None:
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(known))}; {why}"
            raise ConfigError(f"{place} may not set {name!r}", remedy=hint)


def _by_bytes(most_rows: int) -> Fetch:
    """Return a fetch that adapts the number of rows to their width.

    It begins with one row; then the widest row so far decides how many rows fit into a request.

    If wider rows follow, the driver fails rather than exceed its buffer.
    """
    buffer = {"adaptiveFetch": "true", "maxResultBuffer": str(FETCH_BYTES), "adaptiveFetchMaximum": str(most_rows)}
    return Fetch(1, buffer)


def _own_process(connection: Any, names: Iterable[str]) -> tuple[int, dict[str, str]]:
    """Return process id and settings of a session, in one transaction that sets nothing."""
    connection.autocommit = True
    try:
        with connection.cursor() as cursor:
            cursor.execute(_PROCESS, {"names": list(names)})
            rows = cursor.fetchall()
    finally:
        connection.autocommit = False
    return rows[0][0], {name: setting for _, name, setting in rows}


class PostgresSessions(Sessions, SupportsSessionPool):
    """Sessions of psycopg2 and of PostgreSQL's JDBC driver."""

    begins_apart = False
    keep_sessions = staticmethod(session_pool.keep_sessions)
    jdbc_query = staticmethod(jdbc_query)

    @override
    def use_name(self, stream: str) -> tuple[str, ...]:
        name = application_name(stream).replace("'", "''")
        return (f"SET application_name = '{name}'",)

    @override
    def fetches(self) -> tuple[Fetch, ...]:
        return (_by_bytes(10_000), _by_bytes(200), Fetch(1))

    @override
    def sqlalchemy_url(self, url: URL) -> URL:
        """Return the URL with qbcd's driver, checked options, TLS and a connect timeout."""
        query = {"connect_timeout": str(CONNECT_TIMEOUT), **_options(url)}
        return url.set(drivername=SQLALCHEMY_DRIVER, query=query)

    @override
    def connect_args(self, url: URL, *, stream: str, read_only: bool, statement_timeout: int = 0) -> dict[str, Any]:
        """Return arguments of psycopg2.connect(): application name, keepalives, access mode."""
        return {
            "application_name": application_name(stream),
            "client_encoding": "UTF8",
            "keepalives": 1,
            "keepalives_idle": 30,
            "keepalives_interval": 10,
            "keepalives_count": 3,
            "tcp_user_timeout": KEEPALIVE["tcp_user_timeout"],
            # The driver would set another format of dates by a statement of its own.
            "options": f"-c DateStyle=ISO {server_options(read_only=read_only, statement_timeout=statement_timeout)}",
        }

    @override
    def shared_by(self, connection: Any, another: Callable[[], Any], *, read_only: bool, statement_timeout: int) -> str:
        """A pooler has process ids of its own, so that a direct session costs one round trip."""
        asked = _asked(read_only, statement_timeout)
        process, settings = _own_process(connection, asked)
        for name, value in asked.items():
            if settings.get(name) != str(value):
                return f"{name} is {settings.get(name)}, although the session began with {value}"
        if process == connection.get_backend_pid():
            return ""
        if _own_process(connection, ())[0] != process:
            return "two transactions of one session ran in two server processes"
        with closing(another()) as second:
            if _own_process(second, ())[0] == process:
                return "two sessions ran in one server process"
        return ""

    @override
    def engine_options(self, *, read_only: bool) -> dict[str, Any]:
        """Return arguments of create_engine(): isolation level and access mode.

        Readers use REPEATABLE READ READ ONLY, writers READ COMMITTED READ WRITE.
        """
        level = "REPEATABLE READ" if read_only else "READ COMMITTED"
        # The driver's hstore support would read the catalog at each connect, before the pins.
        return {
            "use_native_hstore": False,
            "execution_options": {"isolation_level": level, "postgresql_readonly": read_only},
        }

    @override
    def pins(self) -> tuple[str, ...]:
        return PINS

    @override
    def jdbc_url(
        self, url: URL, properties: Mapping[str, str] | None = None, *, stream: str = "", statement_timeout: int = 0
    ) -> str:
        """Return ``jdbc:postgresql://host:port/database?..`` with properties, without credentials.

        Raises:
            ConfigError: The URL names a socket directory, no database, or an option that is not shared by both sides;
                or a property is not on the allow-list.
        """
        host = url.host or "localhost"
        if host.startswith(("/", "@")):
            raise ConfigError(
                f"JDBC cannot connect through the socket {host}", remedy="name a host and port in the url"
            )
        if not url.database:
            raise ConfigError("the source's url names no database", remedy="end it with /DATABASE")
        _refuse_unknown(properties or {}, JDBC_PROPERTIES, "jdbc.properties", "TLS settings belong in the source's url")
        settings = {
            "connectTimeout": str(CONNECT_TIMEOUT),
            "loginTimeout": _options(url).get("connect_timeout", str(CONNECT_TIMEOUT)),  # the log-in included
            "tcpKeepAlive": "true",
            "prepareThreshold": "-1",  # binary transfer from the first row
            **_jdbc_tls(url),
            **(properties or {}),
            "ApplicationName": application_name(stream),
            # Not the driver's readOnly: without autocommit it makes read-write the session's default, and only its
            # BEGIN is read-only.
            "options": server_options(read_only=True, statement_timeout=statement_timeout),
        }
        address = f"[{host.strip('[]')}]" if ":" in host else host
        place = f"{address}:{url.port or DEFAULT_PORT}/{quote(url.database, safe='')}"
        return f"jdbc:postgresql://{place}?{urlencode(settings)}"

    @override
    def lock_against_rewrite(self, table: Table) -> str | None:
        tables = table.bases if table.query else (table,)
        named = dict.fromkeys(self.facts.quoted_table(one) for one in tables if one.kind in LOCKABLE)
        return f"LOCK TABLE {', '.join(named)} IN ACCESS SHARE MODE" if named else None


class PostgresSnapshots(SupportsSnapshots):
    """Snapshots that a transaction exports to other sessions."""

    @override
    def export_snapshot(self, conn: Connection) -> str:
        return str(conn.exec_driver_sql("SELECT pg_export_snapshot()").scalar_one())

    @override
    def snapshot_pins(self, snapshot: str) -> tuple[str, ...]:
        """Return the pins and, after them, the statements that import the snapshot.

        Raises:
            ValueError: `snapshot` is not the name of a snapshot.
        """
        if not snapshot or not all(c in "0123456789ABCDEFabcdef-" for c in snapshot):
            raise ValueError(f"{snapshot!r} is not the name of an exported snapshot")
        level = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
        return (*PINS, level, f"SET TRANSACTION SNAPSHOT '{snapshot}'")
