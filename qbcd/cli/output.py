"""The output of commands: results on stdout, everything else on stderr, secrets masked; errors as exit codes.

Messages are qbcd's own and hold no secrets (`qbcd.config.masking`): :meth:`Output.masked` masks what looks like a
credential. Tracebacks, logs and stored messages repeat the words of others: :meth:`Output.foreign` masks all secrets.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.logging import RichHandler
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from qbcd.errors import QbcdError

if TYPE_CHECKING:
    from qbcd.api import Project
    from qbcd.config.masking import Masking

INTERRUPTED = 130
PLAIN_WIDTH = 160  # columns of a table that goes into a file or a pipe


class Output:
    """The output of one run of a command.

    Args:
        config: The configuration file.
        verbose: Log more; show tracebacks.
        as_json: Print results and errors as JSON on stdout.
        progress: Show progress if stderr is a terminal.
    """

    def __init__(self, *, config: Path, verbose: bool, as_json: bool, progress: bool) -> None:
        self.config = config
        self.verbose = verbose
        self.as_json = as_json
        self.out = _console(stderr=False)
        self.err = _console(stderr=True)
        self._progress = progress and self.err.is_terminal
        self._masking: Masking | None = None  # until the configuration is known

    # -- results -----------------------------------------------------------------------------------------------------
    def show(self, *things: RenderableType) -> None:
        """Print results for people; text is Rich markup."""
        for thing in things:
            self.out.print(thing, soft_wrap=isinstance(thing, str))

    def text(self, text: str) -> None:
        """Print a result unchanged; Rich would change some characters, such as tabs."""
        print(text, file=self.out.file)

    def data(self, value: Any, *, indent: int | None = None) -> None:
        """Print a JSON value on stdout, on one line unless `indent` is given."""
        self.text(json.dumps(value, indent=indent, ensure_ascii=False, default=str))

    # -- messages ----------------------------------------------------------------------------------------------------
    def say(self, text: str) -> None:
        """Print a remark, Rich markup, on stderr."""
        self.err.print(text, soft_wrap=True)

    def ask(self, question: str) -> None:
        """Print a question on stderr; the answer is typed on the same line."""
        self.err.print(question, end="", markup=False, soft_wrap=True)

    def warn(self, text: str, stream: str = "") -> None:
        """Print a warning on stderr."""
        place = f"stream {stream}: " if stream else ""
        self.say(f"[bold yellow]warning:[/] {escape(self.masked(place + text))}")

    def error(self, error: QbcdError) -> None:
        """Print an error as a message on stderr, and with `as_json` as an object on stdout."""
        if self.as_json:
            self.data(self.as_data(error))
        for line in (str(one) for one in problems(error)):
            self.say(f"[bold red]error:[/] {escape(self.masked(line))}")

    def trace(self, error: Exception) -> None:
        """Print the traceback of an error on stderr if `verbose`."""
        if self.verbose:
            self.err.print(self.foreign("".join(traceback.format_exception(error))), markup=False, soft_wrap=True)

    def as_data(self, error: QbcdError) -> dict[str, Any]:
        """Return an error as JSON-ready data."""
        data = {"error": error.what, "remedy": error.remedy, "stream": error.stream, "where": error.where}
        masked: dict[str, Any] = {name: self.masked(text) for name, text in data.items()}
        if len(problems(error)) > 1:
            masked["problems"] = [self.as_data(one) for one in problems(error)]
        return masked | {"exit_code": error.exit_code}

    @contextmanager
    def working(self, what: str) -> Iterator[Callable[[str], None]]:
        """Show progress on stderr if it is a terminal; yield the function that changes the text."""
        if not self._progress:
            yield lambda words: None
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        # Results go to stdout while this is shown, so it must not redirect stdout.
        with Progress(*columns, console=self.err, transient=True, redirect_stdout=False) as progress:
            task = progress.add_task(what, total=None)
            yield lambda words: progress.update(task, description=words)

    # -- the frame of a command --------------------------------------------------------------------------------------
    def run(self, command: Callable[[], int]) -> int:
        """Run `command`; turn every exception into a message and an exit code."""
        with self._logging():
            try:
                return command()
            except QbcdError as error:
                self.trace(error)
                self.error(error)
                return error.exit_code
            except KeyboardInterrupt:
                self.say("interrupted")
                return INTERRUPTED
            except BrokenPipeError:
                # The reader of stdout has closed it; Python's own flush at exit would fail again.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
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
        """Return a message of qbcd's own without what looks like a credential."""
        from qbcd.config.masking import credentials_masked

        return credentials_masked(text)

    def foreign(self, text: str) -> str:
        """Return text that others wrote, or that an earlier version stored, without the configuration's secrets."""
        return self.masked(text) if self._masking is None else self._masking.foreign(text)

    def _bug(self, error: Exception) -> int:
        first = (str(error).strip().splitlines() or [""])[0]
        what = self.foreign(f"{type(error).__name__}: {first}" if first else type(error).__name__)
        hint = "" if self.verbose else "run with -v for the traceback"
        self.trace(error)
        self.error(QbcdError(f"unexpected {what}", remedy=hint))
        return 1

    @contextmanager
    def _logging(self) -> Iterator[None]:
        handler = RichHandler(console=self.err, show_path=False, markup=False, omit_repeated_times=False)
        handler.addFilter(self._mask_record)
        logger = logging.getLogger("qbcd")
        before = logger.level, logger.propagate
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG if self.verbose else logging.WARNING)
        logger.propagate = False
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(before[0])
            logger.propagate = before[1]

    def _mask_record(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = self.foreign(record.getMessage()), None
        if record.exc_info:  # a formatter takes the text, where there is one
            record.exc_text = self.foreign(logging.Formatter().formatException(record.exc_info))
            record.exc_info = None
        return True


def show_progress(project: Project, now: Callable[[str], None]) -> None:
    """Report by `now` what a long step of the project is working on."""
    from qbcd.api import assembly_of

    assembly_of(project).progress = lambda stream, what: now(f"{stream}: {what}")


def problems(error: QbcdError) -> tuple[QbcdError, ...]:
    """Return the errors within an error: a configuration may have several."""
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
