"""Functions of the local engine, against the same functions in plain Python, and its files."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from qbcd.local.database import LocalDatabase
from qbcd.local.parquet_rows import text
from qbcd.model import KeyRange, RowSelection
from qbcd.ranges.leaves import EVERY
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.local import parquet
from qbcd.sites.lake.engines.local.engine import LocalEngine
from qbcd.sites.lake.engines.local.spelling import spelled
from tests.support.engine_results import Drawn, Results, expected
from tests.support.engine_rows import Hand, Row, draw, events_of, fields_of, plan_of

NUMBERS = [("range_id", "bigint"), ("key_id", "binary"), ("digest", "bigint"), ("c0", "bigint")]


@pytest.fixture
def hand(tmp_path: Path) -> Hand:
    return Hand.local(tmp_path)


def database_of(hand: Hand) -> Any:
    assert isinstance(hand.engine, LocalEngine)
    return hand.engine.database


def numbers(of: range, ranges: int = 1000) -> list[Row]:
    return [{"range_id": i % ranges, "key_id": i.to_bytes(4, "big"), "digest": i, "c0": -i} for i in of]


@pytest.mark.parametrize("seed", [0, 1])
def test_every_function(seed: int, hand: Hand) -> None:
    drawn = Drawn.of(seed, plan_of())
    found, right = Results(hand, drawn).every(), expected(drawn)
    assert {name: found[name] for name in right} == right


def test_rows_without_a_key_are_counted(hand: Hand) -> None:
    """Equal rows are copies of each other; different rows with equal digests are different by value."""
    plan = plan_of(["text", "float64"], keys=0, counted=True)
    fields = [field for field in fields_of(plan) if field[0] != "key_id"]
    rows = [(1, 7, "a", 0.0), (2, 7, "a", 0.0), (1, -1, "b", 0.5)]
    named = [dict(zip(("range_id", "digest", "c0", "c1"), row, strict=True)) for row in rows]
    found = hand.read(algebra.identified(hand.rows(fields, named), plan))
    seven, minus, first, second = (i.to_bytes(8, "big") for i in (7, 2**64 - 1, 1, 2))
    keys = {(row["range_id"], row["c0"]): row["key_id"] for row in found}
    assert keys == {(1, "a"): seven + first, (2, "a"): seven + second, (1, "b"): minus + first}
    other = [{**named[0], "c1": -0.0}, {**named[2], "digest": 7, "c0": "c"}]  # one copy less, another text
    old, new = (algebra.identified(hand.rows(fields, some), plan) for some in (named, other))
    changes = hand.read(algebra.differences(old, new, plan, by="values"))
    assert Counter((row["op"], row["b_0"], row["a_0"]) for row in changes) == {
        ("d", "a", None): 1,
        ("d", "b", None): 1,
        ("c", None, "c"): 1,
    }


def test_tables_may_be_as_wide_as_databases_allow(tmp_path: Path) -> None:
    """DuckDB nests expressions at most 1,000 deep; PostgreSQL has up to 1,600 columns.

    The memory is that of `local_memory`: DuckDB 1.4 needs more than 300 MB.
    """
    hand = Hand(LocalEngine(LocalDatabase(512_000_000, tmp_path / "spill")))
    plan = plan_of(["int64"] * 1600)
    row = {"range_id": 1, "key_id": b"a", "digest": 1, **{f"c{i}": i for i in range(1600)}}
    old, new = (hand.rows(fields_of(plan), [one]) for one in (row, {**row, "digest": 2, "c1": None, "c1599": -1}))
    (change,) = hand.read(algebra.differences(old, new, plan, by="values"))
    assert (change["op"], change["changed"]) == ("u", "1,1599")


def test_the_key_of_one_row_is_empty(hand: Hand) -> None:
    plan = plan_of(["text"], keys=0)
    fields = [field for field in fields_of(plan) if field[0] != "key_id"]
    found = algebra.identified(hand.rows(fields, [{"range_id": 1, "digest": 5, "c0": "x"}]), plan)
    assert hand.read(found) == [{"range_id": 1, "digest": 5, "c0": "x", "key_id": b""}]


def test_a_file_has_the_types_and_the_order_of_its_fields(hand: Hand, tmp_path: Path) -> None:
    plan, rnd = plan_of(), random.Random(5)
    rows, engine = [row for _ in range(4) for row in draw(rnd, plan)], hand.engine
    folder = tmp_path / "it's [a] * path?" / "c0=9"
    folder.parent.mkdir()
    engine.write(hand.rows(fields_of(plan), rows), fields_of(plan), folder, temporary=False)
    file = folder / parquet.FILE
    found = duckdb.execute(f"DESCRIBE FROM read_parquet({text(str(file))}, hive_partitioning = false)").fetchall()
    types = ["BIGINT", "VARCHAR", "VARCHAR", "DOUBLE", "BLOB", "DECIMAL(20,0)", "BOOLEAN", "SMALLINT", "FLOAT"]
    assert [kind for _, kind, *_ in found] == ["BIGINT", "BLOB", "BIGINT", *types]
    assert Counter(map(repr, hand.read(engine.read(fields_of(plan), [file])))) == Counter(
        map(repr, hand.read(hand.rows(fields_of(plan), rows)))
    )
    more = [*fields_of(plan)[:2], ("c9", "string")]
    assert {row["c9"] for row in hand.read(engine.read(more, [file, file]))} == {None}, "files do not have this column"


@pytest.mark.parametrize("names", [("range_id",), ("ordinal", "range_id")])
def test_rows_are_written_in_order(names: Sequence[str], hand: Hand, tmp_path: Path) -> None:
    """Replicas are ordered by range, so that reads skip other row groups; events by their number."""
    number = 3 * parquet.ROW_GROUP
    fields = [(name, "bigint") for name in names]
    rows = [{"range_id": i * 7919 % 1000, "ordinal": i * 7919 % number} for i in range(number)]
    hand.engine.write(hand.rows(fields, rows), fields, tmp_path / "part", temporary=False)
    file = tmp_path / "part" / parquet.FILE
    found = duckdb.execute(f"SELECT {names[0]} FROM '{file}'").fetchall()
    assert found == sorted(found)
    groups = f"SELECT count(DISTINCT row_group_id) FROM parquet_metadata('{file}')"
    assert duckdb.execute(groups).fetchone() == (3,)


def test_a_read_of_few_ranges_skips_other_row_groups(hand: Hand, tmp_path: Path) -> None:
    """A damaged row group is not noticed unless it is read."""
    rows = hand.rows(NUMBERS, numbers(range(4 * parquet.ROW_GROUP)))
    hand.engine.write(rows, NUMBERS, tmp_path / "part", temporary=False)
    file = tmp_path / "part" / parquet.FILE
    pages = "SELECT row_group_id, min(data_page_offset), sum(total_compressed_size) FROM parquet_metadata(?) GROUP BY 1"
    ((_, offset, size),) = [row for row in duckdb.execute(pages, [str(file)]).fetchall() if row[0] == 1]
    content = bytearray(file.read_bytes())
    content[offset : offset + size // 2] = bytes(size // 2)
    file.write_bytes(content)
    read = hand.engine.read(NUMBERS, [file])
    assert {row["range_id"] for row in hand.read(hand.engine.in_ranges(read, [10, 11, 990]))} == {10, 11, 990}
    with pytest.raises(duckdb.Error):
        hand.read(hand.engine.in_ranges(read, [10, 300]))


def test_a_million_leaves_are_stored_quickly(hand: Hand) -> None:
    """They are carried as two buffers, without an object for each."""
    asked = [KeyRange(i, None, None, only=RowSelection(EVERY, 1, 0)) for i in range(2500)]
    found = hand.engine.leaves(asked)
    counted = database_of(hand).connection.execute(f"SELECT count(*), count(DISTINCT tail) FROM ({found.sql})")
    assert counted.fetchone() == (2500 * 257, 257)


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (1e20, "DOUBLE", "1.0E20"),
        (1e7, "DOUBLE", "1.0E7"),
        (9999999.0, "DOUBLE", "9999999.0"),
        (1234567.5, "DOUBLE", "1234567.5"),
        (100.0, "DOUBLE", "100.0"),
        (0.001, "DOUBLE", "0.001"),
        (0.00025, "DOUBLE", "2.5E-4"),
        (-1.5e-10, "DOUBLE", "-1.5E-10"),
        (0.0, "DOUBLE", "0.0"),
        (-0.0, "DOUBLE", "-0.0"),
        (float("nan"), "FLOAT", "NaN"),
        (float("-inf"), "FLOAT", "-Infinity"),
        (0.10000000149011612, "FLOAT", "0.1"),
        (0.10000000149011612, "DOUBLE", "0.10000000149011612"),
        (3.4028234663852886e38, "FLOAT", "3.4028235E38"),
        (True, "BOOLEAN", "true"),
        (b"\xc3\xa9\xff", "BLOB", "é\ufffd"),
        (None, "VARCHAR", "None"),
        (2**64 - 1, "DECIMAL(20,0)", "18446744073709551615"),
    ],
)
def test_keys_are_listed_in_spark_s_spelling(value: object, kind: str, text: str) -> None:
    assert spelled(value, kind) == text


PAIRS: list[tuple[str, Any, Any, bool]] = [  # kind, two values, whether the value changed
    ("decimal", "1", "1.0", False),
    ("decimal", "1.50", "1.5", False),
    ("decimal", "100", "1", True),
    ("decimal", "0.10", "0.01", True),
    ("decimal", None, "0", True),
    ("text", "1", "1.0", True),
    ("text", None, "", True),
    ("text", None, None, False),
    ("text", "a\x00", "a", True),
    ("text", "é", "e\u0301", True),
    ("float64", 0.0, -0.0, False),
    ("float64", float("nan"), float("nan"), False),
    ("float64", float("nan"), None, True),
    ("float32", -0.0, 0.0, False),
    ("binary", b"", b"\x00", True),
    ("uint64", 2**64 - 1, 2**64 - 2, True),
    ("boolean", False, None, True),
]


def test_changed_values(hand: Hand) -> None:
    plan = plan_of(["int64", *(kind for kind, *_ in PAIRS)])
    fixed: Row = {"range_id": 1, "key_id": b"k", "digest": 1, "c0": 1}
    old, new = ({**fixed, **{f"c{i}": pair[side] for i, pair in enumerate(PAIRS, 1)}} for side in (1, 2))
    before, after = (hand.rows(fields_of(plan), [row]) for row in (old, new))
    (found,) = hand.read(algebra.differences(before, after, plan, by="values"))
    changed = found["changed"].split(",")
    assert {pair: str(i) in changed for i, pair in enumerate(PAIRS, 1)} == {pair: pair[3] for pair in PAIRS}


def test_a_delete_with_a_reason_is_no_key_change(hand: Hand) -> None:
    plan = plan_of(["int64", "text"])
    names = [name for name, _ in events_of(plan)]
    deletes = [{"op": "d", "b_0": 1, "b_1": "x"}, {"op": "d", "b_0": 2, "b_1": "y", "reason": "restriction_exit"}]
    inserts = [{"op": "c", "a_0": 3, "a_1": "x"}, {"op": "c", "a_0": 4, "a_1": "y"}, {"op": "u", "a_0": 5, "a_1": "x"}]
    rows = [{**dict.fromkeys(names), "ordinal": i, **row} for i, row in enumerate([*deletes, *inserts])]
    batch = algebra.paired(hand.rows(events_of(plan), rows), keys=1, width=2, epoch=3, seq=9)
    found = {row["ordinal"]: (row["reason"], row["pair_id"]) for row in hand.read(batch)}
    pair = ("key_change", "3:9:0")
    assert found == {0: pair, 1: ("restriction_exit", None), 2: pair, 3: (None, None), 4: (None, None)}
