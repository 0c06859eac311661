"""One message for each error of a driver: tables of the server's codes and words to the maker of a message.

The makers here are those of errors that all databases have; a database's own are next to its tables.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, NotSupportedError, ProgrammingError

from qbcd.config.masking import credentials_masked
from qbcd.errors import ConfigError, QbcdError, SchemaChanged, SourceError

Maker = Callable[[str, str, str], QbcdError]  # of a message, a stream and a source


class Errors(ABC):
    """A database's errors as tables; the first that matches decides, in the order of the attributes.

    Attributes:
        special: Patterns of messages whose code means several things.
        codes: The server's codes.
        code_classes: Beginnings of such codes.
        words: Patterns of messages that come without a code: before a session exists, or through JDBC.
    """

    special: ClassVar[Sequence[tuple[str, Maker]]] = ()
    codes: ClassVar[Mapping[str, Maker]] = {}
    code_classes: ClassVar[Mapping[str, Maker]] = {}
    words: ClassVar[Sequence[tuple[str, Maker]]] = ()

    @abstractmethod
    def read(self, error: BaseException) -> tuple[str, str]:
        """Return the server's code of a driver's error, or an empty string, and the first line of its message.

        The line holds no value of a row; passwords are masked by :meth:`explain_error`.
        """

    def explain_error(
        self, error: BaseException, *, stream: str, source: str, masked: Callable[[str], str] = credentials_masked
    ) -> QbcdError:
        """Return the one message for a driver's error: host, role, privilege, row security, time-out, lost column.

        Args:
            error: Of SQLAlchemy, the driver, or Spark (by its text); a :class:`QbcdError` is returned as it is.
            stream: The stream concerned, or empty.
            source: What to call the source: its name, host and port.
            masked: Takes the project's secrets out of the driver's words.
        """
        if isinstance(error, QbcdError):
            return error
        code, message = self.read(getattr(error, "orig", None) or error)
        return self.maker(code, message)(masked(message), stream, source)

    def is_statement_error(self, error: DBAPIError) -> bool:
        """Return True if the text of a statement is at fault, and not the connection, a lock or a right."""
        return isinstance(error, (ProgrammingError, DataError, NotSupportedError))

    def is_write_rejected(self, error: DBAPIError) -> bool:
        """Return True if the server itself rejected a write, by a constraint or a trigger.

        Locks, lack of room and the connection are no rejections.
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
    """No session could be had, or it has ended."""
    remedy = "check host, port, network and TLS settings of the source's url"
    return SourceError(f"source {source} cannot be reached: {message}", remedy=remedy, stream=stream)


def no_database(message: str, stream: str, source: str) -> QbcdError:
    """The server has no such database."""
    return ConfigError(f"source {source}: {message}", remedy="check the database in the source's url", stream=stream)


def schema(message: str, stream: str, source: str) -> QbcdError:
    """A table or a column does not exist any more."""
    remedy = "if this is meant, `qbcd reset` the stream and `qbcd prepare` it again"
    return SchemaChanged(f"source {source}: {message}", remedy=remedy, stream=stream)


def timed_out(message: str, stream: str, source: str) -> QbcdError:
    """The server ended a statement, by its time or because somebody said so."""
    remedy = "raise the source's statement time-out (`statement_timeout`), or find out who canceled it"
    return SourceError(f"source {source}: {message}", remedy=remedy, stream=stream)


def locked(message: str, stream: str, source: str) -> QbcdError:
    """Another session holds a lock."""
    remedy = "another session holds the table or its rows, for instance for DDL; the next poll tries again"
    return SourceError(f"source {source}: {message}", remedy=remedy, stream=stream)


def full(message: str, stream: str, source: str) -> QbcdError:
    """No room on the server's disk."""
    remedy = "make room on the server's disk; the next poll begins from what was committed"
    return SourceError(f"source {source}: {message}", remedy=remedy, stream=stream)


def read_only(message: str, stream: str, source: str) -> QbcdError:
    """A server that takes no writes."""
    remedy = "the server takes no writes: poll the primary, or use a strategy that only reads, such as id_rcs"
    return SourceError(f"source {source}: {message}", remedy=remedy, stream=stream)


def other(message: str, stream: str, source: str) -> QbcdError:
    """An error that no table knows."""
    remedy = "the words are the server's, and its log may say more; the next poll tries again"
    return SourceError(f"source {source}: {message}", remedy=remedy, stream=stream)
