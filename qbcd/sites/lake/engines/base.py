"""Rows of the lake wing, and the engines that run them.

`qbcd.sites.lake.engines.algebra` has the operations on rows. All engines read and write the same files. Columns: stage
and replica have ``range_id, key_id, digest, c0..cn``; changes have ``op, changed, range_id, key_id, digest, b_0..b_n,
a_0..a_n``; a batch adds ``reason, pair_id, ordinal, batch_seq`` (wire form throughout). Keys themselves are never
compared: rows are joined by ``key_id``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias, TypeVar

from qbcd.errors import QbcdError
from qbcd.model import KeyRange, Travel
from qbcd.model.wire import Fields
from qbcd.state import StoredRange

if TYPE_CHECKING:
    import pyarrow as pa

    from qbcd.local.source import SourceReads

Hint = Literal["one task", "collected", "broadcast", "hash"]
Rows: TypeAlias = Any  # a relation of one engine, where it does not matter of which
AnyRows = TypeVar("AnyRows", bound="ComposableRows")


class ComposableRows(Protocol):
    """Rows of one engine, computed when they are needed.

    They are SQL over files, tables and rows of the source.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""

    @property
    def judges_first(self) -> bool:
        """True if a comparison by digest reads only rows of differing keys whole.

        It then finds these keys first.
        """

    def over(
        self: AnyRows,
        template: str,
        columns: Sequence[str],
        inputs: Mapping[str, AnyRows],
        numbers: Mapping[str, int],
        /,
        **context: Any,
    ) -> AnyRows:
        """Return the rows of a template over rows of this engine.

        Args:
            template: Name of a template of canonical SQL; it reads the inputs by their names.
            numbers: Values of the template's ``:name``.
            context: Variables of the template.
        """

    def hinted(self: AnyRows, hint: Hint) -> AnyRows:
        """Return the rows with a hint for the engine's planner.

        ``one task``: one task reads and computes them. ``collected``: all tasks read, one task gets the rows.
        ``broadcast``: each task of a join gets all of them. ``hash``: a join keeps them in memory, without a sort.
        """


class RowChecksum(ABC):
    """Count and sum of digests of rows, computed while they are written."""

    @abstractmethod
    def observe(self, rows: Rows) -> Rows:
        """Return `rows`, to be evaluated once."""

    @abstractmethod
    def read(self) -> tuple[int, int | None]:
        """Return (rows, sum of digests) after the rows were evaluated.

        The sum is None if a digest is missing.
        """

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
        """Return the positions whose old value no typed sink can hold in some event.

        They are known after the batch was written.
        """


def total(parts: Iterable[RowChecksum]) -> tuple[int, int | None]:
    """Return (rows, sum of digests) of all parts together.

    The sum is None if a digest is missing.
    """
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


class Engine(ABC):
    """Reads, runs and writes rows.

    Attributes:
        verifies_pages: It verifies the checksums of Parquet pages that it reads.
        by_executors: Other processes read and write the files, at their place in the workdir.
        few_rows: Up to this number, rows are compared while they come from the source.
    """

    name: ClassVar[Literal["local", "spark"]]
    verifies_pages: ClassVar[bool]
    by_executors: ClassVar[bool]
    few_rows: ClassVar[int]

    @abstractmethod
    def fetch(self, reads: SourceReads, fields: Fields) -> Rows:
        """Return the rows of statements on the source, with these fields, to be evaluated once."""

    @abstractmethod
    def read(self, fields: Fields, files: Sequence[Path | str]) -> Rows:
        """Return the rows of files, paths or URLs, with these fields."""

    @abstractmethod
    def write(self, rows: Rows, fields: Fields, folder: Path | str, *, temporary: bool) -> int | None:
        """Evaluate `rows` once, cast them to `fields` and write them into a new folder.

        Return their number if other hosts may write, so that a file which is not seen is noticed.

        Args:
            fields: Name and type of each column.
            folder: The folder to create.
            temporary: This process reads the files once.
        """

    @abstractmethod
    def run(self, rows: Rows) -> list[tuple[Any, ...]]:
        """Return the values of rows whose result is small."""

    @abstractmethod
    def texts(self, rows: Rows) -> list[list[str]]:
        """Return the texts of the values of a few rows, as Spark's casts write them.

        NULL is ``None``.
        """

    @abstractmethod
    def kept(self, rows: Rows) -> AbstractContextManager[Rows]:
        """Keep rows for the block, so that they are computed once."""

    @abstractmethod
    def row_checksum(self, *, wide: bool = False) -> RowChecksum:
        """Return a new count and checksum of rows; `wide` if their digests are."""

    @abstractmethod
    def event_counts(self, old_values: Mapping[int, Travel]) -> EventCounts:
        """Return new counts of events.

        `old_values` are the columns whose old values must fit a typed sink.
        """

    @abstractmethod
    def table(self, rows: pa.Table) -> Rows:
        """Return rows that are in memory: a few texts and whole numbers."""

    @abstractmethod
    def in_ranges(self, rows: Rows, ids: Sequence[int]) -> Rows:
        """Return the rows of some ranges; files are read only between the least and the greatest id."""

    @abstractmethod
    def leaves(self, asked: Sequence[KeyRange]) -> Rows:
        """Return the requested leaves as rows (range_id, tail, alone, lost).

        `tail` is the last byte of the key identities in the leaf; an identity without bytes is in leaf 0 and has no
        tail. `alone` is the identity of the only requested key in the leaf, `lost` the digest of the only row; both are
        NULL if all rows of the leaf are requested.
        """

    @abstractmethod
    def numbered(
        self, changes: Rows, seq: int, rows: int, sizes: Mapping[tuple[str, int], int] | None = None
    ) -> AbstractContextManager[Rows]:
        """Give the changes as batch rows, numbered from 0: deletes, then updates, then inserts.

        Args:
            changes: The changes; evaluated once within the block.
            rows: Approximate number of compared rows.
            sizes: The `groups` of these changes, if they are known.
        """

    @abstractmethod
    def explained(self, work: Callable[[], Any], explain: Callable[[BaseException], QbcdError]) -> Any:
        """Return the result of `work`; turn an error of the source in it into qbcd's own."""
