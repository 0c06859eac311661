"""A batch, the table that it goes to, and the names of qbcd's own tables next to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import TableClause

from qbcd.model import BatchHeader, Travel
from qbcd.sinks.table.databases.base import TargetDatabase
from qbcd.sinks.table.fitting import Fit
from qbcd.sinks.table.layout import LONG, TEXT, Layout, TargetColumn
from qbcd.sinks.table.limits import limits_of
from qbcd.sinks.table.options import TableOptions
from qbcd.sinks.table.record import TableOwner, TableRecord, Verdict, last_batch, lost, verdict

RECORD_TABLE = "qbcd_sink"
STAGE_TABLE = "qbcd_stage"
RENAMED_TABLE = "qbcd_renamed"
KEPT_TABLE = "qbcd_kept"
PROBE_TABLE = "qbcd_probe"  # in place of a target that does not exist
OWN_TABLES = (RECORD_TABLE, STAGE_TABLE, RENAMED_TABLE, KEPT_TABLE, PROBE_TABLE)
RECORD_COLUMNS = (
    *(TargetColumn(name, TEXT, in_key=True, required=True) for name in ("project", "stream", "sink")),
    TargetColumn("target", TEXT, required=True),
    TargetColumn("epoch", LONG, required=True),
    TargetColumn("batch_seq", LONG, required=True),
    TargetColumn("fingerprint", TEXT, required=True),
    TargetColumn("boundary", LONG, required=True),
)


@dataclass(frozen=True)
class TargetWrite:
    """A batch and the table that it goes to.

    Attributes:
        owner: Whose record decides which batch is next.
        texts: Numbers that the table has as texts, by the user's policy, with their own form.
        from_empty: The source had no rows before the first batch, as the user of a replay says.
        is_begun: The table has had a batch before, so that its record must exist.
    """

    database: TargetDatabase
    options: TableOptions
    header: BatchHeader
    owner: TableOwner
    texts: Mapping[str, Travel] = field(default_factory=dict)
    from_empty: bool = False
    is_begun: bool = False

    def verdict(self, found: TableRecord | None) -> Verdict:
        """Return the relation of the batch to the table, by the table's record."""
        of_rows = self.options.mode != "log"
        if self.is_begun and last_batch(found) is None:
            raise lost(self.header, self.sink)
        return verdict(found, self.header, self.sink, of_rows=of_rows, from_empty=self.from_empty)

    @property
    def fit(self) -> Fit:
        """The conditions that its events must meet."""
        limits = limits_of(self.database.sql_name, self.options)
        return Fit(limits, self.header, self.sink, self.options.mode == "log", self.texts)

    @property
    def sink(self) -> str:
        """The sink's name."""
        return self.owner.sink

    @property
    def name(self) -> str:
        """Name of the target table."""
        return self.options.table_of(self.header)

    def target(self, layout: Layout) -> TableClause:
        """Return the target table."""
        return self.database.table(self.name, [(one.name, one.travel) for one in layout.columns])


def record_table(database: TargetDatabase) -> TableClause:
    """Return the table with the records of all sinks."""
    return database.table(RECORD_TABLE, [(one.name, one.travel) for one in RECORD_COLUMNS])
