"""The encoding of a database's text, if the database may store text without a Unicode form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from qbcd.model import Column


class SupportsEncodings(ABC):
    """A database whose encoding may be another than Unicode, or none.

    Some of its text then cannot leave it.
    """

    @abstractmethod
    def foreign_encoding(self, conn: Connection) -> str:
        """Return the name of the database's encoding; empty if all text is Unicode.

        It runs no statement.
        """

    @abstractmethod
    def is_unknown(self, encoding: str) -> bool:
        """Return True if the server does not know the meaning of bytes in an encoding."""

    @abstractmethod
    def texts(self, columns: Sequence[Column]) -> list[int]:
        """Return the positions of columns whose values may contain any letter."""

    @abstractmethod
    def as_unicode(self, text: str) -> str:
        """Return SQL of a text in Unicode; it fails if the text has no such form."""

    @abstractmethod
    def as_ascii(self, value: str) -> str:
        """Return SQL of a value's text that shows bytes outside ASCII as escapes; it never fails."""

    @abstractmethod
    def as_binary(self, column: str) -> str:
        """Return SQL of a text column as binary, for messages."""

    @abstractmethod
    def is_no_unicode(self, error: DBAPIError) -> bool:
        """Return True if `as_unicode` failed because of a text."""
