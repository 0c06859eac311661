"""Local paths in Spark's form: never percent-encoded, and with patterns only for reading."""

from __future__ import annotations

from pathlib import Path

_PATTERN = frozenset("[]{}*?,^\\")


def to_write(path: Path) -> str:
    """Return an absolute path to write to, not percent-encoded: Spark would not decode it."""
    return f"file://{path}"


def to_read(path: Path) -> str:
    """Return an absolute path to read from; characters of patterns are escaped."""
    return "file://" + "".join(f"\\{c}" if c in _PATTERN else c for c in str(path))
