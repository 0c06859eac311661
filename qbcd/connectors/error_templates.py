"""One message for each error of a driver: tables from codes and words to makers of messages.

The makers here are for errors that all databases have. Those of one database are next to its tables.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, NotSupportedError, ProgrammingError

from qbcd.config.masking import credentials_masked
from qbcd.errors import ConfigError, QbcdError, Refused, SchemaChanged, SourceError, SourceSilent, UnsupportedType

Maker = Callable[[str, str, str], QbcdError]  # from message, stream and source


class Errors(ABC):
    """A database's errors as tables. The first match decides, in the order of the attributes.

    Attributes:
        special: Patterns of messages whose code has several meanings.
        codes: The server's codes.
        code_classes: First characters of such codes.
        words: Patterns of messages without a code: before a session exists, or through JDBC.
    """

    special: ClassVar[Sequence[tuple[str, Maker]]] = ()
    codes: ClassVar[Mapping[str, Maker]] = {}
    code_classes: ClassVar[Mapping[str, Maker]] = {}
    words: ClassVar[Sequence[tuple[str, Maker]]] = ()

    @abstractmethod
    def read(self, error: BaseException) -> tuple[str, str]:
        """Return the server's code of a driver's error, and the first line of its message.

        The code may be empty. The line contains no value of a row; :meth:`explain_error` masks passwords.
        """

    def explain_error(
        self, error: BaseException, *, stream: str, source: str, masked: Callable[[str], str] = credentials_masked
    ) -> QbcdError:
        """Return the one message for a driver's error.

        Args:
            error: From SQLAlchemy, the driver, or Spark (its text is used). A :class:`QbcdError` is returned unchanged.
            stream: The stream concerned, or empty.
            source: Name, host and port of the source, for the message.
            masked: Masks the project's secrets in the driver's message.
        """
        if isinstance(error, QbcdError):
            return error
        code, message = self.read(getattr(error, "orig", None) or error)
        return self.maker(code, message)(masked(message), stream, source)

    def is_statement_error(self, error: DBAPIError) -> bool:
        """Return True if a statement's text is the cause, not the connection, a lock or a right."""
        return isinstance(error, (ProgrammingError, DataError, NotSupportedError))

    def is_write_rejected(self, error: DBAPIError) -> bool:
        """Return True if a constraint or a trigger of the server rejected a write.

        Errors of locks, full disks and connections are no rejections.
        """
        return isinstance(error, IntegrityError)

    def maker(self, code: str, message: str) -> Maker:
        """Return the maker of the message for an error."""
        found = next((maker for pattern, maker in self.special if re.search(pattern, message)), None)
        if found is None and code:
            by_class = (maker for start, maker in self.code_classes.items() if code.startswith(start))
            found = self.codes.get(code) or next(by_class, None)
        if found is None and not code:
            by_word = (maker for pattern, maker in self.words if re.search(pattern, message, re.IGNORECASE))
            found = next(by_word, None)
        return found or other


def unreachable(message: str, stream: str, source: str) -> QbcdError:
    """Error: no session could be opened, or the session has ended."""
    remedy = "check host, port, network and TLS settings of the source's url"
    return SourceError(f"source {source} cannot be reached: {message}", remedy=remedy, stream=stream)


def no_session(message: str, stream: str, source: str) -> QbcdError:
    """Error: the server, or the network to it, gave no session in time."""
    remedy = "check host, port and network; if the server only needs longer, raise connect_timeout in the source's url"
    return SourceSilent(f"source {source} cannot be reached: {message}", remedy=remedy, stream=stream)


def pooled(message: str, stream: str, source: str) -> QbcdError:
    """Error: a connection pooler shares the server's sessions, or does not set them up.

    In the first case, it lends a session to several clients.
    """
    remedy = (
        "put the server's own port into the source's url; a pooler must pass on startup options, and give each client "
        "a session of its own"
    )
    what = f"source {source}: a connection pooler is in front of the server: {message}"
    return Refused(what, remedy=remedy, stream=stream)


def no_database(message: str, stream: str, source: str) -> QbcdError:
    """Error: the server has no such database."""
    return ConfigError(f"source {source}: {message}", remedy="check the database in the source's url", stream=stream)


def schema(message: str, stream: str, source: str) -> QbcdError:
    """Error: a table or a column no longer exists."""
    remedy = "if that is intended, `qbcd reset` the stream and `qbcd prepare` it again"
    return SchemaChanged(f"source {source}: {message}", remedy=remedy, stream=stream)


def timed_out(message: str, stream: str, source: str) -> QbcdError:
    """Error: the server canceled a statement, by its time limit or on request."""
    remedy = "raise `statement_timeout` of the source, or find out who canceled the statement"
    return SourceError(f"source {source}: {message}", remedy=remedy, stream=stream)


def locked(message: str, stream: str, source: str) -> QbcdError:
    """Error: another session holds a lock."""
    remedy = "another session locks the table or its rows, for example for DDL; the next poll tries again"
    return SourceError(f"source {source}: {message}", remedy=remedy, stream=stream)


def no_unicode(message: str, stream: str, source: str) -> QbcdError:
    """Error: a text cannot be converted to Unicode."""
    remedy = "correct the text, or exclude its column; qbcd check names columns whose encoding is not known"
    return UnsupportedType(f"source {source}: a text has no Unicode form: {message}", remedy=remedy, stream=stream)


def full(message: str, stream: str, source: str) -> QbcdError:
    """Error: the server's disk is full."""
    remedy = "free space on the server's disk; the next poll starts from what was committed"
    return SourceError(f"source {source}: {message}", remedy=remedy, stream=stream)


def read_only(message: str, stream: str, source: str) -> QbcdError:
    """Error: the server accepts no writes."""
    remedy = "the server accepts no writes: poll the primary, or use a strategy that only reads, such as id_rcs"
    return SourceError(f"source {source}: {message}", remedy=remedy, stream=stream)


def other(message: str, stream: str, source: str) -> QbcdError:
    """Error: none of the tables contains it."""
    remedy = "this is the server's own message, and its log may contain more; the next poll tries again"
    return SourceError(f"source {source}: {message}", remedy=remedy, stream=stream)
