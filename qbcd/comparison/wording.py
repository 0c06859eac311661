"""Messages of a comparison, without stream, poll or configuration.

Errors come from layers that streams use too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from qbcd.errors import LocalFailed, LocalOutOfMemory, QbcdError

_AGAIN = "compare again"
_WORDS = (
    (r"exclude: \[([^\]]*)\]", r"leave it out: --exclude \1"),
    (r"exclude (?:the|its)(?: long)? column", "leave the column out: --exclude NAME"),
    (r"\b[Cc]apture a view\b", "compare a view"),
    (r"the source's url", "the URL"),
)
# clauses of a remedy that a comparison has no use for
_OF_STREAMS = re.compile(
    r"\b(polls?|streams?|strategy|next run|qbcd (check|prepare|reset|run)|statement_timeout)\b|`qbcd |engine: spark"
)


@contextmanager
def worded() -> Iterator[None]:
    """In the block, word errors for a comparison."""
    try:
        yield
    except QbcdError as error:
        reword(error)
        raise


def reword(error: QbcdError) -> None:
    """Word an error for a comparison, which has no stream and no configuration."""
    error.where = error.stream = ""
    error.what = error.what.replace("cannot be captured", "cannot be compared")
    if isinstance(error, LocalFailed) and not isinstance(error, LocalOutOfMemory):
        error.remedy = "check rights and free space of the folder for temporary files (TMPDIR); -v shows more"
    error.remedy = remedy_of(error.remedy)


def remedy_of(text: str) -> str:
    """Return a remedy without the clauses that are about streams."""
    for pattern, words in _WORDS:
        text = re.sub(pattern, words, text)
    first, *rest = re.split("(; (?:or )?|, or )", text)
    clauses = [("", first), *zip(rest[0::2], rest[1::2], strict=True)]
    kept = [(separator, clause) for separator, clause in clauses if not _OF_STREAMS.search(clause)]
    if not kept:
        return _AGAIN
    return kept[0][1] + "".join(separator + clause for separator, clause in kept[1:])
