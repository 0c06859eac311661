"""One poll of one stream for an orchestrator: its batches, or an error that a retry may fix."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qbcd.api import Project, open, parts_of
from qbcd.errors import EnvironmentMissing, QbcdError
from qbcd.model import BatchHeader
from qbcd.state import Run

MOST_RUNS = 1000  # polls of the history that are read
RETRY = frozenset({1})  # exit codes; with 2 and 3 a person must act first


@dataclass(frozen=True)
class SinglePoll:
    """The result of one poll.

    Attributes:
        batches: The batches found, oldest first, also those of the failed polls directly before; as JSON values.
        epoch: UTC second of the stream's `prepare`.
        last_seq: Number of the stream's latest batch; 0 if it has none.
        pending: By sink, the batches that wait for it.
        error: The error of the poll or of its deliveries as one message; empty if there was none.
        exit_code: As of ``qbcd run --once``.
    """

    stream: str
    batches: Sequence[Mapping[str, Any]] = ()
    epoch: int = 0
    last_seq: int = 0
    pending: Mapping[str, int] = field(default_factory=dict)
    error: str = ""
    exit_code: int = 0

    @property
    def retry(self) -> bool:
        """Return True if the poll failed and another try may succeed."""
        return self.exit_code in RETRY

    @property
    def counts(self) -> dict[str, int]:
        """The events of all batches, by op."""
        return dict(sum((Counter(batch["counts"]) for batch in self.batches), Counter()))

    @property
    def version(self) -> str:
        """The version of the stream's data: ``epoch/seq`` of the latest batch."""
        return f"{self.epoch}/{self.last_seq}"


def poll_once(config: str | os.PathLike[str], stream: str, stop: threading.Event | None = None) -> SinglePoll:
    """Poll a stream of a project once, and deliver; errors are part of the result."""
    try:
        with open(config) as project:
            return poll_in(project, stream, stop)
    except QbcdError as error:
        return SinglePoll(stream, error=str(error), exit_code=error.exit_code)


def poll_in(project: Project, stream: str, stop: threading.Event | None = None) -> SinglePoll:
    """Poll a stream of an open project once, and deliver.

    Raises:
        QbcdError: The project cannot start; errors of the poll are part of the result.
    """
    outcomes = project.run(stream, once=True, stop=stop).outcomes
    if not outcomes:
        return SinglePoll(stream, error=f"stream {stream}: stopped before its poll", exit_code=1)
    outcome, report = outcomes[0], outcomes[0].report
    batches = [_of_header(header) for header in (report.headers if report else ())]
    if outcome.run is not None:
        batches = [*undelivered_runs(parts_of(project).state.runs(stream, MOST_RUNS), outcome.run), *batches]
    failures = [*([outcome.error] if outcome.error else ()), *(report.failures.values() if report else ())]
    status = None if failures else project.status(stream)[0]
    return SinglePoll(
        stream,
        batches=batches,
        epoch=status.epoch if status else outcome.epoch,
        last_seq=status.batches if status else 0,
        pending=dict(outcome.pending),
        error="; ".join(str(failure) for failure in failures),
        exit_code=outcome.exit_code,
    )


def undelivered_runs(runs: Sequence[Run], this: Run) -> list[dict[str, Any]]:
    """Return the batches of failed polls directly before `this`, oldest first.

    The orchestrator has not seen them: a task that fails reports nothing.

    Args:
        runs: The history, latest first.
        this: The poll that has just ended.
    """
    found: list[dict[str, Any]] = []
    for run in runs:
        if run.started_at == this.started_at:
            continue
        if run.outcome not in ("failed", "refused"):
            break
        if run.batch_seq:
            found.insert(0, _batch(run.stream, run.epoch, run.batch_seq, run.counts))
    return found


def _of_header(header: BatchHeader) -> dict[str, Any]:
    return _batch(header.stream, header.epoch, header.seq, header.counts)


def _batch(stream: str, epoch: int, seq: int, counts: Mapping[str, int]) -> dict[str, Any]:
    return {"stream": stream, "epoch": epoch, "seq": seq, "counts": dict(counts)}


def missing(package: str, extra: str, error: ModuleNotFoundError) -> Exception:
    """Return the error of a missing framework; `error` itself if another module is missing."""
    if (error.name or "").partition(".")[0] != package:
        return error
    return EnvironmentMissing(
        f"qbcd.integrations.{extra} needs the package {package}", remedy=f"pip install 'qbcd[{extra}]'"
    )
