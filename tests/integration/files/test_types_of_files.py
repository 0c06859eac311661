"""Files of a series that give a column in different types: equal values are no changes, and the widest type stays."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from qbcd import Project
from qbcd.errors import QbcdError, SparkFailed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

D = pa.decimal128


class ParquetScene:
    """A stream of Parquet files with the columns `id` and `v`."""

    def __init__(self, folder: Path, strategy: Mapping[str, Any], form: Mapping[str, Any] | None = None) -> None:
        self.folder, self.number = folder, 0
        (folder / "in").mkdir()
        self.data: dict[str, Any] = {
            "version": 1,
            "sources": {"f": {"files": "in/f-*.parquet", "quiet": "0s", "format": dict(form or {})}},
            "sinks": {"out": {"type": "jsonl", "path": "out"}},
            "tables": [
                {"name": "s", "source": "f", "key": ["id"], "strategy": {"type": "dump", **strategy}, "sinks": ["out"]}
            ],
        }

    def open(self) -> Project:
        return Project.from_dict(self.data, base_dir=self.folder)

    def put(self, values: Sequence[Any], kind: pa.DataType, key: pa.DataType | None = None) -> None:
        """Write the next file."""
        self.number += 1
        ids = pa.array(range(1, len(values) + 1), key or pa.int64())
        column = values if isinstance(values, pa.Array) else pa.array(values, kind)
        path = self.folder / "in" / f"f-{self.number}.parquet"
        parquet.write_table(pa.table({"id": ids, "v": column}), path)
        os.utime(path, (self.number, self.number))

    def prepare(self) -> None:
        with self.open() as project:
            project.stream("s").prepare()

    def poll(self) -> tuple[QbcdError | None, list[dict[str, Any]]]:
        """Poll; return the error, and the events of all batches so far."""
        with self.open() as project:
            error = project.run(once=True).outcomes[0].error
            if error is None:
                assert list(project.stream("s").verify()) == []
        lines = [line for path in sorted((self.folder / "out").glob("s/*.jsonl")) for line in path.open()]
        return error, [json.loads(line) for line in lines]

    def type(self) -> str:
        """Return the type of the column by the checkpoint."""
        with self.open() as project:
            stream = project._parts.open_stream("s")
            row = stream.site.context.row()
            assert row is not None
            return str(row.checkpoint["shape"]["columns"][1][1])


NOON = datetime(2026, 1, 2, 12)
EQUAL: list[tuple[str, Any, pa.DataType, Any, pa.DataType, Any, str]] = [
    # name, first values and type, then equal values of another type, another value of it, the stream's type after it
    ("longer", [1, None, 3], pa.int32(), [1, None, 3], pa.int64(), 1 << 40, "integer"),
    ("shorter", [1, None, 3], pa.int64(), [1, None, 3], pa.int8(), 7, "integer"),
    ("unsigned", [1, None, 3], pa.int32(), [1, None, 3], pa.uint32(), (1 << 32) - 1, "integer"),
    ("as pandas has NULL", [1, None, 3], pa.int64(), [1, None, 3], pa.float64(), 7.0, "integer"),
    ("whole", [1.0, None, 3.0], pa.float64(), [1, None, 3], pa.int64(), 7, "double"),
    ("double", [1.5, None, 0.1], pa.float32(), [1.5, None, pa.scalar(0.1, pa.float32()).as_py()], pa.float64(), 0.1,
     "double"),
    ("float", [1.5, None, float("nan")], pa.float64(), [1.5, None, float("nan")], pa.float32(), 2.5, "double"),
    ("digits", [Decimal("1.50"), None, Decimal("3.00")], D(5, 2), [Decimal("1.50"), None, Decimal("3.00")], D(12, 2),
     Decimal("9999999.99"), "decimal(12,2)"),
    ("scale", [Decimal("1.50"), None, Decimal("3.00")], D(5, 2), [Decimal("1.500"), None, Decimal("3.000")], D(8, 3),
     Decimal("1.005"), "decimal(8,3)"),
    ("whole decimal", [Decimal(1), None, Decimal(3)], D(5, 0), [Decimal("1.0"), None, Decimal("3.0")], D(5, 1),
     Decimal("1.5"), "decimal(6,1)"),
    ("fewer", [Decimal("1.500"), None, Decimal("3.000")], D(8, 3), [Decimal("1.5"), None, Decimal("3.0")], D(5, 1),
     Decimal("7.5"), "decimal(8,3)"),
    ("integer", [Decimal("1.00"), None, Decimal("3.00")], D(8, 2), [1, None, 3], pa.int64(), 7, "decimal(8,2)"),
    ("date64", [date(2026, 1, 2), None, None], pa.date32(), [date(2026, 1, 2), None, None], pa.date64(),
     date(2027, 1, 2), "date"),
    ("midnight", [date(2026, 1, 2), None, None], pa.date32(), [datetime(2026, 1, 2), None, None], pa.timestamp("ns"),
     datetime(2027, 1, 2), "date"),
    ("day", [datetime(2026, 1, 2), None, NOON], pa.timestamp("us"), [datetime(2026, 1, 2), None, NOON],
     pa.timestamp("s"), datetime(2027, 1, 2), "timestamp"),
    ("large text", ["a", None, "c"], pa.string(), ["a", None, "c"], pa.large_string(), "d", "text"),
    ("dictionary", ["a", None, "c"], pa.string(), pa.array(["a", None, "c"]).dictionary_encode(),
     pa.dictionary(pa.int32(), pa.string()), "d", "text"),
    ("no type", [None, None, None], pa.null(), [None, None, None], pa.int32(), 7, "int"),
    ("only NULL", [None, None, None], pa.int32(), [None, None, None], pa.null(), None, "int"),
]  # fmt: skip


@pytest.mark.parametrize("method", ["join", "window", "spark"])
@pytest.mark.parametrize(("first", "one", "second", "other", "after", "kind"), [c[1:] for c in EQUAL],
                         ids=[c[0] for c in EQUAL])  # fmt: skip
@pytest.mark.campaign
def test_equal_values_of_another_type(
    workspace: Path, spark: SparkSession, method: str, first: Any, one: pa.DataType, second: Any, other: pa.DataType,
    after: Any, kind: str,
) -> None:  # fmt: skip
    scene = ParquetScene(workspace, {"method": "join" if method == "spark" else method})
    if method == "spark":
        scene.data["defaults"] = {"engine": "spark"}
    scene.put(first, one)
    scene.prepare()
    scene.put(second, other)
    if method == "spark" and one == pa.null():  # kept as text, which Spark reads as no other type
        error, events = scene.poll()
        assert isinstance(error, SparkFailed)
        assert events == []
        scene.data["defaults"] = {"engine": "local"}
        assert scene.poll() == (None, [])
        return
    assert scene.poll() == (None, []), "equal values are no changes"
    if after is None:
        return
    values = [*(second.to_pylist() if isinstance(second, pa.Array) else second)[:2], after]
    scene.put(values, other if not pa.types.is_dictionary(other) else pa.string())
    error, events = scene.poll()
    assert error is None
    assert [(event["op"], event["key"]["id"], event["changed"]) for event in events] == [("u", 3, ["v"])]
    assert scene.type() == kind
    scene.put(values, other if not pa.types.is_dictionary(other) else pa.string())
    assert scene.poll() == (None, events)
    scene.put(first, one)  # the first type again
    error, events = scene.poll()
    assert error is None
    assert [event["op"] for event in events] == ["u", "u"]


def test_types_that_change_in_one_series(workspace: Path) -> None:
    """A walk through the kinds: widened, narrowed, without a type, and refused with its row."""
    scene = ParquetScene(workspace, {})
    scene.put([None, None], pa.null())
    with scene.open() as project:
        [warning] = [one.message for one in project.check("s") if one.level == "warning" and one.stream]
    assert warning.startswith("column v has no type in f-1.parquet, only NULL: it is text until a file has a type")
    scene.prepare()
    for values, kind, events, stored in (
        ([None, 5], pa.int16(), 1, "smallint"),
        ([None, 5], pa.int64(), 1, "smallint"),  # without changes, replica and type stay
        ([1 << 40, 5], pa.int64(), 2, "integer"),
        ([1 << 40, 5], pa.float64(), 2, "integer"),
        ([None, None], pa.null(), 4, "integer"),
    ):
        scene.put(values, kind)
        error, found = scene.poll()
        assert (error, len(found), scene.type()) == (None, events, stored)
    scene.put([1, 1.5], pa.float64())
    error, found = scene.poll()
    assert "f-7.parquet: row 2: column v has 1.5, which has no equal value of its type integer" in str(error)
    scene.number -= 1
    scene.put(["1", "2"], pa.string())
    error, found = scene.poll()
    assert "f-7.parquet: column v is text now and was integer" in str(error)
    scene.number -= 1
    scene.data["sources"]["f"]["format"] = {"type": "parquet", "types": {"v": "integer"}}
    scene.put(["1", "2"], pa.string())
    error, found = scene.poll()
    assert error is None
    assert [event["after"]["v"] for event in found[4:]] == [1, 2]


def test_texts_of_keys_and_digests_stay(workspace: Path) -> None:
    """Digests have the text of a value: whole numbers may widen, a scale may not."""
    scene = ParquetScene(workspace, {"replica": "digest"})
    scene.put([Decimal("1.50"), None], D(5, 2), pa.int32())
    scene.prepare()
    scene.put([Decimal("1.500"), None], D(8, 3), pa.int64())
    assert scene.poll() == (None, [])
    scene.put([Decimal("1.505"), None], D(8, 3))
    error, _ = scene.poll()
    assert "row 1: column v has 1.505, which has no equal value of its type decimal(7,2)" in str(error)
