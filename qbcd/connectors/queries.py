"""Queries and restrictions of the user: calls that change by themselves, result columns, views, incremental capture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from sqlalchemy.engine import Connection
from sqlglot import ErrorLevel, exp

from qbcd.connectors.facts import Alike, Collaborator
from qbcd.model import Column, Table


class Queries(Collaborator):
    """The user's queries, restrictions and views; a connector that knows no more of them uses this class as it is.

    Attributes:
        moments: Texts that are the present time, where they are read as a time.
        query_trial: How a user tries a query that the source refuses.
    """

    moments: frozenset[str] = frozenset()
    query_trial = "try it in a session of the same user"

    def view_definition(self, conn: Connection, view: Table) -> str:
        """Return the SELECT of a view, every name with its schema but those of the server's own; or nothing.

        Nothing where the source does not give it so that it means the same wherever it is written.
        """
        return ""

    def nondeterministic_calls(self, conn: Connection, words: Sequence[str]) -> list[str]:
        """Return those of a restriction's words whose value differs within one statement, so that no two polls agree.

        Args:
            conn: A session.
            words: As `volatile_calls` takes them.
        """
        return []


class SupportsVolatility(ABC):
    """The database knows which calls of a restriction or a query change by themselves.

    Attributes:
        steady_arguments: By the name of such a call, the number of arguments from which on it does not change by
            itself.
    """

    steady_arguments: Mapping[str, int] = {}

    @abstractmethod
    def volatile_calls(self, conn: Connection, words: Sequence[str]) -> list[str]:
        """Return those of a restriction's words whose value can change while the row does not: time, chance, user.

        Args:
            conn: A session.
            words: In lower case; names that are called end in ``(``.
        """


class SupportsQueryColumns(ABC):
    """The server describes the result of a query."""

    @abstractmethod
    def query_columns(self, conn: Connection, query: str) -> list[Column]:
        """Return the columns of the result of `query`, a SELECT, as the server describes them; no row is read.

        Nothing is guessed: a column that the server does not describe has a `type_problem`.

        Raises:
            sqlalchemy.exc.DBAPIError: The server refuses the query, or the role may not read what it reads.
        """


class SupportsIncrementalQueries(Collaborator, ABC):
    """Changes of base tables can be followed to the result of a query (variant delta).

    A transaction that writes sees one state of the source in all its statements, and blocks no writer of the user's.

    Attributes:
        plain_functions: Functions that give one value for a row, and are of no standard.
        written_again: sqlglot's keys of the others that it writes with the same meaning.
        texts_alike: What equal texts that a query itself makes have in common.
        casts_arms: Arms of a UNION can be cast to the types of others.
        own_word: How names of `insert_as_seen` begin, which no text of a user's may have; empty where it makes none.
    """

    plain_functions: frozenset[str] = frozenset()
    written_again: frozenset[str] = frozenset()
    texts_alike = Alike.SAME
    casts_arms = True
    own_word = ""

    @abstractmethod
    def exact_column(self, column: Column) -> Column:
        """Return the column so that two values share a digest only if no expression can distinguish them.

        1.0 is then not 1.00.
        """

    @abstractmethod
    def equality_class(self, column: Column) -> Alike:
        """Return what equal values of `column` have in common."""

    @abstractmethod
    def steady_pins(self) -> tuple[str, ...]:
        """Return the session's pins for a transaction that writes and sees one state, that of its first query."""

    def insert_as_seen(self, insert: exp.Expression, *, pretty: bool) -> tuple[str, bool]:
        """Write an INSERT of named columns from a query, which sees the state of such a transaction.

        Returns:
            Its text, and whether its one result is the number of rows.
        """
        return insert.sql(dialect=self.facts.dialect, unsupported_level=ErrorLevel.RAISE, pretty=pretty), False

    def misread(self, text: str, tables: Sequence[Table]) -> str:
        """Return what of a query this database reads otherwise than sqlglot does, or writes it; or nothing.

        Args:
            text: The query's.
            tables: All that it reads, through views too.

        Returns:
            The words that go after "the query".
        """
        return ""

    def planned(self, query: exp.Query, *, first: bool = False) -> exp.Query:
        """Return a query of the same rows from which the planner starts with the few rows that it names.

        Args:
            query: In the connector's dialect; may be changed.
            first: It is a derived table, to be computed before what it is joined with.
        """
        return query

    def refresh_statistics(self, table: str) -> str:
        """Return the statement by which the server counts rows of one of qbcd's own tables; empty where it needs none.

        It runs after the table has got many rows.
        """
        return ""
