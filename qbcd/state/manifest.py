"""The manifest of a replica: ranges, base segments and the pins of its readers.

See docs/design/protocol.md#rule-11, #rule-15, #rule-23.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import case, delete, func, insert, select
from sqlalchemy.engine import Connection

from qbcd.errors import StateConflict
from qbcd.state.dialects import facts_of
from qbcd.state.rows import (
    Pin,
    Segment,
    StoredRange,
    StreamRow,
    Visits,
    in_key_order,
    range_row,
    range_values,
    segment_row,
    segment_values,
)
from qbcd.state.streams import StreamRows
from qbcd.state.tables import seal, unseal

_CHUNK = 500  # some builds of the file database take no more than 999 parameters


def _chunks(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), _CHUNK):
        yield items[start : start + _CHUNK]


class Manifest(StreamRows):
    """The part of :class:`~qbcd.state.store.StreamStore` that keeps ranges, segments and pins."""

    # -- ranges ------------------------------------------------------------------------------------------------------
    def ranges(self, conn: Connection, stream: str) -> list[StoredRange]:
        """The stream's ranges, from the lowest key to the highest.

        Raises:
            StateConflict: They leave a gap or overlap.
            Refused: A row is damaged.
        """
        table = self.tables.range
        rows = conn.execute(select(table).where(table.c.stream == stream)).mappings().all()
        return in_key_order(stream, [range_row(unseal(table, dict(row))) for row in rows])

    def visits(self, conn: Connection, stream: str, since: float) -> Visits:
        """How many of the stream's ranges were visited `since` (seconds of the store's clock); reads no bounds."""
        table = self.tables.range
        seen, oldest = (
            func.count(case(((table.c.last_visited >= since) & (table.c.last_visited > 0), 1))),
            func.min(table.c.last_visited),
        )
        found = conn.execute(select(func.count(), seen, oldest).where(table.c.stream == stream)).one()
        return Visits(int(found[0]), int(found[1]), float(found[2] or 0.0))

    def replace_ranges(self, conn: Connection, row: StreamRow, ranges: Sequence[StoredRange]) -> StreamRow:
        """Makes `ranges` all the ranges that the stream has; an empty sequence forgets them.

        A range that stays keeps its id and bounds. A new one takes its id from ``row.next_range_id`` upwards; an id
        once used is never used again, not even after a reset.

        Returns:
            The row with its `next_range_id`, for :meth:`advance` in the same transaction.

        Raises:
            StateConflict: An id was used before, the ranges leave a gap or overlap, or the stream has moved.
        """
        in_key_order(row.stream, ranges)
        present = {item.range_id: (item.lo, item.hi) for item in self.ranges(conn, row.stream)}
        for item in ranges:
            known = present.get(item.range_id)
            if item.range_id < row.next_range_id if known is None else known != (item.lo, item.hi):
                raise StateConflict(f"range id {item.range_id} was used for another range", stream=row.stream)
        conn.execute(delete(self.tables.range).where(self.tables.range.c.stream == row.stream))
        self._insert_ranges(conn, row.stream, ranges)
        following = max([row.next_range_id, *(item.range_id + 1 for item in ranges)])
        return self.rewrite(conn, row, replace(row, next_range_id=following))

    def update_ranges(self, conn: Connection, stream: str, changed: Sequence[StoredRange]) -> None:
        """Sets rows, checksum, segment and last visit of ranges whose bounds stay.

        Raises:
            StateConflict: One of them is not there.
        """
        table = self.tables.range
        for part in _chunks(changed):
            ids = [item.range_id for item in part]
            result = conn.execute(delete(table).where(table.c.stream == stream, table.c.range_id.in_(ids)))
            if result.rowcount != len(part):
                raise StateConflict("a key range is no longer there", remedy="poll again", stream=stream)
        self._insert_ranges(conn, stream, changed)

    def _insert_ranges(self, conn: Connection, stream: str, ranges: Sequence[StoredRange]) -> None:
        table = self.tables.range
        if ranges:
            conn.execute(insert(table), [seal(table, range_values(stream, item)) for item in ranges])

    def named_segments(self, conn: Connection, stream: str) -> set[str]:
        """The segments that ranges stand in."""
        table = self.tables.range
        query = select(table.c.segment).where(table.c.stream == stream, table.c.segment.is_not(None)).distinct()
        return set(conn.execute(query).scalars())

    # -- segments ----------------------------------------------------------------------------------------------------
    def segments(self, conn: Connection, stream: str) -> list[Segment]:
        """The base segments of the stream's replica, by id.

        Raises:
            Refused: A row is damaged.
        """
        table = self.tables.segment
        query = select(table).where(table.c.stream == stream).order_by(table.c.segment_id)
        return [segment_row(unseal(table, dict(row))) for row in conn.execute(query).mappings().all()]

    def add_segments(self, conn: Connection, stream: str, segments: Sequence[Segment]) -> None:
        """Adds base segments; an id that is there already is an error of the driver."""
        table = self.tables.segment
        if segments:
            conn.execute(insert(table), [seal(table, segment_values(stream, item)) for item in segments])

    def delete_segments(self, conn: Connection, stream: str, ids: Sequence[str]) -> None:
        """Takes base segments out of the manifest; their files are the collector's."""
        table = self.tables.segment
        for part in _chunks(ids):
            conn.execute(delete(table).where(table.c.stream == stream, table.c.segment_id.in_(part)))

    # -- pins --------------------------------------------------------------------------------------------------------
    def add_pin(self, conn: Connection, stream: str, ttl: float) -> Pin:
        """Registers a reader for `ttl` seconds; it reads the manifest afterwards, in a later transaction.

        The row is locked, as by every step: a collector that has it already saw no pin and may be letting files go, so
        the reader waits and reads the manifest that it leaves; one that comes later sees the pin.

        Raises:
            StateConflict: There is no such stream, or a step holds its row too long.
        """
        row = self.locked(conn, stream)
        if row is None:
            raise StateConflict(f"{self.place} knows no such stream", remedy="run `qbcd prepare`", stream=stream)
        table, name = self.tables.pin, uuid.uuid4().hex
        until = facts_of(conn).clock + ttl
        conn.execute(insert(table).values(pin_id=name, stream=stream, version=row.version, until=until))
        ends = conn.execute(select(table.c.until).where(table.c.pin_id == name)).scalar_one()
        return Pin(name, stream, row.version, ends)

    def check_pin(self, conn: Connection, pin: Pin) -> None:
        """Fails a reader whose pin has ended.

        Raises:
            StateConflict: It has.
        """
        if pin.pin_id not in {p.pin_id for p in self.pins(conn, pin.stream)}:
            raise StateConflict(
                "reading took so long that the replica's files may be gone", remedy="read again", stream=pin.stream
            )

    def drop_pin(self, conn: Connection, pin: Pin) -> None:
        """The reader is done."""
        conn.execute(delete(self.tables.pin).where(self.tables.pin.c.pin_id == pin.pin_id))

    def pins(self, conn: Connection, stream: str) -> list[Pin]:
        """The pins that have not ended, oldest version first."""
        table = self.tables.pin
        alive = (table.c.stream == stream) & (table.c.until > facts_of(conn).clock)
        query = select(table).where(alive).order_by(table.c.version, table.c.pin_id)
        return [Pin(**dict(row)) for row in conn.execute(query).mappings()]

    def expire_pins(self, conn: Connection, stream: str) -> int:
        """Removes the pins that have ended; returns how many."""
        table = self.tables.pin
        ended = (table.c.stream == stream) & (table.c.until <= facts_of(conn).clock)
        return conn.execute(delete(table).where(ended)).rowcount
