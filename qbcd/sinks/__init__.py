"""Sinks: where batches go.

A new one is a file here, a line in :data:`SINKS` and a page in docs; third parties use the entry-point group
``qbcd.sinks``.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from qbcd.errors import ConfigError, NotBuilt
from qbcd.sinks.base import Sink, SinkBatch
from qbcd.sinks.console import ConsoleSink
from qbcd.sinks.jsonl import JsonlSink
from qbcd.sinks.parquet import ParquetSink

__all__ = ["GROUP", "SINKS", "Sink", "SinkBatch", "make_sink", "sink_class", "sink_types"]

GROUP = "qbcd.sinks"
SINKS: dict[str, type[Sink]] = {
    "console": ConsoleSink,
    "jsonl": JsonlSink,
    "parquet": ParquetSink,
}


def sink_types() -> list[str]:
    """The names that a configuration may give as a sink's `type`."""
    return sorted({*SINKS, *(entry.name for entry in entry_points(group=GROUP))})


def sink_class(kind: str) -> type[Sink]:
    """The class of sinks of type `kind`.

    Raises:
        ConfigError: There is none, or the package that offers it offers something else.
    """
    if kind in SINKS:
        return SINKS[kind]
    for entry in entry_points(group=GROUP):
        if entry.name == kind:
            found = entry.load()
            if isinstance(found, type) and issubclass(found, Sink):
                return found
            raise ConfigError(f"the entry point {entry.value} of sink type {kind} is no Sink class")
    raise ConfigError(f"there is no sink type {kind}", remedy=f"one of {', '.join(sink_types())}")


def make_sink(name: str, kind: str, options: Mapping[str, Any]) -> Sink:
    """A sink from its configuration.

    Args:
        name: Its name in the configuration.
        kind: Its `type`.
        options: Its other settings, given to the class by name; `path`, if any, is absolute or relative to the
            working directory.

    Raises:
        ConfigError: The type is unknown, or the settings are not the type's.
        NotBuilt: The path is not on a local or mounted file system.
    """
    settings = dict(options)
    if "path" in settings:
        settings["path"] = local_path(name, settings["path"])
    try:
        return sink_class(kind)(name, **settings)
    except TypeError as error:
        raise ConfigError(
            f"sinks.{name}: {error}", remedy=f"see the settings of sink type {kind} in docs/sinks.md"
        ) from error


def local_path(sink: str, path: str | Path) -> Path:
    """An absolute local path.

    Raises:
        NotBuilt: It is a URL.
    """
    if "://" in str(path):
        raise NotBuilt(f"sinks.{sink}: paths such as {path} are not built yet", remedy="use a local or mounted folder")
    return Path(path).absolute()
