"""Readers of files refuse damaged and strange files by their own errors, whatever bytes they have."""

from __future__ import annotations

import io
import random
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from qbcd.config.files import VALUE_TYPES, FileFormat
from qbcd.errors import QbcdError
from qbcd.files.content import DumpPlace
from qbcd.files.formats import open_dump

TYPES = [*(one for one in VALUE_TYPES.split(", ") if "(" not in one), "decimal(10,2)"]
CSV = (
    b'id,v,w,t\n1,"a ""q"" b",1.5,2024-02-29 01:02:03+00\n2,,NaN,\n3,"x\ny",-1e5,2024-01-01 00:00:00Z\n'
    b'4,5" disk,0.1,infinity\r\n5,"a\\d",,x\n'
)
JSONL = (
    b'{"id":1,"v":"a\\u00e9","w":1.5,"t":"2024-02-29"}\n{"id":2,"v":[1,{"a":null}],"w":-0,"t":null}\n\n'
    b'{"id":3,"v":"\\ud83d\\ude00","w":true,"t":"x"}\n'
)
FIXED = b"0001abcd1.50\n   2x       rest\n"
TOKENS = [
    *(
        b'"',
        b"\\",
        b",",
        b"\n",
        b"\r",
        b"\x00",
        b"\xff",
        b"\xed\xa0\x80",
        b"\\N",
        b'""',
        b'\\"',
        b"{",
        b"}",
        b"[",
        b"]",
    ),
    *(b":", b"1e400", b"\\ud800", b"\t", b"-", b"9" * 25, b"24:00:00", b"99999-01-01", b"0000-00-00"),
    *(
        b"infinity",
        b"\xef\xbb\xbf",
        b"NaN",
        b"+00:00",
        b" BC",
        b"\\x",
        b"0x",
        b"2024-02-30",
        b"99:99:99",
        b".",
        b"[" * 2000,
    ),
]
ENCODINGS = ["latin-1", "utf-16", "cp037", "utf-7", "utf-8-sig", "utf-32", "shift_jis"]


def parquet_file() -> bytes:
    file = io.BytesIO()
    values = {
        "id": [1, 2, 3],
        "v": pa.array([[1], None, [2, 3]]),
        "w": [{"x": 1.5}, None, {"x": 2.0}],
        "t": [datetime(2024, 1, 1)] * 3,
        "b": [b"x", b"", None],
        "d": [Decimal("1.5")] * 3,
        "m": pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int64())),
    }
    parquet.write_table(pa.table(values), file)
    return file.getvalue()


def mutated(data: bytes, random_: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(random_.choice([1, 1, 1, 2, 3])):
        place, other = random_.randrange(len(found) + 1), random_.randrange(len(found) + 1)
        match random_.randrange(5):
            case 0 | 1:
                found[place:place] = random_.choice(TOKENS)
            case 2:
                del found[place : place + random_.randint(1, 8)]
            case 3:
                found[place : place + 1] = bytes([random_.randrange(256)])
            case _:
                found[place:place] = found[min(place, other) : max(place, other)]
    return bytes(found)


def drawn_format(kind: str, random_: random.Random) -> dict[str, Any]:
    names = random_.sample(["id", "v", "w", "t"], random_.randint(0, 4))
    types = {name: random_.choice(TYPES) for name in names}
    if kind == "fixed":
        fields = [("id", 1, 4), ("v", 5, 8), ("w", 9, random_.choice([10, 12]))]
        listed = [{"name": name, "at": [a, b], "type": types.get(name, "text")} for name, a, b in fields]
        return {"type": "fixed", "fields": listed, "encoding": random_.choice(["utf-8", "cp037", "latin-1"])}
    if kind == "parquet":
        return {}
    form: dict[str, Any] = {"types": types, "final_newline": random_.random() < 0.5}
    if random_.random() < 0.2:
        form["encoding"] = random_.choice(ENCODINGS)
    if kind == "csv":
        form |= {"delimiter": random_.choice([",", ",", ";"]), "quote": random_.choice(['"', '"', "none"])}
        form |= random_.choice([{}, {"escape": "none"}, {"escape": "\\"}])
        form |= random_.choice([{}, {"null": ""}, {"null": "\\N"}])
    return form


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.campaign) for seed in range(1, 60))])
def test_only_errors_with_a_remedy(tmp_path: Path, seed: int) -> None:
    random_, whole = random.Random(seed), parquet_file()
    files = {"csv": CSV, "jsonl": JSONL, "fixed": FIXED, "parquet": whole}
    for _ in range(150 if seed == 0 else 2000):
        kind = random_.choice(["csv", "csv", "jsonl", "fixed", "parquet"])
        data, form = mutated(files[kind], random_), drawn_format(kind, random_)
        path = tmp_path / f"f.{kind}"
        path.write_bytes(data)
        try:
            reader = open_dump(DumpPlace(path, "f", once=random_.random() < 0.5), FileFormat.model_validate(form))
            for batch in reader.batches(random_.sample(reader.schema.names, len(reader.schema.names))):
                batch.validate(full=True)
        except QbcdError as error:
            assert error.remedy
        except Exception as error:
            raise AssertionError(f"{form} {data!r}") from error
