"""The frame of sinks in a lake format.

    batch -> Arrow events -> flat rows -> ONE commit: rows, record of the batch, new columns

The record is read from the version of the table on which the commit is based. A commit that is based on an older
version than the newest fails. So a batch is in the table once, whoever writes, and whenever a process is killed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from qbcd.common import hooks
from qbcd.errors import DeliveryError, DeliveryGap, QbcdError
from qbcd.model import BatchHeader, PlannedBatch, ResentRows
from qbcd.model.value_limits import ValueLimits
from qbcd.sinks.base import Sink, SinkBatch, SinkPlace
from qbcd.sinks.lake.tables import LakeChange, LakeFormat, LakeTable, LostRace, owner_text
from qbcd.sinks.table.layout import Layout, layout_of
from qbcd.sinks.table.options import TableOptions
from qbcd.sinks.table.record import TableOwner, TableRecord, next_boundary, verdict

if TYPE_CHECKING:
    import pyarrow as pa

    from qbcd.sinks.lake.rows import LakeColumns

OTHER_TABLE = "name another table with `table` of the sink"


class LakeSink(Sink):
    """Applies batches to a table per stream, each in one commit.

    Args:
        partition_by: Columns by whose values a new table is parted.
        options: Options of :class:`TableOptions`.
    """

    typed = has_policy = True
    takes_resends = True
    concurrent = True  # each stream has a table of its own
    maintained = True

    def __init__(self, name: str, partition_by: Sequence[str] = (), **options: Any) -> None:
        super().__init__(name)
        self.partition_by, self.options = tuple(partition_by), TableOptions(**options)
        self.limits = ValueLimits(old=self.options.mode == "log", policy=self.options.unsupported)
        self.shows_all_rows = self.options.mode != "log"
        self.starts_from = "replica" if self.shows_all_rows else "next"
        self._written: dict[str, str] = {}  # names of tables by stream, of batches since the last maintenance

    @cached_property
    def format(self) -> LakeFormat:
        """The format; its library is imported when it is used."""
        return self.made_format()

    @abstractmethod
    def made_format(self) -> LakeFormat:
        """Return the format, at the place of the tables."""

    def tidy(self, table: LakeTable) -> bool:
        """Do what is due in a table that got batches; return True if anything was."""
        return False

    @override
    def maintain(self, stream: str, delivered: tuple[int, int]) -> bool:
        name = self._written.get(stream)
        if name is None:
            return False
        table = self._attempt(self.format.find, name)
        done = table is not None and bool(self._attempt(self.tidy, table))
        del self._written[stream]
        return done

    @override
    def check(self) -> None:
        self._attempt(self.format.check, self.name)

    @override
    def place(self, planned: PlannedBatch) -> SinkPlace:
        name = self.options.table_of(planned)
        remedy = "write another `table` of the sink, such as '{stream}'"
        return SinkPlace(f"{self.format.identity}/{name}", f"table {name} of sink {self.name}", remedy)

    @override
    def problems(self, planned: PlannedBatch) -> list[DeliveryError]:
        header = self._as_written(planned)
        try:
            layout = layout_of(self.options, header)
        except DeliveryError as error:
            return [self._problem(error.what, error.remedy, planned)]
        self.check()
        table = self._find(header)
        found = list(self._problems(header, layout, table))
        if table is not None and not found:
            try:
                self._owned(table, header)
            except DeliveryError as error:
                found.append(error)
        return found

    @override
    def claim(self, planned: PlannedBatch) -> None:
        header = self._as_written(planned)
        table = self._owned(self._find(header), header)
        if table is None:
            self._create(header, layout_of(self.options, header))
        elif not table.owner:
            self._attempt(table.adopt, self._owner(header))

    @override
    def write(self, batch: SinkBatch) -> None:
        policy, is_new_log = self.limits.policy, batch.is_first and self.options.mode == "log"
        batch = batch if policy == "refuse" and self.limits.old else batch.fitted(policy, old=self.limits.old)
        header = batch.header
        layout, table = layout_of(self.options, header), self._owned(self._find(header), header)
        if table is not None and not table.owner:
            self._attempt(table.adopt, self._owner(header))
            table = self._find(header)
        if table is None:
            if not is_new_log:
                self._refuse_lost(header)
            table = self._create(header, layout)
        found = table.record(self._owner(header), header.fingerprint)
        judged = verdict(found, header, self.name, of_rows=self.shows_all_rows)
        if judged == "done":
            return
        for problem in self._problems(header, layout, table):
            raise problem
        failed: list[Exception] = []
        change = self._change(batch, layout, table, found, failed)
        hooks.reach("mid_publish")
        try:
            commit = {"log": table.append, "mirror": table.merge, "scd2": table.end_and_begin}[self.options.mode]
            self._attempt(commit, replace(change, replace=judged == "replace"))
        except Exception as error:
            raise failed[0] if failed else error from error
        self._written[header.stream] = self.options.table_of(header)

    def _change(
        self, batch: SinkBatch, layout: Layout, table: LakeTable, found: TableRecord | None, failed: list[Exception]
    ) -> LakeChange:
        """Return the batch for a commit; errors of its rows are noted in `failed`."""
        from qbcd.sinks.lake.rows import refuse_empty, row_schema, rows_of

        header, columns = batch.header, self._columns(batch.header, layout)
        within = columns.within(table.schema)
        parted = [name for name in within.names if name in table.partitions and within.field(name).type == "string"]

        def rows() -> Iterator[pa.RecordBatch]:
            found = rows_of(batch, layout, self.options, within)
            try:
                yield from refuse_empty(found, parted, header) if self.format.empty_is_null else found
            except Exception as error:
                failed.append(error)
                raise

        record = TableRecord(header.epoch, header.seq, header.fingerprint, next_boundary(found, header))
        return LakeChange(
            self._owner(header),
            record,
            layout,
            columns.after(table.schema, self.format.widens),
            within,
            rows,
            row_schema(layout, within, self.options),
            self.options,
            header.size,
        )

    def _refuse_lost(self, header: BatchHeader) -> None:
        """Refuse a table that is missing, if it had the batches before."""
        if header.seq > 1 and set(header.counts) != {"r"} and not isinstance(header, ResentRows):
            name = self.options.table_of(header)
            raise DeliveryGap(
                f"sink {self.name}: table {name} does not exist, and batch {header.number} is not the first",
                remedy=f"put the table back; or qbcd resend {header.stream} {self.name} creates it from the replica",
                stream=header.stream,
            )

    def _create(self, header: BatchHeader, layout: Layout) -> LakeTable:
        for problem in self._problems(header, layout, None):
            raise problem
        schema, name = self._columns(header, layout).schema, self.options.table_of(header)
        made: LakeTable = self._attempt(self.format.create, name, schema, self.partition_by, self._owner(header))
        return made

    def _find(self, header: BatchHeader) -> LakeTable | None:
        found: LakeTable | None = self._attempt(self.format.find, self.options.table_of(header))
        return found

    def _owned(self, table: LakeTable | None, header: BatchHeader) -> LakeTable | None:
        """Return the table if the stream may have it."""
        if table is None:
            return None
        name, mine = self.options.table_of(header), owner_text(self._owner(header))
        if table.owner and table.owner != mine:
            other = table.owner.partition(":")[2].rpartition(":")
            remedy = "write another `table` of the sink, such as '{stream}'"
            raise self._problem(f"table {name} belongs to {other[0]}, sink {other[2]}", remedy, header)
        if not table.owner and table.has_rows():
            what = f"table {name} has rows that this sink did not write"
            raise self._problem(what, f"empty it, or {OTHER_TABLE}", header)
        return table

    def _problems(self, header: BatchHeader, layout: Layout, table: LakeTable | None) -> Iterator[DeliveryError]:
        columns, name = self._columns(header, layout), self.options.table_of(header)
        for what, remedy in columns.problems(self.format, self.partition_by):
            yield self._problem(what, remedy, header)
        if table is None:
            return
        if what := table.unfit():
            yield self._problem(f"table {name} {what}", OTHER_TABLE, header)
        if self.partition_by and self.partition_by != table.partitions:
            has = ", ".join(table.partitions) or "none"
            what = f"table {name} has partitions {has}, not {', '.join(self.partition_by)}"
            yield self._problem(what, f"correct `partition_by`, or {OTHER_TABLE}", header)
        for what in columns.unfit(table.schema, self.format.widens):
            yield self._problem(f"table {name}: {what}", f"change the column, or {OTHER_TABLE}", header)

    def _columns(self, header: BatchHeader, layout: Layout) -> LakeColumns:
        from qbcd.sinks.lake.rows import LakeColumns

        return LakeColumns(layout, header)

    def _as_written(self, header: PlannedBatch) -> BatchHeader:
        """Return the header with the types that the policy gives."""
        if self.limits.policy != "text":
            return header
        return SinkBatch(header, _no_rows).fitted("text").header

    def _owner(self, header: BatchHeader) -> TableOwner:
        return TableOwner(self.project_id, header.stream, self.name)

    def _problem(self, what: str, remedy: str, header: BatchHeader) -> DeliveryError:
        return DeliveryError(f"sink {self.name}: {what}", remedy=remedy, stream=header.stream)

    def _attempt(self, call: Any, *args: Any) -> Any:
        """Call a function of the format; its errors become qbcd's."""
        try:
            return call(*args)
        except LostRace as error:
            raise DeliveryError(
                f"sink {self.name}: another process has committed to the table meanwhile ({self.masked(str(error))})",
                remedy="the batch stays pending, and the next poll looks again",
            ) from error
        except ImportError as error:
            raise DeliveryError(
                f"sink {self.name} needs a library that is not installed ({error.name})",
                remedy=f"pip install 'qbcd[{self.format_name}]'",
            ) from error
        except QbcdError:
            raise
        except Exception as error:
            said = self.masked(self.format.explained(error))
            raise DeliveryError(f"sink {self.name}: {said}", remedy=self.format.remedy) from error

    @property
    def format_name(self) -> str:
        """The `type` of the sink, which is the name of its extra too."""
        return type(self).__name__.removesuffix("Sink").lower()


def _no_rows() -> Any:
    raise AssertionError("a planned batch has no rows")
