"""Rules between the sections of a configuration, and rules for where secrets may be written."""

from __future__ import annotations

from collections.abc import Iterator

from qbcd.config.document import Document, Problem, did_you_mean, dotted
from qbcd.config.fields import NAME_PATTERN, NAME_RULE
from qbcd.config.models import ProjectConfig, TableConfig
from qbcd.config.strategy_registry import strategy_names
from qbcd.config.strategy_rules import check_strategies
from qbcd.config.urls import is_local, literal_password

RESERVED_SINK = "python"


def check_rules(config: ProjectConfig, document: Document) -> list[Problem]:
    """Return all problems between sections that are each valid by themselves."""
    return [
        *_names(config),
        *_secrets(config, document),
        *_tables(config, document),
        *_shared_folders(config),
        *check_strategies(config),
    ]


def _names(config: ProjectConfig) -> Iterator[Problem]:
    for section, names in (("sources", config.sources), ("sinks", config.sinks)):
        for name in names:
            if not NAME_PATTERN.fullmatch(name):
                yield Problem((section, name), "this name cannot be used", f"use {NAME_RULE}")
    if RESERVED_SINK in config.sinks:
        yield Problem(("sinks", RESERVED_SINK), "this name is reserved for the Python API", "choose another name")


def _secrets(config: ProjectConfig, document: Document) -> Iterator[Problem]:
    remedy = "use ${env:NAME} or ${file:/path}; a literal is accepted only for a local host"
    state = document.raw.get("state")
    if isinstance(state, str) and literal_password(state) and not is_local(config.state_url()):
        yield Problem(("state",), "there is a literal password in the url", remedy)
    for name, source in config.sources.items():
        if is_local(source.sqlalchemy_url()):
            continue
        written = document.raw["sources"][name]
        if isinstance(written.get("url"), str) and literal_password(written["url"]):
            yield Problem(("sources", name, "url"), "there is a literal password in the url", remedy)
        path = ("sources", name, "password")
        if written.get("password") is not None and path not in document.interpolated:
            yield Problem(path, "the password is written out", remedy)


def _tables(config: ProjectConfig, document: Document) -> Iterator[Problem]:
    yield from _sinks(config, document, ("defaults", "sinks"), config.defaults.sinks)
    seen: dict[str, int] = {}
    for index, table in enumerate(config.tables):
        here = ("tables", index)
        yield from _stream_name(document, index, table, seen)
        yield from _sinks(config, document, (*here, "sinks"), table.sinks)
        if table.source not in config.sources:
            what = f"there is no source {document.shown((*here, 'source'), table.source)}"
            remedy = _near(document, (*here, "source"), table.source, list(config.sources))
            yield Problem((*here, "source"), what, remedy)
        if table.strategy is None and config.defaults.strategy is None:
            remedy = f"write one of {', '.join(strategy_names())}, here or under `defaults`"
            yield Problem((*here, "strategy"), "`strategy` is missing", remedy)


def _stream_name(document: Document, index: int, table: TableConfig, seen: dict[str, int]) -> Iterator[Problem]:
    name = table.stream_name
    path = ("tables", index, "table" if table.name is None else "name")
    shown = "this name" if path in document.interpolated else f"the name {document.shown(path, name)}"
    if not NAME_PATTERN.fullmatch(name):
        yield Problem(path, f"{shown} cannot be a stream's", f"give a `name` of {NAME_RULE}")
    elif name in seen:
        yield Problem(path, f"{shown} is already used by {dotted(('tables', seen[name]))}", "give a `name` of its own")
    seen.setdefault(name, index)


def _sinks(
    config: ProjectConfig, document: Document, path: tuple[str | int, ...], names: list[str] | None
) -> Iterator[Problem]:
    for index, name in enumerate(names or ()):
        if name not in config.sinks:
            here = (*path, index)
            what = f"there is no sink {document.shown(here, name)}"
            yield Problem(here, what, _near(document, here, name, list(config.sinks)))


def _near(document: Document, path: tuple[str | int, ...], name: str, known: list[str]) -> str:
    otherwise = f"there are {', '.join(known)}" if known else "add it"
    return otherwise if path in document.interpolated else did_you_mean(name, known, otherwise)


def _shared_folders(config: ProjectConfig) -> Iterator[Problem]:
    """Report sinks that share a folder: each would take the other's batches for its own."""
    seen: dict[str, str] = {}
    for name, sink in config.sinks.items():
        folder = str(sink.options.get("path") or "")
        if folder and folder in seen:
            yield Problem(
                ("sinks", name, "path"), f"sink {seen[folder]} writes there already", "give it a path of its own"
            )
        seen.setdefault(folder, name)
