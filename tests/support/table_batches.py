"""Batches for table sinks: drawn histories of a table of every type, as typed Arrow events, and the expected rows."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
from typing_extensions import override

from qbcd.model import BatchHeader, PlannedBatch, Travel
from qbcd.sinks import SinkBatch

Row = dict[str, Any]
State = dict[tuple[Any, ...], Row]
EPOCH = 1_795_000_000
FORMS: tuple[tuple[str, Travel], ...] = (
    ("id", Travel("int64")),
    ("part", Travel("text")),
    ("u", Travel("int32")),  # unique in the source
    ("flag", Travel("boolean")),
    ("small", Travel("int16")),
    ("big", Travel("uint64")),
    ("ratio", Travel("float32")),
    ("at", Travel("float64")),  # a reserved word of DuckDB
    ("amount", Travel("decimal", 12, 2)),
    ("fine", Travel("decimal", 38, 20)),
    ("Note %s", Travel("text")),
    ("raw", Travel("binary")),
    ("day", Travel("date")),
    ("hour", Travel("time")),
    ("moment", Travel("timestamp")),
    ("instant", Travel("timestamptz")),
    ("tags", Travel("array", element=Travel("text"))),
    ("prices", Travel("array", element=Travel("decimal", 8, 3))),
)
KEY = ("id", "part")
_EXACT = Context(prec=60)
_TYPES = {
    "boolean": pa.bool_(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint64": pa.decimal128(20, 0),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "text": pa.string(),
    "time": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
}


def arrow_type(travel: Travel) -> pa.DataType:
    """Return the Arrow type of a value in events."""
    if travel.element is not None:
        return pa.list_(arrow_type(travel.element))
    if travel.kind == "decimal":
        return pa.decimal128(travel.precision, travel.scale)
    return _TYPES[travel.kind]


def schema_of(header: BatchHeader) -> pa.Schema:
    """Return the schema of a batch's events."""
    row = pa.struct([(name, arrow_type(travel)) for name, travel in header.columns])
    forms = dict(header.columns)
    key = pa.struct([(name, arrow_type(forms[name])) for name in header.key]) if header.key else pa.string()
    source = pa.struct(
        [(name, pa.string()) for name in ("name", "table", "strategy", "consistency")]
        + [(name, pa.int64()) for name in ("epoch", "batch_seq")]
    )
    return pa.schema(
        {
            "op": pa.string(),
            "key": key,
            "before": row,
            "after": row,
            "changed": pa.list_(pa.string()),
            "reason": pa.string(),
            "pair_id": pa.string(),
            "source": source,
            "event_id": pa.string(),
            "ts_ms": pa.int64(),
        }
    )


class MadeBatch(SinkBatch):
    """A batch whose events are Python values, given in pieces of a few."""

    def __init__(self, header: BatchHeader, events: list[Row], piece: int = 7) -> None:
        def no_rows() -> Any:
            raise AssertionError("a table sink reads Arrow")

        super().__init__(header, no_rows)
        self.made, self._piece = events, piece

    @override
    def fitted(self, policy: Any, texts: Any = None, *, old: bool = True) -> SinkBatch:
        """Return the batch itself: its values fit their types."""
        return self

    @override
    def arrow(self) -> Any:
        schema = schema_of(self.header)
        pieces = (self.made[i : i + self._piece] for i in range(0, len(self.made), self._piece))
        return pa.RecordBatchReader.from_batches(schema, (pa.RecordBatch.from_pylist(p, schema) for p in pieces))


def batch_of(events: list[Row], seq: int, **facts: Any) -> MadeBatch:
    """Return a batch of events that have `op`, `before`, `after` and `key`; the rest is filled in."""
    counts = {op: sum(event["op"] == op for event in events) for op in "cudr"}
    header = BatchHeader(
        stream="orders",
        epoch=EPOCH,
        seq=seq,
        ts_ms=EPOCH * 1000 + seq * 10,
        counts={op: n for op, n in counts.items() if n},
        sinks=("copy",),
        fingerprint=f"f{seq}",
        source="shop",
        table="public.orders",
        strategy="mds",
        consistency="snapshot",
        key=KEY,
        columns=FORMS,
    )
    header = replace(header, **facts)
    source: Row = {"name": header.source, "table": header.table, "strategy": header.strategy}
    source |= {"consistency": header.consistency, "epoch": header.epoch, "batch_seq": header.seq}
    filled = [
        {"changed": None, "reason": None, "pair_id": None, **event, "source": source, "ts_ms": header.ts_ms}
        | {"event_id": f"{header.stream}:{header.epoch}:{header.seq}:{n}"}
        for n, event in enumerate(events)
    ]
    if not header.before:
        filled = [{**event, "before": None} for event in filled]
    return MadeBatch(header, filled)


def planned(columns: dict[str, Travel], key: Sequence[str] = ("id",), **facts: Any) -> PlannedBatch:
    """Return the facts of batches with these columns, all of them nullable but the key."""
    found = PlannedBatch(
        stream="orders",
        epoch=0,
        seq=0,
        ts_ms=0,
        counts={},
        sinks=("copy",),
        fingerprint="",
        source="shop",
        table="public.orders",
        strategy="mds",
        consistency="snapshot",
        key=tuple(key),
        columns=tuple(columns.items()),
        nullable=frozenset(columns) - frozenset(key),
    )
    return replace(found, **facts)


def event(op: str, before: Row | None, after: Row | None) -> Row:
    """Return an event of a row."""
    image = after if op != "d" else before
    assert image is not None
    changed = [name for name in image if before and after and before[name] != after[name]] if op == "u" else None
    return {"op": op, "key": {name: image[name] for name in KEY}, "before": before, "after": after, "changed": changed}


class DrawnTable:
    """A table whose rows change at random; the values are awkward, and `u` is unique.

    Attributes:
        rows: The rows now, by key.
    """

    def __init__(self, seed: int, *, nan: bool = False, rows: int = 12) -> None:
        self.random, self.rows, self._nan, self._size = random.Random(seed), State(), nan, rows
        self._deleted: list[tuple[Any, ...]] = []
        self._next = 0

    def baseline(self) -> list[Row]:
        """Insert rows and return their events, op `r`."""
        for _ in range(self._size):
            self._insert()
        return [event("r", None, row) for row in self.rows.values()]

    def change(self) -> list[Row]:
        """Change rows and return the net events: deletes, then updates, then inserts."""
        before = copy.deepcopy(self.rows)
        for _ in range(self.random.randint(1, 6)):
            self.random.choice([self._insert, self._insert, self._update, self._delete, self._swap, self._rekey])()
        gone = [event("d", row, None) for key, row in before.items() if key not in self.rows]
        changed = [
            event("u", before[key], row)
            for key, row in self.rows.items()
            if key in before and repr(before[key]) != repr(row)
        ]
        new = [event("c", None, row) for key, row in self.rows.items() if key not in before]
        return [*gone, *changed, *new]

    # -- changes -----------------------------------------------------------------------------------------------------
    def _insert(self) -> None:
        if self._deleted and self.random.random() < 0.6:
            key = self._deleted.pop()  # a key that returns
        else:
            self._next += 1
            key = (self._next * self.random.choice([1, -(10**15)]), self.random.choice(["", "ä b", "A", "a", "a "]))
        if key not in self.rows:
            self.rows[key] = self._row(key)

    def _delete(self) -> None:
        if self.rows:
            key = self.random.choice(list(self.rows))
            del self.rows[key]
            self._deleted.append(key)

    def _update(self) -> None:
        if self.rows:
            key = self.random.choice(list(self.rows))
            row = self._row(key)
            name = self.random.choice([name for name in row if name not in (*KEY, "u")])
            self.rows[key] = {**self.rows[key], name: row[name]}

    def _swap(self) -> None:
        if len(self.rows) > 1:
            first, second = self.random.sample(list(self.rows), 2)
            one, two = self.rows[first], self.rows[second]
            self.rows[first], self.rows[second] = {**one, "u": two["u"]}, {**two, "u": one["u"]}

    def _rekey(self) -> None:
        if self.rows:
            key = self.random.choice(list(self.rows))
            row = self.rows.pop(key)
            self._deleted.append(key)
            self._next += 1
            key = (self._next, key[1])
            self.rows[key] = {**row, "id": key[0]}

    def _row(self, key: tuple[Any, ...]) -> Row:
        self._next += 1
        made: Row = dict(zip(KEY, key, strict=True)) | {"u": self._next}
        for name, travel in FORMS:
            if name not in made:
                made[name] = None if self.random.random() < 0.15 else self._value(travel)
        return made

    def _value(self, travel: Travel) -> Any:
        choose = self.random.choice
        if travel.element is not None:
            return [
                self._value(travel.element) if self.random.random() < 0.8 else None for _ in range(choose([0, 1, 3]))
            ]
        if travel.kind == "decimal":
            most = Decimal(10) ** (travel.precision - travel.scale)
            digits = self.random.randrange(10 ** min(travel.precision, 30))
            return choose([Decimal(0), Decimal(digits).scaleb(-travel.scale), -most + Decimal(1)]).quantize(
                Decimal(1).scaleb(-travel.scale), context=_EXACT
            )
        values: dict[str, list[Any]] = {
            "boolean": [True, False],
            "int16": [-(2**15), 0, 2**15 - 1],
            "int32": [-(2**31), 5, 2**31 - 1],
            "uint64": [Decimal(0), Decimal(2**63), Decimal(2**64 - 1)],
            "float32": [0.5, -1.25e30, 1.401298464324817e-45, 16777217.0 - 1],
            "float64": [0.1, 1e-300, 1.7976931348623157e308, 5e-324, *([float("nan"), float("inf")] * self._nan)],
            "text": ["", " ", "NULL", "\\N", "a\tb\nc\r\\.", "\n\\.\n", "'\"`%s{}", "é😀", "x" * 300],
            "binary": [b"", b"\x00\xff\\", bytes(range(256))],
            "date": [date(1, 1, 1), date(2024, 2, 29), date(9999, 12, 31)],
            "time": ["13:45:00.000000", "24:00:00.000000", "-838:59:59.000000"],
            "timestamp": [
                datetime(1, 1, 1),
                datetime(2024, 2, 29, 13, 45, 0, 1),
                datetime(9999, 12, 31, 23, 59, 59, 999999),
            ],
            "timestamptz": [
                datetime(1969, 12, 31, 23, 59, 59, 999999, timezone.utc),
                datetime(2024, 2, 29, tzinfo=timezone.utc) + timedelta(microseconds=self.random.randrange(10**12)),
            ],
        }
        return choose(values[travel.kind])


def pieces(table: DrawnTable, batches: int, first: int = 1, **facts: Any) -> Iterator[tuple[MadeBatch, State]]:
    """Yield a baseline and changes as batches, each with the rows after it."""
    yield batch_of(table.baseline(), first, **facts), copy.deepcopy(table.rows)
    made, seq = 1, first
    while made < batches:
        if events := table.change():
            made, seq = made + 1, seq + 1
            yield batch_of(events, seq, **facts), copy.deepcopy(table.rows)
