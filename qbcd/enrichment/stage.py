"""The stage between outbox and sinks: added fields are computed once, stored, then read.

See docs/design/protocol.md#rule-26.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from qbcd.common import hooks
from qbcd.common.wording import counted
from qbcd.enrichment.enricher import BatchToEnrich, Enricher
from qbcd.enrichment.view import BatchView
from qbcd.errors import LocalFailed
from qbcd.model import BatchHeader, Travel
from qbcd.sites import LeasedStream, Site, StreamContext
from qbcd.state import StreamRow
from qbcd.state.enriched import EnrichedBatch, Number, drop_enriched, enriched_batches, put_enriched
from qbcd.stores.parts import PartStore

if TYPE_CHECKING:
    import pyarrow as pa

    from qbcd.local.arrow import LocalRows

FOLDER = "enriched"  # in the workdir


class Enrichment:
    """The enrichers of one stream, and their stored results.

    Args:
        site: The site of the stream.
        enrichers: At least one; their fields are added to events in this order, after all others.
        selecting: Sinks that get only the events that an enricher selects.
        splits: These sinks get a batch for each element of the values that select events.
    """

    def __init__(
        self,
        site: Site,
        enrichers: Sequence[Enricher],
        selecting: frozenset[str] = frozenset(),
        *,
        splits: bool = False,
    ) -> None:
        self.splits = splits
        self._site, self._context, self.enrichers, self.selecting = site, site.context, enrichers, selecting
        self._rows: dict[Number, EnrichedBatch] = {}
        self._proven: dict[str, Path] = {}
        self._begun = self._collected = False
        self._through: Number = (0, 0)  # every batch up to here that needs a result has one
        places = [place for place, one in enumerate(enrichers) if one.selects]
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

    # -- under the lease ---------------------------------------------------------------------------------------------
    def enroll(self, row: StreamRow) -> None:
        """Let a new enrichment begin with the next batch; call it once per poll, before staging."""
        self._begun = False
        self._refresh()
        if not self._rows:
            mark = EnrichedBatch(row.epoch, row.last_batch_seq)
            self._rows = {mark.number: put_enriched(self._context.project, self._context.stream, mark)}

    def complete(self, held: LeasedStream) -> list[str]:
        """Enrich the sealed batches that have no result yet; return remarks of enrichers.

        Call it before the first delivery.

        Raises:
            QbcdError: An enricher or the staged rows failed; nothing of the batch may be delivered.
        """
        last = (held.row.epoch, held.row.last_batch_seq)
        if last <= self._through:
            return []
        for header in self._context.batches(max(self._through, self._mark())):
            if _number(header) not in self._rows:
                self._enrich(header, held)
        self._through = last
        return [remark for one in self.enrichers for remark in one.remarks()]

    def collect(self) -> None:
        """Remove results of batches that no longer exist; call it under the lease."""
        if self._collected:
            return
        there = {_number(header) for header in self._context.batches()}
        left = [number for number, one in self._rows.items() if one.file and number not in there]
        if left:
            drop_enriched(self._context.project, self._context.stream, left)
            for number in left:
                del self._rows[number]
        from qbcd.enrichment.files import sweep

        sweep(parts_of(self._context), self._rows, there)
        self._collected = True

    def _enrich(self, header: BatchHeader, held: LeasedStream) -> None:
        from qbcd.enrichment.files import FileOfBatch

        self._context.progress(f"enriching {counted(header.size, 'event')}")
        hooks.reach("before_enrichment")
        if not self._begun:
            for one in self.enrichers:
                one.begin()
            self._begun = True
        token = held.row.fencing_token
        file = FileOfBatch(parts_of(self._context), _number(header), token, len(self.enrichers), self._select)
        with self._site.open_staged(header, range(header.size)) as rows:
            batch = BatchToEnrich(header, rows)
            hashed = file.write(_aligned([_ops(batch), *(one.values(batch) for one in self.enrichers)]))
        if file.rows != header.size:
            raise LocalFailed(
                f"{counted(file.rows, 'event')} of batch {header.number} were enriched, not all {header.size:,}",
                stream=header.stream,
                remedy=f"were qbcd's own tables or files edited? restore them, or qbcd reset {header.stream} --discard",
            )
        hooks.reach("enrichment_written")
        held.keeper.check()
        made = EnrichedBatch(
            header.epoch,
            header.seq,
            header.fingerprint,
            tuple(one.field for one in self.enrichers),
            file.name,
            hashed,
            file.counts,
        )
        stored = put_enriched(self._context.project, self._context.stream, made)
        if stored.file != made.file:  # the one that was first counts
            file.drop()
        self._rows[_number(header)] = stored
        self._collected = False
        hooks.reach("after_enrichment")

    # -- reading -----------------------------------------------------------------------------------------------------
    def is_ready(self, header: BatchHeader) -> bool:
        """Return True if a batch may be read: it has its result, or is older than the enrichment."""
        number = self._known(header)
        return number in self._rows or number <= self._mark() or not self._rows

    def view(self, header: BatchHeader, sink: str = "") -> BatchView:
        """Return a batch, or rows of the replica, as a reader gets them.

        Args:
            sink: The name of a sink; one that is in `selecting` gets selected events only.
        """
        stored = self._rows.get(self._known(header)) if header.folder == header.stream else None
        seen = replace(header, added=self.fields)
        if stored is None or not stored.file:
            return BatchView(header, seen, None, "", {})
        from qbcd.enrichment.files import proven

        parts = parts_of(self._context)
        if stored.file not in self._proven:
            self._proven[stored.file] = proven(parts, stored, header.stream)
        path, place = self._proven[stored.file], parts.place(stored.file)
        if sink in self.selecting and stored.counts is not None:
            seen = replace(seen, counts=stored.counts, selected=True)
        return BatchView(header, seen, path, place, {name: f"f_{i}" for i, name in enumerate(stored.fields)})

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

        Its file is of this attempt alone: the rows, and so the values, are equal in the next one.
        """
        from qbcd.enrichment.files import FileOfBatch

        assert self._select is not None
        one = self.enrichers[self._select]
        parts = parts_of(self._context)
        file = FileOfBatch(parts, _number(header), 0, 1, 0)
        try:
            with opened(range(header.size)) as rows:
                batch = BatchToEnrich(header, rows)
                file.write(_aligned([_ops(batch), one.chosen(batch, digests)]))
            seen = replace(header, added=self.fields, counts=file.counts or {}, selected=True)
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


def parts_of(context: StreamContext) -> PartStore:
    """Return the place of the files of a stream; it need not exist."""
    return context.job.workdir.parts(FOLDER, context.project.project_id, context.stream)


def forget_files(context: StreamContext) -> None:
    """Remove all files of a stream that begins again."""
    parts_of(context).remove("")


def _number(header: BatchHeader) -> Number:
    return header.epoch, header.seq


def _ops(batch: BatchToEnrich) -> Iterator[pa.Array]:
    """Yield the ops of the events in order."""
    from qbcd.local.errors import explained_errors
    from qbcd.local.query import derived

    query = derived("local_ops", ("op",), {"staged": batch.rows.query})
    with explained_errors(batch.header.stream):
        relation = batch.rows.database.connection.cursor().sql(query.sql)
        read = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch  # the name in older versions
        for piece in read(131_072):
            yield piece.column("op")


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
