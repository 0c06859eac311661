"""The replay check: events of a jsonl sink, applied to a copy, must give the source.

The native driver applies them. Neither qbcd nor Spark computes anything here, so a type that is damaged on the way
shows as a difference. `pg_copy` and `maria_copy` have the SQL of each database.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.places import Row, place_of

Event = dict[str, Any]


def batches(folder: Path, stream: str) -> list[tuple[str, list[Event]]]:
    """Return (file name, events) of a stream's jsonl files, in delivery order."""
    files = sorted((folder / stream).glob("*.jsonl"), key=lambda p: tuple(map(int, p.stem.split("-"))))
    return [(f.name, [json.loads(line) for line in f.read_text("utf-8").split("\n") if line]) for f in files]


def events(folder: Path, stream: str) -> list[Event]:
    """Return all events of a stream, in delivery order."""
    return [event for _, found in batches(folder, stream) for event in found]


def net(found: Iterable[Event]) -> list[str]:
    """Return the changes as sorted texts without stream and time, to compare strategies.

    They are texts because Python treats 0.0 and -0.0, and 1 and True, as equal.
    """
    fields = ("op", "key", "before", "after", "changed", "reason")
    return sorted(json.dumps({f: event[f] for f in fields}, ensure_ascii=False) for event in found)


@dataclass(frozen=True)
class ColumnOf:
    """A column of the source: name, full type, and the base type behind domains."""

    name: str
    sql_type: str
    base_type: str


class Copy(ABC):
    """A copy of a table as it was, in the same server, changed only by events.

    Args:
        url: The database.
        table: Quoted name of the source table.
        key: Key columns.
        columns: Captured columns in their order in events after the key; they may include key columns. Default: all, in
            table order.
        where: The stream's restriction.
        name: Name of the copy; by default made from the table's.
        unique: Columns that are unique, each by itself, at every moment of a replay.
        texts: Columns that are texts in events because of the stream's `types`.
    """

    def __init__(
        self,
        url: str,
        table: str,
        key: Sequence[str],
        columns: Sequence[str] | None = None,
        where: str = "",
        name: str = "",
        unique: Sequence[str] = (),
        texts: Collection[str] = (),
    ):
        self.place, self.table, self.key, self.where = place_of(url), table, list(key), where or "true"
        self.name = "copy_" + hashlib.sha256(f"{table} {name}".encode()).hexdigest()[:20]
        self.texts = frozenset(texts)
        with self.place.connect() as conn:
            found = {column.name: column for column in self._catalog(conn)}
            wanted = list(found) if columns is None else columns
            self.columns = [found[n] for n in [*key, *(n for n in wanted if n not in key)]]
            self._make(conn, [self.key, *([column] for column in unique)])
        self._seen = 0

    @property
    def listed(self) -> str:
        """Return the captured columns as SQL."""
        return ", ".join(self.place.quote(c.name) for c in self.columns)

    def take_baseline(self) -> None:
        """Load the source's rows, as a consumer does for a silent baseline."""
        with self.place.connect() as conn:
            self.place.run(conn, f"DELETE FROM {self._copy}")
            rows = f"SELECT {self.listed} FROM {self.table} WHERE (\n{self.where}\n)"
            self.place.run(conn, f"INSERT INTO {self._copy} {rows}")

    def replay(self, found: Iterable[tuple[str, list[Event]]]) -> list[Event]:
        """Apply new batches, each as a set: first delete the old images, then insert the new ones.

        Returns:
            The events of those batches.
        """
        fresh = list(found)[self._seen :]
        self._seen += len(fresh)
        names = [c.name for c in self.columns]
        with self.place.connect() as conn:
            for name, batch in fresh:
                old, new = ([e[side] for e in batch if e[side] is not None] for side in ("before", "after"))
                for image in new:
                    assert list(image) == names, f"{name}: other columns than captured: {list(image)}"
                self._remove(conn, old, name)
                self._add(conn, new)
        return [event for _, batch in fresh for event in batch]

    def differences(self) -> list[Row]:
        """Return (op, row of the source, row of the copy) for each difference.

        The op is the one that a poll would have to find: ``c``, ``u`` or ``d``.
        """
        return self.place.sql(self._comparison())

    @property
    @abstractmethod
    def _copy(self) -> str:
        """The copy's quoted name."""

    @abstractmethod
    def _catalog(self, conn: Any) -> list[ColumnOf]:
        """Return the source's columns, in table order."""

    @abstractmethod
    def _make(self, conn: Any, unique: Sequence[Sequence[str]]) -> None:
        """Recreate the copy, empty, with a unique index over each of `unique`."""

    @abstractmethod
    def _remove(self, conn: Any, images: Sequence[Event], batch: str) -> None:
        """Delete the row of every image by its key; fail if one is missing."""

    @abstractmethod
    def _add(self, conn: Any, images: Sequence[Event]) -> None:
        """Insert the rows of the images."""

    @abstractmethod
    def _comparison(self) -> str:
        """Return the query for the differences."""


def copy_of(url: str, table: str, key: Sequence[str], **more: Any) -> Copy:
    """Return an empty copy for the database at `url`; see :class:`Copy`."""
    from tests.support.maria_copy import MariaCopy
    from tests.support.pg_copy import PostgresCopy

    kind = PostgresCopy if place_of(url).kind == "postgresql" else MariaCopy
    return kind(url, table, key, **more)
