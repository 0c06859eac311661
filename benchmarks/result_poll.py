"""Polls of a query's result by variant delta, next to a new run and a diff by Spark.

The query joins orders of a shop with customers, products and stores. A round is a change of 1 % of the orders, newest
or random: of ten changes, eight are updates (one moves the order to another store), one sets the flag of deletion, and
one is an insert. Then come VACUUM ANALYZE and a run of each tool for each query. All must find the same number of
changes.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measure import Options, Table
from benchmarks.places import Place
from benchmarks.processor import Processor, Spent
from benchmarks.result_words import WORDS, Words, words_of
from benchmarks.tools.spark_diff import SparkDiff, of_tables, pushed_down
from qbcd.api import Project, parts_of

OPTIONS = ("warm", "columns")
PARTITIONS = 4
DAYS = 730
DIMENSIONS = {"customers": 10, "products": 100, "stores": 2000}  # orders per row
CHANGES = {"newest": "1 % in the newest orders", "random": "1 % uniformly random"}
FROM = """FROM {schema}.orders AS o JOIN {schema}.customers AS c ON c.id = o.customer_id
  JOIN {schema}.products AS p ON p.id = o.product_id LEFT JOIN {schema}.stores AS s ON s.id = o.store_id
  WHERE {live}"""
SUMS = "count(*) AS orders, sum(o.quantity) AS quantity, sum(o.amount) AS amount, sum(o.quantity * p.price) AS listed"
DATABASES = tuple(WORDS)


def server_settings(database: str) -> Mapping[str, Any]:
    """Return the settings of the server."""
    return WORDS[database].settings


@dataclass
class Query:
    """One stream, with the times of each tool by kind of change."""

    name: str
    text: str
    key: list[str]
    split_by: str  # the column by which several readers divide its result
    tools: list[SparkDiff] = field(default_factory=list)
    spent: dict[tuple[str, str], list[Spent]] = field(default_factory=dict)
    found: dict[str, list[int]] = field(default_factory=dict)
    rows: int = 0


def queries(words: Words, columns: int) -> list[Query]:
    """Return queries per order, per customer (ten orders), per store and day (two or three).

    A row of the first has all the order's additional `columns`.
    """
    joined = FROM.format(schema=words.schema, live=words.live)
    more = _listed(f"o.{name}" for name in _named(columns))
    return [
        Query(
            "an order",
            "SELECT o.id, o.day, o.quantity, o.amount, o.note, c.name AS customer, c.kind AS segment, "
            f"p.name AS product, p.price, s.name AS store{more} {joined}",
            ["id"],
            "id",
        ),
        Query(
            "a customer",
            f"SELECT o.customer_id, min(c.name) AS customer, min(c.kind) AS segment, {SUMS}, "
            f"max(o.day) AS latest {joined} GROUP BY o.customer_id",
            ["customer_id"],
            "customer_id",
        ),
        Query(
            "a store and day",
            f"SELECT o.store_id, o.day, min(s.name) AS store, {SUMS} {joined} GROUP BY o.store_id, o.day",
            ["store_id", "day"],
            "store_id",
        ),
    ]


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Prepare everything, run the rounds of each kind of change, return the means.

    There are `warm` warm-up rounds and `repeats` others. Orders have `columns` additional columns next to their ten.
    """
    rows = options.rows
    sizes = {name: max(10, rows // every) for name, every in DIMENSIONS.items()}
    words = words_of(place)
    for name, size in sizes.items():
        place.run(words.dimension.format(name=name, rows=size))
    place.run(words.orders.format(rows=rows, days=DAYS, **_columns(words, options.columns), **sizes))
    asked = queries(words, options.columns)
    with Project.from_dict(_config(place.url, words, asked, sizes), base_dir=folder) as project:
        for number, query in enumerate(asked):
            project.stream(_stream(query)).prepare()
            query.rows = place.one(f"SELECT count(*) FROM ({query.text}) AS q")
            _set_up(place, project, query, sizes, words.schema, folder / f"spark{number}")
        for number in range(options.warm + options.repeats):
            for which in CHANGES:
                picked = {"picked": words.picked[which], "changed": max(10, rows // 100), "stores": sizes["stores"]}
                day = words.later.format(DAYS + number) if which == "newest" else "day"
                place.run(words.change.format(day=day, more=_listed(_named(options.columns)), **picked))
                for query in asked:
                    _measure(place, project, query, which, counts=number >= options.warm)
        return _table(asked, f"{place.version()}, PySpark {parts_of(project).spark.get().version}")


def _named(columns: int) -> list[str]:
    return [f"a{n}" for n in range(columns)]


def _listed(parts: Iterable[str]) -> str:
    return "".join(f", {part}" for part in parts)


def _columns(words: Words, columns: int) -> dict[str, str]:
    """Return additional columns of the orders and their values, for `Words.orders`."""
    kinds = [(name, *words.more[n % len(words.more)]) for n, name in enumerate(_named(columns))]
    return {
        "columns": _listed(f"{name} {kind}" for name, kind, _ in kinds),
        "values": _listed(value.format(n=n) for n, (_, _, value) in enumerate(kinds)),
    }


def _config(url: str, words: Words, asked: Sequence[Query], sizes: Any) -> dict[str, Any]:
    timestamps = {f"{words.schema}.{table}": "updated_at" for table in ("orders", *sizes)}
    strategy = {"type": "vbd", "variant": "delta", "timestamps": timestamps, "margin": "1ms", **words.options}
    return {
        "version": 1,
        "sources": {"shop": {"url": url}},
        "sinks": {"changes": {"type": "jsonl", "path": "out"}},
        "defaults": {"sinks": ["changes"]},
        "tables": [
            {"source": "shop", "name": _stream(query), "query": query.text, "baseline": "silent", "strategy": strategy}
            for query in asked
        ],
    }


def _stream(query: Query) -> str:
    return query.name.replace(" ", "_")


def _set_up(place: Place, project: Project, query: Query, sizes: Any, schema: str, folder: Path) -> None:
    greatest = place.one(f"SELECT max({query.split_by}) FROM ({query.text}) AS q")
    results, orders = _parts(query.split_by, greatest), _parts("id", place.one(f"SELECT max(id) FROM {schema}.orders"))
    pushed = [pushed_down(project, query.text, parts) for parts in (None, results)]
    tables: dict[str, Sequence[str] | None] = {"orders": orders, **dict.fromkeys(sizes)}
    query.tools = [
        SparkDiff(project, "Spark, the query in the source", pushed, query.key, folder / "pushed"),
        SparkDiff(
            project,
            "Spark, the query over tables",
            [of_tables(project, query.text, schema, tables)],
            query.key,
            folder / "tables",
        ),
    ]
    for tool in query.tools:
        tool.setup()


def _parts(column: str, greatest: int) -> list[str]:
    """Return conditions that split a column evenly, one per reader; the last has no upper bound."""
    step = greatest // PARTITIONS + 1
    inner = [f"{column} >= {i * step} AND {column} < {(i + 1) * step}" for i in range(PARTITIONS - 1)]
    return [*inner, f"{column} >= {(PARTITIONS - 1) * step}"]


def _measure(place: Place, project: Project, query: Query, which: str, *, counts: bool) -> None:
    processor, found = Processor(place), {}
    actions: dict[str, Callable[[], int]] = {tool.name: tool.differing for tool in query.tools}
    actions = {"delta": partial(_poll, project, query), **actions}
    times = {}
    for way, action in actions.items():
        times[way] = processor.spent(lambda way=way, action=action: found.update({way: action()}))  # type: ignore[misc]
        if found[way] != found["delta"]:
            raise AssertionError(f"{query.name}: {way} found {found[way]} changes, qbcd {found['delta']}")
    alone = f"SELECT count(*) FROM ({query.text} {words_of(place).whole}) AS q"
    times["alone"] = processor.spent(lambda: place.one(alone))
    shown = {way: f"{spent.clock:.2f} s, {spent.processor:.2f} s of processors" for way, spent in times.items()}
    print(query.name, which, found["delta"], shown, file=sys.stderr, flush=True)
    if counts:
        query.found.setdefault(which, []).append(found["delta"])
        for way, spent in times.items():
            query.spent.setdefault((way, which), []).append(spent)


def _poll(project: Project, query: Query) -> int:
    [outcome] = project.run([_stream(query)], once=True).outcomes
    if outcome.error is not None or outcome.report is None:
        raise outcome.error or AssertionError(query.name)
    return sum(header.size for header in outcome.report.headers)


def _table(asked: Sequence[Query], versions: str) -> Table:
    ways = [tool.name for tool in asked[0].tools]
    table = Table(
        ("one row is", "rows", "changes", "of the result", "", "query alone", "**delta poll**", *ways), versions
    )
    for query in asked:
        for which, title in CHANGES.items():
            changed = f"{statistics.mean(query.found[which]):,.0f}"
            for unit in Spent._fields:
                mean = {
                    way: statistics.mean(getattr(spent, unit) for spent in query.spent[way, which])
                    for way in ("alone", "delta", *ways)
                }
                others = (f"{mean[way]:.2f} s ({mean[way] / mean['delta']:.1f} x)" for way in ways)
                table.rows.append(
                    (
                        query.name,
                        f"{query.rows:,}",
                        title,
                        changed,
                        unit,
                        f"{mean['alone']:.2f} s",
                        f"{mean['delta']:.2f} s",
                        *others,
                    )
                )
    return table
