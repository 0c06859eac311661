"""The tables and streams of the upgrade test, in words that version 0.1 understands.

All options are written out here and come from no other test: later versions may change what their own tests configure,
but not the configuration of an old project.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from tests.support.model import FlaggedModel, Model
from tests.support.oracle import Copy, Event, batches, copy_of
from tests.support.places import Place
from tests.support.value_shapes import SHAPES, Service

_WHEN = "timestamp(6) NOT NULL"
UPDATED = Service("timestamptz NOT NULL", _WHEN, "{clock}", "{clock}")
SERVICES = {"updated": UPDATED, "row_sum": Service("bigint", "bigint", "NULL")}
FLAGGED = {"updated": UPDATED, "gone": Service("boolean", "boolean", "{flagged}", "{flagged}")}
NUMBERED = {"number": Service("bigint NOT NULL", "bigint NOT NULL", "{number}")}
COLUMNS = {"id": "whole", "part": "word", **{shape: shape for shape in SHAPES}}
FEW = {"id": "whole", "part": "word", "money": "money", "instant": "instant"}
KEY = ("part", "id")

_EVERY_POLL = {"deletes": {"every": "1ms"}}
_DAILY = {"audit": {"every": "24h"}}
_RANGES = {"type": "id_rcs", "rows_per_range": 3}
# Streams of the table with all types: the strategy, and further keys of the stream.
OF_ROWS: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ranges": (_RANGES, {"sinks": ["changes", "late"], **_DAILY}),
    "ranges_hash": ({**_RANGES, "buckets": "hash"}, {"baseline": "silent"}),
    "ranges_digest": ({**_RANGES, "replica": "digest"}, {}),
    "ranges_turns": ({**_RANGES, "per_poll": 6}, {}),
    "ranges_killed": (_RANGES, {}),
    "digests_remote": ({"type": "tlcs", "checksums": "remote", "rows_per_range": 4}, {}),
    "stamp_spark": ({"type": "ts", "timestamp": "updated", "replica": "spark", "rows_per_range": 4, **_EVERY_POLL}, {}),
    "whole": ({"type": "mds"}, {"sinks": ["changes", "late"]}),
    "stamp": ({"type": "ts", "timestamp": "updated", **_EVERY_POLL}, {"baseline": "silent", **_DAILY}),
    "stamp_keys": ({"type": "ts", "timestamp": "updated", "replica": "keys", **_EVERY_POLL}, {}),
    "digests": ({"type": "tlcs", "rows_per_range": 4}, {}),
    "digests_in_row": ({"type": "tlcs", "checksums": "column", "checksum_column": "row_sum", "rows_per_range": 7}, {}),
    "steps_turns": ({"type": "id", "rows_per_range": 3, "per_poll": 6}, {}),
    "steps_killed": ({"type": "id", "rows_per_range": 3, "pace": {"per_second": 1000}}, {}),
}
ON_POSTGRESQL: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ranges_pages": ({"type": "id_rcs", "rows_per_range": 5, "buckets": "page"}, {}),
    "stamp_system": ({"type": "ts", "timestamp": "xmin", **_EVERY_POLL}, {}),
}
WITH_FLAG: Mapping[str, dict[str, Any]] = {
    "flag": {"type": "tdi", "timestamp": "updated", "delete_flag": "gone", "purge": True},
    "flag_index": {"type": "atdi", "timestamp": "updated", "delete_flag": "gone", "create_index": True},
}
COUNTER: dict[str, Any] = {"type": "ts", "timestamp": "number", "counter": "table"}
# One poll of these finds exactly the rows that differ.
EXACT = ("ranges_hash", "ranges_digest", "digests_remote", "stamp_spark", "stamp", "digests", "sums_checksum", "totals")
KILLED = ("ranges_killed", "steps_killed")
LATE = ("ranges", "whole")
IN_TURNS = ("ranges_turns", "steps_turns")


class FlaggedRows(FlaggedModel):
    """A table from which only qbcd deletes rows, since a timestamp shows no other deletes."""

    steps_known = Model.steps_known


class Log(Model):
    """A table that only gets new rows."""

    steps_known = ("insert",)


class Orders:
    """Two tables with timestamps, a query over them, and a view of the same text for the oracle."""

    def __init__(self, place: Place, rng: Random) -> None:
        self.place, self.rng, self.number = place, rng, 0
        first = place.kind == "postgresql"
        self.now = "clock_timestamp()" if first else "sysdate(6)"
        at = f"at {UPDATED.first if first else UPDATED.family}"
        place.sql(
            f"CREATE TABLE orders (id integer PRIMARY KEY, region varchar(20) NOT NULL, amount integer, {at}); "
            f"CREATE TABLE parts (id integer PRIMARY KEY, order_id integer, quantity integer NOT NULL, {at})"
        )
        self.query = (
            f"SELECT o.region, COUNT(p.id) AS n, SUM(p.quantity) AS q FROM {place.table('orders')} AS o "
            f"LEFT JOIN {place.table('parts')} AS p ON p.order_id = o.id GROUP BY o.region"
        )
        place.sql(f"CREATE VIEW by_region AS {self.query}")
        self.change()

    def change(self) -> None:
        """Insert rows, move one to another group, update some, delete one."""
        self.number += 1
        n, region = self.number, self.rng.choice(("north", "south", "east", "west"))
        values = ", ".join(f"({10 * n + i}, {10 * n + i // 3}, {self.rng.randint(1, 9)}, {self.now})" for i in range(6))
        orders = ", ".join(f"({10 * n + i}, '{region} {i}', {i}, {self.now})" for i in range(2))
        self.place.sql(
            f"INSERT INTO orders VALUES {orders}; INSERT INTO parts VALUES {values}; "
            f"UPDATE orders SET region = '{region}', at = {self.now} WHERE id = {10 * (n - 1)}; "
            f"UPDATE parts SET quantity = quantity + 1, at = {self.now} WHERE id % 7 = {n % 7}; "
            f"DELETE FROM parts WHERE id = {10 * (n - 1) + 4}"
        )


class Tables:
    """All tables of one database."""

    def __init__(self, place: Place, seed: int) -> None:
        rng = Random(seed)
        self.rows = Model(place, rng, "t", COLUMNS, KEY, SERVICES)
        self.flagged = FlaggedRows(place, rng, "f", FEW, KEY, FLAGGED)
        self.log = Log(place, rng, "log", FEW, KEY, NUMBERED)
        self.orders = Orders(place, rng)
        self.rows.grow(120)
        self.flagged.grow(40)
        self.log.grow(15)

    def change(self) -> None:
        """Change some rows of each table."""
        self.rows.steps(8)
        self.flagged.steps(6)
        self.log.steps(4)
        self.orders.change()


def configuration(place: Place, tables: Tables) -> dict[str, Any]:
    """Return the project as version 0.1 reads it from its file."""
    spans = {"margin": "1ms", **({} if place.kind == "postgresql" else {"lag": "2ms"})}

    def spanned(strategy: dict[str, Any]) -> dict[str, Any]:
        clocked = {"timestamp", "timestamps"} & strategy.keys() and strategy.get("timestamp") != "xmin"
        return {**strategy, **spans} if clocked else strategy

    of_rows = {**OF_ROWS, **(ON_POSTGRESQL if place.kind == "postgresql" else {})}
    stamps = {place.table("orders"): "at", place.table("parts"): "at"}
    query = {"query": tables.orders.query, "key": ["region"]}
    streams: list[dict[str, Any]] = [
        *(
            {"name": name, "table": place.table("t"), "exclude": list(SERVICES), "strategy": spanned(how), **more}
            for name, (how, more) in of_rows.items()
        ),
        *(
            {"name": name, "table": place.table("f"), "exclude": list(FLAGGED), "strategy": spanned(how)}
            for name, how in WITH_FLAG.items()
        ),
        {"name": "counter", "table": place.table("log"), "exclude": list(NUMBERED), "strategy": spanned(COUNTER)},
        {
            "name": "totals",
            **query,
            **_DAILY,
            "strategy": spanned({"type": "vbd", "variant": "delta", "timestamps": stamps, **_EVERY_POLL}),
        },
        {"name": "sums_checksum", **query, "strategy": {"type": "vbd", "variant": "checksum", "rows_per_range": 3}},
    ]
    return {
        "version": 1,
        "spark": {
            "master": "local[2]",
            "conf": {
                "spark.driver.memory": "1g",
                "spark.sql.shuffle.partitions": "2",
                "spark.ui.enabled": "false",
                "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
            },
        },
        "sources": {"shop": place.source},
        "sinks": {
            "changes": {"type": "jsonl", "path": "out/changes"},
            "late": {"type": "jsonl", "path": "out/late/changes"},
        },
        "defaults": {
            "sinks": ["changes"],
            "baseline": "events",
            "guards": {"max_delete_fraction": 1.0, "allow_empty": True},
        },
        "tables": [{"source": "shop", **stream} for stream in streams],
    }


class Consumer:
    """A consumer of one stream's files, compared with the source.

    Args:
        place: The source.
        folder: Folder of the sink.
        stream: The stream's configuration.
    """

    def __init__(self, place: Place, folder: Path, stream: Mapping[str, Any]) -> None:
        self.folder, self.name = folder, stream["name"]
        self.copy = _copy(place, stream)
        self._known: dict[str, Event] = {}
        self._batches: list[tuple[str, list[Event]]] = []
        self._silent = stream.get("baseline") == "silent"

    def take_baseline(self) -> None:
        """Load the source's rows at a silent baseline; other baselines come as events."""
        if self._silent:
            self.copy.take_baseline()

    def differing(self) -> Counter[str]:
        """Return the number of events, by op, that are missing."""
        return Counter(row[0] for row in self.copy.differences())

    def read(self) -> Counter[str]:
        """Apply new batches; return their number of events by op."""
        fresh = batches(self.folder, self.name)[len(self._batches) :]
        for file, found in fresh:
            keys = [_text(event["key"]) for event in found]
            assert len(keys) == len(set(keys)), f"{self.name} {file}: a batch has a key twice"
            self._batches.append((file, [self._completed(event) for event in found]))
        return Counter(event["op"] for event in self.copy.replay(self._batches))

    def _completed(self, event: Event) -> Event:
        """Return the event with its old image, which strategies without old values leave out."""
        key, op = _text(event["key"]), event["op"]
        known = self._known.pop(key, None)
        if op in "ud" and event["before"] is None:
            assert known is not None, f"{self.name}: a consumer has no row {key}"
            event = {**event, "before": known}
        elif op in "ud" and known is not None:
            assert event["before"] == known, f"{self.name}: another old image than the consumer has"
        if event["after"] is not None:
            self._known[key] = event["after"]
        return event


def _text(key: Any) -> str:
    return json.dumps(key, sort_keys=True)


def _copy(place: Place, stream: Mapping[str, Any]) -> Copy:
    """Return an empty copy of the rows that a stream captures."""
    name = str(stream["name"])
    if "query" in stream:
        return copy_of(place.url, "by_region", ["region"], name=name)
    table = stream["table"].rpartition(".")[2]
    where = "NOT gone" if table == "f" else ""
    columns = [c for c in (COLUMNS if table == "t" else FEW) if c not in KEY]
    return copy_of(place.url, table, list(KEY), columns=columns, where=where, name=name)
