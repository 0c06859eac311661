"""Spark, the iterator in Python, the JSON lines and `qbcd changes` have the same events, whatever the types."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.scene import STREAM
from tests.support.spark_reads import SparkScene, as_counter, change_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = {
    "truth": ("boolean", "true", "false"),
    "small": ("smallint", "-32768", "32767"),
    "whole": ("integer", "2147483647", "-2147483648"),
    "big": ("bigint", "9007199254740993", "-9223372036854775808"),
    "money": ("numeric(12,2)", "-0.01", "9999999999.99"),
    "wide": ("numeric(38,10)", "1234567890123456789012345678.0123456789", "0"),
    "free": ("numeric", "1e40", "-0.000000000000000000000000000000000001"),
    "ratio": ("real", "'NaN'", "0.1"),
    "double": ("double precision", "'-Infinity'", "5e-324"),
    "word": ("varchar(300)", "'ä''\"\\ 😀'", "''"),
    "long": ("text", "repeat('y', 70000)", "E'a\\n\\tb'"),
    "raw": ("bytea", "'\\x00ff27'", "''"),
    "day": ("date", "'0001-01-01'", "'9999-12-31'"),
    "hour": ("time", "'23:59:59.999999'", "'00:00'"),
    "moment": ("timestamp", "'1969-12-31 23:59:59.999999'", "'9999-12-31 23:59:59.999999'"),
    "instant": ("timestamptz", "'2026-03-29 01:30:00+00'", "'1883-11-18 17:00:00+00'"),
    "ident": ("uuid", "'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"),
    "doc": ("jsonb", """'{"a": [1, null, "x"]}'""", "'null'"),
    "numbers": ("integer[]", "'{1,NULL,3}'", "'{}'"),
    "words": ("text[]", """'{"a,b",NULL,""}'""", "'{x}'"),
    "Odd Name": ("text", "'x'", "NULL"),
}


@pytest.mark.campaign
@pytest.mark.parametrize("strategy", ["id_rcs", "mds"])
def test_all_readers_agree(strategy: str, database: str, tmp_path: Path, spark: SparkSession) -> None:
    with SparkScene(database, tmp_path, strategy, spark) as scene:
        columns = ", ".join(f'"{name}" {kind}' for name, (kind, _, _) in TYPES.items())
        scene.place.sql(f"DROP TABLE IF EXISTS t; CREATE TABLE t (id integer PRIMARY KEY, {columns})")
        handle = scene.project.stream(STREAM)
        handle.prepare()
        list(handle.poll())
        first, second = (", ".join(one[i] for one in TYPES.values()) for i in (1, 2))
        nothing = ", ".join("NULL" for _ in TYPES)
        swapped = ", ".join(f'"{name}" = {value}' for name, (_, _, value) in TYPES.items())
        for statements in (
            f"INSERT INTO t VALUES (1, {first}), (2, {second}), (3, {nothing})",
            f"UPDATE t SET {swapped} WHERE id = 1; DELETE FROM t WHERE id = 2",
            "DELETE FROM t WHERE id IN (1, 3)",
        ):
            scene.place.sql(statements)
            events = [event for batch in handle.poll() for event in batch.rows()]
            assert events
            version = events[0]["source"]["batch_seq"]
            names = ["id", *TYPES]
            rows = scene.read(startingVersion=version, endingVersion=version)
            found = rows.collect()
            for name in names:  # first each column alone, for a short message
                assert as_counter(found, [name]) == change_rows(events, [name]), name
            assert as_counter(found, names) == change_rows(events, names)
            lines = {line for _, batch in handle.latest(len(events)) for line in batch}
            written = [
                line for path in (tmp_path / "out").rglob("*.jsonl") for line in path.read_text("utf-8").splitlines()
            ]
            assert lines == {line for line in written if f'"batch_seq":{version}' in line}
            assert len(lines) == len(events)
