"""The result of one check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from qbcd.common.wording import counted
from qbcd.errors import QbcdError, together


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        subject: The thing checked: ``source``, ``key`` ..
        level: ``ok``, ``warning`` or ``error``.
        message: The result.
        stream: The stream, or empty for the project.
        error: The error, if the level is ``error``.
        folder: The folder that cannot be written, if that is the error.
    """

    subject: str
    level: Literal["ok", "warning", "error"]
    message: str
    stream: str = ""
    error: QbcdError | None = None
    folder: Path | None = None


def run_check(
    subject: str, action: Callable[[], object], message: str, stream: str = "", *, folder: Path | None = None
) -> Finding:
    """Run `action` and return `message` as a finding, or the error that it raises.

    Args:
        folder: The folder that `action` tries to write.
    """
    try:
        action()
    except QbcdError as error:
        return failed(subject, error, stream, folder=folder)
    return Finding(subject, "ok", message, stream)


def failed(subject: str, error: QbcdError, stream: str = "", *, folder: Path | None = None) -> Finding:
    """Return an error as a finding."""
    error.stream = error.stream or stream
    return Finding(subject, "error", error.what.removeprefix(f"{subject}: "), stream, error, folder)


def summary(found: Sequence[Finding]) -> str:
    """Return ``13 streams: 12 ok, 1 warning``: streams by worst level, then project findings."""
    streams = {finding.stream: [f.level for f in found if f.stream == finding.stream] for finding in found}
    own = streams.pop("", [])
    by_level: Counter[str] = Counter(_worst(levels) for levels in streams.values())
    text = f"{counted(len(streams), 'stream')}: {_levels(by_level)}"
    others: Counter[str] = Counter(level for level in own if level != "ok")
    return f"{text}; project: {_levels(others)}" if others else text


def _worst(levels: Sequence[str]) -> str:
    return next(level for level in ("error", "warning", "ok") if level in levels)


def _levels(numbers: Counter[str]) -> str:
    named = {"ok": f"{numbers['ok']:,} ok", **{one: counted(numbers[one], one) for one in ("warning", "error")}}
    return ", ".join(text for level, text in named.items() if numbers[level])


def distinct_errors(found: Sequence[Finding]) -> list[QbcdError]:
    """Return each error once; an error of several streams names them."""
    alike: dict[tuple[str, str, str], list[QbcdError]] = {}
    for finding in found:
        error = finding.error
        if error is not None:
            alike.setdefault((error.what, error.remedy, error.where), []).append(error)
    return [together(errors[0], [error.stream for error in errors]) for errors in alike.values()]
