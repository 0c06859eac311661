"""Watermarks: columns and row versions by which new rows are found, and how far they may be read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta

from sqlalchemy.engine import Connection
from sqlglot import exp

from qbcd.connectors.facts import Collaborator, Counter, HighWater
from qbcd.model import Column, Table


class Watermarks(Collaborator):
    """The columns that can be watermarks; a connector that knows none uses this class as it is."""

    def mark_kind(self, column: Column) -> str:
        """Return the kind of a watermark over `column`.

        Returns:
            ``zoned`` for an instant, ``zoneless`` for a time of a zone that the column does not know, ``counter`` for a
            whole number; an empty string where values of this type are no watermark.
        """
        return ""


class SupportsWatermarks(ABC):
    """Timestamps and counters as watermarks, and the safe high watermark."""

    @abstractmethod
    def mark_unit(self, column: Column) -> timedelta:
        """Return the step between two neighboring values of a clock column; zero for a counter."""

    @abstractmethod
    def mark(self, column: Column, text: exp.Expression) -> exp.Expression:
        """Return a watermark from its text, in a form that compares exactly with `column`, by the column's index.

        Args:
            column: One that has a `mark_kind`.
            text: Yields ``YYYY-MM-DD HH:MM:SS.ffffff``, in UTC for a zoned column and in the column's own zone for a
                zoneless one; a whole number for a counter; or the result of `mark_text`.
        """

    @abstractmethod
    def mark_text(self, column: Column, value: exp.Expression) -> exp.Expression:
        """Return a value of `column` as the text from which `mark` makes it again; NULL stays NULL."""

    @abstractmethod
    def counter_problem(self, conn: Connection, table: Table, column: Column) -> Counter:
        """Ask the catalog if `column` grows over the whole of `table`, or is known not to.

        Neither is the case of a plain whole number: nothing vouches for it, and nothing speaks against it.
        """

    @abstractmethod
    def high_water(self, conn: Connection) -> HighWater:
        """Read how far timestamps are complete; in a transaction of its own, that ends before the rows are read.

        Raises:
            MissingPrivilege: The role may not see other sessions, and the database reports that as an error; the
                remedy is `sessions_grant`.
        """

    @abstractmethod
    def sees_sessions(self, conn: Connection) -> bool:
        """Return True if the role may see what `high_water` asks of the sessions of others."""

    @abstractmethod
    def sessions_grant(self, role: str) -> str:
        """Return the GRANT by which a DBA lets `role` see them."""

    @abstractmethod
    def not_only_writer(self, conn: Connection, table: Table) -> str:
        """Return why rows of `table` come from elsewhere than this node's own transactions; or an empty string."""


class SupportsSystemMarks(ABC):
    """Row versions of the system's own as watermarks."""

    @abstractmethod
    def system_mark(self, conn: Connection) -> str:
        """Return the mark of the present state: everything that was not yet committed is at or past it.

        It is read in an earlier statement than the snapshot of the rows. No transaction, also no prepared one, can
        later make visible a row before the mark.
        """

    @abstractmethod
    def system_mark_problem(self, conn: Connection, mark: str, table: Table | None = None) -> str:
        """Return why rows since `mark` cannot be found, or an empty string.

        Args:
            conn: A session.
            mark: Of an earlier poll; empty where there is none yet.
            table: The table that is read, where its kind is in question too.
        """

    @abstractmethod
    def changed_since_mark(self, mark: exp.Expression, alias: str = "") -> exp.Expression:
        """Test if a row, of relation `alias` or of the only one, was written at or after `mark`, or perhaps before."""


class SupportsDeleteFlags(ABC):
    """Columns that say that a row is deleted."""

    @abstractmethod
    def flag_form(self, column: Column, value: exp.Expression, literal: bool | int | str) -> exp.Expression:
        """Test if delete flag `value` of `column` says deleted; never NULL, and a NULL flag is not deleted."""

    @abstractmethod
    def flag_problem(self, column: Column, literal: bool | int | str) -> str:
        """Return why `column` cannot be a delete flag that says deleted by `literal`, or an empty string."""
