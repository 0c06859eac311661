"""ID with `per_poll` of half the ranges, when 80 % of the changes are in 20 % of the ranges.

Before each poll, random rows change, four of five of them in a fifth of the ranges. The results are: the share of
changes that the next poll finds, the greatest age of a change when it is found, and the blocks of a poll relative to a
poll of all ranges.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import explained
from benchmarks.explained import Blocks, listening
from benchmarks.measure import Options, Table
from benchmarks.places import Place
from qbcd.api import Project, parts_of
from qbcd.strategies.outbox import outbox_name
from qbcd.stream import Report

DATABASES = ("postgresql",)
SETTINGS = {"shared_buffers": "2GB", **explained.SETTINGS}
EVERY, MAX_STALENESS = 5, 60  # seconds
LEARNING, POLLS = 4, 24
PER_RANGE = 3  # changes per range and poll, on average
CHANGE = "UPDATE public.orders SET quantity = coalesce(quantity, 0) + 1 WHERE id IN ({ids})"


@dataclass
class Seen:
    """The findings of polls.

    Attributes:
        waiting: Time of the first change, by row whose change was not found yet.
        shares: The share of the latest changes that a poll found, by poll.
        oldest: Most seconds between a change and the end of the poll that found it.
        blocks: Blocks asked for by the statements that find changes, by poll.
    """

    waiting: dict[int, float] = field(default_factory=dict)
    shares: list[float] = field(default_factory=list)
    oldest: float = 0.0
    blocks: list[int] = field(default_factory=list)


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Prepare, determine the number of ranges, then poll at fixed times."""
    place.run("CREATE EXTENSION pg_buffercache")
    place.create(options.rows)
    with _project(place, folder, {}) as project:
        project.stream("orders").prepare()
        bounds = _bounds(project, options.rows)
        drawn, whole, seen = random.Random(1), Seen(), Seen()
        _change(place, [drawn.choice(bounds) for _ in range(PER_RANGE * len(bounds))], drawn, whole)
        _poll(project, place, whole)
    hot = drawn.sample(range(len(bounds)), len(bounds) // 5)
    cold = sorted(set(range(len(bounds))) - set(hot))
    half = {"per_poll": len(bounds) // 2, "max_staleness": f"{MAX_STALENESS}s"}
    with _project(place, folder, half) as project:
        for _ in range(LEARNING + POLLS):
            due = time.monotonic() + EVERY
            _change(
                place,
                [bounds[drawn.choice(hot if drawn.random() < 0.8 else cold)] for _ in range(PER_RANGE * len(bounds))],
                drawn,
                seen,
            )
            _poll(project, place, seen)
            time.sleep(max(0.0, due - time.monotonic()))
    with _project(place, folder, {}) as project:  # all ranges again, since updates have made the table larger
        _poll(project, place, seen)  # completes the pass
        _change(place, [drawn.choice(bounds) for _ in range(PER_RANGE * len(bounds))], drawn, whole)
        _poll(project, place, whole)
    return _table(seen, whole.blocks, len(bounds), place.version())


@contextmanager
def _project(place: Place, folder: Path, options: dict[str, Any]) -> Iterator[Project]:
    strategy = {"type": "id", **options}
    table = {"source": "shop", "table": place.table, "name": "orders", "strategy": strategy, "every": f"{EVERY}s"}
    data = {"version": 1, "sources": {"shop": {"url": place.url}}, "tables": [table]}
    with Project.from_dict(data, base_dir=folder) as project:
        yield project


def _bounds(project: Project, rows: int) -> list[tuple[int, int]]:
    """Return (first, last) id of every range."""
    site = parts_of(project).open_stream("orders").site
    with site.context.reading() as conn:
        known = site.context.store.ranges(conn, "orders")
    return [(int(r.lo[0]) if r.lo else 1, int(r.hi[0]) - 1 if r.hi else rows) for r in known]


def _change(place: Place, where: Sequence[tuple[int, int]], drawn: random.Random, seen: Seen) -> None:
    ids = sorted({drawn.randint(first, last) for first, last in where} - seen.waiting.keys())
    place.run(CHANGE.format(ids=", ".join(map(str, ids))))
    seen.waiting |= dict.fromkeys(ids, time.monotonic())


def _poll(project: Project, place: Place, seen: Seen) -> None:
    latest = max(seen.waiting.values(), default=0.0)
    new = {one for one, since in seen.waiting.items() if since == latest}
    with listening(place.url, cold=False) as statements:
        [outcome] = project.run(["orders"], once=True).outcomes
    ended = time.monotonic()
    if outcome.error or outcome.report is None:
        raise outcome.error or AssertionError("no report")
    found = {one for one in _found(place, outcome.report) if one in seen.waiting}
    seen.oldest = max([seen.oldest, *(ended - seen.waiting.pop(one) for one in found)])
    seen.shares.append(len(new & found) / max(1, len(new)))
    finding = [s for s in statements if {"orders", outbox_name("orders")} <= s.relations]
    seen.blocks.append(sum((s.below for s in finding), Blocks()).asked)


def _found(place: Place, report: Report) -> list[int]:
    numbers = ", ".join(f"({h.epoch}, {h.seq})" for h in report.headers) or "(0, 0)"
    outbox = f"qbcd.{outbox_name('orders')}"
    ids = place.one(f"SELECT array_agg(a_id) FROM {outbox} WHERE (epoch, batch_seq) IN ({numbers})")
    return list(ids or [])


def _table(seen: Seen, whole: list[int], ranges: int, versions: str) -> Table:
    table = Table(("", "measured", "bound"), versions)
    measured = seen.blocks[LEARNING : LEARNING + POLLS]
    blocks = sum(measured) / len(measured)
    later = seen.shares[LEARNING : LEARNING + POLLS]
    table.rows += [
        ("ranges, visited by a poll, changes between polls", f"{ranges}, {ranges // 2}, {PER_RANGE * ranges}", ""),
        (
            f"found by the very next poll, first {LEARNING} polls",
            ", ".join(f"{s:.0%}" for s in seen.shares[:LEARNING]),
            "",
        ),
        (
            f"found by the very next poll, mean of the {len(later)} polls after",
            f"{sum(later) / len(later):.1%}",
            ">= 80 %",
        ),
        ("the worst of these polls", f"{min(later):.1%}", ""),
        (
            "blocks of such a poll relative to one of all ranges, before and after",
            ", ".join(f"{blocks / one:.2f}" for one in whole),
            "0.5",
        ),
        (
            "seconds from a change to the end of the poll that found it, at most",
            f"{seen.oldest:.1f}",
            f"{MAX_STALENESS}, polled every {EVERY}",
        ),
        (
            "longest that a change not found yet has waited",
            f"{time.monotonic() - min(seen.waiting.values()):.1f}" if seen.waiting else "-",
            f"{MAX_STALENESS}",
        ),
    ]
    return table
