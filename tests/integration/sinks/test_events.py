"""Events made from staged rows, as JSON text and typed columns, for every kind.

Pinned reads.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import re
import struct
import subprocess
import sys
from collections.abc import Sequence
from decimal import Decimal
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.errors import QbcdError, Refused, SourceError
from qbcd.model import BatchHeader, Travel
from qbcd.model.wire import EVENT_FIELDS as FIELDS
from qbcd.spark.events import event_lines, events
from qbcd.spark.jdbc import JdbcFailure, explained, jdbc_failure, read_query
from qbcd.spark.provider import SparkProvider
from qbcd.spark.session import adopt_session, create_session, has_class
from tests.support import connect, sql
from tests.support.staged_rows import header_of, staged_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ODD_NAMES = [
    "k.1",
    'quo"te',
    "back`tick",
    "back\\slash",
    "new\nline",
    "line\u2028sep",
    "ключ",
    "a",
    "A",
    " ",
    "$x{}",
    "'",
]
TEXTS = [
    "",
    "null",
    "é😀",
    "\u2028\u2029\u0085",
    "\x01\x08\x0b\x0c\x1f\x7f",
    '"\\/\b\f\n\r\t',
    "\\",
    "\\u0041",
    "x" * 300_000,
    "{}",
    "a,b",
    "\ufeff",
    "\U0010ffff",
    " lead and trail ",
]
DOUBLES = [0.0, -0.0, 0.1, 1e22, 1e23, 5e-324, 1.7976931348623157e308, -2.5, 2.0**53, 9007199254740993.0, 4.35, 1e-7]
FLOATS = [0.1, 16777216.0, 3.4028234663852886e38, 1.401298464324817e-45, -1.1, 1e10, 0.3, 33554434.0]


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
        ("c", "key_change", 9, 2, None, None, None, None, 3, None, 3),
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
        event("c", 3, None, {"id": 3, "name": None, "n": 3}, 2, reason="key_change", pair_id=9),
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
    kinds = [Travel("int64"), *[Travel("text") for _ in ODD_NAMES[1:]]]
    columns = list(zip(ODD_NAMES, kinds, strict=True))
    if arrays:
        columns.insert(3, ('arr"\\', Travel("array", element=Travel("text"))))
        columns.append(("tail\n", Travel("array", element=Travel("text"))))
    header = header_of(columns)
    rows, images = [], []
    for i, text in enumerate(TEXTS):
        fragment = json.dumps([text, None], ensure_ascii=False)
        wire = [i if t.kind == "int64" else text if t.kind == "text" else fragment for _, t in columns]
        rows.append(("c", None, None, i, None, *([None] * len(columns)), *wire))
        images.append({n: i if t.kind == "int64" else text if t.kind == "text" else [text, None] for n, t in columns})
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


# Kind, wire values, values in JSON, values in the typed column; None if a value has no representation there.
KINDS: list[tuple[Travel, list[Any], list[Any], list[Any]]] = [
    (Travel("boolean"), [True, False, None], [True, False, None], [True, False, None]),
    (Travel("int16"), [-32768, 32767], [-32768, 32767], [-32768, 32767]),
    (Travel("int64"), [-(2**63), 2**63 - 1], [-(2**63), 2**63 - 1], [-(2**63), 2**63 - 1]),
    (Travel("uint64"), [Decimal(0), Decimal(2**64 - 1)], [0, 2**64 - 1], [Decimal(0), Decimal(2**64 - 1)]),
    (
        Travel("decimal", 38, 10),
        ["9999999999999999999999999999.0000000001", "1.0000000000"],
        ["9999999999999999999999999999.0000000001", "1.0000000000"],
        [Decimal("9999999999999999999999999999.0000000001"), Decimal(1)],
    ),
    (
        Travel("binary"),
        [bytearray(range(256)), bytearray()],
        [base64.b64encode(bytes(range(256))).decode(), ""],
        [bytearray(range(256)), bytearray()],
    ),
    (
        Travel("date"),
        ["2020-02-29", "0001-01-01", "9999-12-31"],
        ["2020-02-29", "0001-01-01", "9999-12-31"],
        [dt.date(2020, 2, 29), dt.date(1, 1, 1), dt.date(9999, 12, 31)],
    ),
    (
        Travel("timestamp"),
        ["2021-03-28T02:30:00.123456", "1582-10-10T00:00:00.000001"],
        ["2021-03-28T02:30:00.123456", "1582-10-10T00:00:00.000001"],
        [dt.datetime(2021, 3, 28, 2, 30, 0, 123456), dt.datetime(1582, 10, 10, 0, 0, 0, 1)],
    ),
    (Travel("time"), ["24:00:00.000000"], ["24:00:00.000000"], ["24:00:00.000000"]),
    (Travel("float64"), [-0.0, 5e-324, 1e22], [-0.0, 5e-324, 1e22], [-0.0, 5e-324, 1e22]),
    (
        Travel("array", element=Travel("decimal", 30, 20)),
        ['["1234567890.12345678901234567890", null]', "[]", None],
        [["1234567890.12345678901234567890", None], [], None],
        [[Decimal("1234567890.12345678901234567890"), None], [], None],
    ),
    (
        Travel("array", element=Travel("int64")),
        ["[9223372036854775807,-1]"],
        [[9223372036854775807, -1]],
        [[9223372036854775807, -1]],
    ),
    (Travel("array", element=Travel("boolean")), ["[true,false,null]"], [[True, False, None]], [[True, False, None]]),
    (
        Travel("array", element=Travel("float64")),
        ['[0.1,1e-7,"Infinity",1.7976931348623157e308]'],
        [[0.1, 1e-7, "Infinity", 1.7976931348623157e308]],
        [[0.1, 1e-7, math.inf, 1.7976931348623157e308]],
    ),
    (
        Travel("array", element=Travel("float32")),
        ["[0.1,16777216]"],
        [[0.1, 16777216]],
        [[struct.unpack("f", struct.pack("f", 0.1))[0], 16777216.0]],
    ),
    (
        Travel("array", element=Travel("text")),
        ['["null",null,"a\\"\\n","[]","true","007"]'],
        [["null", None, 'a"\n', "[]", "true", "007"]],
        [["null", None, 'a"\n', "[]", "true", "007"]],
    ),
    (Travel("array", element=Travel("date")), ['["2020-02-29"]'], [["2020-02-29"]], [[dt.date(2020, 2, 29)]]),
    (
        Travel("array", element=Travel("binary")),
        ['["AP8=",""]'],
        [["AP8=", ""]],
        [[bytearray(b"\x00\xff"), bytearray()]],
    ),
]
# Values that only JSON can represent, as text.
UNTYPED: list[tuple[Travel, list[Any], list[Any]]] = [
    (Travel("date"), ["infinity", "0044-03-15 BC"], ["infinity", "0044-03-15 BC"]),
    (Travel("timestamptz"), ["infinity", "2021-03-28T02:30:00.123456Z"], ["infinity", "2021-03-28T02:30:00.123456Z"]),
    (Travel("array", element=Travel("decimal", 4, 2)), ['"{{1.50},{2.00}}"', '["NaN"]'], ["{{1.50},{2.00}}", ["NaN"]]),
]


def side_by_side(kinds: Sequence[Travel], values: Sequence[Sequence[Any]]) -> tuple[BatchHeader, list[list[Any]]]:
    """Return a batch with a column per kind and its values in rows, NULL after the last one."""
    header = header_of([("k", Travel("int64")), *[(f"v{i}", kind) for i, kind in enumerate(kinds)]])
    images = [[i, *row] for i, row in enumerate(zip_longest(*values))]
    return header, [["c", None, None, i, None, *[None] * len(image), *image] for i, image in enumerate(images)]


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
