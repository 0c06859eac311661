"""Tables of Iceberg: the commits of batches.

One transaction deletes, appends and sets the properties ``qbcd.epoch``, ``qbcd.batch_seq``, ``qbcd.fingerprint`` and
``qbcd.boundary``: the record of the last batch. The library would repeat a commit that has lost a race, and append the
rows twice, so that the property ``commit.retry.num-retries`` must be 0. Each commit has a snapshot, and the catalog
accepts it only if the one before is still the newest.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from qbcd.sinks.lake.iceberg_library import conditions, keys_of_a_piece, plain, rows_of, transaction_of
from qbcd.sinks.lake.tables import LakeChange, LakeTable, LostRace, owner_text
from qbcd.sinks.table.record import TableOwner, TableRecord

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.table import Table, Transaction

OWNER = "qbcd.owner"
RETRIES = {"commit.retry.num-retries": "0"}
FILE, FILE_SIZE = 64 << 20, "write.target-file-size-bytes"  # of the rows of a file in memory


class IcebergTableOfSink(LakeTable):
    """One version of an Iceberg table."""

    def __init__(self, table: Table) -> None:
        self._table, named = table, table.schema().find_column_name
        self.schema = plain(table.schema().as_arrow())
        self.partitions = tuple(
            named(one.source_id) or "" if str(one.transform) == "identity" else one.name for one in table.spec().fields
        )
        self.owner = table.properties.get(OWNER, "")

    @override
    def has_rows(self) -> bool:
        if self._counted_rows() > 0:  # a plan reads all manifests
            return True
        return bool(self._table.current_snapshot()) and next(iter(self._table.scan().plan_files()), None) is not None

    def _counted_rows(self) -> int:
        """Return the number of rows by the newest snapshot, deleted ones included; 0 if it has none."""
        snapshot = self._table.current_snapshot()
        return int((snapshot and snapshot.summary and snapshot.summary["total-records"]) or 0)

    @override
    def record(self, owner: TableOwner, fingerprint: str) -> TableRecord | None:
        found = self._table.properties
        if "qbcd.batch_seq" not in found:
            return None
        epoch, seq, boundary = (int(found[f"qbcd.{name}"]) for name in ("epoch", "batch_seq", "boundary"))
        return TableRecord(epoch, seq, found["qbcd.fingerprint"], boundary)

    @override
    def adopt(self, owner: TableOwner) -> None:
        with self._table.transaction() as transaction:
            transaction.set_properties({**RETRIES, OWNER: owner_text(owner)})

    @override
    def unfit(self) -> str:
        found = self._table.properties
        if found.get(OWNER) and any(found.get(name) != value for name, value in RETRIES.items()):
            return "repeats commits that have lost a race: its property commit.retry.num-retries must be 0"
        return ""

    @override
    def append(self, change: LakeChange) -> None:
        with self._transaction(change) as transaction:
            self._add(transaction, change, change.rows(), change.columns)

    @override
    def merge(self, change: LakeChange) -> None:
        from qbcd.sinks.lake.rows import padded, without_removed
        from qbcd.sinks.lake.versions import with_columns_of_others, without_keys

        schema = change.staged.remove(0)
        with self._transaction(change) as transaction, ExitStack() as work:
            rows = without_removed(change.rows())
            if self.has_rows() and change.others:
                known = rows_of(self._table.scan(selected_fields=(*change.layout.key, *change.others)))
                rows = work.enter_context(with_columns_of_others(change, pa_reader(schema, rows), known))
                schema = change.schema
            if self.has_rows() and change.replace:
                self._remove_all(transaction, change)
            elif self.has_rows() and self._is_large(change):
                removed = pa_reader(change.staged, change.rows())
                kept = work.enter_context(without_keys(rows_of(self._table.scan()), removed, change.layout.key))
                rows, schema = padded(itertools.chain(kept, rows), change.schema), change.schema
                self._remove_all(transaction, change)
            elif self.has_rows():
                self._remove(transaction, change, change.rows())
            self._add(transaction, change, rows, schema)

    @override
    def end_and_begin(self, change: LakeChange) -> None:
        from pyiceberg import expressions as of

        from qbcd.sinks.lake.rows import padded
        from qbcd.sinks.lake.versions import new_versions

        every: Any = of
        is_current = every.IsNull(change.options.history.valid_to)
        current = rows_of(self._table.scan(is_current))
        with new_versions(change, current, self.schema) as found, self._transaction(change) as transaction:
            rows = itertools.chain(found.closed(), found.opened())
            if self.has_rows() and (change.replace or self._is_large(change)):
                rows = itertools.chain(found.unchanged(rows_of(self._table.scan())), rows)
                self._remove_all(transaction, change)
            elif self.has_rows():
                self._remove(transaction, change, found.closed(), is_current)
            self._add(transaction, change, padded(rows, change.schema), change.schema)

    def _is_large(self, change: LakeChange) -> bool:
        """Return True if the table is better written again than searched for keys.

        Each piece of keys reads the files that may have some, and rewrites those that do. Conditions of the library do
        not find infinite floats of 32 bits, nor NaN, nor a zero with the other sign.
        """
        import pyarrow as pa

        key = change.layout.key
        if any(pa.types.is_floating(change.columns.field(name).type) for name in key):
            return True
        return bool(key) and change.is_large(2 * keys_of_a_piece(key) + 1, self._counted_rows())

    def _remove_all(self, transaction: Transaction, change: LakeChange) -> None:
        from pyiceberg.expressions import AlwaysTrue

        transaction.delete(AlwaysTrue(), snapshot_properties=change.facts)

    def _remove(
        self, transaction: Transaction, change: LakeChange, rows: Iterator[pa.RecordBatch], also: Any = None
    ) -> None:
        """Delete the rows with some keys, in pieces."""
        from pyiceberg import expressions as of

        every: Any = of
        for condition in conditions(rows, change.layout.key):
            found = condition if also is None else every.And(condition, also)
            transaction.delete(found, snapshot_properties=change.facts)

    def expire(self, age: timedelta) -> bool:
        """Remove snapshots older than `age`; return True if there were any.

        They wait until the oldest is a tenth older. The files that only they need stay.
        """
        from pyiceberg.exceptions import CommitFailedException

        now = time.time() * 1000
        oldest = min((one.timestamp_ms for one in self._table.snapshots()[:-1]), default=now)
        if now - oldest < age.total_seconds() * 1100:
            return False
        try:
            before = datetime.fromtimestamp(now / 1000) - age
            self._table.maintenance.expire_snapshots().older_than(before).commit()
        except CommitFailedException as error:
            raise LostRace(str(error)) from error
        return True

    @contextmanager
    def _transaction(self, change: LakeChange) -> Iterator[Transaction]:
        """A transaction for the block; at its end it is committed with the record."""
        from pyiceberg.exceptions import CommitFailedException

        try:
            with warnings.catch_warnings(), transaction_of(self._table) as transaction:
                warnings.filterwarnings("ignore", message="Delete operation did not match any records")
                if change.schema != self.schema:
                    with transaction.update_schema() as update:
                        update.union_by_name(change.schema)
                yield transaction
                transaction.set_properties({**change.facts, "qbcd.boundary": str(change.record.boundary)})
        except CommitFailedException as error:
            raise LostRace(str(error)) from error

    def _add(
        self, transaction: Transaction, change: LakeChange, rows: Iterator[pa.RecordBatch], schema: pa.Schema
    ) -> None:
        """Append rows, a snapshot for each file.

        The library would have all of a stream in memory.
        Without any rows there is a snapshot too, by which the catalog finds a lost race.
        """
        import pyarrow as pa

        from qbcd.sinks.stored.parquet_files import row_groups

        size, added = int(self._table.properties.get(FILE_SIZE, FILE)), False
        for piece in row_groups(pa.RecordBatchReader.from_batches(schema, rows), size):
            transaction.append(piece, snapshot_properties=change.facts)
            added = True
        if not added:
            transaction.append(schema.empty_table(), snapshot_properties=change.facts)


def pa_reader(schema: pa.Schema, rows: Iterator[pa.RecordBatch]) -> pa.RecordBatchReader:
    """Return rows as a reader."""
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(schema, rows)
