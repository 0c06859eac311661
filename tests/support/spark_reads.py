"""A project whose changes Spark reads by ``format("qbcd")``, with its configuration in a file."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qbcd.spark_source import register
from tests.support.scene import STREAM, Scene

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

ADDED = ("_change_type", "_commit_version", "_commit_timestamp")


class SparkScene(Scene):
    """A scene that Spark reads."""

    def __init__(self, url: str, folder: Path, strategy: str | dict[str, Any], spark: SparkSession, **more: Any):
        super().__init__(url, folder, strategy, spark, **more)
        self.config = folder / "qbcd.yaml"
        self.write_config()
        register(spark)

    def write_config(self) -> None:
        """Write the configuration into the file that Spark reads."""
        self.config.write_text(json.dumps(self.data), encoding="utf-8")

    def read(self, stream: str = STREAM, **options: Any) -> DataFrame:
        """Return a batch read of the stream."""
        made = self.spark.read.format("qbcd").option("config", str(self.config))
        return made.options(**options).load(stream)

    def follow(self, stream: str = STREAM, **options: Any) -> DataFrame:
        """Return a streaming read of the stream."""
        made = self.spark.readStream.format("qbcd").option("config", str(self.config)).option("consumer", "test")
        return made.options(**options).load(stream)

    def drain(self, rows: DataFrame, name: str) -> list[Row]:
        """Run a query up to the newest batch, into files with a checkpoint; return all rows that the files have."""
        out, marks = str(self.folder / name), str(self.folder / f"{name}-checkpoint")
        query = rows.writeStream.format("parquet").option("checkpointLocation", marks).trigger(availableNow=True)
        query.start(out).awaitTermination()
        return self.spark.read.parquet(out).collect()


def change_rows(events: list[dict[str, Any]], columns: list[str]) -> Counter[tuple[Any, ...]]:
    """Return the change rows of events as the iterator in Python gives them: kind, version, values."""
    found: Counter[tuple[Any, ...]] = Counter()
    for event in events:
        version, op = event["source"]["batch_seq"], event["op"]
        old = event["before"] or ({**dict.fromkeys(columns), **(event["key"] or {})} if op == "d" else None)
        if op == "d" or (op == "u" and old):
            assert old is not None
            kind = "delete" if op == "d" else "update_preimage"
            found.update([(kind, version, *[comparable(old.get(c)) for c in columns])])
        if op != "d":
            kind = "update_postimage" if op == "u" else "insert"
            found.update([(kind, version, *[comparable(event["after"][c]) for c in columns])])
    return found


def as_counter(rows: list[Row], columns: list[str]) -> Counter[tuple[Any, ...]]:
    """Return rows that Spark read in the form of :func:`change_rows`."""
    return Counter((r["_change_type"], r["_commit_version"], *[comparable(r[c]) for c in columns]) for r in rows)


def comparable(value: Any) -> Any:
    """Return a value that equals another if both print alike: NaN, bytes and lists too."""
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone().replace(tzinfo=None)  # as Spark's rows have it in Python
    if isinstance(value, list):
        return tuple(map(comparable, value))
    return value
