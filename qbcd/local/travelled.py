"""Rows that came from a source as plain values.

DuckDB computes their key identity and range here, and adds up the digests that they came with. The bytes of the
identity are those of dumps (`qbcd.local.dumps`); `ENCODER` is the version of identity and digest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qbcd.files.columns import arrow_of
from qbcd.local.database import LocalDatabase
from qbcd.local.dumps import content, identity, text_of, wire_value
from qbcd.local.query import Query, duckdb_sql
from qbcd.model import StreamPlan
from qbcd.ranges.integers import IntegerRanges
from qbcd.sql.digest_sums import summands, total

GREGORIAN = "1582-10-15"  # the first day on which Java's two calendars agree
CALENDAR = ("date", "timestamp")
DIGEST, RANGE = "d", "r"  # columns of a row's digest, and of its hash bucket, if the source has computed that
ENCODER = 3  # of key identity, and of the digest that Spark computes (`qbcd.spark.row_digests`)
SHOWN = "shown"  # column of rows of a window: 1 if the restriction holds


@dataclass(frozen=True)
class Buckets:
    """The buckets of a stream: ranges of a hash of the key's identity.

    Attributes:
        first: Id of the first range; the others follow.
        count: Number of buckets.
    """

    first: int
    count: int

    def of(self, text: str) -> str:
        """Return SQL of the range of a key, from the text of its identity."""
        if self.count == 1:
            return f"CAST({self.first:d} AS BIGINT)"
        return f"CAST({self.first:d} + md5_number_lower({text}) % {self.count:d} AS BIGINT)"


Division = Buckets | IntegerRanges  # how the keys of a stream are divided into ranges


@dataclass(frozen=True)
class BucketSums:
    """Count and checksum of each bucket, and rows that cannot be captured.

    Attributes:
        null_keys: Number of rows whose key is NULL.
        old_dates: Number of rows with a date or timestamp before the Gregorian calendar, which drivers shift by days.
    """

    sums: dict[int, tuple[int, int]]
    null_keys: int
    old_dates: int

    @property
    def rows(self) -> int:
        """Number of all rows."""
        return sum(rows for rows, _ in self.sums.values())


def unfit_rows(plan: StreamPlan) -> tuple[str, str]:
    """Return two conditions on rows: the key is NULL, a date is old.

    They are SQL of DuckDB and of Spark.
    """
    keys = [f"c{i} IS NULL" for i in range(len(plan.key))]
    old = [f"c{i} < DATE '{GREGORIAN}'" for i, c in enumerate(plan.captured) if c.travel.kind in CALENDAR]
    return " OR ".join(keys) or "FALSE", " OR ".join(old) or "FALSE"


class TravelledRows:
    """The rows of one read, in files of Spark's types.

    Args:
        plan: The captured columns, in the order of the files' c0..cn.
        raw: The rows of the files, with the column `DIGEST`, and `RANGE` if the source has divided them into hash
            buckets.
    """

    def __init__(self, database: LocalDatabase, plan: StreamPlan, raw: Query) -> None:
        self._database, self._plan, self._raw = database, plan, raw

    def count(self) -> int:
        """Return the number of rows."""
        [(found,)] = self._database.connection.execute(f"SELECT COUNT(*) FROM {self._read()}").fetchall()
        return int(found)

    def bounds(self, size: int, lo: int | None = None, hi: int | None = None) -> list[int]:
        """Return the first keys of ranges of about `size` rows, but not of the first one.

        The key is one integer.

        Args:
            lo: The first key to divide; None for the first one.
            hi: The key after the last one.
        """
        ends = [f"c0 >= {lo:d}"] if lo is not None else []
        ends += [f"c0 < {hi:d}"] if hi is not None else []
        where = " AND ".join(["c0 IS NOT NULL", *ends])
        numbered = f"SELECT c0, row_number() OVER (ORDER BY c0) - 1 AS n FROM {self._read()} WHERE {where}"
        sql = f"SELECT DISTINCT c0 FROM (\n{numbered}\n) AS q WHERE n > 0 AND n % {size:d} = 0 ORDER BY c0"
        found = [int(key) for (key,) in self._database.connection.execute(sql).fetchall()]
        return [key for key in found if lo is None or key > lo]

    def sums(self, buckets: Division) -> BucketSums:
        """Return count and checksum of each range with rows, as one scan finds them."""
        unfit = ", ".join(f"COUNT(*) FILTER (WHERE {one})" for one in unfit_rows(self._plan))
        texts = self._texts()
        parts = ", ".join(f"SUM({duckdb_sql(part)})" for part in summands(DIGEST, wide=self._plan.wide))
        sql = (
            f"SELECT {self._range(buckets, texts)} AS range_id, COUNT(*), {unfit}, {parts} "
            f"FROM {self._read()} GROUP BY ALL"
        )
        found = self._database.connection.execute(sql).fetchall()
        sums = {int(i): (int(n), total(parts)) for i, n, _, _, *parts in found}
        return BucketSums(sums, sum(row[2] for row in found), sum(row[3] for row in found))

    def stage(self, buckets: Division, ranges: Sequence[int] | None = None) -> Query:
        """Return the rows as rows of a stage, or those of some ranges.

        Args:
            ranges: Ids of ranges; None for all.
        """
        texts, values = self._texts(), self._wire()
        inner = [
            f"{self._range(buckets, texts)} AS range_id",
            f"{self._alike(texts)} AS alike",
            f"{DIGEST} AS digest",
            *(f"{value} AS v{i}" for i, value in enumerate(values)),
        ]
        # equal rows without a key differ by their number
        number = "concat(alike, chr(58), row_number() OVER (PARTITION BY alike))" if self._plan.counted else "alike"
        outer = ["range_id", f"encode({number}) AS key_id", "digest", *(f"v{i} AS c{i}" for i in range(len(values)))]
        where = "" if ranges is None else f" WHERE range_id IN ({', '.join(f'{i:d}' for i in ranges)})"
        names = ("range_id", "key_id", "digest", *(f"c{i}" for i in range(len(values))))
        if SHOWN in self._raw.columns:
            inner, outer, names = [*inner, SHOWN], [*outer, SHOWN], (*names, SHOWN)
        rows = f"SELECT {', '.join(inner)} FROM {self._read()}"
        return Query(f"SELECT {', '.join(outer)} FROM ({rows}) AS q{where}", names)

    def _range(self, division: Division, texts: Sequence[str]) -> str:
        """Return SQL of a row's range."""
        if isinstance(division, IntegerRanges):
            return f"CAST({division.of('c0')} AS BIGINT)"
        return RANGE if RANGE in self._raw.columns else division.of(self._alike(texts))

    def _read(self) -> str:
        return f"(\n{self._raw.sql}\n) AS raw"

    def _wire(self) -> list[str]:
        return [wire_value(arrow_of(c.travel), c, f"c{i}") for i, c in enumerate(self._plan.captured)]

    def _texts(self) -> list[str]:
        return [text_of(c, value) for c, value in zip(self._plan.captured, self._wire(), strict=True)]

    def _alike(self, texts: Sequence[str]) -> str:
        """Return SQL of the text of the key's identity: of all values, if rows have no key."""
        if not self._plan.key:
            return content(texts)
        bare = identity(texts[: len(self._plan.key)])
        return bare.removeprefix("encode(").removesuffix(")")
