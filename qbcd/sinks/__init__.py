"""Sinks: destinations of batches.

A new sink is a module here with its options, a line in `qbcd/config/sink_registry.py`, and a page in docs. Other
packages use the entry-point group ``qbcd.sinks``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from qbcd.common import plugins
from qbcd.config.document import did_you_mean, quoted
from qbcd.config.masking import credentials_masked
from qbcd.config.sink_registry import BUILT_SINKS, built_sink
from qbcd.config.storage import is_url
from qbcd.errors import ConfigError, NotBuilt, QbcdError
from qbcd.sinks.base import Sink, SinkBatch

__all__ = ["Sink", "SinkBatch", "make_sink", "sink_class", "sink_types"]


def sink_types() -> list[str]:
    """Return the allowed values of a sink's `type` in a configuration."""
    return sorted({*BUILT_SINKS, *plugins.installed(plugins.SINKS)})


def sink_class(kind: str) -> type[Sink]:
    """Return the class of sinks of type `kind`.

    Raises:
        ConfigError: The type is unknown, or the package that has it has no sink class there.
    """
    if kind in BUILT_SINKS:
        found: type[Sink] = built_sink(kind)
        return found
    others = plugins.installed(plugins.SINKS)
    if kind in others:
        return _installed(others[kind])
    raise ConfigError(f"there is no sink type {kind}", remedy=f"one of {', '.join(sink_types())}")


def make_sink(
    name: str, kind: str, options: Mapping[str, Any], *, masked: Callable[[str], str] = credentials_masked
) -> Sink:
    """Create a sink from its configuration.

    Args:
        name: Its name in the configuration.
        kind: Its `type`.
        options: Its other settings, passed to the class by name. A relative `path` starts from the working directory; a
            configuration has none.
        masked: Removes secrets from errors of others.

    Raises:
        ConfigError: The type is unknown, or does not accept the settings.
        NotBuilt: The path is a URL, which sinks of this type do not take.
    """
    settings = dict(options)
    made = sink_class(kind)
    if settings.get("path") is not None and not (made.takes_urls and is_url(str(settings["path"]))):
        settings["path"] = local_path(settings["path"])
    _check_names(made, kind, settings)
    try:
        sink = made(name, **settings)
        sink.masked = masked
        return sink
    except QbcdError:
        raise
    except Exception as error:
        raise ConfigError(
            f"sink type {kind} does not accept its settings: {masked(plugins.in_one_line(error))}",
            remedy="correct them; they are described in the documentation of the sink's package",
        ) from error


def local_path(path: str | Path) -> Path:
    """Return the absolute form of a local path.

    Raises:
        NotBuilt: It is a URL.
    """
    if "://" in str(path):
        raise NotBuilt(f"paths such as {path} are not built yet", remedy="use a local or mounted folder")
    return Path(path).absolute()


def _installed(entry: EntryPoint) -> type[Sink]:
    """Return the sink class of an installed package."""
    remedy = f"{plugins.REMEDY}, or use another of {', '.join(sink_types())}"
    found = plugins.load(entry, f"sink type {entry.name}", remedy)
    if isinstance(found, type) and issubclass(found, Sink):
        return found
    raise ConfigError(f"the entry point {entry.value} of sink type {entry.name} is not a Sink class", remedy=remedy)


def _check_names(made: type[Sink], kind: str, settings: Mapping[str, Any]) -> None:
    """Compare the names of settings with the class's parameters after the sink's name.

    Raises:
        ConfigError: A setting is unknown, or a required one is missing.
    """
    accepted = list(signature(made).parameters.values())[1:]
    named = {p.name: p for p in accepted if p.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)}
    if not any(p.kind is Parameter.VAR_KEYWORD for p in accepted):
        for name in settings:
            if name not in named:
                otherwise = f"there are {', '.join(named)}" if named else "remove it"
                remedy = did_you_mean(name, named, otherwise)
                raise ConfigError(f"sink type {kind} has no setting {quoted(name)}", remedy=remedy)
    for name, one in named.items():
        if one.default is Parameter.empty and name not in settings:
            raise ConfigError(f"sink type {kind} needs the setting {quoted(name)}", remedy="add it")
