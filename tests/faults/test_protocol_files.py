"""A changed bit in a file never makes other rows (docs/design/protocol.md#rule-15)."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.errors import StateConflict
from qbcd.local.part_files import END
from qbcd.sites import Files, LeasedStream
from qbcd.sites.lake.replica.files import FileSet
from qbcd.spark.jdbc import spark_failure
from qbcd.state import StreamRow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
from qbcd.sites.lake.engines.spark.rows import SparkRows
from tests.support.engines import spark_engine

ROWS = 60_000
FIELDS = [("range_id", "bigint"), ("n", "bigint"), ("v", "string")]
TURNS = 12


def written(files: Files, spark: SparkSession) -> tuple[FileSet, Path]:
    """Return a part of one file, much longer than the end that is hashed."""
    rows = spark.range(ROWS).selectExpr(
        f"id DIV {ROWS // 4} AS range_id", "id * 7919 AS n", "sha2(string(id), 256) AS v"
    )
    engine = spark_engine(spark)
    leased = LeasedStream(StreamRow("p", "s", 5, 1, 1, 1, True), None)  # type: ignore[arg-type]
    part = files.write(engine, SparkRows.of(rows.coalesce(1)), FIELDS, "segment", leased)
    (file,) = part.files
    assert file.size > 4 * END
    return part, files.root / part.part_id / file.name


def read(files: Files, spark: SparkSession, part: FileSet) -> list[Any]:
    """Read two of the four ranges as a poll does."""
    engine = spark_engine(spark)
    rows = engine.frame(files.read(engine, FIELDS, part)).where("range_id IN (1L, 2L)")
    return [tuple(row) for row in rows.selectExpr("count(1)", "sum(n)", "sum(hash(range_id, v))").collect()]


@pytest.mark.campaign
def test_no_turned_bit_makes_other_rows(workspace: Path, spark: SparkSession) -> None:
    files = Files(workspace, "p", "s")
    part, path = written(files, spark)
    whole, content = read(files, spark, part), path.read_bytes()
    assert whole[0][0] == ROWS // 2
    errors, rng = [], Random(5)
    for _ in range(TURNS):
        place = rng.randrange(len(content) // 3, len(content) // 2)  # in a page that is read
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << rng.randrange(8)]) + content[place + 1 :])
        try:
            assert read(files, spark, part) == whole, place
        except AssertionError:
            raise
        except Exception as error:  # noqa: BLE001 -- Spark's, of several kinds
            errors.append(spark_failure(error))
    assert len(errors) >= TURNS - 1  # a header has bits that nobody reads
    assert f"{path}: could not verify page integrity, CRC checksum verification failed" in errors
    path.write_bytes(content)
    assert read(files, spark, part) == whole


@pytest.mark.parametrize("before_the_end", [0, 5, 300, END - 1])
def test_a_turned_bit_in_the_end_is_seen_before_spark_reads(
    before_the_end: int, workspace: Path, spark: SparkSession
) -> None:
    files = Files(workspace, "p", "s")
    part, path = written(files, spark)
    content = bytearray(path.read_bytes())
    content[-1 - before_the_end] ^= 1
    path.write_bytes(content)
    with pytest.raises(StateConflict, match=f"file {path} is missing or was changed; the replica cannot be trusted"):
        files.read(spark_engine(spark), FIELDS, part)


# A row group may be larger than all direct memory: a thread that cannot allocate it dies, and the task waits for ever.
def test_reading_takes_no_direct_memory_for_a_row_group(workspace: Path, spark: SparkSession) -> None:
    """Threads keep such memory, so that it shows after the read."""
    files = Files(workspace, "p", "s")
    part, path = written(files, spark)
    jvm: Any = spark.sparkContext._jvm
    pools = jvm.java.lang.management.ManagementFactory.getPlatformMXBeans(
        jvm.java.lang.Class.forName("java.lang.management.BufferPoolMXBean")
    )
    (direct,) = [pool for pool in pools if pool.getName() == "direct"]
    before = direct.getTotalCapacity()
    engine = spark_engine(spark)
    engine.frame(files.read(engine, FIELDS, part)).write.format("noop").mode("overwrite").save()
    assert direct.getTotalCapacity() - before < path.stat().st_size / 2
