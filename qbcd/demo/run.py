"""``qbcd demo``: one day of changes in real data, found by polling, in numbered steps.

A user would do the same: a configuration file, `prepare`, `run --once`, `verify`. The private server is removed at the
end; configuration and event files remain.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.syntax import Syntax

from qbcd.api import Project, open, parts_of
from qbcd.cli import formatting
from qbcd.cli.output import show_progress
from qbcd.demo import delays, flights, mirror, tables
from qbcd.demo.flights import TableChanges
from qbcd.demo.folder import Folder
from qbcd.demo.server import EmbeddedPostgres
from qbcd.demo.tables import TOGETHER
from qbcd.errors import QbcdError
from qbcd.model import Cost
from qbcd.sinks.console import event_table
from qbcd.spark_source import register
from qbcd.stream import Report

if TYPE_CHECKING:
    from qbcd.cli.output import Output

SAMPLE = 3
NAME_WIDTH = 15  # of a stream's name in lists


class Demo:
    """One demonstration.

    Args:
        output: Output for the steps; with JSON it gets a summary only.
        directory: Folder for configuration and events; an earlier demonstration may have used it.
        keep: Leave the server running at the end until the user interrupts.
    """

    def __init__(self, output: Output, directory: Path, *, keep: bool) -> None:
        self.output = output
        self.folder = Folder(directory)
        self.keep = keep
        self._number = 0
        self._jobs: Mapping[str, int] = {}  # Spark jobs of the last polls, by stream
        self._summary: dict[str, Any] = {}

    def run(self) -> int:
        """Run it; return 0, or 1 if the events differ from the changes that were applied.

        Raises:
            QbcdError: A requirement is missing, or a step failed.
        """
        started = time.monotonic()
        self.folder.claim()
        with _terminable():
            try:
                with self.output.working("starting PostgreSQL"):
                    server = EmbeddedPostgres.start()
                with server:
                    good = self._steps(server)
                    self._end(good, time.monotonic() - started)
                    if self.keep:
                        self._wait()
            finally:
                self.folder.forget_state()
        if self.output.as_json:
            self.output.data(self._summary)
        return 0 if good else 1

    def _steps(self, server: EmbeddedPostgres) -> bool:
        self._load(server)
        self._configure(server)
        with open(self.folder.config) as project:
            with self._step("qbcd prepare: store the baseline, the rows as they are now"):
                self._prepare(project)
            with self._step("A day passes in the database"):
                applied = _by_stream(project, self._apply(server))
            with self._step("qbcd run --once: find the changes"):
                reports = self._poll(project)
                good = self._compare(reports, applied)
            with self._step("Spark reads the changes of flights: a batch is a version"):
                good = self._read_by_spark(project, applied) and good
            with self._step("Some of the events"):
                self._sample(reports)
            with self._step("qbcd verify: replica and source, compared in full"):
                good = self._verify(project) and good
                good = self._compare_mirror(server) and good
            with self._step("qbcd run --once again, with nothing changed"):
                good = self._poll_unchanged(project) and good
        return good

    # -- the steps ---------------------------------------------------------------------------------------------------
    def _load(self, server: EmbeddedPostgres) -> None:
        with self._step("A private PostgreSQL with the flights that left New York in 2013"):
            began = time.monotonic()
            with self.output.working("loading"), _connected(server) as conn:
                rows = flights.load(conn)
            self._summary["rows"] = rows
            self._show(", ".join(f"{table} {formatting.counted(n, 'row')}" for table, n in rows.items()))
            self._show(f"[dim]loaded in {formatting.duration(time.monotonic() - began)}[/]")

    def _configure(self, server: EmbeddedPostgres) -> None:
        with self._step(f"The configuration, {escape(str(self.folder.config))}"):
            text = self.folder.configure(server.url)
            if self.output.out.is_terminal:
                self._show(Syntax(text, "yaml", theme="ansi_dark", background_color="default", word_wrap=True))
            else:
                self._show(escape(text.rstrip()))

    def _prepare(self, project: Project) -> None:
        for handle in project.streams:
            with self._working(project, handle.name):
                report = handle.prepare()
            _raise_failures(report)
            rows = formatting.counted(report.cost.rows_scanned, "row")
            self._show(
                f"{handle.name:<{NAME_WIDTH}}{handle.config.strategy:<7} {rows:>12} "
                f"[dim]in {formatting.duration(report.cost.seconds)}[/]"
            )

    def _apply(self, server: EmbeddedPostgres) -> dict[str, TableChanges]:
        with _connected(server) as conn, delays.watched(conn) as changes:
            applied = flights.apply_day(conn) | {delays.STREAM: changes()}
        self._show("cancelled flights are deleted, delays are corrected, flights are added,")
        self._show("one plane gets another registration, one gets winglets")
        self._summary["applied"] = {table: asdict(changes) for table, changes in applied.items()}
        return applied

    def _poll(self, project: Project) -> dict[str, Report]:
        jobs = {"": _spark_jobs(project)}  # their number after each poll; the streams of a source are polled in turn
        with self._working(project, "polling"):
            job = project.run(once=True, on_outcome=lambda one: jobs.update({one.stream: _spark_jobs(project)}))
        counts = list(jobs.values())
        self._jobs = {name: n - before for (name, n), before in zip(list(jobs.items())[1:], counts, strict=False)}
        self._jobs[TOGETHER] = counts[-1] - counts[0]
        reports = {}
        for outcome in job.outcomes:
            if outcome.error is not None:
                raise outcome.error
            if outcome.report is not None:
                _raise_failures(outcome.report)
                reports[outcome.stream] = outcome.report
        return reports

    def _compare(self, reports: Mapping[str, Report], applied: Mapping[str, TableChanges]) -> bool:
        found = {stream: report.counts for stream, report in reports.items()}
        table, good = tables.compared(found, applied)
        self._summary["found"] = found
        self._show(table)
        self._costs("poll", reports)
        return good

    def _costs(self, name: str, reports: Mapping[str, Report]) -> Cost:
        costs = {stream: report.cost for stream, report in reports.items()}
        together = sum(costs.values(), Cost())
        self._show(tables.costs({**costs, TOGETHER: together}, self._jobs))
        self._summary[name] = asdict(together)
        self._summary["spark_jobs"] = {**self._summary.get("spark_jobs", {}), name: self._jobs}
        return together

    def _read_by_spark(self, project: Project, applied: Mapping[str, TableChanges]) -> bool:
        before, began = _spark_jobs(project), time.monotonic()
        with self._working(project, "reading by Spark"):
            spark = parts_of(project).spark.get()
            register(spark)
            rows = spark.read.format("qbcd").option("config", str(self.folder.config.absolute())).load("flights")
            found = {
                str(row["_change_type"]): int(row["count"]) for row in rows.groupBy("_change_type").count().collect()
            }
        seconds, jobs = time.monotonic() - began, _spark_jobs(project) - before
        self._show("register(spark)")
        self._show(escape(f'spark.read.format("qbcd").option("config", "{self.folder.config}").load("flights")'))
        self._show('    .groupBy("_change_type").count()')
        table, good = tables.change_rows(found, applied["flights"])
        self._show(table)
        self._show(f"[dim]{formatting.counted(jobs, 'Spark job')} in {formatting.duration(seconds)}[/]")
        self._summary["read_by_spark"] = {"rows": found, "spark_jobs": jobs, "seconds": seconds}
        return good

    def _sample(self, reports: Mapping[str, Report]) -> None:
        for stream, ops in (("planes", "duc"), ("flights", "u"), (delays.STREAM, "u")):
            header = reports[stream].header
            if header is not None:
                events = [event for event in self.folder.events(header) if event["op"] in ops]
                self._show(f"of {stream}:")
                self._show(event_table(header, events[:SAMPLE]))

    def _verify(self, project: Project) -> bool:
        good = True
        for handle in project.streams:
            with self._working(project, handle.name):
                found = handle.verify()
            good = good and not found
            verdict = "equal" if not found else f"[bold red]{formatting.counted(len(found), 'difference')}[/]"
            self._show(f"{handle.name:<{NAME_WIDTH}}{verdict}")
        self._summary["verified"] = good
        return good

    def _compare_mirror(self, server: EmbeddedPostgres) -> bool:
        with _connected(server) as conn:
            rows, equal = mirror.compared(self.folder.mirror, conn)
        verdict = "equal to the source" if equal else "[bold red]not equal to the source[/]"
        self._show(
            f"{escape(self.folder.mirror.name)}: {mirror.MIRRORED}, {formatting.counted(rows, 'row')}, {verdict}"
        )
        self._summary["mirror"] = {"rows": rows, "equal": equal}
        return equal

    def _poll_unchanged(self, project: Project) -> bool:
        reports = self._poll(project)
        jobs, total = self._jobs[TOGETHER], self._costs("unchanged_poll", reports)
        events = sum(report.header.size for report in reports.values() if report.header)
        self._show(
            f"[bold]{formatting.counted(events, 'event')}, {formatting.counted(total.rows_shipped, 'row')} shipped, "
            f"{formatting.counted(jobs, 'Spark job')}[/]"
        )
        self._summary["unchanged_poll"] |= {"events": events, "spark_jobs": jobs}
        return not (events or jobs or total.rows_shipped)

    def _end(self, good: bool, seconds: float) -> None:
        with self._step("Files of the demonstration"):
            files = self.folder.event_files()
            for path in files:
                self._show(f"{escape(str(path))} [dim]{formatting.size(path.stat().st_size)}[/]")
            self._show(f"{escape(str(self.folder.lake))} [dim]the events of flights as Parquet[/]")
            self._show(f"{escape(str(self.folder.mirror))} [dim]the mirror of {mirror.MIRRORED}[/]")
            self._summary |= {"files": [str(path) for path in files], "good": good, "seconds": seconds}
        verdict = "[bold green]everything matches[/]" if good else "[bold red]not everything matches[/]"
        cleanup = "" if self.keep else "; server and replicas are removed, these files remain"
        self._print(f"\n{verdict} [dim]({formatting.duration(seconds)}{cleanup})[/]")

    def _wait(self) -> None:
        config = escape(str(self.folder.config))
        self.output.say(f"the server runs on: qbcd -c {config} status; Ctrl-C ends it")
        try:
            signal.pause()
        except KeyboardInterrupt:
            self.output.say("stopping the server and removing the replicas")

    # -- helpers -----------------------------------------------------------------------------------------------------
    @contextmanager
    def _step(self, title: str) -> Iterator[None]:
        self._number += 1
        self._print(f"\n[bold]{self._number}. {title}[/]")
        yield

    @contextmanager
    def _working(self, project: Project, what: str) -> Iterator[None]:
        with self.output.working(what) as now:
            show_progress(project, now)
            yield

    def _show(self, thing: RenderableType) -> None:
        self._print(Padding(thing, (0, 0, 0, 3), expand=False))

    def _print(self, thing: RenderableType) -> None:
        if not self.output.as_json:
            self.output.out.print(thing)


def _by_stream(project: Project, applied: Mapping[str, TableChanges]) -> dict[str, TableChanges]:
    """Return the changes of each stream: those of its table, or of its query's result."""
    streams = [handle.config for handle in project.streams]
    return {one.name: applied[one.name if one.query else one.table_name] for one in streams}


@contextmanager
def _connected(server: EmbeddedPostgres) -> Iterator[Any]:
    import psycopg2

    conn = psycopg2.connect(server.url)
    try:
        yield conn
    finally:
        conn.close()


@contextmanager
def _terminable() -> Iterator[None]:
    """In the block, handle SIGTERM like Ctrl-C, so that everything is cleaned up."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before: Callable[..., Any] | int | None = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _spark_jobs(project: Project) -> int:
    """Return the number of jobs that this project's Spark session has run."""
    spark = parts_of(project).spark
    if not spark.started:
        return 0
    return max(spark.get().sparkContext.statusTracker().getJobIdsForGroup(), default=-1) + 1


def _raise_failures(report: Report) -> None:
    failure: QbcdError | None = next(iter(report.failures.values()), None)
    if failure is not None:
        raise failure
