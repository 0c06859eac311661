"""Streams of a project: configured entries, and tables that patterns match.

:func:`roster_of` is pure. A table is captured once a `prepare` has captured it, or if its entry captures new tables.
The record in the state database says which tables were captured or reported before. With it a project also knows its
streams while a source does not answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from qbcd.catalog.jdbc import JdbcSource
from qbcd.catalog.source import Source
from qbcd.config import ProjectConfig, StreamConfig
from qbcd.config.document import dotted, quoted
from qbcd.config.fields import NAME_PATTERN, NAME_RULE, split_table
from qbcd.config.patterns import PatternEntry
from qbcd.connectors.base import Connector
from qbcd.connectors.catalog import SupportsTableLists
from qbcd.connectors.facts import ListedTable
from qbcd.errors import ConfigError, QbcdError, Refused
from qbcd.roster.known_tables import KnownTable, TableState
from qbcd.spark.provider import SparkProvider

_SESSION = ""  # the session that lists tables is no stream's


@dataclass(frozen=True)
class SourceTables:
    """The tables that a source lists.

    Attributes:
        tables: The tables; empty if it cannot be reached.
        named: Of entries without a schema: the table that each name means.
        own: Schemas with tables of qbcd.
        error: The reason why it cannot be reached.
    """

    tables: Sequence[ListedTable] = ()
    named: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    error: QbcdError | None = None


@dataclass
class Roster:
    """The streams of a project.

    Attributes:
        streams: Those that are captured, by name, in the order of the file.
        new: Streams of tables that have appeared and are not captured, by name.
        appeared: The tables of `new`, and those that are captured although they are new, that were not reported yet.
        dropped: Captured tables that do not exist any more, by name of the stream.
        unreported: The streams of `dropped` that were not reported yet.
        problems: Tables that match a pattern and cannot be a stream; patterns that match nothing; sources that do not
            answer.
        recorded: The record of captured tables, as far as this process has read or written it.
    """

    streams: dict[str, StreamConfig] = field(default_factory=dict)
    new: dict[str, StreamConfig] = field(default_factory=dict)
    appeared: list[str] = field(default_factory=list)
    dropped: dict[str, KnownTable] = field(default_factory=dict)
    unreported: list[str] = field(default_factory=list)
    problems: list[QbcdError] = field(default_factory=list)
    of_patterns: set[str] = field(default_factory=set)
    recorded: set[KnownTable] = field(default_factory=set)

    def find(self, name: str) -> StreamConfig | None:
        """Return the stream called `name`, also of a new table."""
        return self.streams.get(name) or self.new.get(name)

    def as_known(self, names: Iterable[str], state: TableState) -> list[KnownTable]:
        """Return those of `names` that are streams of patterns, for the record."""
        found = [one for name in names if name in self.of_patterns and (one := self.find(name)) is not None]
        return [KnownTable(one.name, one.source, one.table_schema, one.table_name, state) for one in found]


def list_tables(source: Source, config: ProjectConfig, spark: SparkProvider) -> SourceTables:
    """Ask a source for its tables, in one transaction; return the error if it cannot be reached.

    A source with a JDBC driver alone is asked by the Java of `spark`.
    """
    bare = [
        split_table(table.table)[1]
        for table in config.tables
        if table.table is not None and config.source_of(table) == source.name and not split_table(table.table)[0]
    ]
    own = frozenset(one.qbcd_schema for one in config.databases.values())
    if isinstance(source, JdbcSource):
        return _by_driver(source, bare, spark)
    try:
        with source.read(_SESSION) as session:
            tables = refuse_no_lists(source.connector).list_tables(session.connection)
            named = source.connector.catalog.probe_tables(session.connection, [("", name) for name in bare])
    except QbcdError as error:
        return SourceTables(error=error, own=own)
    found = {name: (table.schema, table.name) for name, table in zip(bare, named, strict=True) if table is not None}
    return SourceTables(tables, found, own)


def refuse_no_lists(connector: Connector) -> SupportsTableLists:
    """Return the connector's lists of tables.

    Raises:
        Refused: It has none.
    """
    if not connector.supports(SupportsTableLists):
        what = f"the {connector.name} connector lists no tables, so patterns of tables are not possible"
        raise Refused(what, remedy="name each table in an entry of its own")
    return connector.require(SupportsTableLists)


def _by_driver(source: JdbcSource, bare: Sequence[str], spark: SparkProvider) -> SourceTables:
    """Return the tables that a driver lists; names without a schema are of its current schema."""
    from qbcd.spark.jdbc_tables import asked

    spark.give_reason("tables of a source with a JDBC driver alone are listed by the Java of Spark")
    try:
        found, current = asked(spark.java(), source, "", lambda session: session.tables())
    except QbcdError as error:
        return SourceTables(error=error)
    named = {name: (current, name) for name in bare if (current, name) in found}
    return SourceTables([ListedTable(schema, name) for schema, name in found], named)


def roster_of(config: ProjectConfig, listed: Mapping[str, SourceTables], known: Sequence[KnownTable]) -> Roster:
    """Return the streams of a project.

    Args:
        listed: The tables of each source that an entry with patterns names.
    """
    return _Making(config, listed, known).roster


class _Making:
    """The steps of :func:`roster_of`."""

    def __init__(self, config: ProjectConfig, listed: Mapping[str, SourceTables], known: Sequence[KnownTable]) -> None:
        self.config, self.listed = config, listed
        self.known = {one.stream: one for one in known}
        self.roster = Roster(recorded={one for one in known if one.state == "captured"})
        self._single = {stream.name: stream for stream in config.streams}
        self._taken = set(self._of_single_entries())  # (source, schema, name) of tables that have a stream
        by_index, patterns = {s.index: s for s in config.streams}, {p.index: p for p in config.patterns}
        for index in range(len(config.tables)):
            if index in by_index:
                self.roster.streams[by_index[index].name] = by_index[index]
            else:
                self._add_entry(patterns[index])
        self._add_dropped()
        self.roster.problems += [tables.error for tables in listed.values() if tables.error is not None]

    def _of_single_entries(self) -> Iterator[tuple[str, str, str]]:
        for stream in self._single.values():
            if stream.query:
                continue
            named = self.listed[stream.source].named if stream.source in self.listed else {}
            schema, name = (stream.table_schema, stream.table_name)
            if not schema:
                schema, name = named.get(name, ("", name))
            yield stream.source, schema, name

    def _add_entry(self, entry: PatternEntry) -> None:
        source = self.listed[entry.source]
        tables = self._recorded(entry) if source.error is not None else self._matching(entry, source)
        before = [one for one in self.known.values() if one.state == "captured" and self._is_of(entry, one)]
        if not tables and source.error is None:
            what = f"no table of source {entry.source} matches {', '.join(one.text for one in entry.tables)}"
            remedy = "correct the pattern, or give the role the right to see the tables"
            self.roster.problems.append(ConfigError(what, remedy=remedy, where=entry.where))
            tables = [(one.schema, one.name) for one in before]  # all at once: rather a lost right than dropped tables
        for schema, name in tables:
            self._add(entry, self.config.of_pattern(entry, schema, name), first=not before)

    def _recorded(self, entry: PatternEntry) -> list[tuple[str, str]]:
        rows = (one for one in self.known.values() if one.state == "captured" and self._is_of(entry, one))
        return [(one.schema, one.name) for one in rows if (entry.source, one.schema, one.name) not in self._taken]

    def _is_of(self, entry: PatternEntry, one: KnownTable) -> bool:
        return one.source == entry.source and entry.matches(one.schema, one.name)

    def _matching(self, entry: PatternEntry, source: SourceTables) -> list[tuple[str, str]]:
        """Return the tables of an entry, without those of qbcd or of other entries.

        A table whose rows another one has is left out too.
        """
        found = [
            table
            for table in source.tables
            if table.schema not in source.own
            and not table.is_partition
            and entry.matches(table.schema, table.name)
            and (entry.source, table.schema, table.name) not in self._taken
        ]
        here = {(table.schema, table.name) for table in found}
        whole = here | {(schema, name) for of, schema, name in self._taken if of == entry.source}
        return [(table.schema, table.name) for table in found if table.parent not in whole]

    def _add(self, entry: PatternEntry, stream: StreamConfig, *, first: bool) -> None:
        roster, place = self.roster, (entry.source, stream.table_schema, stream.table_name)
        self._taken.add(place)
        if (problem := self._problem_of_name(entry, stream)) is not None:
            roster.problems.append(problem)
            return
        known = self.known.get(stream.name)
        roster.of_patterns.add(stream.name)
        captures = entry.new_tables == "capture"
        state = known.state if known is not None else "captured" if first else ""
        if captures and state == "reported":  # the policy has changed since
            state = ""
        if state in ("captured", "gone") or captures:
            roster.streams[stream.name] = stream
        else:
            roster.new[stream.name] = stream
        if not state:
            roster.appeared.append(stream.name)

    def _problem_of_name(self, entry: PatternEntry, stream: StreamConfig) -> ConfigError | None:
        table = f"table {quoted(f'{stream.table_schema}.{stream.table_name}')}"
        if not NAME_PATTERN.fullmatch(stream.name):
            what = f"{table} matches, and {quoted(stream.name)} cannot be a stream's name"
            remedy = f"exclude it, or write an entry for it with a `name` of {NAME_RULE}"
            return ConfigError(what, remedy=remedy, where=entry.where)
        other = self._single.get(stream.name) or self.roster.find(stream.name)
        if other is None:
            return None
        what = f"{table} matches, and its stream would have the name of {dotted(('tables', other.index))}"
        if other.index == entry.index:
            what = f"{table} and {other.table_schema}.{other.table_name} would have the same stream {stream.name}"
        return ConfigError(what, remedy='write name: "{schema}.{table}", or exclude it', where=entry.where)

    def _add_dropped(self) -> None:
        """Add captured tables that an entry matches and its source does not list."""
        roster = self.roster
        for name, one in self.known.items():
            matched = any(self._is_of(entry, one) for entry in self.config.patterns)
            answered = one.source in self.listed and self.listed[one.source].error is None
            if one.state == "reported" or not matched or not answered or roster.find(name) or name in self._single:
                continue
            if (one.source, one.schema, one.name) in self._taken:
                continue
            roster.dropped[name] = one
            if one.state == "captured":
                roster.unreported.append(name)
