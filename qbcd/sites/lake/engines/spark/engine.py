"""The engine that computes with Spark: any size, on any cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qbcd.connectors.sessions import SupportsSnapshots
from qbcd.errors import QbcdError
from qbcd.local.source import SourceReads
from qbcd.model import Travel
from qbcd.model.wire import Fields
from qbcd.sites.event_schema import casts
from qbcd.sites.lake.engines.base import Engine
from qbcd.sites.lake.engines.spark import diff, frames, layers, observed, parquet
from qbcd.spark import jdbc
from qbcd.spark.provider import SparkProvider
from qbcd.spark.source import source_rows
from qbcd.spark.typed import misfit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SparkEngine(Engine):
    """Rows are DataFrames of the project's session.

    Args:
        provider: Starts the session on first use.
    """

    name = "spark"
    verifies_pages = True
    few_rows = diff.FEW_ROWS

    def __init__(self, provider: SparkProvider) -> None:
        self.provider = provider

    # -- rows in and out ---------------------------------------------------------------------------------------------
    def fetch(self, reads: SourceReads, fields: Fields) -> DataFrame:
        connector, name = reads.source.connector, reads.snapshot
        pins = connector.sessions.pins() if name is None else connector.require(SupportsSnapshots).snapshot_pins(name)
        sql = [s.sql for s in reads.statements]
        spark = self.provider.get()
        return source_rows(spark, reads.source, reads.stream, sql, init=pins, at_once=reads.at_once).selectExpr(
            *casts(fields)
        )

    def read(self, fields: Fields, files: Sequence[Path]) -> DataFrame:
        return parquet.read_parquet(self.provider.get(), fields, files)

    write = staticmethod(parquet.write_parquet)

    def explained(self, work: Callable[[], Any], explain: Callable[[BaseException], QbcdError]) -> Any:
        return jdbc.explained(work, explain)

    def no_rows(self, fields: Fields) -> DataFrame:
        return frames.no_rows(self.provider.get(), fields)

    union = staticmethod(frames.union)

    def for_rows(self, rows: int) -> AbstractContextManager[None]:
        return self.provider.for_rows(rows)

    gathered = staticmethod(diff.gathered)
    for_one_join = staticmethod(frames.for_one_join)
    in_one_task = staticmethod(frames.in_one_task)

    @contextmanager
    def kept(self, rows: DataFrame) -> Iterator[DataFrame]:
        kept = rows.persist()
        try:
            yield kept
        finally:
            kept.unpersist()

    row_checksum = observed.SparkRowChecksum

    def event_counts(self, old_values: Mapping[int, Travel]) -> observed.SparkEventCounts:
        conditions = {i: misfit(travel, f"b_{i}") for i, travel in old_values.items()}
        return observed.SparkEventCounts({i: condition for i, condition in conditions.items() if condition})

    # -- the replica -------------------------------------------------------------------------------------------------
    in_ranges = staticmethod(layers.in_ranges)
    together = staticmethod(layers.together)
    merged = staticmethod(layers.merged)
    renumbered = staticmethod(diff.renumbered)
    last_batches = staticmethod(diff.last_batches)

    # -- a stage, comparisons, changes, results ----------------------------------------------------------------------
    identified = staticmethod(diff.identified)
    sums = staticmethod(diff.sums)
    has_duplicates = staticmethod(diff.has_duplicates)
    untravelled = staticmethod(diff.untravelled)

    def one_row(self, rows: DataFrame, columns: Sequence[str], where: str) -> tuple[Any, ...] | None:
        found = rows.where(where).selectExpr(*dict.fromkeys(columns)).head()
        return None if found is None else tuple(found[name] for name in columns)

    aligned = staticmethod(diff.aligned)
    differences = staticmethod(diff.differences)
    window_differences = staticmethod(diff.window_differences)
    settled_differences = staticmethod(diff.settled_differences)
    settled_keys = staticmethod(diff.settled_keys)
    changed_fingerprints = staticmethod(diff.changed_fingerprints)
    changed_keys = staticmethod(diff.changed_keys)
    changed_pairs = staticmethod(diff.changed_pairs)
    deleted = staticmethod(diff.deleted)
    baseline = staticmethod(diff.baseline)
    without_deletes = staticmethod(diff.without_deletes)
    deletes = staticmethod(diff.deletes)
    with_reason = staticmethod(diff.with_reason)
    of_keys = staticmethod(diff.of_keys)
    without_keys = staticmethod(diff.without_keys)
    with_ranges_of = staticmethod(diff.with_ranges_of)
    paired = staticmethod(diff.paired)
    groups = staticmethod(diff.groups)
    growth = staticmethod(diff.growth)
    range_ids = staticmethod(diff.range_ids)
    differing_ranges = staticmethod(diff.differing_ranges)
    listed = staticmethod(diff.listed)

    @contextmanager
    def numbered(
        self, changes: DataFrame, seq: int, rows: int, sizes: Mapping[tuple[str, int], int] | None = None
    ) -> Iterator[DataFrame]:
        if sizes is not None:
            yield diff.numbered_by_group(changes, sizes, seq)
        elif rows <= diff.ONE_TASK_ROWS:
            yield diff.numbered(changes, seq, few=rows <= diff.FEW_ROWS)
        else:
            with self.kept(changes) as kept:
                found = diff.groups(kept)
                yield diff.numbered_by_group(kept, found, seq) if found else diff.numbered(kept, seq)
