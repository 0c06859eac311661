"""The functions of an engine of the lake wing in plain Python, row by row."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from qbcd.model import KeyRange, StreamPlan
from qbcd.ranges import leaves
from qbcd.ranges.recent_keys import leaf_of
from tests.support.engine_rows import Row, plain

RANKS = {"d": 0, "u": 1, "c": 2, "r": 3}


def by_key(rows: Sequence[Row]) -> dict[bytes, Row]:
    """Return rows by key; each key occurs once."""
    return {row["key_id"]: row for row in rows}


def comparable(plan: StreamPlan, position: int, value: Any) -> Any:
    """Return a value by which equal values are equal."""
    column = plan.captured[position]
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    if column.fact("zeros") == "loose" and value is not None and "." in value:
        return re.sub(r"[.]?0+\Z", "", value)
    return value


def changed(plan: StreamPlan, old: Row, new: Row, both: Sequence[int]) -> str:
    """Return the positions of the changed columns."""
    keys = len(plan.key)
    positions = [i for i, c in enumerate(plan.captured) if i in both and (i >= keys or c.comparison != "typed")]
    differ = [i for i in positions if comparable(plan, i, old[f"c{i}"]) != comparable(plan, i, new[f"c{i}"])]
    return ",".join(map(str, differ))


def differences(
    replica: Sequence[Row], stage: Sequence[Row], plan: StreamPlan, by: str, both: Sequence[int] | None = None
) -> list[Row]:
    """Return the changes that turn `replica` into `stage`."""
    old, new, found = by_key(replica), by_key(stage), list[Row]()
    width = range(len(plan.captured))
    for key in old.keys() | new.keys():
        before, after = old.get(key), new.get(key)
        op = "d" if after is None else "c" if before is None else "u"
        known = before is None or all(f"c{i}" in before for i in width)
        listed = changed(plan, before, after, width if both is None else both) if before and after and known else None
        digests = (before or {}).get("digest"), (after or {}).get("old_digest", (after or {}).get("digest"))
        other = None not in digests and digests[0] != digests[1]
        shown = {"digest": other, "values": bool(listed), "either": other or bool(listed)}[by]
        if op == "u" and not shown:
            continue
        row = {"op": op, "range_id": (after or before or {})["range_id"], "key_id": key, "changed": listed}
        row |= {f"b_{i}": (before or {}).get(f"c{i}") for i in width}
        row |= {f"a_{i}": (after or {}).get(f"c{i}") for i in width}
        growth = ((after or {}).get("digest") or 0) - ((before or {}).get("digest") or 0)
        net = (after is not None) - (before is not None)
        found.append({**row, "digest": (after or {}).get("digest"), "net": net, "weight0": growth})
    return found


def merged(base: Sequence[Row], batches: Sequence[Row], asked: Sequence[KeyRange], width: int) -> list[Row]:
    """Return the rows of some ranges or leaves after all batches.

    A row is looked up by the digest of a deleted one, too: that of each of its versions alone.
    """
    ranges = {one.range_id: one for one in asked}
    rows = {(r["range_id"], r["key_id"]): r for r in base if is_asked(r, ranges)}
    for event in sorted(batches, key=lambda e: int(e["batch_seq"])):
        place = (event["range_id"], event["key_id"])
        if is_asked(event, ranges):
            rows.pop(place, None)
            if event["op"] != "d":
                values = {f"c{i}": event[f"a_{i}"] for i in range(width)}
                rows[place] = {"range_id": place[0], "key_id": place[1], "digest": event["digest"], **values}
    return list(rows.values())


def is_asked(row: Row, ranges: dict[int, KeyRange]) -> bool:
    """Return True if the ranges, or the leaves of them, have a row."""
    one, key = ranges.get(row["range_id"]), row["key_id"]
    if one is None or one.only is None:
        return one is not None
    leaf = leaf_of(key)
    if leaf not in leaves.tails(one):
        return False
    alone = {leaf: {identity} for leaf, identity in (one.only.alone or {}).items()}
    for named in one.only.named:
        alone.setdefault(leaf_of(named.identity), set()).add(named.identity)
    if leaf in alone:
        return key in alone[leaf]
    return one.only.deleted_digest is None or row["digest"] == one.only.deleted_digest


def numbered(changes: Sequence[Row], seq: int) -> list[Row]:
    """Return the changes as rows of a batch."""
    in_order = sorted(changes, key=lambda r: (RANKS[r["op"]], r["range_id"], r["key_id"]))
    return [{"reason": None, **row, "pair_id": None, "ordinal": i, "batch_seq": seq} for i, row in enumerate(in_order)]


def paired(batch: Sequence[Row], keys: int, width: int, epoch: int, seq: int) -> list[Row]:
    """Return the batch with key changes: one delete without a reason and one insert, equal but for the key."""
    groups: defaultdict[Any, list[Row]] = defaultdict(list)
    for row in batch:
        if (row["op"] == "d" and row["reason"] is None) or row["op"] == "c":
            side = "b" if row["op"] == "d" else "a"
            groups[tuple(plain(row[f"{side}_{i}"]) for i in range(keys, width))].append(row)
    marks: dict[int, str] = {}
    for rows in groups.values():
        if Counter(row["op"] for row in rows) == {"d": 1, "c": 1}:
            first = next(row["ordinal"] for row in rows if row["op"] == "d")
            marks |= {row["ordinal"]: f"{epoch}:{seq}:{first}" for row in rows}
    return [
        {**row, "pair_id": marks[row["ordinal"]], "reason": "key_change"} if row["ordinal"] in marks else row
        for row in batch
    ]


def sums(rows: Sequence[Row], column: str) -> dict[int, tuple[int, int | None]]:
    """Return by range the number of rows and their sum of digests; None if one is missing."""
    found: defaultdict[int, list[int | None]] = defaultdict(list)
    for row in rows:
        found[row["range_id"]].append(row[column])
    return {i: (len(all_), None if None in all_ else sum(d or 0 for d in all_)) for i, all_ in found.items()}


def growth(changes: Sequence[Row]) -> dict[int, tuple[int, int]]:
    """Return by range the growth in rows and in the sum of digests."""
    found: defaultdict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for row in changes:
        rows, checksum = found[row["range_id"]]
        found[row["range_id"]] = rows + row["net"], checksum + row["weight0"]
    return dict(found)
