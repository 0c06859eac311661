"""Queries and restrictions of the user: volatile calls, columns, views, incremental capture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from sqlalchemy.engine import Connection
from sqlglot import ErrorLevel, exp

from qbcd.connectors.facts import Alike, Collaborator
from qbcd.model import Column, Table


class Queries(Collaborator):
    """The user's queries, restrictions and views.

    A connector that knows nothing about them uses this class itself.

    Attributes:
        moments: Texts that mean the present time if they are read as a time.
        query_trial: The remedy for a query that the source refuses: how to try it.
    """

    moments: frozenset[str] = frozenset()
    query_trial = "try it in a session of the same user"

    def view_definition(self, conn: Connection, view: Table) -> str:
        """Return the SELECT of a view, or an empty string.

        All names but those of the server have their schema. It is empty if the text that the source shows would not
        have the same meaning in another place.
        """
        return ""

    def nondeterministic_calls(self, conn: Connection, words: Sequence[str]) -> list[str]:
        """Return the words of a restriction whose value differs within one statement.

        No two polls agree about such a restriction.

        Args:
            words: As in `volatile_calls`.
        """
        return []


class SupportsVolatility(ABC):
    """The database knows which calls of a restriction or a query change by themselves.

    Attributes:
        steady_arguments: By the name of such a call, the number of arguments with which it no longer does.
    """

    steady_arguments: Mapping[str, int] = {}

    @abstractmethod
    def volatile_calls(self, conn: Connection, words: Sequence[str]) -> list[str]:
        """Return the words of a restriction whose value can change while the row does not.

        These are the time, random values, the session's user, and functions that depend on them.

        Args:
            words: In lower case; a name that is called ends in ``(``.
        """


class SupportsQueryColumns(ABC):
    """The server describes the result of a query."""

    @abstractmethod
    def query_columns(self, conn: Connection, query: str) -> list[Column]:
        """Return the result columns of `query`, a SELECT, as the server describes them.

        No row is read. Nothing is guessed: a column that the server does not describe has a `type_problem`.

        Raises:
            sqlalchemy.exc.DBAPIError: The server refuses the query, or the role may not read its tables.
        """


class SupportsIncrementalQueries(Collaborator, ABC):
    """Changes of base tables can be followed to the result of a query (variant delta).

    A writing transaction sees one state of the source in all its statements, and blocks no writer of the user.

    Attributes:
        plain_functions: Functions outside the SQL standard that return one value per row.
        written_again: sqlglot's keys of other functions that it writes with the same meaning.
        texts_alike: What equal texts that a query computes have in common.
        casts_arms: Arms of a UNION can be cast to the types of others.
        own_word: Prefix of the names that `insert_as_seen` creates; texts of a user must not contain it. Empty if it
            creates none.
    """

    plain_functions: frozenset[str] = frozenset()
    written_again: frozenset[str] = frozenset()
    texts_alike = Alike.SAME
    casts_arms = True
    own_word = ""

    @abstractmethod
    def exact_column(self, column: Column) -> Column:
        """Return the column with a digest that differs whenever any expression of values differs.

        Then 1.0 differs from 1.00.
        """

    @abstractmethod
    def equality_class(self, column: Column) -> Alike:
        """Return what equal values of `column` have in common."""

    @abstractmethod
    def steady_pins(self) -> tuple[str, ...]:
        """Return the pins of a transaction that writes and sees one state, that of its first query."""

    def insert_as_seen(self, insert: exp.Expression, *, pretty: bool) -> tuple[str, bool]:
        """Return an INSERT of named columns from a query that sees the state of such a transaction.

        Returns:
            Its text, and True if its one result is the number of rows.
        """
        return insert.sql(dialect=self.facts.dialect, unsupported_level=ErrorLevel.RAISE, pretty=pretty), False

    def misread(self, text: str, tables: Sequence[Table]) -> str:
        """Return what sqlglot reads or writes with another meaning than this database in a query.

        Args:
            tables: All tables that it reads, also through views.

        Returns:
            Words that continue "the query ..", or an empty string.
        """
        return ""

    def planned(self, query: exp.Query, *, first: bool = False) -> exp.Query:
        """Return a query with the same rows; the planner starts with the few rows that it names.

        Args:
            query: In the connector's dialect; may be changed.
            first: It is a derived table that must be computed before the tables that it is joined with.
        """
        return query

    def refresh_statistics(self, table: str) -> str:
        """Return the statement that updates the server's statistics of one of qbcd's own tables.

        It runs after many rows were added. It is empty if the server needs none.
        """
        return ""
