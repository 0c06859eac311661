"""The rows of a stream that its subscriptions need, stored, so that polls read no others.

A new subscription inside the stored hull costs nothing. One outside lets the hull grow: the next poll applies the other
restriction (docs/design/protocol.md#rule-16), and the subscription begins with the poll after it. So a row that enters
only because the hull grew is no event of it.
"""

from __future__ import annotations

from collections.abc import Iterable

from qbcd.connectors.base import Connector
from qbcd.state import ProjectState
from qbcd.state.subscribed import StoredInterest, put_interest, stored_interest
from qbcd.subscriptions.enricher import SubscriptionEnricher
from qbcd.subscriptions.hull import Hull, grown, hull_of_json

EVERY_ROW = "all"  # in the state: the stream is not narrowed


class Interest:
    """The hull of one stream.

    Args:
        base: The restriction of the configuration.
        why_not: Why the stream is not narrowed; empty if it is.
    """

    def __init__(
        self, state: ProjectState, stream: str, base: str, enricher: SubscriptionEnricher, why_not: str = ""
    ) -> None:
        self._state, self._stream, self.base, self.enricher, self.why_not = state, stream, base, enricher, why_not
        self._stored: StoredInterest | None = None

    def never_narrowed(self) -> bool:
        """Return True if nothing is stored of the stream, read now."""
        return stored_interest(self._state, self._stream) is None

    def load(self) -> None:
        """Read what is stored, and let the matcher know which subscriptions have not begun.

        Raises:
            Refused: The stored row is damaged.
        """
        if not self.enricher.narrows:
            return
        self._stored = stored_interest(self._state, self._stream)
        settled = self._stored is None or self._stored.wanted == self._stored.captured
        self.enricher.captured = None if settled or self._stored is None else _hull(self._stored.captured)

    @property
    def hull(self) -> Hull | None:
        """The hull that polls apply; None for every row."""
        return None if self._stored is None else _hull(self._stored.wanted)

    @property
    def why_every_row(self) -> str:
        """Why there is no hull, of a stream that may be narrowed."""
        return "no poll has found a column that bounds all subscriptions"

    def where(self, hull: Hull | None, connector: Connector) -> str:
        """Return the restriction of the stream by a hull, that of the configuration included."""
        if hull is None:
            return self.base
        quoted = connector.quote(hull.column) if hull.column else ""
        sql = hull.sql(quoted, connector.dialect, connector.expressions.overlap)
        return f"({self.base}\n) AND ({sql})" if self.base else sql

    def needed(self, columns: Iterable[str], *, prepared: bool) -> Hull | None:
        """Return the hull that is needed now: the present one, a larger one; None for every row.

        Args:
            columns: Those that a hull may bound.
            prepared: The stream has captured rows.
        """
        if self.why_not or (self._stored is not None and self._stored.wanted == EVERY_ROW):
            return None
        now, parts = self.hull, self.enricher.parts()
        if now is not None and all(now.column and now.covers(each) for each in parts):
            return now
        if now is None and prepared and not parts:  # without a subscription nothing is known
            return None
        return grown(now, parts, frozenset(columns))

    def store(self, hull: Hull | None, *, prepared: bool) -> bool:
        """Store the hull that polls apply from now on; return False if it is the present one."""
        before, wanted = self._stored, EVERY_ROW if hull is None else hull.to_json()
        if (before is None and hull is None) or (before is not None and before.wanted == wanted):
            return False
        captured = wanted if not prepared else EVERY_ROW if before is None else before.captured
        put_interest(self._state, self._stream, StoredInterest(wanted, captured))
        self.load()
        return True

    def settle(self) -> None:
        """Store that a poll has applied the hull; all subscriptions inside have begun."""
        if self._stored is not None and self._stored.captured != self._stored.wanted:
            put_interest(self._state, self._stream, StoredInterest(self._stored.wanted, self._stored.wanted))
            self.load()


def _hull(text: str) -> Hull | None:
    return None if text == EVERY_ROW else hull_of_json(text)
