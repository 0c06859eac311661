"""Row digests that several databases compute alike, to compare their tables by ranges.

The digest is the first half of the MD5 of a row's content, as a big-endian unsigned number minus 2^63. The content is
that of all values: the text and a comma; of form ``text`` its length in bytes, a colon and the text; of NULL a colon.
The text of a value follows from its form:

=============  =====================================================================================================
``integer``    digits, without a sign if it is not negative; also decimals without a fraction
``decimal N``  digits, a point, N digits
``boolean``    true, false
``text``       itself, in UTF-8
``date``       ``YYYY-MM-DD``
``timestamp``  ``YYYY-MM-DDTHH:MM:SS.FFFFFF``
``uuid``       32 digits in lower case and four hyphens
``binary``     hexadecimal digits in upper case
=============  =====================================================================================================

Values without such a text, such as an infinite date or a year before 1, have any text that no value of another meaning
has. So rows with equal digests are equal; equal rows with such a value may have different ones, and are read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from sqlglot import exp

from qbcd.model import Column


class SupportsSharedDigests(ABC):
    """A database that computes the digest of this module over some types, in UTF-8."""

    @abstractmethod
    def shared_form(self, column: Column) -> str:
        """Return the form of a column's values; empty if they have none."""

    @abstractmethod
    def shared_digest(self, columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
        """Return the digest of a row over `columns`, each with a form; never NULL."""
