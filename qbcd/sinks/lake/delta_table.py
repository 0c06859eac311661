"""Tables of Delta: the commits of batches.

The record of the last batch is the version of the application transaction ``qbcd:<project>:<stream>:<sink>``. Three
more have epoch, boundary and 63 bits of the fingerprint's hash, since a transaction holds one number. Delta keeps them
with the table, and refuses a commit if another one has changed them since the version that was read.
"""

from __future__ import annotations

import hashlib
import itertools
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from qbcd.sinks.lake.tables import LakeChange, LakeTable, LostRace, owner_text
from qbcd.sinks.table.layout import STAGE_ONLY_REMOVE, STAGE_OP
from qbcd.sinks.table.options import SOFT_DELETED
from qbcd.sinks.table.record import TableOwner, TableRecord
from qbcd.sql.render import quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import CommitProperties, DeltaTable
    from deltalake.table import TableMerger

OWNER = "qbcd.owner"
REWRITTEN = 100_000  # least events of a batch for which a history may be written again
_EXPIRES = "delta.setTransactionRetentionDuration"


class DeltaTableOfSink(LakeTable):
    """One version of a Delta table."""

    def __init__(self, table: DeltaTable) -> None:
        import pyarrow as pa

        self._table, metadata = table, table.metadata()
        self.schema = pa.schema(table.schema())
        self.partitions = tuple(metadata.partition_columns)
        self.owner = metadata.configuration.get(OWNER) or ""

    @override
    def has_rows(self) -> bool:
        return bool(self._table.file_uris())

    @override
    def unfit(self) -> str:
        if _EXPIRES in self._table.metadata().configuration:
            return f"forgets the sink's record: it has the property {_EXPIRES}"
        return ""

    @override
    def record(self, owner: TableOwner, fingerprint: str) -> TableRecord | None:
        name = owner_text(owner)
        seq, epoch, boundary, hashed = (self._table.transaction_version(one) for one in _names(name))
        if seq is None:
            return None
        same = hashed == _hashed(fingerprint)
        return TableRecord(epoch or 0, seq, fingerprint if same else f"#{hashed}", boundary or 0)

    @override
    def adopt(self, owner: TableOwner) -> None:
        self._table.alter.set_table_properties({OWNER: owner_text(owner)}, raise_if_not_exists=False)

    @override
    def append(self, change: LakeChange) -> None:
        self._write(change, _stream(change.columns, change.rows()), "append")

    @override
    def merge(self, change: LakeChange) -> None:
        from qbcd.sinks.lake.rows import without_removed

        if change.replace and change.options.deletes == "hard" and not change.others:
            self._write(change, _stream(change.staged.remove(0), without_removed(change.rows())), "overwrite")
        else:
            self._commit(change, self._merge(change, _stream(change.staged, change.rows())))

    @override
    def end_and_begin(self, change: LakeChange) -> None:
        from qbcd.sinks.lake.rows import padded
        from qbcd.sinks.lake.versions import CLOSED, new_versions

        names, schema = change.options.history, change.columns
        with new_versions(change, self._rows(f" WHERE {quoted(names.valid_to)} IS NULL"), self.schema) as found:
            if self._is_large(change):
                again = itertools.chain(found.unchanged(self._rows()), found.closed(), found.opened())
                self._write(change, _stream(change.schema, padded(again, change.schema)), "overwrite")
                return
            needed = (*change.layout.key, names.valid_to, names.is_deleted)
            closed = _marked(found.closed(needed), CLOSED, schema)
            rows = _stream(_with_op(schema), itertools.chain(closed, _marked(found.opened(), "c", schema)))
            is_current = f"t.{_quoted(names.valid_to)} IS NULL AND s.{_quoted(STAGE_OP)} = '{CLOSED}'"
            merge = self._merging(change, rows, is_current)
            merge = merge.when_matched_update(
                {_quoted(n): f"s.{_quoted(n)}" for n in (names.valid_to, names.is_deleted)}
            )
            values = {_quoted(name): f"s.{_quoted(name)}" for name in schema.names}
            self._commit(change, merge.when_not_matched_insert(values, f"s.{_quoted(STAGE_OP)} <> '{CLOSED}'"))

    def _is_large(self, change: LakeChange) -> bool:
        """Return True if the table is better written again: a merge has all its rows in memory.

        Not a table with a change data feed, whose readers would find all rows in it.
        """
        feed = self._table.metadata().configuration.get("delta.enableChangeDataFeed") == "true"
        return not feed and change.is_large(REWRITTEN, self._table.count())

    def _rows(self, where: str = "") -> pa.RecordBatchReader:
        import pyarrow as pa
        from deltalake import QueryBuilder

        found: Any = QueryBuilder().register("t", self._table).execute(f"SELECT * FROM t{where}")
        return pa.RecordBatchReader.from_stream(found)

    def compact(self, every: timedelta, vacuum: timedelta | None) -> bool:
        """Compact small files if the last time is long ago; return True if it was.

        Then remove files that no longer belong to the table, if they are older than `vacuum`.
        """
        done = [one["timestamp"] for one in self._table.history() if one["operation"] in ("OPTIMIZE", "CREATE TABLE")]
        if done and time.time() - done[0] / 1000 < every.total_seconds():
            return False
        self._table.optimize.compact()
        if vacuum is not None:
            hours = int(vacuum.total_seconds() // 3600)
            self._table.vacuum(hours, dry_run=False, enforce_retention_duration=False)
        return True

    def _merge(self, change: LakeChange, rows: pa.RecordBatchReader) -> TableMerger:
        flag, soft = _quoted(SOFT_DELETED), change.options.deletes == "soft"
        op = f"s.{_quoted(STAGE_OP)}"
        removes = f"{op} IN ('d', '{STAGE_ONLY_REMOVE}')"
        values = {_quoted(name): f"s.{_quoted(name)}" for name in rows.schema.names[1:]}
        merge = self._merging(change, rows)
        if soft:  # the row of another spelling of a key is not a deleted row
            merge = merge.when_matched_delete(f"{op} = '{STAGE_ONLY_REMOVE}'")
            merge = merge.when_matched_update({flag: f"s.{flag}"}, predicate=f"{op} = 'd'")
        else:
            merge = merge.when_matched_delete(removes)
        merge = merge.when_matched_update(values, predicate=f"NOT ({removes})")
        merge = merge.when_not_matched_insert(values, predicate=f"NOT ({removes})")
        if not change.replace:
            return merge
        if soft:
            return merge.when_not_matched_by_source_update({flag: "true"})
        return merge.when_not_matched_by_source_delete()

    def _merging(self, change: LakeChange, rows: pa.RecordBatchReader, *more: str) -> TableMerger:
        """Return a merge of rows `s` into the table `t`, matched by key and `more` conditions."""
        same = (f"t.{_quoted(name)} = s.{_quoted(name)}" for name in change.layout.key)
        return self._table.merge(
            rows,
            " AND ".join([*same, *more]) or "true",
            source_alias="s",
            target_alias="t",
            merge_schema=True,
            commit_properties=_properties(change),
        )

    def _commit(self, change: LakeChange, merge: TableMerger) -> None:
        import pyarrow as pa

        version = self._table.version()
        with _named():
            merge.execute()
        if self._table.version() == version:  # no row changed, so there is no commit; the record needs one
            self._write(change, pa.RecordBatchReader.from_batches(self.schema, []), "append")

    def _write(self, change: LakeChange, rows: pa.RecordBatchReader, mode: Any) -> None:
        from deltalake import write_deltalake

        with _named():
            write_deltalake(self._table, rows, mode=mode, schema_mode="merge", commit_properties=_properties(change))


def _with_op(schema: pa.Schema) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([pa.field(STAGE_OP, pa.string()), *schema])


def _marked(rows: Iterator[pa.RecordBatch], op: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield rows with an operation before the columns of `schema`."""
    import pyarrow as pa

    from qbcd.sinks.lake.rows import padded

    for piece in padded(rows, schema):
        marks = pa.array([op] * piece.num_rows, pa.string())
        yield pa.RecordBatch.from_arrays([marks, *piece.columns], schema=_with_op(schema))


def _stream(schema: pa.Schema, rows: Iterator[pa.RecordBatch]) -> pa.RecordBatchReader:
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(schema, rows)


def _names(name: str) -> tuple[str, str, str, str]:
    return name, f"{name}:epoch", f"{name}:boundary", f"{name}:fingerprint"


def _hashed(fingerprint: str) -> int:
    return int.from_bytes(hashlib.sha256(fingerprint.encode()).digest()[:8], "big") >> 1


def _properties(change: LakeChange) -> CommitProperties:
    from deltalake import CommitProperties, Transaction

    record = change.record
    values = (record.seq, record.epoch, record.boundary, _hashed(record.fingerprint))
    noted = [Transaction(*pair) for pair in zip(_names(owner_text(change.owner)), values, strict=True)]
    return CommitProperties(change.facts, max_commit_retries=0, app_transactions=noted)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


class _named:  # noqa: N801 -- a context
    """Errors of a lost race in the block are those of the frame."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        from deltalake.exceptions import CommitFailedError

        if isinstance(error, CommitFailedError):
            raise LostRace(str(error)) from error
