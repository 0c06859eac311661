"""The header of a batch, and the cost of a poll."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from typing_extensions import override

from qbcd.common.wording import batch_number
from qbcd.model.columns import Travel

Consistency = Literal["snapshot", "statement", "range"]
WHOLE, PART = "resend-", "part-"  # first letters of `ResentRows.label`
WAITED = "waited"  # in the location of a batch


@dataclass(frozen=True)
class BatchHeader:
    """A sealed batch without its rows.

    Attributes:
        fingerprint: Unique to this batch forever; a sink compares it before it treats an earlier attempt as complete.
        counts: Events per op.
        sinks: The sinks that were configured when the batch was staged.
        columns: Key and captured columns, with the form in which their values travel.
        key: Names of the key columns.
        location: Place of the rows (table rows or files); only the site reads it.
        before: Old values are known, so updates and deletes have a before image.
        one_row: If there are no key columns: True for a result of one row, whose key is empty; False for rows without
            a key.
        added: The fields that enrichment adds to the events, with their form for typed readers. A view of a batch has
            them; a stored header has not.
        part: The name of the part in folders, if the view is one of several parts; else empty.
        selected: The view has only some events of the batch. They are numbered from 0, `event_ordinal` is their own.
    """

    stream: str
    epoch: int
    seq: int
    ts_ms: int
    counts: Mapping[str, int]
    sinks: tuple[str, ...]
    fingerprint: str
    source: str
    table: str
    strategy: str
    consistency: Consistency
    key: tuple[str, ...]
    columns: tuple[tuple[str, Travel], ...]
    location: Mapping[str, Any] = field(default_factory=dict)
    before: bool = True
    one_row: bool = False
    added: tuple[tuple[str, Travel], ...] = ()
    selected: bool = False
    part: str = ""

    @property
    def number(self) -> str:
        """The batch's name in messages: ``1795706452/17``."""
        return batch_number(self.epoch, self.seq)

    @property
    def waited(self) -> Mapping[str, Any] | None:
        """The file of a batch of events that waited; None for other batches.

        It has rows and added fields. The replica has their changes since an earlier batch, ``of``.
        """
        found: Mapping[str, Any] | None = self.location.get(WAITED)
        return found

    @property
    def size(self) -> int:
        """Number of events."""
        return sum(self.counts.values())

    @property
    def event_prefix(self) -> str:
        """Begin of the batch's event ids; the ordinal follows."""
        return f"{self.stream}:{self.epoch}:{self.seq}:"

    @property
    def folder(self) -> str:
        """Name of the folder that has the batch's files."""
        return f"{self.stream}{self._in_parts}"

    @property
    def _in_parts(self) -> str:
        return f"@{self.part}" if self.part else ""

    @property
    def is_whole_state(self) -> bool:
        """The rows are all rows of the stream, so that they replace what a table has."""
        return False


@dataclass(frozen=True)
class ResentRows(BatchHeader):
    """The rows of a replica as events of op r, for one sink, after batch `seq`.

    It is never stored.

    Attributes:
        label: Name of the resend: ``resend-2``, or ``part-2`` if it has only some rows.
    """

    label: str = field(default="", kw_only=True)

    @property
    @override
    def number(self) -> str:
        """Its name in messages: ``1795706452/17.resend-2``."""
        return f"{super().number}.{self.label}"

    @property
    @override
    def event_prefix(self) -> str:
        """See :attr:`BatchHeader.event_prefix`; no batch has it."""
        return f"{self.stream}:{self.epoch}:{self.seq}.{self.label}:"

    @property
    @override
    def folder(self) -> str:
        """A folder of its own, next to that of the stream's batches."""
        return f"{self.stream}.{self.label}{self._in_parts}"

    @property
    @override
    def is_whole_state(self) -> bool:
        return self.label.startswith(WHOLE)


@dataclass(frozen=True)
class PlannedBatch(BatchHeader):
    """The facts of a stream's batches by its plan, before there is one.

    It has no events and no number, and is never stored. For a claim its number is that of the stream's last batch.

    Its epoch is that of the stream, 0 before `prepare`. Its consistency is the weakest of any batch.

    Attributes:
        nullable: The captured columns that can be NULL.
        longest: Most characters, or bytes of binary values, of columns for which the source has a limit.
    """

    nullable: frozenset[str] = field(default=frozenset(), kw_only=True)
    longest: Mapping[str, int] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True)
class Cost:
    """The cost of a poll for the source.

    Attributes:
        rows_scanned: Rows that the source read, as far as its statistics show.
        rows_shipped: Rows that left the source.
        bytes_shipped: Bytes of the staged files, or of the control results; keys and digests count as 40 bytes per row.
        ranges: Ranges compared; `dirty` of them were dirty.
        spark: Spark was used, by detection or by a delivery; it is set at the end of a poll.
        why_spark: The reason, for a poll that could have been local.
        statements: Statements in sessions of the control driver; those of JDBC readers and of bulk reads do not count.
        round_trips: These statements, and the log-ins, commits and rollbacks of their sessions.
    """

    rows_scanned: int = 0
    rows_shipped: int = 0
    bytes_shipped: int = 0
    ranges: int = 0
    dirty: int = 0
    seconds: float = 0.0
    spark: bool = False
    why_spark: str = ""
    statements: int = 0
    round_trips: int = 0

    def __add__(self, other: Cost) -> Cost:
        """Add two costs."""
        mine, theirs = asdict(self), asdict(other)
        added = {name: mine[name] + theirs[name] for name in mine if name not in ("spark", "why_spark")}
        return Cost(**added, spark=self.spark or other.spark, why_spark=self.why_spark or other.why_spark)


def digest_of(data: Any) -> str:
    """Return a short stable name for JSON-ready data: the first 32 hex digits of its SHA-256."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()[:32]
