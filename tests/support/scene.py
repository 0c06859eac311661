"""A scene for fault tests: one small table, one stream, and all events of its sinks.

Rows are few and plain; the tests check which events come, how often, and under which ids. Replay of a sink over the
rows of the baseline must give the source.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import qbcd
from qbcd.api import parts_of
from qbcd.model import BatchHeader
from qbcd.polling.outcome import Outcome
from qbcd.sites import Site
from qbcd.stream import Stream
from tests.support.oracle import batches as jsonl_batches
from tests.support.places import place_of
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T", bound="Scene")
STREAM = "s"
ROWS = 12
TABLE = "DROP TABLE IF EXISTS t; CREATE TABLE t (id integer PRIMARY KEY, v text, n integer DEFAULT 0)"
# One of each: insert, update, delete, and a key that changes; `{n}` makes the values of every call different.
CHANGE = """
INSERT INTO t (id, v) VALUES (100 + {n}, 'new {n}');
UPDATE t SET v = 'changed {n}' WHERE id IN (2, 7);
DELETE FROM t WHERE id = (SELECT i FROM (SELECT min(id) AS i FROM t WHERE id > 2 AND id <> 7) AS s);
UPDATE t SET id = 1000 + {n} WHERE id = (SELECT i FROM (SELECT max(id) AS i FROM t WHERE id < 1000) AS s)
"""

_SMALL = {"type": "id_rcs", "rows_per_range": 4}  # so that a change leaves some ranges clean
# Configurations of the table by a name, where the name is not that of a strategy.
WAYS: Mapping[str, dict[str, Any]] = {
    "id_rcs": {"strategy": _SMALL},
    "id_rcs_hash": {"strategy": {**_SMALL, "buckets": "hash"}},
    "id_rcs_digest": {"strategy": {**_SMALL, "replica": "digest"}},
    "id_rcs_no_key": {"strategy": _SMALL, "key": "none"},
    "id_rcs_mixed": {"strategy": {**_SMALL, "buckets": "key"}},  # over the table of a `MixedScene`
    "tlcs_remote": {"strategy": {"type": "tlcs", "checksums": "remote", "rows_per_range": 4}},
    "tlcs_lake": {"strategy": {"type": "tlcs", "replica": "lake", "rows_per_range": 4}},
}

Seen = dict[tuple[int, int], list[dict[str, Any]]]  # (epoch, batch_seq) -> events


class Scene:
    """A table `t` in the database at `url`, captured by stream `s` of a project in `folder`.

    Args:
        strategy: A name in :data:`WAYS`, or a strategy as configuration.
        sinks: Sinks by name, as configuration; by default one jsonl sink ``changes``.
        more: Further keys of the table's configuration.

    Attributes:
        key: The columns that identify its rows.
    """

    key: tuple[str, ...] = ("id",)

    def __init__(
        self,
        url: str,
        folder: Path,
        strategy: str | dict[str, Any],
        spark: SparkSession,
        *,
        sinks: dict[str, Any] | None = None,
        state: str = "",
        source_url: str = "",
        **more: Any,
    ) -> None:
        self.place, self.folder, self.spark = place_of(url), folder, spark
        self.sinks = sinks or {"changes": {"type": "jsonl", "path": "out/changes"}}
        how = WAYS.get(strategy) if isinstance(strategy, str) else None
        table = {"name": STREAM, "table": self.place.table("t"), **(how or {"strategy": strategy}), **more}
        self.data = config(source_url or url, table, sinks=self.sinks, **({"state": state} if state else {}))
        self.changes = 0
        self.base: list[tuple[Any, ...]] = []  # rows that a consumer loads before the first batch
        self.project = opened(self.data, folder, spark)

    def __enter__(self: T) -> T:
        return self

    def __exit__(self, *error: object) -> None:
        self.project.close()

    # -- the source --------------------------------------------------------------------------------------------------
    def make_table(self) -> None:
        """Make the table, or recreate it."""
        self.place.sql(TABLE)
        self.place.insert("t", [(i, f"old {i}", 0) for i in range(1, ROWS + 1)])

    def change(self) -> None:
        """Insert, update, delete and change a key, in one transaction."""
        self.changes += 1
        self.place.sql(CHANGE.format(n=self.changes))

    def more(self, numbers: Iterable[int]) -> None:
        """Insert rows with keys that `change` does not use, in one transaction."""
        self.place.insert("t", [(i, f"more {i}", 0) for i in numbers])

    def source(self) -> list[tuple[Any, ...]]:
        """Return the table's rows, ordered by key."""
        return self.place.sql("SELECT id, v, n FROM t ORDER BY id")

    def put(self, rows: list[tuple[Any, ...]]) -> None:
        """Set the table back to `rows`, in one transaction."""
        with self.place.connect() as conn:
            self.place.run(conn, "DELETE FROM t")
            for row in rows:
                self.place.run(conn, "INSERT INTO t VALUES (%s, %s, %s)", row)

    # -- the stream --------------------------------------------------------------------------------------------------
    def again(self) -> qbcd.Project:
        """Open the same project a second time, as another process would; the caller closes it."""
        return opened(self.data, self.folder, self.spark)

    def prepare(self) -> None:
        """Prepare the stream."""
        stream = self.project.stream(STREAM)
        self.base = [] if stream.config.baseline == "events" else self.source()
        stream.prepare()

    def begin(self) -> Scene:
        """Make and prepare the table, then make a first change, poll and deliver it."""
        self.make_table()
        self.prepare()
        self.change()
        self.poll()
        return self

    def poll(self, **options: Any) -> Outcome:
        """Poll once; raise its error or that of a sink."""
        return poll(self.project, STREAM, **options)[0]

    def work(self) -> Stream:
        """Return the stream with all its parts, to inspect them."""
        return parts_of(self.project).open_stream(STREAM)

    @property
    def site(self) -> Site:
        """The stream's site."""
        return self.work().site

    def sealed(self) -> list[BatchHeader]:
        """Return the batches of the site, oldest first."""
        return self.site.context.batches()

    def acks(self) -> dict[str, tuple[int, int]]:
        """Return by sink the (epoch, batch_seq) that it acknowledged."""
        return {sink: (ack.epoch, ack.seq) for sink, ack in parts_of(self.project).state.acknowledged(STREAM).items()}

    def fingerprint(self) -> Any:
        """Return all that a refused poll may not change, in a form that can be compared."""
        row = self.site.context.row()
        assert row is not None
        return row.version, row.epoch, row.last_batch_seq, dict(row.checkpoint), self.sealed()

    # -- what consumers see ------------------------------------------------------------------------------------------
    def files(self) -> dict[str, bytes]:
        """Return the finished files of the sinks, by path."""
        found = (p for p in (self.folder / "out").rglob("*") if p.is_file())
        return {
            str(p.relative_to(self.folder)): p.read_bytes()
            for p in found
            if not any(part.startswith((".", "_tmp")) for part in p.relative_to(self.folder).parts)
        }

    def seen(self, sink: str = "changes") -> Seen:
        """Return the complete batches in a sink."""
        folder = self.folder / "out" / sink
        if self.sinks[sink]["type"] == "jsonl":
            named = jsonl_batches(folder, STREAM)
            return {(int(name.split("-")[0]), int(name.split("-")[1].split(".")[0])): ev for name, ev in named}
        markers = (folder / STREAM).glob("epoch=*/batch_seq=*/_SUCCESS")
        return {
            (int(m.parent.parent.name[6:]), int(m.parent.name[10:])): self._parquet(m.parent) for m in sorted(markers)
        }

    def _parquet(self, folder: Path) -> list[dict[str, Any]]:
        rows = self.spark.read.parquet(str(folder)).selectExpr("to_json(struct(*)) AS line").collect()
        images = [json.loads(row["line"]) for row in rows]
        return [{**image, **{name: image.get(name) for name in ("key", "before", "after")}} for image in images]

    def check(self, sink: str = "changes") -> Seen:
        """Check the sink: replay gives the source, numbers have no gap, event ids are unique.

        Only the last epoch is replayed.
        """
        seen = self.seen(sink)
        ids = [event["event_id"] for events in seen.values() for event in events]
        assert len(ids) == len(set(ids)), f"{sink}: an event_id occurs twice: {sorted(ids)}"
        last = max((epoch for epoch, _ in seen), default=0)
        numbers = sorted(seq for epoch, seq in seen if epoch == last)
        assert numbers == list(range(1, 1 + len(numbers))) or last > min(seen)[0], f"{sink}: a gap in {numbers}"
        assert numbers == list(range(min(numbers, default=0), 1 + max(numbers, default=-1))), f"{sink}: {numbers}"
        assert self.acks().get(sink) == max(seen, default=None), f"{sink}: acknowledged is {self.acks()}"
        rows = replay(self.base, [seen[last, number] for number in numbers], self.key)
        assert rows == {row[0]: row for row in self.source()}, f"{sink}: replay of {numbers} does not give the source"
        return seen


def replay(
    base: list[tuple[Any, ...]], found: list[list[dict[str, Any]]], key: Sequence[str] = ("id",)
) -> dict[Any, tuple[Any, ...]]:
    """Return the rows that `base` becomes by batches of events, each applied as a set.

    Every old row must exist as its image says, and a key may occur once in a batch (docs/design/protocol.md#rule-14).
    """
    rows = {row[0]: row for row in base}
    for events in found:
        keys = [_name(event["key"], key) for event in events if event["key"]]
        assert len(keys) == len(set(keys)), f"a key occurs twice in a batch: {sorted(keys)}"
        for event in (e for e in events if e["op"] in "ud"):
            deleted = event["key"] or event["before"]  # without a key, `before` identifies the row
            old = rows.pop(_name(deleted, key), None)
            assert old is not None, f"the consumer has no row {deleted}"
            before = event["before"]  # None where the strategy keeps no old values
            assert before is None or _row(before, key) == old, f"old image {before} is not what the consumer has"
        for image in (_row(event["after"], key) for event in events if event["after"] is not None):
            assert image[0] not in rows, f"key {image[0]} is there already"
            rows[image[0]] = image
    return rows


def _name(image: dict[str, Any], key: Sequence[str]) -> Any:
    """Return the name of a row: its key, or the texts of a key of several columns."""
    return image[key[0]] if len(key) == 1 else tuple(str(image[name]) for name in key)


def _row(image: dict[str, Any], key: Sequence[str]) -> tuple[Any, ...]:
    return _name(image, key), image.get("v"), image.get("n")


def same_events(earlier: Seen, later: Seen) -> None:
    """Check that all events seen earlier are still there, each with its `event_id`."""
    now = {event["event_id"]: event for events in later.values() for event in events}
    for events in earlier.values():
        for event in events:
            assert now[event["event_id"]] == event
