"""Subscriptions matched against events, and joins of sets, in this process; no server."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa

from benchmarks.measure import Options, Table
from benchmarks.places import Place
from qbcd.matching import InvertedFile, joins
from qbcd.subscriptions import Matcher, Subscription

DATABASES = ("postgresql",)  # started, but not used
SUBSCRIPTIONS = 100_000
EVENTS = 10_000
SETS = 10_000
ROW = pa.struct([("id", pa.int64()), ("status", pa.string()), ("region", pa.string()), ("tags", pa.list_(pa.string()))])
SCHEMA = pa.schema([("op", pa.string()), ("before", ROW), ("after", ROW), ("changed", pa.list_(pa.string()))])


def measure(_place: Place, _folder: Path, _options: Options) -> Table:
    """Match updates with conditions on two columns and on sets; join sets of 100 elements."""
    drawn = random.Random(1)
    table = Table(("work", "processor seconds", "of one, µs"), f"DuckDB {duckdb.__version__}")

    def add(name: str, work: Callable[[], object], parts: int) -> None:
        start = time.process_time()
        work()
        spent = time.process_time() - start
        table.rows.append((name, f"{spent:.2f} s", f"{spent / parts * 1e6:.1f}"))

    matcher = Matcher(SCHEMA)
    ones = [_subscription(n, drawn) for n in range(SUBSCRIPTIONS)]
    events = pa.Table.from_pylist([_event(n, drawn) for n in range(EVENTS)], schema=SCHEMA)
    add(f"add {SUBSCRIPTIONS:,} conditions", lambda: matcher.add(ones), SUBSCRIPTIONS)
    add(f"match {EVENTS:,} updates", lambda: matcher.match(events), EVENTS)
    add("match 19 times one update, by joins", lambda: [matcher.match(events.slice(n, 1)) for n in range(19)], 19)
    add("prepare for few updates, and match one", lambda: matcher.match(events.slice(19, 1)), 1)
    add("match 1,000 times one update", lambda: [matcher.match(events.slice(n, 1)) for n in range(1000)], 1000)
    index: InvertedFile[int] = InvertedFile()
    for n in range(SUBSCRIPTIONS):
        index.insert(n, drawn.sample(range(50_000), drawn.randint(1, 5)))
    queries = [drawn.sample(range(50_000), 40) for _ in range(1000)]
    add("contained_in of 40 elements, 1,000 times", lambda: [index.contained_in(query) for query in queries], 1000)
    right = [frozenset(drawn.sample(range(100_000), 100)) for _ in range(SETS)]
    left = [frozenset(drawn.sample(sorted(one), 20)) for one in right]
    add("join of equal sets, hash", lambda: list(joins.hash_equal(right, right)), SETS)
    for name in ("inverted", "signature_hash"):
        add(f"join of contained sets, {name}", lambda name=name: list(joins.CONTAINED[name](left, right)), SETS)  # type: ignore[misc]
    return table


def _subscription(number: int, drawn: random.Random) -> Subscription:
    if number % 3:
        condition = f"status = 's{drawn.randint(0, 50)}' AND region = 'r{drawn.randint(0, 5000)}'"
    else:
        condition = f"contains_all(tags, 't{drawn.randint(0, 5000)}', 't{drawn.randint(0, 5000)}')"
    return Subscription(str(number), condition)


def _event(number: int, drawn: random.Random) -> dict[str, object]:
    old, new = (
        {
            "id": number,
            "status": f"s{drawn.randint(0, 50)}",
            "region": f"r{drawn.randint(0, 5000)}",
            "tags": [f"t{drawn.randint(0, 5000)}" for _ in range(8)],
        }
        for _ in range(2)
    )
    return {"op": "u", "before": old, "after": new, "changed": ["status", "region", "tags"]}
