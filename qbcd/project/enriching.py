"""The fields that a project adds to events: matching subscriptions, and lookups."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from qbcd.config import ProjectConfig, StreamConfig
from qbcd.enrichment import Enricher, Enrichment
from qbcd.errors import ConfigError, NotBuilt
from qbcd.planning import plan_of
from qbcd.project.sources import ProjectSources
from qbcd.sites import Site
from qbcd.state import ProjectState
from qbcd.stream import Stream

if TYPE_CHECKING:
    from qbcd.lookups import LookupOrigin, LookupRelation, SharedSearches
    from qbcd.subscriptions.enricher import SubscriptionEnricher
    from qbcd.subscriptions.interest import Interest
    from qbcd.subscriptions.registry import Subscriptions


class Enriching:
    """Lookups and subscriptions of a project; what streams share of them is made once.

    Args:
        state: Returns the state database.
    """

    def __init__(self, config: ProjectConfig, sources: ProjectSources, state: Callable[[], ProjectState]) -> None:
        self._config, self._sources, self._state = config, sources, state
        self._matchers: dict[str, SubscriptionEnricher | None] = {}
        self._wide: set[str] = set()  # streams that were never narrowed, and are not to be
        self._lock = threading.RLock()

    def is_matched(self, stream: str) -> bool:
        """Return True if subscriptions are matched with the events of an opened stream."""
        return self._matchers.get(stream) is not None

    def of(self, stream: Stream, *, subscribed: bool = True) -> Enrichment | None:
        """Return the fields that a stream's events get in addition; None if there are none."""
        with self._lock:  # a matcher knows its subscriptions for all polls
            if subscribed and stream.name not in self._matchers:
                self._matchers[stream.name] = self.subscription_enricher(stream)
            matcher = self._matchers[stream.name] if subscribed else None
        enrichers: list[Enricher] = [] if matcher is None else [matcher]
        if stream.config.enrich:
            enrichers.append(self._lookups(stream.config, stream.site))
        if not enrichers:
            return None
        if matcher is not None and any(one.holds for one in enrichers):
            raise NotBuilt(
                "a lookup with `missing: hold` and subscriptions in one stream",
                stream=stream.name,
                remedy='leave the stream out of `streams` of the subscriptions, or write missing: "null"',
            )
        written = self._config.subscriptions
        selecting = frozenset(() if written is None else written.deliver) & stream.sinks.keys()
        splits = written is not None and written.split
        return Enrichment(stream.site, enrichers, selecting, partial(self._folded, stream), splits=splits)

    def interest(self, stream: Stream) -> Interest | None:
        """Return what narrows a stream to its subscriptions; None if they were never to do that."""
        written, matcher = self._config.subscriptions, self._matchers.get(stream.name)
        if written is None or matcher is None or stream.config.source not in self._config.databases:
            return None
        from qbcd.subscriptions.interest import Interest

        why_not = "" if written.narrow else "`narrow` is off"
        others = [name for name in stream.config.sinks if name not in written.deliver]
        if not why_not and (others or not stream.config.sinks):
            why_not = f"sink {others[0]} gets all events" if others else "it has no sink"
        found = Interest(self._state(), stream.name, stream.config.where, matcher, why_not)
        if why_not and stream.name not in self._wide and found.never_narrowed():
            self._wide.add(stream.name)  # this process does not ask the state again
        matcher.narrows = stream.name not in self._wide
        return found

    def _lookups(self, config: StreamConfig, site: Site) -> Enricher:
        from qbcd.lookups import LookupEnricher

        origin = self.lookup_origin(config.name, config.enrich, lambda what: site.context.progress(what))
        return LookupEnricher(origin, holds=any(self._config.lookups[n].holds for n in config.enrich))

    def lookup_origin(
        self, stream: str, names: Sequence[str], progress: Callable[[str], None] = lambda what: None
    ) -> LookupOrigin:
        """Return what lookups need.

        Args:
            stream: Names their sessions, and the stream in errors.
            names: Names under `lookups`.

        Raises:
            ConfigError: There is no such lookup.
        """
        from qbcd.lookups import LookupOrigin, resolve_relation

        def relation(name: str) -> LookupRelation:
            lookup, place = self._config.lookups[name], self._config.where("lookups", name)
            return resolve_relation(name, lookup, self._sources.get(lookup.source), place, stream)

        for name in names:
            if name not in self._config.lookups:
                known = ", ".join(self._config.lookups) or "none"
                raise ConfigError(f"there is no lookup {name!r}", remedy=f"there are {known}")
        with self._lock:  # one for all streams
            searches = self._searches

        def resolve() -> list[LookupRelation]:
            return [relation(name) for name in names]

        return LookupOrigin(stream, resolve, self._state(), self._config.own_folder, progress, searches)

    @cached_property
    def _searches(self) -> SharedSearches:
        """The searches of lookups that run now, which streams share."""
        from qbcd.lookups import SharedSearches

        return SharedSearches()

    def subscription_enricher(self, stream: Stream) -> SubscriptionEnricher | None:
        """Return a new matcher of a stream's events; None if it may not be subscribed to."""
        written = self._config.subscriptions
        if written is None or written.allowed(stream.name) is None:
            return None
        from qbcd.subscriptions.enricher import SubscriptionEnricher

        folded = frozenset if written.equality == "bytes" else partial(self._folded, stream)
        return SubscriptionEnricher(stream.name, self.subscriptions, folded)

    @cached_property
    def subscriptions(self) -> Subscriptions:
        """The subscriptions of the project, which must have some."""
        from qbcd.subscriptions.registry import Subscriptions
        from qbcd.subscriptions.relation import SubscriptionRelation

        written = self._config.subscriptions
        assert written is not None
        if written.relation is None:
            return Subscriptions(written, None)
        place = self._config.where("subscriptions", "from", "table")
        return Subscriptions(
            written, SubscriptionRelation(self._sources.get(written.relation.source), written.relation, place)
        )

    def _folded(self, stream: Stream) -> frozenset[str]:
        """Return the text columns of a stream whose equality in the source is not that of bytes."""
        if stream.config.source in self._config.dumps:
            return frozenset()
        plan, _ = plan_of(stream, stream.site.context.row())
        texts = [column for column in plan.captured if column.travel.kind in ("text", "time", "array")]
        if stream.config.source in self._config.drivers:
            return frozenset(column.name for column in texts)
        compares_bytes = stream.source.connector.expressions.compares_bytes
        return frozenset(column.name for column in texts if not compares_bytes(column))
