"""Events that wait: those that an enricher holds, and later ones with the same key.

Each event of a batch goes with the batch, or is held in a file until a later batch has it. Order per key: an event
waits if an earlier one with one of its keys waits, and both events of a pair go together.
See docs/design/protocol.md#rule-26.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qbcd.enrichment.enricher import BatchToEnrich
from qbcd.enrichment.files import hash_of
from qbcd.errors import LocalFailed, Refused
from qbcd.local.arrow import pieces_of
from qbcd.local.database import LocalDatabase
from qbcd.local.errors import explained_errors
from qbcd.local.parquet_rows import file_options, rows_of_files, text
from qbcd.local.query import Query, columns_of, duckdb_type
from qbcd.model import BatchHeader, Travel
from qbcd.sites.event_schema import event_fields
from qbcd.stores.parts import PartStore

if TYPE_CHECKING:
    import pyarrow as pa

HELD, SENT = "held", "sent"  # first letters of file names: events that wait, and events of a batch that waited
ORIGIN = "origin"  # column: the number that an event that waited had in its own batch
_KEYS = "hold_keys"
_INEXACT = ("float32", "float64")  # their zeros have two texts


@dataclass(frozen=True)
class WrittenEvents:
    """A durable file with events; no row names it yet."""

    name: str
    hash: str
    counts: dict[str, int]

    @property
    def events(self) -> int:
        """Their number."""
        return sum(self.counts.values())


class Blocked:
    """The keys of events that wait, in a local database.

    Args:
        files: Files of events that wait.
    """

    def __init__(self, database: LocalDatabase, stream: str, files: Sequence[Path] = ()) -> None:
        self.database, self._stream = database, stream
        self.table = database.new_name()
        self.run(f"CREATE TABLE {self.table} (key VARCHAR)")
        for file in files:
            self.run(f"INSERT INTO {self.table} SELECT unnest({_KEYS}) FROM read_parquet({text(str(file))})")

    def add(self, split: Split) -> None:
        """Block the keys of the events that wait."""
        self.run(f"INSERT INTO {self.table} SELECT unnest({_KEYS}) FROM {split.table} WHERE waits")

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement."""
        with explained_errors(self._stream):
            return self.database.connection.execute(sql, list(values)).fetchall()


class Split:
    """The events of a batch with their values, divided into those that wait and those that go.

    Args:
        pieces: Aligned arrays: the ordinals of events, and the JSON texts of each field.
        holding: The places of the fields whose NULL lets an event wait.

    Attributes:
        table: ``ordinal``, ``op``, ``f_0`` .., `hold_keys`, and `waits`, in `blocked.database`.
    """

    def __init__(
        self, batch: BatchToEnrich, pieces: Iterator[Sequence[pa.Array]], holding: Sequence[int], blocked: Blocked
    ) -> None:
        self._batch, self._blocked = batch, blocked
        self.fields, found = 0, blocked.database.new_name()
        for piece in pieces:
            self._keep(piece, found)
        self.table = blocked.database.new_name()
        named = "".join(f", e.f_{i}" for i in range(self.fields))
        lacking = " OR ".join(f"e.f_{place} IS NULL" for place in holding if place < self.fields) or "FALSE"
        by_key = f"(SELECT unit, unnest({_KEYS}) AS key FROM events)"
        blocked.run(
            f"CREATE TABLE {self.table} AS WITH events AS (SELECT s.ordinal, s.op, coalesce(s.pair_id, "
            f"'#' || s.ordinal) AS unit, {_keys_of(batch.header)} AS {_KEYS} FROM ({batch.rows.query.sql}) AS s), "
            f"late AS (SELECT DISTINCT unit FROM {by_key} WHERE key IN (SELECT key FROM {blocked.table})), "
            f"missing AS (SELECT DISTINCT unit FROM events JOIN {found} AS e USING (ordinal) WHERE {lacking}) "
            f"SELECT s.ordinal, s.op{named}, {_KEYS}, s.unit IN (SELECT unit FROM late) OR s.unit IN "
            f"(SELECT unit FROM missing) AS waits FROM events AS s JOIN {found} AS e USING (ordinal)"
            if self.fields
            else f"CREATE TABLE {self.table} AS SELECT 0 AS ordinal, '' AS op, ['']::VARCHAR[] AS {_KEYS}, "
            "FALSE AS waits LIMIT 0"
        )

    def _keep(self, piece: Sequence[pa.Array], found: str) -> None:
        import pyarrow as pa

        names = [f"f_{i}" for i in range(len(piece) - 1)]
        given = pa.table([piece[0], *(one.cast(pa.string()) for one in piece[1:])], names=["ordinal", *names])
        with explained_errors(self._batch.header.stream):
            self._blocked.database.connection.register("qbcd_piece", given)
            head = f"INSERT INTO {found}" if self.fields else f"CREATE TABLE {found} AS"
            self._blocked.run(f"{head} SELECT * FROM qbcd_piece")
            self._blocked.database.connection.unregister("qbcd_piece")
        self.fields = len(piece) - 1

    @property
    def size(self) -> int:
        """The number of events."""
        return int(self._blocked.run(f"SELECT count(*) FROM {self.table}")[0][0])

    def counts(self, *, waiting: bool) -> dict[str, int]:
        """Return by op how many events wait, or do not."""
        test = "waits" if waiting else "NOT waits"
        found = self._blocked.run(f"SELECT op, count(*) FROM {self.table} WHERE {test} GROUP BY op ORDER BY op")
        return {op: int(number) for op, number in found}

    def pieces(self) -> Iterator[list[pa.Array]]:
        """Yield ops, values and marks of the events that do not wait, in the order of ordinals."""
        names = ["op", *(f"f_{i}" for i in range(self.fields)), "NOT waits AS goes"]
        with explained_errors(self._batch.header.stream):
            sql = f"SELECT {', '.join(names)} FROM {self.table} ORDER BY ordinal"
            for piece in pieces_of(self._blocked.database, sql, 131_072):
                yield list(piece.columns)

    def write_waiting(self, parts: PartStore, token: int) -> WrittenEvents:
        """Write the rows of the events that wait, with their keys."""
        sql = (
            f"SELECT s.*, t.{_KEYS} FROM ({self._batch.rows.query.sql}) AS s JOIN {self.table} AS t USING (ordinal) "
            "WHERE t.waits ORDER BY s.ordinal"
        )
        return self._written(HELD, parts, token, sql, self.counts(waiting=True))

    def write_going(self, parts: PartStore, token: int) -> WrittenEvents:
        """Write the rows and values of the events that do not wait, as a batch of their own."""
        named = "".join(f", t.f_{i}" for i in range(self.fields))
        sql = (
            "SELECT s.* EXCLUDE (ordinal), row_number() OVER (ORDER BY s.ordinal) - 1 AS ordinal, "
            f"s.ordinal AS {ORIGIN}{named}, CAST(NULL AS BIGINT) AS place FROM ({self._batch.rows.query.sql}) AS s "
            f"JOIN {self.table} AS t USING (ordinal) WHERE NOT t.waits ORDER BY ordinal"
        )
        return self._written(SENT, parts, token, sql, self.counts(waiting=False))

    def _written(self, kind: str, parts: PartStore, token: int, sql: str, counts: dict[str, int]) -> WrittenEvents:
        name = _name(kind, self._batch.header, token)
        return WrittenEvents(name, _copied(self._blocked.run, sql, parts, name), counts)


def write_rest(
    blocked: Blocked, header: BatchHeader, files: tuple[Path, Path], parts: PartStore, token: int
) -> WrittenEvents:
    """Write the events of a file that are not in the file of a later batch.

    Args:
        files: The two files.
    """
    table, (held, sent) = blocked.database.new_name(), files
    blocked.run(
        f"CREATE TABLE {table} AS SELECT * FROM read_parquet({text(str(held))}) WHERE ordinal NOT IN "
        f"(SELECT {ORIGIN} FROM read_parquet({text(str(sent))}))"
    )
    counts = dict(blocked.run(f"SELECT op, count(*) FROM {table} GROUP BY op ORDER BY op"))
    name = _name(HELD, header, token)
    return WrittenEvents(name, _copied(blocked.run, f"SELECT * FROM {table} ORDER BY ordinal", parts, name), counts)


def _name(kind: str, header: BatchHeader, token: int) -> str:
    return f"{kind}-{header.epoch}-{header.seq}-{token}-{uuid.uuid4().hex}.parquet"


def rows_in(database: LocalDatabase, path: Path, columns: Sequence[tuple[str, Travel]]) -> Query:
    """Return the staged rows in a file of this module."""
    fields = event_fields([travel for _, travel in columns])
    typed = [(name, duckdb_type(kind)) for name, kind in fields]
    return Query(rows_of_files(database.connection, typed, [path]), columns_of(fields))


def refuse_unordered(header: BatchHeader, folded: frozenset[str]) -> None:
    """Refuse a stream whose keys cannot be compared here.

    Args:
        folded: The text columns that may treat different texts as equal.

    Raises:
        Refused: Events with equal keys could be delivered in another order.
    """
    known = dict(header.columns)
    inexact = [name for name in header.key if name in folded or known[name].kind in _INEXACT]
    if header.key and not inexact:
        return
    why = f"its column {inexact[0]} can treat different values as equal" if inexact else "the stream has no key"
    raise Refused(
        f"events cannot wait for a row (`missing: hold`) and keep their order by key: {why}",
        stream=header.stream,
        remedy='write `missing: "null"` or `allocate`, or capture a table with a key of numbers, dates or exact texts',
    )


def _keys_of(header: BatchHeader) -> str:
    """Return the SQL of an event's keys as texts, those of its old and of its new row."""
    known = {name: (place, travel) for place, (name, travel) in enumerate(header.columns)}

    def side(letter: str) -> str:
        parts = ", ".join(_key_text(f"s.{letter}_{known[name][0]}", known[name][1]) for name in header.key)
        there = " OR ".join(f"s.{letter}_{known[name][0]} IS NOT NULL" for name in header.key)
        return f"CASE WHEN {there} THEN CAST(to_json([{parts}]) AS VARCHAR) END"

    return f"list_distinct([{side('b')}, {side('a')}])"  # without NULL


def _key_text(value: str, travel: Travel) -> str:
    return f"rtrim(CAST({value} AS VARCHAR), ' ')" if travel.kind == "text" else f"CAST({value} AS VARCHAR)"


def _copied(run: Callable[[str], object], sql: str, parts: PartStore, name: str) -> str:
    """Write rows into a new file durably; return its hash."""
    try:
        parts.create()
        path = parts.workplace(name)
        run(f"COPY ({sql}) TO {text(str(path))} ({file_options('COMPRESSION SNAPPY')})")
        parts.keep(name)
        return hash_of(path)
    except OSError as error:
        raise LocalFailed(
            f"the file {parts.place(name)} cannot be written: {error.strerror or error}",
            remedy="check the workdir and its disk; the batch waits, and the next poll tries again",
        ) from error
