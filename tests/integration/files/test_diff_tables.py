"""`qbcd diff` of two tables by range checksums finds exactly what a complete read of both finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import qbcd
from qbcd.comparison import by_ranges
from qbcd.comparison.compare import DiffResult
from qbcd.errors import UnsafeKey
from tests.support.cli import Cli
from tests.support.places import OTHERS as OTHER_KINDS
from tests.support.places import Place, over

ROWS = 40
VALUES = "name varchar(20), amount decimal(10, 2), at date"
UUID = "12345678-0000-4000-8000-0000000000{:02}"


@pytest.fixture(autouse=True)
def small_ranges(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace)
    monkeypatch.setattr(by_ranges, "FINE", 4)
    monkeypatch.setattr(by_ranges, "GROUP", 3)


@dataclass(frozen=True)
class Key:
    """A key: its columns, its constraint, SQL of the key of row i; the kind of ranges that it has."""

    columns: str
    constraint: str
    values: str
    kind: str
    argument: str = ""


KEYS = {
    "number": Key("id integer", "PRIMARY KEY (id)", "{i}", "key"),
    "composite": Key("part integer, day date", "PRIMARY KEY (part, day)", "{i} % 3, '2026-01-{d:02}'", "key"),
    "text": Key("word varchar(20)", "PRIMARY KEY (word)", "'w {i}'", "key"),
    "uuid": Key("id uuid", "PRIMARY KEY (id)", f"'{UUID.format(0)[:-2]}{{i:02}}'", "hash"),
    "no index": Key("id integer", "UNIQUE (name)", "{i}", "hash", "id"),
}
CHANGES = {
    "none": [],
    "one": ["UPDATE {new} SET amount = 7 WHERE name = 'n11'"],
    "insert": ["INSERT INTO {new} SELECT {other}, 'new', 1, NULL FROM {new} WHERE name = 'n1'"],
    "delete": ["DELETE FROM {new} WHERE name = 'n20'"],
    "to NULL": ["UPDATE {new} SET at = NULL WHERE name IN ('n0', 'n21')"],
    "many": [
        "UPDATE {new} SET amount = amount + 1 WHERE name LIKE '%3'",
        "DELETE FROM {new} WHERE name LIKE '%5'",
        "DELETE FROM {old} WHERE name LIKE '%7'",
    ],
    "all": ["UPDATE {new} SET amount = amount + 1"],
    "empty old": ["DELETE FROM {old}"],
    "empty new": ["DELETE FROM {new}"],
    "both empty": ["DELETE FROM {old}", "DELETE FROM {new}"],
}
OTHERS = {"number": "99", "composite": "99, '2026-01-01'", "text": "'w 1 '", "uuid": f"'{UUID.format(99)}'"}
CASES = [(key, "many") for key in KEYS] + [
    ("number", change) for change in ("none", "one", "insert", "all", "empty old")
]
EVERY = [(key, change) for key in KEYS for change in CHANGES]
ALSO = [pytest.param(*case, marks=pytest.mark.campaign) for case in EVERY if case not in CASES]


def make(place: Place, key: Key, name: str, *, values: str = VALUES, more: str = "") -> str:
    """Create a table with its rows; return its name."""
    table = place.table(name)
    place.sql(f"CREATE TABLE {table} ({place.spelt(key.columns)}, {values}, {key.constraint}) {more}")
    rows = [
        f"({key.values.format(i=i, d=i % 28 + 1)}, 'n{i}', {i}.50, {'NULL' if i % 3 else repr('2026-11-27')})"
        for i in range(ROWS)
    ]
    place.sql(f"INSERT INTO {table} VALUES {', '.join(rows)}")
    return table


def seen(found: DiffResult) -> list[Any]:
    """Return the events without their ids and times, and the numbers of rows."""
    with found:
        names = ("op", "key", "before", "after", "changed")
        return [*(tuple(event[name] for name in names) for event in found), found.rows, found.counts]


def both(urls: Sequence[str], **options: Any) -> DiffResult:
    """Return the comparison by checksums, whose events must be those of a complete read."""
    found = qbcd.diff(*urls, **options)
    assert seen(found) == seen(qbcd.diff(*urls, method="join", **options))
    return found


@over(
    "key, change",
    [*CASES, *ALSO],
    elsewhere=[("number", "many"), ("text", "many"), ("number", "insert")],
    # there a key that differs in a blank at its end is the same
    without={kind: [("text", "insert")] for kind in OTHER_KINDS},
)
def test_the_result_is_that_of_a_complete_read(place: Place, key: str, change: str) -> None:
    of = KEYS[key]
    old, new = (make(place, of, name) for name in ("old", "new"))
    for statement in CHANGES[change]:
        place.sql(statement.format(old=old, new=new, other=OTHERS.get(key, "99")))
    found = both([f"{place.url}#{old}", f"{place.url}#{new}"], key=of.argument or ())
    assert found.ranges is not None, found.complete_because
    scattered = key == "uuid" and place.kind == "postgresql"
    assert found.ranges.kind == ("hash" if scattered or of.argument else "key")
    assert bool(found.ranges.dirty) == (change not in ("none", "both empty"))
    read = sum(amount.rows for amount in found.amounts)
    if change in ("none", "one", "insert", "delete"):
        assert read <= 16, found.ranges


@over("what", ["view", "type", "of its own", "twice", "null"], elsewhere=["of its own", "twice"])
def test_tables_are_read_completely_where_checksums_are_not_safe(place: Place, what: str) -> None:
    first = place.kind == "postgresql"
    key = KEYS["no index" if what in ("twice", "null") else "number"]
    more = "" if first or what != "of its own" else "ENGINE = MyISAM"
    key = Key("id numeric", *list(vars(key).values())[1:]) if first and what == "of its own" else key
    old, new = make(place, key, "old", more=more), place.table("new")
    own = "key column id is numeric" if first else f"{old} has storage engine MyISAM"
    types = "numeric(12,3) and numeric(10,2)" if first else "decimal(12,3) and decimal(10,2)"
    reasons = {
        "view": f"{new} is a view",
        "type": f"column amount is {types}",
        "of its own": own,
        "null": "key (id) has duplicate or NULL values",
    }
    if what == "view":
        place.sql(f"CREATE VIEW {new} AS SELECT * FROM {old}")
    else:
        make(place, key, "new", values=VALUES.replace("10, 2", "12, 3") if what == "type" else VALUES)
    if what == "twice":
        place.sql(f"UPDATE {new} SET id = 4 WHERE id = 3")
    if what == "null":
        place.sql(f"UPDATE {new} SET id = NULL WHERE id = 3")
    urls = [f"{place.url}#{new}", f"{place.url}#{old}"]
    if what == "twice":
        with pytest.raises(UnsafeKey, match="the key is not unique: id 4 occurs 2 times"):
            qbcd.diff(*urls, key="id")
        return
    found = both(urls, key="id")
    assert found.ranges is None
    assert reasons[what] in found.complete_because


@over(elsewhere=[()])
def test_rows_are_those_of_the_state_of_the_checksums(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = (make(place, KEYS["number"], name) for name in ("old", "new"))
    place.sql(f"UPDATE {new} SET amount = 7 WHERE id = 11")
    read = by_ranges.TableSide.rows

    def later(side: by_ranges.TableSide, *args: Any) -> Any:
        place.sql(f"UPDATE {new} SET amount = amount + 100 WHERE id IN (11, 30); DELETE FROM {old} WHERE id = 12")
        return read(side, *args)

    monkeypatch.setattr(by_ranges.TableSide, "rows", later)
    with qbcd.diff(f"{place.url}#{old}", f"{place.url}#{new}") as found:
        assert [(e["op"], e["key"]["id"], e["after"]["amount"]) for e in found] == [("u", 11, "7.00")]


@over(elsewhere=[])
def test_the_command_says_what_it_reads(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = (make(place, KEYS["number"], name) for name in ("old", "new"))
    cli, urls = Cli(capsys), [f"{place.url}#{old}", f"{place.url}#{new}"]
    place.sql(f"UPDATE {new} SET amount = 7 WHERE id = 11")
    ran = cli("diff", *urls)
    assert (ran.code, "4 and 4 rows read, 0.0 MB: 1 dirty of " in ran.out) == (4, True), ran.out
    shown = cli("diff", *urls, "--explain").out
    assert "checksums: both servers compute count and checksum of ranges of the key id" in " ".join(shown.split())
    shown = cli("diff", *urls, "--explain", "--method", "join").out
    assert "one statement for each table" in " ".join(shown.split())
    place.drop_primary_key(new)
    ran = cli("diff", *urls)
    message = f"error: {new} has no primary key (name the columns that identify a row: --key id, or --key a,b)"
    assert (ran.code, message in ran.err) == (3, True), ran.err
