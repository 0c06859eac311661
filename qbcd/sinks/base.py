"""What a sink is: a place that takes sealed batches, each exactly once.

Rows come to a sink from the stage, through Spark; a sink decides whether it takes them as JSON lines or typed. What
"exactly once" asks for is docs/design/protocol.md#rule-20: an incomplete attempt is removed and written anew, a
complete one with equal fingerprint is left as it is, another fingerprint is an error, and no step takes a complete
attempt away.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from qbcd.errors import DeliveryError, SinkConflict
from qbcd.model import BatchHeader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SinkBatch:
    """A sealed batch on its way to a sink.

    Args:
        header: The batch without its rows.
        staged: Makes the DataFrame of the staged rows; called at most once, and only if a sink wants rows.
    """

    def __init__(self, header: BatchHeader, staged: Callable[[], DataFrame]) -> None:
        self.header = header
        self._make = staged

    @cached_property
    def staged(self) -> DataFrame:
        """The rows as staged: flat, in wire form."""
        return self._make()

    @cached_property
    def events(self) -> DataFrame:
        """The events, typed (`qbcd.spark.events.events`)."""
        from qbcd.spark.events import events

        return events(self.staged, self.header)

    @cached_property
    def lines(self) -> DataFrame:
        """The events as JSON: `ordinal` and `line` (`qbcd.spark.events.event_lines`)."""
        from qbcd.spark.events import event_lines

        return event_lines(self.staged, self.header)

    def ordered(self, events_per_part: int) -> SinkBatch:
        """The same batch with its rows sorted by ordinal within and across the parts that Spark makes of them.

        The staged rows are sorted, not what is made of them: Spark looks at rows twice to part them by ranges.
        """
        parts = -(-self.header.size // events_per_part)

        def rows() -> DataFrame:
            parted = self.staged.coalesce(1) if parts <= 1 else self.staged.repartitionByRange(parts, "ordinal")
            return parted.sortWithinPartitions("ordinal")

        return SinkBatch(self.header, rows)

    def first(self, limit: int) -> SinkBatch:
        """The batch with its first `limit` events alone; its header is that of the whole."""
        return SinkBatch(self.header, lambda: self.staged.where(f"ordinal < {limit:d}"))


class Sink(ABC):
    """A place for batches.

    Attributes:
        typed: Whether values must fit Spark's types; detection then refuses values that do not. Otherwise everything
            travels as JSON, which takes every value.
        name: The sink's name in the configuration, for messages.
    """

    typed: bool = False

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def write(self, batch: SinkBatch) -> None:
        """Puts `batch` into the sink; on return it is there once, and durable.

        May be called again with a batch that is there already, in full or in part.

        Raises:
            DeliveryError: The sink did not take it, or holds another batch under this number.
        """

    @abstractmethod
    def check(self) -> None:
        """Proves that the sink could take a batch, and leaves it unchanged.

        Raises:
            DeliveryError: It could not.
        """

    def check_stream(self, stream: str) -> None:
        """As `check`, of batches of one stream, where they have a place of their own.

        Raises:
            DeliveryError: It could not.
        """
        self.check()

    def incomplete(self, header: BatchHeader, place: str, found: int) -> DeliveryError:
        """The error for an attempt that holds `found` events where the batch has more or fewer."""
        return DeliveryError(
            f"sink {self.name}: {place} got {found:,} events of batch {header.epoch}/{header.seq}, "
            f"which has {header.size:,}",
            remedy="the sink's path must be one folder for the driver and all executors; the batch stays pending",
            stream=header.stream,
        )

    def conflict(self, header: BatchHeader, place: str, found: str) -> SinkConflict:
        """The error for a number that is taken by another batch, whose fingerprint is `found`."""
        return SinkConflict(
            f"sink {self.name}: {place} holds another batch {header.epoch}/{header.seq} "
            f"(fingerprint {found}, not {header.fingerprint}): the stream's state was set back, or a second project "
            "writes here",
            remedy="restore the newer state, or give the sink another path; `qbcd reset` begins a new epoch",
            stream=header.stream,
        )
