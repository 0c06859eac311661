"""Messages for troubles that all databases have alike, from the server's own words: `full`, `read_only`, `other`."""

from __future__ import annotations

from qbcd.errors import QbcdError, SourceError


def full(message: str, stream: str, source: str) -> QbcdError:
    """No room on the server's disk."""
    remedy = "make room on the server's disk; the next poll begins from what was committed"
    return SourceError(f"source {source}: {message}", remedy=remedy, stream=stream)


def read_only(message: str, stream: str, source: str) -> QbcdError:
    """A server that takes no writes."""
    remedy = "the server takes no writes: poll the primary, or use a strategy that only reads, such as id_rcs"
    return SourceError(f"source {source}: {message}", remedy=remedy, stream=stream)


def other(message: str, stream: str, source: str) -> QbcdError:
    """What qbcd knows nothing about."""
    remedy = "the words are the server's, and its log may say more; the next poll tries again"
    return SourceError(f"source {source}: {message}", remedy=remedy, stream=stream)
