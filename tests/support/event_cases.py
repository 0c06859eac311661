"""Batches over the type table and awkward names, with their values in JSON and as typed values.

`cases` has those whose JSON lines Spark has written into `tests/golden/event_lines.json`.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import struct
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import zip_longest
from pathlib import Path
from typing import Any

from qbcd.model import BatchHeader, Travel
from tests.support.staged_rows import header_of

GOLDEN = Path(__file__).parent.parent / "golden" / "event_lines.json"
Case = tuple[BatchHeader, list[Sequence[Any]]]

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


def side_by_side(kinds: Sequence[Travel], values: Sequence[Sequence[Any]]) -> Case:
    """Return a batch with a column per kind and its values in rows, NULL after the last one."""
    header = header_of([("k", Travel("int64")), *[(f"v{i}", kind) for i, kind in enumerate(kinds)]])
    images = [[i, *row] for i, row in enumerate(zip_longest(*values))]
    return header, [["c", None, None, i, None, *[None] * len(image), *image] for i, image in enumerate(images)]


def named(*, arrays: bool, longest: int = 1_000_000) -> tuple[Case, list[dict[str, Any]]]:
    """Return a batch with odd names and texts, and its images after the change."""
    kinds = [Travel("int64"), *[Travel("text") for _ in ODD_NAMES[1:]]]
    columns = list(zip(ODD_NAMES, kinds, strict=True))
    if arrays:
        columns.insert(3, ('arr"\\', Travel("array", element=Travel("text"))))
        columns.append(("tail\n\x1f", Travel("array", element=Travel("text"))))
    rows: list[Sequence[Any]] = []
    images = []
    for i, text in enumerate(text for text in TEXTS if len(text) <= longest):
        fragment = json.dumps([text, None], ensure_ascii=False)
        wire = [i if t.kind == "int64" else text if t.kind == "text" else fragment for _, t in columns]
        rows.append(("c", None, None, i, None, *([None] * len(columns)), *wire))
        images.append({n: i if t.kind == "int64" else text if t.kind == "text" else [text, None] for n, t in columns})
    return (header_of(columns), rows), images


def cases() -> dict[str, Case]:
    """Return batches by a name; no float in them has another text in older versions of Java."""
    kinds = [(kind, wire) for kind, wire, _, _ in KINDS] + [(kind, wire) for kind, wire, _ in UNTYPED]
    doubles = [*DOUBLES, math.nan, math.inf, -math.inf, 12345678.9, -0.00012, 1e7, 1e-3, 9999999.0, 0.00099]
    kinds += [(Travel("float64"), [value for value in doubles if value not in (1e22, 1e23, 5e-324)])]
    kinds += [(Travel("float32"), [*FLOATS, math.nan, math.inf, -math.inf, 1e7, 1.5e-5])]
    kinds += [(Travel("text"), [*(text for text in TEXTS if len(text) < 1000), "nul\0", *map(chr, range(1, 160))])]
    found: dict[str, Case] = {"kinds": side_by_side([kind for kind, _ in kinds], [wire for _, wire in kinds])}
    for arrays in (False, True):
        found[f"names, arrays {arrays}"], _ = named(arrays=arrays, longest=1000)
    ops = header_of([("id", Travel("int64")), ("name", Travel("text")), ("n", Travel("int32"))], stream="s", seq=7)
    rows: list[Sequence[Any]] = [
        ("d", "restriction_exit", None, 0, None, 1, "a", 1, None, None, None),
        ("u", None, None, 1, "1,2", 2, "b", 2, 2, "B", None),
        ("u", None, None, 2, "", 2, "b", 2, 2, "b", 2),
        ("u", None, None, 3, None, None, None, None, 2, "B", 2),
        ("c", "key_change", "9", 4, None, None, None, None, 3, None, 3),
        ("r", None, None, 5, None, None, None, None, 4, "r", 4),
    ]
    found["ops"] = ops, rows
    found["no old values"] = replace(ops, before=False), rows
    found["no key"] = replace(ops, key=()), rows
    found["one row"] = replace(ops, key=(), one_row=True), rows
    found["odd header"] = replace(ops, key=("name", "id"), source='q"u\\', table="x\ny\x1f", stream="é\u2028"), rows
    return found


def golden() -> dict[str, list[str]]:
    """Return the lines that Spark has written, by the name of the case."""
    data: dict[str, list[str]] = json.loads(GOLDEN.read_text())
    return data
