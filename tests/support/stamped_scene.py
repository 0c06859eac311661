"""A scene whose table has a timestamp, a delete flag and a checksum column.

Its application writes the time with every change. If the strategy reads a delete flag, the application flags rows and
revives them; a changed key is then a flagged row and a new one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from tests.support.mixed_scene import MixedScene
from tests.support.scene import ROWS, Scene

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAST_THE_MARGIN = 0.02  # seconds; the strategies' margin and lag are milliseconds
_SERVICES = ["at", "gone", "row_sum"]
_SMALL = {"rows_per_range": 4, "pace": {"per_second": 1000}}  # a step for each of a few ranges
_STAMP = {"timestamp": "at", "margin": "1ms"}
_FLAG = {**_STAMP, "delete_flag": "gone"}
STAMPED: Mapping[str, dict[str, Any]] = {
    "id": {"type": "id", **_SMALL},
    "tlcs": {"type": "tlcs", **_SMALL},
    "tlcs_in_row": {"type": "tlcs", "checksums": "column", "checksum_column": "row_sum", **_SMALL},
    "ts": {"type": "ts", **_STAMP, "deletes": {"every": "1ms"}},
    "ts_spark": {"type": "ts", **_STAMP, "replica": "spark", "deletes": {"every": "1ms"}, "rows_per_range": 4},
    "tdi": {"type": "tdi", **_FLAG, "purge": True},
    "atdi": {"type": "atdi", **_FLAG, "create_index": True},
}
TABLE = """
DROP TABLE IF EXISTS t;
CREATE TABLE t (id integer PRIMARY KEY, v varchar(40), n integer DEFAULT 0, at {when}, gone boolean DEFAULT FALSE,
  row_sum bigint)
"""
# The same changes as in the plain scene.
COME = """
INSERT INTO t (id, v, at) VALUES (100 + {n}, 'new {n}', {now});
UPDATE t SET v = 'changed {n}', at = {now} WHERE id IN (2, 7)
"""
LEAST = "(SELECT i FROM (SELECT min(id) AS i FROM t WHERE id > 2 AND id <> 7 AND NOT gone) AS s)"
NEWEST = "(SELECT i FROM (SELECT max(id) AS i FROM t WHERE id < 1000 AND NOT gone) AS s)"
DELETED = f"""
DELETE FROM t WHERE id = {LEAST};
UPDATE t SET id = 1000 + {{n}}, at = {{now}} WHERE id = {NEWEST}
"""
FLAGGED = f"""
UPDATE t SET gone = TRUE, at = {{now}} WHERE id = {LEAST};
UPDATE t SET gone = TRUE, at = {{now}} WHERE id = {NEWEST};
INSERT INTO t (id, v, at) VALUES (1000 + {{n}}, 'moved {{n}}', {{now}})
"""


class StampedScene(Scene):
    """A scene whose table has every column that a strategy may need.

    Args:
        strategy: A name in :data:`STAMPED`.
    """

    def __init__(self, url: str, folder: Path, strategy: str, spark: SparkSession, **more: Any) -> None:
        how = STAMPED[strategy]
        self.flagged = "delete_flag" in how
        # on servers that do not show who writes, the configuration bounds the duration of transactions
        if "timestamp" in how and not url.startswith("postgresql"):
            how = {**how, "lag": "2ms"}
        super().__init__(url, folder, how, spark, **{"exclude": _SERVICES, **more})
        first = self.place.kind == "postgresql"
        self.now = "clock_timestamp()" if first else "sysdate(6)"
        self._when = "timestamptz NOT NULL" if first else "timestamp(6) NOT NULL"

    @override
    def make_table(self) -> None:
        self.place.sql(TABLE.format(when=self._when))
        rows = ", ".join(f"({i}, 'old {i}', {self.now})" for i in range(1, ROWS + 1))
        self.place.sql(f"INSERT INTO t (id, v, at) VALUES {rows}")
        time.sleep(PAST_THE_MARGIN)

    @override
    def change(self) -> None:
        self.changes += 1
        changes = ";".join([COME, FLAGGED if self.flagged else DELETED])
        self.place.sql(changes.format(n=self.changes, now=self.now))
        time.sleep(PAST_THE_MARGIN)

    @override
    def source(self) -> list[tuple[Any, ...]]:
        return self.place.sql("SELECT id, v, n FROM t WHERE NOT gone ORDER BY id")

    @override
    def put(self, rows: list[tuple[Any, ...]]) -> None:
        wanted = {row[0] for row in rows}
        away = (
            f"UPDATE t SET gone = TRUE, at = {self.now} WHERE NOT gone AND" if self.flagged else "DELETE FROM t WHERE"
        )
        with self.place.connect() as conn:
            existing = {row[0] for row in self.place.run(conn, "SELECT id FROM t")}
            for key in existing - wanted:
                self.place.run(conn, f"{away} id = %s", [key])
            for key, v, n in rows:
                sets = f"v = %s, n = %s, gone = FALSE, at = {self.now}"
                come = f"INSERT INTO t (v, n, at, id) VALUES (%s, %s, {self.now}, %s)"
                change = f"UPDATE t SET {sets} WHERE id = %s"
                self.place.run(conn, change if key in existing else come, [v, n, key])
        time.sleep(PAST_THE_MARGIN)

    def flagged_rows(self) -> list[int]:
        """Return the keys of the flagged rows that still exist in the table."""
        return [row[0] for row in self.place.sql("SELECT id FROM t WHERE gone ORDER BY id")]


def scene_of(url: str, folder: Path, strategy: str, spark: SparkSession, **more: Any) -> Scene:
    """Return a scene for any strategy that tests know by a name."""
    kind = StampedScene if strategy in STAMPED else MixedScene if strategy.endswith("mixed") else Scene
    return kind(url, folder, strategy, spark, **more)
