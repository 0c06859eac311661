"""The base class of enrichers, and a batch as they read it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qbcd.model import BatchHeader, Travel

if TYPE_CHECKING:
    import pyarrow as pa

    from qbcd.local.arrow import LocalRows

NONE_SELECTED = "[]"  # the value of an event that a selecting enricher does not select


@dataclass(frozen=True)
class BatchToEnrich:
    """A sealed batch for enrichers.

    Attributes:
        header: The batch without its rows and without added fields.
        rows: Its staged rows, all of them, in an open local database that enrichers may query.
    """

    header: BatchHeader
    rows: LocalRows

    def events(self) -> pa.RecordBatchReader:
        """Return the typed events in the order of their ordinals (`qbcd.local.arrow.event_schema`).

        Each call reads again. Reading raises `UnsupportedType` for a value that does not fit its type.
        """
        from qbcd.local.arrow import events_of

        return events_of(self.rows, self.header, range(self.header.size))


class Enricher(ABC):
    """Adds one field to the events of one stream.

    It lives as long as the stream is open.

    Attributes:
        field: The name of the field in events.
        travel: The form for typed readers: an array, whose JSON text is read, or a text, which is the JSON itself.
        holds: An event whose value is NULL waits, and the enricher is asked again at each poll.
    """

    field: str
    travel: Travel
    holds: bool = False

    def begin(self) -> None:  # noqa: B027 -- most enrichers have nothing to renew
        """Prepare for the batches of one poll, before the first one.

        Polls without a batch do not call it.

        Raises:
            QbcdError: It cannot; the batches wait, and the next poll tries again.
        """

    def remarks(self) -> list[str]:
        """Return what the user should know about the batches since the last call."""
        return []

    def estimates(self) -> list[str]:
        """Return approximate counts of the events that wait, for `qbcd status`."""
        return []

    def findings(self, columns: Mapping[str, Travel]) -> Iterator[tuple[str, str]]:
        """Yield subjects and texts of what it reads, for `qbcd check`.

        Args:
            columns: The columns of the events.

        Raises:
            QbcdError: It could not enrich such events.
        """
        yield from ()

    @abstractmethod
    def values(self, batch: BatchToEnrich) -> Iterator[pa.Array]:
        """Yield the values of all events in the order of their ordinals, in pieces of any size.

        A value is a JSON text, or NULL for an event without one.

        Raises:
            QbcdError: It cannot; the batch waits, and the next poll tries again.
        """


class SelectingEnricher(Enricher):
    """Sinks may take only the events that it selects: those whose value is not ``[]``."""

    @abstractmethod
    def chosen(self, batch: BatchToEnrich, digests: Collection[str]) -> Iterator[pa.Array]:
        """Yield the values of all events, as :meth:`values`, by some of its criteria only.

        Args:
            digests: Digests of these criteria.
        """
