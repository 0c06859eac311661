"""The output of commands: results on stdout, the rest on stderr, errors as exit codes.

Secrets are masked (`qbcd.config.masking`). Messages are qbcd's own and contain no secrets: :meth:`Output.masked` masks
only what has the form of a credential. Tracebacks, logs and stored messages contain foreign text:
:meth:`Output.foreign` masks all secrets in it.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.logging import RichHandler
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text
from typing_extensions import override

from qbcd.cli.log_lines import Level, LogLines
from qbcd.errors import QbcdError
from qbcd.spark.jvm_start import java_messages_to

if TYPE_CHECKING:
    from qbcd.api import Project
    from qbcd.config.masking import Masking

INTERRUPTED = 130
PLAIN_WIDTH = 160  # columns of a table that goes into a file or a pipe
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # errors of a disk, which may be that of stdout
_OF_SPARK = re.compile(r"\d\d:\d\d:\d\d (DEBUG|INFO|WARN|ERROR|FATAL) (spark .*)")  # see log4j2.properties
_LEVELS: Mapping[str, Level] = {"DEBUG": "debug", "INFO": "info", "WARN": "warning", "WARNING": "warning"}


class Output:
    """The output of one run of a command.

    Args:
        config: The configuration file.
        verbose: Log more; show tracebacks.
        as_json: Print results and errors as JSON on stdout.
        progress: Show progress if stderr is a terminal.

    Attributes:
        log: The writer for everything that goes to stderr, after a call of :meth:`log_lines`.
    """

    def __init__(self, *, config: Path, verbose: bool, as_json: bool, progress: bool) -> None:
        self.config = config
        self.verbose = verbose
        self.as_json = as_json
        self.out = _console(stderr=False)
        self.err = _console(stderr=True)
        self._progress = progress and self.err.is_terminal
        self._masking: Masking | None = None  # until the configuration is known
        self.log: LogLines | None = None

    def log_lines(self, *, as_json: bool) -> None:
        """Write log lines to stderr from now on, and show no progress."""
        self._progress = False
        self.log = LogLines(lambda line: print(f"{line}\n", end="", file=self.err.file, flush=True), as_json=as_json)

    # -- results -----------------------------------------------------------------------------------------------------
    def show(self, *things: RenderableType) -> None:
        """Print results for people; text is Rich markup, wrapped at words on a terminal."""
        for thing in things:
            self.out.print(thing, soft_wrap=isinstance(thing, str) and not self.out.is_terminal)

    def comment(self, text: str, style: str = "dim") -> None:
        """Print a comment between SQL statements; it must stay on one line."""
        self.out.print(f"[{style}]-- {escape(text)}[/]", soft_wrap=True)

    def item(self, name: str, text: str) -> None:
        """Print an entry of a list (both Rich markup); on a terminal, further lines are indented."""
        if not self.out.is_terminal:
            self.show(f"  {name}  {text}")
            return
        grid = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(f"  {name}", text)
        self.out.print(grid)

    def text(self, text: str) -> None:
        """Print a result unchanged; Rich would change some characters, such as tabs."""
        print(f"{text}\n", end="", file=self.out.file)  # one write, since sources have threads of their own

    def data(self, value: Any, *, indent: int | None = None) -> None:
        """Print a JSON value on stdout, on one line unless `indent` is given."""
        self.text(json.dumps(value, indent=indent, ensure_ascii=False, default=str))

    # -- messages ----------------------------------------------------------------------------------------------------
    def say(self, text: str) -> None:
        """Print a remark (Rich markup) on stderr, wrapped at words on a terminal."""
        if self.log is not None:
            self.log.add("info", Text.from_markup(text).plain)
        else:
            self.err.print(text, soft_wrap=not self.err.is_terminal)

    def remark(self, stream: str, text: str, **values: Any) -> None:
        """Print a remark about a stream (Rich markup) on stderr.

        `values` are further fields of a log line.
        """
        if self.log is not None:
            self.log.add("info", Text.from_markup(text).plain, stream, **values)
        else:
            self.say(f"[bold]{escape(stream)}[/]: {text}")

    def about(self, subject: str, text: str, **values: Any) -> None:
        """Print a remark about something other than a stream; `values` are fields of a log line."""
        if self.log is not None:
            self.log.add("info", f"{subject} {text}", **values)
        else:
            self.say(f"[bold]{escape(subject)}[/]: {text}")

    def ask(self, question: str) -> None:
        """Print a question on stderr; the answer is typed on the same line."""
        self.err.print(question, end="", markup=False, soft_wrap=True)

    def warn(self, text: str, stream: str = "") -> None:
        """Print a warning on stderr."""
        if self.log is not None:
            self.log.add("warning", self.masked(text), stream)
            return
        place = f"stream {stream}: " if stream else ""
        self.say(f"[bold yellow]warning:[/] {escape(self.masked(place + text))}")

    def error(self, error: QbcdError) -> None:
        """Print an error as a message on stderr, and with `as_json` as an object on stdout."""
        if self.as_json:
            try:
                self.data(self.as_data(error))
                self.out.file.flush()
            except OSError:  # stdout may be the error
                discard_stdout()
        self.complain(error)

    def complain(self, error: QbcdError, **values: Any) -> None:
        """Print an error as a message on stderr; `values` are further fields of a log line."""
        for one in problems(error):
            if self.log is not None:
                data = self.as_data(one)
                more = {name: data[name] for name in ("remedy", "where", "exit_code") if data[name]}
                self.log.add("error", self.masked(str(one)), one.stream, **more, **values)
            else:
                self.say(f"[bold red]error:[/] {escape(self.masked(str(one)))}")

    def trace(self, error: Exception) -> None:
        """Print the traceback of an error on stderr if `verbose`."""
        if self.verbose:
            text = self.foreign("".join(traceback.format_exception(error)))
            if self.log is not None:
                self.log.add_trace(text)
            else:
                self.err.print(text, markup=False, soft_wrap=True)

    def as_data(self, error: QbcdError) -> dict[str, Any]:
        """Return an error as JSON-ready data."""
        data = {"error": error.what, "remedy": error.remedy, "stream": error.stream, "where": error.where}
        masked: dict[str, Any] = {name: self.masked(text) for name, text in data.items()}
        if len(problems(error)) > 1:
            masked["problems"] = [self.as_data(one) for one in problems(error)]
        return masked | {"exit_code": error.exit_code}

    @contextmanager
    def working(self, what: str) -> Iterator[Callable[[str], None]]:
        """Show progress on stderr if it is a terminal; yield a function that changes its text."""
        if not self._progress:
            yield lambda words: None
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        # Results go to stdout meanwhile, so the progress must not redirect it.
        with Progress(*columns, console=self.err, transient=True, redirect_stdout=False) as progress:
            task = progress.add_task(what, total=None)
            yield lambda words: progress.update(task, description=words)

    # -- the frame of a command --------------------------------------------------------------------------------------
    def run(self, command: Callable[[], int]) -> int:
        """Run `command`; turn every exception into a message and an exit code."""
        with self._logging(), java_messages_to(self._from_java):
            try:
                code = command()
                self.out.file.flush()
                return code
            except QbcdError as error:
                self.trace(error)
                self.error(error)
                return error.exit_code
            except KeyboardInterrupt:
                self.say("interrupted")
                return INTERRUPTED
            except BrokenPipeError:
                discard_stdout()  # its reader has closed it
                return 1
            except Exception as error:  # noqa: BLE001 -- the one place where a bug becomes a message
                return self._bug(error)

    @contextmanager
    def project(self) -> Iterator[Project]:
        """Open the project of the configuration file; its secrets are masked from then on.

        Raises:
            ConfigError: The file is missing or wrong.
        """
        from qbcd.api import Project
        from qbcd.config import load_config
        from qbcd.config.masking import masking_of

        config = load_config(self.config)
        self._masking = masking_of(config)
        with Project(config) as project:
            yield project

    def masked(self, text: str) -> str:
        """Return a message of qbcd with everything masked that has the form of a credential."""
        from qbcd.config.masking import credentials_masked

        return credentials_masked(text)

    def foreign(self, text: str) -> str:
        """Return foreign or stored text without the secrets of the configuration."""
        return self.masked(text) if self._masking is None else self._masking.foreign(text)

    def _bug(self, error: Exception) -> int:
        first = (str(error).strip().splitlines() or [""])[0]
        what = self.foreign(f"{type(error).__name__}: {first}" if first else type(error).__name__)
        hint = "" if self.verbose else "run with -v for the traceback"
        self.trace(error)
        if isinstance(error, OSError) and error.errno in FULL:
            self.error(disk_full(error))
            discard_stdout()
        else:
            self.error(QbcdError(f"unexpected {what}", remedy=hint))
        return 1

    @contextmanager
    def _logging(self) -> Iterator[None]:
        handler, of_libraries = _Records(self), _Records(self)
        handler.addFilter(self._mask_record)
        of_libraries.addFilter(self._mask_record_of_library)
        of_libraries.setLevel(logging.WARNING)
        logger, root = logging.getLogger("qbcd"), logging.getLogger()
        before = logger.level, logger.propagate
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG if self.verbose else logging.WARNING)
        logger.propagate = False
        root.addHandler(of_libraries)
        logging.captureWarnings(True)
        try:
            yield
        finally:
            logging.captureWarnings(False)
            root.removeHandler(of_libraries)
            logger.removeHandler(handler)
            logger.setLevel(before[0])
            logger.propagate = before[1]

    def _mask_record(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = self.foreign(record.getMessage()), None
        if record.exc_info:  # a formatter uses the text if there is one
            record.exc_text = self.foreign(logging.Formatter().formatException(record.exc_info))
            record.exc_info = None
        return True

    def _mask_record_of_library(self, record: logging.LogRecord) -> bool:
        """Mask a record of a library and name the library.

        Show its traceback, and warnings of Python, if `verbose`.
        """
        if record.name == "py.warnings" and not self.verbose:  # they are for programmers
            return False
        self._mask_record(record)
        record.msg = f"{record.name}: {record.msg}"
        if not self.verbose:
            record.exc_text = None
        return True

    def _from_java(self, line: str) -> None:
        """Print a line of Java's stderr."""
        if self.log is None:
            self.err.print(self.foreign(line), markup=False, soft_wrap=True)
            return
        found = _OF_SPARK.match(line)
        level = _LEVELS.get(found[1], "error") if found else "warning"
        self.log.add(level, self.foreign(found[2] if found else line))


class _Records(RichHandler):
    """A handler that prints records of Python's logging, as a table or as log lines."""

    def __init__(self, output: Output) -> None:
        super().__init__(console=output.err, show_path=False, markup=False, omit_repeated_times=False)
        self._output = output

    @override
    def emit(self, record: logging.LogRecord) -> None:
        if self._output.log is None:
            super().emit(record)
            return
        self._output.log.add(_LEVELS.get(record.levelname, "error"), record.getMessage())
        if record.exc_text:  # with secrets masked; see Output._mask_record
            self._output.log.add_trace(record.exc_text)


def disk_full(error: OSError) -> QbcdError:
    """Return the message of an error in :data:`FULL`."""
    place = error.filename or "the output"
    return QbcdError(
        f"{place} cannot be written: {error.strerror}", remedy="free space on the disk, or write elsewhere"
    )


def discard_stdout() -> None:
    """Write nothing more to stdout: Python's own flush at exit would fail again."""
    with suppress(OSError, ValueError):  # it is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_progress(project: Project, now: Callable[[str], None]) -> None:
    """Pass the current step of long work on the project to `now`."""
    from qbcd.api import parts_of

    parts_of(project).progress = lambda stream, what: now(f"{stream}: {what}" if stream else what)


def problems(error: QbcdError) -> tuple[QbcdError, ...]:
    """Return the single errors in an error; that of a configuration may have several."""
    from qbcd.config import InvalidConfig

    return error.problems if isinstance(error, InvalidConfig) else (error,)


def worst(codes: Iterator[int] | list[int]) -> int:
    """Return the exit code of several streams: the first of 3, 1, 2, 4, 0 that occurred."""
    found = set(codes)
    return next((code for code in (3, 1, 2, 4) if code in found), 0)


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PLAIN_WIDTH
    return console
