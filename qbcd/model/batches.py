"""A batch without its rows, and what finding it cost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from qbcd.model.columns import Travel
from qbcd.wording import batch_number

Consistency = Literal["snapshot", "statement", "range"]


@dataclass(frozen=True)
class BatchHeader:
    """A sealed batch without its rows.

    Attributes:
        fingerprint: Unique to this batch for ever; a sink compares it before it calls an earlier attempt complete.
        counts: Events per op.
        sinks: The sinks that were configured when the batch was staged.
        columns: Key and pertinent columns of the rows, with how they travel.
        key: Names of the key columns.
        location: Where the rows are, for the site alone (table rows or files).
        before: Old values are known, so that updates and deletes have an image of what was.
        one_row: Where there are no key columns: of one row, whose key is empty; else rows have no key.
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

    @property
    def number(self) -> str:
        """The batch as messages name it: ``1795706452/17``."""
        return batch_number(self.epoch, self.seq)

    @property
    def size(self) -> int:
        """Number of events."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class Cost:
    """The cost of a poll for the source. Rows are counted or estimated as the fields say.

    Attributes:
        rows_scanned: Rows that the source read, as far as its counts tell.
        rows_shipped: Rows that left the source.
        bytes_shipped: Bytes of the rows' files in the stage, or of the control results; of keys and digests, 40 a row.
        ranges: Ranges compared; `dirty` of them differed.
        spark: Spark was used, by detection or by a delivery; known once a poll has ended.
    """

    rows_scanned: int = 0
    rows_shipped: int = 0
    bytes_shipped: int = 0
    ranges: int = 0
    dirty: int = 0
    seconds: float = 0.0
    spark: bool = False

    def __add__(self, other: Cost) -> Cost:
        """Of both together."""
        mine, theirs = asdict(self), asdict(other)
        added = {name: mine[name] + theirs[name] for name in mine if name != "spark"}
        return Cost(**added, spark=self.spark or other.spark)


def digest_of(data: Any) -> str:
    """A short stable name for JSON-ready data (SHA-256, 32 hex digits)."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()[:32]
