"""ID/RCS, incremental differencing with range checksums (Carnes & Hanson 3.6, figure 8): SELECT is all it needs.

The source answers with count and checksum of every key range in one statement; only ranges that differ from what the
replica holds are shipped. Range checksums are sums of sound 64-bit row digests (algorithms.md C20).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from qbcd.connectors.base import Connector
from qbcd.model import Column, KeyRange, Statement, StreamPlan
from qbcd.sql import compile_sql, render
from qbcd.strategies.base import Estimate, Keeps, Strategy

CORRELATION_FLOOR = (
    0.5  # below it a key-range scan visits heap pages out of order, which costs several sequential scans
)
SEES_BY_DIGEST = "every insert, update and delete, as the net change between two polls; of old rows the key alone"


class IdRcs(Strategy):
    """Statements of ID/RCS for one stream."""

    name = "id_rcs"
    site = "spark"
    needs = "SELECT on the table, and a key that the database can order; nothing is written to the source"
    sees: str = "every insert, update and delete, with old and new values, as the net change between two polls"
    misses: str = "states between two polls (a row inserted and deleted again leaves no event)"

    summed = "digest"  # column of fetched rows that a range's checksum is the sum of
    extra: tuple[tuple[str, str], ...] = ()  # (name, Spark's type) of what else a fetched row has
    deletes = True  # they are told

    def __init__(self, connector: Connector, plan: StreamPlan) -> None:
        super().__init__(connector, plan)
        self.consistency = "snapshot" if connector.exports_snapshots else "range"
        self.keeps: Keeps = "digests" if plan.option("replica") == "digest" else "rows"
        if self.keeps == "digests":
            self.sees, self.misses = SEES_BY_DIGEST, f"{type(self).misses}; old values and the names of changed columns"

    def by_rows(self) -> IdRcs:
        """The strategy whose checksums are those of whole rows, as `verify` compares them."""
        return self

    @property
    def kept(self) -> Sequence[Column]:
        """The captured columns whose values the replica has, beside each row's digest."""
        return self.plan.captured if self.keeps == "rows" else self.plan.key

    def estimate(self) -> Estimate:
        """R*N + size(aux) + delta*M (paper, table 3): one scan of digests; aux and replica live outside the source."""
        table = self.plan.table
        return Estimate(table.pages, max(table.rows, 0), "R*N", "count and checksum of each range")

    def bounds(self, rows_per_range: int, within: KeyRange | None = None) -> Statement:
        """The first key of every range but the first, in the table or one range, picked and spelled by the source."""
        keys, connector, columns = self._relation("row_keys"), self.connector, self.plan.key
        if within is not None:
            # under names of our own: a key column may be called range_id
            names = [f"t.{connector.quote(c.name)} AS qbcd_{i}" for i, c in enumerate(columns)]
            keys = f"({connector.per_range(names, keys, columns, [within], aggregate=False)})"
            columns = tuple(replace(c, name=f"qbcd_{i}") for i, c in enumerate(columns))
        return Statement(connector.range_bounds(keys, columns, rows_per_range=rows_per_range))

    def checksums(self, ranges: Sequence[KeyRange]) -> Statement:
        """Rows (range_id, n, digests, checksum) of `ranges`; n = digests or a digest was NULL."""
        select = ["COUNT(*) AS n", "COUNT(t.qbcd_digest) AS digests", "COALESCE(SUM(t.qbcd_digest), 0) AS checksum"]
        return Statement(self.connector.per_range(select, self.digests(), self.plan.key, ranges, aggregate=True))

    def digests(self) -> str:
        """The captured rows as a FROM item with key columns and `qbcd_digest`: what every checksum sums."""
        return self._relation("row_digests")

    def images(self, ranges: Sequence[KeyRange], *, typed: bool) -> Statement:
        """Rows of `ranges` with key identity, digest and wire-form values c0..cn, each digest from its row's own read.

        With `typed`, column `untravelled` names the positions of values that no typed sink can take.
        """
        relation = self._relation("row_images", typed=typed, keyed=bool(self.extra))
        select = self._outputs(typed)
        return Statement(self.connector.per_range(select, relation, self.plan.key, ranges, aggregate=False))

    def marks(self, ranges: Sequence[KeyRange]) -> Statement:
        """Rows (range_id, key_id, digest, k0..kn) of `ranges`: of each row its digest, and what it is found by."""
        texts = [f"t.qbcd_k{i} AS k{i}" for i in range(len(self.plan.key))]
        select, relation = ["t.qbcd_key_id AS key_id", "t.qbcd_digest AS digest", *texts], self._relation("row_marks")
        return Statement(self.connector.per_range(select, relation, self.plan.key, ranges, aggregate=False))

    def images_of(self, keys: Sequence[Sequence[str]], *, typed: bool) -> Statement:
        """As `images`, without their ranges, of the rows with `keys`, which `marks` gave."""
        relation = self._relation("row_images", typed=typed)
        return Statement(self.connector.of_keys(self._outputs(typed), relation, self.plan.key, keys))

    def _outputs(self, typed: bool) -> list[str]:
        columns = [f"t.qbcd_{i} AS c{i}" for i in range(len(self.plan.captured))]
        untravelled = ["t.qbcd_untravelled AS untravelled"] if typed else []
        extra = [f"t.qbcd_{name} AS {name}" for name, _ in self.extra]
        return ["t.qbcd_key_id AS key_id", "t.qbcd_digest AS digest", *columns, *untravelled, *extra]

    def key_problems(self) -> Statement:
        """(keys_more_than_once, keys_null) of the table; for keys that the catalog does not vouch for."""
        return compile_sql(self._canonical("key_problems"), self.connector, self.plan)

    def null_keys(self) -> Statement:
        """(keys_null) of the table: rows that lie in no range."""
        return compile_sql(self._canonical("null_keys"), self.connector, self.plan)

    def warnings(self) -> list[str]:
        """What makes this strategy dearer than it needs to be."""
        correlation = self.plan.table.key_correlation
        if correlation is None or abs(correlation) >= CORRELATION_FLOOR:
            return []
        return [
            f"key {self.plan.key[0].name} does not follow the table's physical order (correlation {correlation:.2f}): "
            "a poll's range scans read pages out of order and cost several plain scans; mds does not depend on it"
        ]

    def _relation(self, template: str, **extra: bool) -> str:
        return f"({compile_sql(self._canonical(template, **extra), self.connector, self.plan).sql})"

    def _canonical(self, template: str, **extra: bool) -> str:
        plan = self.plan
        context = {"ranged": False, "windowed": False, "keyed": False, **extra}
        return render(template, table=plan.table, key=plan.key, captured=plan.captured, **context)
