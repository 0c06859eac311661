"""A project put together: state, sinks and sites, and a stream with all that its polls need."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from qbcd import sites
from qbcd.advisor.settling import settle
from qbcd.catalog.files import FileSource
from qbcd.catalog.jdbc import JdbcSource
from qbcd.catalog.rounds import SourceWork, in_rounds
from qbcd.catalog.source import Source
from qbcd.config import ProjectConfig, StreamConfig
from qbcd.config.masking import masking_of
from qbcd.delivery.batches import PYTHON_SINK
from qbcd.errors import ConfigError, Refused, StateMissing
from qbcd.local.database import LocalProvider
from qbcd.project.engines import ProjectEngines
from qbcd.project.enriching import Enriching
from qbcd.project.sources import ProjectSources
from qbcd.project.streams import ProjectStreams
from qbcd.sinks import Sink, make_sink
from qbcd.sinks.places import SinkPlaces
from qbcd.sites import Settings, Site, with_variant
from qbcd.spark.provider import SparkProvider
from qbcd.state import ProjectState
from qbcd.strategies import strategy_class
from qbcd.stream import Stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from qbcd.advisor import Advice, Amount

T = TypeVar("T")


class ProjectParts:
    """The parts of a project.

    Args:
        spark: A session to use unchanged; without it, one is started when rows must travel.
    """

    def __init__(self, config: ProjectConfig, spark: SparkSession | None = None) -> None:
        self.config = config
        self.masking = masking_of(config)
        self.sources = ProjectSources(config, self.masking)
        self.engines = ProjectEngines(config, self.sources, self.masking, spark)
        self.engines.spark.starting = self._starting_spark
        self.streams = ProjectStreams(config, self.sources, self.engines, lambda: self.state)
        self.enriching = Enriching(config, self.sources, lambda: self.state)
        self._sinks: dict[str, Sink] = {}
        self._made = threading.RLock()  # for sinks, which any thread creates on first use
        self._places = SinkPlaces()
        self._empty = self._closed = False
        # Called with stream and step when a long step begins; the stream is empty for steps of the whole project.
        self.progress: Callable[[str, str], None] = lambda stream, what: None
        self.stopping: Callable[[], bool] = lambda: False  # checked between the steps of a long poll
        self._step = ("", "")  # the last report

    def close(self) -> None:
        """Close connections, and the Spark session if this project started it.

        All later work is refused.
        """
        self._closed = True
        self.sources.close()
        if "state" in self.__dict__:
            self.__dict__.pop("state").close()
        self.engines.spark.stop()

    def refuse_closed(self) -> None:
        """Refuse work on a closed project, whose connections nothing would close.

        Raises:
            Refused: The project is closed.
        """
        if self._closed:
            raise Refused("the project is closed", remedy="open it again:  with qbcd.open(..) as project:")

    @cached_property
    def state(self) -> ProjectState:
        """The project's state database, created on first use."""
        self.refuse_closed()
        with self.config.placed("state"):
            return self._open_state(create=True)

    def _open_state(self, *, create: bool) -> ProjectState:
        limit = self.config.state_timeout
        seconds = None if limit is None else limit.total_seconds()
        return ProjectState(self.config.state_url(), create=create, masking=self.masking, timeout=seconds)

    @property
    def local(self) -> LocalProvider:
        """Databases in this process."""
        return self.engines.local

    @property
    def spark(self) -> SparkProvider:
        """Spark, which starts on first use."""
        self.refuse_closed()
        return self.engines.spark

    def source(self, name: str) -> Source:
        """Return the source called `name`; it connects on first use."""
        self.refuse_closed()
        return self.sources.get(name)

    def sink(self, name: str) -> Sink:
        """Return the sink called `name`."""
        with self._made:
            if name not in self._sinks:
                config = self.config.sinks[name]
                with self.config.placed("sinks", name):
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
        own = settle(self.config, self.streams.config(name), self.state, self.candidate, ask=ask)
        config, guessed = own.config, False
        if own.config.source not in self.config.drivers:
            config, guessed = with_variant(own.config, self.source(own.config.source), self.state, ask=ask)
        sinks = {s: self.sink(s) for s in config.sinks}
        settings = Settings(
            config,
            sinks=tuple(sinks),
            connections=self.sources.readers(config.source),
            engine=self.engines.choose(config),
            accept_deletes=accept_deletes,
            accept_source=accept_source,
        )
        site = self._site(config)
        guessed = guessed or own.guessed
        stream = Stream(config, self.source(config.source), site, self.state, sinks, settings, guessed, own.refused)
        stream = replace(stream, places=self._places)
        stream = self._with_consumer(replace(stream, enrichment=self.enriching.of(stream)), python)
        return replace(stream, interest=self.enriching.interest(stream)).restricted()

    def candidate(self, config: StreamConfig) -> Stream:
        """Return a stream with a strategy to be judged, without sinks; do not prepare or poll it."""
        source = self.source(config.source)
        config, guessed = with_variant(config, source, self.state)
        site = self._site(config)
        stream = Stream(config, source, site, self.state, {}, Settings(config), guessed)
        return replace(stream, enrichment=self.enriching.of(stream, subscribed=False))

    def advise(self, name: str, per_hour: Amount | None = None) -> Advice:
        """Return every strategy for a stream with its cost, and the choice of `strategy: auto`.

        Args:
            per_hour: Rows written in an hour, if they were measured.
        """
        if self.streams.reads_files(name):
            place = self.streams.config(name).place("strategy")
            remedy = f"qbcd explain {name} shows what its polls do; name streams of databases, or none"
            raise ConfigError("there is one strategy for files, dump", stream=name, where=place, remedy=remedy)
        if self.streams.has_one_strategy(name):
            what = "a source with a JDBC driver alone has one strategy for a table, id_rcs, and one for a query, vbd"
            remedy = f"qbcd check {name} says what travels at a poll, how many bytes, and what would make it less"
            raise ConfigError(what, stream=name, where=self.streams.config(name).place("strategy"), remedy=remedy)
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
        return replace(stream, enrichment=self.enriching.of(stream))

    def _guessed(self, name: str) -> Stream:
        """Return a stream to be judged, with its prepared strategy or a guess."""
        own = settle(self.config, self.streams.config(name), self.state, self.candidate, choose=False)
        return self.candidate(own.config)

    def in_rounds(self, names: Sequence[str], work: Callable[[Stream], T]) -> list[T]:
        """Return the result of `work` for each stream; see :func:`qbcd.catalog.rounds.in_rounds`."""
        found: dict[str, T] = {}

        def one(name: str) -> None:
            found[name] = work(self.open_stream(name))

        self.each(names, one)
        return [found[name] for name in names]

    def each(self, names: Sequence[str], work: Callable[[str], object]) -> None:
        """Call `work` for each stream, as many of a source at the same time as `jobs` allows."""
        before, self.sources.jobs = self.sources.jobs, self.config.jobs
        try:
            of_source = self.streams.by_source(names).items()
            in_rounds([SourceWork(self.source(s), streams, self.sources.jobs_of(s)) for s, streams in of_source], work)
        finally:
            self.sources.jobs = before

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
        if self.enriching.is_matched(stream.name):  # conditions are evaluated over typed values
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
            with self.config.placed("state"):
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
            others = partial(self.sources.same_server, config.source)
            return sites.DatabaseSite(sites.DatabaseContext(config.name, source, self.state, job, others))
        return self._lake_site(config.name, source)

    def _lake_site(self, name: str, source: Source) -> Site:
        return sites.LakeSite(self._lake_context(name, source))

    def _lake_context(self, name: str, source: Source, memory: int | None = None) -> sites.LakeContext:
        """Return the context of a stream.

        `memory` bounds the local database in bytes, if not that of the project.
        """
        files = sites.Files(self.engines.workdir, self.state.project_id, name)
        job = self._job(name, source)
        if memory is not None:
            job = replace(job, local=LocalProvider(self.config.own_folder, memory, _MORE_FOR_DUMPS))
        return sites.LakeContext(name, source, self.state, job, files)

    def _job(self, stream: str, source: Source) -> sites.StreamJob:
        """Return the engines and signals for a stream."""
        return sites.StreamJob(
            self.engines.spark,
            self.engines.local,
            self.engines.workdir,
            partial(self._report, stream),
            lambda: self.stopping(),
            self.sources.readers(source.name),
        )


_MORE_FOR_DUMPS = "raise `memory` of the strategy"


def _memory_of_dumps(options: Mapping[str, Any]) -> int | None:
    """Return the bytes of the local database; a separate method has the other half of `memory`."""
    from qbcd.snapshots.feeds import JOIN, memory_of_join

    memory: int | None = options.get("memory")
    joined = options.get("replica") == "digest"  # a method needs rows
    return None if memory is None else memory_of_join(JOIN if joined else str(options.get("method")), memory)
