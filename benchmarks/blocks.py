"""Blocks that a poll of each database-wing strategy reads, next to the paper's formula.

1 % of the rows change: the newest ones, or random ones. Each strategy polls the same changes through its own stream, of
all rows or of 1 % of them.
Blocks are the server's own counts for the statements of the poll (see `explained`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks import explained, paper_costs
from benchmarks.explained import Blocks, Explained, listening
from benchmarks.measure import Options, Table
from benchmarks.places import Place
from qbcd.advisor.prediction import predict
from qbcd.api import Project, parts_of
from qbcd.strategies import InSource, TableStrategy, Watermarked, costs
from qbcd.strategies.amounts import Amount
from qbcd.strategies.outbox import outbox_name
from qbcd.strategies.reads import OWN_PAGES, ChangeRate

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
NEWEST = "id > {rows} - {changed}"
ANY = "id IN (SELECT id FROM public.orders ORDER BY md5(id::text) LIMIT {changed})"
# 1 % of the rows, of which 1 % are among the newest 1 %; an index finds them.
FIRST, LAST = 0.9801, 0.9901
START = "timestamptz '2024-01-01 00:00:00+00' + {} * interval '1 second'"


@dataclass(frozen=True)
class Pattern:
    """Changes of one database.

    Attributes:
        fill: Fill factor of the table; in pages without free space PostgreSQL writes new row versions at the end.
        which: The rows that change.
        clustered: Share of them that are next to each other.
        restricted: Streams capture 1 % of the rows.
    """

    fill: int
    which: str
    clustered: float
    restricted: bool = False

    def where(self, rows: int) -> str:
        """Return the restriction of the streams."""
        lo, hi = (START.format(round(rows * share)) for share in (FIRST, LAST))
        return f"placed_at > {lo} AND placed_at <= {hi}" if self.restricted else ""


PATTERNS = {
    "clustered": Pattern(100, NEWEST, 1.0),
    "random": Pattern(90, ANY, 0.0),
    "clustered, restricted": Pattern(100, NEWEST, 1.0, restricted=True),
    "random, restricted": Pattern(90, ANY, 0.0, restricted=True),
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
    for number, (name, pattern) in enumerate(PATTERNS.items()):
        place.one(f"CREATE DATABASE pattern_{number}")
        own = type(place)(place.url.rsplit("/", 1)[0] + f"/pattern_{number}")
        table.rows += [(name, *line) for line in _pattern(own, folder / str(number), options.rows, pattern)]
    return table


def _pattern(place: Place, folder: Path, rows: int, pattern: Pattern) -> Iterator[tuple[str, ...]]:
    changed, where = round(rows * SHARE), pattern.where(rows)
    place.run(CREATE.format(rows=rows, fill=pattern.fill))
    if where:
        place.run("CREATE INDEX orders_placed ON public.orders (placed_at)")
        place.run("VACUUM ANALYZE public.orders")
    folder.mkdir()
    with Project.from_dict(_config(place.url, where), base_dir=folder) as project:
        for name in STREAMS:
            project.stream(name).prepare()
        place.run(CHANGE.format(which=pattern.which.format(rows=rows, changed=changed)))
        moved = "SELECT count(*) FROM public.orders WHERE updated_at > '2026-01-01'"
        events = place.one(f"{moved} AND {where}" if where else moved)
        place.run("SELECT pg_sleep(0.1)")
        for name, (_, called, first) in STREAMS.items():
            strategy = parts_of(project).open_stream(name).site.strategy(project.stream(name).plan())
            assert isinstance(strategy, InSource)
            index = _before(place, strategy, first)
            sizes, predicted = _sizes(place, strategy, index), _predicted(project, name, pattern)
            with listening(place.url) as statements:
                [outcome] = project.run([name], once=True).outcomes
            if outcome.error or not outcome.report or outcome.report.counts != {"u": events}:
                raise outcome.error or AssertionError(f"{name}: {outcome.report}")
            yield (
                called,
                *_line(strategy, sizes, statements, rows, pattern),
                *_compared(statements, strategy, predicted),
            )
            if index:
                place.run(f"DROP INDEX public.{index}")


def _predicted(project: Project, name: str, pattern: Pattern) -> Amount:
    """Return the pages that the advisor predicts for such changes, without those of qbcd's other tables."""
    found = project.stream(name).predict()
    assert found is not None
    strategy = parts_of(project).open_stream(name).site.strategy(project.stream(name).plan())
    assert isinstance(strategy, TableStrategy)
    change = ChangeRate(Amount.of(SHARE), Amount.of(pattern.clustered))
    pages = predict(strategy, replace(found[1], change=change)).pages
    return Amount(pages.low - OWN_PAGES, pages.high - OWN_PAGES)


def blocks_of(statements: list[Explained], strategy: InSource) -> Blocks:
    """Return the blocks of the statements of a poll that find changes."""
    return sum((s.below for s in statements if _finds(s, strategy)), Blocks())


def _compared(statements: list[Explained], strategy: InSource, predicted: Amount) -> Iterator[str]:
    """Yield the prediction, and the distance of its nearest bound from the blocks that were read to find changes."""
    read = blocks_of(statements, strategy).read
    nearest = min(max(read, predicted.low), predicted.high)
    yield predicted.text("page").removesuffix(" pages")
    yield f"{100 * (nearest - read) / read:+.0f} %"


def _config(url: str, where: str) -> dict[str, Any]:
    def table(name: str, strategy: Any) -> dict[str, Any]:
        more: dict[str, Any] = {"columns": NARROW} if name.startswith("atdi") else {}
        more |= {"where": where} if where else {}
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
    others = "'orders_pkey', 'orders_placed'"
    return str(
        place.one(f"SELECT indexname FROM pg_indexes WHERE tablename = 'orders' AND indexname NOT IN ({others})")
    )


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


def _line(strategy: InSource, sizes: Sizes, statements: list[Explained], rows: int, pattern: Pattern) -> Iterator[str]:
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


def _formula(strategy: InSource, sizes: Sizes, rows: int, pattern: Pattern) -> tuple[str, float, float]:
    """Return the paper's formula, its pages here, and pages of keys' indexes, which it ignores.

    Random changes touch the number of pages of table and replica that Yao's formula gives. In the index on the
    timestamp changes are always adjacent.
    """
    changed = round(rows * SHARE)

    def share(pages: float) -> float:
        return costs.yao(rows, pages, changed) / pages if not pattern.clustered else SHARE

    s, m = sizes.table, sizes.replica
    scanned = (LAST - FIRST) * s if pattern.restricted else s  # R*N
    looked_up = share(sizes.replica_key) * sizes.replica_key
    both = (0 if pattern.restricted else sizes.key) + sizes.replica_key
    by_index = paper_costs.tdi(s * share(s) / SHARE, m * share(m) / SHARE, sizes.index, SHARE, sizes.height)
    covering = costs.atdi(sizes.index, m * share(m) / SHARE, SHARE, sizes.height)
    formulas: dict[str, Callable[[], tuple[str, float, float]]] = {
        "mds": lambda: ("R N + M", costs.mds(scanned, m), 0.0),
        "ts": lambda: ("S + delta M", paper_costs.ts(s, m, share(m)), looked_up),
        "tlcs": lambda: ("R N + D", paper_costs.tlcs(scanned, 0, 0) + m, both),
        "tlcs_source": lambda: (
            "R N + D + delta W",
            paper_costs.tlcs(scanned, sizes.copy, share(sizes.copy)) + m,
            both + share(sizes.copy_key) * sizes.copy_key,
        ),
        "id": lambda: ("R N + M + ranges", paper_costs.incremental(scanned, m, 1), both),
        "ts_indexed": lambda: ("delta (S + M + I) + K", by_index, looked_up),
        "tdi": lambda: ("delta (S + M + I) + K", by_index, looked_up),
        "atdi": lambda: ("delta (I + W) + K", covering, looked_up),
    }
    return formulas[strategy.plan.stream.removesuffix("_vacuum")]()
