"""All functions of an engine of the lake wing over drawn rows, and what they must return."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qbcd.model import KeyRange, NamedKey, RowSelection, StreamPlan
from qbcd.ranges.leaves import EVERY, as_bits
from qbcd.ranges.recent_keys import leaf_of
from qbcd.sites.lake.engines import algebra
from tests.support import row_model
from tests.support.engine_rows import (
    DIGESTS,
    KEYS,
    KINDS,
    RANGES,
    Hand,
    Row,
    draw,
    events_of,
    fields_of,
    in_order,
    plan_of,
)

EXTRA = (("key_digest", "bigint"), ("shown", "int"), ("settled", "int"), ("untravelled", "string"))
IDENTITY = ("range_id", "key_id")


@dataclass(frozen=True)
class Drawn:
    """Rows of both sides, batches, and requested ranges.

    Attributes:
        both: Positions of compared columns.
        events: Changes of several batches; a key occurs once in each.
        asked: Requests of ranges, by name.
    """

    plan: StreamPlan
    replica: list[Row]
    stage: list[Row]
    both: list[int]
    events: list[Row] = field(default_factory=list)
    asked: Mapping[str, list[KeyRange]] = field(default_factory=dict)

    @classmethod
    def of(cls, seed: int, plan: StreamPlan | None = None) -> Drawn:
        """Return the rows of a seed, with the columns of a plan or of a drawn one."""
        rnd = random.Random(seed)
        plan = plan or plan_of(rnd.choices(KINDS, k=rnd.randint(1, 5)), typed=rnd.random() < 0.5)
        replica = draw(rnd, plan)
        extra = {"key_digest": DIGESTS, "shown": (0, 1, 1), "settled": (0, 1, 1), "untravelled": ("", "", "2,3")}
        stage = draw(rnd, plan, alike=replica, **extra)
        width = len(plan.captured)
        both = sorted(rnd.sample(range(width), rnd.randint(0, width)))
        return cls(plan, replica, stage, both, _events(rnd, plan), _asked(rnd))


def _events(rnd: random.Random, plan: StreamPlan) -> list[Row]:
    found = []
    for batch in (3, 4, 9):
        for row in draw(rnd, plan):
            op, values = rnd.choice("duc"), {f"a_{n[1:]}": v for n, v in row.items() if n[0] == "c"}
            event = {**row, **{f"b{n[1:]}": None for n in values}, **values, "op": op, "batch_seq": batch}
            if op == "d":
                event |= {"digest": None, **dict.fromkeys(values)}
            names = [name for name, _ in events_of(plan)]
            found.append({name: event.get(name) for name in names})
    return found


def _asked(rnd: random.Random) -> dict[str, list[KeyRange]]:
    ranges = rnd.sample(RANGES, rnd.randint(1, len(RANGES)))
    some = as_bits({leaf_of(key) for key in rnd.sample(KEYS, 4)})
    keys = rnd.sample(KEYS, 3)
    chosen = as_bits({leaf_of(key) for key in keys} | {leaf_of(rnd.choice(KEYS))})
    alone = {leaf_of(key): key for key in keys}
    named = tuple(NamedKey(key, ()) for key in keys)
    only = {
        "whole": None,
        "leaves": RowSelection(some, 1, 0),
        "alone": RowSelection(chosen, 1, 0, alone=alone),
        "named": RowSelection(as_bits({leaf_of(key) for key in keys}), 1, 0, named=named),
        "lost": RowSelection(EVERY, 1, 0, deleted_digest=rnd.choice(DIGESTS)),
    }
    found = {name: [KeyRange(i, None, None, 4, only=one) for i in ranges] for name, one in only.items()}
    every = [KeyRange(i, None, None, 4, only=rnd.choice(list(only.values()))) for i in ranges]
    return {**found, "mixed": [*every[:-1], KeyRange(ranges[-1], None, None, 4, only=only["leaves"])]}


class Results:
    """Results of an engine for drawn rows, in an order that depends on nothing but the rows."""

    def __init__(self, hand: Hand, drawn: Drawn) -> None:
        self.hand, self.engine, self.drawn, self.plan = hand, hand.engine, drawn, drawn.plan
        self.width = len(drawn.plan.captured)
        self.values = [f"c{i}" for i in range(self.width)]
        self.images = [f"{side}_{i}" for side in "ba" for i in range(self.width)]
        self.changed = ["op", *IDENTITY, "digest", "changed", *self.images]
        self.old = hand.rows(fields_of(self.plan), drawn.replica)
        self.new = hand.rows(fields_of(self.plan, *EXTRA), drawn.stage)

    def rows(self, found: Any, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return these columns of rows."""
        return in_order(self.hand.read(found), *names)

    def every(self) -> dict[str, Any]:
        """Return the results by the name of the case."""
        return {**self.of_differences(), **self.of_stage(), **self.of_windows(), **self.of_keys(), **self.of_layers()}

    def of_differences(self) -> dict[str, Any]:
        """Comparisons, and what follows from their changes."""
        e, growing = self.engine, [*self.changed, "net", "weight0"]
        found: dict[str, Any] = {}
        for by in ("digest", "values", "either"):
            for name, both in (("all", None), ("some", self.drawn.both)):
                changes = algebra.differences(self.old, self.new, self.plan, by=by, both=both)
                found[f"differences {by} {name}"] = self.rows(changes, growing)
                found[f"fingerprints {by} {name}"] = self.rows(self._by_fingerprints(by, both), ["op", *IDENTITY])
        changes = algebra.differences(self.old, self.new, self.plan, by="either")
        keys = self.hand.rows(fields_of(self.plan)[:4], self.drawn.replica)
        of_key = algebra.differences(keys, self.new, self.plan, by="digest")
        found["differences of keys"] = self.rows(of_key, growing)
        with e.numbered(changes, 7, 10) as batch:
            found["numbered"] = self.rows(batch, [name for name, _ in events_of(self.plan)])
            paired = algebra.paired(batch, keys=1, width=self.width, epoch=2, seq=7)
            found["paired"] = self.rows(paired, [name for name, _ in events_of(self.plan)])
            counts = e.event_counts({})
            self.hand.read(counts.observe(batch))
            found["counts"] = counts.read()
        found |= {
            "groups": algebra.groups(e, changes),
            "growth": algebra.growth(e, changes),
            "range_ids": algebra.range_ids(e, changes),
        }
        found["listed"] = sorted(algebra.listed(e, changes, min(2, self.width), 1000))
        found["few listed"] = len(algebra.listed(e, changes, 1, 2))
        found["without_deletes"] = self.rows(algebra.without_deletes(changes), self.changed)
        found["deletes"] = self.rows(algebra.deletes(changes), self.changed)
        found["with_reason"] = self.rows(algebra.with_reason(changes, "it's"), [*self.changed, "reason"])
        return found

    def _by_fingerprints(self, by: algebra.By, both: Sequence[int] | None) -> Any:
        positions = range(self.width) if both is None else both
        old, new = (algebra.without_values(rows, self.plan, positions) for rows in (self.old, self.new))
        plan, keys = algebra.fingerprinted(self.plan), len(self.plan.key)
        return algebra.differences(old, new, plan, by=by, both=[keys, keys + 1])

    def of_stage(self) -> dict[str, Any]:
        """Facts about the rows of a stage."""
        e = self.engine
        checksum, twice = e.row_checksum(), algebra.together([self.new, self.new])
        self.hand.read(checksum.observe(self.new))
        before = plan_of([c.travel.kind for c in self.plan.captured[1:]])  # it lacks the first column
        names = {c.name: self.plan.captured[i + 1].name for i, c in enumerate(before.captured)}
        renamed = [type(c)(names[c.name], *list(vars(c).values())[1:]) for c in before.captured]
        before = type(before)(**{**vars(before), "key": (), "columns": tuple(renamed)})
        older = self.hand.rows(fields_of(before), [_shifted(row, self.width) for row in self.drawn.replica])
        return {
            "sums": algebra.sums(e, self.new),
            "sums of keys": algebra.sums(e, self.new, "key_digest"),
            "duplicates": (algebra.has_duplicates(e, self.new), algebra.has_duplicates(e, twice)),
            "untravelled": algebra.untravelled(e, self.new),
            "checksum": (checksum.read(), checksum.untravelled()),
            "together": self.rows(twice, [*IDENTITY, "digest", *self.values]),
            "aligned": self.rows(algebra.aligned(older, before, self.plan), [*IDENTITY, "digest", *self.values]),
            "baseline": self.rows(algebra.baseline(self.new, self.width), self.changed),
        }

    def of_windows(self) -> dict[str, Any]:
        """Comparisons of rows in a window, and up to a watermark."""
        e, plan = self.engine, self.plan
        window = algebra.window_differences(self.old, self.new, plan, 10)
        kept = algebra.settled_keys(self.old, self.new, "key_digest")
        settled = algebra.settled_differences(self.old, self.new, plan, self.drawn.both)
        return {
            "window": self.rows(window, [*self.changed, "reason", "net", "weight0"]),
            "growth of the window": algebra.growth(e, window),
            "settled": self.rows(settled, self.changed),
            "settled keys": self.rows(kept, ["range_id", "key_digest"]),
        }

    def of_keys(self) -> dict[str, Any]:
        """Functions that join by key, and the two phases."""
        e, names = self.engine, [*IDENTITY, "digest", *self.values]
        texts = [{**row, "k0": row["key_id"].hex(), "k1": str(row["range_id"])} for row in self.drawn.stage]
        fields = [*fields_of(self.plan)[:3], ("k0", "string"), ("k1", "string")]
        changed = algebra.changed_fingerprints(self.old, self.hand.rows(fields, texts))
        new = self.hand.rows(fields_of(self.plan)[1:], self.drawn.stage)  # it has all rows, not only changed ones
        stage, old = algebra.changed_pairs(changed, new, ["k0", "k1"], 10)
        return {
            "deleted": self.rows(algebra.deleted(self.old, self.new), self.changed),
            "of_keys": self.rows(algebra.of_keys(self.old, self.new), names),
            "without_keys": self.rows(algebra.without_keys(self.old, self.new), names),
            "with_ranges_of": self.rows(algebra.with_ranges_of(e, self.old, self.new, [1, 300]), names),
            "in_ranges": self.rows(e.in_ranges(self.old, [2]), names),
            "renumbered": self.rows(algebra.renumbered(e, self.old, {2: 9, 300: 1}), names),
            "not renumbered": self.rows(algebra.renumbered(e, self.old, {}), names),
            "fingerprints": self.rows(changed, [*names, "k0", "k1"]),
            "changed_keys": sorted(algebra.changed_keys(e, changed, ["k0", "k1"], 1000)),
            "few changed_keys": len(algebra.changed_keys(e, changed, ["k0"], 2)),
            "changed stage": self.rows(stage, names),
            "changed replica": self.rows(old, names),
            "differing_ranges": algebra.differing_ranges(e, self.old, self.new),
        }

    def of_layers(self) -> dict[str, Any]:
        """Rows of a segment and later batches."""
        e, names, found = self.engine, [*IDENTITY, "digest", *self.values], dict[str, Any]()
        fields, events = events_of(self.plan), self.drawn.events
        for name, asked in self.drawn.asked.items():
            in_leaves = any(one.only for one in asked)
            base = self.old if in_leaves else e.in_ranges(self.old, [one.range_id for one in asked])
            for last in (0, 3, 9):
                batches = [event for event in events if event["batch_seq"] <= last]
                later = self.hand.rows(fields, batches) if last else None
                layers = algebra.Layers(later, len(batches), last == 3) if last else None
                merged = algebra.merged(e, base, layers, asked)
                found[f"merged {name} {last}"] = self.rows(merged, names)
        found["last_batches"] = algebra.last_batches(e, self.hand.rows(fields, events))
        return found


def _shifted(row: Row, width: int) -> Row:
    return {**row, **{f"c{i}": row[f"c{i + 1}"] for i in range(width - 1)}}


def expected(drawn: Drawn) -> dict[str, Any]:
    """Return what the functions must return, by the same names, computed row by row."""
    plan, replica, stage = drawn.plan, drawn.replica, drawn.stage
    width = len(plan.captured)
    values, images = [f"c{i}" for i in range(width)], [f"{side}_{i}" for side in "ba" for i in range(width)]
    names, changed = [*IDENTITY, "digest", *values], ["op", *IDENTITY, "digest", "changed", *images]
    found: dict[str, Any] = {}
    for by in ("digest", "values", "either"):
        for name, both in (("all", None), ("some", drawn.both)):
            changes = row_model.differences(replica, stage, plan, by, both)
            found[f"differences {by} {name}"] = in_order(changes, *changed, "net", "weight0")
            found[f"fingerprints {by} {name}"] = in_order(changes, "op", *IDENTITY)
    changes = row_model.differences(replica, stage, plan, "either")
    batch = row_model.numbered(changes, 7)
    events = [name for name, _ in events_of(plan)]
    found["numbered"] = in_order(batch, *events)
    found["paired"] = in_order(row_model.paired(batch, 1, width, 2, 7) if width > 1 else batch, *events)
    found["counts"] = {op: n for op in "duc" if (n := sum(row["op"] == op for row in changes))}
    found["growth"] = row_model.growth(changes)
    found["deletes"] = in_order([row for row in changes if row["op"] == "d"], *changed)
    found["sums"], found["sums of keys"] = row_model.sums(stage, "digest"), row_model.sums(stage, "key_digest")
    found["duplicates"] = (False, bool(stage))
    positions = [2, 3] if any(row["untravelled"] for row in stage) else []
    found["untravelled"] = positions
    digests = [row["digest"] for row in stage]
    found["checksum"] = ((len(stage), None if None in digests else sum(digests)), positions)
    found["window"] = in_order(_window(drawn), *changed, "reason", "net", "weight0")
    found["settled"] = in_order(_settled(drawn), *changed)
    found["settled keys"] = in_order(_settled_keys(drawn), "range_id", "key_digest")
    new = row_model.by_key(stage)
    found["without_keys"] = in_order([row for row in replica if row["key_id"] not in new], *names)
    found["renumbered"] = in_order([{**r, "range_id": {2: 9, 300: 1}.get(r["range_id"], 1)} for r in replica], *names)
    moved = [{**r, "range_id": new[r["key_id"]]["range_id"]} for r in replica if r["key_id"] in new]
    found["with_ranges_of"] = in_order([r for r in moved if r["range_id"] in (1, 300)], *names)
    by_digest = row_model.differences(replica, stage, plan, "digest")
    old = row_model.by_key(replica)
    ranges = [(side[r["key_id"]]["range_id"]) for r in by_digest for side in (old, new) if r["key_id"] in side]
    found["differing_ranges"] = set(ranges)
    found["changed_keys"] = sorted((r["key_id"].hex(), str(r["range_id"])) for r in by_digest if r["op"] != "d")
    for name, asked in drawn.asked.items():
        for last in (0, 3, 9):
            batches = [event for event in drawn.events if event["batch_seq"] <= last]
            found[f"merged {name} {last}"] = in_order(row_model.merged(replica, batches, asked, width), *names)
    return found


def _window(drawn: Drawn) -> list[Row]:
    read = row_model.by_key(drawn.stage)
    known = [row for row in drawn.replica if row["key_id"] in read]
    found = row_model.differences(known, [row for row in drawn.stage if row["shown"]], drawn.plan, "digest")
    left = {"reason": "restriction_exit"}
    return [
        {
            "reason": None,
            **row,
            "weight0": row["net"] * read[row["key_id"]]["key_digest"],
            **(left if row["op"] == "d" else {}),
        }
        for row in found
    ]


def _settled(drawn: Drawn) -> list[Row]:
    waiting = {row["key_id"] for row in drawn.stage if not row["settled"]}
    new = [row for row in drawn.stage if row["shown"] and row["settled"]]
    found = row_model.differences(drawn.replica, new, drawn.plan, "either", drawn.both)
    return [row for row in found if row["key_id"] not in waiting]


def _settled_keys(drawn: Drawn) -> list[Row]:
    old = row_model.by_key(drawn.replica)
    return [r for r in drawn.stage if (r["shown"] and r["settled"]) or (not r["settled"] and r["key_id"] in old)]
