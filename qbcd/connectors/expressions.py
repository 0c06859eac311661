"""Expressions whose meaning differs between databases: equality, digest, key identity, text.

Arguments and results are sqlglot trees; `qbcd.sql.compile` alone makes text of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal

from sqlglot import exp

from qbcd.connectors.facts import Collaborator
from qbcd.model import Column, Travel
from qbcd.model.value_limits import ValueClass


class Expressions(Collaborator, ABC):
    """The column primitives.

    `null_safe_distinct` and `row_digest` use the same comparison form of a value.
    """

    overlap: ClassVar[str] = ""  # SQL that an array of texts {v} has one of the texts {listed}; empty: there is none

    def null_safe_distinct(self, column: Column, left: exp.Expression, right: exp.Expression) -> exp.Expression:
        """Compare two values of `column`, NULL-safe: true if they differ, never NULL.

        Default: ``IS DISTINCT FROM``.
        """
        return exp.NullSafeNEQ(this=left.copy(), expression=right.copy())

    @abstractmethod
    def row_digest(self, columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
        """Return the signed 64-bit digest of a row over `columns`; never NULL, sound under SUM.

        See docs/design/architecture.md#reading-4.
        """

    def digest_form(self, column: Column) -> str:
        """Return how a column enters a digest.

        If it is the same for two columns, in tables of any databases of this kind with the same encoding, then equal
        digests mean equal values, and different digests mean different values. It is empty if no other database may
        be compared so, because the digest is over numbers that have their meaning in one database only.
        """
        return repr((column.base_type, column.sql_type, column.comparison, column.travel, column.facts))

    @abstractmethod
    def key_identity(self, columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
        """Return the binary identity of a key: equal exactly when the columns' own equality says so."""

    @abstractmethod
    def key_hash(self, columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
        """Return a signed 64-bit hash of a key's identity: equal for equal keys, evenly distributed."""

    def key_equal(self, column: Column, left: exp.Expression, right: exp.Expression) -> exp.Expression:
        """Compare two keys under the column's own equality, as a join on the key does."""
        return exp.EQ(this=left.copy(), expression=right.copy())

    def text_equality(self, column: Column) -> Literal["exact", "padded", "uuid", ""]:
        """Return how texts relate that are equal under the column's own equality.

        ``exact``: they are identical; ``padded``: but for trailing spaces; ``uuid``: they show the same UUID. Empty if
        other texts can be equal too, if the database does not show it, or refuses to compare some texts.
        """
        return ""

    @abstractmethod
    def canonical_text(self, column: Column, value: exp.Expression) -> exp.Expression:
        """Return the value as text that casts back to it; NULL stays NULL.

        The text does not depend on settings of the session.
        """

    @abstractmethod
    def travel_form(self, column: Column, value: exp.Expression) -> exp.Expression:
        """Return the value in wire form (see :class:`~qbcd.model.Travel`)."""

    def united_form(self, column: Column, value: exp.Expression) -> exp.Expression:
        """Return the value so that a UNION with NULL keeps it and its column can store it."""
        return value

    def compares_bytes(self, column: Column) -> bool:
        """Return True if `=` of a text of the column, or of an element, compares bytes."""
        return False

    def has_stable_text(self, column: Column) -> bool:
        """Return False if the text of an unchanged value may change.

        An example is the name of another object.
        """
        return True

    def fits_typed_sink(self, column: Column, value: exp.Expression) -> exp.Expression | None:
        """Test if a typed sink can hold the value (never NULL).

        None, the default, if it can hold every value.
        """
        return None

    def is_of_class(self, kind: ValueClass, travel: Travel, value: str, longest: int = 0) -> str:
        """Return SQL that tests if a value in wire form is of the class.

        Empty if no value of the database is of the class.

        Args:
            value: SQL of the value.
            longest: For class ``long``: most characters, or bytes of a binary value.
        """
        if kind == "long":
            length = "octet_length" if travel.kind == "binary" else "char_length"
            return f"{length}({value}) > {longest:d}"
        return ""

    def statement_form(self, tree: exp.Expression) -> exp.Expression:
        """Return the statement with forms that the database has, instead of those that it lacks."""
        return tree


class SupportsWideDigests(ABC):
    """A database that computes two independent hashes of a row (option `digest: 128`)."""

    @abstractmethod
    def wide_digest(self, columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
        """Return a row digest of 126 bits over `columns`; never NULL.

        It is a decimal(38,0) without a sign: 63 bits of one hash times `qbcd.model.plans.HALF`, plus 63 of the other.
        """
