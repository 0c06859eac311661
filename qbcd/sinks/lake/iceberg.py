"""Sink `iceberg`: an Iceberg table per stream, by `pyiceberg` and any of its catalogs.

One transaction deletes, appends and sets the properties ``qbcd.epoch``, ``qbcd.batch_seq``, ``qbcd.fingerprint`` and
``qbcd.boundary``: the record of the last batch. The library would repeat a commit that has lost a race, and append the
rows twice, so that the property ``commit.retry.num-retries`` must be 0. Each commit has a snapshot, and the catalog
accepts it only if the one before is still the newest.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import override

from qbcd.sinks.lake.lake_options import IcebergOptions
from qbcd.sinks.lake.lake_sink import LakeSink
from qbcd.sinks.lake.tables import LakeChange, LakeFormat, LakeTable, LostRace, owner_text
from qbcd.sinks.table.record import TableOwner, TableRecord

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.catalog import Catalog
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.table import Table, Transaction

OWNER = "qbcd.owner"
RETRIES = {"commit.retry.num-retries": "0"}
TIDY = {  # of new tables: commits of small batches otherwise take longer and longer
    "commit.manifest-merge.enabled": "true",
    "commit.manifest.min-count-to-merge": "20",
    "write.metadata.delete-after-commit.enabled": "true",
}
KEYS_OF_A_PIECE = 5_000  # of one column; an expression of a million keys takes minutes
LARGE = 20  # a batch with more than a twentieth of the rows is large
PAIRS_OF_A_PIECE = 500  # of keys with several columns, which are nested expressions


class IcebergSink(LakeSink):
    """Applies batches to Iceberg tables.

    Args:
        catalog: Properties of a catalog of `pyiceberg`.
        namespace: Namespace of the tables, which is created.
        expire: Age of snapshots that are removed.
        options: Options of :class:`LakeSink`.
    """

    options_class = IcebergOptions

    def __init__(
        self,
        name: str,
        catalog: Mapping[str, str],
        namespace: str = "qbcd",
        *,
        expire: timedelta | None = None,
        **options: Any,
    ) -> None:
        super().__init__(name, **options)
        self._catalog, self._namespace, self.expire = dict(catalog), namespace, expire

    @override
    def tidy(self, table: LakeTable) -> bool:
        return isinstance(table, IcebergTableOfSink) and self.expire is not None and table.expire(self.expire)

    @override
    def made_format(self) -> LakeFormat:
        return IcebergFormat(self._catalog, self._namespace)


class IcebergFormat(LakeFormat):
    """Iceberg tables in a namespace of a catalog."""

    product = "Iceberg"
    remedy = "correct `catalog`, or make the catalog and its files reachable"
    widens: ClassVar[Mapping[str, tuple[str, ...]]] = {"int32": ("int64",), "float": ("double",)}

    def __init__(self, catalog: dict[str, str], namespace: str) -> None:
        self._properties, self._namespace = catalog, namespace
        place = [catalog.get(name, "") for name in ("name", "type", "uri", "warehouse")]
        self.identity = "/".join([*place, namespace])

    @cached_property
    def _catalog(self) -> Catalog:
        from pyiceberg.catalog import load_catalog

        properties = {name: value for name, value in self._properties.items() if name != "name"}
        return load_catalog(self._properties.get("name", "default"), **properties)

    @override
    def find(self, name: str) -> LakeTable | None:
        from pyiceberg.exceptions import NoSuchTableError

        try:
            return IcebergTableOfSink(self._catalog.load_table((self._namespace, name)))
        except NoSuchTableError:
            return None

    @override
    def create(self, name: str, schema: pa.Schema, partition_by: tuple[str, ...], owner: TableOwner) -> LakeTable:
        self._catalog.create_namespace_if_not_exists(self._namespace)
        properties = {**RETRIES, **TIDY, OWNER: owner_text(owner)}
        with self._catalog.create_table_transaction((self._namespace, name), schema, properties=properties) as made:
            if partition_by:
                with made.update_spec() as spec:
                    for column in partition_by:
                        spec.add_identity(column)
        return IcebergTableOfSink(self._catalog.load_table((self._namespace, name)))

    @override
    def check(self) -> None:
        self._catalog.list_namespaces()


class IcebergTableOfSink(LakeTable):
    """One version of an Iceberg table."""

    def __init__(self, table: Table) -> None:
        self._table, named = table, table.schema().find_column_name
        self.schema = _plain(table.schema().as_arrow())
        self.partitions = tuple(
            named(one.source_id) or "" if str(one.transform) == "identity" else one.name for one in table.spec().fields
        )
        self.owner = table.properties.get(OWNER, "")

    @override
    def has_rows(self) -> bool:
        return bool(self._table.current_snapshot()) and next(iter(self._table.scan().plan_files()), None) is not None

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
        from qbcd.sinks.lake.rows import without_removed

        schema = change.staged.remove(0)
        with self._transaction(change) as transaction, ExitStack() as work:
            rows = without_removed(change.rows())
            if self.has_rows() and change.replace:
                self._remove_all(transaction, change)
            elif self.has_rows() and self._is_large(change):
                removed = pa_reader(change.staged, change.rows())
                rows, schema = self._remaining(work, change, removed, rows), change.schema
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
        ended = change.options.history.valid_to
        is_current = every.IsNull(ended)
        current = self._table.scan(is_current).to_arrow_batch_reader()
        with (
            new_versions(change, current, self.schema) as found,
            self._transaction(change) as transaction,
            ExitStack() as work,
        ):
            rows = padded(itertools.chain(found.closed(), found.opened()), change.schema)
            if self.has_rows() and (change.replace or self._is_large(change)):
                closed = pa_reader(self.schema, found.closed())
                rows = self._remaining(work, change, closed, rows, ended)
                self._remove_all(transaction, change)
            elif self.has_rows():
                self._remove(transaction, change, found.closed(), is_current)
            self._add(transaction, change, rows, change.schema)

    def _is_large(self, change: LakeChange) -> bool:
        """Return True if the table is better written again than searched for keys.

        Each piece of keys reads the files that may have some, and rewrites those that do.
        """
        size = KEYS_OF_A_PIECE if len(change.layout.key) == 1 else PAIRS_OF_A_PIECE
        snapshot = self._table.current_snapshot()
        total = int((snapshot and snapshot.summary and snapshot.summary["total-records"]) or 0)
        return bool(change.layout.key) and change.size > 2 * size and change.size * LARGE >= total

    def _remaining(
        self,
        work: ExitStack,
        change: LakeChange,
        removed: pa.RecordBatchReader,
        new: Iterator[pa.RecordBatch],
        only: str = "",
    ) -> Iterator[pa.RecordBatch]:
        """Return the rows without those of some keys, then new ones, as after the commit."""
        from qbcd.sinks.lake.rows import padded
        from qbcd.sinks.lake.versions import without_keys

        found = self._table.scan().to_arrow_batch_reader()
        kept = work.enter_context(without_keys(found, removed, change.layout.key, only))
        return padded(itertools.chain(kept, new), change.schema)

    def _remove_all(self, transaction: Transaction, change: LakeChange) -> None:
        from pyiceberg.expressions import AlwaysTrue

        transaction.delete(AlwaysTrue(), snapshot_properties=change.facts)

    def _remove(
        self, transaction: Transaction, change: LakeChange, rows: Iterator[pa.RecordBatch], also: Any = None
    ) -> None:
        """Delete the rows with some keys, in pieces."""
        from pyiceberg import expressions as of

        every: Any = of
        for condition in _conditions(rows, change.layout.key):
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
            with warnings.catch_warnings(), _transaction_of(self._table) as transaction:
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
        """Append rows. Without any there is a snapshot too, by which the catalog finds a lost race."""
        import pyarrow as pa

        from qbcd.sinks.stored.parquet_files import row_groups

        reader = pa.RecordBatchReader.from_batches(schema, rows)
        pieces = row_groups(reader) if self.partitions else [reader]  # the library does not part a stream
        added = False
        for piece in pieces:
            transaction.append(piece, snapshot_properties=change.facts)
            added = True
        if not added:
            transaction.append(schema.empty_table(), snapshot_properties=change.facts)


def pa_reader(schema: pa.Schema, rows: Iterator[pa.RecordBatch]) -> pa.RecordBatchReader:
    """Return rows as a reader."""
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(schema, rows)


def _transaction_of(table: Table) -> Transaction:
    """Return a transaction that computes its metadata once for each of its steps.

    The library computes and copies them about fifty times in a commit, in time that grows with the snapshots.
    """
    from pyiceberg.table import Transaction

    class Computed(Transaction):
        _known: tuple[int, Any] | None = None

        @property
        @override
        def table_metadata(self) -> Any:
            if self._known is None or self._known[0] != len(self._updates):
                self._known = len(self._updates), super().table_metadata
            return self._known[1]

    return Computed(table)


def _conditions(rows: Iterator[pa.RecordBatch], key: Sequence[str]) -> Iterator[BooleanExpression]:
    """Yield conditions that find the rows with the keys, each for a limited number of them."""
    from pyiceberg.expressions import AlwaysTrue

    if not key:
        if any(piece.num_rows for piece in rows):
            yield AlwaysTrue()
        return
    keys = (key_of for piece in rows for key_of in zip(*(piece.column(name).to_pylist() for name in key), strict=True))
    size = KEYS_OF_A_PIECE if len(key) == 1 else PAIRS_OF_A_PIECE
    while piece := list(itertools.islice(keys, size)):
        yield _any_of(piece, key)


def _any_of(keys: Sequence[tuple[Any, ...]], names: Sequence[str]) -> BooleanExpression:
    """Return the condition that a row has one of some keys.

    Those with equal values in all columns but the last one are one list.
    """
    from pyiceberg import expressions as of

    # the library's types for these classes are those of their JSON
    every: Any = of

    grouped: dict[tuple[Any, ...], list[Any]] = {}
    for one in keys:
        grouped.setdefault(one[:-1], []).append(one[-1])
    found = []
    for first, last in grouped.items():
        equal = [every.EqualTo(name, value) for name, value in zip(names, first, strict=False)]
        found.append(every.And(every.AlwaysTrue(), every.In(names[-1], last), *equal))
    condition: BooleanExpression = every.Or(every.AlwaysFalse(), *found) if found[1:] else found[0]
    return condition


def _plain(schema: pa.Schema) -> pa.Schema:
    """Return a schema without the format's notes and types for long values."""
    import pyarrow as pa

    return pa.schema([pa.field(one.name, _plain_type(one.type), one.nullable) for one in schema])


def _plain_type(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(pa.field("element", _plain_type(kind.value_type)))
    return {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}.get(kind, kind)
