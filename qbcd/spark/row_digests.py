"""Digests of the rows of a JDBC read, which Spark computes and adds up while it reads.

The digest is XXH64, chained over the columns (docs/internals/range-checksums.md#rows-that-travel). Sums are exact: each
third of a digest is added up as a whole number of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qbcd.errors import EnvironmentMissing
from qbcd.model.plans import HALF
from qbcd.sql.digest_sums import total

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# a value of each kind, and their digest: the same in each release of Spark, or replicas would not fit
_PROOF = (
    "TRUE",
    "CAST(7 AS SMALLINT)",
    "7",
    "CAST(7 AS BIGINT)",
    "CAST(0.1 AS FLOAT)",
    "CAST(0.1 AS DOUBLE)",
    "'ä, 日本 and 32 bytes or more of text'",
    "X'00ff'",
    "DATE'2024-02-29'",
    "TIMESTAMP_NTZ'2024-02-29 12:34:56.789012'",
    "CAST('-1.25' AS DECIMAL(12,2))",
    "CAST('-12345678901234567890.5' AS DECIMAL(38,1))",
    "CAST(NULL AS INT)",
)
PROVEN = -28313313925570045
_THIRDS = ("({d} >> 42)", "(({d} >> 21) & 2097151)", "({d} & 2097151)")
_SIZES = {"boolean": 1, "smallint": 2, "int": 4, "float": 4, "date": 4}  # bytes of a value; 8 or, of decimals, 16


def digest_of(names: Sequence[str], *, wide: bool = False) -> str:
    """Return Spark's SQL of the digest of columns, each of which may be NULL.

    A wide one has 63 bits of that, and 63 bits of one that begins with an integer 1.
    """
    values = ", ".join(f"{name} IS NULL, {name}" for name in names)
    if not wide:
        return f"xxhash64({values})"
    high, low = (
        f"CAST({one} & {HALF - 1}L AS DECIMAL(38, 0))" for one in (f"xxhash64({values})", f"xxhash64(1, {values})")
    )
    return f"CAST({high} * {HALF}BD + {low} AS DECIMAL(38, 0))"


def check_digests(spark: SparkSession) -> None:
    """Refuse a Spark that computes another digest than all others.

    Raises:
        EnvironmentMissing: It does.
    """
    [(found,)] = spark.sql(f"SELECT {digest_of(_PROOF)}").collect()
    if found != PROVEN:
        raise EnvironmentMissing(
            f"Spark {spark.version} computes another xxhash64 than the releases that qbcd knows",
            remedy="use the release of Spark by which the streams were prepared",
        )


def fixed_size(kind: str) -> int:
    """Return the bytes of a value of a type of Spark that is neither text nor binary."""
    return _SIZES.get(kind, 16 if kind.startswith("decimal") else 8)


def bytes_of(fields: Sequence[tuple[str, str]]) -> str:
    """Return Spark's SQL of the bytes of a row's values.

    Args:
        fields: Name and Spark's type of each column.
    """
    long = [name for name, kind in fields if kind in ("string", "binary")]
    others = sum(fixed_size(kind) for name, kind in fields if name not in long)
    return " + ".join([f"{others}L", *(f"CAST(COALESCE(OCTET_LENGTH({name}), 0) AS BIGINT)" for name in long)])


def group_sums(
    rows: DataFrame, group: str, conditions: Sequence[str], size: str, *, wide: bool = False, one_reader: bool
) -> list[tuple[int, ...]]:
    """Evaluate rows with their digest `d` once, and return sums of each group.

    They are its number, its rows, their sum of digests, and bytes, and the rows that fulfill each condition.

    Args:
        group: Spark's SQL of a row's group.
        conditions: Spark's SQL of conditions.
        size: Spark's SQL of a row's bytes.
        wide: The digests are.
        one_reader: One task reads the rows: they are added up in it, without an exchange.
    """
    from pyspark.sql import functions

    parts = [f"CAST(d DIV {HALF}BD AS BIGINT)", f"CAST(d % {HALF}BD AS BIGINT)"] if wide else ["d"]
    sums = ["COUNT(*)", f"SUM({size})", *(f"COUNT_IF({condition})" for condition in conditions)]
    sums += [f"SUM({third.replace('{d}', part)})" for part in parts for third in _THIRDS]
    read = rows.coalesce(1) if one_reader else rows
    grouped = read.groupBy(functions.expr(group).alias("g"))
    found = grouped.agg(*(functions.expr(one).alias(f"s{i}") for i, one in enumerate(sums))).collect()
    return [
        (int(g), int(count), _whole(others[1 + len(conditions) :]), *map(int, others[: 1 + len(conditions)]))
        for g, count, *others in found
    ]


def _whole(thirds: Sequence[int]) -> int:
    """Return a sum of digests from the sums of their thirds, those of the high half first."""
    sums = zip(thirds[::3], thirds[1::3], thirds[2::3], strict=True)
    return total((int(high) << 42) + (int(middle) << 21) + int(low) for high, middle, low in sums)
