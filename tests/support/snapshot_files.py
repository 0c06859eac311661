"""Drawn snapshots with duplicates, NULLs and odd texts, and the oracle of their differences: a full join by DuckDB."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from qbcd.snapshots.base import Batches

SCHEMA = pa.schema([("id", pa.int64()), ("part", pa.string()), ("text", pa.string()), ("number", pa.float64())])
COLUMNS = SCHEMA.names
Row = dict[str, Any]
_TEXTS = (None, "", "x", "ü\0ß", "日本", "y" * 90)
_NUMBERS = (None, 0.0, -0.0, float("nan"), 1.5)


def drawn(seed: int, count: int, repeated: bool) -> tuple[list[Row], list[Row]]:
    """Return the rows of two snapshots, whose ids occur once unless `repeated`."""
    draw = random.Random(seed)
    ids = draw.choices(range(max(1, count // 2)), k=count) if repeated else draw.sample(range(3 * count), count)
    old = [_row(draw, number) for number in ids]
    new = [dict(row) for row in old if draw.random() < 0.9]
    for row in new:
        if draw.random() < 0.2:
            row["text"] = draw.choice(_TEXTS)
    start = 0 if repeated else 3 * count
    new += [_row(draw, start + number) for number in range(count // 5)]
    if draw.random() < 0.5:
        draw.shuffle(new)
    return old, new


def _row(draw: random.Random, number: int) -> Row:
    part = draw.choice((None, "", "é", "a\0b"))
    return {"id": number, "part": part, "text": draw.choice(_TEXTS), "number": draw.choice(_NUMBERS)}


def snapshot(rows: Sequence[Row], keys: int, step: int = 50) -> Batches:
    """Return rows as a snapshot whose key is the first `keys` columns."""
    parts = [rows[first : first + step] for first in range(0, max(1, len(rows)), step)]
    return Batches([pa.RecordBatch.from_pylist(list(part), schema=SCHEMA) for part in parts], COLUMNS[:keys])


def only(one: Sequence[Row], two: Sequence[Row]) -> Counter[tuple[Any, ...]]:
    """Return the rows of `one` without those of `two`, as multisets: full join on all columns and their occurrence."""
    left, right = (pa.Table.from_pylist(list(rows), schema=SCHEMA) for rows in (one, two))
    names = ", ".join(COLUMNS)
    numbered = "select *, row_number() over (partition by {0}) as occurrence from {1}"
    same = " and ".join(f"a.{name} is not distinct from b.{name}" for name in (*COLUMNS, "occurrence"))
    with duckdb.connect() as session:
        session.register("left_rows", left)
        session.register("right_rows", right)
        found = session.execute(
            f"select {', '.join(f'a.{name}' for name in COLUMNS)} from ({numbered.format(names, 'left_rows')}) a "
            f"full join ({numbered.format(names, 'right_rows')}) b on {same} "
            "where b.occurrence is null"
        ).fetchall()
    return Counter(_plain(row) for row in found)


def check(batches: Iterable[pa.RecordBatch], old: Sequence[Row], new: Sequence[Row], keys: int, values: bool) -> None:
    """Check that differences are exact, as few as possible, and have deletes first.

    `values`: old values are there; else the digests say which rows they were.
    """
    events = [event for batch in batches for event in batch.to_pylist()]
    gone, come = only(old, new), only(new, old)
    assert _rows(events, "after") == come
    if values:
        assert _rows(events, "before") == gone
    digests = [event["before_digest"] for event in events if event["op"] != "c"]
    assert len(digests) == gone.total() and all(digests)
    before, after = _by_key(gone, keys), _by_key(come, keys)
    messages = {key: max(before[key], after[key]) for key in before | after}
    if keys:
        assert Counter(tuple(event["key"].values()) for event in events) == messages
    ops = [event["op"] for event in events]
    assert "d" not in ops[ops.count("d") :]


def _by_key(rows: Counter[tuple[Any, ...]], keys: int) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for row, count in rows.items():
        found[row[:keys]] += count
    return found


def _rows(events: Sequence[Row], side: str) -> Counter[tuple[Any, ...]]:
    return Counter(_plain(event[side].values()) for event in events if event[side] is not None)


def _plain(row: Iterable[Any]) -> tuple[Any, ...]:
    """Return a row whose equality is that of the source: all NaN are one, -0.0 is 0.0."""
    return tuple("NaN" if value != value else value for value in row)
