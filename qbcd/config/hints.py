"""Remedies for a first configuration: unknown keys, missing keys, sections of a wrong form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from qbcd.config.databases import EXAMPLE_DATABASE, EXAMPLE_URL, USUAL_PORTS, connector_names, database_name
from qbcd.config.document import Document, KeyPath, Problem, did_you_mean, quoted
from qbcd.config.fields import Section
from qbcd.config.jdbc_source import JdbcDriverConfig, JdbcSourceConfig
from qbcd.config.models import DefaultsConfig, ProjectConfig, SourceConfig, SparkConfig, TableConfig
from qbcd.config.strategy_registry import BUILT_STRATEGIES, CHOSEN_STRATEGIES, options_class

_TABLE = "{source: shop, table: public.orders, strategy: id_rcs}"
_SINK = "{type: jsonl, path: out/changes}"

# Keys of qbcd, with the names that other tools use; used only if the section has the key.
_ALSO_CALLED = {
    "access_key": ("access_key_id", "aws_access_key_id"),
    "columns": ("include", "fields"),
    "endpoint": ("endpoint_url", "endpoint_override"),
    "every": ("interval", "schedule", "frequency", "poll"),
    "key": ("keys", "pk", "primary_key", "id"),
    "password": ("passwd", "pass", "pwd", "secret"),
    "path": ("folder", "directory", "dir", "file", "output", "location"),
    "query": ("sql", "select"),
    "secret_key": ("secret_access_key", "aws_secret_access_key"),
    "sinks": ("outputs", "output", "targets", "target", "destinations", "destination", "sink"),
    "sources": ("databases", "database", "connections", "connection", "source"),
    "strategy": ("method", "mode", "type"),
    "tables": ("streams", "stream", "table"),
    "url": ("uri", "dsn", "connection", "connection_string", "jdbc_url"),
    "user": ("username", "login", "role"),
    "where": ("filter", "condition", "restriction"),
}
_MEANT = {other: ours for ours, others in _ALSO_CALLED.items() for other in others}

_MISSING = {
    "sources": f"write sources: {{shop: {{url: {EXAMPLE_URL}}}}}",
    "tables": f"write tables: [{_TABLE}]",
    "url": f"write url: {EXAMPLE_URL}",
    "path": "write path: out/changes",
}
# Examples of sections, by their last key.
_SHAPES = {
    "sources": f"write sources: {{shop: {{url: {EXAMPLE_URL}}}}}",
    "sinks": f"write sinks: {{changes: {_SINK}}}",
    "tables": f"write tables: [{_TABLE}], or each table after a dash, on its own lines",
    "defaults": "write defaults: {every: 30s, sinks: [changes]}",
    "spark": "write spark: {master: 'local[*]'}",
    "conf": "write conf: {spark.driver.memory: 2g}",
    "jdbc": "write jdbc: {fetchsize: 10000}",
    "properties": "write properties: {socketTimeout: 30}",
    "guards": "write guards: {max_delete_fraction: 0.5}",
    "types": "write types: {amount: text}",
    "roll": "write roll: {every: 1h, size: 128MB}",
    "storage": "write storage: {region: eu-central-1}",
    "notify": "write notify: [{on: [refused, failed], url: '${env:HOOK}'}]",
    "lookups": "write lookups: {customer: {source: dwh, table: dim.customer, on: {no: no}, take: [name]}}",
    "openlineage": "write openlineage: {namespace: qbcd}",
    "on": "write on: [refused, failed]",
    "subscriptions": "write subscriptions: {from: {source: shop, table: app.subscription}, streams: {orders: all}}",
    "from": "write from: {source: shop, table: app.subscription}",
    "inline": "write inline: [{id: late, stream: orders, condition: \"status = 'late'\"}]",
    "streams": "write streams: {orders: [status, region], customers: all}",
}
_LOOKUP = "{source: dwh, table: dim.customer, on: {customer_no: natural_key}, take: [surrogate_key]}"
_LOOKUP_SHAPES = {"on": "write on: {customer_no: natural_key}, the event's column and the relation's"}
# Parts of an address, with the keys that other tools have for them.
_PARTS = {
    "host": ("host", "hostname", "server", "address"),
    "port": ("port",),
    "database": ("database", "dbname", "db"),
    "user": ("username", "login"),
    "dialect": ("dialect", "type", "engine", "driver", "adapter", "kind"),
}


def unknown_key(document: Document, path: KeyPath, model: type[Section]) -> Problem:
    """Return the problem of a key that `model` does not have."""
    key, known = str(path[-1]), model.keys()
    return Problem(path, f"unknown key {quoted(key)}", _elsewhere(document, path, key, model) or _nearest(key, known))


def _nearest(key: str, known: Sequence[str]) -> str:
    meant = _MEANT.get(key.lower(), "")
    if meant in known:
        return _meant(meant)
    return did_you_mean(key, known, f"known keys: {', '.join(known)}")


def _elsewhere(document: Document, path: KeyPath, key: str, model: type[Section]) -> str:
    """Return the remedy for a key in the wrong section, or an empty string."""
    if model is ProjectConfig and key != "source":
        if _has(DefaultsConfig, key):
            return "write it under `defaults`, or in an entry of `tables`"
        if _has(TableConfig, key):
            return "write it in an entry of `tables`"
        if _has(SourceConfig, key):
            return f"write it in an entry of `sources`: {_SHAPES['sources'].removeprefix('write ')}"
    if model is SourceConfig and any(key in keys for part, keys in _PARTS.items() if part != "user"):
        return f"it is a part of `url`: {EXAMPLE_URL}"
    if model is JdbcSourceConfig and key in ("driver", "driver_class", "jar", "jars"):
        return "the dialect knows the driver's class; write jdbc: {driver_jar: driver.jar} for its jar"
    if model is JdbcSourceConfig and _has(JdbcDriverConfig, key):
        return f"write it under `jdbc`: jdbc: {{{key}: ..}}"
    if model is SparkConfig:
        return did_you_mean(key, model.keys(), "Spark's own settings are under `conf`: {spark.driver.memory: 2g}")
    if model is DefaultsConfig and _has(TableConfig, key):
        return "it belongs to a single table: write it in an entry of `tables`"
    if model is TableConfig and key == "schema":
        return "write it before the table's name: table: schema.table"
    if model is TableConfig:
        return _option_of_strategy(document, path, key)
    return ""


def _has(model: type[Section], key: str) -> bool:
    return key in set(model.keys())


def _option_of_strategy(document: Document, path: KeyPath, key: str) -> str:
    defaults = document.raw.get("defaults")
    general = defaults.get("strategy") if isinstance(defaults, dict) else None
    strategy = document.raw["tables"][path[1]].get("strategy") or general
    name = strategy.get("type") if isinstance(strategy, dict) else strategy
    if (
        not isinstance(name, str)
        or name not in BUILT_STRATEGIES | CHOSEN_STRATEGIES
        or not _has(options_class(name), key)
    ):
        return ""
    if isinstance(strategy, dict):
        return "it is an option of the strategy: write it within `strategy`"
    return f"it is an option of the strategy: write strategy: {{type: {name}, {key}: ..}}"


def _meant(key: str) -> str:
    return f"did you mean {quoted(key)}?"


def _missing(path: KeyPath) -> str:
    return f"`{path[-1]}` is missing" if path else ""


def missing_key(path: KeyPath, model: type[Section]) -> Problem:
    """Return the problem of a required key that is missing."""
    known = {} if path[-1] == "url" and model.example != Section.example else _MISSING  # `url` of no database
    return Problem(path, _missing(path), known.get(str(path[-1]), model.example))


def shape(path: KeyPath) -> str:
    """Return an example of the section at `path`, or an empty string."""
    if len(path) == 2 and path[0] == "sources":
        return f"write {path[1]}: {{url: {EXAMPLE_URL}}}"
    if len(path) > 1 and path[0] == "lookups":
        return _LOOKUP_SHAPES.get(str(path[2]), "") if len(path) == 3 else f"write {path[1]}: {_LOOKUP}"
    if len(path) == 2 and path[0] == "tables":
        return f"write {_TABLE}"
    if len(path) > 1 and path[-1] == "sinks":
        return ""  # a list of names
    return _SHAPES.get(str(path[-1]), "") if path else ""


def merged(document: Document, problems: Iterable[Problem]) -> list[Problem]:
    """Return `problems`, with the problems of one mistake merged into one.

    Such mistakes are: parts of an address instead of a URL, a section without names, a required key under another name.
    """
    found = list(problems)
    meant = {(*one.path[:-1], one.remedy) for one in found}
    found = [
        one
        for one in found
        if one.what != _missing(one.path) or (*one.path[:-1], _meant(str(one.path[-1]))) not in meant
    ]
    for path, keys, one_problem in _whole(document):
        rest = [one for one in found if not (one.path[:-1] == path and one.path[-1] in keys)]
        found = [*rest, one_problem] if len(rest) < len(found) else found
    return found


def _whole(document: Document) -> Iterator[tuple[KeyPath, set[str], Problem]]:
    """Yield mistakes over several keys: path of the mapping, the keys, the problem to report."""
    sources, sinks = (_mapping(document.raw.get(name)) for name in ("sources", "sinks"))
    flat = {key for key in (*SourceConfig.keys(), *_PARTS["host"]) if _is_plain(sources.get(key))}
    if flat:
        yield (
            ("sources",),
            {*sources},
            Problem(("sources",), "each source needs a name, above its keys", _SHAPES["sources"]),
        )
        return
    if _is_plain(sinks.get("type")):
        yield ("sinks",), {*sinks}, Problem(("sinks",), "each sink needs a name, above its keys", _SHAPES["sinks"])
    for name, source in sources.items():
        written = _mapping(source)
        parts = {part: key for part, keys in _PARTS.items() for key in keys if written.get(key) is not None}
        if written.get("url") is None and parts.keys() & {"host", "port", "database"}:
            path: KeyPath = ("sources", name)
            first = next(key for key in written if key in parts.values())
            what = "a source's address is one URL, in the key `url`"
            remedy = _url_of({part: written[key] for part, key in parts.items()})
            yield path, {"url", *parts.values()}, Problem((*path, first), what, remedy)


def _url_of(parts: dict[str, Any]) -> str:
    """Return the remedy with the URL that these parts of an address give."""
    plain = {
        part: str(value) for part, value in parts.items() if isinstance(value, (str, int)) and "@" not in str(value)
    }
    named = database_name(plain.get("dialect", ""))
    dialect = named if named in connector_names() else USUAL_PORTS.get(plain.get("port", ""), EXAMPLE_DATABASE)
    user = f"{plain['user']}@" if "user" in plain else ""
    port = f":{plain['port']}" if "port" in plain else ""
    url = f"{dialect}://{user}{plain.get('host', 'HOST')}{port}/{plain.get('database', 'DATABASE')}"
    others = [name for name in connector_names() if name != dialect]
    return f"write url: {url}" if named == dialect else f"write url: {url}, or begin it with {' or '.join(others)}"


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int))
