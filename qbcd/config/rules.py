"""Rules between the sections of a configuration, and rules for places of secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlalchemy.engine import URL

from qbcd.config.databases import BUILT_CONNECTORS, STATE_DATABASES, has_connector, no_connector, no_state
from qbcd.config.document import Document, KeyPath, Problem, did_you_mean, dotted
from qbcd.config.fields import NAME_PATTERN, NAME_RULE
from qbcd.config.logins import Login
from qbcd.config.masking import REDACTED
from qbcd.config.models import ProjectConfig, TableConfig
from qbcd.config.sink_rules import check_sink_needs
from qbcd.config.storage import STORAGE_SECRETS
from qbcd.config.strategy_registry import strategy_names
from qbcd.config.strategy_rules import check_strategies
from qbcd.config.subscriptions import check_subscriptions
from qbcd.config.urls import is_local, is_local_host, literal_password

RESERVED_SINK = "python"


def check_rules(config: ProjectConfig, document: Document) -> list[Problem]:
    """Return the problems between sections; each section alone is valid."""
    return [
        *_names(config),
        *_databases(config, document),
        *_secrets(config, document),
        *_storage_secrets(config, document),
        *_tables(config, document),
        *_shared_folders(config),
        *check_strategies(config),
        *check_sink_needs(config, document),
        *_lookups(config, document),
        *_subscriptions(config, document),
    ]


def _names(config: ProjectConfig) -> Iterator[Problem]:
    sections = (("sources", config.sources), ("sinks", config.sinks), ("lookups", config.lookups))
    for section, names in sections:
        for name in names:
            if not NAME_PATTERN.fullmatch(name):
                yield Problem((section, name), "this name cannot be used", f"use {NAME_RULE}")
    if RESERVED_SINK in config.sinks:
        yield Problem(("sinks", RESERVED_SINK), "this name is reserved for the Python API", "choose another name")


def _databases(config: ProjectConfig, document: Document) -> Iterator[Problem]:
    """Report databases without support, before a connector or the state would fail on them."""
    state = config.state_url()
    if (name := state.get_backend_name()) not in STATE_DATABASES:
        yield Problem(("state",), *no_state(name, _placeholder(document, ("state",), state)), not_built=True)
    for source, written in config.databases.items():
        url, path = written.sqlalchemy_url(), ("sources", source, "url")
        if not has_connector(name := url.get_backend_name()):
            yield Problem(path, *no_connector(name, _placeholder(document, path, url)))
        elif name in BUILT_CONNECTORS and not url.database:
            yield Problem(path, "the url has no database", "end it with /DATABASE")


def _placeholder(document: Document, path: KeyPath, url: URL) -> str:
    """Return the URL as written, quoted, if its database is from a placeholder, or ''."""
    raw = document.raw
    for part in path:
        raw = raw[part]
    in_plain = isinstance(raw, str) and not document.is_hidden(path)
    if in_plain or (isinstance(raw, str) and "${" not in raw.partition(":")[0]):
        return ""
    return document.shown(path, "")


def _secrets(config: ProjectConfig, document: Document) -> Iterator[Problem]:
    remedy = "use ${env:NAME} or ${file:/path}; a literal is accepted only for a local host"
    state = document.raw.get("state")
    if isinstance(state, str) and literal_password(state) and not is_local(config.state_url()):
        yield Problem(("state",), "there is a literal password in the url", remedy)
    for section, name, login in _logins(config):
        if is_local(login.sqlalchemy_url()):
            continue
        written = document.raw[section][name]
        if isinstance(written.get("url"), str) and literal_password(written["url"]):
            yield Problem((section, name, "url"), "there is a literal password in the url", remedy)
        path = (section, name, "password")
        if written.get("password") is not None and path not in document.interpolated:
            yield Problem(path, "the password is written in the file", remedy)
    for name, source in config.drivers.items():
        path = ("sources", name, "password")
        if source.password is not None and path not in document.interpolated:
            yield Problem(path, "the password is written in the file", "use ${env:NAME} or ${file:/path}")
    for index, hook in enumerate(config.notify):
        place = ("notify", index, "url")
        if place not in document.interpolated and not is_local_host(hook.parts.hostname or ""):
            yield Problem(place, "the address of a hook is a secret, and it is written in the file", remedy)


def _storage_secrets(config: ProjectConfig, document: Document) -> Iterator[Problem]:
    """Report credentials of stores and other secrets of sinks that are written in the file."""
    for key in config.storage.options:
        if key in STORAGE_SECRETS and ("storage", key) not in document.interpolated:
            yield Problem(("storage", key), "the credential is written in the file", "use ${env:NAME} or ${file:/path}")
    for name, sink in config.sinks.items():
        for option in sink.secrets():
            if (path := ("sinks", name, *option.path)) not in document.interpolated:
                yield Problem(path, "the secret is written in the file", "use ${env:NAME} or ${file:/path}")
        for key in sink.options.get("storage") or {}:
            path = ("sinks", name, "storage", key)
            if key in STORAGE_SECRETS and path not in document.interpolated:
                yield Problem(path, "the credential is written in the file", "use ${env:NAME} or ${file:/path}")
        for section in ("storage_options", "catalog"):
            for key, value in (sink.options.get(section) or {}).items():
                path = ("sinks", name, section, key)
                if path not in document.interpolated and (re.search(REDACTED, key) or literal_password(value)):
                    yield Problem(path, "the credential is written in the file", "use ${env:NAME} or ${file:/path}")


def _logins(config: ProjectConfig) -> Iterator[tuple[str, str, Login]]:
    """Yield section, name and login of each source, and of each sink that is a database."""
    for name, source in config.databases.items():
        yield "sources", name, source
    for name, sink in config.sinks.items():
        if isinstance(sink, Login):
            yield "sinks", name, sink


def _tables(config: ProjectConfig, document: Document) -> Iterator[Problem]:
    yield from _sinks(config, document, ("defaults", "sinks"), config.defaults.sinks)
    if config.defaults.source is not None:
        yield from _source(config, document, ("defaults", "source"), config.defaults.source)
    for name, source in config.databases.items():
        yield from _sinks(config, document, ("sources", name, "defaults", "sinks"), source.defaults.sinks)
    seen: dict[str, int] = {}
    for index, table in enumerate(config.tables):
        here = ("tables", index)
        if table.tables is None:  # the names of a pattern's streams are checked once its tables are known
            yield from _stream_name(document, index, table, seen)
        yield from _sinks(config, document, (*here, "sinks"), table.sinks)
        if table.source is not None:
            yield from _source(config, document, (*here, "source"), table.source)
        elif config.defaults.source is None:
            remedy = f"write source: {next(iter(config.sources))}, here or under `defaults`"
            yield Problem((*here, "source"), "`source` is missing", remedy)
        if config.setting(table, "strategy") is None:
            remedy = f"write one of {', '.join(strategy_names())}, here or under `defaults`"
            yield Problem((*here, "strategy"), "`strategy` is missing", remedy)


def _source(config: ProjectConfig, document: Document, path: KeyPath, name: str) -> Iterator[Problem]:
    if name not in config.sources:
        remedy = _near(document, path, name, list(config.sources))
        yield Problem(path, f"there is no source {document.shown(path, name)}", remedy)


def _stream_name(document: Document, index: int, table: TableConfig, seen: dict[str, int]) -> Iterator[Problem]:
    name = table.stream_name
    path = ("tables", index, "table" if table.name is None else "name")
    shown = "this name" if document.is_hidden(path) else f"the name {document.shown(path, name)}"
    if not NAME_PATTERN.fullmatch(name):
        yield Problem(path, f"{shown} cannot be a stream's", f"give a `name` of {NAME_RULE}")
    elif name in seen:
        yield Problem(path, f"{shown} is already used by {dotted(('tables', seen[name]))}", "give a `name` of its own")
    seen.setdefault(name, index)


def _sinks(config: ProjectConfig, document: Document, path: KeyPath, names: list[str] | None) -> Iterator[Problem]:
    for index, name in enumerate(names or ()):
        if name not in config.sinks:
            here = document.item(path, index)
            what = f"there is no sink {document.shown(here, name)}"
            yield Problem(here, what, _near(document, here, name, list(config.sinks)))


def _near(document: Document, path: KeyPath, name: str, known: list[str]) -> str:
    otherwise = f"there are {', '.join(known)}" if known else "add it under `sinks`"
    return otherwise if document.is_hidden(path) else did_you_mean(name, known, otherwise)


def _subscriptions(config: ProjectConfig, document: Document) -> Iterator[Problem]:
    written = config.subscriptions
    if written is None:
        return
    patterns = any(table.tables is not None for table in config.tables)
    own = [] if patterns else [table.stream_name for table in config.tables]
    known = {"sources": list(config.databases), "sinks": list(config.sinks), "streams": own}
    numbered = {name for name, sink in config.sinks.items() if sink.needs.every_batch}
    yield from check_subscriptions(written, document, known, numbered)
    for index, name in enumerate(written.deliver):
        if name in config.sinks and config.sinks[name].starts_from == "replica":
            path, what = document.item(("subscriptions", "deliver"), index), f"sink {name} begins with all rows"
            yield Problem(path, what, f"remove `initial: replica` of sink {name}")
    for index, table in enumerate(config.tables):
        if table.tables is not None or written.allowed(table.stream_name) is None:
            continue
        for name in config.setting(table, "sinks") or ():
            if name in written.deliver:
                path = document.item(("subscriptions", "deliver"), written.deliver.index(name))
                what = f"sink {name} gets all events of stream {table.stream_name} already"
                yield Problem(path, what, f"remove it here, or from the sinks of {dotted(('tables', index))}")


def _shared_folders(config: ProjectConfig) -> Iterator[Problem]:
    """Report sinks that share a folder: each would read the other's batches as its own."""
    seen: dict[str, str] = {}
    for name, sink in config.sinks.items():
        folder = str(sink.options.get("path") or "")
        if folder and folder in seen:
            yield Problem(
                ("sinks", name, "path"), f"sink {seen[folder]} has the same path", "give it a path of its own"
            )
        seen.setdefault(folder, name)


def _lookups(config: ProjectConfig, document: Document) -> Iterator[Problem]:
    for name, lookup in config.lookups.items():
        path = ("lookups", name, "source")
        yield from _source(config, document, path, lookup.source)
        if lookup.source in config.sources and lookup.source not in config.databases:
            what = "lookups in files, or in databases that only a JDBC driver reaches, are not built yet"
            yield Problem(path, what, "name a source with a connector", not_built=True)
    layers: list[tuple[KeyPath, list[str] | None]] = [(("defaults",), config.defaults.enrich)]
    layers += [(("sources", name, "defaults"), source.defaults.enrich) for name, source in config.databases.items()]
    layers += [(("tables", index), table.enrich) for index, table in enumerate(config.tables)]
    for place, names in layers:
        for index, one in enumerate(names or ()):
            if one not in config.lookups:
                here, known = (*place, "enrich", index), list(config.lookups)
                remedy = _near(document, here, one, known) if known else "describe it under `lookups`"
                yield Problem(here, f"there is no lookup {document.shown(here, one)}", remedy)
