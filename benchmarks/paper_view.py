"""The paper's example of a view: four relations, 1 % changes, half of the attributes.

It shows the cost of four ways: copy all relations, compute the view from the copies and replace it; the same, but send
only differences to the old view; VBD by checksums of the result; VBD by changed rows (delta). Next to them are the
paper's figures for 100,000 rows, ten per page: 220,000, 300,400, 41,000 and 1,520 pages.

The first two are counted like in the paper, with the sizes of files and tables here: each relation is read, written to
a file, read, written to the warehouse, and read for the join. VBD's polls are real polls, measured by the server's own
statistics of all tables and indexes. *Asked for* counts a block each time it is needed. *Read* counts it once: the
cache was empty before the poll and is large enough. The server's `random_page_cost` is 1.1, as recommended for SSDs.
With the default 4 it would read a whole table instead of a third of its pages by an index.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import Options, Table
from benchmarks.places import Place
from qbcd.api import Project

DATABASES = ("postgresql",)
SETTINGS = {"shared_buffers": "2GB", "random_page_cost": 1.1}
PAGE = 8192
SHARE = 0.01
RELATIONS = ("a", "b", "c", "d")
PAPER = {"copy and replace": 220_000, "copy and diff": 300_400, "VBD, checksum": 41_000, "VBD, delta": 1_520}
# Ten rows per page; half of the bytes are in the view. Each relation except the first refers to the one before.
CREATE = """
CREATE TABLE public.{name} (id integer PRIMARY KEY, up integer NOT NULL, shown text NOT NULL, rest text NOT NULL,
  updated_at timestamptz NOT NULL);
INSERT INTO public.{name} SELECT i, i, left(repeat(md5(i::text || '{name}'), 12), 370),
  left(repeat(md5('{name}' || i::text), 12), 370), timestamptz '2024-01-01 00:00:00+00' + i * interval '1 second'
  FROM generate_series(1, {rows}) AS i;
CREATE INDEX {name}_at ON public.{name} (updated_at); CREATE UNIQUE INDEX {name}_up ON public.{name} (up);
VACUUM ANALYZE public.{name};
"""
VIEW = """SELECT a.id, a.shown AS sa, b.shown AS sb, c.shown AS sc, d.shown AS sd FROM public.a
JOIN public.b ON b.up = a.id JOIN public.c ON c.up = b.id JOIN public.d ON d.up = c.id"""
CHANGE = "UPDATE public.{name} SET shown = 'changed ' || left(shown, 362), updated_at = clock_timestamp() WHERE {which}"
# The newest rows of every relation, which join with each other; or the same number of random rows of each.
PATTERNS = {
    "clustered": "id > {rows} - {changed}",
    "random": "id IN (SELECT id FROM public.{name} ORDER BY md5(id::text || '{name}') LIMIT {changed})",
}
STREAMS: dict[str, tuple[str, dict[str, Any]]] = {
    "checksum": ("VBD, checksum", {"variant": "checksum"}),
    "delta": (
        "VBD, delta",
        {"variant": "delta", "timestamps": {f"public.{r}": "updated_at" for r in RELATIONS}, "margin": "1ms"},
    ),
}


@dataclass
class Sizes:
    """Pages of all relations, their files and the view; bytes of all rows, and of the view's."""

    relations: float
    file: float
    view: float
    shipped: float
    view_bytes: float


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Measure each pattern in its own database; nothing is timed, so nothing is repeated."""
    heading = (
        "changes",
        "way",
        "the paper",
        "pages read",
        "of copy and replace",
        "in the paper",
        "asked for",
        "bytes shipped",
    )
    table = Table(heading, place.version())
    for pattern in PATTERNS:
        place.one(f"CREATE DATABASE {pattern}")
        own = type(place)(place.url.rsplit("/", 1)[0] + f"/{pattern}")
        table.rows += list(_pattern(own, folder / pattern, options.rows, pattern))
    return table


def _pattern(place: Place, folder: Path, rows: int, pattern: str) -> Iterator[tuple[str, ...]]:
    changed = max(1, round(rows * SHARE))
    place.run("CREATE EXTENSION IF NOT EXISTS pg_buffercache")
    for name in RELATIONS:
        place.run(CREATE.format(name=name, rows=rows))
    folder.mkdir()
    with Project.from_dict(_config(place.url), base_dir=folder) as project:
        for stream in STREAMS:
            project.stream(stream).prepare()
        place.run("VACUUM ANALYZE")
        sizes = _sizes(place)
        for name in RELATIONS:
            place.run(CHANGE.format(name=name, which=PATTERNS[pattern].format(name=name, rows=rows, changed=changed)))
        place.run("SELECT pg_sleep(0.1)")
        yield from _copied(sizes, pattern)
        base = _pages("copy and replace", sizes)
        for stream, (called, _) in STREAMS.items():
            asked, read, shipped = _polled(place, project, stream)
            yield (
                pattern,
                called,
                f"{PAPER[called]:,}",
                f"{read:,}",
                f"{read / base:.4f}",
                f"{PAPER[called] / PAPER['copy and replace']:.4f}",
                f"{asked:,}",
                f"{shipped:,}",
            )


def _copied(sizes: Sizes, pattern: str) -> Iterator[tuple[str, ...]]:
    """Yield the lines of the two ways that copy, computed from sizes."""
    base = _pages("copy and replace", sizes)
    for called in ("copy and replace", "copy and diff"):
        pages, paper = _pages(called, sizes), PAPER[called]
        figures = (f"{pages:,.0f}", f"{pages / base:.2f}", f"{paper / PAPER['copy and replace']:.2f}")
        yield (pattern, called, f"{paper:,}", *figures, "", f"{sizes.shipped:,.0f}")


def _pages(called: str, sizes: Sizes) -> float:
    """Return the pages as in the paper: 4N each to read, write a file, read it, load it, join.

    A replacement writes the view. A diff writes it, reads old and new, and applies the differences.
    """
    copied = 3 * sizes.relations + 2 * sizes.file
    if called == "copy and replace":
        return copied + sizes.view
    found = 3 * sizes.view + 2 * SHARE * sizes.view  # write old and new as files, compare them, then the changes
    return copied + found + 2 * sizes.view


def _sizes(place: Place) -> Sizes:
    def size(name: str) -> float:
        return float(place.one(f"SELECT pg_relation_size('public.{name}')"))

    place.run(f"CREATE TABLE public.result AS {VIEW}")
    shipped = sum(float(place.one(f"SELECT SUM(octet_length(t::text)) FROM public.{r} AS t")) for r in RELATIONS)
    view_bytes = float(place.one("SELECT SUM(octet_length(t::text)) FROM public.result AS t"))
    found = Sizes(sum(map(size, RELATIONS)) / PAGE, shipped / PAGE, size("result") / PAGE, shipped, view_bytes)
    place.run("DROP TABLE public.result")
    return found


def _polled(place: Place, project: Project, stream: str) -> tuple[int, int, int]:
    """Return (blocks asked for, distinct blocks read, bytes shipped) of a poll."""
    place.run("CHECKPOINT;\nSELECT pg_buffercache_evict_all()")
    before = _blocks(place)
    [outcome] = project.run([stream], once=True).outcomes
    if outcome.error or not outcome.report:
        raise outcome.error or AssertionError(stream)
    asked, read = (now - then for now, then in zip(_blocks(place), before, strict=True))
    events = sum(header.size for header in outcome.report.headers)
    rows = outcome.report.cost.rows_shipped or events
    width = float(place.one(f"SELECT AVG(octet_length(t::text)) FROM (SELECT * FROM ({VIEW}) AS v LIMIT 100) AS t"))
    return asked, read, round(rows * width * (2 if stream == "delta" else 1))


def _blocks(place: Place) -> tuple[int, int]:
    """Return the blocks of user tables and indexes asked for so far, and those not in the cache."""
    place.run("SELECT pg_sleep(1.5)")  # until sessions have reported their statistics
    hit, read = (
        int(place.one(f"SELECT SUM(heap_blks_{how} + COALESCE(idx_blks_{how}, 0)) FROM pg_statio_user_tables"))
        for how in ("hit", "read")
    )
    return hit + read, read


def _config(url: str) -> dict[str, Any]:
    return {
        "version": 1,
        "sources": {"shop": {"url": url}},
        "sinks": {"changes": {"type": "jsonl", "path": "out"}},
        "defaults": {"sinks": ["changes"]},
        "tables": [
            {
                "source": "shop",
                "name": name,
                "query": VIEW,
                "baseline": "silent",
                "strategy": {"type": "vbd", **strategy},
            }
            for name, (_, strategy) in STREAMS.items()
        ],
    }
