"""The interface of engines, which compute the rows and changes of the lake wing.

All engines read and write the same files. Columns: stage and replica have ``range_id, key_id, digest, c0..cn``; changes
have ``op, changed, range_id, key_id, digest, b_0..b_n, a_0..a_n``; a batch adds ``reason, pair_id, ordinal, batch_seq``
(wire form throughout). Keys themselves are never compared: rows are joined by ``key_id``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

from qbcd.errors import QbcdError
from qbcd.local.source import SourceReads
from qbcd.model import KeyRange, StreamPlan, Travel
from qbcd.model.wire import Fields
from qbcd.state import StoredRange

Rows: TypeAlias = Any  # rows of one engine, computed when they are needed; only their engine looks into them
By = Literal["digest", "values", "either"]  # the part of two versions of a row that shows a change


class RowChecksum(ABC):
    """Count and sum of digests of rows, computed while they are written."""

    @abstractmethod
    def observe(self, rows: Rows) -> Rows:
        """Return `rows`, to be evaluated once."""

    @abstractmethod
    def read(self) -> tuple[int, int | None]:
        """Return (rows, sum of digests) after the rows were evaluated; the sum is None if a digest is missing."""

    @abstractmethod
    def untravelled(self) -> list[int]:
        """Return, after evaluation, the positions of a row's values that no typed sink can hold."""


class EventCounts(ABC):
    """Events by op, counted while a batch is written."""

    @abstractmethod
    def observe(self, batch: Rows) -> Rows:
        """Return `batch`, to be evaluated once."""

    @abstractmethod
    def read(self) -> dict[str, int]:
        """Return, after the batch was written, the number of events by op, without zeros."""

    @abstractmethod
    def unfit(self) -> list[int]:
        """Return the positions whose old value no typed sink can hold in some event, after the batch was written."""


def total(parts: Iterable[RowChecksum]) -> tuple[int, int | None]:
    """Return (rows, sum of digests) of all parts together; the sum is None if a digest is missing."""
    found = [one.read() for one in parts]
    sums = [checksum for _, checksum in found if checksum is not None]
    return sum(rows for rows, _ in found), sum(sums) if len(sums) == len(found) else None


def grown(ranges: Sequence[StoredRange], growth: Mapping[int, tuple[int, int]]) -> list[StoredRange]:
    """Return those of `ranges` that grow, with their new counts and checksums."""
    return [
        replace(r, rows=r.rows + growth[r.range_id][0], checksum=r.checksum + growth[r.range_id][1])
        for r in ranges
        if r.range_id in growth
    ]


def changed_only(positions: Sequence[int]) -> str:
    """Return SQL for changes that differ in none but these last positions.

    ``changed`` lists positions in order, so the first one shows it.
    """
    return " OR ".join(f"changed = '{p}' OR changed LIKE '{p},%'" for p in positions)


class Engine(ABC):
    """Reads, compares and writes rows.

    Attributes:
        name: Its name in the configuration.
        verifies_pages: It verifies the checksums of Parquet pages that it reads.
        few_rows: Up to this number, rows are compared while they come from the source.
    """

    name: ClassVar[Literal["local", "spark"]]
    verifies_pages: ClassVar[bool]
    few_rows: ClassVar[int]

    # -- rows in and out ---------------------------------------------------------------------------------------------
    @abstractmethod
    def fetch(self, reads: SourceReads, fields: Fields) -> Rows:
        """Return the rows of statements on the source, with these fields, to be evaluated once."""

    @abstractmethod
    def read(self, fields: Fields, files: Sequence[Path]) -> Rows:
        """Return the rows of files with these fields."""

    @abstractmethod
    def write(self, rows: Rows, fields: Fields, folder: Path, *, temporary: bool) -> None:
        """Evaluate `rows` once, cast them to `fields` and write them into a new folder.

        Args:
            rows: The rows.
            fields: Name and type of each column.
            folder: The folder to create.
            temporary: This process reads the files once.
        """

    @abstractmethod
    def explained(self, work: Callable[[], Any], explain: Callable[[BaseException], QbcdError]) -> Any:
        """Return the result of `work`; turn an error of the source in it into qbcd's own."""

    @abstractmethod
    def no_rows(self, fields: Fields) -> Rows:
        """Return no rows, with these fields."""

    @abstractmethod
    def union(self, parts: Sequence[Rows]) -> Rows:
        """Return the rows of all parts (at least one)."""

    def for_rows(self, rows: int) -> AbstractContextManager[None]:
        """In the block, prepare for about that many rows."""
        return nullcontext()

    def gathered(self, rows: Rows, about: int) -> Rows:
        """Return about `about` rows in the form in which they are compared."""
        return rows

    def for_one_join(self, rows: Rows) -> Rows:
        """Return rows from the source in the form in which they are compared while they come."""
        return rows

    def in_one_task(self, rows: Rows) -> Rows:
        """Return rows that one task reads and compares."""
        return rows

    @abstractmethod
    def kept(self, rows: Rows) -> AbstractContextManager[Rows]:
        """Keep rows for the block, so that they are computed once."""

    @abstractmethod
    def row_checksum(self) -> RowChecksum:
        """Return a new count and checksum of rows."""

    @abstractmethod
    def event_counts(self, old_values: Mapping[int, Travel]) -> EventCounts:
        """Return new counts of events; `old_values` are the columns whose old values must fit a typed sink."""

    # -- the replica -------------------------------------------------------------------------------------------------
    @abstractmethod
    def in_ranges(self, rows: Rows, ids: Sequence[int]) -> Rows:
        """Return the rows of some ranges."""

    @abstractmethod
    def together(self, parts: Sequence[Rows], *, alone: bool = False) -> Rows:
        """Return the rows of all parts (at least one), for one task if `alone`."""

    @abstractmethod
    def merged(
        self, base: Rows, deltas: Rows | None, asked: Sequence[KeyRange], *, changed: int, one: bool, alone: bool
    ) -> Rows:
        """Return the replica's rows in some ranges: base segments with later batches on top.

        Args:
            base: The rows of these ranges in the segments.
            deltas: The rows of later batches, if there are any.
            asked: The ranges, or some of their leaves.
            changed: Number of rows in the batches.
            one: There is one batch, so each key occurs once in it.
            alone: One task gets all rows, even if they are many.
        """

    @abstractmethod
    def renumbered(self, rows: Rows, ids: Mapping[int, int]) -> Rows:
        """Return `rows` with range ids replaced by `ids`; other range ids stay."""

    @abstractmethod
    def last_batches(self, batches: Rows) -> dict[int, int]:
        """Return by range_id the last batch with changes of the range."""

    # -- a stage -----------------------------------------------------------------------------------------------------
    @abstractmethod
    def identified(self, rows: Rows, plan: StreamPlan) -> Rows:
        """Return rows of the source with `key_id`.

        If the key has columns, the source has computed it. For rows without a key it is the digest (8 bytes) and the
        number of the copy (8 bytes). For a result of one row, whose key has no columns, it is empty.
        """

    @abstractmethod
    def sums(self, rows: Rows, digest_column: str = "digest") -> dict[int, tuple[int, int | None]]:
        """Return by range_id (rows, exact sum of digests); the sum is None if a digest is missing."""

    @abstractmethod
    def has_duplicates(self, stage: Rows) -> bool:
        """Return True if a key occurs twice in the stage."""

    @abstractmethod
    def one_row(self, rows: Rows, columns: Sequence[str], where: str) -> tuple[Any, ...] | None:
        """Return these columns of one row for which a condition holds; None without one."""

    @abstractmethod
    def untravelled(self, stage: Rows) -> list[int]:
        """Return the positions of one row's columns with a value that no typed sink can hold; empty without one."""

    @abstractmethod
    def aligned(self, replica: Rows, before: StreamPlan, plan: StreamPlan, stage: Rows) -> Rows:
        """Return rows with the columns of `before` as rows with the columns of `plan`; missing values are NULL."""

    # -- comparisons -------------------------------------------------------------------------------------------------
    @abstractmethod
    def differences(
        self, replica: Rows, stage: Rows, plan: StreamPlan, *, by: By, both: Sequence[int] | None = None
    ) -> Rows:
        """Return the net changes that turn `replica` into `stage`; ``net, weight`` is the growth of their range.

        Args:
            replica: Old rows of the ranges, with the values of all captured columns or of the key alone.
            stage: New rows of the same ranges; if they have ``old_digest``, it is compared with the replica's digest.
            plan: The captured columns.
            by: Compare values if digests are not comparable; either, since different rows may have equal digests.
            both: Positions of the columns to compare, among those that the replica has; default: all columns.
        """

    @abstractmethod
    def window_differences(self, replica: Rows, stage: Rows, plan: StreamPlan, about: int) -> Rows:
        """Return the changes of the rows in a window of timestamps; ``weight`` is the growth of the key checksum.

        Args:
            replica: Old rows of the ranges.
            stage: The rows of the window, with ``key_digest`` and ``shown``, which is 1 if the restriction holds.
            plan: The captured columns.
            about: Approximate number of rows in the window.
        """

    @abstractmethod
    def settled_differences(self, replica: Rows, stage: Rows, plan: StreamPlan, both: Sequence[int]) -> Rows:
        """Return the changes between `replica` and a stage of settled rows, up to the watermark.

        Args:
            replica: Old rows of the ranges.
            stage: New rows, with ``shown``, 1 if the restriction holds, and ``settled``, 1 if before the watermark.
            plan: The captured columns.
            both: Positions of the columns to compare.
        """

    @abstractmethod
    def settled_keys(self, replica: Rows, stage: Rows, digest_column: str) -> Rows:
        """Return range id and digest of the keys that the replica has after `settled_differences`."""

    @abstractmethod
    def changed_fingerprints(self, replica: Rows, fingerprints: Rows) -> Rows:
        """Return the rows that differ between `replica` and `fingerprints`.

        Columns are ``range_id, key_id, digest, c0..cn, k0..kn``: digest and values of the replica, NULL for new rows,
        and the source's texts of the key, NULL for deleted rows.
        """

    @abstractmethod
    def changed_keys(self, changed: Rows, names: Sequence[str], most: int) -> list[tuple[str, ...]]:
        """Return the key's texts (columns `names`) of at most `most` changed rows of the source."""

    @abstractmethod
    def changed_pairs(self, changed: Rows, rows: Rows, names: Sequence[str], about: int) -> tuple[Rows, Rows]:
        """Return (stage, old rows) of changed rows, in the form for `differences`.

        Args:
            changed: Rows of `changed_fingerprints`.
            rows: New versions of those that exist, without their range.
            names: Columns of the key's texts.
            about: Approximate number of rows that differ.
        """

    @abstractmethod
    def deleted(self, replica: Rows, keys: Rows) -> Rows:
        """Return the rows of `replica` whose keys are not among `keys`, as changes of op d."""

    @abstractmethod
    def baseline(self, stage: Rows, width: int) -> Rows:
        """Return the rows of a baseline as changes of op r."""

    # -- changes -----------------------------------------------------------------------------------------------------
    @abstractmethod
    def without_deletes(self, changes: Rows) -> Rows:
        """Return the changes except deletes."""

    @abstractmethod
    def deletes(self, changes: Rows) -> Rows:
        """Return the deletes among the changes."""

    @abstractmethod
    def with_reason(self, changes: Rows, reason: str, only: Sequence[int] = ()) -> Rows:
        """Return the changes with a reason, which their events show.

        Args:
            changes: The changes.
            reason: The reason.
            only: The last positions, if only changes that differ in none but these have the reason.
        """

    @abstractmethod
    def of_keys(self, rows: Rows, others: Rows) -> Rows:
        """Return those of `rows` whose key is among the keys of `others`."""

    @abstractmethod
    def without_keys(self, rows: Rows, others: Rows) -> Rows:
        """Return those of `rows` whose key is not among the keys of `others`."""

    @abstractmethod
    def with_ranges_of(self, rows: Rows, keys: Rows, range_ids: Sequence[int]) -> Rows:
        """Return those of `rows` whose keys have one of `range_ids` in `keys`, with that range id."""

    @abstractmethod
    def numbered(
        self, changes: Rows, seq: int, rows: int, sizes: Mapping[tuple[str, int], int] | None = None
    ) -> AbstractContextManager[Rows]:
        """Give the changes as batch rows, numbered from 0: deletes, then updates, then inserts.

        Args:
            changes: The changes; evaluated once within the block.
            seq: The batch's number.
            rows: Approximate number of compared rows.
            sizes: The `groups` of these changes, if they are known.
        """

    @abstractmethod
    def paired(self, batch: Rows, *, keys: int, width: int, epoch: int, seq: int) -> Rows:
        """Return the batch with `reason` and `pair_id` for deletes and inserts that differ only by key.

        Args:
            batch: Numbered rows.
            keys: Number of key columns among the captured columns.
            width: Number of captured columns.
            epoch: The batch's epoch.
            seq: The batch's number.
        """

    # -- results -----------------------------------------------------------------------------------------------------
    @abstractmethod
    def groups(self, changes: Rows) -> dict[tuple[str, int], int]:
        """Return by (op, range_id) the number of changes."""

    @abstractmethod
    def growth(self, changes: Rows) -> dict[int, tuple[int, int]]:
        """Return by range_id (rows, sum of digests) by which a range grew."""

    @abstractmethod
    def range_ids(self, changes: Rows) -> set[int]:
        """Return the ranges that have changes."""

    @abstractmethod
    def differing_ranges(self, replica: Rows, fingerprints: Rows) -> set[int]:
        """Return the ranges of rows that differ between `replica` and `fingerprints`; only digests are compared.

        Both have ``range_id, key_id, digest``. A key that has another range in `fingerprints` is no difference.
        """

    @abstractmethod
    def listed(self, changes: Rows, key: int, most: int) -> list[tuple[str, str]]:
        """Return (op, texts of the first `key` columns) of at most `most` changes."""
