"""Messages for troubles that all databases have alike, from the server's own words."""

from __future__ import annotations

from collections.abc import Callable

from qbcd.errors import ConfigError, QbcdError, SchemaChanged, SourceError

Maker = Callable[[str, str, str], QbcdError]  # of a message, a stream and a source


def unreachable(message: str, stream: str, source: str) -> QbcdError:
    """No session could be had, or it has ended."""
    remedy = "check host, port, network and TLS settings of the source's url"
    return SourceError(f"source {source} cannot be reached: {message}", remedy=remedy, stream=stream)


def no_database(message: str, stream: str, source: str) -> QbcdError:
    """The server has no such database."""
    return ConfigError(f"source {source}: {message}", remedy="check the database in the source's url", stream=stream)


def schema(message: str, stream: str, source: str) -> QbcdError:
    """A table or a column is not there any more."""
    remedy = "if this is meant, `qbcd reset` the stream and `qbcd prepare` it again"
    return SchemaChanged(f"source {source}: {message}", remedy=remedy, stream=stream)


def timed_out(message: str, stream: str, source: str) -> QbcdError:
    """The server ended a statement, by its time or because somebody said so."""
    remedy = "raise the source's statement time-out, or look for who cancelled it"
    return SourceError(f"source {source}: {message}", remedy=remedy, stream=stream)


def locked(message: str, stream: str, source: str) -> QbcdError:
    """Another session was in the way."""
    remedy = "another session holds the table or its rows, for instance for DDL; the next poll tries again"
    return SourceError(f"source {source}: {message}", remedy=remedy, stream=stream)


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
