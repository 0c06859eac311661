"""Keys by which rows of a target are found again: NaN, 32-bit floats in wider columns, texts by a policy."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from qbcd.model import Travel
from qbcd.sinks.table.sink import DatabaseSink
from tests.support.lake_batches import Lake
from tests.support.table_batches import MadeBatch, batch_of
from tests.support.table_targets import new_target

NAN = float("nan")
KEYED = (("k", Travel("text")), ("f", Travel("float64")), ("v", Travel("float64")))
Row = tuple[Any, ...]


def batch(seq: int, *events: tuple[str, Row | None, Row | None], columns: Any = KEYED, key: Any = ("k",)) -> MadeBatch:
    """Return a batch of events: operation, the row before it and the row after it."""

    def image(row: Row | None) -> dict[str, Any] | None:
        return None if row is None else dict(zip((name for name, _ in columns), row, strict=True))

    made = []
    for op, before, after in events:
        whole = image(after or before) or {}
        changed = {"key": {name: whole[name] for name in key}, "before": image(before), "after": image(after)}
        made.append({"op": op, **changed})
    return batch_of(made, seq, columns=columns, key=key)


@pytest.mark.parametrize(
    ("database", "options"),
    [
        pytest.param(database, options, marks=() if kept else pytest.mark.campaign)
        for database in ("duckdb", "postgresql")  # others have no NaN
        for options in ({"deletes": "soft"}, {"mode": "scd2"}, {})
        for kept in [database == "duckdb" and "deletes" in options]
    ],
)
def test_an_update_of_a_row_whose_key_has_nan(
    database: str, options: dict[str, Any], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with new_target(database, request, tmp_path) as target:
        sink, key = DatabaseSink("copy", target.url, **options), ("k", "f")
        is_open = {"soft": "NOT is_deleted", "scd2": "valid_to IS NULL"}.get(next(iter(options.values()), ""), "k = k")

        def rows() -> list[str]:
            return list(map(repr, target.sql(f"SELECT k, f, v FROM public_orders WHERE {is_open} ORDER BY v")))

        sink.write(batch(1, ("r", None, ("a", NAN, 1.0)), ("r", None, ("a", 5.0, 1.0)), key=key))
        sink.write(batch(2, ("u", ("a", NAN, 1.0), ("a", NAN, 2.0)), key=key))
        assert rows() == ["('a', 5.0, 1.0)", "('a', nan, 2.0)"]
        sink.write(batch(3, ("u", ("a", NAN, 2.0), ("A", NAN, 3.0)), key=key))
        assert rows() == ["('a', 5.0, 1.0)", "('A', nan, 3.0)"]
        sink.write(batch(4, ("d", ("A", NAN, 3.0), None), key=key))
        assert rows() == ["('a', 5.0, 1.0)"]


def test_rows_of_a_lake_exchange_keys_with_nan(tmp_path: Path) -> None:
    lake, key = Lake(tmp_path), ("k", "f")
    sink = lake.sink()
    sink.write(batch(1, ("r", None, ("a", NAN, 1.0)), ("r", None, ("A", NAN, 2.0)), key=key))
    sink.write(batch(2, ("u", ("a", NAN, 1.0), ("a", NAN, 3.0)), key=key))
    sink.write(batch(3, ("u", ("a", NAN, 3.0), ("A", NAN, 3.0)), ("u", ("A", NAN, 2.0), ("a", NAN, 2.0)), key=key))
    assert sorted(repr((row["k"], row["f"], row["v"])) for row in lake.rows()) == ["('A', nan, 3.0)", "('a', nan, 2.0)"]


def test_32_bit_floats_are_one_number_in_a_wider_column(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """PostgreSQL reads the shortest text of a float as another number there than the float is."""
    columns = (("k", Travel("float32")), ("v", Travel("float32")))
    tenth, third = (struct.unpack("f", struct.pack("f", one))[0] for one in (0.1, 0.3))
    smallest, largest = 1.401298464324817e-45, 3.4028234663852886e38
    with new_target("postgresql", request, tmp_path) as target:
        target.sql("CREATE TABLE public_orders (k double precision PRIMARY KEY, v double precision)")
        for sink in (DatabaseSink("wide", target.url), DatabaseSink("narrow", target.url, table="other")):
            new = [("r", None, (one, third)) for one in (tenth, 2.0, smallest, largest, NAN)]
            sink.write(batch(1, *new, columns=columns))
            sink.write(batch(2, ("u", (tenth, third), (tenth, 5.0)), columns=columns))
            sink.write(batch(3, ("u", (2.0, 1.0), (2.0, third)), columns=columns))
        assert target.sql("SELECT count(*), count(DISTINCT v) FROM public_orders") == [(5, 2)]
        same = "SELECT count(*) FROM public_orders w JOIN other n ON w.k = n.k AND w.v = n.v"
        assert target.sql(same) == [(5,)]
        DatabaseSink("wide", target.url).write(batch(4, ("d", (tenth, 5.0), None), columns=columns))
        assert target.sql("SELECT count(*) FROM public_orders") == [(4,)]


def test_a_key_with_nul_is_found_again(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with new_target("postgresql", request, tmp_path) as target:
        sink = DatabaseSink("copy", target.url, unsupported="text")
        sink.write(batch(1, ("r", None, ("a\0b", 0.5, 1.0))))
        sink.write(batch(2, ("u", ("a\0b", 0.5, 1.0), ("a\0b", 0.5, 2.0))))
        sink.write(batch(3, ("u", ("a\0b", 0.5, 2.0), ("A\0b", 0.5, 3.0))))
        assert target.sql("SELECT k, v FROM public_orders") == [("A\u2400b", 3.0)]
        sink.write(batch(4, ("d", ("A\0b", 0.5, 3.0), None)))
        assert target.sql("SELECT k FROM public_orders") == []


def test_a_key_changes_its_spelling_next_to_floats_that_are_texts(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with new_target("sqlite", request, tmp_path) as target:
        sink = DatabaseSink("copy", target.url, unsupported="text")
        sink.write(batch(1, ("r", None, ("Ada", 0.5, NAN)), ("r", None, ("Bob", 0.5, 0.5))))
        sink.write(batch(2, ("u", ("Ada", 0.5, 0.5), ("ADA", 0.5, 1.5))))
        assert target.sql("SELECT k, v FROM public_orders ORDER BY k") == [("ADA", "1.5"), ("Bob", "0.5")]
