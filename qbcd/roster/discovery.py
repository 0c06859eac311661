"""Tables of a source with what a configuration needs to know, and a drafted configuration."""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from qbcd.catalog.source import Source
from qbcd.common.wording import counted
from qbcd.config import ProjectConfig
from qbcd.config.fields import NAME_PATTERN
from qbcd.config.patterns import TablePattern
from qbcd.config.template import SCHEMA_LINE
from qbcd.errors import ConfigError
from qbcd.model import Table
from qbcd.roster.roster import Roster, refuse_no_lists

KEYED = ("id_rcs", "mds", "id", "tlcs")  # strategies for each table with a key
STAMPED = ("ts", "tdi", "atdi")  # those that need a timestamp too
DEFAULT_STRATEGY = "id_rcs"  # it needs only SELECT
_READER = ""  # the session is no stream's
_MEGABYTE = 1 << 20


@dataclass(frozen=True)
class FoundTable:
    """A table of a source.

    Attributes:
        rows: By the statistics of the catalog, -1 if they are not known.
        size: Bytes of its rows, by the catalog.
        key: Columns of the key that a stream would have; empty without one.
        timestamps: Columns that can be a watermark.
        stream: The stream that captures it, or an empty string.
        advised: The strategy that `qbcd advise` takes, with its variant; empty if none is possible, or not known.
    """

    schema: str
    name: str
    rows: int
    size: int
    key: tuple[str, ...]
    timestamps: tuple[str, ...]
    stream: str = ""
    advised: str = ""

    @property
    def label(self) -> str:
        """Schema and name as a configuration spells them."""
        return ".".join(map(_spelled, (self.schema, self.name)))

    @property
    def strategies(self) -> tuple[str, ...]:
        """The strategies that can capture it; with ``key: none`` if it has no key."""
        return (*KEYED, *(STAMPED if self.timestamps else ())) if self.key else (DEFAULT_STRATEGY,)

    @property
    def summary(self) -> str:
        """Rows, size and key in words."""
        rows = f"about {self.rows:,} rows" if self.rows >= 0 else "rows unknown"
        size = f"{max(1, round(self.size / _MEGABYTE)):,} MB" if self.size else "empty"
        key = f"key ({', '.join(self.key)})" if self.key else "no key"
        return f"{rows}, {size}, {key}"


def _spelled(part: str) -> str:
    plain = part.replace("_", "").replace("-", "").isalnum()
    return part if plain else '"' + part.replace('"', '""') + '"'


def refuse_no_database(config: ProjectConfig, source: str) -> None:
    """Refuse a name that is not that of a database.

    Raises:
        ConfigError: There is no such source, or it has files or a JDBC driver alone.
    """
    if source in config.dumps:
        where = config.where("sources", source)
        raise ConfigError(f"source {source} has files, not tables", remedy="name a database", where=where)
    if source in config.drivers:
        what = f"source {source} has a JDBC driver alone, and its tables cannot be drafted"
        raise ConfigError(what, remedy="write an entry with tables: SCHEMA.*", where=config.where("sources", source))
    if source not in config.databases:
        known = ", ".join(config.databases)
        raise ConfigError(f"there is no source {source!r}", remedy=f"the configuration has {known}")


def discover(config: ProjectConfig, of: Source, roster: Roster, patterns: Sequence[str] = ()) -> list[FoundTable]:
    """Return the tables of a source that match a pattern, or all.

    Partitions and tables of qbcd are left out.

    Raises:
        ConfigError: A pattern is none.
        QbcdError: The source cannot be reached.
    """
    wanted = [_parsed(pattern) for pattern in patterns or ("*.*",)]
    own = {one.qbcd_schema for one in config.databases.values()}
    captured = {
        (one.table_schema, one.table_name): name
        for name, one in roster.streams.items()
        if one.source == of.name and not one.query
    }
    connector = of.connector
    with of.read(_READER) as session:
        listed = refuse_no_lists(connector).list_tables(session.connection)
        names = [
            (one.schema, one.name)
            for one in listed
            if one.schema not in own
            and not one.is_partition
            and any(pattern.matches(one.schema, one.name) for pattern in wanted)
        ]
        tables = connector.catalog.probe_tables(session.connection, names) if names else []

    def found(table: Table) -> FoundTable:
        stamps = tuple(c.name for c in table.columns if connector.watermarks.mark_kind(c) in ("zoned", "zoneless"))
        unique = table.primary_key or (table.unique_keys[0] if len(table.unique_keys) == 1 else ())
        usable = all(not connector.catalog.key_problem(c) for c in table.columns if c.name in unique)
        key = unique if usable else ()
        stream = captured.get((table.schema, table.name), "")
        return FoundTable(table.schema, table.name, table.rows, table.pages * connector.page_bytes, key, stamps, stream)

    return [found(table) for table in tables if table is not None]


def _parsed(pattern: str) -> TablePattern:
    try:
        return TablePattern.parse(pattern)
    except ValueError:
        remedy = "write schema.table with * for any characters, such as app.*"
        raise ConfigError(f"{pattern!r} is not a pattern of tables", remedy=remedy) from None


def drafted(source: str, tables: Sequence[FoundTable]) -> list[str]:
    """Return lines of YAML with an entry for each table that no stream captures."""
    lines, taken = list[str](), {one.stream for one in tables}
    for one in tables:
        if not one.stream:
            name = _stream_name(one, taken)
            taken.add(name)
            lines += _entry(source, one, name)
    return lines


def _stream_name(one: FoundTable, taken: Collection[str]) -> str:
    """Return a name that no other stream has: that of the table, if it can be one."""
    named = (one.name, f"{one.schema}.{one.name}")
    made = ["".join(c if NAME_PATTERN.fullmatch(c) else "_" for c in name)[:100] for name in named]
    numbered = (f"{made[1][:90]}_{number}" for number in itertools.count(2))
    return next(name for name in itertools.chain(made, numbered) if name not in taken)


def _entry(source: str, one: FoundTable, name: str) -> Iterator[str]:
    yield f"  # {one.summary}"
    if one.advised:
        yield f"  # qbcd advise takes {one.advised}"
    if one.timestamps and one.key:
        yield f"  # ts by {' or '.join(one.timestamps)} reads only changed rows, if every change moves it"
    yield f"  - table: {_text(one.label)}"
    if name != one.name:
        yield f"    name: {_text(name)}"
    yield f"    source: {source}"
    yield f"    strategy: {DEFAULT_STRATEGY}"
    if not one.key:
        yield "    key: none  # all values of a row identify it; better: name columns that do"


def _text(value: str) -> str:
    """Return text as a YAML scalar: JSON is one."""
    plain = value.replace(".", "").replace("_", "").isalnum() and not value[:1].isdigit()
    return value if plain else json.dumps(value, ensure_ascii=False)


def new_file(source: str, url: str, tables: Sequence[FoundTable]) -> str:
    """Return the text of a configuration that captures `tables`."""
    head = [
        SCHEMA_LINE,
        "# yaml: the configuration of qbcd; docs/reference/configuration.md explains every key.",
        f"# {counted(len(tables), 'table')} found in {source}. Next: qbcd check, qbcd prepare, qbcd run --once",
        "version: 1",
        "",
        "sources:",
        f"  {source}:",
        f"    url: {json.dumps(url)}",
        "",
        "sinks:",
        "  changes: {type: jsonl, path: out/changes}",
        "",
        "defaults: {every: 30s, sinks: [changes]}",
        "",
        "tables:",
    ]
    return "\n".join([*head, *drafted(source, tables), ""])
