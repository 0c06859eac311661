"""Over drawn tables and histories, Spark has the events of the iterator, of `qbcd changes` and of the JSON lines.

All types of a database are drawn, with odd names, keys of every type and restrictions.
"""

from __future__ import annotations

import base64
import json
import re
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import types

from qbcd.spark_source import register
from tests.support.captured_tables import reproducible
from tests.support.cli import Cli
from tests.support.drawn_tables import Pool, draw_tables
from tests.support.histories import History
from tests.support.places import Place, over
from tests.support.project import config, opened
from tests.support.spark_reads import ADDED, as_counter, change_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

pytestmark = pytest.mark.campaign
ROUNDS, TABLES = 4, 3
TIMED, EXACT = re.compile("date|timestamp|stamp"), re.compile("numeric|decimal|cents|deep")
OF_TIME = re.compile(r"infinity| BC|\b[0-9]{5,}-|\b0000-|-00\b|24:00|02-3|2021-02-29")
OF_NUMBERS = re.compile("NaN|Infinity")
UNFIT_ARRAY = re.compile(r"^\[|\{\{|infinity| BC|NaN")
STRATEGIES: tuple[Any, ...] = (
    "mds",
    "tlcs",
    {"type": "id_rcs", "rows_per_range": 5},
    {"type": "id_rcs", "rows_per_range": 3, "buckets": "hash"},
    {"type": "id_rcs", "replica": "digest"},
)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys)


@over("seed", range(5), elsewhere=[])
def test_all_readers_have_the_same_events(
    seed: int, place: Place, workspace: Path, spark: SparkSession, cli: Cli
) -> None:
    register(spark)
    rng = Random(seed)
    tables = draw_tables(rng, place, TABLES)
    at: list[str] = []
    with reproducible(seed, tables, at, workspace):
        for table in tables:
            table.pool = fitting(table.pool)
        histories = [History(rng, table) for table in tables]
        streams = [
            {**table.stream(f"s{i}", rng.choice(STRATEGIES)), "baseline": rng.choice(["silent", "events"])}
            for i, table in enumerate(tables)
        ]
        data = config(place.url, *streams)
        file = workspace / "qbcd.yaml"
        file.write_text(json.dumps(data), encoding="utf-8")
        found: Counter[str] = Counter()
        for i, history in enumerate(histories):
            at[:] = [history.table.quoted, str(streams[i]["strategy"])]
            history.fill(rng.choice([1, 7, 40]))
            with opened(data, workspace, spark) as project:
                handle = project.stream(f"s{i}")
                handle.prepare()
                events = [event for batch in handle.poll() for event in batch.rows()]
                for _ in range(ROUNDS):
                    history.act(rng.choice([1, 4, 20]))
                    events += [event for batch in handle.poll() for event in batch.rows()]
            found += Counter(event["op"] for event in events)
            compare(events, _lines(workspace, f"s{i}"), _Reads(spark, cli, file, f"s{i}"))
        assert found["u"] and found["d"] and found["c"] + found["r"], found


def fitting(pool: Pool) -> Pool:
    """Return a pool without values that typed readers refuse: infinite, before year 1, in several dimensions."""

    def fits(sql_type: str, value: str) -> bool:
        if (sql_type.endswith("[]") or sql_type == "listed") and UNFIT_ARRAY.search(value):
            return False
        kind = (
            OF_TIME if TIMED.search(pool.base(sql_type)) else OF_NUMBERS if EXACT.search(pool.base(sql_type)) else None
        )
        return kind is None or not kind.search(value)

    return replace(pool, values={kind: [v for v in values if fits(kind, v)] for kind, values in pool.values.items()})


class _Reads:
    """Reads of one stream."""

    def __init__(self, spark: SparkSession, cli: Cli, file: Path, stream: str) -> None:
        self._spark, self._cli, self._file, self._stream = spark, cli, str(file), stream

    def batch(self) -> DataFrame:
        return self._spark.read.format("qbcd").option("config", self._file).load(self._stream)

    def followed(self, take: Callable[[DataFrame], list[Row]]) -> list[Row]:
        """Return what a query takes from its micro-batches."""
        read = self._spark.readStream.format("qbcd").option("config", self._file).option("consumer", "test")
        rows = read.option("maxRowsPerTrigger", "30").load(self._stream)
        found: list[Row] = []
        write = rows.writeStream.foreachBatch(lambda some, number: found.extend(take(some)))
        write.trigger(availableNow=True).start().awaitTermination()
        return found

    def shown(self) -> list[str]:
        ran = self._cli("-c", self._file, "changes", self._stream, "-n", "100000", "--json")
        assert ran.code == 0, ran.err
        return ran.out.splitlines()


def compare(events: list[dict[str, Any]], lines: list[str], reads: _Reads) -> None:
    """Compare the events of the iterator with what all others have."""
    assert len(lines) == len(events)
    assert Counter(reads.shown()) == Counter(lines)
    rows = reads.batch()
    kinds = {field.name: field.dataType for field in rows.schema if field.name not in ADDED}
    names = list(kinds)
    expected = change_rows([_mapped(event, lambda name, value: _plain(value)) for event in events], names)
    typed = [_mapped(json.loads(line), lambda name, value: _plain(_value(value, kinds[name]))) for line in lines]
    assert change_rows(typed, names) == expected
    assert as_counter(collected(rows, kinds), names) == expected
    assert as_counter(reads.followed(lambda some: collected(some, kinds)), names) == expected


def collected(rows: DataFrame, kinds: dict[str, types.DataType]) -> list[Row]:
    """Return the rows with instants as microseconds, since PySpark cannot collect some of year 1."""
    selected = ["_change_type", "_commit_version"]
    for name, kind in kinds.items():
        value = quoted = f"`{name.replace('`', '``')}`"
        if kind == types.TimestampType():
            value = f"unix_micros({quoted})"
        elif isinstance(kind, types.ArrayType) and kind.elementType == types.TimestampType():
            value = f"transform({quoted}, item -> unix_micros(item))"
        selected.append(f"{value} AS {quoted}")
    return rows.selectExpr(*selected).collect()


def _lines(folder: Path, stream: str) -> list[str]:
    files = sorted((folder / "out/changes" / stream).rglob("*.jsonl"))
    return [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def _mapped(event: dict[str, Any], change: Callable[[str, Any], Any]) -> dict[str, Any]:
    """Return an event with other values in its images, by column."""

    def image(values: dict[str, Any] | None) -> dict[str, Any] | None:
        return values and {name: change(name, value) for name, value in values.items()}

    return {**event, **{name: image(event[name]) for name in ("key", "before", "after")}}


def _plain(value: Any) -> Any:
    """Return a value with instants as microseconds since 1970."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, datetime) and value.tzinfo is not None:
        return (value - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1)
    return value


def _value(value: Any, kind: types.DataType) -> Any:
    if value is None:
        return None
    if isinstance(kind, types.ArrayType):
        return [_value(item, kind.elementType) for item in value]
    if isinstance(kind, types.DecimalType):
        return Decimal(str(value))
    if isinstance(kind, types.FloatType):
        return struct.unpack("f", struct.pack("f", float(value)))[0]
    if isinstance(kind, types.DoubleType):
        return float(value)
    if isinstance(kind, types.BinaryType):
        return base64.b64decode(value)
    if isinstance(kind, types.DateType):
        return date.fromisoformat(value)
    if isinstance(kind, (types.TimestampType, types.TimestampNTZType)):
        whole, _, part = value.removesuffix("Z").partition(".")
        moment = datetime.fromisoformat(whole).replace(microsecond=int(part.ljust(6, "0") or "0"))
        return moment.replace(tzinfo=timezone.utc) if isinstance(kind, types.TimestampType) else moment
    return value
