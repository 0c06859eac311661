"""The engine that computes with Spark: any size, on any cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from typing_extensions import override

from qbcd.connectors.sessions import SupportsSnapshots
from qbcd.errors import QbcdError
from qbcd.event_sql.spark import SPARK
from qbcd.local.source import SourceReads
from qbcd.model import KeyRange, Travel
from qbcd.model.wire import Fields
from qbcd.ranges import leaves
from qbcd.ranges.recent_keys import leaf_of
from qbcd.sites.event_schema import casts
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.base import Engine
from qbcd.sites.lake.engines.spark import observed, parquet
from qbcd.sites.lake.engines.spark.rows import SparkRows
from qbcd.sites.lake.replica.schema import IDENTITY
from qbcd.spark import jdbc
from qbcd.spark.provider import SparkProvider
from qbcd.spark.session import is_alive
from qbcd.spark.source import source_rows
from qbcd.sql.spark_literals import text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NO_RANGE = -1
_RANK = {"d": 0, "u": 1, "c": 2, "r": 3}


class SparkEngine(Engine):
    """Rows are queries of the project's session.

    Args:
        provider: Starts the session on first use.
    """

    name = "spark"
    verifies_pages = True
    by_executors = True
    few_rows = algebra.FEW_ROWS

    def __init__(self, provider: SparkProvider) -> None:
        self.provider = provider
        self._views: dict[str, DataFrame] = {}

    def frame(self, rows: SparkRows) -> DataFrame:
        """Return rows as a data frame."""
        if rows.frame is not None:
            return rows.frame
        for name, frame in rows.frames.items():
            if name not in self._views:
                frame.createOrReplaceTempView(name)
                self._views[name] = frame
        return next(iter(rows.frames.values())).sparkSession.sql(rows.sql)

    def close(self) -> None:
        """Drop the views of frames, unless Java has ended.

        Frames that were made of them stay usable. Spark then also drops kept rows of the same plan, so blocks of `kept`
        must have ended.
        """
        views, self._views = self._views, {}
        for name, frame in views.items():
            if is_alive(frame.sparkSession):
                frame.sparkSession.catalog.dropTempView(name)

    # -- rows in and out ---------------------------------------------------------------------------------------------
    @override
    def fetch(self, reads: SourceReads, fields: Fields) -> SparkRows:
        connector, name = reads.source.connector, reads.snapshot
        pins = connector.sessions.pins() if name is None else connector.require(SupportsSnapshots).snapshot_pins(name)
        sql = [s.sql for s in reads.statements]
        found = source_rows(self.provider.get(), reads.source, reads.stream, sql, init=pins, at_once=reads.at_once)
        return SparkRows.of(found.selectExpr(*casts(fields)))

    @override
    def read(self, fields: Fields, files: Sequence[Path | str]) -> SparkRows:
        return SparkRows.of(parquet.read_parquet(self.provider.get(), fields, files))

    @override
    def write(self, rows: SparkRows, fields: Fields, folder: Path | str, *, temporary: bool) -> int | None:
        counted = isinstance(folder, str) or self.provider.on_cluster
        return parquet.write_parquet(self.frame(rows), fields, folder, temporary=temporary, counted=counted)

    @override
    def run(self, rows: SparkRows) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.frame(rows).collect()]

    @override
    def texts(self, rows: SparkRows) -> list[list[str]]:
        found = self.frame(rows.spelled(", ".join(f"CAST({name} AS STRING) AS {name}" for name in rows.columns)))
        return [list(map(str, row)) for row in found.collect()]

    @contextmanager
    @override
    def kept(self, rows: SparkRows) -> Iterator[SparkRows]:
        kept = self.frame(rows).persist()
        try:
            yield SparkRows.of(kept)
        finally:
            kept.unpersist()

    @override
    def row_checksum(self, *, wide: bool = False) -> observed.SparkRowChecksum:
        return observed.SparkRowChecksum(self.frame, wide=wide)

    @override
    def event_counts(self, old_values: Mapping[int, Travel]) -> observed.SparkEventCounts:
        conditions = {i: SPARK.misfit(travel, f"b_{i}") for i, travel in old_values.items()}
        return observed.SparkEventCounts(self.frame, {i: c for i, c in conditions.items() if c})

    @override
    def explained(self, work: Callable[[], Any], explain: Callable[[BaseException], QbcdError]) -> Any:
        return jdbc.explained(work, explain)

    # -- rows in memory, ranges --------------------------------------------------------------------------------------
    @override
    def table(self, rows: pa.Table) -> SparkRows:
        listed = ", ".join(f"({', '.join(map(_value, row.values()))})" for row in rows.to_pylist())
        columns = ", ".join(rows.column_names)
        return SparkRows.of(self.provider.get().sql(f"SELECT * FROM VALUES {listed} AS t({columns})"))

    @override
    def in_ranges(self, rows: SparkRows, ids: Sequence[int]) -> SparkRows:
        return rows.spelled("*", f"WHERE {one_of(ids)}")

    @override
    def leaves(self, asked: Sequence[KeyRange]) -> SparkRows:
        # one text that Spark splits: parsing a list of values would take longer than the whole query
        listed = " ".join(f"{r.range_id:d}:{','.join(_tails(r))}" for r in asked)
        found = self.provider.get().sql(
            "SELECT CAST(substring_index(one, ':', 1) AS BIGINT) AS range_id, "
            "unhex(substring_index(substring_index(leaf, '=', 1), '#', 1)) AS tail, "
            "CASE WHEN leaf LIKE '%=%' THEN unhex(substring_index(leaf, '=', -1)) END AS alone, "
            "CASE WHEN leaf LIKE '%#%' THEN CAST(substring_index(leaf, '#', -1) AS DECIMAL(38,0)) END AS lost "
            f"FROM (SELECT explode(split('{listed}', ' ')) AS one) "
            "LATERAL VIEW explode(split(substring_index(one, ':', -1), ',')) AS leaf"
        )
        return SparkRows.of(found).hinted("broadcast")

    # -- a batch -----------------------------------------------------------------------------------------------------
    @contextmanager
    @override
    def numbered(
        self, changes: SparkRows, seq: int, rows: int, sizes: Mapping[tuple[str, int], int] | None = None
    ) -> Iterator[SparkRows]:
        if sizes is not None:
            yield self._numbered_by_group(changes, sizes, seq)
        elif rows <= algebra.ONE_TASK_ROWS:
            yield _numbered(changes, seq, few=rows <= algebra.FEW_ROWS)
        else:
            with self.kept(changes) as kept:
                found = algebra.groups(self, kept)
                yield self._numbered_by_group(kept, found, seq) if found else _numbered(kept, seq)

    def _numbered_by_group(self, changes: SparkRows, sizes: Mapping[tuple[str, int], int], seq: int) -> SparkRows:
        """Return any number of changes as `numbered` does.

        Each (op, range) has its own first number.

        Args:
            changes: Changes of `differences` or `baseline`.
            sizes: The `groups` of these changes, so that no task needs all rows.
        """
        offsets, total = [], 0
        for op, range_id in sorted(sizes, key=lambda g: (_RANK[g[0]], g[1])):
            offsets.append({"op": op, "range_id": range_id, "first": total})
            total += sizes[op, range_id]
        first = self.table(pa.Table.from_pylist(offsets)).hinted("broadcast")
        nth = "row_number() OVER (PARTITION BY rows.op, rows.range_id ORDER BY rows.key_id)"
        joined = f"JOIN (\n{first.sql}\n) AS f ON rows.op = f.op AND rows.range_id = f.range_id"
        found = changes.spelled(f"rows.*, f.first + {nth} - 1 AS ordinal", joined, (*changes.columns, "ordinal"))
        found = SparkRows(found.sql, found.columns, {**changes.frames, **first.frames})
        return algebra.batch_rows(found, seq, "ordinal")


def _numbered(changes: SparkRows, seq: int, *, few: bool = False) -> SparkRows:
    """Return the changes as batch rows.

    One task sorts them, and finds them too if they are `few`.
    """
    alone = changes.hinted("one task" if few else "collected")
    # with one partition, the id is the position of the row
    return algebra.batch_rows(
        alone.spelled("*", f"SORT BY {algebra.RANK}, {', '.join(IDENTITY)}"), seq, "MONOTONICALLY_INCREASING_ID()"
    )


def _value(value: Any) -> str:
    return text(value) if isinstance(value, str) else f"{value:d}L"


def _tails(one: KeyRange) -> Iterator[str]:
    alone = {leaf: [key] for leaf, key in ((one.only and one.only.alone) or {}).items()}
    for named in one.only.named if one.only else ():
        alone.setdefault(leaf_of(named.identity), []).append(named.identity)
    lost = "" if one.only is None or one.only.deleted_digest is None else f"#{one.only.deleted_digest}"
    for leaf in leaves.tails(one):
        if leaf in alone:
            yield from (f"{key[-1:].hex()}={key.hex()}" for key in alone[leaf])
        else:
            yield from (f"{end}{lost}" for end in (("", "00") if leaf == 0 else (f"{leaf:02x}",)))


def one_of(ids: Sequence[int]) -> str:
    """Return SQL for the condition that ``range_id`` is one of `ids`.

    A single id would become a literal in generated code, which Spark would compile again at every poll; so there are
    always two. Only ids of their range are listed, since Parquet skips pages outside of least and greatest id.
    """
    return f"range_id IN ({', '.join(f'{one:d}L' for one in (ids if len(ids) > 1 else (*ids, NO_RANGE)))})"
