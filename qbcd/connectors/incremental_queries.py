"""The primitives by which changes of base tables are followed to the result of a query (variant delta).

What cannot be followed without them is refused by name, and left to the variants that compute the whole result.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import ErrorLevel, exp

from qbcd.connectors.facts import Alike
from qbcd.errors import UnsupportedPrimitive
from qbcd.model import Column, Table


class FollowingPrimitives:
    """What a :class:`~qbcd.connectors.base.Connector` states so that its databases' queries can be followed.

    Attributes:
        name: Of the database, for people.
        dialect: sqlglot's name of its dialect.
        plain_functions: Functions that give one value for a row, and are of no standard.
        written_again: sqlglot's keys of the others that it writes with the same meaning.
        texts_alike: What equal texts have in common that a query itself makes.
        casts_arms: Arms of a UNION can be cast to the types of others; else they are where one of its types leads it.
        steady_writes: A transaction that writes can see one state of the source in all its statements.
        own_word: How names of `insert_as_seen` begin, which no text of a user's may have; empty where it makes none.
    """

    name: str
    dialect: str
    plain_functions: frozenset[str] = frozenset()
    written_again: frozenset[str] = frozenset()
    texts_alike = Alike.SAME
    casts_arms = True
    steady_writes = False
    own_word = ""

    def exact_column(self, column: Column) -> Column:
        """The column so that values have one digest only where no expression can tell them apart (1.0 is not 1.00)."""
        raise UnsupportedPrimitive(self.name, "exact_column")

    def equality_class(self, column: Column) -> Alike:
        """What equal values of `column` have in common."""
        raise UnsupportedPrimitive(self.name, "alike")

    def steady_pins(self) -> tuple[str, ...]:
        """The session's pins, for a transaction that writes and sees one state, that of its first query.

        Raises:
            UnsupportedPrimitive: There are no such transactions, or they would block the users' writers.
        """
        raise UnsupportedPrimitive(self.name, "steady_pins")

    def insert_as_seen(self, insert: exp.Expression, *, pretty: bool) -> tuple[str, bool]:
        """An INSERT of named columns from a query, which sees the state of such a transaction.

        Returns:
            Its text, and whether its one result is the number of rows.
        """
        return insert.sql(dialect=self.dialect, unsupported_level=ErrorLevel.RAISE, pretty=pretty), False

    def misread(self, text: str, tables: Sequence[Table]) -> str:
        """What of a query this database takes otherwise than sqlglot does, or writes it; empty where nothing is.

        Args:
            text: The query's.
            tables: All that it reads, through views too.

        Returns:
            What goes after "the query".
        """
        return ""

    def planned(self, query: exp.Query, *, first: bool = False) -> exp.Query:
        """A query, and no row of it other, in the form from which the planner starts with the few rows that it names.

        Args:
            query: In the connector's dialect; may be changed.
            first: It is a derived table, to be computed before what it is joined with.
        """
        return query

    def refresh_statistics(self, table: str) -> str:
        """What tells the server how many rows one of qbcd's own tables has just got; empty where it sees for itself."""
        return ""
