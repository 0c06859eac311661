"""Text that no sink can take, because it has no Unicode form.

It is refused before its batch is committed.
"""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy.exc import DBAPIError

from qbcd.catalog.source import Session
from qbcd.connectors.encodings import SupportsEncodings
from qbcd.errors import UnsupportedType
from qbcd.sites.checkpoint import new_header
from qbcd.sites.database.open_batch import staged_batch
from qbcd.sites.database.poll import DatabasePoll
from qbcd.strategies import OutboxSlice

_SAVED = "qbcd_text"


def check_text(poll: DatabasePoll, session: Session, part: OutboxSlice) -> None:
    """Refuse a step whose events have text without a Unicode form.

    Raises:
        UnsupportedType: Names column, key and remedy.
    """
    connector, columns = poll.context.source.connector, poll.plan.captured
    if not connector.supports(SupportsEncodings):
        return
    encodings = connector.require(SupportsEncodings)
    encoding = encodings.foreign_encoding(session.connection)
    texts = encodings.texts(columns) if encoding else []
    if texts:
        search = _TextSearch(poll, session, part)
        if not search.is_unicode(texts):
            at = next(i for i in texts if not search.is_unicode([i]))
            raise _refusal(poll, encoding, columns[at].name, search.key_of(at))


class _TextSearch:
    """A search for the first text without a Unicode form among the events of one step."""

    def __init__(self, poll: DatabasePoll, session: Session, part: OutboxSlice) -> None:
        header = new_header(poll, epoch=part.epoch, ts_ms=0, counts={}, consistency=poll.strategy.consistency)
        self._rows = staged_batch(poll.context, session, replace(header, seq=part.seq)).rows()
        self._encodings = poll.context.source.connector.require(SupportsEncodings)
        self._session, self._first, self._keys = session, part.first, len(poll.plan.key)

    def is_unicode(self, columns: list[int], end: int | None = None) -> bool:
        """Return True if all texts of `columns` have a Unicode form.

        With `end`, only events before that ordinal count.
        """
        values = [self._encodings.as_unicode(f"q.{side}_{i}") for i in columns for side in "ba"]
        run = self._session.run
        run(f"SAVEPOINT {_SAVED}")
        try:
            self._session.rows(self._query(", ".join(f"count({value})" for value in values), end))
        except DBAPIError as error:
            if error.connection_invalidated:
                raise
            run(f"ROLLBACK TO SAVEPOINT {_SAVED}")
            if not self._encodings.is_no_unicode(error):
                raise
            return False
        run(f"RELEASE SAVEPOINT {_SAVED}")
        return True

    def key_of(self, column: int) -> str:
        """Return the key of the first event whose text in `column` has no Unicode form, in ASCII."""
        low, high = self._first, int(self._session.one(self._query("max(q.ordinal) AS n")).n) + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.is_unicode([column], middle) else (low, middle)
        shown = [self._encodings.as_ascii(f"coalesce(q.a_{i}, q.b_{i})") for i in range(self._keys)]
        if not shown:
            return ""
        row = self._session.one(f"{self._query(', '.join(shown))} AND q.ordinal = {low}")
        return ", ".join(map(str, row))

    def _query(self, select: str, end: int | None = None) -> str:
        until = "" if end is None else f" AND q.ordinal < {end:d}"
        return f"SELECT {select} FROM (\n{self._rows}\n) AS q WHERE q.ordinal >= {self._first:d}{until}"


def _refusal(poll: DatabasePoll, encoding: str, column: str, key: str) -> UnsupportedType:
    row = f" in the row with key ({', '.join(c.name for c in poll.plan.key)}) = ({key})" if key else ""
    return UnsupportedType(
        f"column {column!r} holds text without a Unicode form{row}; the database's encoding is {encoding}",
        stream=poll.plan.stream,
        remedy=f"correct the row, or exclude: [{column}]; the next poll continues",
    )
