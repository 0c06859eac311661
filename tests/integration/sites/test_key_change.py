"""`key_change: pair`: a delete and an insert of equal content are reported as a key change."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from tests.support.places import Place, over
from tests.support.watched_polls import Event, Watched, stamped


def ways(place: Place) -> dict[str, Any]:
    """Return strategies by name: one statement, a window with flags, and range by range."""
    return {"mds": "mds", "tdi": stamped(place, "tdi"), "id": {"type": "id", "rows_per_range": 3}}


def moved(seen: Watched, key: int, to: int) -> None:
    """Change a row's key; the old row stays as a flagged one, which only TDI can see."""
    seen.run(f"UPDATE t SET id = {to}, at = {seen.clock} WHERE id = {key}")
    seen.run(f"INSERT INTO t (id, v, n, gone) SELECT {key}, v, n, true FROM t WHERE id = {to}")


def pairs(found: list[list[Event]]) -> list[tuple[int, int]]:
    """Return (old key, new key) of every pair; check that other events have no pair."""
    (batch,) = found
    by_id: dict[str, list[Event]] = {}
    for event in batch:
        assert (event.reason == "key_change") == (event.pair_id is not None)
        if event.pair_id is not None:
            by_id.setdefault(event.pair_id, []).append(event)
    for one, other in by_id.values():
        assert (one.op, other.op) == ("d", "c")
        assert one.before is not None
        assert other.after is not None
        assert one.before[1:] == other.after[1:]
    return sorted((one.key, other.key) for one, other in by_id.values())


@over(elsewhere=[])
def test_a_row_under_another_key_is_a_pair(place: Place, workspace: Path) -> None:
    names = ways(place)
    hidden = {name: {"where": "NOT gone"} for name in ("mds", "id")}  # no flag shows them a deleted row
    with Watched(place, workspace, names, key_change="pair", each=hidden) as seen:
        seen.insert(15, "NULL")
        seen.run("UPDATE t SET v = NULL, n = NULL")
        for key in (13, 14):
            seen.insert(key, "twin")
        seen.fill()
        moved(seen, 2, 102)
        moved(seen, 15, 115)  # all its content is NULL
        moved(seen, 13, 113)  # two of equal content: their pairing is unknown
        moved(seen, 14, 114)
        seen.flag(3)  # one row is deleted, and two with its content are inserted
        seen.insert(203, "old 3")
        seen.insert(204, "old 3")
        moved(seen, 9, 109)
        seen.update(109, "changed too")
        seen.insert(300, "old 10")  # with the content of a row that stays
        first = {name: seen.poll(name) for name in names}
        assert {name: pairs(found) for name, found in first.items()} == {name: [(2, 102), (15, 115)] for name in names}
        moved(seen, 11, 111)
        for name in names:
            again = seen.poll(name)
            assert pairs(again) == [(11, 111)], name
            ids = {event.pair_id for event in first[name][0] if event.pair_id}
            assert ids.isdisjoint(event.pair_id for event in again[0])
            seen.check(name)


@over(elsewhere=[])
def test_random_changes_of_keys_are_as_many_pairs(place: Place, workspace: Path) -> None:
    drawn, rows = random.Random(58), 60
    names = {"mds": "mds", "id": {"type": "id", "rows_per_range": 10}}
    with Watched(place, workspace, names, key_change="pair") as seen:
        seen.fill(rows)
        chosen = drawn.sample(range(1, rows + 1), 40)
        changed, deleted, changed_too = chosen[:20], chosen[20:30], chosen[30:]
        new_keys = drawn.sample(range(1000, 2000), 40)
        keys = dict(zip(changed, new_keys, strict=False))
        for key in drawn.sample(changed, len(changed)):
            seen.run(f"UPDATE t SET id = {keys[key]} WHERE id = {key}")
        for key in deleted:
            seen.delete(key)
        for key in changed_too:
            seen.run(f"UPDATE t SET id = {key + 5000}, v = 'new {key}' WHERE id = {key}")
        for key in new_keys[20:30]:
            seen.insert(key, f"new {key}")
        for key in new_keys[30:]:
            seen.insert(key, "equal")
        for name in names:
            assert pairs(seen.poll(name)) == sorted(keys.items()), name


@over(elsewhere=[])
def test_pairs_are_off_by_default(place: Place, workspace: Path) -> None:
    with Watched(place, workspace, ways(place)) as seen:
        seen.fill()
        moved(seen, 2, 102)
        for name in ("mds", "tdi", "id"):
            (batch,) = seen.poll(name)
            assert (102, "c") in {(event.key, event.op) for event in batch}
            assert {(event.reason, event.pair_id) for event in batch} == {(None, None)}
