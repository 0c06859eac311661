"""The stage between outbox and sinks: added fields are computed once, stored, then read.

See docs/design/protocol.md#rule-26.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from qbcd.common import hooks
from qbcd.common.wording import counted
from qbcd.enrichment.enricher import BatchToEnrich, Enricher
from qbcd.errors import LocalFailed, QbcdError, SourceSilent, StateConflict
from qbcd.model import WAITED, BatchHeader, Travel, digest_of
from qbcd.sites import LeasedStream, Site, StreamContext
from qbcd.sites.event_schema import casts, event_fields
from qbcd.state import StreamRow
from qbcd.state.enriched import BatchFile, EnrichedBatch, Number, drop_enriched, enriched_batches, put_enriched
from qbcd.state.waiting import WaitingEvents, replace_waiting, waiting_events
from qbcd.stores.parts import PartStore

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from qbcd.enrichment.hold import Split, WrittenEvents
    from qbcd.local.arrow import LocalRows
    from qbcd.spark.provider import SparkProvider

FOLDER = "enriched"  # in the workdir
_WAIT = "events that wait"


class Enrichment:
    """The enrichers of one stream, and their stored results.

    Args:
        site: The site of the stream.
        enrichers: At least one; their fields are added to events in this order, after all others.
        selecting: Sinks that get only the events that an enricher selects.
        folded: Returns the text columns of the stream that may treat different texts as equal.
    """

    def __init__(
        self,
        site: Site,
        enrichers: Sequence[Enricher],
        selecting: frozenset[str] = frozenset(),
        folded: Callable[[], frozenset[str]] = frozenset,
    ) -> None:
        self._site, self._context, self.enrichers, self.selecting = site, site.context, enrichers, selecting
        self._folded = folded
        self._rows: dict[Number, EnrichedBatch] = {}
        self._waiting: list[WaitingEvents] = []
        self._proven: dict[str, Path] = {}
        self._begun = self._collected = self._released = False
        self._through: Number = (0, 0)  # every batch up to here that needs a result has one
        places = [place for place, one in enumerate(enrichers) if one.selects]
        assert len(places) <= 1, "one enricher selects events"
        self._select = places[0] if places else None

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
        left = [number for number, one in self._rows.items() if one.file and number not in there]
        if left:
            drop_enriched(self._context.project, self._context.stream, left)
            for number in left:
                del self._rows[number]
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
        hooks.reach("enrichment_written")
        held.keeper.check()
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
        number = _number(header)
        if header.waited is not None:
            return True
        if number not in self._rows:
            self._refresh()
        return number in self._rows or number <= self._mark() or not self._rows

    @property
    def holds(self) -> bool:
        """True if events may wait, or do."""
        return bool(self._holding) or self._context.project.waiting_events(self._context.stream) > 0

    def splits(self, header: BatchHeader) -> bool:
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
        number = _number(header)
        if number not in self._rows:
            self._refresh()
        stored = self._rows.get(number) if header.folder == header.stream else None
        if stored is None or not stored.file:
            return BatchView(header, seen, None, "", {})
        path = self._proven_file(BatchFile(stored.file, stored.hash, header.number))
        if stored.counts is not None and (stored.waits or sink in self.selecting):
            seen = replace(seen, counts=stored.counts, selected=True)
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

    def _mark(self) -> Number:
        return max((number for number, one in self._rows.items() if not one.file), default=(0, 0))

    def _refresh(self) -> None:
        self._rows = enriched_batches(self._context.project, self._context.stream)
        self._waiting = waiting_events(self._context.project, self._context.stream)


@dataclass(frozen=True)
class BatchView:
    """A batch with added fields, for one reader.

    Attributes:
        whole: The header as stored.
        header: That of the view: it names the added fields, and counts the selected events only.
        path: The file with the values, in this process; None if there are none, so that all are NULL.
        place: The path or URL of the file, for executors.
        columns: By field, its column in the file.
        own: Opens the rows if they are in the file too; None if the site has them.
    """

    whole: BatchHeader
    header: BatchHeader
    path: Path | None
    place: Path | str
    columns: Mapping[str, str]
    own: Callable[[], AbstractContextManager[LocalRows]] | None = None

    @contextmanager
    def open_local(
        self, opened: Callable[[range], AbstractContextManager[LocalRows]], part: range
    ) -> Iterator[LocalRows]:
        """The rows of the view in a local database, at least those of `part`.

        Args:
            opened: Opens staged rows of the batch.
        """
        from qbcd.local.arrow import LocalRows
        from qbcd.local.parquet_rows import rows_of_files
        from qbcd.local.query import Query, derived

        names = [name for name, _ in self.header.added]
        with self._rows(opened, range(self.whole.size) if self.header.selected else part) as rows:
            texts = [(column, "VARCHAR") for column in self.columns.values()]
            kinds = [("ordinal", "BIGINT"), *texts, ("place", "BIGINT")]
            inputs = {"staged": rows.query}
            if self.path is not None:
                sql = rows_of_files(rows.database.connection.cursor(), kinds, [self.path])
                inputs["added"] = Query(sql, tuple(name for name, _ in kinds))
            columns = (*rows.query.columns, *(f"e_{i}" for i in range(len(names))))
            yield LocalRows(
                rows.database,
                derived(
                    "local_enriched",
                    (*columns, "event_ordinal") if self.header.selected else columns,
                    inputs,
                    fields=[self.columns.get(name, "") for name in names],
                    stored=self.path is not None,
                    selected=self.header.selected,
                ),
            )

    def _rows(
        self, opened: Callable[[range], AbstractContextManager[LocalRows]], part: range
    ) -> AbstractContextManager[LocalRows]:
        return opened(part) if self.own is None else self.own()

    def _staged(self, make: Callable[[], DataFrame], spark: SparkProvider) -> DataFrame:
        if self.own is None or self.path is None:
            return make()
        from qbcd.spark.paths import to_read

        fields = event_fields([travel for _, travel in self.header.columns])
        return spark.get().read.parquet(to_read(self.place)).selectExpr(*casts(fields))

    def frame(self, make: Callable[[], DataFrame], spark: SparkProvider) -> DataFrame:
        """Return the rows of the view with Spark.

        Args:
            make: Returns staged rows of the batch.
        """
        staged = self._staged(make, spark)
        names, own = [name for name, _ in self.header.added], list(staged.columns)
        if self.path is None:
            return staged.selectExpr(*own, *(f"CAST(NULL AS STRING) AS e_{i}" for i in range(len(names))))
        from qbcd.spark.paths import to_read

        fields = [f"{self.columns.get(name, 'CAST(NULL AS STRING)')} AS e_{i}" for i, name in enumerate(names)]
        stored = staged.sparkSession.read.parquet(to_read(self.place))
        added = stored.selectExpr("ordinal AS added_ordinal", "place AS added_place", *fields)
        joined = staged.join(added, staged["ordinal"] == added["added_ordinal"])
        if not self.header.selected:
            return joined.drop("added_ordinal", "added_place")
        kept = ["added_place AS ordinal" if name == "ordinal" else name for name in own]
        chosen = joined.where("added_place IS NOT NULL")
        return chosen.selectExpr(*kept, "ordinal AS event_ordinal", *(f"e_{i}" for i in range(len(names))))


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
    from qbcd.local.errors import explained_errors
    from qbcd.local.query import derived

    query = derived("local_ops", (name,), {"staged": batch.rows.query}, column=name)
    with explained_errors(batch.header.stream):
        relation = batch.rows.database.connection.cursor().sql(query.sql)
        read = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch  # the name in older versions
        for piece in read(131_072):
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
