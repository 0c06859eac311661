"""Command ``run``: poll once, or until a signal."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.markup import escape

from qbcd.cli.app import StreamNames, switch
from qbcd.cli.measuring import Measuring, measuring
from qbcd.cli.output import Output, show_progress, worst
from qbcd.cli.prepare import show_prepared
from qbcd.cli.run_lines import RunLines
from qbcd.common.side_by_side import first_true
from qbcd.common.wording import counted
from qbcd.errors import NotPrepared, QbcdError, Refused

if TYPE_CHECKING:
    from qbcd.api import Project
    from qbcd.polling.outcome import JobReport, Outcome
    from qbcd.polling.table_watch import TableChange, TableEvents
    from qbcd.run import Preparation
    from qbcd.stream import Report

T = TypeVar("T")


class LogFormat(str, Enum):
    """The form of log lines."""

    text = "text"
    json = "json"


@dataclass(frozen=True)
class RunOptions:
    """The options of ``run``."""

    once: Annotated[bool, switch("--once", help="Poll each stream once and exit.")] = False
    prepare: Annotated[bool, switch("--prepare", help="Prepare streams that are not prepared.")] = False
    accept_deletes: Annotated[bool, switch("--accept-deletes", help="Let the refused deletes through, once.")] = False
    accept_source: Annotated[bool, switch("--accept-source", help="Continue with a changed server, once.")] = False
    jobs: Annotated[
        int | None, typer.Option("--jobs", metavar="N", min=1, max=64, help="Streams of a source polled at once.")
    ] = None
    log_format: Annotated[
        LogFormat | None, typer.Option("--log-format", help="Log lines on stderr; text if it is no terminal.")
    ] = None
    metrics: Annotated[
        str, typer.Option("--metrics", metavar="HOST:PORT", help="Serve metrics for Prometheus.", show_default=False)
    ] = ""
    metrics_file: Annotated[
        Path | None, typer.Option("--metrics-file", metavar="FILE", help="With --once: write metrics to this file.")
    ] = None


def run(output: Output, streams: StreamNames = None, options: RunOptions = RunOptions()) -> int:
    """Poll: every stream at its interval until stopped, or once."""
    if options.log_format is not None:
        output.log_lines(as_json=options.log_format is LogFormat.json)
    stop = threading.Event()
    with (
        measuring(output, options.metrics, options.metrics_file, once=options.once) as measured,
        output.project() as project,
        output.working("polling") as now,
        _signals(output, stop),
    ):
        show_progress(project, now)
        job = Job(output, project, options, now, stop, measured)
        code = _aside(lambda: job.run(streams or ()))
    return 0 if stop.is_set() and not options.once else code


@dataclass
class Job:
    """One call of ``run``: prepare streams if requested, then poll."""

    output: Output
    project: Project
    options: RunOptions
    now: Callable[[str], None]
    stop: threading.Event
    measured: Measuring
    failed: dict[str, str] = field(default_factory=dict)  # errors of streams that could not be prepared, until polled

    def run(self, streams: Sequence[str]) -> int:
        """Return the exit code.

        Raises:
            Refused: No stream is prepared, and ``--prepare`` is not given.
        """
        from qbcd.api import parts_of

        names = list(streams) or [handle.name for handle in self.project.streams]
        if self.options.prepare:
            names = parts_of(self.project).streams.capture_all(streams)
        prepare = self._unprepared(names) if self.options.prepare else []
        if not (self.options.once or self.options.prepare) and self._nothing_is_prepared(names):
            raise _nothing_prepared(names, all_streams=not streams)
        if not (self.options.once or self.output.log or self.output.err.is_terminal):
            self.output.log_lines(as_json=False)  # an error that ends the command earlier is not a log line
        codes = self._prepare(prepare)
        if self.options.once and self.failed:  # an error was printed for streams that could not be prepared
            streams = names = [name for name in names if name not in self.failed]
        if names and not self.stop.is_set():
            codes.append(self._poll(names, streams).exit_code)
            codes.append(self._write_metrics())
        return worst(codes)

    def _poll(self, names: Sequence[str], named: Sequence[str]) -> JobReport:
        """Poll `names`; without `named`, also streams of tables that appear later."""
        from qbcd.api import JobOptions, parts_of, run_job
        from qbcd.polling.job import JobEvents

        options, remaining = self.options, set(names)
        polls_too = options.log_format is not None or not self.output.as_json
        lines = RunLines(self.output, once=options.once, polls_too=polls_too)

        def add(outcome: Outcome) -> None:
            self.measured.add(outcome)
            lines.add(outcome, is_known=self._is_known(outcome))
            remaining.discard(outcome.stream)
            if not options.once:
                self.now("waiting for the next poll")
            elif remaining:
                self.now("polling")

        self.measured.begin(parts_of(self.project), names)
        if self.output.log is not None:
            self.output.log.add("info", f"polling {counted(len(names), 'stream')}")
        how = JobOptions(
            once=options.once,
            accept_deletes=options.accept_deletes,
            accept_source=options.accept_source,
            jobs=options.jobs,
            tables=self._table_events(),
        )
        return run_job(parts_of(self.project), named, how, JobEvents(add, then=self._prepare_later), self.stop)

    def _table_events(self) -> TableEvents:
        from qbcd.polling.table_watch import TableEvents

        def change(one: TableChange) -> None:
            if one.change == "capturing":
                self.output.remark(one.stream, escape(one.text))
            else:
                self.output.warn(one.text, one.stream)

        def prepared(name: str, report: Report) -> None:
            show_prepared(self.output, name, report, self.output.remark)

        return TableEvents(change, self.output.complain, prepared, self.measured.follow)

    def _write_metrics(self) -> int:
        try:
            self.measured.write()
        except QbcdError as error:
            self.output.error(error)
            return error.exit_code
        return 0

    def _unprepared(self, names: Sequence[str]) -> list[str]:
        """Return the streams that are certainly not prepared."""
        from qbcd.api import parts_of
        from qbcd.status import is_prepared

        parts = parts_of(self.project)
        with parts.read_only():
            prepared = parts.in_rounds(names, is_prepared)
        return [name for name, known in zip(names, prepared, strict=True) if known is False]

    def _nothing_is_prepared(self, names: Sequence[str]) -> bool:
        """Return True if certainly no stream is prepared.

        Do not wait for a source if another one shows that a stream may be prepared.
        """
        from qbcd.api import parts_of
        from qbcd.status import is_prepared

        parts = parts_of(self.project)

        def may_poll(streams: Sequence[str]) -> bool:
            return any(is_prepared(parts.open_stream(name)) is not False for name in streams)

        with parts.read_only():
            return not first_true([partial(may_poll, streams) for streams in parts.streams.by_source(names).values()])

    def _prepare(self, names: Sequence[str]) -> list[int]:
        """Prepare streams, several at once; return exit codes. After a signal, begin no other one."""

        def prepared(one: Preparation) -> None:
            if one.error is not None:
                self.failed[one.stream] = str(one.error)
                self.output.trace(one.error)
                self.output.error(one.error)
            elif one.report is not None:
                show_prepared(self.output, one.stream, one.report, self.output.remark)

        self.now("preparing")
        done = self.project.prepare(names, on_prepared=prepared, stop=self.stop) if names else []
        return [one.exit_code for one in done]

    def _is_known(self, outcome: Outcome) -> bool:
        """Return True if `prepare` has printed the error of a poll, or prints a better one next."""
        if isinstance(outcome.error, NotPrepared):
            return self.options.prepare
        return outcome.error is not None and self.failed.get(outcome.stream) == str(outcome.error)

    def _prepare_later(self, outcome: Outcome) -> None:
        """Prepare a stream that could not be prepared before, but not again before its next poll."""
        has_just_failed = self.failed.pop(outcome.stream, None) is not None
        if self.options.prepare and isinstance(outcome.error, NotPrepared) and not has_just_failed:
            self._prepare([outcome.stream])
            self.failed.pop(outcome.stream, None)


def _nothing_prepared(names: Sequence[str], *, all_streams: bool) -> Refused:
    if len(names) == 1:
        only = "" if all_streams else f" {names[0]}"
        return Refused("is not prepared", stream=names[0], remedy=f"qbcd prepare{only}, or qbcd run{only} --prepare")
    which = "" if all_streams else f" {' '.join(names)}"
    what = f"none of the {len(names)} streams is prepared"
    return Refused(what, remedy=f"qbcd prepare{which}, or qbcd run{which} --prepare")


def _aside(work: Callable[[], T]) -> T:
    """Run `work` in a thread; in the main thread PySpark would replace our SIGINT handler."""
    with ThreadPoolExecutor(1, thread_name_prefix="qbcd-poll") as pool:
        return pool.submit(work).result()


@contextmanager
def _signals(output: Output, stop: threading.Event) -> Iterator[None]:
    """Set `stop` at the first signal; end the process at once at the second.

    That is safe at any point: uncommitted work is repeated, and a dead process of this host holds no lease.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()
        output.say("stopping after the current step; a second signal stops at once")

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
