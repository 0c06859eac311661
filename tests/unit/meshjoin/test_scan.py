"""The cyclic scan: the paper's traces, and every event meets every page once."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from qbcd.meshjoin import CyclicScan, MeshJoin
from tests.unit.meshjoin.oracles import index_nested_loop

Pages = list[list[tuple[int, str]]]


def test_surrogate_keys_of_figure_1() -> None:
    relation = [[((10, "R1"), 100), ((10, "R2"), 100)], [((20, "R1"), 110), ((30, "R2"), 120)]]
    mesh = MeshJoin[tuple[int, str], str, int](pages=2)
    mesh.admit([((10, "R1"), "first"), ((20, "R1"), "second"), ((99, "R1"), "new")])
    found = [pair for page in relation for pair in mesh.join(page)]
    assert found == [("first", [100]), ("second", [110]), ("new", [])]


def test_trace_of_figure_2() -> None:
    """Two pages, one event before each: s1 leaves after p1 and p2, s2 after p2 and p1."""
    scan, steps = CyclicScan[str](pages=2), []
    for event in ("s1", "s2", "s3"):
        scan.admit(event)
        met = (scan.position, [waiting.events for waiting in scan.waiting])
        steps.append((met, scan.advance()))
    assert steps == [((0, ["s1"]), []), ((1, ["s1", "s2"]), ["s1"]), ((0, ["s2", "s3"]), ["s2"])]


def test_trace_of_figure_6_with_growing_reads() -> None:
    """Three pages, b = 1, 1, 2: the third iteration expires s0 after p2 and s1 after p0."""
    scan, trace = CyclicScan[int](pages=3), []
    for event, pages in enumerate((1, 1, 2)):
        scan.admit(event)
        for _ in range(pages):
            page, left = scan.position, scan.advance()
            trace.append((page, left))
    assert trace == [(0, []), (1, []), (2, [0]), (0, [1])]
    assert [(one.events, one.start) for one in scan.waiting] == [(2, 2)]


def test_a_read_ends_with_the_cycle_and_where_the_oldest_group_leaves() -> None:
    scan = CyclicScan[int](pages=5, position=3)
    assert list(scan.turns(9)) == [3, 4]
    assert list(scan.turns(0)) == [3]
    scan.admit(1)
    assert list(scan.turns(9)) == [3, 4]
    scan.advance()
    scan.advance()
    assert list(scan.turns(9)) == [0, 1, 2]


DRAWN = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 8)), min_size=60, max_size=60)
RELATION = st.lists(st.lists(st.integers(0, 6), max_size=3), min_size=1, max_size=6)


@settings(deadline=None, max_examples=30)
@given(relation=RELATION, stream=st.lists(st.none() | st.integers(0, 6), max_size=15), loops=DRAWN, seed=st.integers())
def test_every_event_meets_every_page_once(
    relation: list[list[int]], stream: list[int | None], loops: list[tuple[int, int]], seed: int
) -> None:
    """Whatever events and pages an iteration has, also after a restart: the join is the nested loop's."""
    pages: Pages = [
        [(key, f"{number}.{place}") for place, key in enumerate(page)] for number, page in enumerate(relation)
    ]
    mesh = MeshJoin[int, int, str](len(pages), position=random.Random(seed).randrange(len(pages)))
    rest, found, meetings = list(enumerate(stream)), [], Counter[tuple[int, int]]()
    for count, reads in [*loops, *[(15, 6)] * 12]:
        mesh.admit((key, number) for number, key in rest[:count])
        rest = rest[count:]
        for _ in range(min(reads, len(pages))):
            page = mesh.scan.position
            meetings.update((entry.event, page) for group in mesh.scan.waiting for entry in group.events)
            found += list(mesh.join(pages[page]))
    assert not mesh.scan.waiting
    assert not list(mesh.keys)
    assert [number for number, _ in found] == list(range(len(stream)))
    assert [(stream[number], sorted(rows)) for number, rows in found] == index_nested_loop(stream, pages)
    assert set(meetings.values()) <= {1}
    assert len(meetings) == len(stream) * len(pages)


def test_a_scan_continues_where_it_was() -> None:
    scan = CyclicScan[str](pages=3)
    scan.admit("a")
    scan.advance()
    scan.admit("b")
    again = CyclicScan[str](3, scan.position, scan.waiting)
    assert [again.advance(), again.advance(), again.advance()] == [[], ["a"], ["b"]]
