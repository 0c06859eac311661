"""Paths and URLs in Spark's form: never percent-encoded, and with patterns only for reading."""

from __future__ import annotations

from pathlib import Path

_PATTERN = frozenset("[]{}*?,^\\")
_HADOOP = {"s3": "s3a"}  # Hadoop's name of a scheme, if it is another


def to_write(path: Path | str) -> str:
    """Return a path or URL to write to, not percent-encoded: Spark would not decode it."""
    if isinstance(path, Path):
        return f"file://{path}"
    scheme, separator, rest = path.partition("://")
    return f"{_HADOOP.get(scheme, scheme)}{separator}{rest}"


def to_read(path: Path | str) -> str:
    """Return an absolute path or URL to read from; characters of patterns are escaped."""
    scheme, separator, rest = to_write(path).partition("://")
    return scheme + separator + "".join(f"\\{c}" if c in _PATTERN else c for c in rest)
