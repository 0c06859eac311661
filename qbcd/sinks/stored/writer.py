"""Files of batches in a store: written, rolled and expired.

Without `roll` each batch is a target of its own. With it, a small batch is held first, where readers do not look; held
batches become visible together, as one target. See docs/design/protocol.md#rule-20.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from qbcd.common import hooks
from qbcd.common.wording import batch_number
from qbcd.errors import DeliveryError
from qbcd.model import BatchHeader
from qbcd.sinks.base import Sink, SinkBatch
from qbcd.sinks.stored import held as holding
from qbcd.sinks.stored.file_format import EVENTS_PER_FILE, Number, SinkFileFormat, Target, Written
from qbcd.sinks.stored.held import HeldBatch
from qbcd.stores.base import Store, new_attempt

EXPIRY_EVERY = 3600.0  # seconds between two searches for files to expire
OTHER_POLLER = "another copy of this project may poll the stream: let only one do so; the batch stays pending"


@dataclass(frozen=True)
class Roll:
    """The time and the size in bytes after which held batches become visible."""

    every: timedelta
    size: int


@dataclass
class _StreamFiles:
    """Files of a stream as they were listed, and changed since."""

    held: list[HeldBatch]
    newest: Number | None
    next_expiry: float = field(default=0.0)


class StoredFiles:
    """The files of a sink.

    Each batch is written to an attempt, which gets its name when it is complete. The lock of the folder, if the store
    has locks, is held over a check and the step that depends on it, but not while rows are written: a publisher that
    pauses there does not stop another one.

    Args:
        sink: The sink, for names and errors.
        store: Where the files are.
        roll: When to roll; None writes a target for each batch.
        keep: The age at which delivered targets are removed; None keeps them.

    Attributes:
        clock: Returns the time, in seconds since 1970.
    """

    def __init__(
        self,
        sink: Sink,
        store: Store,
        files: SinkFileFormat,
        *,
        roll: Roll | None = None,
        keep: timedelta | None = None,
    ) -> None:
        self.sink, self.store, self.format, self.roll, self.keep = sink, store, files, roll, keep
        self.clock: Callable[[], float] = time.time
        self._streams: dict[str, _StreamFiles] = {}

    def write(self, batch: SinkBatch) -> None:
        """Write a batch; see :meth:`qbcd.sinks.base.Sink.write`."""
        header = batch.header
        apart = self.roll is None or header.folder != header.stream or header.size > EVENTS_PER_FILE
        with self._working(header.folder, sweep=True) as known:
            if self._has(header, known):
                return
            if known.held and (apart or known.held[0].number.epoch != header.epoch):
                self._roll(header.folder, known)
        with self.store.explained(self.sink.name, header.stream), self._attempt(header.folder) as attempt:
            written = self._fill(batch, attempt)
            if written.events != header.size:
                raise self.sink.incomplete(header, self.store.shown(attempt), written.events)
            hooks.reach("mid_publish")
            with self._working(header.folder) as known:
                if self.store.has_locks and self._has(header, known):  # another publisher has completed it
                    return
                if apart:
                    note = {"fingerprint": header.fingerprint, "events": header.size}
                    self._publish(header.folder, Number.of(header), attempt, (written, note))
                    known.newest = Number.of(header)
                else:
                    self._hold(header, attempt, known)
                if self._is_due(known):
                    self._roll(header.folder, known)

    def _fill(self, batch: SinkBatch, attempt: str) -> Written:
        """Write a batch, in this process or by Spark.

        Spark writes it if the batch's engine is Spark and it gets a target of its own in a local folder.
        """
        folder = None if batch.is_local or self.roll else self.store.shared_folder(attempt)
        if folder is None:
            return self.format.fill(batch, self.store, attempt)
        return self.format.fill_by_spark(batch, folder, self.sink.name)

    def maintain(self, stream: str, delivered: Number) -> bool:
        """Roll and expire what is due; return True if something was.

        Args:
            delivered: The last batch that is acknowledged: no later one expires.
        """
        known, now = self._streams.get(stream), self.clock()
        if known and not self._is_due(known) and (self.keep is None or now < known.next_expiry):
            return False
        with self._working(stream) as known:
            is_due = self._is_due(known)
            if is_due:
                self._roll(stream, known)
            if self.keep is None or now < known.next_expiry:
                return is_due
            known.next_expiry = now + min(EXPIRY_EVERY, self.keep.total_seconds() / 10)
            return self._expire(stream, delivered, now - self.keep.total_seconds()) or is_due

    # -- steps -------------------------------------------------------------------------------------------------------
    @contextmanager
    def _working(self, stream: str, *, sweep: bool = False) -> Iterator[_StreamFiles]:
        """Work on the files of a stream; after an error they are listed again."""
        with self.store.explained(self.sink.name, stream), self.store.locked(stream):
            first = stream not in self._streams
            if sweep or first:  # of two live attempts the later one continues
                self.store.sweep(stream, first=first)
            if first:
                held = holding.held_batches(self.store, stream)
                targets = self.format.targets(self.store, stream) if self.roll or held else []
                self._streams[stream] = _StreamFiles(held, targets[-1].number if targets else None)
            try:
                yield self._streams[stream]
            except BaseException:
                self._streams.pop(stream, None)
                raise

    @contextmanager
    def _attempt(self, stream: str) -> Iterator[str]:
        attempt = new_attempt(stream)
        try:
            yield attempt
        except BaseException:
            self._streams.pop(stream, None)
            with suppress(OSError):  # the first error is the one to report
                self.store.delete_folder(attempt)
            raise
        self.store.delete_folder(attempt)

    def _has(self, header: BatchHeader, known: _StreamFiles) -> bool:
        """Return True if the sink has the batch, visible or held.

        Raises:
            SinkConflict: It has another batch with this number.
        """
        number = Number.of(header)
        for one in known.held:
            if one.number == number:
                return self._is_same(header, one.fingerprint, one.file.name)
        target = self.format.name_of(header.folder, number)
        note, complete = self.format.found(self.store, target)
        if note:
            return self._is_same(header, str(note.get("fingerprint")), target) and complete
        if known.newest is None or number > known.newest:
            return False
        covering = self._covering(self.format.targets(self.store, header.folder), header.folder, number)
        return covering is not None and self._is_same(header, *covering)

    def _is_same(self, header: BatchHeader, fingerprint: str, place: str) -> bool:
        if fingerprint != header.fingerprint:
            raise self.sink.conflict(header, self.store.shown(place), fingerprint)
        return True

    def _covering(self, targets: Sequence[Target], stream: str, number: Number) -> tuple[str, str] | None:
        """Return the fingerprint of a batch in a rolled target, and the target.

        Return None if no target has this batch.
        """
        last = next((one.number for one in targets if one.number >= number), None)
        if last is None or last.epoch != number.epoch:
            return None
        target = self.format.name_of(stream, last)
        note, complete = self.format.found(self.store, target)
        prints = {seq: fingerprint for seq, fingerprint, _ in note.get("batches", ())} if complete else {}
        return (prints[number.seq], target) if number.seq in prints else None

    def _hold(self, header: BatchHeader, attempt: str, known: _StreamFiles) -> None:
        """Hold a batch whose attempt is one file."""
        (file,) = self.store.files_in(attempt)
        name = holding.name_of(header)
        self.store.move(file.name, name)
        kept = type(file)(name, file.size, self.clock())
        known.held.append(HeldBatch(Number.of(header), header.size, header.fingerprint, kept))

    def _publish(self, stream: str, number: Number, attempt: str, content: tuple[Written, dict[str, Any]]) -> None:
        """Give an attempt its name.

        Args:
            stream: The folder of the stream.
            content: What was written, and the note without its description.

        Raises:
            DeliveryError: Files are missing since.
        """
        written, note = content
        if self.format.measure(self.store.files_in(attempt)) != written.measure:
            place, batch = self.store.shown(attempt), batch_number(*number)
            what = f"sink {self.sink.name}: another publisher has taken over batch {batch} and removed files of {place}"
            raise DeliveryError(what, remedy="the batch stays pending", stream=stream)
        self.format.publish(self.store, attempt, self.format.name_of(stream, number), {**note, **written.measure})

    # -- rolling -----------------------------------------------------------------------------------------------------
    def _is_due(self, known: _StreamFiles) -> bool:
        if not known.held:
            return False
        if self.roll is None or sum(one.file.size for one in known.held) >= self.roll.size:
            return True
        return self.clock() - known.held[0].file.modified >= self.roll.every.total_seconds()

    def _roll(self, stream: str, known: _StreamFiles) -> None:
        """Make all held batches visible: a target per epoch."""
        hooks.reach("before_roll")
        planned = holding.planned_roll(self.store, stream)
        held = self._not_visible(stream)
        while held:
            epoch = held[0].number.epoch
            group = [one for one in held if one.number.epoch == epoch and (planned is None or one.number <= planned)]
            if group:
                self._roll_group(stream, group)
                known.newest = group[-1].number
            held, planned = held[len(group) :], None
        holding.end_roll(self.store, stream)
        known.held = []

    def _not_visible(self, stream: str) -> list[HeldBatch]:
        """Return the held batches that no target has; remove the others.

        A process died before it removed those.
        """
        targets, left = self.format.targets(self.store, stream), []
        for one in holding.held_batches(self.store, stream):
            covering = self._covering(targets, stream, one.number)
            if covering is not None and covering[0] == one.fingerprint:
                self.store.delete(one.file.name)
            else:
                left.append(one)
        return left

    def _roll_group(self, stream: str, group: Sequence[HeldBatch]) -> None:
        last = group[-1]
        with self._attempt(stream) as attempt:
            written = self.format.merge(self.store, [one.file.name for one in group], attempt)
            events = written.events
            if events != sum(one.events for one in group):
                raise self._damaged(stream, group, events)
            hooks.reach("mid_roll")
            holding.plan_roll(self.store, stream, last.number)
            now = {one.file.name for one in holding.held_batches(self.store, stream)}
            if not now.issuperset(one.file.name for one in group):
                what = f"sink {self.sink.name}: the held batches changed while they were rolled"
                raise DeliveryError(what, remedy=OTHER_POLLER, stream=stream)
            batches = [[one.number.seq, one.fingerprint, one.events] for one in group]
            note = {"fingerprint": last.fingerprint, "events": events, "batches": batches}
            self._publish(stream, last.number, attempt, (written, note))
        hooks.reach("after_roll")
        for one in group:
            self.store.delete(one.file.name)

    def _damaged(self, stream: str, group: Sequence[HeldBatch], events: int) -> DeliveryError:
        first, last = (batch_number(*one.number) for one in (group[0], group[-1]))
        folder = self.store.shown(f"{stream}/{holding.FOLDER}")
        expected = sum(one.events for one in group)
        return DeliveryError(
            f"sink {self.sink.name}: the files of batches {first} to {last} in {folder} have {events:,} events, "
            f"not {expected:,}: somebody changed them",
            remedy=f"restore {folder}, or remove it, run qbcd reset {stream}, and let consumers reload",
            stream=stream,
        )

    # -- expiry ------------------------------------------------------------------------------------------------------
    def _expire(self, stream: str, delivered: Number, before: float) -> bool:
        """Remove targets older than `before`, but none that is not delivered, and never the newest."""
        old = [
            target
            for target in self.format.targets(self.store, stream)[:-1]
            if target.number <= delivered and target.modified <= before
        ]
        for target in old:
            self.format.remove(self.store, self.format.name_of(stream, target.number), new_attempt(stream))
            hooks.reach("mid_expire")
        return bool(old)
