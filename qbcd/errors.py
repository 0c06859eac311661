"""The errors of qbcd: problem, place and remedy.

Every error that qbcd raises on purpose is a :class:`QbcdError`. Its text is one message for the user. The command line
prints it without a traceback and exits with :attr:`QbcdError.exit_code`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

from typing_extensions import override

_NAMED = 3  # streams that one error names


class QbcdError(Exception):
    """Base of all errors that qbcd raises on purpose.

    Args:
        what: The problem, in one sentence.
        remedy: The user's remedy, or an empty string.
        stream: The stream concerned, if any.
        where: ``file:line: key.path`` of a configuration error, if any.

    Attributes:
        source: The source that opened no session, if that is the error: it concerns all streams of the source.
    """

    exit_code = 1

    def __init__(self, what: str, *, remedy: str = "", stream: str = "", where: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy
        self.stream = stream
        self.where = where
        self.source = ""

    @override
    def __str__(self) -> str:
        place = self.where or (f"stream {self.stream}" if self.stream else "")
        text = f"{place}: {self.what}" if place else self.what
        return f"{text} ({self.remedy})" if self.remedy else text


def together(error: QbcdError, streams: Sequence[str]) -> QbcdError:
    """Return an error that several streams have as one that names them."""
    names = list(dict.fromkeys(streams))
    if len(names) < 2 or error.where:
        return error
    one = copy.copy(error)
    one.stream, one.where = "", streams_named(names) if all(names) else ""
    return one


def streams_named(names: Sequence[str]) -> str:
    """Return ``stream a``, or ``streams a, b, c and 2 more``."""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"{'stream' if len(names) == 1 else 'streams'} {', '.join(names[:_NAMED])}{more}"


class ConfigError(QbcdError):
    """The configuration file or a command's arguments are wrong (exit code 2)."""

    exit_code = 2


class NotBuilt(ConfigError):
    """A documented feature that this version does not have yet."""


class SourceError(QbcdError):
    """The source could not be reached or a statement on it failed (exit code 1)."""


class RowsTooWide(SourceError):
    """The rows that a JDBC reader requested at once do not fit into its memory; fewer may."""


class SourceSilent(SourceError):
    """The source did not answer in time, or gave no session in time (exit code 1)."""


class SparkFailed(QbcdError):
    """Spark could not finish a step; the cause is not the source (exit code 1)."""


class LocalFailed(QbcdError):
    """The local database could not finish a step; the cause is not the source (exit code 1)."""


class StoreFailed(QbcdError):
    """The object store or HDFS of the workdir did not finish a step (exit code 1)."""


class LocalOutOfMemory(LocalFailed):
    """The local database needs more memory than it may have; Spark can do the same step."""


class EnvironmentMissing(QbcdError):
    """Java, a JDBC driver or a Python package is missing; a retry does not help (exit code 2)."""

    exit_code = 2


class DeliveryError(QbcdError):
    """A sink did not accept a batch; the batch stays pending (exit code 1)."""


class SinkSilent(DeliveryError):
    """A sink did not answer in time, or gave no session in time; it rests (exit code 1).

    Attributes:
        least_rest: Seconds for which the target asked to be left alone.
    """

    least_rest: float = 0.0


class SinkConflict(DeliveryError):
    """A sink has another batch with this number: after a restore, or if two projects write."""


class DeliveryGap(DeliveryError):
    """A sink lacks batches before this one; only rows of the replica fill it (exit code 1)."""


class Undeliverable(DeliveryError):
    """A batch has a value that no attempt can read; a person must decide (exit code 3)."""

    exit_code = 3


class Refused(QbcdError):
    """qbcd refuses to continue, to lose no change; state and sinks are unchanged (exit code 3)."""

    exit_code = 3


class NotPrepared(Refused):
    """The stream has no baseline yet."""


class MissingPrivilege(Refused):
    """The source's role lacks a right that the strategy needs."""


class UnsafeKey(Refused):
    """The key is missing, nullable, duplicated or of a type without a usable order."""


class SchemaChanged(Refused):
    """A captured column was dropped or changed its type, or the plan is not the prepared one."""


class SourceChanged(Refused):
    """The server is not the stored one, or is in an older state."""


class UnsafeWatermark(Refused):
    """The safe high watermark of the source cannot be determined."""


class ClockSetBack(UnsafeWatermark):
    """The source's clock is behind the stored watermark."""


class GuardTripped(Refused):
    """The poll would deliver more deletes than the stream's guards allow."""


class TornRead(Refused):
    """Rows and checksums do not belong to one state of the source."""


class UnsupportedType(Refused):
    """A column's type or value cannot travel without loss."""


class UnsupportedPrimitive(Refused):
    """A connector lacks an ability that a strategy needs; raised for a plan, not during a poll."""

    def __init__(self, connector: str, name: str) -> None:
        super().__init__(f"the {connector} connector has no {name}", remedy="choose another strategy")


class StateConflict(Refused):
    """Another process, another project or an older copy of the state prevents this step."""


class StateMissing(StateConflict):
    """There is no state yet: no stream of the project was prepared."""


class LeaseHeld(StateConflict):
    """Another poller works on this stream now."""


class DumpRefused(Refused):
    """A file is not complete, not the next one, or has a wrong form; nothing was taken from it."""
