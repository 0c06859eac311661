"""The same batch has equal values in both file sinks; values without a type are refused.

Types are those of docs/design/interface.md#types.
"""

from __future__ import annotations

import base64
import datetime as dt
import math
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.api import Project, parts_of
from qbcd.errors import Refused
from tests.support import sql
from tests.support.oracle import events
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAMS = ("mds", "id_rcs")
SINKS = {"changes": {"type": "jsonl", "path": "out/changes"}, "lake": {"type": "parquet", "path": "out/lake"}}
# name: SQL type, Spark type, values
COLUMNS: dict[str, tuple[str, str, list[str]]] = {
    "flag": ("boolean", "boolean", ["true", "false"]),
    "i2": ("smallint", "smallint", ["-32768", "7"]),
    "i4": ("integer", "int", ["2147483647", "0"]),
    "i8": ("bigint", "bigint", ["-9223372036854775808", "4294967296"]),
    "f4": ("real", "float", ["0.1", "NaN"]),
    "f8": ("double precision", "double", ["-Infinity", "0.30000000000000004"]),
    "fixed": ("numeric(12,2)", "decimal(12,2)", ["100.5", "-0.01"]),
    "wide": ("numeric(38,10)", "decimal(38,10)", ["1234567890123456789012345678.0123456789", "1"]),
    "free": ("numeric", "string", ["1.50", "NaN"]),
    "txt": ("text", "string", ["é\n\"'", ""]),
    "pad": ("character(5)", "string", ["a", ""]),
    "mood": ("mood", "string", ["sad", "ok"]),
    "u": ("uuid", "string", ["00000000-0000-0000-0000-000000000001"] * 2),
    "raw": ("bytea", "binary", ["\\x00ff", "\\x"]),
    "d": ("date", "date", ["0001-01-01", "9999-12-31"]),
    "tm": ("time", "string", ["24:00:00", "01:02:03.000004"]),
    "ts": ("timestamp", "timestamp_ntz", ["2024-03-10 02:30:00.123456", "1582-10-10 00:00:00"]),
    "tz": ("timestamptz", "timestamp", ["2024-03-10 02:30:00.123456+05:30", "1969-12-31 23:59:59.999999+00"]),
    "ints": ("integer[]", "array<int>", ["{1,NULL}", "{}"]),
    "nums": ("numeric(10,2)[]", "array<decimal(10,2)>", ["{1.5,NULL}", "{-0.01}"]),
    "days": ("date[]", "array<date>", ["{2024-02-29,NULL}", "{}"]),
    "texts": ("text[]", "array<string>", ['{"a,b",NULL,"NULL",""}', "{}"]),
    "doc": ("jsonb", "string", ['{"a": [1.00, null]}', "null"]),
    "span": ("interval", "string", ["1 mon -3 days 04:05:06.7", "0"]),
    "grid": ("interval[]", "string", ['{"1 day"}', "{}"]),
}
# Column, the value that no typed sink can hold.
TOO_FAR = [
    ("d", "infinity"),
    ("d", "0044-03-15 BC"),
    ("ts", "10000-01-01 00:00:00"),
    ("tz", "-infinity"),
    ("fixed", "NaN"),
    ("ints", "{{1,2}}"),
    ("ints", "[0:1]={1,2}"),
    ("days", "{infinity}"),
    ("nums", "{NaN}"),
]


def streams(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": n, "table": "public.t", "strategy": n.split(".")[0], "baseline": "silent", **more} for n in names]


@pytest.fixture
def table(database: str) -> str:
    sql(database, "CREATE TYPE mood AS ENUM ('sad', 'ok')")
    columns = ", ".join(f"{n} {t}" for n, (t, _, _) in COLUMNS.items())
    sql(database, f"CREATE TABLE t (id int PRIMARY KEY, {columns})")
    for i in (0, 1):
        values = [v[i] for _, _, v in COLUMNS.values()]
        places = ", ".join(f"%s::{t}" for t, _, _ in COLUMNS.values())
        sql(database, f"INSERT INTO t VALUES (%s, {places})", [i, *values])
    sql(database, "INSERT INTO t (id) VALUES (2), (3)")
    return database


def as_json_value(value: Any) -> Any:
    """Return a typed value as JSON shows it according to the type table."""
    if isinstance(value, list):
        return [as_json_value(v) for v in value]
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value.isoformat()
    return value


def typed_events(spark: SparkSession, folder: Path, stream: str) -> list[dict[str, Any]]:
    """Return the Parquet events of a stream in order, with values as in JSON.

    Spark makes timestamps texts.
    """
    parts = sorted((folder / stream).glob("epoch=*/batch_seq=*"), key=lambda p: int(p.name.split("=")[1]))
    assert all((p / "_SUCCESS").is_file() for p in parts)
    found = []
    for part in parts:
        frame = spark.read.parquet(str(part))
        image = frame.schema["after"].dataType
        kinds = {f.name: f.dataType.simpleString() for f in image}  # type: ignore[attr-defined]
        assert kinds == {"id": "int", **{n: k for n, (_, k, _) in COLUMNS.items()}}
        text = {
            "ts": "date_format({c}, \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS\")",
            "tz": "date_format({c}, \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'\")",
        }
        images = [
            f"if({side} IS NULL, NULL, named_struct({', '.join(named(side, n, text) for n in kinds)})) AS {side}"
            for side in ("before", "after")
        ]
        rows = frame.selectExpr(
            "op", "key", *images, "changed", "reason", "pair_id", "source", "event_id", "ts_ms"
        ).collect()
        made = [r.asDict(recursive=True) for r in rows]
        found += sorted(made, key=lambda e: int(e["event_id"].rsplit(":", 1)[1]))
    return [
        {k: {n: as_json_value(v) for n, v in x.items()} if isinstance(x, dict) else x for k, x in e.items()}
        for e in found
    ]


def named(side: str, name: str, text: dict[str, str]) -> str:
    return f"'{name}', {text.get(name, '{c}').format(c=f'{side}.{name}')}"


def test_both_sinks_have_equal_values(table: str, workspace: Path, spark: SparkSession) -> None:
    with opened(config(table, *streams(*STREAMS), sinks=SINKS), workspace, spark) as project:
        for name in STREAMS:
            project.stream(name).prepare()
        columns = ", ".join(COLUMNS)
        sql(table, f"INSERT INTO t SELECT id + 10, {columns} FROM t")
        sql(table, f"UPDATE t a SET ({columns}) = (SELECT {columns} FROM t b WHERE b.id = 1 - a.id) WHERE id < 2")
        sql(table, "DELETE FROM t WHERE id = 3")
        poll(project, *STREAMS)
        sql(table, "DELETE FROM t WHERE id < 2")
        poll(project, *STREAMS)
    for name in STREAMS:
        json_events, typed = events(workspace / "out/changes", name), typed_events(spark, workspace / "out/lake", name)
        assert len(json_events) == 9
        for one, two in zip(json_events, typed, strict=True):
            assert shorter(one) == shorter(two), name


def shorter(event: dict[str, Any]) -> dict[str, Any]:
    """Replace floats of single precision by their shortest text, as in JSON.

    Python widens Parquet's.
    """
    made = dict(event)
    for side in ("before", "after"):
        if event[side] and isinstance(event[side]["f4"], float):
            made[side] = {**event[side], "f4": f"{event[side]['f4']:.7g}"}
    return made


@pytest.mark.campaign
@pytest.mark.parametrize("at_once", [1, pytest.param(2, marks=pytest.mark.campaign)])
def test_values_that_no_type_can_hold_are_refused(
    at_once: int, table: str, workspace: Path, spark: SparkSession
) -> None:
    texts = {c: "text" for c, _ in TOO_FAR}
    as_text = tuple(f"{n}.text" for n in STREAMS)
    data = config(table, *streams(*STREAMS), *streams(*as_text, types=texts), sinks=SINKS)
    with opened(data, workspace, spark) as project:
        for name in (*STREAMS, *as_text):
            project.stream(name).prepare()
        before = {n: parts_of(project).open_stream(n).site.context.row() for n in STREAMS}
        for number, (column, value) in enumerate(TOO_FAR):
            sql(table, f"UPDATE t SET {column} = %s::{COLUMNS[column][0]} WHERE id = 2", [value])
            for name in (*STREAMS, *STREAMS)[number % 2 :][:at_once]:
                with pytest.raises(Refused, match=f"column '{column}'.*types: {{{column}: text}}"):
                    poll(project, name)
                now, then = parts_of(project).open_stream(name).site.context.row(), before[name]
                assert now is not None
                assert then is not None
                assert (now.version, now.last_batch_seq, now.checkpoint) == (then.version, 0, then.checkpoint)
            sql(table, f"UPDATE t SET {column} = NULL WHERE id = 2")
        assert sql(
            table, "SELECT count(*) FROM pg_stat_user_tables WHERE relname ~ '^outbox_mds' AND n_live_tup > 0"
        ) == [(0,)]
        for column, value in TOO_FAR:
            sql(table, f"UPDATE t SET {column} = %s::{COLUMNS[column][0]} WHERE id = 2", [value])
        poll(project, *as_text)
        sql(table, "UPDATE t SET d = NULL, ts = NULL, tz = NULL, fixed = NULL, ints = NULL, days = NULL, nums = NULL")
        poll(project, *STREAMS)
    for name in as_text:
        found = [e for e in events(workspace / "out/changes", name) if e["key"]["id"] == 2]
        assert [(e["op"], e["changed"]) for e in found] == [("u", [c for c in COLUMNS if c in texts])]
        image = found[0]["after"]
        assert {c: image[c] for c in texts} == {
            "d": "0044-03-15 BC",
            "ts": "10000-01-01 00:00:00",
            "tz": "-infinity",
            "fixed": "NaN",
            "ints": "[0:1]={1,2}",
            "days": "{infinity}",
            "nums": "{NaN}",
        }
        parts = list((workspace / "out/lake" / name).glob("epoch=*/batch_seq=*"))
        rows = spark.read.parquet(*map(str, parts)).where("key.id = 2").select("after.*").collect()
        assert [{c: r[c] for c in texts} for r in rows] == [{c: image[c] for c in texts}]


def test_old_values_that_no_type_can_hold_are_refused(table: str, workspace: Path, spark: SparkSession) -> None:
    """They were captured before the typed sink existed; it could not take events with them."""
    plain = {"changes": SINKS["changes"]}
    with opened(config(table, *streams(*STREAMS), sinks=plain), workspace, spark) as project:
        for column, value in TOO_FAR[::3]:
            sql(table, f"UPDATE t SET {column} = %s::{COLUMNS[column][0]} WHERE id = 2", [value])
            sql(table, f"UPDATE t SET {column} = %s::{COLUMNS[column][0]} WHERE id = 3", [value])
        for name in STREAMS:
            project.stream(name).prepare()
    with opened(config(table, *streams(*STREAMS), sinks=SINKS), workspace, spark) as project:
        before = marks(project)
        nulls = ", ".join(f"{column} = NULL" for column, _ in TOO_FAR[::3])
        for change in (f"UPDATE t SET {nulls} WHERE id = 2", "DELETE FROM t WHERE id = 3"):
            sql(table, change)
            for name in STREAMS:
                with pytest.raises(Refused, match=f"column '{TOO_FAR[0][0]}' ha[sd] .* which sink lake cannot hold"):
                    poll(project, name)
        assert marks(project) == before
        files = [p.name for p in (workspace / ".qbcd").rglob("*.parquet") if "batch" in str(p)]
        assert files == []


def test_a_consumer_in_python_that_begins_late(table: str, workspace: Path, spark: SparkSession) -> None:
    """Read waiting batches whose values were never checked against the consumer's types.

    Such a batch is refused, and the consumer can skip it.
    """
    with opened(config(table, *streams(*STREAMS), sinks={"changes": SINKS["changes"]}), workspace, spark) as project:
        for name in STREAMS:
            project.stream(name).prepare()
        for value in ("infinity", "2024-02-29", "2024-03-01"):
            sql(table, f"UPDATE t SET d = '{value}' WHERE id = 2")
            poll(project)
        for name in STREAMS:
            taken = []
            for batch in project.stream(name).poll():
                if batch.seq > 2:
                    taken += [row.after.d for row in batch.events.collect()]
                    continue
                said = (
                    f"batch {batch.header.epoch}/{batch.seq} is older than this consumer .* column 'd'.*skip the batch"
                )
                with pytest.raises(Refused, match=said):
                    batch.events.collect()
            assert taken == [dt.date(2024, 3, 1)]


def marks(project: Project) -> list[Any]:
    """Return the version, batch number and checkpoint of each stream; a step changes them."""
    rows = [parts_of(project).open_stream(name).site.context.row() for name in STREAMS]
    return [(row.version, row.last_batch_seq, row.checkpoint) for row in rows if row is not None]
