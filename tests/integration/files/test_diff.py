"""`qbcd diff` and `qbcd.diff`: files, tables of a real server, and what the first call kept."""

from __future__ import annotations

import json
import os
import random
import re
import uuid
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy
from pyarrow import parquet

import qbcd
from qbcd.comparison.compare import METHODS
from qbcd.errors import ConfigError, DumpRefused, LocalOutOfMemory, QbcdError, UnsafeKey, UnsupportedType
from qbcd.files.formats import nested
from qbcd.snapshots import feeds
from tests.support import sql
from tests.support.cli import Cli
from tests.support.places import Place, over

OLD = "id,name,amount\n1,ann,1.50\n2,bob,2.00\n3,cat,\n"
NEW = "id,name,amount\n1,ann,1.50\n3,cat,7\n4,dan,1\n"


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys)


@pytest.fixture
def folder(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("COLUMNS", "80")
    Path("a.csv").write_text(OLD)
    Path("b.csv").write_text(NEW)
    return workspace


def test_two_files(folder: Path, cli: Cli) -> None:
    ran = cli("diff", "a.csv", "b.csv", "--key", "id", "-o", "out.jsonl")
    assert ran.code == 4
    assert "1 insert, 1 update, 1 delete; 3 and 3 rows, key id" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    events = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [(e["op"], e["key"], e["changed"]) for e in events] == [
        ("d", {"id": "2"}, None),
        ("u", {"id": "3"}, ["amount"]),
        ("c", {"id": "4"}, None),
    ]
    assert events[1]["before"] == {"id": "3", "name": "cat", "amount": None}
    as_json = cli("diff", "a.csv", "b.csv", "--key", "id", "--json")
    assert (as_json.code, [line["op"] for line in as_json.lines]) == (4, ["d", "u", "c"])
    same = cli("diff", "a.csv", "a.csv", "--key", "id")
    assert (same.code, "no difference; 3 and 3 rows" in same.out) == (0, True)
    assert not list(folder.glob("**/.qbcd"))


def test_one_operand_is_compared_with_what_the_first_call_kept(folder: Path, cli: Cli) -> None:
    assert cli("diff", "a.csv", "--key", "id").out == "kept 3 rows of a.csv; the next call compares with them\n"
    Path("a.csv").write_text(NEW)
    for code in (4, 4):  # the rows of the first call stay
        assert cli("diff", "a.csv", "--key", "id").code == code
    assert cli("diff", "a.csv", "--key", "id", "--keep", "-o", "none/out.jsonl").code == 2  # nobody got the events
    assert cli("diff", "a.csv", "--key", "id", "--keep").code == 4
    assert cli("diff", "a.csv", "--key", "id").code == 0
    [kept] = Path(".qbcd/diff").iterdir()
    next(kept.glob("*.parquet")).write_bytes(b"")
    assert "the rows that an earlier call kept are damaged" in cli("diff", "a.csv", "--key", "id").err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["a.csv", "b.csv"], 2, "the rows have no key (name the columns that identify a row: --key id"),
        (["a.csv", "b.csv", "--key", "idd"], 2, 'a.csv has no column "idd" (it has id, name, amount)'),
        (["a.csv", "x.csv", "--key", "id"], 2, 'there is no file "x.csv"'),
        (["a.csv", "b.csv", "--key", "id", "--method", "magic"], 2, "there is no method 'magic'"),
        (["a.csv", "b.csv", "--key", "id", "--memory", "lots"], 2, "memory: not a size (write it as 64MB"),
        (["a.csv", "b.csv", "--key", "id", "--format", "{delimeter: x}"], 2, "format.delimeter: there is no such key"),
        (["a.csv", "b.csv", "--key", "id", "--format", "foo"], 2, "--format is no mapping of keys and values"),
        (["a.csv", "b.csv", "--key", "id", "--columns", "name", "--exclude", "amount"], 2, "cannot both be given"),
        (["a.csv", "c.csv", "--key", "id"], 2, "c.csv has a column 'more', which a.csv does not have"),
        (["a.csv", "d.csv", "--key", "id"], 3, "d.csv: the key is not unique: id 1 occurs 2 times"),
        (["a.csv", "e.csv", "--key", "id"], 3, "e.csv, line 2: the last line has no line end"),
        (["postgresql://u:secret@h/d#t", "b.csv"], 2, "there is a literal password in the URL"),
        (["postgresql://u@h/d", "b.csv"], 2, "the URL names no table"),
        (["a.csv", "s.csv", "--key", "id"], 2, "write --format '{delimiter: \";\"}')"),
        (["a.csv", "part", "--key", "id"], 2, '"part" is a folder (name the file in it'),
        (["a.csv", "q.csv", "--key", "id"], 3, "q.csv, line 2: has a backslash in quotes, which can be a character or"),
        (["a.csv", "b.csv", "--key", "id", "-o", "no/out.jsonl"], 2, "no/out.jsonl cannot be written: No such file"),
        (["a.csv", "b.csv", "--key", "id", "-o", "pipe"], 2, "pipe cannot be written: not a regular file"),
    ],
)
def test_refusals(folder: Path, cli: Cli, arguments: list[str], code: int, message: str) -> None:
    Path("c.csv").write_text("id,name,amount,more\n1,a,1,2\n")
    Path("d.csv").write_text("id,name,amount\n1,a,1\n1,b,2\n")
    Path("e.csv").write_text("id,name,amount\n1,a,1")
    Path("s.csv").write_text("id;name;amount\n1;a;1\n")
    Path("q.csv").write_text('id,name,amount\n1,"a\\" b",1\n')
    Path("part").mkdir()
    os.mkfifo("pipe")
    ran = cli("diff", *arguments)
    assert (ran.code, message in ran.err) == (code, True), ran.err
    assert not re.search(r"\b(poll|stream|`format`)", ran.err)
    assert "secret" not in ran.err + ran.out


def nested_file(path: str, second: int) -> None:
    """Write columns of types that a comparison makes texts of, and of one that it cannot compare."""
    values = {
        "id": [1, 2],
        "l": pa.array([[1, None], [second]]),
        "s": [{"b": 1.5, "a": "x"}, {"b": None, "a": str(second)}],
        "m": pa.array([[("k", 1)], [("k", second)]], pa.map_(pa.string(), pa.int64())),
        "d": pa.array([Decimal(1), Decimal(second)], pa.decimal256(50, 2)),
        "t": pa.array([timedelta(hours=-25), timedelta(seconds=second)]),
        "u": pa.array([uuid.UUID(int=1).bytes, uuid.UUID(int=second).bytes], pa.uuid()),
    }
    parquet.write_table(pa.table(values), path)


def test_parquet_of_all_types(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nested_file("a.parquet", 2)
    nested_file("b.parquet", 3)
    with qbcd.diff("a.parquet", "b.parquet", key="id") as found:
        [event] = found
    assert event["changed"] == ["l", "s", "m", "d", "t", "u"]
    assert [event["before"][name] for name in event["changed"]] == [
        [2],
        '{"a":"2","b":null}',
        '{"k":2}',
        "2.00",
        "00:00:02.000000",
        str(uuid.UUID(int=2)),
    ]
    for options in ({"columns": "id"}, {"exclude": ["l", "s", "m", "d", "t", "u"]}):
        with qbcd.diff("a.parquet", "b.parquet", key="id", **options) as found:
            assert list(found) == []
    monkeypatch.setattr(nested, "_has_json", lambda kind: False)  # a type that has no text
    with pytest.raises(UnsupportedType, match=r"column s is struct<.*>, which cannot be compared") as refused:
        qbcd.diff("a.parquet", "b.parquet", key="id", exclude=["l", "m"])
    assert refused.value.remedy == "leave it out: --exclude s"
    with qbcd.diff("a.parquet", "b.parquet", key="id", exclude=["l", "s", "m"]) as found:
        assert [e["changed"] for e in found] == [["d", "t", "u"]]


def test_a_column_that_cannot_be_compared_is_left_out(
    folder: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is of type aclitem, which only PostgreSQL has."""
    sql(database, "CREATE TABLE public.item (id integer PRIMARY KEY, name varchar(20), rights aclitem)")
    sql(database, "INSERT INTO public.item VALUES (1, 'ann', NULL)")
    Path("item.csv").write_text("id,name\n1,ann\n")
    url = f"{masked(database, monkeypatch)}#public.item"
    with pytest.raises(UnsupportedType, match="'rights' of type aclitem cannot be compared") as refused:
        qbcd.diff(url, "item.csv")
    assert refused.value.remedy == "leave it out: --exclude rights"
    for options in ({"exclude": "rights"}, {"columns": "name"}):
        with qbcd.diff(url, "item.csv", **options) as found:
            assert list(found) == []


def test_numbers_in_json_are_compared_as_they_are_written(folder: Path) -> None:
    Path("a.jsonl").write_text('{"id":1,"v":[12345678901234567890.25]}\n{"id":2,"v":{"a":0.1}}\n{"id":3,"v":[1e400]}\n')
    Path("b.jsonl").write_text(
        '{"id":1,"v":[12345678901234567890.75]}\n{"id":2,"v":{"a":0.10000000000000001}}\n{"id":3,"v":[-1e400]}\n'
    )
    with qbcd.diff("a.jsonl", "b.jsonl", key="id") as found:
        assert [(e["op"], e["before"]["v"], e["after"]["v"]) for e in found] == [
            ("u", "[12345678901234567890.25]", "[12345678901234567890.75]"),
            ("u", '{"a":0.1}', '{"a":0.10000000000000001}'),
            ("u", "[1e400]", "[-1e400]"),
        ]


def test_empty_texts_blanks_and_null_look_different(folder: Path, cli: Cli) -> None:
    Path("a.csv").write_text('id,v\n1,\n2,"null"\n3,x\n')
    Path("b.csv").write_text('id,v\n1,""\n2,\n3,"x "\n')
    shown = cli("diff", "a.csv", "b.csv", "--key", "id").out
    for change in ('v: null → ""', 'v: "null" → null', 'v: x → "x "'):
        assert change in shown


def test_timestamps_of_spark_are_in_utc(folder: Path) -> None:
    moment = datetime(3000, 2, 28, 1, 2, 3, 500_000)  # beyond the nanoseconds that Arrow reads by default
    old = pa.table({"id": [1], "t": pa.array([moment], pa.timestamp("us"))})
    parquet.write_table(old, "a.parquet", use_deprecated_int96_timestamps=True)
    parquet.write_table(pa.table({"id": [1], "t": pa.array([moment], pa.timestamp("us", tz="UTC"))}), "b.parquet")
    for names in (("a.parquet", "b.parquet"), ("b.parquet", "a.parquet"), ("a.parquet", "a.parquet")):
        with qbcd.diff(*names, key="id") as found:
            assert list(found) == []


@over(elsewhere=[])
def test_a_file_and_a_table(folder: Path, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    item, other = place.table("item"), place.table("other")
    place.sql(f"CREATE TABLE {item} (id integer PRIMARY KEY, name varchar(20), amount numeric(10, 2), at date)")
    place.sql(f"INSERT INTO {item} VALUES (1, 'ann', 1.5, '2026-11-27'), (2, 'bob', NULL, NULL), (3, 'x', 7, NULL)")
    Path("item.csv").write_text('id,name,amount,at\n1,ann,1.50,2026-11-27\n2,bob,,\n3,"",7.00,\n')
    url = f"{masked(place.url, monkeypatch)}#{item}"
    with qbcd.diff(url, "item.csv") as found:  # the table proves the key, and has the types
        assert [(e["op"], e["key"], e["before"]["name"], e["after"]["name"]) for e in found] == [
            ("u", {"id": 3}, "x", "")
        ]
    Path("item.csv").write_text("id,name,amount,at\n1,ann,1.50,2026-11-27\n2,bob,a lot,\n")
    with pytest.raises(DumpRefused, match="line 3: column amount has 'a lot', which is not a decimal"):
        qbcd.diff("item.csv", url)
    place.sql(f"CREATE TABLE {other} (id bigint PRIMARY KEY, name varchar(30), amount numeric(12, 3), at date)")
    place.sql(f"INSERT INTO {other} VALUES (1, 'ann', 1.5, '2026-11-27'), (2, 'bob', NULL, NULL), (3, 'x', 8, NULL)")
    with qbcd.diff(url, url.replace("item", "other")) as found:
        assert [(e["op"], e["changed"]) for e in found] == [("u", ["amount"])]


def masked(url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the URL with its password as a placeholder."""
    from sqlalchemy.engine import make_url

    parsed = make_url(url)
    if not parsed.password:
        return url
    monkeypatch.setenv("DIFF_PASSWORD", str(parsed.password))
    user = parsed.set(password="PLACE").render_as_string(hide_password=False)
    return user.replace(":PLACE@", ":${env:DIFF_PASSWORD}@")


NAMES = [None, "", "a", "ä", "x,y", 'q"q', "two\nlines", " blank "]


def drawn(random_: random.Random, count: int) -> dict[int, tuple[str | None, float | None]]:
    keys = random_.sample(range(count * 2), count)
    return {key: (random_.choice(NAMES), random_.choice([None, 0.0, 0.5, 1e300])) for key in keys}


def written(path: Path, rows: dict[int, tuple[str | None, float | None]]) -> str:
    if path.suffix == ".parquet":
        names, values = ([row[i] for row in rows.values()] for i in (0, 1))
        table = pa.table(
            {"id": pa.array(list(rows)), "n": pa.array(names, pa.string()), "v": pa.array(values, pa.float64())}
        )
        parquet.write_table(table, path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps({"id": k, "n": n, "v": v}) + "\n" for k, (n, v) in rows.items()))
    else:
        quoted: dict[str | None, str] = {n: '"' + n.replace('"', '""') + '"' for n in NAMES if n is not None}
        quoted[None] = ""
        lines = [f"{k},{quoted[n]},{'' if v is None else v}\n" for k, (n, v) in rows.items()]
        path.write_text("id,n,v\n" + "".join(lines), newline="")
    return str(path)


TYPES = {"id": "integer", "v": "double"}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.campaign) for seed in range(1, 60))])
def test_drawn_files_against_an_oracle(folder: Path, seed: int) -> None:
    random_ = random.Random(seed)
    old, new = drawn(random_, random_.choice([1, 30, 400])), drawn(random_, random_.choice([1, 30, 400]))
    for key in random_.sample(sorted(old), len(old) // 2):
        new[key] = old[key]
    sides = [folder / f"{name}{random_.choice(['.csv', '.jsonl', '.parquet'])}" for name in ("old", "new")]
    forms = {path.suffix for path in sides}
    form: dict[str, Any] = {} if forms == {".parquet"} else {"types": TYPES}
    method = random_.choice(["join", "nl", "sm", "ph", "hh", "window", "ordered"])
    names = written(sides[0], old), written(sides[1], new)
    with qbcd.diff(*names, key="id", method=method, format=form) as found:
        events = {(e["op"], e["key"]["id"]): e for e in found}
    expected = {("d", k) for k in old.keys() - new.keys()} | {("c", k) for k in new.keys() - old.keys()}
    expected |= {("u", k) for k in old.keys() & new.keys() if old[k] != new[k]}
    assert events.keys() == expected
    for (op, key), event in events.items():
        for image, rows in (("before", old), ("after", new)):
            if event[image] is not None:
                assert (event[image]["n"], event[image]["v"]) == rows[key], (op, key)


BY_DIGEST = {"smc1", "phc1", "growing", "stagnant", "shrinking", "similar"}


@pytest.mark.parametrize(
    "method", [m if m in ("ph", "phc1") else pytest.param(m, marks=pytest.mark.campaign) for m in METHODS]
)
def test_every_method_finds_the_same(folder: Path, method: str) -> None:
    with qbcd.diff("a.csv", "b.csv", key="id") as found:
        expected = list(found)
    with qbcd.diff("a.csv", "b.csv", key="id", method=method) as found:
        events = list(found)
    assert [(e["op"], e["key"], e["after"]) for e in events] == [(e["op"], e["key"], e["after"]) for e in expected]
    assert [e["before"] for e in events] == ([None] * 3 if method in BY_DIGEST else [e["before"] for e in expected])


def test_explain_has_the_planners_blocks_of_each_method(folder: Path, cli: Cli) -> None:
    """The formulas of the paper, to the unit, for files of 1,024 blocks."""
    for name in ("x.csv", "y.csv"):
        Path(name).write_text("id,v\n" + "1,2\n" * ((1024 * 16384 - 5) // 4))
    arguments = ("x.csv", "y.csv", "--key", "id", "--explain", "--json")
    text = cli("diff", *arguments).data["blocks"]
    named = {name: int(blocks.replace(",", "")) for name, blocks in re.findall(r"(\w+) ([\d,]*\d)\b", text)}
    assert {n: named[n] for n in ("window", "ordered", "ph", "sm")} == {
        "window": 2048,
        "ordered": 2048,
        "ph": 4096,
        "sm": 5120,
    }
    rows, full = 1024 * 16384 / 150, 1024
    small, pointers = rows * 24 / 16384, rows * 32 / 16384
    assert named["phc1"] == round(full + 2 * small), "the entries fit into 128 MB"
    assert named["smc2"] == round(full + 4 * pointers + 0.01 * rows)
    assert named["phc1"] == named["growing"] < named["window"] < named["smc1"] < named["ph"]
    less = cli("diff", *arguments, "--memory", "64MB").data["blocks"]
    assert f"phc1 {round(3 * full + 2 * small):,}" in less


def test_auto_chooses_by_the_sizes_and_by_the_last_comparison(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    explained = " ".join(cli("diff", "a.csv", "b.csv", "--key", "id", "--explain").out.split())
    assert "auto, by the sizes of the files join" in explained and "Both sides fit into memory" in explained
    assert "with kept digests" in explained
    cli("diff", "a.csv", "--key", "id")
    monkeypatch.setattr(feeds, "_JOIN_BYTES", 1 << 40)
    with qbcd.diff("a.csv", key="id") as found:
        assert (found.method, len(found)) == ("window", 0)
    [kept] = folder.glob(".qbcd/diff/*/compared.json")
    figures = json.loads(kept.read_text())
    assert (figures["method"], figures["rows"], figures["waiting"]) == ("window", 3, 0)
    kept.write_text(json.dumps({**figures, "waiting": 10**9}))
    assert "at most 1,000,000,000 rows waited" in " ".join(cli("diff", "a.csv", "--key", "id", "--explain").out.split())
    Path("a.csv").write_text(NEW)
    with qbcd.diff("a.csv", key="id") as found:
        assert (found.method, found.counts) == ("hh", {"c": 1, "u": 1, "d": 1})


def test_a_key_that_occurs_several_times_is_paired_by_a_method(folder: Path) -> None:
    Path("a.csv").write_text("id,n\n1,ann\n1,bob\n1,bob\n3,cat\n")
    Path("b.csv").write_text("id,n\n1,bob\n1,cid\n3,cat\n1,x\n1,y\n")
    with qbcd.diff("a.csv", "b.csv", key="id", method="ph") as found:
        events = [(e["op"], e["before"] and e["before"]["n"]) for e in found]
    assert sorted(events, key=str) == [("c", None), ("u", "ann"), ("u", "bob")]


def test_too_little_memory_names_the_option(folder: Path) -> None:
    Path("d.csv").write_text("id,name,amount\n" + "".join(f"{i},{i:0100},1\n" for i in range(30_000)))
    with pytest.raises(LocalOutOfMemory) as failed:
        qbcd.diff("a.csv", "d.csv", key="id", memory="4MB")
    assert failed.value.remedy == "give more than 4MB: --memory"


@pytest.mark.parametrize(("database", "named"), [("shop?connect_timeout=1", "shop"), ("a%20b", "database")])
def test_errors_name_the_database_of_an_operand(database: str, named: str, folder: Path) -> None:
    said = rf"source {named} \(127\.0\.0\.1:1\) cannot be reached"
    if "%" in database and sqlalchemy.__version__.startswith("2.0."):
        said = "SQLAlchemy 2.0 does not decode a percent-encoded name of a database"
    with pytest.raises(QbcdError, match=said):
        qbcd.diff("a.csv", f"postgresql://reader@127.0.0.1:1/{database}#public.t", key="id")


def test_python_options(folder: Path) -> None:
    Path("d.csv").write_text("id,name,amount\n1,a,1\n2,b,1\n")
    with pytest.raises(UnsafeKey, match="the key is not unique: amount 1 occurs 2 times"):
        qbcd.diff("b.csv", "d.csv", key="amount")
    with pytest.raises(ConfigError, match="there is no option 'mode'"):
        qbcd.diff("a.csv", "b.csv", key="id", mode="x")
    with qbcd.diff(folder / "a.csv", folder / "b.csv", key=("id",), exclude="amount", memory="64MB") as found:
        assert (bool(found), len(found), found.counts, found.rows) == (True, 2, {"c": 1, "d": 1}, (3, 3))
