"""Polls of a query's result by variant delta, beside running the query anew and comparing results under Spark.

Orders of a shop, joined with customers, products and stores. A round is a change of 1 % of the orders, the newest or
such as chance picks: eight updates (one of which moves the order to another store) to one that is flagged as deleted
and one inserted; then VACUUM ANALYZE, and then everybody's look at each query. All must find as many changes.
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
from qbcd.api import Project, assembly_of

OPTIONS = ("warm", "columns")
PARTITIONS = 4
DAYS = 730
DIMENSIONS = {"customers": 10, "products": 100, "stores": 2000}  # so many orders to one of them
CHANGES = {"newest": "1 % in the newest orders", "random": "1 % uniformly random"}
FROM = """FROM {schema}.orders AS o JOIN {schema}.customers AS c ON c.id = o.customer_id
  JOIN {schema}.products AS p ON p.id = o.product_id LEFT JOIN {schema}.stores AS s ON s.id = o.store_id
  WHERE {live}"""
SUMS = "count(*) AS orders, sum(o.quantity) AS quantity, sum(o.amount) AS amount, sum(o.quantity * p.price) AS listed"
DATABASES = tuple(WORDS)


def server_settings(database: str) -> Mapping[str, Any]:
    """Settings of the server."""
    return WORDS[database].settings


@dataclass
class Query:
    """One stream, and what everybody took for it: seconds by way and by changes."""

    name: str
    text: str
    key: list[str]
    cut: str  # the column by which several readers share its result
    tools: list[SparkDiff] = field(default_factory=list)
    taken: dict[tuple[str, str], list[Spent]] = field(default_factory=dict)
    found: dict[str, list[int]] = field(default_factory=dict)
    rows: int = 0


def queries(words: Words, columns: int) -> list[Query]:
    """One row an order, with all its `columns`; one a customer, of ten orders; one a store and day, of two or three."""
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
    """Prepares all, then `repeats` rounds of each kind of change after `warm` ones; takes the means.

    Orders have so many `columns` more than the ten that all have.
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
                    _look(place, project, query, which, counts=number >= options.warm)
        return _table(asked, f"{place.version()}, PySpark {assembly_of(project).spark.get().version}")


def _named(columns: int) -> list[str]:
    return [f"a{n}" for n in range(columns)]


def _listed(parts: Iterable[str]) -> str:
    return "".join(f", {part}" for part in parts)


def _columns(words: Words, columns: int) -> dict[str, str]:
    """Further columns of the orders and their values, for `Words.orders`."""
    kinds = [(name, *words.more[n % len(words.more)]) for n, name in enumerate(_named(columns))]
    return {
        "columns": _listed(f"{name} {kind}" for name, kind, _ in kinds),
        "values": _listed(value.format(n=n) for n, (_, _, value) in enumerate(kinds)),
    }


def _config(url: str, words: Words, asked: Sequence[Query], sizes: Any) -> dict[str, Any]:
    stamps = {f"{words.schema}.{table}": "updated_at" for table in ("orders", *sizes)}
    strategy = {"type": "vbd", "variant": "delta", "timestamps": stamps, "margin": "1ms", **words.options}
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
    greatest = place.one(f"SELECT max({query.cut}) FROM ({query.text}) AS q")
    results, orders = _cuts(query.cut, greatest), _cuts("id", place.one(f"SELECT max(id) FROM {schema}.orders"))
    pushed = [pushed_down(project, query.text, cuts) for cuts in (None, results)]
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


def _cuts(column: str, greatest: int) -> list[str]:
    """Conditions that split a column evenly, one a reader; what is beyond is in the last."""
    step = greatest // PARTITIONS + 1
    inner = [f"{column} >= {i * step} AND {column} < {(i + 1) * step}" for i in range(PARTITIONS - 1)]
    return [*inner, f"{column} >= {(PARTITIONS - 1) * step}"]


def _look(place: Place, project: Project, query: Query, which: str, *, counts: bool) -> None:
    processor, found = Processor(place), {}
    looks: dict[str, Callable[[], int]] = {tool.name: tool.differing for tool in query.tools}
    looks = {"delta": partial(_poll, project, query), **looks}
    took = {}
    for way, look in looks.items():
        took[way] = processor.spent(lambda way=way, look=look: found.update({way: look()}))  # type: ignore[misc]
        if found[way] != found["delta"]:
            raise AssertionError(f"{query.name}: {way} found {found[way]} changes, qbcd {found['delta']}")
    alone = f"SELECT count(*) FROM ({query.text} {words_of(place).whole}) AS q"
    took["alone"] = processor.spent(lambda: place.one(alone))
    said = {way: f"{spent.clock:.2f} s, {spent.processor:.2f} s of processors" for way, spent in took.items()}
    print(query.name, which, found["delta"], said, file=sys.stderr, flush=True)
    if counts:
        query.found.setdefault(which, []).append(found["delta"])
        for way, spent in took.items():
            query.taken.setdefault((way, which), []).append(spent)


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
        for which, told in CHANGES.items():
            changed = f"{statistics.mean(query.found[which]):,.0f}"
            for unit in Spent._fields:
                mean = {
                    way: statistics.mean(getattr(spent, unit) for spent in query.taken[way, which])
                    for way in ("alone", "delta", *ways)
                }
                others = (f"{mean[way]:.2f} s ({mean[way] / mean['delta']:.1f} x)" for way in ways)
                table.rows.append(
                    (
                        query.name,
                        f"{query.rows:,}",
                        told,
                        changed,
                        unit,
                        f"{mean['alone']:.2f} s",
                        f"{mean['delta']:.2f} s",
                        *others,
                    )
                )
    return table
