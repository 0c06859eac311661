"""A stream on table `t` whose captured columns and restriction change."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.oracle import events
from tests.support.places import Place
from tests.support.project import config, opened, poll
from tests.support.watched_polls import AT, CLOCK, SETTLE, stamped, until_visible, word

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = """
CREATE TABLE t (id integer {key}, a varchar(20), b varchar(20), c integer, region varchar(2) NOT NULL,
  at {at}, gone boolean NOT NULL DEFAULT false)
"""
ROWS = 20

Brief = list[tuple[str, int | None, str | None]]


def strategy_of(name: str, place: Place) -> Any:
    """Return a strategy as configuration, by the name that tests use for it."""
    small = {"rows_per_range": 4}
    if name in ("ts", "tdi"):
        return stamped(place, name)
    if name == "ts_spark":
        return stamped(place, "ts", replica="spark", **small)
    plain: dict[str, Any] = {
        "id_rcs": {"type": "id_rcs", **small},
        "digest": {"type": "id_rcs", "replica": "digest", **small},
        "hash": {"type": "id_rcs", "buckets": "hash", **small},
        "none": {"type": "id_rcs", **small},
        "remote": {"type": "tlcs", "checksums": "remote", **small},
        "id": {"type": "id", **small},
    }
    return plain.get(name, name)


class Captured:
    """The table and one stream `s` on it, which captures columns a and b at first.

    Args:
        more: Further keys of the table's configuration.
    """

    def __init__(
        self,
        place: Place,
        folder: Path,
        name: str,
        spark: SparkSession,
        *,
        more_sinks: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        self.sinks = {"changes": {"type": "jsonl", "path": "out/changes"}, **(more_sinks or {})}
        self.place, self.folder, self.spark, self.name = place, folder, spark, name
        place.sql(TABLE.format(at=word(place, AT), key="" if name == "none" else "PRIMARY KEY"))
        for i in range(1, ROWS + 1):
            region = "US" if i % 4 == 0 else "EU"
            place.sql(f"INSERT INTO t (id, a, b, c, region) VALUES ({i}, 'a{i}', 'b{i}', {i}, '{region}')")
        key = {"key": "none", "columns": ["id", "a", "b"]} if name == "none" else {"columns": ["a", "b"]}
        self.table = {"name": "s", "table": place.table("t"), "strategy": strategy_of(name, place), **key, **more}
        self.project = opened(self.data, folder, spark)
        self.read = 0
        time.sleep(SETTLE)
        self.project.stream("s").prepare()

    def __enter__(self) -> Captured:
        return self

    def __exit__(self, *error: object) -> None:
        self.project.close()

    @property
    def data(self) -> dict[str, Any]:
        """The project's configuration."""
        return config(self.place.url, self.table, sinks=self.sinks)

    def configure(self, *, columns: str = "", **keys: Any) -> None:
        """Edit the configuration file as a user would; None removes a key."""
        listed = {"columns": (["id"] if self.name == "none" else []) + columns.split()} if columns else {}
        self.table = {k: v for k, v in {**self.table, **listed, **keys}.items() if v is not None}
        self.project.close()
        self.project = opened(self.data, self.folder, self.spark)

    def set(self, column: str, value: str, *keys: int) -> None:
        """Update a column of some rows, and their timestamps."""
        clock, ids = word(self.place, CLOCK), ", ".join(map(str, keys))
        self.place.sql(f"UPDATE t SET {column} = {value}, at = {clock} WHERE id IN ({ids})")

    def insert(self, key: int, region: str = "EU") -> None:
        """Insert a row."""
        self.place.sql(f"INSERT INTO t (id, a, b, c, region) VALUES ({key}, 'new', 'new', {key}, '{region}')")

    def poll(self, **options: Any) -> list[dict[str, Any]]:
        """Poll once; return the events."""
        found: list[dict[str, Any]] = []
        self.warnings: list[str] = []
        for outcome in until_visible(self.place, lambda: poll(self.project, "s", **options)[0]):
            assert outcome.report is not None
            self.warnings += outcome.report.warnings
            found += self.fresh()
        return found

    def fresh(self) -> list[dict[str, Any]]:
        """Return the events since the last call."""
        found = events(self.folder / "out" / "changes", "s")
        self.read, before = len(found), self.read
        return found[before:]

    def brief_poll(self) -> Brief:
        """Poll once; return (op, id, reason) of the events, sorted."""
        return brief(self.poll())

    def verify(self) -> list[Any]:
        """Return the differences between replica and source."""
        return list(self.project.stream("s").verify())


def brief(found: list[dict[str, Any]]) -> Brief:
    """Return (op, id, reason) of events, sorted."""
    return sorted((e["op"], (e["after"] or e["before"] or e["key"])["id"], e["reason"]) for e in found)
