"""The base class of sinks: destinations that store each sealed batch exactly once.

Rows come to a sink from the stage as JSON lines or typed: in pieces, in this process, or as DataFrames of Spark.
"Exactly once" is
docs/design/protocol.md#rule-20: an incomplete attempt is removed and written again, a complete one with an equal
fingerprint is not changed, another fingerprint is an error, and no step removes a complete attempt.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from qbcd.common.wording import counted
from qbcd.config.masking import credentials_masked
from qbcd.config.sink_options import OtherOptions, SinkConfig
from qbcd.errors import DeliveryError, SinkConflict
from qbcd.model import BatchHeader, PlannedBatch, Travel
from qbcd.model.value_limits import NARROWER, Unsupported, ValueLimits
from qbcd.sinks.rest import Rest

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from qbcd.local.arrow import LocalRows


class Progress(Protocol):
    """The number of events of a batch that a sink has, for sinks that take a batch in parts."""

    def events(self, fingerprint: str) -> int:
        """Return the number for a batch; 0 if it is not known."""

    def note(self, fingerprint: str, events: int) -> None:
        """Remember that the sink has the first `events` events of a batch."""


class SinkBatch:
    """A sealed batch on its way to a sink.

    `json_lines` and `arrow` give its events in pieces, in this process. `staged`, `events` and `lines` are DataFrames:
    they start Spark.

    Args:
        header: The batch without its rows.
        staged: Returns the DataFrame of the staged rows; called at most once, and only if a sink reads rows of it.
        local: Returns the staged rows of some ordinals in a local database, only if a sink reads rows of it.
        is_local: Sinks should write the batch in this process, since it is small or the user wants that.
        part: The ordinals of the events; default: all.
        lenient: The images, ``b`` of old and ``a`` of new values, in which a value that does not fit its type is NULL,
            except in the key; in others it is an error.

    Attributes:
        progress: What the sink has of the batch, durably; None outside of a delivery.
        is_first: The sink has got no batch of the stream before, and no rows of its replica. None outside of a delivery
            of batches.
    """

    progress: Progress | None = None
    is_first: bool | None = None

    def __init__(
        self,
        header: BatchHeader,
        staged: Callable[[], DataFrame],
        local: Callable[[range], LocalRows] | None = None,
        *,
        is_local: bool = False,
        part: range | None = None,
        lenient: str = "",
    ) -> None:
        self.header, self._lenient = header, lenient
        self.is_local = is_local
        self._make, self._make_local = staged, local
        self._part = range(header.size) if part is None else part

    @cached_property
    def _local(self) -> LocalRows:
        if self._make_local is None:
            raise TypeError("this batch has rows of Spark only")
        return self._make_local(self._part)

    def json_lines(self) -> Iterator[list[str]]:
        """Yield the events as JSON, in pieces, in the order of their ordinals.

        Each event is one line, without its end.
        """
        from qbcd.local.arrow import lines_of

        return lines_of(self._local, self.header, self._part)

    def arrow(self) -> pa.RecordBatchReader:
        """Return the events, typed, in pieces, in the order of their ordinals.

        The schema is `qbcd.local.arrow.event_schema`.

        Reading raises `UnsupportedType` for a value that does not fit its type.
        """
        from qbcd.local.arrow import events_of

        return events_of(self._local, self.header, self._part, lenient=self._lenient)

    def unfit_column(self) -> str | None:
        """Return a column with a value in the batch that does not fit its type, or None."""
        from qbcd.local.arrow import unfit_column

        return unfit_column(self._local, self.header)

    @cached_property
    def staged(self) -> DataFrame:
        """The staged rows: flat, in wire form."""
        return self._make()

    @cached_property
    def events(self) -> DataFrame:
        """The events, typed (`qbcd.spark.events.events`)."""
        from qbcd.spark.events import events

        return events(self.staged, self.header, lenient="a" in self._lenient)

    @cached_property
    def lines(self) -> DataFrame:
        """The events as JSON: `ordinal` and `line` (`qbcd.spark.events.event_lines`)."""
        from qbcd.spark.events import event_lines

        return event_lines(self.staged, self.header)

    def ordered(self, events_per_part: int) -> SinkBatch:
        """Return the batch with its rows sorted by ordinal within and across Spark's partitions.

        The staged rows are sorted, not the events: Spark reads rows twice to partition them by ranges.
        """
        parts = -(-self.header.size // events_per_part)

        def rows() -> DataFrame:
            parted = self.staged.coalesce(1) if parts <= 1 else self.staged.repartitionByRange(parts, "ordinal")
            return parted.sortWithinPartitions("ordinal")

        return SinkBatch(
            self.header, rows, self._make_local, is_local=self.is_local, part=self._part, lenient=self._lenient
        )

    def fitted(self, policy: Unsupported, texts: Collection[str] | None = None, *, old: bool = True) -> SinkBatch:
        """Return the batch for a policy about values that do not fit their types.

        Keys must always fit.

        Args:
            policy: With ``null`` they are NULL. With ``text`` columns that can have some arrive as texts.
            texts: The columns that arrive as texts; default: all that can have such values.
            old: The sink has old values; otherwise they may be NULL.
        """
        header = self.header
        if policy == "text":
            columns = tuple(
                (name, travel.as_text() if _as_text(name, travel, header, texts) else travel)
                for name, travel in header.columns
            )
            header = replace(header, columns=columns)
        rows = (lambda: self.staged), (lambda part: self._local)
        return SinkBatch(
            header,
            *rows,
            is_local=self.is_local,
            part=self._part,
            lenient="ab" if policy == "null" else "" if old else "b",
        )

    def first(self, limit: int) -> SinkBatch:
        """Return the batch with only its first `limit` events, and the header of the whole batch."""
        return self._of(range(min(limit, self.header.size)))

    def last(self, limit: int) -> SinkBatch:
        """Return the batch with only its last `limit` events, and the header of the whole batch."""
        return self._of(range(max(0, self.header.size - limit), self.header.size))

    def _of(self, part: range) -> SinkBatch:
        def staged() -> DataFrame:
            return self.staged.where(f"ordinal >= {part.start:d} AND ordinal < {part.stop:d}")

        return SinkBatch(self.header, staged, self._make_local, is_local=self.is_local, part=part)


def _as_text(name: str, travel: Travel, header: BatchHeader, texts: Collection[str] | None) -> bool:
    return travel.kind in NARROWER and (name not in header.key if texts is None else name in texts)


@dataclass(frozen=True)
class SinkPlace:
    """The place of a stream's batches in a sink, which nothing else may write.

    Attributes:
        key: Equal for equal places.
        label: For messages.
        remedy: The way to another place.
    """

    key: str
    label: str
    remedy: str


class Sink(ABC):
    """A destination of batches.

    Attributes:
        options_class: The options in the configuration. The sinks of packages have :class:`OtherOptions`.
        limits: The values that it cannot hold although their type can, and the user's policy for all that it cannot
            hold.
        has_policy: It has the option `unsupported`.
        typed: Values must fit Spark's types; detection refuses others. If False, values are JSON, which can hold every
            value.
        concurrent: Several threads may call :meth:`write` at once, with batches of different streams, and it reads a
            local batch without Spark. If False, it is called by one thread at a time.
        name: The sink's name in the configuration, for messages.
        shows_all_rows: The sink keeps the state of a stream, not only its changes: it finds rows by their key, and
            needs those of the baseline.
        takes_resends: It can have rows of a replica as events between two batches (`qbcd.model.ResentRows`).
        starts_from: A sink that is new in a prepared stream gets the rows of the replica first, or only the batches
            from then on. The configuration sets it (`initial`).
        project_id: The id of the project that delivers; empty outside of a project.
        masked: Removes the configuration's secrets from a text of others.
        takes_urls: Its setting `path` may be a URL of an object store.
        takes_parts: It can have the parts of a batch that is split, each in a folder of its own.
        maintained: It has work apart from batches: :meth:`maintain` is called at each poll.
    """

    options_class: ClassVar[type[SinkConfig]] = OtherOptions
    limits: ValueLimits = ValueLimits()
    has_policy: bool = False
    typed: bool = False
    concurrent: bool = False
    project_id: str = ""
    shows_all_rows: bool = False
    takes_resends: bool = False
    takes_parts: bool = False
    starts_from: Literal["replica", "next"] = "next"
    takes_urls: bool = False
    maintained: bool = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.masked: Callable[[str], str] = credentials_masked

    @cached_property
    def rest(self) -> Rest:
        """The rest after a silence."""
        return Rest()

    @abstractmethod
    def write(self, batch: SinkBatch) -> None:
        """Write `batch`; on return the sink has it exactly once, durably.

        It may be called again with a batch that the sink has already, completely or in part.

        Raises:
            DeliveryError: The sink did not accept it, or has another batch with this number.
        """

    @abstractmethod
    def check(self) -> None:
        """Check that the sink can accept a batch; leave it unchanged.

        Raises:
            DeliveryError: It cannot.
        """

    def check_stream(self, stream: str) -> None:
        """Check the same for batches of one stream, if they have a separate place.

        Raises:
            DeliveryError: It cannot.
        """
        self.check()

    def problems(self, planned: PlannedBatch) -> list[DeliveryError]:
        """Return all known reasons why the sink would refuse batches of a stream.

        The sink is left unchanged.

        `check`, `prepare` and deliveries judge by the same functions.

        Raises:
            DeliveryError: The sink cannot be reached, so that it is not known.
        """
        return []

    def claim(self, planned: PlannedBatch) -> None:  # noqa: B027 -- by default nobody else can have the place
        """Note in the sink that a place is the stream's, before the first batch of its epoch.

        Args:
            planned: Its number is that of the stream's last batch, of an earlier epoch; 0 without one.

        Raises:
            DeliveryError: Another stream or project has it, or the sink cannot be reached.
        """

    def place(self, planned: PlannedBatch) -> SinkPlace | None:
        """Return the place of a stream's batches; None if any number of streams can share it.

        Raises:
            DeliveryError: The sink cannot be reached, and its place depends on it.
        """
        return None

    def maintain(self, stream: str, delivered: tuple[int, int]) -> bool:
        """Do what is due without a batch, such as closing a file; return True if anything was due.

        Args:
            delivered: Epoch and number of the last batch that is acknowledged.

        Raises:
            DeliveryError: It failed; the next poll tries again.
        """
        return False

    def incomplete(self, header: BatchHeader, place: str, found: int) -> DeliveryError:
        """Return the error for an attempt with `found` events, a number other than the batch's."""
        return DeliveryError(
            f"sink {self.name}: {place} has {counted(found, 'event')} of batch {header.number}, "
            f"not all {header.size:,}",
            remedy="the sink's path must be one folder for the driver and all executors; the batch stays pending",
            stream=header.stream,
        )

    def conflict(self, header: BatchHeader, place: str, found: str) -> SinkConflict:
        """Return the error for the number of another batch, with the fingerprint `found`."""
        return SinkConflict(
            f"sink {self.name}: {place} has another batch {header.number} "
            f"(fingerprint {found}, not {header.fingerprint}): the stream's state was restored from an older copy, "
            "or a second project writes here",
            remedy="restore the newer state, or give the sink another path; "
            f"qbcd reset {header.stream} begins a new epoch",
            stream=header.stream,
        )
