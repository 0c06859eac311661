"""The field `subscriptions` of events: the ids of the subscriptions that each event matches."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from typing_extensions import override

from qbcd.common.bulk import many_objects
from qbcd.enrichment import BatchToEnrich, SelectingEnricher
from qbcd.errors import UnsupportedType
from qbcd.model import BatchHeader, Travel
from qbcd.subscriptions.definition import Subscription
from qbcd.subscriptions.registry import Subscriptions

if TYPE_CHECKING:
    import pyarrow as pa

    from qbcd.subscriptions.hull import Extent, Hull
    from qbcd.subscriptions.matcher import Matcher

FIELD = "subscriptions"
EVENTS_AT_ONCE = 32_768
DIGITS = 32  # of a digest
NAMED = 3  # refused subscriptions that a warning names


class SubscriptionEnricher(SelectingEnricher):
    """Matches the events of one stream with its subscriptions.

    Args:
        folded: Returns the text columns whose equality in the source is not that of bytes.
    """

    field = FIELD
    travel = Travel("array", element=Travel("text"))

    def __init__(self, stream: str, subscriptions: Subscriptions, folded: Callable[[], frozenset[str]]) -> None:
        self._stream, self._all, self._folded = stream, subscriptions, folded
        self._matcher: Matcher | None = None
        self._fits: tuple[object, ...] = ()
        self._version = -1
        self._known: dict[str, Subscription] = {}
        self._quoted: dict[str, str] = {}
        self._own: dict[str, str] = {}  # refused for their conditions
        self.refused: dict[str, str] = {}
        self._told: dict[str, str] = {}
        self.writes_status = True
        self.narrows = False
        self.sends_initial = subscriptions.config.initial == "replica"
        self._recorded: tuple[object, ...] = ()
        self._digests: dict[str, str] = {}
        self.captured: Hull | None = None  # while a hull grows: the one before; subscriptions outside have no matches
        self._parts: dict[str, Mapping[str, Extent]] = {}

    @override
    def begin(self) -> None:
        self._all.renew()

    @override
    def values(self, batch: BatchToEnrich) -> Iterator[pa.Array]:
        reader = batch.events()
        yield from self._pieces(self.matcher_for(batch.header, reader.schema), reader)

    def _pieces(self, matcher: Matcher, reader: pa.RecordBatchReader) -> Iterator[pa.Array]:
        import pyarrow as pa

        waiting: list[pa.RecordBatch] = []
        try:
            for piece in reader:
                waiting.append(piece)
                if sum(one.num_rows for one in waiting) >= EVENTS_AT_ONCE:
                    yield self._texts(matcher, pa.Table.from_batches(waiting))
                    waiting = []
        except UnsupportedType as error:
            error.what = f"conditions of subscriptions cannot be evaluated: {error.what}"
            raise
        if waiting:
            yield self._texts(matcher, pa.Table.from_batches(waiting))

    @override
    def remarks(self) -> list[str]:
        new = {each: why for each, why in self.refused.items() if self._told.get(each) != why}
        self._told = dict(self.refused)
        if not new:
            return []
        shown = "; ".join(f"{each}: {why}" for each, why in list(new.items())[:NAMED])
        more = f" and {len(new) - NAMED:,} more (qbcd subscriptions)" if len(new) > NAMED else ""
        return [f"refused subscriptions have no matches: {shown}{more}"]

    def examined(self, header: BatchHeader, events: pa.Schema) -> dict[str, str]:
        """Return the refused subscriptions with their reasons, read now; no status is written.

        Those about no stream are among those of the first stream that may be subscribed to.
        """
        self.begin()
        writes, self.writes_status = self.writes_status, False
        try:
            self.matcher_for(header, events)
        finally:
            self.writes_status = writes
        is_first = self._stream == self._all.config.known_streams[0]
        return {**self.refused, **(self._all.astray if is_first else {})}

    @property
    def active(self) -> int:
        """The number of subscriptions with matches."""
        return len(self._known) - len(self._own)

    def matcher_for(self, header: BatchHeader, events: pa.Schema) -> Matcher:
        """Return the matcher of the present subscriptions for events of a batch."""
        from qbcd.subscriptions.matcher import Matcher

        allowed = self._all.config.allowed(self._stream)
        fits = (header.columns, header.before)
        if self._matcher is None or fits != self._fits:
            if self._matcher is not None:
                self._matcher.close()
            self._matcher = Matcher(
                events,
                folded=self._folded(),
                old_values=header.before,
                allowed=allowed or None,
                shapes=self._all.config.shapes,
            )
            self._fits, self._version, self._known, self._parts = fits, -1, {}, {}
        found = self._all.of(self._stream)
        if found.version != self._version:
            gone = [each for each in self._known if each not in found.accepted]
            new = [one for each, one in found.accepted.items() if self._known.get(each) != one]
            self._matcher.remove(gone)
            kept = {each: why for each, why in self._own.items() if each in found.accepted}
            for one in new:
                kept.pop(one.id, None)
            with many_objects():
                self._own = kept | self._matcher.add(new)
            self._note_parts(gone, new)
            self._note_digests(gone, new)
            self._known, self._version = dict(found.accepted), found.version
            self.refused = {**found.refused, **self._own}
            if self.writes_status:
                self._all.report(self._stream, self._own)
        return self._matcher

    def _note_parts(self, gone: Iterable[str], new: Iterable[Subscription]) -> None:
        if not self.narrows or self._matcher is None:
            return
        for each in gone:
            self._parts.pop(each, None)
        for one in new:
            if one.id in self._own:
                self._parts.pop(one.id, None)
            else:
                self._parts[one.id] = self._matcher.parts(one)

    def parts(self) -> list[Mapping[str, Extent]]:
        """Return what can bound a hull, of each subscription that has matches; needs `narrows`."""
        return list(self._parts.values())

    # -- rows that a new subscription matches already ----------------------------------------------------------------
    def _note_digests(self, gone: Iterable[str], new: Iterable[Subscription]) -> None:
        if self.sends_initial:
            for each in gone:
                self._digests.pop(each, None)
            for one in new:
                self._digests[one.id] = digest_of(one)

    @property
    def is_recorded(self) -> bool:
        """True if :meth:`note_recorded` was called for the present subscriptions."""
        return self._recorded == (self._version, self.captured)

    def note_recorded(self) -> None:
        """Note that the state has the digests of the present subscriptions."""
        self._recorded = (self._version, self.captured)

    def digests(self) -> tuple[set[str], set[str]]:
        """Return digests of the subscriptions that have begun, and of all that have matches."""
        waiting = self._waiting()
        every = {each: digest for each, digest in self._digests.items() if each not in self._own}
        return {digest for each, digest in every.items() if each not in waiting}, set(every.values())

    @override
    def chosen(self, batch: BatchToEnrich, digests: Collection[str]) -> Iterator[pa.Array]:
        from qbcd.subscriptions.matcher import Matcher

        self.begin()
        reader, header = batch.events(), batch.header
        self.matcher_for(header, reader.schema)
        wanted = [one for each, one in self._known.items() if self._digests.get(each) in digests]
        allowed = self._all.config.allowed(self._stream)
        with Matcher(
            reader.schema, folded=self._folded(), old_values=header.before, allowed=allowed or None
        ) as matcher:
            matcher.add(wanted)
            yield from self._pieces(matcher, reader)

    def _waiting(self) -> set[str]:
        """Return the subscriptions that begin when the hull has grown."""
        hull = self.captured
        return set() if hull is None else {each for each, parts in self._parts.items() if not hull.covers(parts)}

    def _texts(self, matcher: Matcher, events: pa.Table) -> pa.Array:
        """Return a JSON list of ids for each event."""
        import pyarrow as pa

        found: list[list[str]] = [[] for _ in range(events.num_rows)]
        matches = matcher.match(events)
        ids, waiting = matches.column("id").to_pylist(), self._waiting()
        for position, each in zip(matches.column("position").to_pylist(), ids, strict=True):
            if each in waiting:
                continue
            quoted = self._quoted.get(each)
            if quoted is None:
                quoted = self._quoted[each] = json.dumps(each, ensure_ascii=False)
            found[position].append(quoted)
        return pa.array([f"[{','.join(some)}]" for some in found], pa.string())


def digest_of(one: Subscription) -> str:
    """Return a digest of a subscription: another id, condition or interest has another one."""
    text = json.dumps([one.id, one.condition, one.when, sorted(one.ops), sorted(one.columns)])
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
