"""Connectors, sinks and strategies of installed packages, by entry points.

A package registers its class under one of the groups below. It cannot replace a name that is built into qbcd.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from qbcd.errors import ConfigError

CONNECTORS = "qbcd.connectors"
SINKS = "qbcd.sinks"
STRATEGIES = "qbcd.strategies"

REMEDY = "update or remove the package that provides it"


def installed(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of `group` by name, in alphabetical order."""
    return {point.name: point for point in sorted(entry_points(group=group), key=lambda point: point.name)}


def load(point: EntryPoint, what: str, remedy: str = REMEDY) -> object:
    """Import the object that an entry point names.

    Args:
        what: The object in the user's words, such as ``sink type kafka``.
        remedy: The remedy if it cannot be imported.

    Raises:
        ConfigError: The import fails, with class and first line of the error.
    """
    try:
        return point.load()
    except Exception as error:
        raise ConfigError(f"{what} ({point.value}) cannot be loaded: {in_one_line(error)}", remedy=remedy) from error


def in_one_line(error: Exception) -> str:
    """Return class and first line of an error of foreign code."""
    lines = str(error).strip().splitlines()
    return ": ".join([type(error).__name__, *lines[:1]])
