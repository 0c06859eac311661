"""Blocks that a poll of each database-wing strategy reads, next to the paper's formula.

1 % of the rows change: the newest ones, or random ones. Each strategy polls the same changes through its own stream.
Blocks are the server's own counts for the statements of the poll (see `explained`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import explained
from benchmarks.explained import Blocks, Explained, listening
from benchmarks.measure import Options, Table
from benchmarks.places import Place
from qbcd.api import Project, assembly_of
from qbcd.strategies import InSource, Watermarked, costs
from qbcd.strategies.outbox import outbox_name

DATABASES = ("postgresql",)
SETTINGS = {"shared_buffers": "2GB", **explained.SETTINGS}
PAGE = 8192
SHARE = 0.01  # of the rows that change
CREATE = """
CREATE EXTENSION IF NOT EXISTS pg_buffercache;
CREATE EXTENSION IF NOT EXISTS pageinspect;
CREATE TABLE public.orders (
  id bigint PRIMARY KEY, customer text NOT NULL, quantity int, amount numeric(12, 2), placed_at timestamptz,
  weight double precision, note text, updated_at timestamptz NOT NULL, is_deleted boolean NOT NULL DEFAULT false
) WITH (fillfactor = {fill});
INSERT INTO public.orders
SELECT i, 'customer-' || (i::bigint * 7919) % 100003, i % 97, (i % 100000) / 100.0,
       timestamptz '2024-01-01 00:00:00+00' + i * interval '1 second', i / 3.0, left(repeat(md5(i::text), 4), 104),
       timestamptz '2024-01-01 00:00:00+00' + i * interval '1 second'
FROM generate_series(1, {rows}) AS i;
VACUUM ANALYZE public.orders;
"""
CHANGE = "UPDATE public.orders SET quantity = quantity + 1, updated_at = clock_timestamp() WHERE {which}"
# If pages have no free space, PostgreSQL writes all new row versions at the end of the table.
PATTERNS = {
    "clustered": (100, "id > {rows} - {changed}"),
    "random": (90, "id IN (SELECT id FROM public.orders ORDER BY md5(id::text) LIMIT {changed})"),
}
TIMESTAMP = {"timestamp": "updated_at", "margin": "1ms"}
FLAG = {**TIMESTAMP, "delete_flag": "is_deleted"}
NARROW = ["customer", "quantity", "amount", "placed_at"]  # about 30 % of the row, as in the paper
# By stream: its strategy, its name in the table, the preparation of its poll.
STREAMS: dict[str, tuple[Any, str, str]] = {
    "mds": ("mds", "MDS", ""),
    "ts": ({"type": "ts", **TIMESTAMP}, "TS, no index", ""),
    "tlcs": ({"type": "tlcs"}, "TLCS (b), no copy", ""),
    "tlcs_source": ({"type": "tlcs", "replica": "source"}, "TLCS (b), copy in the source", ""),
    "id": ({"type": "id"}, "ID, a whole pass", ""),
    "ts_indexed": ({"type": "ts", **TIMESTAMP}, "TS, index", "index"),
    "tdi": ({"type": "tdi", **FLAG}, "TDI", "index"),
    "atdi": ({"type": "atdi", **FLAG}, "ATDI", "index"),
    "atdi_vacuum": ({"type": "atdi", **FLAG}, "ATDI, after VACUUM", "vacuum"),
}


@dataclass
class Sizes:
    """Pages before the poll: table, replica, their keys' indexes, the timestamp's index, a copy and its key's index."""

    table: float
    replica: float
    key: float
    replica_key: float
    index: float
    height: float
    copy: float
    copy_key: float


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Measure each pattern in its own database; nothing is timed, so nothing is repeated."""
    heading = (
        "changes",
        "poll",
        "formula",
        "by the formula",
        "blocks read",
        "ratio",
        "with the keys' indexes",
        "ratio",
        "asked for",
        "to apply",
        "rest",
        "predicted",
        "off by",
    )
    table = Table(heading, place.version())
    for pattern in PATTERNS:
        place.one(f"CREATE DATABASE {pattern}")
        own = type(place)(place.url.rsplit("/", 1)[0] + f"/{pattern}")
        table.rows += list(_pattern(own, folder / pattern, options.rows, pattern))
    return table


def _pattern(place: Place, folder: Path, rows: int, pattern: str) -> Iterator[tuple[str, ...]]:
    fill, which = PATTERNS[pattern]
    changed = round(rows * SHARE)
    place.run(CREATE.format(rows=rows, fill=fill))
    folder.mkdir()
    with Project.from_dict(_config(place.url), base_dir=folder) as project:
        for name in STREAMS:
            project.stream(name).prepare()
        place.run(CHANGE.format(which=which.format(rows=rows, changed=changed)))
        place.run("SELECT pg_sleep(0.1)")
        for name, (_, called, first) in STREAMS.items():
            strategy = assembly_of(project).open_stream(name).site.strategy(project.stream(name).plan())
            assert isinstance(strategy, InSource)
            index = _before(place, strategy, first)
            sizes, predicted = _sizes(place, strategy, index), _predicted(project, name, pattern)
            with listening(place.url) as statements:
                [outcome] = project.run([name], once=True).outcomes
            if outcome.error or not outcome.report or outcome.report.counts != {"u": changed}:
                raise outcome.error or AssertionError(f"{name}: {outcome.report}")
            yield (
                pattern,
                called,
                *_line(strategy, sizes, statements, rows, pattern),
                *_compared(statements, strategy, predicted),
            )
            if index:
                place.run(f"DROP INDEX public.{index}")


def _predicted(project: Project, name: str, pattern: str) -> float:
    """Return the pages that `qbcd explain` predicts, for changes that are as close together as the pattern's."""
    predicted = project.stream(name).predict()
    assert predicted is not None
    pages = predicted[0].pages
    return pages.low if pattern == "clustered" else pages.high


def _compared(statements: list[Explained], strategy: InSource, predicted: float) -> Iterator[str]:
    """Yield the prediction, and its distance from the blocks that were read to find changes."""
    read = sum((s.below for s in statements if _finds(s, strategy)), Blocks()).read
    yield f"{predicted:,.0f}"
    yield f"{100 * (predicted - read) / read:+.0f} %"


def _config(url: str) -> dict[str, Any]:
    def table(name: str, strategy: Any) -> dict[str, Any]:
        more = {"columns": NARROW} if name.startswith("atdi") else {}
        return {"source": "shop", "table": "public.orders", "name": name, "strategy": strategy, **more}

    return {
        "version": 1,
        "sources": {"shop": {"url": url}},
        "tables": [table(name, strategy) for name, (strategy, _, _) in STREAMS.items()],
    }


def _before(place: Place, strategy: InSource, first: str) -> str:
    """Create the strategy's index and, for "vacuum", run VACUUM; return the index's name."""
    if not first:
        return ""
    assert isinstance(strategy, Watermarked)
    place.run(strategy.index().replace("%%", "%"))
    if first == "vacuum":
        place.run("VACUUM public.orders")
    names = "SELECT indexname FROM pg_indexes WHERE tablename = 'orders' AND indexname <> 'orders_pkey'"
    return str(place.one(names))


def _sizes(place: Place, strategy: InSource, index: str) -> Sizes:
    def pages(name: str) -> float:
        return float(place.one(f"SELECT pg_relation_size('{name}') / {PAGE}"))

    replica, copy = ".".join(strategy.replica), ".".join(_copy(strategy))
    height = place.one(f"SELECT level + 1 FROM bt_metap('public.{index}')") if index else 0
    return Sizes(
        pages("public.orders"),
        pages(replica),
        pages("public.orders_pkey"),
        pages(f"{replica}_pkey"),
        pages(f"public.{index}") if index else 0.0,
        float(height),
        pages(copy) if copy else 0.0,
        pages(f"{copy}_pkey") if copy else 0.0,
    )


def _line(strategy: InSource, sizes: Sizes, statements: list[Explained], rows: int, pattern: str) -> Iterator[str]:
    """Yield the formula, its pages, the blocks read, and the other blocks of the poll."""
    formula, pages, indexes = _formula(strategy, sizes, rows, pattern)
    finding = [s for s in statements if _finds(s, strategy)]
    found = sum((s.below for s in finding), Blocks())
    own = {outbox_name(strategy.plan.stream), strategy.replica[1], *_copy(strategy)[1:]}
    applying = sum((s.blocks for s in statements if s not in finding and s.relations & own), Blocks())
    applying += sum((s.blocks for s in finding), Blocks()) - found
    rest = sum((s.blocks for s in statements if not s.relations & own), Blocks())
    yield formula
    yield f"{pages:,.0f}"
    yield f"{found.read:,}"
    yield f"{found.read / pages:.2f}"
    yield f"{pages + indexes:,.0f}"
    yield f"{found.read / (pages + indexes):.2f}"
    yield f"{found.asked:,}" + (f" + {found.temp:,} temporary" if found.temp else "")
    yield f"{applying.asked:,}"
    yield f"{rest.asked:,}"


def _finds(one: Explained, strategy: InSource) -> bool:
    """Return True if a statement finds changes: it writes the outbox and reads the table, or a copy for old values."""
    if one.plan["Node Type"] != "ModifyTable" or outbox_name(strategy.plan.stream) not in one.relations:
        return False
    from_copy = one.plan["Operation"] == "Update" and not one.relations.isdisjoint(_copy(strategy)[1:])
    return "orders" in one.relations or from_copy


def _copy(strategy: InSource) -> tuple[str, ...]:
    """Return the table of a copy next to the digests, or nothing."""
    return next(iter(strategy.replicas[1:]), ())


def _formula(strategy: InSource, sizes: Sizes, rows: int, pattern: str) -> tuple[str, float, float]:
    """Return the paper's formula, its pages here, and pages of keys' indexes, which it ignores.

    Random changes touch the number of pages of table and replica that Yao's formula gives. In the index on the
    timestamp changes are always adjacent.
    """
    changed = round(rows * SHARE)

    def share(pages: float) -> float:
        return costs.yao(rows, pages, changed) / pages if pattern == "random" else SHARE

    s, m = sizes.table, sizes.replica
    looked_up = share(sizes.replica_key) * sizes.replica_key
    both = sizes.key + sizes.replica_key
    by_index = costs.tdi(s * share(s) / SHARE, m * share(m) / SHARE, sizes.index, SHARE, sizes.height)
    covering = costs.atdi(sizes.index, m * share(m) / SHARE, SHARE, sizes.height)
    formulas: dict[str, Callable[[], tuple[str, float, float]]] = {
        "mds": lambda: ("N + M", costs.mds(s, m), 0.0),
        "ts": lambda: ("S + delta M", costs.ts(s, m, share(m)), looked_up),
        "tlcs": lambda: ("N + D", costs.tlcs(s, 0, 0) + m, both),
        "tlcs_source": lambda: (
            "N + D + delta W",
            costs.tlcs(s, sizes.copy, share(sizes.copy)) + m,
            both + share(sizes.copy_key) * sizes.copy_key,
        ),
        "id": lambda: ("N + M + ranges", costs.incremental(s, m, 1), both),
        "ts_indexed": lambda: ("delta (S + M + I) + K", by_index, looked_up),
        "tdi": lambda: ("delta (S + M + I) + K", by_index, looked_up),
        "atdi": lambda: ("delta (I + W) + K", covering, looked_up),
    }
    return formulas[strategy.plan.stream.removesuffix("_vacuum")]()
