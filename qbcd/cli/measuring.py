"""Options ``--metrics`` and ``--metrics-file`` of ``run``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from qbcd.cli.output import Output
from qbcd.errors import ConfigError

if TYPE_CHECKING:
    from qbcd.monitoring.measured import Measured
    from qbcd.monitoring.metrics import Metrics
    from qbcd.polling.outcome import Outcome
    from qbcd.project import ProjectParts
    from qbcd.stream import Stream


class Measuring:
    """The metrics of one `run`; it does nothing if none are wanted."""

    def __init__(
        self, measured: Measured | None = None, metrics: Metrics | None = None, file: Path | None = None
    ) -> None:
        self._measured, self._metrics, self._file = measured, metrics, file

    def begin(self, parts: ProjectParts, names: Sequence[str]) -> None:
        """Begin with the history of these streams, and the counters of an earlier file."""
        if self._measured is not None:
            self._measured.begin(parts.open_stream(name, ask=False) for name in names)
        if self._metrics is not None and self._file is not None:
            self._metrics.read(self._file)

    def follow(self, stream: Stream) -> None:
        """Measure one more stream, which is polled from now on."""
        if self._measured is not None:
            self._measured.begin([stream])

    def add(self, outcome: Outcome) -> None:
        """Count a poll."""
        if self._measured is not None:
            self._measured.add(outcome)

    def write(self) -> None:
        """Write the file, if one is wanted.

        Raises:
            QbcdError: It cannot be written.
        """
        if self._metrics is not None and self._file is not None:
            self._metrics.write(self._file)


@contextmanager
def measuring(output: Output, address: str, file: Path | None, *, once: bool) -> Iterator[Measuring]:
    """Serve metrics within the block, or collect those of a file.

    Raises:
        ConfigError: The options do not fit together, or the address is none.
        QbcdError: The address cannot be used.
    """
    if address and once:
        raise ConfigError("--metrics: a run with --once ends before it is scraped", remedy="write --metrics-file FILE")
    if file is not None and not once:
        raise ConfigError("--metrics-file needs --once", remedy="a run without --once serves --metrics HOST:PORT")
    if not address and file is None:
        yield Measuring()
        return
    from qbcd.monitoring.measured import Measured
    from qbcd.monitoring.metrics import Metrics, address_of

    measured = Measured()
    if file is not None:
        if not file.absolute().parent.is_dir():
            what = f"--metrics-file: the folder of {str(file)!r} does not exist"
            raise ConfigError(what, remedy="create it, or name another file")
        yield Measuring(measured, Metrics(measured), file)
        return
    with Metrics(measured).served(address_of(address)) as url:
        output.say(f"metrics are served on {escape(url)}")
        yield Measuring(measured)
