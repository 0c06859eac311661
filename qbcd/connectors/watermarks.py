"""Watermarks: columns and row versions that show new rows, and the safe high watermark."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta

from sqlalchemy.engine import Connection
from sqlglot import exp

from qbcd.connectors.facts import Collaborator, Counter, HighWater
from qbcd.model import Column, Table


class Watermarks(Collaborator):
    """Columns that can be watermarks; a connector that knows none uses this class itself."""

    def mark_kind(self, column: Column) -> str:
        """Return the kind of a watermark over `column`.

        Returns:
            ``zoned`` for an instant, ``zoneless`` for a time whose zone the column does not contain, ``counter`` for a
            whole number; an empty string if values of this type cannot be watermarks.
        """
        return ""


class SupportsWatermarks(ABC):
    """Timestamps and counters as watermarks, and the safe high watermark."""

    @abstractmethod
    def mark_unit(self, column: Column) -> timedelta:
        """Return the difference of two neighboring values of a clock column; zero for a counter."""

    @abstractmethod
    def mark(self, column: Column, text: exp.Expression) -> exp.Expression:
        """Return a watermark from its text, in a form that compares exactly with `column`.

        The comparison can use the column's index.

        Args:
            column: One that has a `mark_kind`.
            text: Yields ``YYYY-MM-DD HH:MM:SS.ffffff``, in UTC for a zoned column and in the column's own zone for a
                zoneless one; a whole number for a counter; or the result of `mark_text`.
        """

    @abstractmethod
    def mark_text(self, column: Column, value: exp.Expression) -> exp.Expression:
        """Return a value of `column` as the text that `mark` reads; NULL stays NULL."""

    @abstractmethod
    def counter_problem(self, conn: Connection, table: Table, column: Column) -> Counter:
        """Return what the catalog proves about a column with numbers that must grow over the table.

        About a plain whole number it proves nothing, neither for nor against.
        """

    @abstractmethod
    def high_water(self, conn: Connection) -> HighWater:
        """Return the time up to which timestamps are complete.

        The transaction must end before the rows are read.

        Raises:
            MissingPrivilege: The role may not see other sessions, and the database reports that as an error; the
                remedy is `sessions_grant`.
        """

    @abstractmethod
    def sees_sessions(self, conn: Connection) -> bool:
        """Return True if the role may see what `high_water` reads about other sessions."""

    @abstractmethod
    def sessions_grant(self, role: str) -> str:
        """Return the GRANT by which a DBA lets `role` see other sessions."""

    @abstractmethod
    def not_only_writer(self, conn: Connection, table: Table) -> str:
        """Return why rows of `table` do not all come from transactions of this server.

        An empty string means that they do.
        """


class SupportsSystemMarks(ABC):
    """Row versions of the database itself as watermarks."""

    @abstractmethod
    def system_mark(self, conn: Connection) -> str:
        """Return the watermark of the present state: all uncommitted rows are at or after it.

        It is read in an earlier statement than the snapshot of the rows. No transaction, prepared ones included, can
        later make a row before the watermark visible.
        """

    @abstractmethod
    def system_mark_problem(self, conn: Connection, mark: str, table: Table | None = None) -> str:
        """Return why rows since watermark `mark` cannot be found, or an empty string.

        Args:
            mark: From an earlier poll; empty if there is none yet.
            table: The table that is read, to check its kind too.
        """

    @abstractmethod
    def changed_since_mark(self, mark: exp.Expression, alias: str = "") -> exp.Expression:
        """Test if a row was written at or after watermark `mark`; it may be true for earlier rows.

        The row is of relation `alias`, or of the only relation in scope.
        """


class SupportsDeleteFlags(ABC):
    """Columns that mark a row as deleted."""

    @abstractmethod
    def flag_form(self, column: Column, value: exp.Expression, literal: bool | int | str) -> exp.Expression:
        """Test if delete flag `value` of `column` equals `literal`; FALSE for NULL, never NULL."""

    @abstractmethod
    def flag_problem(self, column: Column, literal: bool | int | str) -> str:
        """Return why `column` cannot be a delete flag with value `literal`, or an empty string."""
