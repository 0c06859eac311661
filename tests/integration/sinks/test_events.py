"""Events made from staged rows, as JSON text and typed columns, for every kind.

Pinned reads.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.errors import QbcdError, Refused, SourceError
from qbcd.local.arrow import lines_of as lines_of_local
from qbcd.local.database import LocalDatabase
from qbcd.model import BatchHeader, Travel
from qbcd.model.wire import EVENT_FIELDS as FIELDS
from qbcd.spark.events import event_lines, events
from qbcd.spark.jdbc import JdbcFailure, explained, jdbc_failure, read_query
from qbcd.spark.provider import SparkProvider
from qbcd.spark.session import adopt_session, create_session, has_class
from tests.support import connect, sql
from tests.support.event_cases import DOUBLES, FLOATS, GOLDEN, KINDS, UNTYPED, cases, golden, named, side_by_side
from tests.support.local_batches import local_rows
from tests.support.staged_rows import header_of, staged_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def lines_of(spark: SparkSession, header: BatchHeader, rows: Sequence[Sequence[Any]]) -> list[str]:
    found = event_lines(staged_rows(spark, header, rows), header).collect()
    return [row["line"] for row in sorted(found, key=lambda row: int(row["ordinal"]))]


def parsed(spark: SparkSession, header: BatchHeader, rows: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines_of(spark, header, rows)]


def inserted(spark: SparkSession, kind: Travel, values: Sequence[Any]) -> list[Any]:
    """Return the JSON of `values`, each in a row of its own."""
    header = header_of([("k", Travel("int64")), ("v", kind)])
    rows = [("c", None, None, i, None, None, None, i, value) for i, value in enumerate(values)]
    return [event["after"]["v"] for event in parsed(spark, header, rows)]


def typed(spark: SparkSession, kind: Travel, values: Sequence[Any], cast: str = "") -> list[Any]:
    """Return `values` as typed columns, read through `cast`."""
    header = header_of([("k", Travel("int64")), ("v", kind)])
    rows = [("c", None, None, i, None, None, None, i, value) for i, value in enumerate(values)]
    found = events(staged_rows(spark, header, rows), header)
    value = found["after.v"].cast(cast) if cast else found["after.v"]
    return [row[1] for row in sorted(found.select("key.k", value.alias("v")).collect(), key=lambda row: int(row[0]))]


def test_every_op_has_its_shape(spark: SparkSession) -> None:
    header = header_of([("id", Travel("int64")), ("name", Travel("text")), ("n", Travel("int32"))], stream="s", seq=7)
    rows = [
        ("d", "restriction_exit", None, 0, None, 1, "a", 1, None, None, None),
        ("u", None, None, 1, "1,2", 2, "b", 2, 2, "B", None),
        ("c", "key_change", "9", 2, None, None, None, None, 3, None, 3),
        ("r", None, None, 3, None, None, None, None, 4, "r", 4),
    ]
    source = {
        "name": "shop",
        "table": "public.t",
        "strategy": "mds",
        "consistency": "snapshot",
        "epoch": 5,
        "batch_seq": 7,
    }

    def event(op: str, key: int, before: Any, after: Any, number: int, **more: Any) -> dict[str, Any]:
        named = {"changed": None, "reason": None, "pair_id": None, **more}
        images = {"key": {"id": key}, "before": before, "after": after}
        return {"op": op, **images, **named, "event_id": f"s:5:7:{number}", "source": source, "ts_ms": header.ts_ms}

    expected = [
        event("d", 1, {"id": 1, "name": "a", "n": 1}, None, 0, reason="restriction_exit"),
        event("u", 2, {"id": 2, "name": "b", "n": 2}, {"id": 2, "name": "B", "n": None}, 1, changed=["name", "n"]),
        event("c", 3, None, {"id": 3, "name": None, "n": 3}, 2, reason="key_change", pair_id="9"),
        event("r", 4, None, {"id": 4, "name": "r", "n": 4}, 3),
    ]
    found = parsed(spark, header, rows)
    assert found == expected
    assert all(tuple(event) == FIELDS for event in found)
    as_rows = [row.asDict(recursive=True) for row in events(staged_rows(spark, header, rows), header).collect()]
    assert sorted(as_rows, key=lambda event: str(event["event_id"])) == expected


def test_composite_key_follows_the_plan(spark: SparkSession) -> None:
    header = header_of([("a", Travel("text")), ("b", Travel("int64")), ("v", Travel("text"))], key=("b", "a"))
    rows = [("d", None, None, 0, None, "x", 1, "v", None, None, None)]
    assert list(parsed(spark, header, rows)[0]["key"].items()) == [("b", 1), ("a", "x")]


@pytest.mark.parametrize("arrays", [False, True])
def test_names_and_texts_are_escaped(spark: SparkSession, arrays: bool) -> None:
    (header, rows), images = named(arrays=arrays)
    lines = lines_of(spark, header, rows)
    assert [json.loads(line)["after"] for line in lines] == images
    assert [list(json.loads(line)["after"]) for line in lines] == [list(image) for image in images]
    assert all(len(line.splitlines()) == 1 for line in lines)
    found = sorted(events(staged_rows(spark, header, rows), header).select("event_id", "after").collect())
    assert {str(row[0]): row[1].asDict(recursive=True) for row in found} == {
        f"{header.stream}:{header.epoch}:{header.seq}:{i}": image for i, image in enumerate(images)
    }


def test_doubles_come_back_bit_by_bit(spark: SparkSession) -> None:
    found = inserted(spark, Travel("float64"), DOUBLES)
    assert [struct.pack("d", value) for value in found] == [struct.pack("d", value) for value in DOUBLES]


def test_floats_come_back_and_are_short(spark: SparkSession) -> None:
    found = inserted(spark, Travel("float32"), FLOATS)
    assert [struct.pack("f", value) for value in found] == [struct.pack("f", value) for value in FLOATS]
    assert repr(found[0]) == "0.1"


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_values_without_a_json_number_are_strings(spark: SparkSession, kind: Any) -> None:
    values = [math.nan, math.inf, -math.inf, None]
    assert inserted(spark, Travel(kind), values) == ["NaN", "Infinity", "-Infinity", None]


def test_json_of_each_kind(spark: SparkSession) -> None:
    cases = [(kind, wire, expected) for kind, wire, expected, _ in KINDS] + UNTYPED
    header, rows = side_by_side([case[0] for case in cases], [case[1] for case in cases])
    found = [event["after"] for event in parsed(spark, header, rows)]
    for i, (kind, _, expected) in enumerate(cases):
        assert repr([row[f"v{i}"] for row in found][: len(expected)]) == repr(expected), kind
        assert all(row[f"v{i}"] is None for row in found[len(expected) :]), kind


def test_typed_value_of_each_kind(spark: SparkSession) -> None:
    header, rows = side_by_side([case[0] for case in KINDS], [case[1] for case in KINDS])
    made = events(staged_rows(spark, header, rows), header).select("key.k", "after").collect()
    found = [row[1] for row in sorted(made, key=lambda row: int(row[0]))]
    for i, (kind, _, _, held) in enumerate(KINDS):
        assert [row[f"v{i}"] for row in found][: len(held)] == held, kind
        assert all(row[f"v{i}"] is None for row in found[len(held) :]), kind


def test_integers_are_not_written_as_floats(spark: SparkSession) -> None:
    header = header_of([("k", Travel("int64"))])
    assert (
        '"key":{"k":9223372036854775807}' in lines_of(spark, header, [("c", None, None, 0, None, None, 2**63 - 1)])[0]
    )


def test_zoned_time_is_the_instant(spark: SparkSession) -> None:
    texts = ["2021-03-28T02:30:00.123456Z", "0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z"]
    found = typed(spark, Travel("timestamptz"), texts, "string")
    assert found == ["2021-03-28 02:30:00.123456", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"]


@pytest.mark.parametrize(
    ("kind", "value", "ansi"),
    [
        (Travel("date"), "infinity", "true"),
        (Travel("date"), "infinity", "false"),
        (Travel("date"), "0044-03-15 BC", "true"),
        (Travel("date"), "12024-01-01", "true"),
        (Travel("timestamp"), "0000-01-01T00:00:00.000000", "true"),
        (Travel("array", element=Travel("date")), '["0044-03-15 BC"]', "true"),
        (Travel("timestamptz"), "0044-03-15 BC", "false"),
        (Travel("decimal", 4, 2), "123.45", "false"),
        (Travel("array", element=Travel("int64")), '"{{1},{2}}"', "false"),
        (Travel("array", element=Travel("int64")), "[1,", "false"),
        (Travel("array", element=Travel("int16")), "[1,70000]", "true"),
    ],
)
def test_a_value_that_does_not_fit_never_becomes_null(spark: SparkSession, kind: Travel, value: str, ansi: str) -> None:
    lenient = spark.newSession()
    lenient.conf.set("spark.sql.ansi.enabled", ansi)
    with pytest.raises(Exception, match=r"column v: not a value of type"):
        typed(lenient, kind, [value])


@pytest.mark.campaign
def test_golden_lines_are_those_of_spark(spark: SparkSession) -> None:
    """The local engine is compared with this file; `QBCD_UPDATE_GOLDEN=1` writes it."""
    found = {name: lines_of(spark, header, rows) for name, (header, rows) in cases().items()}
    if os.environ.get("QBCD_UPDATE_GOLDEN"):
        GOLDEN.write_text(json.dumps(found, indent=1) + "\n")
    assert found == golden()


def drawn_floats(kind: str) -> list[float]:
    draw, form = random.Random(kind), "d" if kind == "float64" else "f"
    size = struct.calcsize(form)
    bits = [struct.unpack(form, draw.randbytes(size))[0] for _ in range(20_000)]
    short = [struct.pack(form, float(f"{draw.randint(1, 9999)}e{draw.randint(-30, 30)}")) for _ in range(20_000)]
    least = [struct.unpack(form, i.to_bytes(size, "little"))[0] for i in range(1, 500)]
    measured = [struct.pack(form, draw.uniform(-1e6, 1e6)) for _ in range(20_000)]
    return [*bits, *(struct.unpack(form, value)[0] for value in (*short, *measured)), *least]


@pytest.mark.campaign
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_floats_are_equal_in_both_engines(spark: SparkSession, kind: Any, tmp_path: Path) -> None:
    """Java below 19 writes more digits than necessary for some; the values are equal."""
    header = header_of([("k", Travel("int64")), ("v", Travel(kind))])
    rows = [("c", None, None, i, None, None, None, i, value) for i, value in enumerate(drawn_floats(kind))]
    database = LocalDatabase(1 << 28, tmp_path)
    pieces = lines_of_local(local_rows(database, header, rows), header, range(len(rows)))
    local = [line for piece in pieces for line in piece]
    database.close()
    of_spark = lines_of(spark, header, rows)
    assert spark._jvm is not None
    if int(str(spark._jvm.System.getProperty("java.specification.version"))) >= 19:
        assert local == of_spark
    form = "d" if kind == "float64" else "f"
    for mine, theirs in zip(local, of_spark, strict=True):
        if mine != theirs:
            values = [json.loads(line)["after"]["v"] for line in (mine, theirs)]
            assert struct.pack(form, values[0]) == struct.pack(form, values[1])


@pytest.mark.campaign
def test_wide_tables_are_written(spark: SparkSession) -> None:
    columns = [("k", Travel("int64")), *[(f"c{i}", Travel("text")) for i in range(400)]]
    columns[200] = ("c199", Travel("array", element=Travel("int64")))
    header = header_of(columns)
    wire = [1, *["v"] * 400]
    wire[200] = "[1]"
    found = parsed(spark, header, [("c", None, None, 0, None, *[None] * 401, *wire)])[0]["after"]
    assert len(found) == 401
    assert found["c199"] == [1]


# -- pinned reads ------------------------------------------------------------------------------------------------------


def jdbc_url(url: str) -> str:
    return re.sub(r"^postgresql://\w+@", "jdbc:postgresql://", url)


OPTIONS = {"driver": "org.postgresql.Driver", "user": "postgres", "fetchsize": "100"}


def pins(snapshot: str) -> list[str]:
    return ["SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", f"SET TRANSACTION SNAPSHOT '{snapshot}'"]


def test_readers_see_the_pinned_snapshot(spark: SparkSession, database: str) -> None:
    sql(database, "create table t as select g as id, 0 as v from generate_series(1, 1000) g")
    parts = [f"id % 4 = {i}" for i in range(4)]
    with connect(database) as exporter, exporter.cursor() as cursor:
        cursor.execute("set transaction isolation level repeatable read read only")
        cursor.execute("select pg_export_snapshot()")
        (snapshot,) = cursor.fetchone() or ("",)
        pinned = read_query(
            spark,
            jdbc_url(database),
            OPTIONS,
            "select id, v from t",
            predicates=parts,
            init=["SET x.y = ';'", *pins(snapshot)],
        )
        sql(database, "update t set v = 1; delete from t where id <= 500")
        free = read_query(spark, jdbc_url(database), OPTIONS, "select id, v from t -- all of it")
        assert (pinned.count(), pinned.selectExpr("sum(v)").first()) == (1000, (0,))
        assert (free.count(), free.selectExpr("sum(v)").first()) == (500, (500,))
        assert pinned.rdd.getNumPartitions() == 4


@pytest.mark.parametrize("fetchsize", [None, "0", "-1", "many"])
def test_fetch_size_that_breaks_pins_is_refused(spark: SparkSession, fetchsize: str | None) -> None:
    options = {"driver": "org.postgresql.Driver"} | ({} if fetchsize is None else {"fetchsize": fetchsize})
    with pytest.raises(ValueError, match="at least 1"):
        read_query(spark, "jdbc:postgresql://127.0.0.1/x", options, "select 1")


def recording(failures: list[BaseException]) -> Any:
    """Return an explanation that records its arguments."""

    def explain(error: BaseException) -> QbcdError:
        failures.append(error)
        return SourceError("explained")

    return explain


def test_database_error_is_dug_out_of_a_running_job(spark: SparkSession, database: str) -> None:
    failures: list[BaseException] = []
    read = read_query(spark, jdbc_url(database), OPTIONS, "select 1 as a", init=pins("00000000-00000000-1"))
    with pytest.raises(SourceError, match="explained"):
        explained(read.collect, recording(failures))
    assert isinstance(failures[0], JdbcFailure)
    assert failures[0].sqlstate in ("22023", "42704")
    assert "snapshot" in failures[0].message
    assert "\tat " not in failures[0].message


def test_database_error_is_dug_out_of_analysis(spark: SparkSession, database: str) -> None:
    failures: list[BaseException] = []
    with pytest.raises(SourceError, match="explained"):
        explained(lambda: read_query(spark, jdbc_url(database), OPTIONS, "select no_such from t"), recording(failures))
    assert isinstance(failures[0], JdbcFailure)
    assert failures[0].sqlstate == "42P01"


def test_errors_of_others_pass(spark: SparkSession) -> None:
    failures: list[BaseException] = []
    with pytest.raises(Exception, match="RAISED"):
        explained(lambda: spark.sql("select raise_error('own')").collect(), recording(failures))
    assert not failures
    assert jdbc_failure(ValueError("x")) is None


# -- sessions ----------------------------------------------------------------------------------------------------------


class Settings:
    master = "local[2]"
    conf: dict[str, str] = {}  # noqa: RUF012  # never changed


def test_session_in_another_zone_is_refused_by_name(spark: SparkSession) -> None:
    other = spark.newSession()
    other.conf.set("spark.sql.session.timeZone", "America/New_York")
    with pytest.raises(Refused, match=r"timeZone America/New_York, not UTC.*spark\.conf\.set"):
        adopt_session(other)


def test_session_without_the_driver_is_refused_by_name(spark: SparkSession) -> None:
    assert has_class(spark, "org.postgresql.Driver")
    with pytest.raises(Refused, match=r"cannot load the JDBC driver org\.example\.Driver.*spark\.jars"):
        adopt_session(spark, ["org.postgresql.Driver", "org.example.Driver"])


def test_provider_uses_the_running_session_and_leaves_it_running(spark: SparkSession) -> None:
    provider = SparkProvider(Settings(), drivers=lambda: pytest.fail("no driver is needed"))
    states = [provider.started]
    assert provider.get().sparkContext is spark.sparkContext
    states.append(provider.started)
    provider.stop()
    assert [*states, provider.started] == [False, True, False]
    assert spark.range(3).count() == 3


def test_second_session_in_a_process_is_refused(spark: SparkSession) -> None:
    with pytest.raises(Refused, match="already runs a Spark session"):
        create_session(Settings(), [])


OWN_SESSION = """
from qbcd.errors import SparkFailed
from qbcd.spark.provider import SparkProvider
from qbcd.spark.session import create_session

class Settings:
    def __init__(self, master):
        self.master, self.conf = master, {}

asked = []
provider = SparkProvider(Settings("local[1]"), drivers=lambda: asked.append(1) or [])
assert not provider.started and not asked
spark = provider.get()
assert provider.get() is spark and asked == [1]
assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
assert spark.sparkContext._jvm.java.util.TimeZone.getDefault().getID() == "UTC"
assert spark.range(3).count() == 3
provider.stop()
assert spark.sparkContext._jsc is None
try:
    create_session(Settings("bogus"), [])
except SparkFailed as error:
    print(error)
"""


@pytest.mark.campaign
def test_a_session_of_our_own_is_quiet_and_stopped() -> None:
    done = subprocess.run([sys.executable, "-c", OWN_SESSION], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"Spark did not start on master bogus: .*bogus.* \(see the lines above.*\)\n", done.stdout)
    noise = [line for line in done.stderr.splitlines() if "bogus" not in line]
    assert [line for line in noise if "Setting default log level" in line or "WARN" in line] == []
