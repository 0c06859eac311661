"""The parts of a project: sources, sinks, state and Spark, each created on first use."""

from __future__ import annotations

import logging
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from qbcd.catalog.resolve import requested
from qbcd.catalog.source import Round, SessionOptions, Source
from qbcd.config import ProjectConfig, StreamConfig
from qbcd.config.masking import masking_of
from qbcd.connectors import Connector, JdbcDriver, connector_for
from qbcd.delivery import PYTHON_SINK
from qbcd.errors import ConfigError, Refused, StateMissing
from qbcd.local.database import LocalProvider
from qbcd.side_by_side import side_by_side
from qbcd.sinks import Sink, make_sink
from qbcd.sites import DatabaseContext, DatabaseSite, Files, LakeContext, LakeSite, Settings, Site, with_variant
from qbcd.sites.engine_choice import EngineChoice
from qbcd.spark.drivers import Wanted, driver_in, find_driver, user_cache
from qbcd.spark.java import Surroundings
from qbcd.spark.provider import SparkProvider
from qbcd.spark.session import check_setting
from qbcd.state import ProjectState
from qbcd.strategies import strategy_class
from qbcd.stream import Stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("qbcd")
T = TypeVar("T")
LOCAL_MEMORY = 512 << 20  # bytes


class Assembly:
    """The parts of a project.

    Args:
        config: The validated configuration.
        spark: A session to use unchanged; without it, one is started when rows must travel.
    """

    def __init__(self, config: ProjectConfig, spark: SparkSession | None = None) -> None:
        self.config = config
        self.masking = masking_of(config)
        self._sources: dict[str, Source] = {}
        self._sinks: dict[str, Sink] = {}
        self._made = threading.RLock()  # for what is created on first use, by any thread
        self._empty = self._closed = False
        # Called with stream and step when a long step begins; the stream is empty for steps of the whole project.
        self.progress: Callable[[str, str], None] = lambda stream, what: None
        self.stopping: Callable[[], bool] = lambda: False  # checked between the steps of a long poll
        drivers = sorted({wanted.driver.driver_class for wanted in self.drivers()})
        self._spark = SparkProvider(config.spark, self._jars, drivers, spark, self.masking.foreign)
        self._spark.timeout = config.spark.timeout.total_seconds()
        self._spark.starting = self._starting_spark
        self._local = LocalProvider(config.workdir, config.local_memory)
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

    def select_streams(self, streams: str | Iterable[str]) -> list[str]:
        """Return the given names, or those of all streams; a string is one name."""
        return [streams] if isinstance(streams, str) else list(streams) or [c.name for c in self.config.streams]

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
                    self._sinks[name] = make_sink(name, config.type, config.options, masked=self.masking.foreign)
            self._sinks[name].project_id = self.state.project_id
            return self._sinks[name]

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
            name: The stream.
            accept_deletes: Lift the delete guard once.
            accept_source: Continue although the source is not the server that was prepared.
            python: The caller receives batches as the sink ``python``.
            ask: The source may be asked for a variant; otherwise it is a guess until :meth:`refresh`.
        """
        self.refuse_closed()
        config = self.config.stream(name)
        config, guessed = with_variant(config, self.source(config.source), self.state, ask=ask)
        sinks = {s: self.sink(s) for s in config.sinks}
        settings = Settings(
            sinks=tuple(sinks),
            requested=requested(config),
            baseline_events=config.baseline == "events",
            max_delete_fraction=config.guards.max_delete_fraction,
            allow_empty=config.guards.allow_empty,
            retain=config.retain,
            every=config.every,
            key_change=config.key_change,
            rows_per_range=config.options.get("rows_per_range"),
            connections=self.config.sources[config.source].connections,
            audit=config.audit,
            engine=EngineChoice(config.engine, self.config.local_rows, self.config.local_bytes, self._spark.on_cluster),
            new_values=config.new_columns == "add_with_values",
            accept_deletes=accept_deletes,
            accept_source=accept_source,
        )
        site = self._site(config)
        site.context.progress = lambda what: self._report(name, what)
        site.context.stopping = self.stopping
        stream = Stream(config, self.source(config.source), site, self.state, sinks, settings, guessed)
        return self._with_consumer(stream, python)

    def by_source(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Return the streams of each source, in order."""
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(self.config.stream(name).source, []).append(name)
        return groups

    def in_rounds(self, names: Sequence[str], work: Callable[[Stream], T]) -> list[T]:
        """Return the result of `work` for each stream. Sources work side by side.

        After a failed connection to a source no other is tried: it answers for all streams of the source.
        """
        found: dict[str, T] = {}

        def ask(source: str, streams: Sequence[str]) -> None:
            with self.source(source).within(Round()):
                for name in streams:
                    found[name] = work(self.open_stream(name))

        side_by_side([partial(ask, source, streams) for source, streams in self.by_source(names).items()])
        return [found[name] for name in names]

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
        typed = [name for name in (*stream.sinks, *removed) if name not in self.config.sinks or self.sink(name).typed]
        settings = replace(stream.settings, sinks=(*stream.sinks, *consumer), typed_for=(*typed, *consumer))
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
        for source in (sources := [self.source(one) for one in self.config.sources]):
            yield DatabaseSite(DatabaseContext(name, source, self.state, self._spark, self._local))
        yield self._lake_site(name, sources[0])  # the source is used only to read its table

    def _site(self, config: StreamConfig) -> Site:
        source = self.source(config.source)
        if strategy_class(config.strategy, config.options).site == "database":
            context = DatabaseContext(config.name, source, self.state, self._spark, self._local)
            context.others = lambda: self._others(config.source)
            return DatabaseSite(context)
        return self._lake_site(config.name, source)

    def _others(self, name: str) -> list[Source]:
        """Return the other sources that may be on the same server; the schema of each is a store."""
        mine = self.source(name)
        return [self.source(n) for n in self.config.sources if self.source(n).may_share_server(mine)]

    def _lake_site(self, name: str, source: Source) -> Site:
        files = Files(self.config.workdir, self.state.project_id, name)
        return LakeSite(LakeContext(name, source, self.state, self._spark, self._local, files))

    def _connector(self, source: str) -> Connector:
        """Return the source's connector, with the JDBC driver of the configured jar."""
        config = self.config.sources[source]
        with self._placed("sources", source, "url"):
            connector = connector_for(config.sqlalchemy_url())
        if config.jdbc.driver_jar is not None:
            found = driver_in(config.jdbc.driver_jar, (connector.driver, *connector.other_drivers))
            connector.driver = found or connector.driver  # a jar without a driver is refused when it is needed
        return connector

    def drivers(self) -> list[Wanted]:
        """Return the JDBC drivers of all configured sources, each once, with its configured jar."""
        found: dict[JdbcDriver, Wanted] = {}
        for name, config in self.config.sources.items():
            driver = self._connector(name).driver
            if driver not in found or found[driver].jar is None:
                place = self.config.where("sources", name, "jdbc", "driver_jar")
                found[driver] = Wanted(driver, config.jdbc.driver_jar, place)
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
        return jars
