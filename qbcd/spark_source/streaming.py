"""Follows a stream for a streaming query: offsets, whole batches, acknowledgements.

An offset is the last batch that a query has, ``{"epoch": e, "seq": n}``. What Spark passes as `start` is in the query's
checkpoint as done, so it may be acknowledged; `commit` comes one micro-batch later.
"""

from __future__ import annotations

import time
from contextlib import ExitStack

from qbcd.errors import ConfigError, StateConflict
from qbcd.spark_source.change_rows import change_count
from qbcd.spark_source.executor import Rows
from qbcd.spark_source.options import LATEST, ReadOptions
from qbcd.spark_source.planned import (
    Loaded,
    ReadableBatches,
    has_other_columns,
    opened,
    partitions,
    plain_errors,
    prepared_row,
    readable,
    refuse_changed_columns,
    refuse_gap,
    refuse_other_epoch,
)
from qbcd.state import StreamRow

LOOK_EVERY_S = 0.5  # Spark asks a hundred times a second; the state is not read more often than this
Offset = dict[str, int]


class Follower:
    """One streaming query that follows one stream.

    Args:
        loaded: The stream when the query was loaded.
    """

    def __init__(self, options: ReadOptions, loaded: Loaded) -> None:
        self._options, self._loaded = options, loaded
        self._open = ExitStack()
        with plain_errors():
            self._parts, self._stream = self._open.enter_context(opened(options))
        self._name = self._stream.name
        self._target: int | None = None  # the last batch of a query that ends by itself
        self._looked, self._there = 0.0, ReadableBatches([], 0)
        self._row: StreamRow | None = None
        self._acknowledged = -1
        self._reached: int | None = None  # the last batch that was planned or done; None if not known
        self._returned: int | None = None  # the last answer of `latest`, unless it was planned since

    def close(self) -> None:
        """Close connections."""
        self._open.close()

    # -- offsets -----------------------------------------------------------------------------------------------------
    def begin(self) -> Offset:
        """Enroll the consumer, and return the offset before its first batch.

        Spark calls it several times before the first micro-batch is complete, also after a restart. The answer must
        stay, so `latest` is the place of the first call.

        Raises:
            ConfigError: The first version is after the next one.
            StateConflict: The consumer has read on already, and no version is named.
        """
        with plain_errors():
            return self._begin()

    def _begin(self) -> Offset:
        row, state, sink = self._current(), self._parts.state, self._options.sink
        starting, known = self._options.starting, state.acknowledged(self._name).get(sink)
        if known is not None and known.fingerprint and not starting:
            raise StateConflict(
                f"consumer {self._options.consumer} has read up to version {known.seq}, but this query has a new "
                "checkpoint and would read from the beginning",
                stream=self._name,
                remedy="start it with its old checkpoint; or say where to begin: startingVersion 'earliest', 'latest' "
                f"or a number; or another consumer, and qbcd retire {self._name} {sink}",
            )
        if starting == LATEST and known is not None and not known.fingerprint and known.epoch == row.epoch:
            self._reached = known.seq
            return {"epoch": row.epoch, "seq": known.seq}
        first = self._first(row)
        if known is not None:
            state.retire_sink(self._name, sink)
        state.enroll(self._name, sink, row.epoch, first - 1)
        while (now := self._first(row)) > first:  # a batch was removed before the consumer was known
            state.retire_sink(self._name, sink)
            state.enroll(self._name, sink, row.epoch, now - 1)
            first = now
        self._reached = first - 1
        return {"epoch": row.epoch, "seq": first - 1}

    def _first(self, row: StreamRow) -> int:
        """Return the number of the first batch to read."""
        there = readable(self._stream, row)
        oldest = there.headers[0].seq if there.headers else there.last + 1
        starting = self._options.starting
        if starting == LATEST:
            return there.last + 1
        if not isinstance(starting, int):
            return oldest
        if starting > row.last_batch_seq + 1:
            raise ConfigError(
                f"startingVersion is {starting}, but the next version is {row.last_batch_seq + 1}",
                stream=self._name,
                remedy=f"startingVersion {row.last_batch_seq + 1} or {LATEST!r}",
            )
        if starting < oldest:
            raise StateConflict(
                f"startingVersion {starting} is not there: the oldest version is {oldest}",
                stream=self._name,
                remedy=f"startingVersion {oldest}, and the rows before it by spark.read with the option rows 'replica'",
            )
        return starting

    def newest(self) -> Offset:
        """Return the newest batch."""
        with plain_errors():
            row = self._current()
            return {"epoch": row.epoch, "seq": readable(self._stream, row).last}

    def end_at_newest(self) -> None:
        """Let the query end at the batch that is the newest now."""
        with plain_errors():
            self._target = readable(self._stream, self._current()).last

    def latest(self, start: Offset | None = None, most: int | None = None) -> Offset:
        """Return the last batch of the next micro-batch, or `start`, which is acknowledged.

        Args:
            start: What the query has done; None for Spark before 4.2, which does not say it.
            most: Change rows, of whole batches, at least one.

        Raises:
            SchemaChanged: The next batch has other columns.
            StateConflict: The stream was reset, or batches are missing.
        """
        with plain_errors():
            if start is not None:
                self.acknowledge(start)
                self._reached = start["seq"]
            row = self._look()
            if start is not None:
                self._refuse_unknown(row, start)
            headers = self._there.headers
            oldest = headers[0].seq if headers else self._there.last + 1
            after = oldest - 1 if self._reached is None else self._reached
            end = self._end(row.epoch, after, most)
            self._returned = end
            return {"epoch": row.epoch, "seq": end}

    def _look(self) -> StreamRow:
        """Return the stream's row, and read its batches, unless both are fresh."""
        now, row = time.monotonic(), self._row
        if row is None or now - self._looked > LOOK_EVERY_S:
            row = self._current()
            if self._row is None or (row.epoch, row.last_batch_seq) != (self._row.epoch, self._there.last):
                self._there = readable(self._stream, row)
            self._row, self._looked = row, now
        return row

    def _refuse_unknown(self, row: StreamRow, start: Offset) -> None:
        new = "stop the query, remove its checkpoint and what it wrote, and start it again"
        refuse_other_epoch(self._stream, row, start["epoch"], new)
        if start["seq"] > row.last_batch_seq:
            raise StateConflict(
                f"the query's checkpoint is at version {start['seq']}, but the stream ends at {row.last_batch_seq}: "
                "its state was restored from an older copy",
                stream=self._name,
                remedy=f"restore the newer state, or qbcd reset {self._name} and a new checkpoint",
            )

    def _end(self, epoch: int, after: int, most: int | None) -> int:
        """Return the last batch of the next micro-batch; `after` if there is none."""
        last = self._there.last
        target = last if self._target is None else min(self._target, last)
        waiting = [header for header in self._there.headers if after < header.seq <= target]
        end, rows = after, 0
        for header in waiting:
            if header.seq > self._loaded.seq and has_other_columns(header, self._loaded):
                if end in (after, self._returned):  # all before it is done
                    refuse_changed_columns(self._stream, header, self._loaded)
                break
            rows += change_count(header)
            if most is not None and rows > most and end > after:
                break
            end = header.seq
        refuse_gap(self._stream, waiting, range(after + 1, max(end, target if not waiting else end) + 1), epoch)
        return end

    # -- batches -----------------------------------------------------------------------------------------------------
    def plan(self, start: Offset, end: Offset) -> list[Rows]:
        """Return the partitions of a micro-batch.

        Raises:
            QbcdError: Its batches cannot be read.
        """
        with plain_errors():
            row = self._current()
            self._refuse_unknown(row, start)
            there = readable(self._stream, row, start["seq"])
            headers = [one for one in there.headers if one.seq <= end["seq"]]
            refuse_gap(self._stream, headers, range(start["seq"] + 1, end["seq"] + 1), row.epoch)
            for header in headers:
                refuse_changed_columns(self._stream, header, self._loaded)
            self._reached, self._returned = end["seq"], None
            return partitions(self._parts, self._stream, headers, self._loaded)

    def acknowledge(self, done: Offset) -> None:
        """Record that the query has all batches up to an offset.

        Raises:
            StateConflict: Another query has the same consumer.
        """
        if done["seq"] <= self._acknowledged:
            return
        state, sink = self._parts.state, self._options.sink
        known = state.acknowledged(self._name).get(sink)
        if known is not None and known.epoch == done["epoch"] and known.seq > done["seq"]:
            raise StateConflict(
                f"consumer {self._options.consumer} has read up to version {known.seq}, but this query is at "
                f"{done['seq']}: another query has the same consumer, or its checkpoint was restored",
                stream=self._name,
                remedy="give each query a consumer of its own; for a restored checkpoint first qbcd retire "
                f"{self._name} {sink}",
            )
        if known is None or known[:2] < (done["epoch"], done["seq"]):
            waiting = self._stream.site.context.batches((done["epoch"], done["seq"] - 1))
            one = next(iter(waiting), None)
            if one is not None and (one.epoch, one.seq) == (done["epoch"], done["seq"]):
                state.acknowledge(self._name, sink, one)
            elif known is None:
                state.enroll(self._name, sink, done["epoch"], done["seq"])
        self._acknowledged = done["seq"]

    def _current(self) -> StreamRow:
        return prepared_row(self._stream)
