"""The project's state database: a local file by default, or a shared server.

It is opened, checked and, if it does not exist, created. A database that is damaged, foreign or newer is refused and
never replaced: a new state would silently deliver everything again.
"""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Integer, MetaData, Table, create_engine, event, insert, inspect, select, table
from sqlalchemy.engine import URL, Connection, Engine, RowMapping, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError
from sqlalchemy.pool import PoolProxiedConnection, QueuePool
from typing_extensions import override

from qbcd.common.durable import sync
from qbcd.config.masking import Masking
from qbcd.connectors.limited_drivers import limit_waits
from qbcd.connectors.wait_limits import Silence, WaitLimit
from qbcd.errors import ConfigError, QbcdError, Refused, SourceError, StateMissing
from qbcd.state import upgrades
from qbcd.state.bootstrap import create_missing, holds_rows, insert_once, present
from qbcd.state.dialects import LONG_TEXT, SECONDS, StoreFacts, store_facts
from qbcd.state.tables import PREFIX, make_table

_WRITES = "qbcd_writes"
_FILE = "qbcd_file"  # in the facts about a session, its process and the file that it has open
_KEPT_SESSIONS = 8  # of a file, as many as threads use at once; each costs a descriptor
_OF_PARENTS: list[Any] = []  # sessions on a file that a fork copied; SQLite does not allow even to close them
# EXTRA also flushes the folder after the journal was deleted: else the journal may be back after a power failure, and
# undo the commit.
_PRAGMAS = ("journal_mode = DELETE", "synchronous = EXTRA")
_DAMAGED = "restore it from a backup; qbcd never replaces an existing state"

META = make_table(
    MetaData(),
    PREFIX + "meta",
    Column("one", Integer, primary_key=True),
    Column("format_version", Integer, nullable=False),
    Column("project_id", LONG_TEXT, nullable=False),
    Column("created_at", SECONDS, nullable=False),
)


class StateDatabase:
    """An opened state database.

    Args:
        url: SQLAlchemy URL; the path of a file must be absolute.
        tables: Function that creates the tables of the state in an open write transaction.
        required: Names of these tables.
        create: Create the database if it does not exist.
        masking: Removes secrets from the server's messages; by default the password of `url`.
        timeout: Longest wait in seconds for a server's answer or a file's lock.

    Attributes:
        added: Required tables that states of older versions lack; they are created when such a state is opened.

    Raises:
        ConfigError: The URL names no usable database.
        StateMissing: The database does not exist and `create` is False.
        Refused: It is damaged, not qbcd's, or was written by a newer qbcd.
        SourceError: It cannot be reached.
    """

    added: Sequence[Table] = ()

    def __init__(
        self,
        url: str | URL,
        tables: Callable[[Connection], None],
        required: frozenset[str],
        *,
        create: bool = True,
        masking: Masking | None = None,
        timeout: float | None = None,
    ) -> None:
        self.url, self.facts = _resolve(url)
        seconds = timeout or float(str(self.url.query.get("read_timeout") or self.facts.timeout))
        self._masking = masking or Masking.of_url(self.url)
        self._required = required
        self.project_id = ""
        if self.facts.is_file:
            path = Path(self.url.database or "")
            if not path.exists():
                if not create:
                    raise _missing(self.name)
                _make_file(path, lambda new: self._fill(new, tables))
        self._engine = _engine(self.url, self.facts, seconds)
        try:
            self._check(tables, create=create)
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        """Name of the database in messages, without secrets."""
        shown = self.url.database if self.facts.is_file else self.url.render_as_string(hide_password=True)
        return f"the state database {shown}"

    @override
    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url.render_as_string(hide_password=True)})"

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction whose reads all see one state; keep it short, since it locks a file.

        Raises:
            QbcdError: As :meth:`write`.
        """
        level = self.facts.read_isolation
        options: dict[str, Any] = {"isolation_level": level} if level else {}
        with self._translated(), self._engine.connect().execution_options(**options) as conn, conn.begin():
            yield conn

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a transaction that commits if the block succeeds; on a file it is the only writer.

        Raises:
            SourceError: The database cannot be reached, is busy or refused a statement. If the reply to a commit was
                lost, the caller must read again to know if it happened.
            Refused: It is damaged.
        """
        with self._translated(), self._engine.connect().execution_options(**{_WRITES: True}) as conn, conn.begin():
            yield conn

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise self._explain(error) from error
        except self._engine.dialect.loaded_dbapi.Error as error:  # of a session's setting, which SQLAlchemy passes on
            raise self._explain(DBAPIError(None, None, error)) from error
        except UnicodeDecodeError as error:  # the driver decodes texts of the file, and messages that quote it
            if not self.facts.is_file:
                raise
            raise Refused(f"{self.name} is damaged: a text in it is not UTF-8", remedy=_DAMAGED) from error

    def _explain(self, error: DBAPIError) -> QbcdError:
        if isinstance(error.orig, Silence):
            remedy = "find out what holds up server or network; if it needs longer, raise `state_timeout`"
            return SourceError(f"{self.name}: {error.orig}", remedy=remedy)
        # of further lines some quote the statement, or rows
        text = self._masking.foreign(" ".join((str(error.orig).strip().splitlines() or [""])[0].split()))
        if self.facts.is_damage(error):
            return Refused(f"{self.name} is damaged or no state of qbcd: {text}", remedy=_DAMAGED)
        if self.facts.is_contention(error):
            return SourceError(f"{self.name} is busy: {text}", remedy="end the process that holds it, or try again")
        if self.facts.is_full(error):
            return SourceError(f"{self.name} cannot be written: {text}", remedy="make room on its disk, and try again")
        return SourceError(f"{self.name} failed: {text}", remedy="check that it can be reached and written")

    def _fill(self, file: Path, tables: Callable[[Connection], None]) -> None:
        """Create the state in an empty file."""
        engine = _engine(self.url.set(database=str(file)), self.facts, self.facts.timeout)
        try:
            with engine.connect().execution_options(**{_WRITES: True}) as conn, conn.begin():
                _initialise(conn, self.facts, tables)
        except DBAPIError as error:
            raise self._explain(error) from error
        finally:
            engine.dispose()

    # -- opening -----------------------------------------------------------------------------------------------------
    def _check(self, tables: Callable[[Connection], None], *, create: bool) -> None:
        with self.write() as conn:
            if self.facts.is_file:
                self._check_pages(conn)
            if self.facts.undurable_sql and (problem := conn.exec_driver_sql(self.facts.undurable_sql).scalar()):
                raise Refused(f"{self.name} may lose commits: {problem}", remedy="set it to 1 on that server")
            row = _meta_row(conn) or self._first_row(conn, tables, create)
            if row is None or not row["project_id"]:
                raise Refused(f"{self.name} has no project id", remedy=_DAMAGED)
            reached = upgrades.upgrade(conn, row["format_version"], self.name)
            if reached != row["format_version"]:
                conn.execute(META.update().values(format_version=reached))
            there = present(conn, None)
            if lacking := [one for one in self.added if one.name not in there]:
                create_missing(conn, lacking)  # an older version made the state
            missing = sorted(self._required - there - {one.name for one in lacking})
            if missing:
                raise self._incomplete(missing[0])
            self.project_id = str(row["project_id"])

    def _check_pages(self, conn: Connection) -> None:
        findings = conn.exec_driver_sql("PRAGMA integrity_check(1)").scalar()
        if findings != "ok":
            one_line = " ".join(str(findings).split())
            raise Refused(f"{self.name} is damaged: {one_line}", remedy=_DAMAGED)

    def _first_row(self, conn: Connection, tables: Callable[[Connection], None], create: bool) -> RowMapping | None:
        """Create the state, or continue a creation that was killed: then no table has a row yet."""
        own = [table(name) for name in sorted(present(conn, None)) if name.startswith(PREFIX)]
        if self.facts.is_file or holds_rows(conn, own):
            if not inspect(conn).has_table(META.name):
                raise self._incomplete(META.name)
            return _meta_row(conn)  # another process has just created it
        if not create:
            raise _missing(self.name)
        _initialise(conn, self.facts, tables)
        return _meta_row(conn)

    def _incomplete(self, table: str) -> Refused:
        return Refused(f"{self.name} is damaged or no state of qbcd: table {table} is missing", remedy=_DAMAGED)


def _missing(name: str) -> StateMissing:
    return StateMissing(f"{name} does not exist", remedy="run `qbcd prepare` first")


def _resolve(url: str | URL) -> tuple[URL, StoreFacts]:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise ConfigError("`state` is not an SQLAlchemy URL", remedy="e.g. sqlite:///.qbcd/state.db") from error
    facts = store_facts(parsed.get_backend_name())
    if facts.is_file and (parsed.database or ":memory:").startswith((":memory:", "file:")):
        raise ConfigError("`state` must be a file on disk", remedy="e.g. sqlite:///.qbcd/state.db")
    if facts.needs_database and not parsed.database:
        raise ConfigError("`state` must name a database", remedy="e.g. end the URL with /qbcd_state")
    url = parsed if "+" in parsed.drivername else parsed.set(drivername=facts.drivername)
    unknown = [n for n in url.query if not facts.knows_option(n)] if url.drivername == facts.drivername else []
    if unknown:
        raise ConfigError(
            f"the URL of `state` has option {unknown[0]!r}, which its driver does not know", remedy="check its spelling"
        )
    return url, facts


def _connect_args(url: URL, facts: StoreFacts) -> dict[str, Any]:
    """Return qbcd's connection arguments without those that the user's URL sets.

    `options` are joined, qbcd's last, since the user may not change durability.
    """
    args = {name: value for name, value in facts.connect_args.items() if name not in url.query}
    if "options" in facts.connect_args and "options" in url.query:
        args["options"] = f"{url.query['options']} {facts.connect_args['options']}"
    return args


def _engine(url: URL, facts: StoreFacts, seconds: float) -> Engine:
    if not facts.is_file:
        engine = create_engine(
            url,
            connect_args=_connect_args(url, facts),
            isolation_level=facts.write_isolation,
            pool_pre_ping=True,
            hide_parameters=True,
            pool_recycle=1800,
        )
        limit_waits(engine, WaitLimit(seconds, "state_timeout"))
        if facts.begin_sql:
            event.listen(engine, "begin", lambda conn: conn.exec_driver_sql(facts.begin_sql))
        return engine
    engine = create_engine(
        url,
        connect_args=_connect_args(url, facts),
        poolclass=QueuePool,
        pool_size=_KEPT_SESSIONS,
        max_overflow=-1,
        hide_parameters=True,
    )
    event.listen(engine, "connect", partial(_prepare_file_session, seconds, Path(url.database or "")))
    event.listen(engine, "checkout", partial(_refuse_other_file, Path(url.database or "")))
    event.listen(engine, "begin", _begin_on_file)
    return engine


def _prepare_file_session(seconds: float, path: Path, connection: Any, record: Any) -> None:
    # The driver would begin transactions by itself and too late: a read transaction that becomes a write transaction
    # cannot wait for a lock.
    connection.isolation_level = None
    for pragma in (f"busy_timeout = {seconds * 1000:.0f}", *_PRAGMAS):
        connection.execute(f"PRAGMA {pragma}").fetchall()
    record.info[_FILE] = os.getpid(), _identity(path)


def _refuse_other_file(path: Path, _connection: Any, record: Any, proxy: PoolProxiedConnection) -> None:
    """Let the pool open the file again after a fork, or if it was moved, removed or replaced."""
    process, file = record.info.get(_FILE, (0, None))
    if process != os.getpid():
        _OF_PARENTS.append(record.dbapi_connection)
        record.dbapi_connection = proxy.dbapi_connection = None  # type: ignore[misc]
        raise DisconnectionError("the connection belongs to the process that forked this one")
    if file is None or file != _identity(path):
        raise DisconnectionError("the path names another file now")


def _identity(path: Path) -> tuple[int, int] | None:
    """Return device and number of a file; None if it does not exist."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _begin_on_file(conn: Connection) -> None:
    conn.exec_driver_sql("BEGIN IMMEDIATE" if conn.get_execution_options().get(_WRITES) else "BEGIN")


def _initialise(conn: Connection, facts: StoreFacts, tables: Callable[[Connection], None]) -> None:
    if facts.ddl_lock_sql:
        conn.exec_driver_sql(facts.ddl_lock_sql)
    create_missing(conn, [META])
    tables(conn)
    if _meta_row(conn) is None:
        fresh = {"one": 1, "format_version": upgrades.FORMAT_VERSION, "project_id": uuid.uuid4().hex}
        insert_once(conn, insert(META).values(**fresh, created_at=facts.clock))


def _meta_row(conn: Connection) -> RowMapping | None:
    return conn.execute(select(META)).mappings().first() if inspect(conn).has_table(META.name) else None


def _make_file(path: Path, fill: Callable[[Path], None]) -> None:
    """Create the file completely or not at all, readable by its owner alone.

    If two processes create it, one wins. An empty or incomplete file under the final name could not be distinguished
    from a truncated one.
    """
    try:
        if not path.parent.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            fill(new)
            _publish(new, path)
        finally:
            new.unlink(missing_ok=True)
        sync(path.parent)
    except OSError as error:
        raise SourceError(
            f"the state database {path} cannot be created: {error.strerror}", remedy="check the folder and its rights"
        ) from error


def _publish(new: Path, path: Path) -> None:
    try:
        os.link(new, path)
    except FileExistsError:
        return  # another process was first; its project id is valid
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP):
            raise
        os.rename(new, path)  # a file system without hard links
