"""Local paths as Spark takes them: never percent-encoded, and patterns only where it reads."""

from __future__ import annotations

from pathlib import Path

_PATTERN = frozenset("[]{}*?,^\\")


def to_write(path: Path) -> str:
    """An absolute path to write to. `Path.as_uri` would not do: Spark takes its ``%20`` for three characters."""
    return f"file://{path}"


def to_read(path: Path) -> str:
    """An absolute path to read from, its characters taken for themselves and not for a pattern."""
    return "file://" + "".join(f"\\{c}" if c in _PATTERN else c for c in str(path))
