"""Rows that came from a source as plain values.

DuckDB computes their key identity, bucket and digest here. The bytes of identity and digest are those of dumps
(`qbcd.local.dumps`); :data:`ENCODER` is their version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qbcd.files.columns import arrow_of
from qbcd.local.database import LocalDatabase
from qbcd.local.dumps import content, identity, row_digest, text_of, wire_value
from qbcd.local.query import Query
from qbcd.model import StreamPlan

GREGORIAN = "1582-10-15"  # the first day on which Java's two calendars agree
CALENDAR = ("date", "timestamp")
ENCODER = 1  # version of key identity, bucket and digest of rows


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


class TravelledRows:
    """The rows of one read, in files of Spark's types.

    Args:
        plan: The captured columns, in the order of the files' c0..cn.
        raw: The rows of the files.
    """

    def __init__(self, database: LocalDatabase, plan: StreamPlan, raw: Query) -> None:
        self._database, self._plan, self._raw = database, plan, raw

    def count(self) -> int:
        """Return the number of rows."""
        [(found,)] = self._database.connection.execute(f"SELECT COUNT(*) FROM {self._read()}").fetchall()
        return int(found)

    def sums(self, buckets: Buckets) -> BucketSums:
        """Return count and checksum of each bucket with rows, as one scan finds them."""
        keys = [f"c{i} IS NULL" for i in range(len(self._plan.key))]
        nulls = f"COUNT(*) FILTER (WHERE {' OR '.join(keys)})" if keys else "0"
        old = [f"c{i} < DATE '{GREGORIAN}'" for i, c in enumerate(self._plan.captured) if c.travel.kind in CALENDAR]
        shifted = f"COUNT(*) FILTER (WHERE {' OR '.join(old)})" if old else "0"
        texts = self._texts()
        sql = (
            f"SELECT {buckets.of(self._alike(texts))} AS range_id, COUNT(*), "
            f"SUM(CAST({row_digest(texts)} AS HUGEINT)), {nulls}, {shifted} FROM {self._read()} GROUP BY ALL"
        )
        found = self._database.connection.execute(sql).fetchall()
        sums = {int(i): (int(n), int(total or 0)) for i, n, total, *_ in found}
        return BucketSums(sums, sum(row[3] for row in found), sum(row[4] for row in found))

    def stage(self, buckets: Buckets, ranges: Sequence[int] | None = None) -> Query:
        """Return the rows as rows of a stage, or those of some ranges.

        Args:
            ranges: Ids of ranges; None for all.
        """
        texts, values = self._texts(), self._wire()
        inner = [
            f"{buckets.of(self._alike(texts))} AS range_id",
            f"{self._alike(texts)} AS alike",
            f"{row_digest(texts)} AS digest",
            *(f"{value} AS v{i}" for i, value in enumerate(values)),
        ]
        # equal rows without a key differ by their number
        number = "concat(alike, chr(58), row_number() OVER (PARTITION BY alike))" if self._plan.counted else "alike"
        outer = ["range_id", f"encode({number}) AS key_id", "digest", *(f"v{i} AS c{i}" for i in range(len(values)))]
        where = "" if ranges is None else f" WHERE range_id IN ({', '.join(f'{i:d}' for i in ranges)})"
        names = ("range_id", "key_id", "digest", *(f"c{i}" for i in range(len(values))))
        rows = f"SELECT {', '.join(inner)} FROM {self._read()}"
        return Query(f"SELECT {', '.join(outer)} FROM ({rows}) AS q{where}", names)

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
