"""The result of one check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from qbcd.errors import QbcdError


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


def tried(
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
