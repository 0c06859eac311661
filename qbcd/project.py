"""The parts of a project: sources, sinks, state and Spark, each created on first use."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from qbcd import sites
from qbcd.advisor.settling import settle
from qbcd.catalog.files import FileSource
from qbcd.catalog.jdbc import JdbcSource
from qbcd.catalog.jdbc_sources import driver_of, jdbc_source, profile_of_source
from qbcd.catalog.rounds import SourceWork, in_rounds
from qbcd.catalog.source import SessionOptions, Source
from qbcd.common.side_by_side import side_by_side
from qbcd.config import ProjectConfig, StreamConfig
from qbcd.config.files import FilesConfig
from qbcd.config.jdbc_source import JdbcSourceConfig
from qbcd.config.masking import masking_of
from qbcd.connectors import Connector, JdbcDriver, connector_for
from qbcd.delivery.batches import PYTHON_SINK
from qbcd.enrichment import Enricher, Enrichment
from qbcd.errors import ConfigError, NotBuilt, Refused, StateMissing
from qbcd.local.database import LocalProvider, threads_for
from qbcd.planning import plan_of
from qbcd.roster.known_tables import KnownTables
from qbcd.roster.roster import Roster, SourceTables, list_tables, roster_of
from qbcd.sinks import Sink, make_sink
from qbcd.sinks.places import SinkPlaces
from qbcd.sites import Settings, Site, with_variant
from qbcd.sites.engine_choice import EngineChoice, most_local_rows
from qbcd.spark.drivers import Wanted, driver_in, find_driver, user_cache
from qbcd.spark.java import Surroundings
from qbcd.spark.object_stores import find_s3a, give_access
from qbcd.spark.provider import SparkProvider
from qbcd.spark.session import check_setting
from qbcd.state import ProjectState
from qbcd.state.dialects import store_facts
from qbcd.stores.parts import Workdir
from qbcd.strategies import strategy_class
from qbcd.stream import Stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from qbcd.advisor import Advice, Amount
    from qbcd.lookups import LookupOrigin, LookupRelation, SharedSearches
    from qbcd.subscriptions.enricher import SubscriptionEnricher
    from qbcd.subscriptions.interest import Interest
    from qbcd.subscriptions.registry import Subscriptions

log = logging.getLogger("qbcd")
T = TypeVar("T")
MOST_CONNECTIONS = 16  # of a source, if its configuration names no number


class ProjectParts:
    """The parts of a project.

    Args:
        spark: A session to use unchanged; without it, one is started when rows must travel.
    """

    def __init__(self, config: ProjectConfig, spark: SparkSession | None = None) -> None:
        self.config = config
        self.masking = masking_of(config)
        self._sources: dict[str, Source] = {}
        self._sinks: dict[str, Sink] = {}
        self._matchers: dict[str, SubscriptionEnricher | None] = {}
        self._wide: set[str] = set()  # streams that were never narrowed, and are not to be
        self._made = threading.RLock()  # for what is created on first use, by any thread
        self._places = SinkPlaces()
        self._empty = self._closed = False
        self._roster: Roster | None = None
        self._asked = threading.Lock()  # for the first question about the tables of patterns
        self.jobs = 1  # polls of one source at the same time
        # Called with stream and step when a long step begins; the stream is empty for steps of the whole project.
        self.progress: Callable[[str, str], None] = lambda stream, what: None
        self.stopping: Callable[[], bool] = lambda: False  # checked between the steps of a long poll
        drivers = sorted({wanted.driver.driver_class for wanted in self.drivers()})
        self._spark = SparkProvider(config.spark, self._jars, drivers, spark, self.masking.foreign)
        self._spark.timeout = config.spark.timeout.total_seconds()
        self._spark.starting = self._starting_spark
        self._spark.give_access = self._give_access
        url = "" if isinstance(config.workdir, Path) else config.workdir
        self.workdir = Workdir(config.own_folder, url, config.storage.options)
        self._local = LocalProvider(config.own_folder, config.local_memory)
        self._step = ("", "")  # the last report

    def close(self) -> None:
        """Close connections, and the Spark session if this project started it.

        All later work is refused.
        """
        self._closed = True
        for source in self._sources.values():
            source.close()
        self._sources.clear()
        if "state" in self.__dict__:
            self.__dict__.pop("state").close()
        self._spark.stop()

    def refuse_closed(self) -> None:
        """Refuse work on a closed project, whose connections nothing would close.

        Raises:
            Refused: The project is closed.
        """
        if self._closed:
            raise Refused("the project is closed", remedy="open it again:  with qbcd.open(..) as project:")

    # -- streams -----------------------------------------------------------------------------------------------------
    def select_streams(self, streams: str | Iterable[str], *, new: bool = False) -> list[str]:
        """Return the given names, or those of all streams; a string is one name.

        Args:
            new: All streams include those of new tables, which are not captured yet.
        """
        if named := [streams] if isinstance(streams, str) else list(streams):
            return named
        roster = self.roster()
        return [*roster.streams, *(roster.new if new else ())]

    def roster(self, *, again: bool = False) -> Roster:
        """Return the project's streams; sources with patterns are asked once, or `again`."""
        if again:
            self._roster = self._make_roster()
            return self._roster
        with self._asked:
            if self._roster is None:
                self._roster = self._make_roster()
            return self._roster

    def _make_roster(self) -> Roster:
        sources = list(dict.fromkeys(entry.source for entry in self.config.patterns))
        listed: dict[str, SourceTables] = {}

        def ask(name: str) -> None:
            listed[name] = list_tables(self.source(name), self.config, self._spark)

        side_by_side([partial(ask, name) for name in sources])
        return roster_of(self.config, listed, self.known_tables.read() if sources else [])

    @property
    def known_tables(self) -> KnownTables:
        """The record of the tables of patterns."""
        return KnownTables(self.state)

    def stream_config(self, name: str) -> StreamConfig:
        """Return the stream called `name`; a pattern's source is asked only for unknown names.

        Raises:
            ConfigError: There is no such stream.
        """
        patterns = self.config.patterns
        if not patterns or name in {stream.name for stream in self.config.streams}:
            return self.config.stream(name)
        if self._roster is None:
            for one in self.known_tables.read():
                entry = next((e for e in patterns if e.source == one.source and e.matches(one.schema, one.name)), None)
                if (one.stream, one.state) == (name, "captured") and entry is not None:
                    found = self.config.of_pattern(entry, one.schema, one.name)
                    if found.name == name:
                        return found
        roster = self.roster()
        stream = roster.find(name)
        if stream is None:
            raise next(iter(roster.problems), None) or self.config.unknown(name, [*roster.streams, *roster.new])
        return stream

    def capture_all(self, streams: str | Iterable[str]) -> list[str]:
        """Record that tables of the named streams, or all of patterns, are captured.

        Return the names.

        Raises:
            ConfigError: A name is not the name of a stream.
        """
        names = self.select_streams(streams, new=True)
        for name in names:
            self.stream_config(name)
        self.capture(names)
        return names

    def capture(self, names: Iterable[str]) -> None:
        """Record that tables of these streams are captured; streams with own entries need none."""
        roster = self._roster
        if roster is None:  # then the record has named them
            return
        rows = [row for row in roster.as_known(names, "captured") if row not in roster.recorded]
        self.known_tables.put(rows)
        roster.recorded.update(rows)
        for row in rows:
            if row.stream in roster.new:
                roster.streams[row.stream] = roster.new.pop(row.stream)
        taken = {row.stream for row in rows}
        roster.appeared = [name for name in roster.appeared if name not in taken]

    def jobs_of(self, source: str) -> int:
        """Return the number of streams of a source to poll at once, at most its `connections`."""
        return min(self.jobs, self._connections(source))

    def _readers(self, source: str) -> int:
        """Return the share of a source's connections that one stream has."""
        return max(1, self._connections(source) // self.jobs_of(source))

    def _connections(self, source: str) -> int:
        """Return the number of readers of a source; one process reads the files of a stream."""
        if source in self.config.drivers:
            return self.config.drivers[source].connections
        config = self.config.databases.get(source)
        if config is None:
            return 1
        chosen = "connections" in config.model_fields_set
        return config.connections if chosen else max(config.connections, min(self.config.jobs, MOST_CONNECTIONS))

    @cached_property
    def state(self) -> ProjectState:
        """The project's state database, created on first use."""
        self.refuse_closed()
        with self._placed("state"):
            return self._open_state(create=True)

    def _open_state(self, *, create: bool) -> ProjectState:
        limit = self.config.state_timeout
        seconds = None if limit is None else limit.total_seconds()
        return ProjectState(self.config.state_url(), create=create, masking=self.masking, timeout=seconds)

    @property
    def local(self) -> LocalProvider:
        """Databases in this process."""
        return self._local

    @property
    def spark(self) -> SparkProvider:
        """Spark, which starts on first use."""
        self.refuse_closed()
        return self._spark

    def source(self, name: str) -> Source:
        """Return the source called `name`; it connects on first use."""
        self.refuse_closed()
        with self._made:
            if name not in self._sources:
                self._sources[name] = self._make_source(name)
            return self._sources[name]

    def _make_source(self, name: str) -> Source:
        config = self.config.sources[name]
        if isinstance(config, FilesConfig):
            return FileSource(name, config, self.masking, self.config.where("sources", name))
        if isinstance(config, JdbcSourceConfig):
            with self._placed("sources", name):
                return jdbc_source(name, config, self.masking, self.config.where("sources", name))
        url = config.sqlalchemy_url()
        source = Source(
            name,
            url,
            self._connector(name),
            config.qbcd_schema,
            options=SessionOptions(
                fetchsize=config.jdbc.fetchsize,
                properties=config.jdbc.properties,
                statement_timeout=int(config.statement_timeout.total_seconds()),
                socket_timeout=int(config.socket_timeout.total_seconds()) if config.socket_timeout else None,
            ),
            place=self.config.where("sources", name),
        )
        source.masking = self.masking
        return source

    def sink(self, name: str) -> Sink:
        """Return the sink called `name`."""
        with self._made:
            if name not in self._sinks:
                config = self.config.sinks[name]
                with self._placed("sinks", name):
                    made = make_sink(name, config.type, config.options, masked=self.masking.foreign)
                made.starts_from = config.starts_from or made.starts_from
                self._sinks[name] = made
            self._sinks[name].project_id = self.state.project_id
            return self._sinks[name]

    def open_sinks(self) -> list[Sink]:
        """Return the sinks that were used so far."""
        with self._made:
            return list(self._sinks.values())

    def open_stream(
        self,
        name: str,
        *,
        accept_deletes: bool = False,
        accept_source: bool = False,
        python: bool = False,
        ask: bool = True,
    ) -> Stream:
        """Return a stream with its source, site, state and sinks.

        Args:
            accept_deletes: Lift the delete guard once.
            accept_source: Continue although the source is not the server that was prepared.
            python: The caller receives batches as the sink ``python``.
            ask: The source may be asked for a variant; otherwise it is a guess until :meth:`refresh`.
        """
        self.refuse_closed()
        own = settle(self.config, self.stream_config(name), self.state, self.candidate, ask=ask)
        config, guessed = own.config, False
        if own.config.source not in self.config.drivers:
            config, guessed = with_variant(own.config, self.source(own.config.source), self.state, ask=ask)
        sinks = {s: self.sink(s) for s in config.sinks}
        settings = Settings(
            config,
            sinks=tuple(sinks),
            connections=self._readers(config.source),
            engine=self._engine_choice(config),
            accept_deletes=accept_deletes,
            accept_source=accept_source,
        )
        site = self._site(config)
        guessed = guessed or own.guessed
        stream = Stream(config, self.source(config.source), site, self.state, sinks, settings, guessed, own.refused)
        stream = replace(stream, places=self._places)
        stream = self._with_consumer(replace(stream, enrichment=self._enrichment(stream)), python)
        return replace(stream, interest=self._interest(stream)).restricted()

    def _enrichment(self, stream: Stream, *, subscribed: bool = True) -> Enrichment | None:
        """Return the fields that a stream's events get in addition; None if there are none."""
        with self._made:  # a matcher knows its subscriptions for all polls
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
        written = self.config.subscriptions
        selecting = frozenset(() if written is None else written.deliver) & stream.sinks.keys()
        splits = written is not None and written.split
        return Enrichment(stream.site, enrichers, selecting, partial(self._folded, stream), splits=splits)

    def _interest(self, stream: Stream) -> Interest | None:
        """Return what narrows a stream to its subscriptions; None if they were never to do that."""
        written, matcher = self.config.subscriptions, self._matchers.get(stream.name)
        if written is None or matcher is None or stream.config.source not in self.config.databases:
            return None
        from qbcd.subscriptions.interest import Interest

        why_not = "" if written.narrow else "`narrow` is off"
        others = [name for name in stream.config.sinks if name not in written.deliver]
        if not why_not and (others or not stream.config.sinks):
            why_not = f"sink {others[0]} gets all events" if others else "it has no sink"
        found = Interest(self.state, stream.name, stream.config.where, matcher, why_not)
        if why_not and stream.name not in self._wide and found.never_narrowed():
            self._wide.add(stream.name)  # this process does not ask the state again
        matcher.narrows = stream.name not in self._wide
        return found

    def _lookups(self, config: StreamConfig, site: Site) -> Enricher:
        from qbcd.lookups import LookupEnricher

        origin = self.lookup_origin(config.name, config.enrich, lambda what: site.context.progress(what))
        return LookupEnricher(origin, holds=any(self.config.lookups[n].holds for n in config.enrich))

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
            lookup, place = self.config.lookups[name], self.config.where("lookups", name)
            return resolve_relation(name, lookup, self.source(lookup.source), place, stream)

        for name in names:
            if name not in self.config.lookups:
                known = ", ".join(self.config.lookups) or "none"
                raise ConfigError(f"there is no lookup {name!r}", remedy=f"there are {known}")
        with self._made:  # one for all streams
            searches = self._searches

        def resolve() -> list[LookupRelation]:
            return [relation(name) for name in names]

        return LookupOrigin(stream, resolve, self.state, self.config.own_folder, progress, searches)

    @cached_property
    def _searches(self) -> SharedSearches:
        """The searches of lookups that run now, which streams share."""
        from qbcd.lookups import SharedSearches

        return SharedSearches()

    def subscription_enricher(self, stream: Stream) -> SubscriptionEnricher | None:
        """Return a new matcher of a stream's events; None if it may not be subscribed to."""
        written = self.config.subscriptions
        if written is None or written.allowed(stream.name) is None:
            return None
        from qbcd.subscriptions.enricher import SubscriptionEnricher

        return SubscriptionEnricher(stream.name, self.subscriptions, partial(self._folded, stream))

    @cached_property
    def subscriptions(self) -> Subscriptions:
        """The subscriptions of the project, which must have some."""
        from qbcd.subscriptions.registry import Subscriptions
        from qbcd.subscriptions.relation import SubscriptionRelation

        written = self.config.subscriptions
        assert written is not None
        if written.relation is None:
            return Subscriptions(written, None)
        place = self.config.where("subscriptions", "from", "table")
        return Subscriptions(
            written, SubscriptionRelation(self.source(written.relation.source), written.relation, place)
        )

    def _folded(self, stream: Stream) -> frozenset[str]:
        """Return the text columns of a stream whose equality in the source is not that of bytes."""
        written, source = self.config.subscriptions, stream.source
        if stream.config.source in self.config.dumps or (written is not None and written.equality == "bytes"):
            return frozenset()
        plan, _ = plan_of(stream, stream.site.context.row())
        texts = [column for column in plan.captured if column.travel.kind in ("text", "time", "array")]
        if stream.config.source in self.config.drivers:
            return frozenset(column.name for column in texts)
        compares_bytes = source.connector.expressions.compares_bytes
        return frozenset(column.name for column in texts if not compares_bytes(column))

    def _engine_choice(self, config: StreamConfig) -> EngineChoice:
        """Return the engine of a stream; `auto` compares files here unless Spark is a cluster."""
        if config.source in self.config.drivers:
            return EngineChoice("local", why_local="rows that Spark has read are compared in this process")
        if config.source not in self.config.databases:
            from qbcd.strategies import AUTO, BY_JOIN

            method = config.options.get("method") or AUTO
            if method not in BY_JOIN:
                return EngineChoice("local", why_local=f"method {method} is of this process")
            if config.engine == "auto" and not self._spark.on_cluster:
                return EngineChoice("local", why_local="files are compared in this process")
        rows, measured = self.config.local_rows, self.config.local_rows is None
        if measured:
            rows = most_local_rows(threads_for(self.config.local_memory), os.cpu_count() or 1)
        return EngineChoice(
            config.engine, rows, self.config.local_bytes, cluster=self._spark.on_cluster, measured=measured
        )

    def has_one_strategy(self, name: str) -> bool:
        """Return True if a stream reads files, or a database that only a JDBC driver reaches."""
        return self.stream_config(name).source not in self.config.databases

    def reads_files(self, name: str) -> bool:
        """Return True if a stream reads files, and no database."""
        return self.stream_config(name).source in self.config.dumps

    def candidate(self, config: StreamConfig) -> Stream:
        """Return a stream with a strategy to be judged, without sinks; do not prepare or poll it."""
        source = self.source(config.source)
        config, guessed = with_variant(config, source, self.state)
        site = self._site(config)
        stream = Stream(config, source, site, self.state, {}, Settings(config), guessed)
        return replace(stream, enrichment=self._enrichment(stream, subscribed=False))

    def advise(self, name: str, per_hour: Amount | None = None) -> Advice:
        """Return every strategy for a stream with its cost, and the choice of `strategy: auto`.

        Args:
            per_hour: Rows written in an hour, if they were measured.
        """
        if self.reads_files(name):
            place = self.stream_config(name).place("strategy")
            remedy = f"qbcd explain {name} shows what its polls do; name streams of databases, or none"
            raise ConfigError("there is one strategy for files, dump", stream=name, where=place, remedy=remedy)
        if self.has_one_strategy(name):
            what = "a source with a JDBC driver alone has one strategy for a table, id_rcs, and one for a query, vbd"
            remedy = f"qbcd check {name} says what travels at a poll, how many bytes, and what would make it less"
            raise ConfigError(what, stream=name, where=self.stream_config(name).place("strategy"), remedy=remedy)
        from qbcd.advisor import advise

        return advise(self.config, self._guessed(name), self.candidate, per_hour)

    def written_rows(self, name: str) -> tuple[float, float] | None:
        """Return the rows written to a stream's tables so far, and the source's clock.

        None if the source counts none.
        """
        from qbcd.advisor import written_rows

        return written_rows(self._guessed(name))

    def stream_to_read(self, name: str) -> Stream:
        """Return a prepared stream without sinks, whose batches and replica are only read."""
        stream = self._guessed(name)
        return replace(stream, enrichment=self._enrichment(stream))

    def _guessed(self, name: str) -> Stream:
        """Return a stream to be judged, with its prepared strategy or a guess."""
        own = settle(self.config, self.stream_config(name), self.state, self.candidate, choose=False)
        return self.candidate(own.config)

    def by_source(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Return the streams of each source, in order."""
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(self.stream_config(name).source, []).append(name)
        return groups

    def in_rounds(self, names: Sequence[str], work: Callable[[Stream], T]) -> list[T]:
        """Return the result of `work` for each stream; see :func:`qbcd.catalog.rounds.in_rounds`."""
        found: dict[str, T] = {}

        def one(name: str) -> None:
            found[name] = work(self.open_stream(name))

        self.each(names, one)
        return [found[name] for name in names]

    def each(self, names: Sequence[str], work: Callable[[str], object]) -> None:
        """Call `work` for each stream, as many of a source at the same time as `jobs` allows."""
        before, self.jobs = self.jobs, self.config.jobs
        try:
            of_source = self.by_source(names).items()
            in_rounds([SourceWork(self.source(s), streams, self.jobs_of(s)) for s, streams in of_source], work)
        finally:
            self.jobs = before

    def _report(self, stream: str, what: str) -> None:
        self._step = stream, what
        self.progress(stream, what)

    @contextmanager
    def _starting_spark(self) -> Iterator[None]:
        before = self._step
        self.progress("", "starting Spark")
        yield
        if any(before):
            self.progress(*before)

    def refresh(self, stream: Stream) -> Stream:
        """Update a stream of a job before its next poll: its variant, and its Python consumer."""
        if stream.guessed:
            old = stream.settings
            stream = self.open_stream(stream.name, accept_deletes=old.accept_deletes, accept_source=old.accept_source)
        return self._with_consumer(stream)

    def _with_consumer(self, stream: Stream, python: bool = False) -> Stream:
        """Add the sink ``python`` if `python` is set or the consumer is enrolled; else remove it."""
        known = self.state.acknowledged(stream.name)
        consumer = (PYTHON_SINK,) if python or PYTHON_SINK in known else ()
        # Batches of a removed sink are kept until it is retired: if it is added again, it must accept them.
        removed = sorted(known.keys() - {*stream.sinks, PYTHON_SINK})
        limits = {name: self.sink(name).limits for name in (*stream.sinks, *removed) if name in self.config.sinks}
        typed = [name for name in (*stream.sinks, *removed) if name not in limits or self.sink(name).typed]
        lenient = [name for name in typed if name in limits and limits[name].policy != "refuse"]
        if self._matchers.get(stream.name) is not None:  # conditions are evaluated over typed values
            typed, lenient = list(dict.fromkeys([*typed, *stream.sinks])), []
        settings = replace(
            stream.settings,
            sinks=(*stream.sinks, *consumer),
            typed_for=(*(name for name in typed if name not in lenient), *consumer),
            lenient_for=tuple(lenient),
            limits=tuple(limits.items()),
        )
        return replace(stream, settings=settings)

    @property
    def state_is_new(self) -> bool:
        """True within :meth:`read_only` if there is no state database yet."""
        return self._empty

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Create nothing within the block.

        A project without a state database uses an empty, temporary one.
        """
        self.refuse_closed()
        if "state" in self.__dict__:
            yield
            return
        try:
            with self._placed("state"):
                self.__dict__["state"] = self._open_state(create=False)
        except StateMissing:
            with tempfile.TemporaryDirectory(prefix="qbcd-") as folder:
                empty = self.__dict__["state"] = ProjectState(f"sqlite:///{folder}/state.db")
                self._empty = True
                try:
                    yield
                finally:
                    empty.close()
                    self._empty = False
                    del self.__dict__["state"]
        else:
            yield

    @contextmanager
    def _placed(self, *path: str) -> Iterator[None]:
        """Add the place of the key `path` to configuration errors within the block."""
        try:
            yield
        except ConfigError as error:
            error.where = error.where or self.config.where(*path)
            raise

    def all_sites(self, name: str) -> Iterator[Site]:
        """Yield all sites that could keep a stream called `name`: each source, and the lake."""
        for source in [self.source(one) for one in self.config.databases]:
            yield sites.DatabaseSite(sites.DatabaseContext(name, source, self.state, self._job(name, source)))
        any_source = next(iter(self.config.databases or self.config.sources))
        yield self._lake_site(name, self.source(any_source))  # the source is used only to read its table

    def _site(self, config: StreamConfig) -> Site:
        source = self.source(config.source)
        if isinstance(source, JdbcSource):
            return sites.JdbcSite(self._lake_context(config.name, source))
        if isinstance(source, FileSource):
            return sites.DumpSite(self._lake_context(config.name, source, _memory_of_dumps(config.options)))
        if strategy_class(config.strategy, config.options).site == "database":
            job = self._job(config.name, source)
            others = partial(self._others, config.source)
            return sites.DatabaseSite(sites.DatabaseContext(config.name, source, self.state, job, others))
        return self._lake_site(config.name, source)

    def _others(self, name: str) -> list[Source]:
        """Return the other sources that may be on the same server; the schema of each is a store."""
        mine = self.source(name)
        return [self.source(n) for n in self.config.databases if self.source(n).may_share_server(mine)]

    def _lake_site(self, name: str, source: Source) -> Site:
        return sites.LakeSite(self._lake_context(name, source))

    def _lake_context(self, name: str, source: Source, memory: int | None = None) -> sites.LakeContext:
        """Return the context of a stream.

        `memory` bounds the local database in bytes, if not that of the project.
        """
        files = sites.Files(self.workdir, self.state.project_id, name)
        job = self._job(name, source)
        if memory is not None:
            job = replace(job, local=LocalProvider(self.config.own_folder, memory, _MORE_FOR_DUMPS))
        return sites.LakeContext(name, source, self.state, job, files)

    def _job(self, stream: str, source: Source) -> sites.StreamJob:
        """Return the engines and signals for a stream."""
        return sites.StreamJob(
            self._spark,
            self._local,
            self.workdir,
            partial(self._report, stream),
            lambda: self.stopping(),
            self._readers(source.name),
        )

    def _connector(self, source: str) -> Connector:
        """Return the source's connector, with the JDBC driver of the configured jar."""
        config = self.config.databases[source]
        with self._placed("sources", source, "url"):
            connector = connector_for(config.sqlalchemy_url())
        if config.jdbc.driver_jar is not None:
            found = driver_in(config.jdbc.driver_jar, (connector.driver, *connector.other_drivers))
            connector.driver = found or connector.driver  # a jar without a driver is refused when it is needed
        return connector

    def drivers(self) -> list[Wanted]:
        """Return the JDBC drivers of all configured sources, each once, with its configured jar."""
        found: dict[JdbcDriver, Wanted] = {}
        for name, config in self.config.databases.items():
            driver = self._connector(name).driver
            if driver not in found or found[driver].jar is None:
                place = self.config.where("sources", name, "jdbc", "driver_jar")
                found[driver] = Wanted(driver, config.jdbc.driver_jar, place)
        for name, source in self.config.drivers.items():
            place = self.config.where("sources", name, "jdbc", "driver_jar")
            with self._placed("sources", name):
                profile = profile_of_source(source)
            if not profile.bundled or source.jdbc.driver_jar is not None:
                driver = driver_of(profile, source)
                found[driver] = Wanted(driver, source.jdbc.driver_jar, place)
        shared, place = self.config.spark.driver_jar, self.config.where("spark", "driver_jar")
        alone = len(found) == 1
        return [
            Wanted(driver, shared, place)
            if wanted.jar is None and shared and (alone or driver_in(shared, [driver]))
            else wanted
            for driver, wanted in found.items()
        ]

    def check_settings(self) -> None:
        """Check the user's settings of Spark against those that qbcd needs for correct results.

        Raises:
            ConfigError: A setting contradicts them.
        """
        for name, value in self.config.spark.conf.items():
            with self._placed("spark", "conf", name):
                check_setting(name, value, self.config.shown(value, "spark", "conf", name))
        self._refuse_file_state(self.config.spark.conf.get(DEPLOY_MODE))

    def _refuse_file_state(self, mode: str | None) -> None:
        """Refuse a state in a file if the driver runs on any host of a cluster.

        Raises:
            Refused: It does.
        """
        url = self.config.state_url()
        if mode == "cluster" and store_facts(url.get_backend_name()).is_file:
            raise Refused(
                f"the state {url.database} is a file, and with {DEPLOY_MODE}=cluster any host may run the driver",
                remedy="set `state` to the URL of a server",
            )

    def _jars(self) -> list[Path]:
        """Return the driver jars of all configured sources, for a new session."""
        self.check_settings()
        jars, around = [], Surroundings(spark_conf=self.config.spark.conf)
        for wanted in self.drivers():
            found = find_driver(
                wanted.driver, configured=wanted.jar, cache=user_cache(), around=around, place=wanted.place
            )
            for line in found.passed_over:
                log.warning("%s", line)
            jars.append(found.jar)
        if self.workdir.url.startswith("s3://"):
            jars += find_s3a(self.config.spark.conf, user_cache(), around)
        return jars

    def _give_access(self, session: SparkSession) -> None:
        if store_facts(self.config.state_url().get_backend_name()).is_file and self._spark.on_cluster:
            self._refuse_file_state(session.sparkContext.getConf().get(DEPLOY_MODE))
        if self.workdir.url:
            give_access(session, self.workdir.url, self.workdir.storage)


DEPLOY_MODE = "spark.submit.deployMode"
_MORE_FOR_DUMPS = "raise `memory` of the strategy"


def _memory_of_dumps(options: Mapping[str, Any]) -> int | None:
    """Return the bytes of the local database; a separate method has the other half of `memory`."""
    from qbcd.snapshots.feeds import JOIN, memory_of_join

    memory: int | None = options.get("memory")
    joined = options.get("replica") == "digest"  # a method needs rows
    return None if memory is None else memory_of_join(JOIN if joined else str(options.get("method")), memory)
