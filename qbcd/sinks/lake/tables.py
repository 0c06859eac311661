"""Tables of a lake format, as the frame of the sinks sees them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from qbcd.sinks.table.layout import Layout
from qbcd.sinks.table.options import TableOptions
from qbcd.sinks.table.record import TableOwner, TableRecord

if TYPE_CHECKING:
    import pyarrow as pa


LARGE = 20


@dataclass(frozen=True)
class LakeChange:
    """A batch for one commit.

    Attributes:
        owner: The sink and stream that write the table.
        record: The record after the commit.
        layout: Columns of the table and of the rows.
        schema: Columns of the table after the commit, in its order.
        columns: Those of them that the stream has, with the type in which the rows have them.
        rows: Returns the rows in pieces; it may be called several times. Those of a log have all columns of `schema`;
            those of a mirror have `columns`, and before them the operation; those of a history lack its own columns.
        staged: The columns of `rows`.
        options: Mode, and what belongs to it.
        size: Events of the batch.
        replace: The rows of a mirror, or the current ones of a history, are all that the table has after the commit.
    """

    owner: TableOwner
    record: TableRecord
    layout: Layout
    schema: pa.Schema
    columns: pa.Schema
    rows: Callable[[], Iterator[pa.RecordBatch]]
    staged: pa.Schema
    options: TableOptions
    size: int
    replace: bool = False

    def is_large(self, least: int, rows: int) -> bool:
        """Return True if it has at least `least` events, and a twentieth of the rows of the table."""
        return self.size >= least and self.size * LARGE >= rows

    @property
    def others(self) -> list[str]:
        """Columns of the table that the stream does not have.

        Those of other programs, and those dropped in the source.
        """
        return [name for name in self.schema.names if name not in self.columns.names]

    @property
    def facts(self) -> dict[str, str]:
        """Facts of the batch, for the readers of the table's history."""
        record = self.record
        batch = {"epoch": str(record.epoch), "batch_seq": str(record.seq), "fingerprint": record.fingerprint}
        return {f"qbcd.{name}": value for name, value in {"stream": self.owner.stream, **batch}.items()}


class LakeTable(ABC):
    """One version of a table. Commits are based on it, and fail if there is a later one.

    Attributes:
        schema: Its columns.
        partitions: Texts of its partition fields; a column's name if it is parted by the column's values.
        owner: The text of :func:`owner_text` of its writer; empty if qbcd has not claimed it.
    """

    schema: pa.Schema
    partitions: tuple[str, ...]
    owner: str

    @abstractmethod
    def has_rows(self) -> bool:
        """Return True if it has, or may have, rows."""

    @abstractmethod
    def record(self, owner: TableOwner, fingerprint: str) -> TableRecord | None:
        """Return the last batch that it has; `fingerprint` is that of the batch to compare it with."""

    @abstractmethod
    def adopt(self, owner: TableOwner) -> None:
        """Note that it is the owner's."""

    @abstractmethod
    def append(self, change: LakeChange) -> None:
        """Add the rows of a log, and the record, in one commit."""

    @abstractmethod
    def merge(self, change: LakeChange) -> None:
        """Apply the rows to a mirror, and set the record, in one commit."""

    @abstractmethod
    def end_and_begin(self, change: LakeChange) -> None:
        """End versions of a history, begin others, and set the record, in one commit."""

    def unfit(self) -> str:
        """Return why the table cannot be that of a sink, after "the table"; usually empty."""
        return ""


class LakeFormat(ABC):
    """A lake format, and the place of its tables.

    Attributes:
        product: Its name, for messages.
        remedy: The way to a place that can be reached.
        identity: A text that is equal for equal places.
        widens: The types that a column can get, by its own.
        empty_is_null: Readers find NULL for an empty text in a column that parts the table.
    """

    product: ClassVar[str]
    remedy: ClassVar[str]
    widens: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    empty_is_null: ClassVar[bool] = False
    identity: str

    @abstractmethod
    def find(self, name: str) -> LakeTable | None:
        """Return the newest version of a table; None if there is no such table."""

    @abstractmethod
    def create(self, name: str, schema: pa.Schema, partition_by: tuple[str, ...], owner: TableOwner) -> LakeTable:
        """Create an empty table that is the owner's."""

    @abstractmethod
    def check(self, sink: str) -> None:
        """Prove that tables can be written at the place.

        Args:
            sink: Name of the sink, for messages.
        """

    def explained(self, error: Exception) -> str:
        """Return an error of the library in one line."""
        return (str(error).strip() or type(error).__name__).splitlines()[0]

    def unfit_name(self, name: str) -> str:
        """Return why a column cannot have a name, after "its name"; usually empty."""
        return ""


class LostRace(Exception):
    """Another process has committed to the table meanwhile."""


def owner_text(owner: TableOwner) -> str:
    """Return the text by which a table names its writer."""
    return f"qbcd:{owner.project}:{owner.stream}:{owner.sink}"
