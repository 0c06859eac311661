"""Field `elements` of drawn sets: equal in both engines, and as computed by plain Python."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.local.arrow import events_of, lines_of
from qbcd.local.database import LocalDatabase
from qbcd.model import BatchHeader, Travel
from qbcd.spark.events import event_lines, events
from tests.support.local_batches import local_rows
from tests.support.staged_rows import header_of, staged_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXTS = ["a", "", "a,b", 'say "x"', "back\\slash", "\\", '\\"', "[1]", "{", "é\n\t", "a: b", "null", "1"]
PLAIN = ["a", "b", "", "x y", "\\E", "é", '"']
SEPARATORS = (",", ".", "|", " - ", "*")
ROWS = 300


def kinds() -> list[tuple[str, Travel]]:
    text = Travel("text")
    json_sets = [("s", Travel("array", element=text, unordered="set")), ("j", Travel("text", unordered="multiset"))]
    separated = [
        (f"t{i}", Travel("text", unordered=("set", "multiset")[i % 2], separator=separator))
        for i, separator in enumerate(SEPARATORS)
    ]
    return [*json_sets, *separated]


def drawn(dice: random.Random, travel: Travel) -> list[Any] | None:
    """Return the elements of a value; None for NULL."""
    if dice.random() < 0.1:
        return None
    pool: list[Any] = (
        PLAIN if travel.separator else TEXTS if travel.kind == "array" else [*TEXTS, 1, 1.5, -2, None, True, 12e30]
    )
    found: list[Any] = [dice.choice(pool) for _ in range(dice.randrange(5))]
    if travel.kind == "text" and not travel.separator and dice.random() < 0.1:
        found.append(dice.choice([[1, "a"], {"a": 1}]))
    if travel.separator and found == [""]:
        found = []
    return list(dict.fromkeys(found)) if travel.unordered == "set" else found


def written(travel: Travel, elements: list[Any] | None) -> str | None:
    """Return the value as a source writes it."""
    if elements is None:
        return None
    if travel.separator:
        alone = travel.unordered == "set" and elements == [""]
        return travel.separator if alone else travel.separator.join(sorted(elements))
    texts = sorted(json.dumps(one, ensure_ascii=False) for one in elements)
    return "[" + ("," if travel.kind == "array" else ", ").join(texts) + "]"


def expected(travel: Travel, old: list[Any] | None, new: list[Any] | None) -> Any:
    """Return the added and removed elements as JSON texts; None if a value is NULL or no set."""
    if old is None or new is None or any(isinstance(one, (list, dict)) for one in (*old, *new)):
        return None
    then, now = (Counter(json.dumps(one, ensure_ascii=False) for one in some) for some in (old, new))
    return [sorted((now - then).elements()), sorted((then - now).elements())]


def rows_of(dice: random.Random, header: BatchHeader) -> tuple[list[tuple[Any, ...]], list[dict[str, Any] | None]]:
    """Return staged rows, and the elements of their events."""
    rows, wanted = [], []
    columns = header.columns[1:]
    for ordinal in range(ROWS):
        old, new = ([drawn(dice, travel) for _, travel in columns] for _ in range(2))
        texts = [
            [written(travel, value) for (_, travel), value in zip(columns, side, strict=True)] for side in (old, new)
        ]
        op = dice.choice("uuuc")
        before = [None] * len(header.columns) if op == "c" else [ordinal, *texts[0]]
        rows.append((op, None, None, ordinal, None if op == "c" else "1", *before, ordinal, *texts[1]))
        changed = {
            name: expected(travel, old[i], new[i])
            for i, (name, travel) in enumerate(columns)
            if texts[0][i] != texts[1][i]
        }
        wanted.append(None if op == "c" else changed)
    return rows, wanted


def plain(found: dict[str, Any] | None) -> Any:
    """Return elements as the oracle has them."""
    return found and {
        name: lists
        and [sorted(json.dumps(one, ensure_ascii=False) for one in lists[which]) for which in ("added", "removed")]
        for name, lists in found.items()
    }


def test_elements_are_exact(tmp_path: Path) -> None:
    header = header_of([("k", Travel("int64")), *kinds()])
    rows, wanted = rows_of(random.Random(58), header)
    database = LocalDatabase(1 << 28, tmp_path)
    local = [line for piece in lines_of(local_rows(database, header, rows), header, range(ROWS)) for line in piece]
    typed = events_of(local_rows(database, header, rows), header, range(ROWS)).read_all().to_pylist()
    database.close()
    assert [plain(json.loads(line)["elements"]) for line in local] == wanted
    assert [plain(event["elements"] and json.loads(event["elements"])) for event in typed] == wanted


@pytest.mark.campaign
def test_both_engines_have_the_same_elements(spark: SparkSession, tmp_path: Path) -> None:
    header = header_of([("k", Travel("int64")), *kinds()])
    rows, _ = rows_of(random.Random(59), header)
    database = LocalDatabase(1 << 28, tmp_path)
    local = [line for piece in lines_of(local_rows(database, header, rows), header, range(ROWS)) for line in piece]
    typed = events_of(local_rows(database, header, rows), header, range(ROWS)).read_all().to_pylist()
    database.close()
    staged = staged_rows(spark, header, rows)
    assert [row["line"] for row in event_lines(staged, header).orderBy("ordinal").collect()] == local
    of_spark = {row["key"]["k"]: row["elements"] for row in events(staged, header).collect()}
    assert of_spark == {event["key"]["k"]: event["elements"] for event in typed}
