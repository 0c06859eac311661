"""Streams of the database wing without sinks: polled without Spark, read from outboxes.

All of them capture `v` and `n` of one table `t`. New batches are applied to a copy of the baseline at once, so that a
test can check at any moment that replay gives the source.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

from sqlalchemy.engine import Connection

from qbcd.api import parts_of
from qbcd.common import hooks
from qbcd.connectors.facts import HighWater
from qbcd.connectors.mysql_family.watermarks import FamilyWatermarks
from qbcd.polling.outcome import Outcome
from qbcd.strategies.outbox import outbox_name
from tests.support import wait_until
from tests.support.places import Place
from tests.support.project import config, opened, poll

ROWS = 12
REFRESHED = 0.12  # seconds: InnoDB refreshes its list only if it was not read for a tenth of a second
SETTLE = 0.01  # longer than margin and lag of `stamped`
COLUMNS = "v varchar(40), n integer DEFAULT 0, at {at}, gone boolean NOT NULL DEFAULT false, chk bigint"
AT = {"postgresql": "timestamptz NOT NULL DEFAULT clock_timestamp()", "": "timestamp(6) NOT NULL DEFAULT now(6)"}
CLOCK = {"postgresql": "clock_timestamp()", "": "sysdate(6)"}
WAITS = {
    "postgresql": "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
    "": "SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
}
WORKS = """
SELECT 1 FROM information_schema.processlist
WHERE command NOT IN ('Sleep', 'Daemon', 'Binlog Dump') AND id <> connection_id()
UNION SELECT 1 FROM information_schema.innodb_trx WHERE trx_mysql_thread_id NOT IN (0, connection_id())
"""
PATIENCE = 30.0  # seconds for sessions that are about to end

Row = tuple[Any, ...]
W = TypeVar("W", bound="Watched")


def word(place: Place, words: Mapping[str, str]) -> str:
    """Return the SQL of this kind of place, or the default."""
    return words.get(place.kind, words[""])


def someone_waits(place: Place) -> bool:
    """Return True if a session waits for the lock of a row."""
    if place.kind != "postgresql":
        time.sleep(REFRESHED)
    return bool(place.sql(word(place, WAITS)))


def comes_to_rest(place: Place) -> bool:
    """Return True if no session of MariaDB has a running statement or an open transaction within a second.

    A transaction of the server itself (thread 0, after a table was made) may last longer: it ends by itself.
    """

    def at_rest() -> bool:
        time.sleep(REFRESHED)
        return not place.sql(WORKS)

    try:
        wait_until(at_rest, timeout=1.0)
    except TimeoutError:
        return False
    return True


@contextmanager
def held_back() -> Iterator[list[bool]]:
    """Record, for each read of MariaDB's clock, if another session held the watermark back."""
    found: list[bool] = []
    high_water = FamilyWatermarks.high_water

    def watched(watermarks: FamilyWatermarks, conn: Connection) -> HighWater:
        high = high_water(watermarks, conn)
        found.append(high.oldest is not None)
        return high

    with patch.object(FamilyWatermarks, "high_water", watched):
        yield found


def until_visible(place: Place, once: Callable[[], Outcome]) -> Iterator[Outcome]:
    """Poll, and again while a session that has just ended holds the watermark back.

    MariaDB lists it for a moment, for long on a slow machine, and the watermark then stays more than a second behind.
    Polls with a hook of the test are not repeated.
    """
    deadline, passing = time.monotonic() + PATIENCE, True
    while passing and time.monotonic() < deadline:
        time.sleep(SETTLE)
        with held_back() as was_held:
            outcome = once()
        yield outcome
        passing = any(was_held) and not hooks._registered and comes_to_rest(place)


def stamped(place: Place, name: str, **more: Any) -> dict[str, Any]:
    """Return a strategy by timestamp `at` with the smallest lag."""
    flag = {"delete_flag": "gone"} if name != "ts" else {}
    lag = {} if place.kind == "postgresql" else {"lag": "2ms"}
    return {"type": name, "timestamp": "at", "margin": "1ms", **lag, **flag, **more}


@dataclass(frozen=True)
class Event:
    """A row of an outbox; images are (id, v, n), or None."""

    op: str
    key: int
    before: Row | None
    after: Row | None
    reason: str | None
    pair_id: str | None


def brief(found: list[list[Event]]) -> list[list[tuple[int, str]]]:
    """Return key and op of every event, by key, batch by batch."""
    return [sorted((event.key, event.op) for event in batch) for batch in found]


class Watched:
    """Table `t` and streams on it.

    Args:
        strategies: Strategies of the streams, by name.
        key: Column `id` as DDL.
        columns: The other columns as DDL; ``{at}`` is replaced by a timestamp that is set when a row is inserted.
        each: Further keys of the configuration of some streams, by name.
        more: Further keys of every stream's configuration.

    Attributes:
        copies: By stream, the rows of the baseline after all events.
    """

    def __init__(
        self,
        place: Place,
        folder: Path,
        strategies: Mapping[str, Any],
        *,
        key: str = "integer PRIMARY KEY",
        columns: str = COLUMNS,
        source_url: str = "",
        each: Mapping[str, dict[str, Any]] | None = None,
        **more: Any,
    ) -> None:
        self.place, self.folder = place, folder
        place.sql(f"CREATE TABLE t (id {key}, {columns.format(at=word(place, AT))})")
        fixed = {"table": place.table("t"), "columns": ["v", "n"], "sinks": [], **more}
        own = each or {}
        tables = [{"name": name, "strategy": how, **fixed, **own.get(name, {})} for name, how in strategies.items()]
        self.data = config(source_url or place.url, *tables)
        self.project = opened(self.data, folder)
        self.names = list(strategies)
        self.copies: dict[str, dict[int, Row]] = {}
        self._read = dict.fromkeys(strategies, 0)

    def __enter__(self: W) -> W:
        return self

    def __exit__(self, *error: object) -> None:
        self.project.close()

    # -- the source --------------------------------------------------------------------------------------------------
    @property
    def clock(self) -> str:
        """Return SQL for the value that an application writes as its timestamp."""
        return word(self.place, CLOCK)

    def fill(self: W, rows: int = ROWS) -> W:
        """Insert plain rows, and prepare every stream."""
        for number in range(1, rows + 1):
            self.insert(number, f"old {number}")
        self.prepare()
        return self

    def insert(self, key: int, value: str, conn: Any = None) -> None:
        """Insert a row, in a transaction of its own or on `conn`."""
        self.run(f"INSERT INTO t (id, v) VALUES ({key}, '{value}')", conn)

    def update(self, key: int, value: str, conn: Any = None) -> None:
        """Update a row's value and timestamp."""
        self.run(f"UPDATE t SET v = '{value}', at = {self.clock} WHERE id = {key}", conn)

    def flag(self, key: int, flagged: bool = True, conn: Any = None) -> None:
        """Flag a row as deleted, or revive it."""
        self.run(f"UPDATE t SET gone = {flagged}, at = {self.clock} WHERE id = {key}", conn)

    def delete(self, key: int, conn: Any = None) -> None:
        """Delete a row."""
        self.run(f"DELETE FROM t WHERE id = {key}", conn)

    def run(self, text: str, conn: Any = None) -> None:
        """Run statements, in a transaction of their own or on `conn`."""
        if conn is None:
            self.place.sql(text)
        else:
            self.place.run(conn, text)

    def there(self, key: int) -> bool:
        """Return True if the table has the row, flagged or not."""
        return bool(self.place.sql(f"SELECT 1 FROM t WHERE id = {key}"))

    def source(self, live: str = "true") -> dict[int, Row]:
        """Return the table's rows that satisfy a condition."""
        return {row[0]: row for row in self.place.sql(f"SELECT id, v, n FROM t WHERE {live}")}

    # -- the streams -------------------------------------------------------------------------------------------------
    def prepare(self, *names: str) -> None:
        """Prepare streams, by default all; the copies begin with the replicas' rows."""
        for name in names or self.names:
            time.sleep(SETTLE)
            self.copies[name] = self.source(self.live(name))
            self.project.stream(name).prepare()

    def reconfigure(self, name: str, **options: Any) -> None:
        """Change options of a stream's strategy as a user would; None removes one."""
        table = next(t for t in self.data["tables"] if t["name"] == name)
        table["strategy"] = {k: v for k, v in {**table["strategy"], **options}.items() if v is not None}
        self.reopen()

    def reopen(self) -> None:
        """Open the project again with the configuration in `data`."""
        self.project.close()
        self.project = opened(self.data, self.folder)

    def live(self, name: str) -> str:
        """Return the condition that selects the rows of a stream."""
        table = next(t for t in self.data["tables"] if t["name"] == name)
        shown = [table["where"]] if "where" in table else []
        return " AND ".join([*shown, "NOT gone"] if "delete_flag" in table["strategy"] else shown) or "true"

    def poll(self, name: str = "s", **options: Any) -> list[list[Event]]:
        """Poll once; return the batches that it sealed, or raise its error."""
        found: list[list[Event]] = []
        for outcome in until_visible(self.place, lambda: poll(self.project, name, **options)[0]):
            self.outcome = outcome
            found += self.fresh(name)
        return found

    def ops(self, name: str = "s", **options: Any) -> list[list[tuple[int, str]]]:
        """Poll once; return key and op of the events."""
        return brief(self.poll(name, **options))

    def watermark(self, name: str = "s") -> dict[str, Any]:
        """Return the stream's watermark, as in its checkpoint."""
        row = parts_of(self.project).open_stream(name).site.context.row()
        assert row is not None
        return dict(row.checkpoint["mark"])

    def fresh(self, name: str = "s") -> list[list[Event]]:
        """Return the batches sealed since the last call; apply them to the stream's copy."""
        outbox = f"{self.place.quote(self.place.own_schema)}.{outbox_name(name)}"
        rows = self.place.sql(
            "SELECT batch_seq, op, reason, pair_id, b_id, b_v, b_n, a_id, a_v, a_n "
            f"FROM {outbox} WHERE batch_seq > {self._read[name]} ORDER BY batch_seq, ordinal"
        )
        found: dict[int, list[Event]] = {}
        for seq, op, reason, pair, *values in rows:
            before, after = (tuple(v) if v[0] is not None else None for v in (values[:3], values[3:]))
            key = (after or before or (None,))[0]
            after = after if op.strip() != "d" else None  # a flagged row still exists, and so does its image
            found.setdefault(seq, []).append(Event(op.strip(), key, before, after, reason, pair))
        self._read[name] = max(found, default=self._read[name])
        for batch in found.values():
            self._replay(self.copies[name], batch)
        return list(found.values())

    def check(self, name: str = "s") -> None:
        """Check that replay gives the rows of the stream."""
        assert self.copies[name] == self.source(self.live(name))

    @staticmethod
    def _replay(rows: dict[int, Row], batch: list[Event]) -> None:
        """Apply a batch as a set: each key occurs once, and every old image is the consumer's."""
        keys = [event.key for event in batch]
        assert len(keys) == len(set(keys)), f"a key occurs twice in a batch: {sorted(keys)}"
        for event in batch:
            if event.op != "c":
                old = rows.pop(event.key, None)
                whole = event.before is not None and event.before[1:] != (None, None)
                assert not whole or old == event.before, f"{event}: the consumer has {old}"
        for event in batch:
            if event.op != "d":
                assert event.key not in rows, f"{event}: the consumer has {rows[event.key]}"
                assert event.after is not None
                rows[event.key] = event.after


@contextmanager
def at_nth(point: str, number: int, action: Callable[[], object]) -> Iterator[list[int]]:
    """Run `action` when the protocol reaches `point` for the nth time; yield the list of calls."""
    calls: list[int] = []

    def act() -> None:
        calls.append(len(calls) + 1)
        if len(calls) == number:
            action()

    hooks.register(point, act)
    try:
        yield calls
    finally:
        hooks.register(point, None)
    assert len(calls) >= number, f"{point} was reached {len(calls)} times"
