"""The best size of ID/RCS ranges, and the savings of a further level of a checksum tree.

Only sums are read. The dirty ranges after a change give, by the size of ranges, the number of rows that would travel:
whole ranges, keys and digests first, or only the dirty leaves. With sums over 64 ranges first, they give the share of
the table that would be scanned a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.id_rcs_poll import _digest_scan
from benchmarks.measure import Options, Table, in_turns
from benchmarks.places import Place
from qbcd.api import Project, parts_of
from qbcd.model import KeyRange, Statement
from qbcd.ranges import leaves, partition
from qbcd.strategies import IdRcs

DATABASES = ("postgresql", "postgresql-debian")
SIZES = (100, 250, 500, 1000, 2000, 5000)
FANOUT = 64
SOME = "WHERE id IN (SELECT {of} FROM generate_series(1, {n}) AS i)"
UPDATE = f"UPDATE {{table}} SET quantity = coalesce(quantity, 0) + 1 {SOME}"
DELETE = f"DELETE FROM {{table}} {SOME}"
ANYWHERE = "1 + (random() * {rows})::bigint"
FIFTH = "1 + ({rows} * (0.8 + random() * 0.2))::bigint"
# By name: (statement, where, share of the rows).
CHANGES = {
    "0.01 % anywhere": [(UPDATE, ANYWHERE, 0.0001)],
    "1 % in the newest rows": [(UPDATE, "{rows} - i", 0.01)],
    "1 % in the newest fifth, a tenth of them deletes anywhere": [(UPDATE, FIFTH, 0.009), (DELETE, ANYWHERE, 0.001)],
    "1 % anywhere": [(UPDATE, ANYWHERE, 0.01)],
}


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Create the table, time the sums by size of range, then change rows and count dirty ranges."""
    place.create(options.rows)
    data = {
        "version": 1,
        "sources": {"shop": {"url": place.url}},
        "tables": [{"source": "shop", "table": place.table, "name": "orders", "strategy": "id_rcs"}],
    }
    with Project.from_dict(data, base_dir=folder) as project:
        ask = partial(_ask, project)
        strategy = IdRcs(parts_of(project).source("shop").connector, project.stream("orders").plan())
        ranges = {size: _ranges(strategy, ask, size) for size in SIZES}
        sums: dict[str, Callable[[], object]] = {
            str(size): partial(ask, strategy.partitioning.checksums(known)) for size, known in ranges.items()
        }
        of_leaves: dict[str, Callable[[], object]] = {
            f"leaves {size}": partial(ask, strategy.partitioning.checksums(known, leaves=True))
            for size, known in ranges.items()
        }
        seconds = in_turns({"scan": lambda: place.one(_digest_scan(project)), **sums, **of_leaves}, options.repeats)
        sample = ranges[SIZES[-1]][:2]
        wide = _width(ask(strategy.images(sample, typed=False)))
        narrow = _width(ask(strategy.row_fingerprints(sample)))
        table = Table(
            (
                "change",
                "rows of a range",
                "ranges",
                "seconds for their sums, x digest scan",
                "differ",
                "sums, MB",
                "whole ranges, MB",
                "keys and digests, then rows, MB",
                "sums of 64 first: sums, MB",
                "scanned again",
                "seconds with leaves, x digest scan",
                "their sums, MB",
                "rows of leaves that differ, MB",
            ),
            f"{place.version()}, rows of {wide:.0f} bytes, keys and digests of {narrow:.0f}",
        )
        for name, statements in CHANGES.items():
            before = {size: _summed(strategy, ask, known) for size, known in ranges.items()}
            in_leaves = {size: _leaves(strategy, ask, known) for size, known in ranges.items()}
            changed = sum(_change(place, *one, options.rows) for one in statements)
            for size, known in before.items():
                time, longer = (f"{seconds[one] / seconds['scan']:.2f}" for one in (str(size), f"leaves {size}"))
                after, texts = _summed(strategy, ask, known), _leaves(strategy, ask, known)
                in_dirty_leaves = sum(_rows(leaves.diff(in_leaves[size][i], text)[1]) for i, text in texts.items())
                shipped = _shipped(known, after, wide, narrow, changed)
                sizes = _mb(sum(map(len, texts.values()))), _mb(in_dirty_leaves * wide)
                table.rows.append((name, f"{size:,}", f"{len(known):,}", time, *shipped, longer, *sizes))
    return table


def _ask(project: Project, statement: Statement) -> list[Any]:
    with parts_of(project).source("shop").read("benchmark") as session:
        return session.rows(statement)


def _ranges(strategy: IdRcs, ask: Callable[[Statement], list[Any]], size: int) -> list[KeyRange]:
    bounds = strategy.partitioning.bounds(size)
    return strategy.partitioning.ranges(ask(bounds) if bounds else [], size, 1, None)


def _summed(strategy: IdRcs, ask: Callable[[Statement], list[Any]], known: Sequence[KeyRange]) -> list[KeyRange]:
    found = {int(r.range_id): r for r in ask(strategy.partitioning.checksums(known))}
    return [replace(r, rows=int(found[r.range_id].n), checksum=int(found[r.range_id].checksum)) for r in known]


def _leaves(strategy: IdRcs, ask: Callable[[Statement], list[Any]], known: Sequence[KeyRange]) -> dict[int, str]:
    return {int(r.range_id): r.leaves for r in ask(strategy.partitioning.checksums(known, leaves=True))}


def _rows(sums: Mapping[int, leaves.Sums]) -> int:
    return sum(one[0] for one in sums.values())


def _width(found: Sequence[Sequence[Any]]) -> float:
    """Return the mean bytes of a row, with values as text, except bytes."""
    return sum(len(v) if isinstance(v, (bytes, memoryview)) else len(str(v)) for row in found for v in row) / len(found)


def _change(place: Place, statement: str, of: str, share: float, rows: int) -> int:
    n = max(1, int(rows * share))
    place.run(statement.format(table=place.table, of=of.format(rows=rows), n=n))
    return n


def _shipped(
    known: Sequence[KeyRange], after: Sequence[KeyRange], wide: float, narrow: float, changed: int
) -> tuple[str, ...]:
    """Return the number of dirty ranges, and megabytes shipped by each way."""
    dirty = partition.differing(known, after)
    ids, held = {r.range_id for r in dirty}, sum(r.rows for r in dirty)
    sums = _width([(r.range_id, r.rows, r.rows, r.checksum) for r in after])
    nodes = [after[i : i + FANOUT] for i in range(0, len(after), FANOUT)]
    again = [r for node in nodes if any(one.range_id in ids for one in node) for r in node]
    share = sum(r.rows for r in again) / sum(r.rows for r in after)
    return (
        f"{len(dirty):,}",
        _mb(len(after) * sums),
        _mb(held * wide),
        _mb(held * narrow + changed * wide),
        _mb((len(nodes) + len(again)) * sums),
        f"{share:.0%}",
    )


def _mb(size: float) -> str:
    return f"{size / 1e6:.2f}"
