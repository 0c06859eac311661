"""The search of partners for the keys of a batch, by broadcast, index or mesh.

All statements of a search read in one transaction of the source. So events are joined with one state of the relation if
its isolation gives one (docs/internals/lookups.md).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from qbcd.catalog.source import Session
from qbcd.common import hooks
from qbcd.common.wording import counted
from qbcd.errors import ConfigError, Refused
from qbcd.local.database import LocalDatabase
from qbcd.local.errors import explained_errors
from qbcd.local.query import duckdb_type
from qbcd.local.source import SourceReads, each_chunk
from qbcd.lookups.notes import Notes
from qbcd.lookups.relation import KeyForm, LookupRelation
from qbcd.lookups.shared import WaitingSearch
from qbcd.meshjoin import Costs, CyclicScan, MeshError, ReadTimes, Tuning
from qbcd.model import Column, KeyRange, Statement

if TYPE_CHECKING:
    import pyarrow as pa

Method = Literal["broadcast", "index", "mesh"]
KEYS_PER_STATEMENT = 1000
PUSHED_KEYS = 100_000  # keys that a scan sends to the source at most
LISTS_BEFORE_SCAN = 4  # before `auto` leaves lists of keys; the first one may be slow
LEAST_ROWS_PER_RANGE = 1000
RANGE_SHARE = 16  # of the memory: a range has at most this part
KEY_BYTES = 48  # of a key in the window, with its number
_EVENT_SECONDS = 1e-6  # to admit, probe and expire a key
_INTEGER_TYPES = {"int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT", "uint64": "UBIGINT"}


@dataclass
class SearchReport:
    """The method of a search, its keys, statements and rows."""

    method: str
    keys: int
    found: int = 0
    statements: int = 0
    rows: int = 0


class Search:
    """Finds the rows of a relation for keys in a local database.

    Args:
        forms: As `LookupRelation.forms`.
        stream: Names the session in the source's monitoring, and the stream in errors.

    Attributes:
        keys: Table of distinct keys without NULL: ``id`` from 0, ``k0`` ..
        partners: Table of the rows that match: ``id``, ``t0`` .. in wire form.
    """

    def __init__(
        self, relation: LookupRelation, forms: Sequence[KeyForm], notes: Notes, database: LocalDatabase, stream: str
    ) -> None:
        self._relation, self._forms, self._notes = relation, forms, notes
        self._database, self._stream = database, stream
        self.keys, self.partners = database.new_name(), database.new_name()
        self.progress: Callable[[str], None] = lambda what: None
        self._report = SearchReport("", 0)
        kinds = [f"k{i} {form.kind}" for i, form in enumerate(forms)]
        takes = [f"t{i} {duckdb_type(kind)}" for i, (_, kind) in enumerate(relation.fields[len(forms) :])]
        self._run(f"CREATE TABLE {self.keys} (id BIGINT, {', '.join(kinds)})")
        self._run(f"CREATE TABLE {self.partners} (id BIGINT, {', '.join(takes)})")

    def _run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with explained_errors(self._stream):
            return self._database.connection.execute(sql, list(values)).fetchall()

    @property
    def capacity(self) -> int:
        """The keys that fit into the memory with their rows."""
        return max(1, self._relation.config.memory // (KEY_BYTES + self._relation.row_bytes))

    def keep(self, ids: Sequence[int]) -> str:
        """Search only some of the keys; return a table of the others, k0 .."""
        late, kept = self._database.new_name(), self._database.new_name()
        names = ", ".join(f"k{i}" for i in range(len(self._forms)))
        self._run(f"CREATE TABLE {kept} AS SELECT unnest(?) AS id", [list(ids)])
        self._run(f"CREATE TABLE {late} AS SELECT {names} FROM {self.keys} ANTI JOIN {kept} USING (id)")
        self._run(
            f"CREATE TABLE {kept}_keys AS SELECT row_number() OVER (ORDER BY id) - 1 AS id, {names} "
            f"FROM {self.keys} SEMI JOIN {kept} USING (id)"
        )
        self._run(f"DELETE FROM {self.keys}")
        self._run(f"INSERT INTO {self.keys} SELECT * FROM {kept}_keys")
        return late

    # -- with the keys of others -------------------------------------------------------------------------------------
    @property
    def key_texts(self) -> pa.Table:
        """The keys as texts, k0 .."""
        names = ", ".join(f"CAST(k{i} AS VARCHAR) AS k{i}" for i in range(len(self._forms)))
        return self._table(f"SELECT {names} FROM {self.keys} ORDER BY id")

    def run_with(self, others: Sequence[WaitingSearch]) -> SearchReport:
        """Search also the keys of others, and give them their partners; see :meth:`run`."""
        own = int(self._run(f"SELECT count(*) FROM {self.keys}")[0][0])
        for other in others:
            with self._registered(other.keys) as given:
                same = " AND ".join(f"k.k{i} = {self._key('g', i)}" for i in range(len(self._forms)))
                keys = ", ".join(self._key("g", i) for i in range(len(self._forms)))
                self._run(
                    f"INSERT INTO {self.keys} SELECT row_number() OVER () - 1 + (SELECT count(*) FROM {self.keys}), "
                    f"{keys} FROM {given} AS g WHERE NOT EXISTS (SELECT 1 FROM {self.keys} AS k WHERE {same})"
                )
        report = self._filled(own)
        for other in others:
            other.partners, other.method = self._partners_of(other.keys), report.method
        for table in (self.keys, self.partners) if others else ():
            self._run(f"DELETE FROM {table} WHERE id >= {own}")
        report.keys, report.found = own, int(self._run(f"SELECT count(*) FROM {self.partners}")[0][0])
        return report

    def take(self, found: WaitingSearch) -> SearchReport:
        """Fill `partners` with what another search has found.

        Raises:
            Refused: A key has two partners.
        """
        assert found.partners is not None
        with self._registered(found.partners) as given:
            same = " AND ".join(f"k.k{i} = {self._key('g', i)}" for i in range(len(self._forms)))
            takes = ", ".join(f"g.t{i}" for i in range(len(self._relation.take)))
            self._run(
                f"INSERT INTO {self.partners} SELECT k.id, {takes} FROM {given} AS g JOIN {self.keys} AS k ON {same}"
            )
        self._refuse_two_partners()
        counts = [int(self._run(f"SELECT count(*) FROM {table}")[0][0]) for table in (self.keys, self.partners)]
        return SearchReport(f"{found.method} of another stream", *counts)

    def _partners_of(self, keys: pa.Table) -> pa.Table:
        with self._registered(keys) as given:
            named = ", ".join(f"g.k{i}" for i in range(len(self._forms)))
            takes = ", ".join(f"p.t{i}" for i in range(len(self._relation.take)))
            same = " AND ".join(f"k.k{i} = {self._key('g', i)}" for i in range(len(self._forms)))
            return self._table(
                f"SELECT {named}, {takes} FROM {given} AS g JOIN {self.keys} AS k ON {same} "
                f"JOIN {self.partners} AS p USING (id)"
            )

    def _key(self, table: str, i: int) -> str:
        return f"CAST({table}.k{i} AS {self._forms[i].kind})"

    @contextmanager
    def _registered(self, rows: pa.Table) -> Iterator[str]:
        name = self._database.new_name()
        self._database.connection.register(name, rows)
        try:
            yield name
        finally:
            self._database.connection.unregister(name)

    def _table(self, sql: str) -> pa.Table:
        with explained_errors(self._stream):
            relation: Any = self._database.connection.sql(sql)
            read = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
            found: pa.RecordBatchReader = read(131_072)
            return found.read_all()

    def run(self) -> SearchReport:
        """Fill `partners`, and return how.

        Raises:
            Refused: A key has two partners.
            ConfigError: The memory is too small.
            QbcdError: The source failed.
        """
        return self._filled(None)

    def _filled(self, own: int | None) -> SearchReport:
        """Fill `partners`; with a number, only keys with a lower one may not have two."""
        relation, count = self._relation, int(self._run(f"SELECT count(*) FROM {self.keys}")[0][0])
        self._report = SearchReport(relation.config.method, count)
        if count:
            with relation.source.pooled(), relation.source.read(self._stream) as session:
                self._search(session, count)
            self._notes.write()
            self._refuse_two_partners(own)
            self._report.found = int(self._run(f"SELECT count(*) FROM {self.partners}")[0][0])
        return self._report

    def _search(self, session: Session, count: int) -> None:
        method = self._relation.config.method
        if method == "auto":
            method = self._cheapest(count)
        done = 0
        if method == "index":
            done = self._by_index(session, count)
            method = "mesh" if done < count else method
        if done < count:
            self._by_scan(session, (done, count), whole=method == "broadcast")
            if self._relation.config.method == "auto" and not self._notes.bounds and not self._is_pushed(count - done):
                method = "broadcast"
        self._report.method = method

    @property
    def _range_rows(self) -> int:
        """Rows of a range."""
        return max(LEAST_ROWS_PER_RANGE, self._relation.config.memory // RANGE_SHARE // self._relation.row_bytes)

    @property
    def _rows(self) -> int:
        """Rows of the relation by the server's statistics, or by the number of ranges."""
        rows = self._relation.plan.table.rows
        return rows if rows >= 0 else (len(self._notes.bounds) + 1) * self._range_rows

    # -- the choice --------------------------------------------------------------------------------------------------
    def _cheapest(self, count: int) -> Method:
        """Return the method with the lowest predicted time, `index` before any scan was measured."""
        if not self._relation.indexed:  # each list of keys is a scan too
            return "index" if count <= KEYS_PER_STATEMENT else "mesh"
        measured = (self._notes.scanned if self._is_pushed(count) else self._notes.rows).observed
        return "mesh" if measured and self._is_scan_cheaper(count) else "index"

    def _is_scan_cheaper(self, count: int) -> bool:
        return self.scan_seconds(count) < self._index_seconds(count)

    def _index_seconds(self, count: int) -> float:
        statements, rest = divmod(count, KEYS_PER_STATEMENT)
        times = self._notes.keys
        return statements * times.predict(KEYS_PER_STATEMENT) + (times.predict(rest) if rest else 0)

    def scan_seconds(self, count: int) -> float:
        """Return the predicted seconds of a scan for so many keys."""
        if self._is_pushed(count):
            return -(-count // self._pushed_together) * self._notes.scanned.predict(self._rows)
        pages = len(self._notes.bounds) + 1
        tuning = self._tuning(pages)
        window = tuning.events * max(1, pages // tuning.pages)
        fixed, each = self._notes.rows.line
        return math.ceil(count / window) * (math.ceil(pages / tuning.pages) * fixed + self._rows * each)

    # -- index -------------------------------------------------------------------------------------------------------
    def _by_index(self, session: Session, count: int) -> int:
        """Read by lists of keys; return how many keys were searched before a scan became cheaper."""
        done, auto = 0, self._relation.config.method == "auto"
        while done < count:
            self._between(done, count)
            window = done, min(done + KEYS_PER_STATEMENT, count)
            if keys := self._keys_of(window):
                self._read(session, self._relation.rows(None, keys), window, (self._notes.keys, len(keys)))
            done = window[1]
            compared = auto and LISTS_BEFORE_SCAN * KEYS_PER_STATEMENT <= done < count
            if compared and self._is_scan_cheaper(count - done):
                break
        return done

    def _keys_of(self, window: tuple[int, int]) -> list[tuple[Any, ...]]:
        """Return the keys of a window that the relation's columns can hold."""
        values, conditions = [], [f"id >= {window[0]} AND id < {window[1]}"]
        for i, column in enumerate(self._relation.match):
            kind = _INTEGER_TYPES.get(column.travel.kind)
            value = f"TRY_CAST(k{i} AS {kind})" if kind else f"k{i}"
            if self._forms[i].kind == "UUID":
                value = f"CAST(k{i} AS VARCHAR)"
            values.append(value)
            if kind:
                conditions.append(f"{value} = k{i}")
        keys = self._run(f"SELECT {', '.join(values)} FROM {self.keys} WHERE {' AND '.join(conditions)}")
        return [key for key in keys if all(map(self._can_hold, self._relation.match, key))]

    def _can_hold(self, column: Column, value: Any) -> bool:
        """Return False for a text with characters that the column's character set lacks."""
        return not isinstance(value, str) or self._relation.source.connector.can_hold_text(column, value)

    # -- scan --------------------------------------------------------------------------------------------------------
    def _by_scan(self, session: Session, part: tuple[int, int], *, whole: bool = False) -> None:
        """Read the relation in a cycle of key ranges, which all keys that wait share.

        If the source gets the keys, each read is the whole relation, for as many keys as fit into the memory.

        Args:
            part: The keys, from the first one to before the last one.
            whole: Read all rows by one statement.
        """
        done, count = part
        if not whole and self._is_pushed(count - done):
            for first in range(done, count, self._pushed_together):
                self._between(first, count)
                window = first, min(first + self._pushed_together, count)
                if keys := self._keys_of(window):
                    self._read(session, self._relation.rows(None, keys), window, (self._notes.scanned, self._rows))
                hooks.reach("mid_lookup")
            return
        if whole:
            self._notes.partition([], [])
        else:
            self._partition(session)
        pages = len(self._notes.bounds) + 1
        tuning = self._tuning(pages)
        scan, group = CyclicScan[int](pages, self._notes.position % pages), 0
        groups, capacity = -(-(count - done) // tuning.events), max(1, pages // tuning.pages)
        while group < groups or scan.waiting:
            while group < groups and len(scan.waiting) < capacity:
                scan.admit(group)
                group += 1
            turns = scan.turns(tuning.pages)
            first, last = scan.waiting[0].events, scan.waiting[-1].events
            window = done + first * tuning.events, min(done + (last + 1) * tuning.events, count)
            self._between(turns.start, pages)
            size = max(1, self._rows * len(turns) // pages)
            statement = self._relation.rows(self._range(turns.start, turns.stop))
            self._read(session, statement, window, (self._notes.rows, size))
            for _ in turns:
                scan.advance()
            self._notes.position = scan.position
            hooks.reach("mid_lookup")

    def _is_pushed(self, count: int) -> bool:
        """Return True if a scan sends its keys to the source, since they are fewer than its rows."""
        return 2 * min(count, PUSHED_KEYS) <= self._rows

    @property
    def _pushed_together(self) -> int:
        """The keys of a scan that sends them to the source: they fit into the memory."""
        return min(PUSHED_KEYS, self.capacity)

    def _partition(self, session: Session) -> None:
        """Note the bounds of key ranges, unless those of this relation are known."""
        relation, table = self._relation, self._relation.plan.table
        size = self._range_rows
        key = [[column.name, column.sql_type, column.collation] for column in relation.plan.key]
        doubled = max(table.rows, 1).bit_length() // 2  # the rows, but for a factor of four
        of = [relation.source.name, table.schema, table.name, key, size, doubled]
        if self._notes.of == of:
            return
        bounds: list[Sequence[str]] = []
        if key and (table.rows < 0 or table.rows > size):
            bounds = [[str(value) for value in row] for row in session.rows(relation.bounds(size))]
        self._notes.partition(of, bounds)

    def _tuning(self, pages: int) -> Tuning:
        """Return the ranges of a read and the keys admitted before it, by the cost model."""
        relation = self._relation
        rows = max(self._rows, 1) / pages
        fixed, each = self._notes.rows.line
        costs = Costs(
            pages=pages,
            page_bytes=min(rows * relation.row_bytes, relation.config.memory / RANGE_SHARE),
            rows_of_page=rows,
            event_bytes=KEY_BYTES,
            read=fixed,
            transfer=rows * each,
            event=_EVENT_SECONDS,
            row=0.0,
        )
        try:
            return costs.within(relation.config.memory)
        except MeshError as error:
            raise ConfigError(
                f"lookup {relation.name}: {error}", remedy="raise its `memory`", where=relation.place
            ) from error

    def _range(self, start: int, stop: int) -> KeyRange | None:
        ranges = self._notes.ranges()
        return None if len(ranges) == 1 else KeyRange(0, ranges[start].lo, ranges[stop - 1].hi)

    # -- rows --------------------------------------------------------------------------------------------------------
    def _read(
        self, session: Session, statement: Statement, window: tuple[int, int], timed: tuple[ReadTimes, int]
    ) -> None:
        """Run a statement and keep the rows that match keys of the window.

        Args:
            timed: Takes the time, with the size of the read.
        """
        relation, begin = self._relation, time.perf_counter()
        reads = SourceReads(relation.source, self._stream, [statement], session=session)
        matched = " AND ".join(f"{form.of(f'c.f{i}')} = k.k{i}" for i, form in enumerate(self._forms))
        takes = ", ".join(f"c.f{i}" for i in range(len(self._forms), len(relation.columns)))
        at_least = relation.config.memory // 4
        for chunk in each_chunk(self._database, reads, relation.fields, at_least):
            self._run(
                f"INSERT INTO {self.partners} SELECT k.id, {takes} FROM ({chunk.sql}) AS c JOIN {self.keys} AS k "
                f"ON {matched} WHERE k.id >= {window[0]} AND k.id < {window[1]}"
            )
        timed[0].observe(timed[1], time.perf_counter() - begin)
        self._report.statements += 1
        self._report.rows += reads.amount.rows

    def _between(self, done: int, count: int) -> None:
        self.progress(f"lookup {self._relation.name}: {done:,} of {count:,}")

    def _refuse_two_partners(self, own: int | None = None) -> None:
        names = ", ".join(f"CAST(k{i} AS VARCHAR)" for i in range(len(self._forms)))
        twice = self._run(
            f"SELECT {names}, n FROM {self.keys} JOIN (SELECT id, count(*) AS n FROM {self.partners} GROUP BY id "
            f"HAVING count(*) > 1) USING (id){'' if own is None else f' WHERE id < {own}'} ORDER BY id LIMIT 1"
        )
        if twice:
            *values, rows = twice[0]
            key = ", ".join(
                f"{column.name} = {value}" for column, value in zip(self._relation.match, values, strict=True)
            )
            raise Refused(
                f"lookup {self._relation.name}: {counted(rows, 'row')} of {self._relation.label} have {key}",
                stream=self._stream,
                remedy="leave one row for each key, or restrict the lookup by `where`; the next poll tries again",
            )
