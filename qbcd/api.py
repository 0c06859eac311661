"""The Python API: a project opened from its configuration, its streams, and their batches."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qbcd.config import ProjectConfig, StreamConfig, config_from_dict, load_config
from qbcd.config.databases import DEFAULT_TARGET_TABLE
from qbcd.config.document import names_of
from qbcd.delivery.batches import (
    PYTHON_SINK,
    doubts_batches,
    enroll_python,
    open_batch,
    retire_sink,
    waiting,
    waiting_for,
)
from qbcd.error_messages import one_message
from qbcd.errors import ConfigError, EnvironmentMissing, QbcdError, UnsupportedType
from qbcd.model import BatchHeader, StreamPlan
from qbcd.planning import plan_of
from qbcd.polling.job import JobEvents, run_always, run_once, short_waits_after
from qbcd.polling.outcome import JobReport, Outcome, poll
from qbcd.polling.table_watch import TableEvents, TableWatch
from qbcd.project import ProjectParts
from qbcd.run import Preparation, Verification, prepare_stream, reset_stream, verify_stream
from qbcd.sinks import SinkBatch
from qbcd.spark.jdbc import explained
from qbcd.stream import Report, Stream

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from qbcd.advisor import Advice, Amount, Prediction
    from qbcd.advisor.facts import Facts
    from qbcd.check import Finding
    from qbcd.comparison.compare import DiffResult
    from qbcd.monitoring.notifying import Notifications
    from qbcd.orphans import ForeignStream, LeftStream
    from qbcd.sites import Differences, ExplainedStatement
    from qbcd.status import StreamStatus
    from qbcd.subscriptions.listing import Listing

log = logging.getLogger("qbcd")


class Batch:
    """A sealed batch of :meth:`StreamHandle.poll`, valid until the next one is requested."""

    def __init__(
        self, batch: SinkBatch, check: Callable[[], object] = lambda: None, project_id: Callable[[], str] = str
    ) -> None:
        self._batch, self._check, self._project_id = batch, check, project_id

    @property
    def header(self) -> BatchHeader:
        """The batch without its rows."""
        return self._batch.header

    @property
    def seq(self) -> int:
        """Number of the batch within its epoch."""
        return self.header.seq

    @property
    def counts(self) -> dict[str, int]:
        """Events per op, e.g. ``{"c": 3, "u": 10, "d": 1}``."""
        return dict(self.header.counts)

    @cached_property
    def events(self) -> DataFrame:
        """The events as a Spark DataFrame (docs/design/interface.md#event).

        Raises:
            UnsupportedType: The batch is older than this consumer, and a typed DataFrame cannot hold one of its values.
        """
        self._check()
        if PYTHON_SINK not in self.header.sinks:
            from qbcd.spark.events import unfit_column

            self._refuse_unfit(unfit_column(self._batch.staged, self.header))
        return self._batch.events

    def arrow(self) -> pa.RecordBatchReader:
        """Return the events, typed and in order, in pieces of at most some thousand rows.

        Spark is not used. Read it before the next batch is requested.

        Raises:
            UnsupportedType: As `events`.
        """
        self._check()
        if PYTHON_SINK not in self.header.sinks:
            self._refuse_unfit(self._batch.unfit_column())
        return self._batch.arrow()

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the events as dicts of Python values, in order; without Spark."""
        for piece in self.arrow():
            yield from piece.to_pylist()

    def to_pandas(self) -> pandas.DataFrame:
        """Return the events as a DataFrame of pandas, in order; without Spark.

        Raises:
            EnvironmentMissing: The package pandas is not installed.
        """
        if find_spec("pandas") is None:
            raise EnvironmentMissing("to_pandas() needs the package pandas", remedy="pip install pandas")
        return self.arrow().read_pandas()

    def apply(self, url: str, table: str = DEFAULT_TARGET_TABLE, **options: Any) -> None:
        """Apply the batch to a table, once, as a sink of type `database` does; without Spark.

        Apply every batch, in order, beginning with that of `baseline: events`.

        Args:
            url: SQLAlchemy URL of the target, with the password.
            table: Name of the table; it is created if it does not exist.
            options: `schema`, `mode`, `deletes`, `envelope`, `columns_like` as in the configuration.

        Raises:
            ConfigError: An option is wrong, or there are no tables of qbcd in such a database.
            DeliveryError: The target refused, or the batch is not the next one.
            UnsupportedType: As `events`.
        """
        self._check()
        if PYTHON_SINK not in self.header.sinks:
            self._refuse_unfit(self._batch.unfit_column())
        from qbcd.sinks.table.sink import DatabaseSink

        known = {"schema", "mode", "deletes", "envelope", "columns_like", "unsupported"}
        if unknown := sorted(options.keys() - known):
            raise ConfigError(f"apply has no option {unknown[0]!r}", remedy=f"it has {', '.join(sorted(known))}")
        sink = DatabaseSink(PYTHON_SINK, url, table=table, **options)
        sink.project_id = self._project_id()
        sink.write(self._batch)

    def _refuse_unfit(self, column: str | None) -> None:
        if column is not None:
            raise UnsupportedType(
                f"batch {self.header.number} is older than this consumer and has a value of column {column!r} that a "
                "typed sink cannot hold",
                stream=self.header.stream,
                remedy=f"skip the batch; or set  types: {{{column}: text}}  for this table, then qbcd reset "
                f"{self.header.stream}",
            )


def diff(
    a: str | os.PathLike[str],
    b: str | os.PathLike[str] | None = None,
    *,
    key: str | Sequence[str] = (),
    method: str = "auto",
    memory: str | int = "256MB",
    **more: Any,
) -> DiffResult:
    """Compare two files or tables once.

    Without `b`, compare `a` with the rows that the first call kept.

    Args:
        a: A file, or a table as ``dialect://user:${env:PASSWORD}@host/database#schema.table`` or
            ``SOURCE#schema.table``.
        b: The same.
        key: The columns that identify a row; default: the primary key of a table.
        method: The method; ``auto`` chooses.
        memory: Bytes, or a text such as ``256MB``; more is spilled to a temporary folder.
        more: ``format``, as in the configuration of files; ``columns`` or ``exclude``; ``workdir``, the folder for kept
            rows; ``renew``, to keep the rows of `a` when the result is closed without an error; ``project``, the
            configuration whose sources operands may name, by default ``qbcd.yaml``.

    Returns:
        The result, a context manager. It yields the events as dicts, and is true if there are any.

    Raises:
        ConfigError: An operand or option is wrong.
        Refused: An operand cannot be compared: a truncated file, a key that is not unique ..
    """
    from qbcd.comparison.compare import compare
    from qbcd.comparison.options import diff_options

    form = more.pop("format", None)
    unknown = sorted(more.keys() - {"columns", "exclude", "workdir", "renew", "project"})
    if unknown:
        raise ConfigError(f"there is no option {unknown[0]!r}", remedy="see the documentation of qbcd.diff")
    options = diff_options(key, method, memory, form, **more)
    return compare(os.fspath(a), None if b is None else os.fspath(b), options)


class StreamHandle:
    """A stream of an open project."""

    def __init__(self, parts: ProjectParts, config: StreamConfig) -> None:
        self._parts = parts
        self.config = config

    @property
    def name(self) -> str:
        """The stream's name."""
        return self.config.name

    def prepare(self) -> Report:
        """Create qbcd's tables or folders, and take the baseline.

        Do nothing if the stream is already prepared; `warnings` of the report say so.
        """
        self._parts.streams.capture([self.name])
        stream = self._parts.open_stream(self.name)
        with one_message(stream):
            return prepare_stream(stream)

    def poll(self) -> Iterator[Batch]:
        """Poll the source once, then yield the batches that this consumer has not acknowledged.

        The oldest batch is first. A batch is acknowledged when the next one is requested; otherwise it is delivered
        again. The first call begins with the earliest batch of the epoch that still exists, such as a baseline.

        Raises:
            QbcdError: The poll was refused or failed; raised after the earlier batches.
        """
        stream = self._parts.open_stream(self.name, python=True)
        enroll_python(stream)
        error = poll(stream).error

        for header in [] if error and doubts_batches(error) else waiting(stream, error):
            with open_batch(stream, header) as batch:
                yield Batch(batch, self._parts.refuse_closed, lambda: self._parts.state.project_id)
            self._parts.refuse_closed()
            if PYTHON_SINK not in stream.project.acknowledged(self.name):
                break  # the consumer was retired meanwhile
            stream.project.acknowledge(self.name, PYTHON_SINK, header)
        if error is not None:
            raise error

    def verify(self) -> Differences:
        """Compare replica and source in full. The list is `truncated` if there are more differences.

        Deletes that polls have not looked for yet, or never look for, are in `unseen`; they are not differences.
        """
        stream = self._parts.open_stream(self.name)
        with one_message(stream):
            return verify_stream(stream)

    def reset(self, *, discard: bool = False, take_over: bool = False) -> None:
        """Delete replica and checkpoint; consumers must reload.

        Args:
            discard: Also drop batches that wait for a sink.
            take_over: Drop what the source holds for another project, or for a state that is lost; with `discard`.

        Raises:
            Refused: Batches wait for a sink, and `discard` is not set; or the other project polls.
        """
        if take_over:
            from qbcd.orphans import foreign_stream

            foreign_stream(self._parts, self.name).reset(discard=discard)
            return
        reset_stream(self._parts.open_stream(self.name).site, discard=discard)

    def retire(self, sink: str) -> int:
        """Forget a sink that is no longer configured, or ``python``; return its waiting batches.

        Raises:
            ConfigError: The sink is configured for this stream, or unknown to it.
        """
        return retire_sink(self._parts.open_stream(self.name), sink)

    def waiting_for(self, sink: str) -> int:
        """Return the number of batches that wait for a sink; refuse sinks as :meth:`retire` does."""
        with self._parts.read_only():
            return waiting_for(self._parts.open_stream(self.name), sink)

    def skip(self, sink: str, batch: str) -> BatchHeader:
        """Pass over the next batch, or resend, of a sink that cannot take it.

        The history records it for ever.

        Args:
            sink: A sink of the stream, or ``python``.
            batch: The batch as messages name it, ``<epoch>/<batch_seq>``, of a resend with its label.

        Raises:
            ConfigError: The sink's next batch is another one, or its delivery has not failed.
        """
        from qbcd.delivery.resend import skip_next

        stream = self._parts.open_stream(self.name)
        with one_message(stream):
            return skip_next(stream, sink, batch)

    def resend(self, sink: str, where: str = "") -> int | None:
        """Send the rows of the replica to one sink, as events of op r between two batches.

        The captured table is not read. A mirror or history then has exactly these rows.

        Args:
            where: Condition of the rows, in the SQL of the place where the replica is; not for mirrors and histories.

        Returns:
            The number of rows; None if a poll that has the stream does it, or has done it.

        Raises:
            ConfigError: There is no such sink, or it cannot have these rows.
            Refused: The replica has no rows.
            DeliveryError: The sink failed; the next poll tries again.
        """
        from qbcd.delivery.resend import resend

        stream = self._parts.open_stream(self.name)
        with one_message(stream):
            report = resend(stream, sink, where)
        return None if report is None else report.resent.get(sink)

    def plan(self) -> StreamPlan:
        """Return the stream as resolved against the source's present catalog."""
        with self._parts.read_only():
            stream = self._parts.open_stream(self.name)
            return plan_of(stream, stream.site.context.row())[0]

    def explain(self) -> list[ExplainedStatement]:
        """Return the statements of a poll; run none."""
        with self._parts.read_only():
            stream = self._parts.open_stream(self.name)
            row = stream.site.context.row()
            plan, _ = plan_of(stream, row)
            return stream.site.explain(plan, stream.settings, row)

    def predict(self) -> tuple[Prediction, Facts] | None:
        """Predict the cost of a poll, with the facts behind it.

        The prediction uses the source's statistics and the stream's history. None for a stream of files or of a JDBC
        driver alone, which has no statistics.
        """
        from qbcd.advisor import predict_stream

        with self._parts.read_only():
            stream = self._parts.open_stream(self.name)
            if self._parts.streams.has_one_strategy(self.name):
                return None
            row = stream.site.context.row()
            plan, _ = plan_of(stream, row)
            return predict_stream(stream, plan, row)

    @property
    def strategy(self) -> str:
        """The strategy's name; of `auto`, the one that it has chosen or would choose now."""
        with self._parts.read_only():
            return self._parts.open_stream(self.name).config.strategy

    @property
    def ships_unchanged(self) -> str:
        """The data that leaves the source in a poll that finds no change, in words."""
        with self._parts.read_only():
            stream = self._parts.open_stream(self.name)
            return stream.site.strategy(plan_of(stream, stream.site.context.row())[0]).ships_unchanged

    @property
    def engine(self) -> str:
        """The engine that does the stream's work, in words."""
        with self._parts.read_only():
            return self._parts.open_stream(self.name).settings.engine.describe()

    def ddl(self) -> list[str]:
        """Return statements on the source for a DBA: the DDL that `prepare` runs, grants, indexes.

        If the source is only read, they are recommendations, or there are none.
        """
        with self._parts.read_only():
            stream = self._parts.open_stream(self.name)
            plan, _ = plan_of(stream, None)
            return stream.site.ddl(plan)

    def latest(self, n: int = 20) -> list[tuple[BatchHeader, list[str]]]:
        """Return the latest `n` events as JSON lines, by batch, oldest first.

        Raises:
            Refused: The stream is not prepared.
        """
        from qbcd.status import latest_events

        stream = self._parts.open_stream(self.name)
        read = partial(explained, partial(latest_events, stream, n), lambda e: stream.source.explain(e, stream.name))
        with one_message(stream):
            return stream.narrowing(read)


class Project:
    """An open project. Use it as a context manager, or call :meth:`close`.

    A closed project refuses all work.

    Args:
        spark: A session to use unchanged; without it, one is started when rows must travel.
    """

    def __init__(self, config: ProjectConfig, spark: SparkSession | None = None) -> None:
        self._parts = ProjectParts(config, spark)

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], spark: SparkSession | None = None, base_dir: str | Path = "."
    ) -> Project:
        """Open a project from a dict with the structure of the configuration file.

        Relative paths start from `base_dir`.
        """
        return cls(config_from_dict(data, base_dir), spark)

    def __enter__(self) -> Project:
        self._parts.refuse_closed()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close connections, and the Spark session if this project started it."""
        self._parts.close()

    @property
    def config(self) -> ProjectConfig:
        """The validated configuration."""
        return self._parts.config

    @property
    def streams(self) -> list[StreamHandle]:
        """All streams, in the order of the file; for those of patterns the sources are asked, once.

        Tables that have appeared since the first `prepare` have a stream only if their entry captures new tables.
        """
        return [StreamHandle(self._parts, config) for config in self._parts.streams.roster().streams.values()]

    def stream(self, name: str) -> StreamHandle:
        """Return the stream called `name`.

        Raises:
            ConfigError: There is no such stream.
        """
        self._parts.refuse_closed()
        return StreamHandle(self._parts, self._parts.streams.config(*names_of([name], "stream")))

    def left(self) -> list[LeftStream]:
        """Return prepared streams that are no longer configured.

        Raises:
            QbcdError: A source cannot be reached.
        """
        from qbcd.orphans import left_streams

        with self._parts.read_only():
            return left_streams(self._parts)

    def to_reset(self, name: str, *, take_over: bool = False) -> StreamHandle | LeftStream | ForeignStream:
        """Return the stream called `name`, also if it is prepared but no longer configured.

        Args:
            take_over: The stream that a source keeps for another project, or for a state that is lost.

        Raises:
            ConfigError: There is no such stream.
            StateConflict: No source keeps it for another project.
        """
        from qbcd.orphans import foreign_stream, left_streams

        [name] = names_of([name], "stream")
        if take_over:
            with self._parts.read_only():
                return foreign_stream(self._parts, name)
        with self._parts.read_only():
            configured = self._parts.streams.roster().find(name) is not None
        if not configured:
            with self._parts.read_only():
                for left in left_streams(self._parts, [name]):
                    return left
        return self.stream(name)

    def check(self, streams: str | Iterable[str] = ()) -> list[Finding]:
        """Check everything that polls need, as ``qbcd check``; change nothing.

        A missing JDBC driver may be downloaded into the user's cache.

        Args:
            streams: Names, or one name; none means all.
        """
        from qbcd import check
        from qbcd.sinks.places import SinkPlaces

        parts, config = self._parts, self.config
        parts.refuse_closed()
        engines, drivers = parts.engines, parts.sources.drivers()
        found = check.check_machine(
            drivers, engines.workdir, config.spark, parts.spark, engines.check_settings, config.engines
        )
        with parts.read_only():
            found += check.check_state_folder(config.state_url()) if parts.state_is_new else []
            found += check.check_patterns(parts) if not streams else []
            names = parts.streams.select(streams, new=True)
            places = SinkPlaces()
            for of_stream in parts.in_rounds(
                names, lambda one: check.check_stream(one, parts.all_sites(one.name), places)
            ):
                found += of_stream
            found += check.check_places(places)
            found += check.check_choices(parts, names)
            return check.one_per_folder([*found, *check.check_left(parts, state_is_new=parts.state_is_new)])

    def prepare(
        self,
        streams: str | Iterable[str] = (),
        *,
        on_prepared: Callable[[Preparation], None] = lambda prepared: None,
        stop: threading.Event | None = None,
    ) -> list[Preparation]:
        """Prepare the named streams, or all, as ``qbcd prepare``.

        Up to `jobs` streams of a source are prepared at the same time. An error ends only the preparation of its
        stream, and is in the result of that stream.

        Args:
            streams: Names, or one name; none means all, also those of new tables.
            on_prepared: Called after each stream, one call at a time; with several sources or jobs from their threads.
            stop: Set it to begin no other stream; those that were not begun are not in the result.

        Raises:
            ConfigError: A name is not the name of a stream; nothing was created then.
            QbcdError: There is no stream, since a source cannot list the tables of a pattern, or none matches.
        """
        parts, found, lock = self._parts, dict[str, Preparation](), threading.Lock()
        parts.refuse_closed()
        names = parts.streams.capture_all(streams)
        if not names and (problem := next(iter(parts.streams.roster().problems), None)) is not None:
            raise problem

        def prepare(name: str) -> None:
            if stop is not None and stop.is_set():
                return
            done = _prepared(StreamHandle(parts, parts.streams.config(name)))
            with lock:
                found[name] = done
                on_prepared(done)

        parts.each(names, prepare)
        return [found[name] for name in names if name in found]

    def advise(
        self, streams: str | Iterable[str] = (), *, watch: float = 0.0, wait: Callable[[float], object] = time.sleep
    ) -> list[Advice]:
        """Return each strategy for each stream with its predicted cost, and the choice of `auto`.

        Nothing is changed.

        Args:
            streams: Names, or one name; none means all.
            watch: Seconds between two readings of the server's write counters; 0 for none.
            wait: Waits for a number of seconds.

        Raises:
            ConfigError: There is one strategy for the source of a named stream.
        """
        parts = self._parts
        parts.refuse_closed()
        with parts.read_only():
            known = parts.streams
            names = [name for name in known.select(streams) if streams or not known.has_one_strategy(name)]
            before = {name: parts.written_rows(name) for name in names} if watch else {}
            if watch:
                wait(watch)
            found = []
            for name in names:
                per_hour = _per_hour(before.get(name), parts.written_rows(name)) if watch else None
                found.append(parts.advise(name, per_hour))
            return found

    def verify(self, streams: str | Iterable[str] = ()) -> list[Verification]:
        """Compare replica and source of each stream in full, as ``qbcd verify``.

        An error ends only the comparison of its stream, and is in the result of that stream.

        Args:
            streams: Names, or one name; none means all.

        Raises:
            ConfigError: A name is not the name of a stream.
        """
        handles = [self.stream(name) for name in self._parts.streams.select(streams)]
        return [_verified(handle) for handle in handles]

    def subscriptions(self, event: Mapping[str, Any] | None = None) -> Listing:
        """Return all subscriptions with their states and shapes, as ``qbcd subscriptions``.

        Args:
            event: An event as `qbcd changes --json` prints it; `matches` then has the ids that it matches.

        Raises:
            ConfigError: The configuration has no subscriptions, or the event is none of a stream with some.
        """
        from qbcd.delivery.interest import narrowed_by
        from qbcd.local.arrow import event_schema
        from qbcd.planning import planned_batch
        from qbcd.subscriptions.listing import ListedSubscription, Listing, one_event, trial_stream

        parts, written = self._parts, self.config.subscriptions
        if written is None:
            raise ConfigError("there is no section `subscriptions`", remedy="docs/how-to/match-conditions.md has one")
        found, everything = Listing(), parts.enriching.subscriptions
        with parts.read_only():
            everything.renew()
            names = [name for name in parts.streams.roster().streams if written.allowed(name) is not None]
            if event is not None and (named := trial_stream(event)) not in names:
                raise ConfigError(f"the event is of {named!r}, a stream without subscriptions")
            for name in names:
                stream = parts.open_stream(name)
                enricher = parts.enriching.subscription_enricher(stream)
                assert enricher is not None
                enricher.writes_status = False
                row = stream.site.context.row()
                plan = plan_of(stream, row)[0]
                header = planned_batch(stream, plan, row)
                found.add(header, enricher, everything, narrowed_by(stream, plan))
                if event is not None and trial_stream(event) == name:
                    matcher = enricher.matcher_for(header, event_schema(header))
                    found.matches = matcher.match(one_event(parts.local, header, event)).column("id").to_pylist()
        astray = everything.astray.items()
        found.subscriptions += [ListedSubscription(each, "", why) for each, why in astray]
        return found

    def status(self, streams: str | Iterable[str] = ()) -> list[StreamStatus]:
        """Return the state of the named streams, or of all; create nothing and start no Spark."""
        from qbcd.status import stream_status

        parts = self._parts
        with parts.read_only():
            return parts.in_rounds(parts.streams.select(streams), stream_status)

    def run(
        self,
        streams: str | Iterable[str] = (),
        *,
        once: bool = False,
        accept_deletes: bool = False,
        accept_source: bool = False,
        on_outcome: Callable[[Outcome], None] = lambda outcome: None,
        stop: threading.Event | None = None,
    ) -> JobReport:
        """Poll the named streams, or all, once or until `stop` is set, as ``qbcd run``.

        Args:
            streams: Names, or one name; none means all.
            once: Poll each once and return.
            accept_deletes: Lift the delete guard once.
            accept_source: Continue although a source is not the server that was prepared.
            on_outcome: Called after every poll, one call at a time; with several sources or jobs from their threads.
            stop: Set it to end after the current steps.
        """
        options = JobOptions(once=once, accept_deletes=accept_deletes, accept_source=accept_source)
        return run_job(self._parts, streams, options, JobEvents(on_outcome), stop or threading.Event())


@dataclass(frozen=True)
class JobOptions:
    """The options of a job.

    Attributes:
        once: Poll each stream once.
        accept_deletes: Lift the delete guard once.
        accept_source: Continue although a source is not the server that was prepared.
        jobs: Streams of a source that are polled at the same time; None for the configured number.
        tables: What the job reports about tables of patterns.
    """

    once: bool = False
    accept_deletes: bool = False
    accept_source: bool = False
    jobs: int | None = None
    tables: TableEvents = field(default_factory=TableEvents)


def run_job(
    parts: ProjectParts, streams: str | Iterable[str], options: JobOptions, events: JobEvents, stop: threading.Event
) -> JobReport:
    """Poll streams of a project, once or until `stop` is set.

    Without names it also follows the tables of patterns.
    """
    named = names_of(streams, "stream")
    parts.stopping, parts.sources.jobs = stop.is_set, options.jobs or parts.config.jobs
    lifted = {"accept_deletes": options.accept_deletes, "accept_source": options.accept_source}
    patterns = [] if named else [entry.source for entry in parts.config.patterns]
    try:
        watch = TableWatch(parts, options.tables) if patterns else None
        names = watch.streams() if watch else parts.streams.select(named)
        work = [parts.open_stream(name, **lifted, ask=False) for name in names]
        with (
            _notifying(parts, work) as notify,
            _openlineage(parts, work) as report,
            short_waits_after(stop, parts.open_sinks),
        ):

            def on_outcome(outcome: Outcome) -> None:
                if notify is not None:
                    notify.add(outcome)
                if report is not None:
                    report(outcome)
                events.on_outcome(outcome)

            def on_stream(stream: Stream) -> None:
                if notify is not None:
                    notify.follow(stream)
                options.tables.on_stream(stream)

            made = replace(events, on_outcome=on_outcome, refresh=parts.refresh, jobs=parts.sources.jobs_of)
            if options.once:
                return run_once(work, made, stop)
            if watch is not None:
                made = replace(made, renew=partial(_renewed, parts, watch, on_stream))
            return run_always(work, made, stop, patterns)
    finally:
        parts.stopping, parts.sources.jobs = lambda: False, 1  # a later poll is another job


def _notifying(parts: ProjectParts, work: Sequence[Stream]) -> AbstractContextManager[Notifications | None]:
    """Return what sends notifications of polls in a block; None if no address is configured."""
    if not parts.config.notify:
        return nullcontext()
    from qbcd.monitoring.notifying import notifying

    return notifying(parts, work)


def _openlineage(
    parts: ProjectParts, work: Sequence[Stream]
) -> AbstractContextManager[Callable[[Outcome], None] | None]:
    """Return a block that yields a function to send OpenLineage events of polls.

    It yields None if the configuration does not want them.
    """
    if parts.config.openlineage is None:
        return nullcontext()
    from qbcd.monitoring.openlineage_events import openlineage

    return openlineage(parts, work)


def _renewed(
    parts: ProjectParts,
    watch: TableWatch,
    on_stream: Callable[[Stream], None],
    source: str,
    polled: Mapping[str, Stream],
) -> Mapping[str, Stream] | None:
    """Return the streams of a source if they differ from `polled`.

    Before that, call `on_stream` for those that are new.
    """
    try:
        names = watch.renewed(source, polled)
        if names is None:
            return None
        opened = {name: parts.open_stream(name, ask=False) for name in names if name not in polled}
    except QbcdError as error:  # of the state database; the next poll gets and reports it
        log.warning("tables of patterns could not be renewed: %s", error)
        return None
    for stream in opened.values():
        on_stream(stream)
    return {name: opened.get(name) or polled[name] for name in names}


def _per_hour(before: tuple[float, float] | None, after: tuple[float, float] | None) -> Amount:
    """Return the rows written in an hour, from two readings of a counter with their times."""
    from qbcd.strategies.amounts import UNKNOWN, Amount

    if before is None or after is None or after[1] <= before[1]:
        return UNKNOWN
    return Amount.of(max(0.0, after[0] - before[0]) / (after[1] - before[1]) * 3600)


def _prepared(handle: StreamHandle) -> Preparation:
    try:
        return Preparation(handle.name, handle.prepare())
    except QbcdError as error:
        error.stream = error.stream or handle.name
        return Preparation(handle.name, error=error)


def _verified(handle: StreamHandle) -> Verification:
    try:
        return Verification(handle.name, handle.verify())
    except QbcdError as error:
        error.stream = error.stream or handle.name
        return Verification(handle.name, error=error)


def parts_of(project: Project) -> ProjectParts:
    """Return the parts of a project, for the command line, the demonstration and tests only."""
    return project._parts


def open(path: str | os.PathLike[str] = "qbcd.yaml", spark: SparkSession | None = None) -> Project:
    """Open the project of a configuration file.

    Raises:
        ConfigError: The file is missing or wrong; the message names file, line and remedy.
    """
    return Project(load_config(path), spark)


__all__ = ["Batch", "Project", "StreamHandle", "open"]
