"""The errors of qbcd: what is wrong, where, and what to do about it.

Every error that qbcd raises on purpose is a :class:`QbcdError`. Its text is one message fit for a user; the command
line prints it without a traceback and exits with :attr:`QbcdError.exit_code`.
"""

from __future__ import annotations


class QbcdError(Exception):
    """Base of all errors that qbcd raises on purpose.

    Args:
        what: One sentence: what is wrong.
        remedy: What the user can do about it, or an empty string.
        stream: The stream concerned, if any.
        where: ``file:line: key.path`` of a configuration error, if any.
    """

    exit_code = 1

    def __init__(self, what: str, *, remedy: str = "", stream: str = "", where: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy
        self.stream = stream
        self.where = where

    def __str__(self) -> str:
        place = self.where or (f"stream {self.stream}" if self.stream else "")
        text = f"{place}: {self.what}" if place else self.what
        return f"{text} ({self.remedy})" if self.remedy else text


class ConfigError(QbcdError):
    """The configuration file or a command's arguments are wrong (exit code 2)."""

    exit_code = 2


class NotBuilt(ConfigError):
    """A documented feature that this version does not have yet."""


class SourceError(QbcdError):
    """The source could not be reached or a statement on it failed (exit code 1)."""


class SparkFailed(QbcdError):
    """Spark could not finish a step, for a reason that is not the source's (exit code 1)."""


class EnvironmentMissing(QbcdError):
    """Java, a JDBC driver or a Python package that is needed is missing; waiting does not help (exit code 2)."""

    exit_code = 2


class DeliveryError(QbcdError):
    """A sink did not take a batch; the batch stays pending (exit code 1)."""


class SinkConflict(DeliveryError):
    """A sink holds another batch of this number: stream or sink went back, or two projects write there."""


class Refused(QbcdError):
    """qbcd will not go on, to lose nothing; state and sinks are untouched (exit code 3)."""

    exit_code = 3


class MissingPrivilege(Refused):
    """The source's role lacks a right that the strategy needs."""


class UnsafeKey(Refused):
    """The key is missing, nullable, duplicated or of a type without a usable order."""


class SchemaChanged(Refused):
    """A captured column was dropped or changed its type, or the plan differs from the prepared one."""


class SourceChanged(Refused):
    """The server is another one than remembered, or older than remembered."""


class UnsafeWatermark(Refused):
    """It is not known how far the source's timestamps are complete."""


class ClockSetBack(UnsafeWatermark):
    """The source's clock shows less than it was read up to before."""


class GuardTripped(Refused):
    """The poll would deliver more deletes than the stream's guards allow."""


class TornRead(Refused):
    """Rows and checksums did not come from one state of the source."""


class UnsupportedType(Refused):
    """A column's type or value cannot travel without loss."""


class UnsupportedPrimitive(Refused):
    """A connector does not offer what a strategy needs; raised when the plan is made, never while it runs."""

    def __init__(self, connector: str, name: str) -> None:
        super().__init__(f"the {connector} connector has no {name}", remedy="choose another strategy")


class StateConflict(Refused):
    """Another process, another project or an older copy of the state prevents this step."""


class StateMissing(StateConflict):
    """There is no state yet: nothing of the project was prepared."""


class LeaseHeld(StateConflict):
    """Another poller works on this stream now."""
