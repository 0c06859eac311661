"""A batch with added fields, as readers get it, and its parts by subscription."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from qbcd.model import BatchHeader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from qbcd.local.arrow import LocalRows
    from qbcd.spark.provider import SparkProvider


@dataclass(frozen=True)
class BatchView:
    """A batch with added fields, for one reader.

    Attributes:
        whole: The header as stored.
        header: That of the view: it names the added fields, and counts the selected events only.
        path: The file with the values, in this process; None if there are none, so that all are NULL.
        place: The path or URL of the file, for executors.
        columns: By field, its column in the file.
        own: Opens the rows if they are in the file too; None if the site has them.
    """

    whole: BatchHeader
    header: BatchHeader
    path: Path | None
    place: Path | str
    columns: Mapping[str, str]
    own: Callable[[], AbstractContextManager[LocalRows]] | None = None

    @contextmanager
    def open_local(
        self, opened: Callable[[range], AbstractContextManager[LocalRows]], part: range
    ) -> Iterator[LocalRows]:
        """The rows of the view in a local database, at least those of `part`.

        Args:
            opened: Opens staged rows of the batch.
        """
        from qbcd.local.arrow import LocalRows
        from qbcd.local.parquet_rows import rows_of_files
        from qbcd.local.query import Query, derived

        names = [name for name, _ in self.header.added]
        with self._rows(opened, range(self.whole.size) if self.header.selected else part) as rows:
            texts = [(column, "VARCHAR") for column in self.columns.values()]
            kinds = [("ordinal", "BIGINT"), *texts, ("place", "BIGINT")]
            inputs = {"staged": rows.query}
            if self.path is not None:
                sql = rows_of_files(rows.database.connection.cursor(), kinds, [self.path])
                inputs["added"] = Query(sql, tuple(name for name, _ in kinds))
            columns = (*rows.query.columns, *(f"e_{i}" for i in range(len(names))))
            yield LocalRows(
                rows.database,
                derived(
                    "local_enriched",
                    (*columns, "event_ordinal") if self.header.selected else columns,
                    inputs,
                    fields=[self.columns.get(name, "") for name in names],
                    stored=self.path is not None,
                    selected=self.header.selected,
                ),
            )

    def _rows(
        self, opened: Callable[[range], AbstractContextManager[LocalRows]], part: range
    ) -> AbstractContextManager[LocalRows]:
        return opened(part) if self.own is None else self.own()

    def _staged(self, make: Callable[[], DataFrame], spark: SparkProvider) -> DataFrame:
        if self.own is None:
            return make()
        from qbcd.sites.event_schema import event_fields
        from qbcd.sites.lake.engines.spark.parquet import read_parquet

        fields = event_fields([travel for _, travel in self.header.columns])
        return read_parquet(spark.get(), fields, [self.place])

    def frame(self, make: Callable[[], DataFrame], spark: SparkProvider) -> DataFrame:
        """Return the rows of the view with Spark.

        Args:
            make: Returns staged rows of the batch.
        """
        staged = self._staged(make, spark)
        names, own = [name for name, _ in self.header.added], list(staged.columns)
        if self.path is None:
            return staged.selectExpr(*own, *(f"CAST(NULL AS STRING) AS e_{i}" for i in range(len(names))))
        from qbcd.sites.lake.engines.spark.parquet import read_parquet

        fields = [f"{self.columns.get(name, 'CAST(NULL AS STRING)')} AS e_{i}" for i, name in enumerate(names)]
        texts = [(column, "string") for column in self.columns.values()]
        kinds = [("ordinal", "bigint"), *texts, ("place", "bigint")]
        stored = read_parquet(staged.sparkSession, kinds, [self.place])
        added = stored.selectExpr("ordinal AS added_ordinal", "place AS added_place", *fields)
        joined = staged.join(added, staged["ordinal"] == added["added_ordinal"])
        if not self.header.selected:
            return joined.drop("added_ordinal", "added_place")
        kept = ["added_place AS ordinal" if name == "ordinal" else name for name in own]
        chosen = joined.where("added_place IS NOT NULL")
        return chosen.selectExpr(*kept, "ordinal AS event_ordinal", *(f"e_{i}" for i in range(len(names))))
