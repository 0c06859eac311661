"""A table of every type equals its own export by each writer in wide use; then exactly the changed rows differ."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

import qbcd
from qbcd import Project
from qbcd.comparison.compare import DiffResult
from tests.integration.files.test_diff import masked
from tests.support import maria_values, pg_values
from tests.support.exports import (
    EveryType,
    Export,
    Writer,
    by_duckdb,
    by_pandas,
    copy_csv,
    copy_text,
    every_type,
    outfile,
    outfile_csv,
    row_to_json,
)
from tests.support.places import Place


@dataclass(frozen=True)
class Case:
    """A writer, and the types that it writes."""

    write: Writer
    skip: Collection[str] = ()
    plain: bool = False
    streamed: bool = True


_ARRAYS = [t for t in pg_values.VALUES if t.endswith("[]")]
# JSON has one text of an object; arrays and empty texts are those of Python; time zones have other texts
_JSON = [*_ARRAYS, "json", "jsonb", "pair", "hstore", "int2vector", "oidvector"]
_PYTHON = [*_JSON, "interval", "oid", "time", "time(3)", "timetz", "daterange", "numrange", "int4range", "bytea"]
_PYTHON += ["int4multirange", "bigint", "counter", "xid8", "real", "double precision", "numeric"]
# pandas makes floats of whole numbers of which some are NULL, and objects of bytes and times
_WHOLE = [
    t
    for t in maria_values.VALUES
    if re.match("bigint|bit|.*(blob|binary)|time$|time[(]|float|double|decimal[(](65|39)", t)
]
CASES: dict[str, dict[str, Case]] = {
    "postgresql": {
        "copy_csv": Case(copy_csv),
        "copy_text": Case(copy_text),
        "row_to_json": Case(row_to_json, [t for t in _JSON if t not in ("json", "jsonb")], plain=True),
        "duckdb_csv": Case(by_duckdb("csv"), plain=True),
        "duckdb_parquet": Case(by_duckdb("parquet"), plain=True),
        "duckdb_jsonl": Case(by_duckdb("jsonl"), _JSON, plain=True),
        "pandas_csv": Case(by_pandas("csv"), _PYTHON, plain=True),
        "pandas_parquet": Case(by_pandas("parquet"), _PYTHON, plain=True, streamed=False),  # other types by value
    },
    "mariadb": {
        "outfile_csv": Case(outfile_csv),
        "outfile": Case(outfile),
        "pandas_csv": Case(by_pandas("csv"), _WHOLE, plain=True),
    },
}
DEFAULT = ("copy_csv", "outfile_csv")
# Types of which some values have several texts, so that the database and the file do not agree which rows changed.
VAGUE = {"numeric", "real", "double precision", "bpchar", "character(5)", "code", '"char"', "float", "double", "time"}
FEW, MANY = 4, 60


def changed_rows(table: EveryType, random_: random.Random) -> dict[int, str]:
    """Change some rows, and return their ops."""
    place, ops = table.place, dict[int, str]()
    for column in random_.sample(sorted(table.types), 5):
        one = random_.choice(table.literals[column])
        if table.types[column] in VAGUE or "[]" in table.types[column] or "float" in table.types[column]:
            continue
        row, text = random_.choice([1, 2]), "{}::text" if place.kind == "postgresql" else "hex({})"
        [(before,)] = place.sql(f"SELECT {text.format(column)} FROM {table.name} WHERE id = {row}")
        table.set(row, column, one)
        [(after,)] = place.sql(f"SELECT {text.format(column)} FROM {table.name} WHERE id = {row}")
        ops |= {row: "u"} if before != after else {}
    place.sql(f"DELETE FROM {table.name} WHERE id = 3")
    with place.connect() as conn:
        place.run(conn, f"INSERT INTO {table.name} (id) VALUES (999)")
    return {**ops, 3: "d", 999: "c"}


@dataclass
class Scene:
    """A table of every type, its writer, and an empty folder."""

    table: EveryType
    case: Case
    folder: Path
    url: str

    def export(self, name: str) -> Export:
        """Export the table into a file of its own."""
        (self.folder / name).mkdir()
        return self.case.write(self.table, self.folder / name)


@pytest.fixture
def scene(request: pytest.FixtureRequest, place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    name, rows = request.param
    case = CASES[place.kind][name]
    monkeypatch.chdir(workspace)
    table = every_type(place, "every", rows=rows, plain=case.plain, skip=case.skip)
    return Scene(table, case, workspace, f"{masked(place.url, monkeypatch)}#{place.table('every')}")


def over_writers() -> pytest.MarkDecorator:
    """Parametrize a test by database and writer."""
    cases = []
    for kind, known in CASES.items():
        for name in known:
            for count in (FEW, MANY):
                marks = [] if name in DEFAULT and count == FEW else [pytest.mark.campaign]
                cases.append(pytest.param(kind, (name, count), marks=marks, id=f"{kind}-{name}-{count}"))
    return pytest.mark.parametrize(("database", "scene"), cases, indirect=True)


@over_writers()
def test_a_table_equals_its_export_and_then_exactly_the_changed_rows_differ(scene: Scene) -> None:
    export = scene.export("1")
    with qbcd.diff(scene.url, str(export.path), format=export.form) as found:
        assert shown(found, scene.table) == []
        assert found.rows[0] == found.rows[1]
    if scene.case.streamed:
        prepare_stream(scene, export)
    ops = changed_rows(scene.table, random.Random(scene.url))
    with qbcd.diff(str(export.path), scene.url, format=export.form) as found:
        assert {e["key"]["id"]: e["op"] for e in found} == ops, shown(found, scene.table)
    if scene.case.streamed:
        shutil.copyfile(scene.export("2").path, scene.folder / f"d-2{export.path.suffix}")
        assert polled(scene, export) == ops


def shown(found: DiffResult, table: EveryType) -> list[Any]:
    """Return differences with the types of their columns."""
    return [
        (e["op"], e["key"], [(table.types[n], e["before"][n], e["after"][n]) for n in e["changed"] or ()][:5])
        for e in found
    ]


def project_of(scene: Scene, export: Export) -> Project:
    """Open a project with a stream of dumps like an export."""
    data = {
        "version": 1,
        "sources": {"dumps": {"files": f"d-*{export.path.suffix}", "quiet": "0s", "format": export.form}},
        "tables": [{"name": "every", "source": "dumps", "key": ["id"], "strategy": "dump", "sinks": ["out"]}],
        "sinks": {"out": {"type": "jsonl", "path": "out"}},
    }
    return Project.from_dict(data, base_dir=scene.folder)


def prepare_stream(scene: Scene, export: Export) -> None:
    """Prepare a stream, whose first dump is the export."""
    shutil.copyfile(export.path, scene.folder / f"d-1{export.path.suffix}")
    with project_of(scene, export) as project:
        project.stream("every").prepare()


def polled(scene: Scene, export: Export) -> dict[int, str]:
    """Poll once; return the ops of the events by key."""
    with project_of(scene, export) as project:
        assert project.run(once=True).exit_code == 0
    [path] = scene.folder.glob("out/every/*.jsonl")
    return {int(e["key"]["id"]): e["op"] for e in map(json.loads, path.read_text().splitlines())}


# Spark writes three digits of a second to text, and takes blanks off texts of CSV
_BLANKS = ["text", "varchar(20)", 'text COLLATE "C"', "citext", "bpchar", '"char"', "json"]
_NOT_IN_SPARK = ["uuid", "time"]
_SECONDS = ["timestamp", "timestamptz", "timestamp(3)", "stamp"]


@pytest.mark.campaign
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_table_equals_its_export_by_spark(
    kind: str, place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession
) -> None:
    skip = {"csv": [*_BLANKS, *_SECONDS], "json": [*_JSON, *_SECONDS], "parquet": []}[kind]
    table = every_type(place, "every", plain=True, skip=[*skip, *_NOT_IN_SPARK])
    by_duckdb("parquet")(table, workspace)
    frame = spark.read.parquet(str(workspace / "duckdb.parquet")).coalesce(1)
    options = {"header": True} if kind == "csv" else {}
    frame.write.format(kind).options(**options).save(str(workspace / "out"))
    [path] = workspace.glob(f"out/part-*.{kind}")
    form = {"csv": {"escape": "\\", "null": ""}}.get(kind, {})
    with qbcd.diff(f"{masked(place.url, monkeypatch)}#{place.table('every')}", str(path), format=form) as found:
        assert shown(found, table) == []


def test_lists_and_objects_of_parquet_are_delivered(workspace: Path) -> None:
    moments = pa.list_(pa.timestamp("us", tz="UTC"))
    data = {
        "version": 1,
        "sources": {"dumps": {"files": "d-*.parquet", "quiet": "0s"}},
        "tables": [{"name": "t", "source": "dumps", "key": ["id"], "strategy": "dump", "sinks": ["out", "copy"]}],
        "sinks": {
            "out": {"type": "jsonl", "path": "out"},
            "copy": {"type": "database", "url": f"duckdb:///{workspace}/t.duckdb", "mode": "mirror"},
        },
    }
    for number in (1, 2):
        values = {
            "id": [1, 2],
            "n": [[1, None], [number]],
            "f": [[1e16, 0.1, float("nan")], None],
            "m": pa.array([[datetime(2024, 2, 29, 1)], []], moments),
            "s": [{"b": 1, "a": None}, {"b": number, "a": "x"}],
        }
        parquet.write_table(pa.table(values), workspace / f"d-{number}.parquet")
        with Project.from_dict(data, base_dir=workspace) as project:
            if number == 1:
                project.stream("t").prepare()
            assert project.run(once=True).exit_code == 0
    *_, path = sorted((workspace / "out/t").glob("*.jsonl"))
    [event] = map(json.loads, path.read_text().splitlines())
    assert (event["changed"], event["after"]) == (
        ["n", "s"],
        {"id": 2, "n": [2], "f": None, "m": [], "s": '{"a":"x","b":2}'},
    )
    with duckdb.connect(str(workspace / "t.duckdb"), read_only=True) as connection:
        [(name,)] = connection.execute("SELECT table_name FROM duckdb_tables() WHERE table_name LIKE '%t'").fetchall()
        found = connection.execute(f'SELECT n, m[1]::VARCHAR, s FROM "{name}" ORDER BY id').fetchall()
    assert found == [([1, None], "2024-02-29 01:00:00+00", '{"a":null,"b":1}'), ([2], None, '{"a":"x","b":2}')]
