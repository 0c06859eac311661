"""The stage between outbox and sinks: added fields are computed once, stored, then read.

See docs/design/protocol.md#rule-26.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from qbcd.common import hooks
from qbcd.common.wording import counted
from qbcd.enrichment.enricher import BatchToEnrich, Enricher, SelectingEnricher
from qbcd.enrichment.view import BatchView
from qbcd.errors import LocalFailed, QbcdError, SourceSilent, StateConflict
from qbcd.model import WAITED, BatchHeader, Travel, digest_of
from qbcd.sites import LeasedStream, Site, StreamContext
from qbcd.state import StreamRow
from qbcd.state.enriched import BatchFile, EnrichedBatch, Number, drop_enriched, enriched_batches, put_enriched
from qbcd.state.waiting import WaitingEvents, replace_waiting, waiting_events
from qbcd.stores.parts import PartStore

if TYPE_CHECKING:
    import pyarrow as pa

    from qbcd.enrichment.hold import Split, WrittenEvents
    from qbcd.local.arrow import LocalRows

FOLDER = "enriched"  # in the workdir
_WAIT = "events that wait"


class Enrichment:
    """The enrichers of one stream, and their stored results.

    Args:
        site: The site of the stream.
        enrichers: At least one; their fields are added to events in this order, after all others.
        selecting: Sinks that get only the events that an enricher selects.
        folded: Returns the text columns of the stream that may treat different texts as equal.
        splits: These sinks get a batch for each element of the values that select events.
    """

    def __init__(
        self,
        site: Site,
        enrichers: Sequence[Enricher],
        selecting: frozenset[str] = frozenset(),
        folded: Callable[[], frozenset[str]] = frozenset,
        *,
        splits: bool = False,
    ) -> None:
        self.splits = splits
        self._site, self._context, self.enrichers, self.selecting = site, site.context, enrichers, selecting
        self._folded = folded
        self._rows: dict[Number, EnrichedBatch] = {}
        self._waiting: list[WaitingEvents] = []
        self._proven: dict[str, Path] = {}
        self._begun = self._collected = self._released = False
        self._through: Number = (0, 0)  # every batch up to here that needs a result has one
        places = [place for place, one in enumerate(enrichers) if isinstance(one, SelectingEnricher)]
        assert len(places) <= 1, "one enricher selects events"
        self._select = places[0] if places else None

    @property
    def selects(self) -> bool:
        """True if an enricher selects events."""
        return self._select is not None

    @property
    def fields(self) -> tuple[tuple[str, Travel], ...]:
        """The added fields, with their form for typed readers."""
        return tuple((one.field, one.travel) for one in self.enrichers)

    @property
    def _parts(self) -> PartStore:
        return parts_of(self._context)

    @property
    def _holding(self) -> list[int]:
        """The places of the fields whose NULL lets an event wait."""
        return [place for place, one in enumerate(self.enrichers) if one.holds]

    # -- under the lease ---------------------------------------------------------------------------------------------
    def enroll(self, row: StreamRow) -> None:
        """Let a new enrichment begin with the next batch; call it once per poll, before staging."""
        self._begun = self._released = False
        self._refresh()
        if not self._rows:
            mark = EnrichedBatch(row.epoch, row.last_batch_seq)
            self._rows = {mark.number: put_enriched(self._context.project, self._context.stream, mark)}

    def complete(self, held: LeasedStream) -> list[str]:
        """Enrich the sealed batches that have no result yet; return remarks of enrichers.

        Once per poll it also seals batches of the events that no longer wait. Call it before the first delivery.

        Raises:
            QbcdError: An enricher or the staged rows failed; nothing of the batch may be delivered.
        """
        last, found = (held.row.epoch, held.row.last_batch_seq), list[str]()
        if last > self._through:
            if self._waiting or self._holding:
                self._settle(held)
            for header in self._context.batches(max(self._through, self._mark())):
                if _number(header) not in self._rows and header.waited is None:
                    self._enrich(header, held)
            self._through = last
        if not self._released:
            self._released = True
            found = self._release(held)
        return [remark for one in self.enrichers for remark in one.remarks()] + found

    def collect(self) -> None:
        """Remove results of batches that no longer exist; call it under the lease."""
        if self._collected:
            return
        batches = self._context.batches()
        there = {_number(header) for header in batches}
        first = min(there, default=None)
        left = [number for number, one in self._rows.items() if one.file and (first is None or number < first)]
        if left:
            mark = drop_enriched(self._context.project, self._context.stream, left)
            kept = {number: one for number, one in self._rows.items() if one.file and number not in left}
            self._rows = {mark.number: mark, **kept}
        from qbcd.enrichment.files import sweep

        named = {one.file for one in self._waiting}
        named |= {header.waited["file"] for header in batches if header.waited is not None}
        sweep(self._parts, self._rows, there, named)
        self._collected = True

    def _begin(self, header: BatchHeader) -> None:
        if self._begun:
            return
        if self._holding:
            from qbcd.enrichment.hold import refuse_unordered

            refuse_unordered(header, self._folded())
        for one in self.enrichers:
            one.begin()
        self._begun = True

    def _enrich(self, header: BatchHeader, held: LeasedStream) -> None:
        from qbcd.enrichment.files import FileOfBatch, selected_by

        self._context.progress(f"enriching {counted(header.size, 'event')}")
        hooks.reach("before_enrichment")
        self._begin(header)
        token, waiting = held.row.fencing_token, None
        splits = bool(self._holding or self._waiting)
        chosen = None if self._select is None else selected_by(self._select)
        if splits:
            chosen = lambda values: values[-1]  # noqa: E731
        file = FileOfBatch(self._parts, _number(header), token, len(self.enrichers), chosen)
        with self._site.open_staged(header, range(header.size)) as rows:
            batch = BatchToEnrich(header, rows)
            if splits:
                split = self._split(batch, self._held_files())
                waits = split.counts(waiting=True)
                if waits:
                    written = split.write_waiting(self._parts, token)
                    waiting = WaitingEvents(header, written.name, written.hash, written.events, header.seq)
                hashed = file.write(split.pieces())
            else:
                hashed = file.write(_aligned([_ops(batch), *(one.values(batch) for one in self.enrichers)]))
        self._refuse_lost(header, file.rows)
        held.keeper.check()
        hooks.reach("enrichment_written")
        made = EnrichedBatch(
            header.epoch,
            header.seq,
            header.fingerprint,
            tuple(one.field for one in self.enrichers),
            file.name,
            hashed,
            file.counts if waiting is not None or self._select is not None else None,
            waits=waiting is not None,
        )
        stored = put_enriched(self._context.project, self._context.stream, made, waiting)
        if stored.file != made.file:  # the one that was first counts
            file.drop()
        self._rows[_number(header)] = stored
        if stored.waits:
            self._waiting = waiting_events(self._context.project, self._context.stream)
        self._collected = False
        hooks.reach("after_enrichment")

    def _refuse_lost(self, header: BatchHeader, found: int) -> None:
        if found != header.size:
            raise LocalFailed(
                f"{counted(found, 'event')} of batch {header.number} were enriched, not all {header.size:,}",
                stream=header.stream,
                remedy=f"were qbcd's own tables or files edited? restore them, or qbcd reset {header.stream} --discard",
            )

    # -- events that wait --------------------------------------------------------------------------------------------
    def _held_files(self) -> list[Path]:
        return [self._proven_file(BatchFile(one.file, one.hash, one.header.number, _WAIT)) for one in self._waiting]

    def _split(self, batch: BatchToEnrich, files: Sequence[Path]) -> Split:
        """Divide a batch into events that wait and those that go.

        Args:
            files: Files of earlier events that wait.
        """
        from qbcd.enrichment.hold import Blocked, Split

        blocked = Blocked(batch.rows.database, batch.header.stream, files)
        pieces = _aligned([_numbers(batch), *(one.values(batch) for one in self.enrichers)])
        return Split(batch, pieces, self._holding, blocked)

    def _settle(self, held: LeasedStream) -> None:
        """Leave the events that a sealed batch has out of the files of those that wait."""
        if not self._waiting:
            return
        first = min((one.header.epoch, one.through) for one in self._waiting)
        sealed = [header for header in self._context.batches(first) if header.waited is not None]
        for one in self._waiting:
            later = [header for header in sealed if header.waited and _of(header) == _number(one.header)]
            for header in [header for header in later if header.seq > one.through]:
                one = self._without(one, header, held)
        self._waiting = waiting_events(self._context.project, self._context.stream)

    def _without(self, one: WaitingEvents, header: BatchHeader, held: LeasedStream) -> WaitingEvents:
        """Replace the file of events that wait by one without those of a batch."""
        from qbcd.enrichment.hold import Blocked, write_rest

        token = held.row.fencing_token
        sent = self._proven_file(_file_of(header))
        path = self._proven_file(BatchFile(one.file, one.hash, one.header.number, _WAIT))
        with self._context.local.open() as database:
            rest = write_rest(Blocked(database, header.stream), one.header, (path, sent), self._parts, token)
        left = replace(one, file=rest.name, hash=rest.hash, events=rest.events, through=header.seq)
        hooks.reach("before_settlement")
        held.keeper.check()
        replace_waiting(self._context.project, header.stream, one, left)
        self._collected = False
        return left

    def _release(self, held: LeasedStream) -> list[str]:
        """Seal a batch of the events that no longer wait, for each batch in which some were found.

        An event goes after all earlier ones with its keys, and in a later batch than these.
        """
        if not self._waiting:
            return []
        remarks: list[str] = []
        blocked: list[Path] = []
        for one in list(self._waiting):
            path = self._proven_file(BatchFile(one.file, one.hash, one.header.number, _WAIT))
            try:
                sent = self._sent(one, path, blocked, held)
            except (StateConflict, SourceSilent):
                raise
            except QbcdError as error:
                remarks.append(f"{self._number_of_waiting()} could not be looked up: {error.what}")
                break
            if sent is None:
                blocked.append(path)
                continue
            header = self._seal(one.header, sent, held)
            remarks.append(
                f"batch {header.number} has {counted(header.size, 'event')} of batch {one.header.number}, which waited"
            )
            left = self._without(one, header, held)
            if left.events:
                blocked.append(self._proven_file(BatchFile(left.file, left.hash, left.header.number, _WAIT)))
        self._waiting = waiting_events(self._context.project, self._context.stream)
        if self._waiting:
            remarks.append(f"{self._number_of_waiting()} for a row of a lookup")
        return remarks

    def _number_of_waiting(self) -> str:
        return counted(sum(one.events for one in self._waiting), "event waits", "events wait")

    def _sent(
        self, one: WaitingEvents, path: Path, blocked: Sequence[Path], held: LeasedStream
    ) -> WrittenEvents | None:
        """Write those events of a batch that need not wait; None if all have to."""
        from qbcd.enrichment.hold import rows_in
        from qbcd.local.arrow import LocalRows

        header = one.header
        self._begin(header)
        with self._context.local.open() as database:
            rows = LocalRows(database, rows_in(database, path, header.columns))
            split = self._split(BatchToEnrich(header, rows), blocked)
            if split.size != one.events:
                self._refuse_lost(replace(header, counts={"": one.events}), split.size)
            if not split.counts(waiting=False):
                return None
            return split.write_going(self._parts, held.row.fencing_token)

    def _seal(self, origin: BatchHeader, sent: WrittenEvents, held: LeasedStream) -> BatchHeader:
        """Commit the next batch, of events that waited; the replica has their changes already."""
        row = held.row
        location = {
            WAITED: {
                "of": list(_number(origin)),
                "file": sent.name,
                "hash": sent.hash,
                "fields": [one.field for one in self.enrichers],
            }
        }
        identity = [self._context.project.project_id, origin.fingerprint, row.last_batch_seq + 1, sent.hash]
        header = replace(
            origin, seq=row.last_batch_seq + 1, counts=sent.counts, fingerprint=digest_of(identity), location=location
        )
        hooks.reach("before_release")
        with self._context.writing() as conn:
            advanced = self._context.commit(conn, row, held, header, dict(row.checkpoint))
        held.row = advanced
        hooks.reach("after_release")
        return header

    # -- reading -----------------------------------------------------------------------------------------------------
    def is_ready(self, header: BatchHeader) -> bool:
        """Return True if a batch may be read: it has its result, or is older than the enrichment."""
        if header.waited is not None:
            return True
        number = self._known(header)
        return number in self._rows or number <= self._mark() or not self._rows

    def divides(self, header: BatchHeader) -> bool:
        """Return True if a reader gets other rows of a batch than its site has."""
        return header.waited is not None or self.view(header).header.selected

    def view(self, header: BatchHeader, sink: str = "") -> BatchView:
        """Return a batch, or rows of the replica, as a reader gets them.

        Args:
            sink: The name of a sink; one that is in `selecting` gets selected events only.
        """
        seen = replace(header, added=self.fields)
        if header.waited is not None:
            path = self._proven_file(_file_of(header))
            columns = {name: f"f_{i}" for i, name in enumerate(header.waited["fields"])}
            place = self._parts.place(header.waited["file"])
            return BatchView(header, seen, path, place, columns, partial(self._open_sent, header, path))
        number = self._known(header)  # first: it may read the results again
        stored = self._rows.get(number) if header.folder == header.stream else None
        if stored is None or not stored.file:
            return BatchView(header, seen, None, "", {})
        path = self._proven_file(BatchFile(stored.file, stored.hash, header.number))
        if stored.counts is not None and (stored.waits or sink in self.selecting):
            seen = replace(seen, counts=stored.counts, selected=True)
            if not stored.waits:  # the sink may have got all events of the batch before, or some of them
                seen = replace(seen, fingerprint=digest_of([header.fingerprint, "selected"]))
        columns = {name: f"f_{i}" for i, name in enumerate(stored.fields)}
        return BatchView(header, seen, path, self._parts.place(stored.file), columns)

    @contextmanager
    def _open_sent(self, header: BatchHeader, path: Path) -> Iterator[LocalRows]:
        from qbcd.enrichment.hold import rows_in
        from qbcd.local.arrow import LocalRows

        with self._context.local.open() as database:
            yield LocalRows(database, rows_in(database, path, header.columns))

    def _proven_file(self, one: BatchFile) -> Path:
        """Return a local path of a file of the stream, after a proof that it is as it was stored."""
        from qbcd.enrichment.files import proven

        if one.file not in self._proven:
            self._proven[one.file] = proven(self._parts, one, self._context.stream)
        return self._proven[one.file]

    def _known(self, header: BatchHeader) -> Number:
        """Return the number of a batch; read the results again if the batch may have one since."""
        number = _number(header)
        if number not in self._rows and number > self._mark():
            self._refresh()
        return number

    @contextmanager
    def matched(
        self,
        header: BatchHeader,
        opened: Callable[[range], AbstractContextManager[LocalRows]],
        digests: Collection[str],
    ) -> Iterator[BatchView]:
        """Yield a view of rows of the replica that some of the selecting interests select.

        Its file is of this attempt alone. The rows are equal in the next one. The matches are not, if an interest ends
        before it: the fingerprint of the view is theirs.
        """
        from qbcd.enrichment.files import FileOfBatch, HashedTexts, selected_by

        [one] = [each for each in self.enrichers if isinstance(each, SelectingEnricher)]
        parts = self._parts
        file = FileOfBatch(parts, _number(header), 0, 1, selected_by(0))
        try:
            with opened(range(header.size)) as rows:
                batch, hashed = BatchToEnrich(header, rows), HashedTexts()
                file.write(_aligned([_ops(batch), hashed.passing(one.chosen(batch, digests))]))
            counts = file.counts or {}
            seen = replace(header, added=self.fields, counts=counts, selected=True, fingerprint=hashed.digest)
            yield BatchView(header, seen, parts.kept(file.name), parts.place(file.name), {one.field: "f_0"})
        finally:
            file.drop()

    def parts(
        self, view: BatchView, opened: Callable[[range], AbstractContextManager[LocalRows]]
    ) -> Iterator[BatchView]:
        """Yield a view for each subscription of the selected events, which then name it alone.

        Its file exists until the next one. Number, events and fingerprint of a part are equal in each attempt.
        """
        from qbcd.enrichment.split import split_views

        if self._select is None or view.path is None:
            return
        field = self.enrichers[self._select].field
        with opened(range(view.whole.size)) as rows:
            ops = [one for piece in _ops(BatchToEnrich(view.whole, rows)) for one in piece.to_pylist()]
        yield from split_views(view, view.columns[field], ops, parts_of(self._context))

    def _mark(self) -> Number:
        return max((number for number, one in self._rows.items() if not one.file), default=(0, 0))

    def _refresh(self) -> None:
        self._rows = enriched_batches(self._context.project, self._context.stream)
        self._waiting = waiting_events(self._context.project, self._context.stream)


def parts_of(context: StreamContext) -> PartStore:
    """Return the place of the files of a stream; it need not exist."""
    return context.job.workdir.parts(FOLDER, context.project.project_id, context.stream)


def forget_files(context: StreamContext) -> None:
    """Remove all files of a stream that begins again."""
    parts_of(context).remove("")


def _number(header: BatchHeader) -> Number:
    return header.epoch, header.seq


def _of(header: BatchHeader) -> Number:
    """Return the batch in which events that waited were found."""
    assert header.waited is not None
    epoch, seq = header.waited["of"]
    return int(epoch), int(seq)


def _file_of(header: BatchHeader) -> BatchFile:
    """Return the file of a batch of events that waited."""
    assert header.waited is not None
    return BatchFile(header.waited["file"], header.waited["hash"], header.number)


def _ops(batch: BatchToEnrich) -> Iterator[pa.Array]:
    """Yield the ops of the events in order."""
    return _column(batch, "op")


def _numbers(batch: BatchToEnrich) -> Iterator[pa.Array]:
    """Yield the ordinals of the events in order."""
    return _column(batch, "ordinal")


def _column(batch: BatchToEnrich, name: str) -> Iterator[pa.Array]:
    from qbcd.local.arrow import pieces_of
    from qbcd.local.errors import explained_errors
    from qbcd.local.query import derived

    query = derived("local_ops", (name,), {"staged": batch.rows.query}, column=name)
    with explained_errors(batch.header.stream):
        for piece in pieces_of(batch.rows.database, query.sql, 131_072):
            yield piece.column(name)


def _aligned(sources: Sequence[Iterator[pa.Array]]) -> Iterator[list[pa.Array]]:
    """Yield pieces of several sequences of arrays, cut at the same places.

    It ends with the first one that ends; the caller counts the rows.

    Raises:
        LocalFailed: A source has more values than the first one, so its values may belong to other events.
    """
    waiting: list[pa.Array | None] = [None] * len(sources)
    while True:
        for i, source in enumerate(sources):
            piece = waiting[i]
            while piece is None or not len(piece):
                piece = next(source, None)
                if piece is None:
                    left = [*waiting[1:], *(more for one in sources[1:] for more in one)]
                    if not i and any(more is not None and len(more) for more in left):
                        raise LocalFailed(
                            "an enricher has more values than the batch has events",
                            remedy="nothing was delivered; report it as a fault of qbcd or of the enricher's package",
                        )
                    return
            waiting[i] = piece
        there = [piece for piece in waiting if piece is not None]
        size = min(map(len, there))
        yield [piece.slice(0, size) for piece in there]
        waiting = [piece.slice(size) for piece in there]
