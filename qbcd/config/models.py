"""The configuration file as frozen pydantic models, one class per mapping.

`qbcd.config.rules` checks relations between sections: a table's source exists, its name is unique.
:func:`qbcd.config.load_config` and :func:`qbcd.config.config_from_dict` create the models. They replace placeholders,
and turn pydantic's errors into errors with a place. No ``repr`` shows a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import chain, count
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Field,
    PlainValidator,
    PrivateAttr,
    SecretStr,
    SerializeAsAny,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from sqlalchemy.engine import URL

from qbcd.config.audits import interval
from qbcd.config.auto_strategy import AUTO
from qbcd.config.document import Document, KeyPath, did_you_mean, quoted
from qbcd.config.fields import (
    ColumnKind,
    Count,
    Filled,
    Jobs,
    KeyNames,
    Limit,
    LocalPath,
    Names,
    ScalarText,
    Section,
    Size,
    SomeNames,
    TableName,
    Wait,
    Whole,
    base_dir_of,
    local_path,
    split_table,
    wrong,
)
from qbcd.config.files import FilesConfig
from qbcd.config.jdbc_source import JdbcSourceConfig
from qbcd.config.logins import Login, checked_url
from qbcd.config.lookups import LookupConfig
from qbcd.config.notify import NotifyConfig
from qbcd.config.openlineage import OpenLineageConfig
from qbcd.config.patterns import (
    DEFAULT_NAME,
    NewTables,
    PatternEntry,
    TablePattern,
    TablePatterns,
    refuse_bad_patterns,
    refuse_bad_template,
)
from qbcd.config.sink_registry import AnySink
from qbcd.config.storage import StorageConfig, StorePath
from qbcd.config.strategy_base import StrategyConfig
from qbcd.config.streams import PLAIN_SETTINGS, Baseline, EngineName, GuardsConfig, StreamConfig, StreamDefaults
from qbcd.config.subscriptions import SubscriptionsConfig
from qbcd.config.urls import is_memory_database, parse_url
from qbcd.errors import ConfigError

DEFAULT_LOCAL_BYTES = 1 << 30
DEFAULT_LOCAL_MEMORY = 512 << 20
MOST_NAMED = 20  # streams that an error lists


def _state(value: SecretStr, info: ValidationInfo) -> SecretStr:
    if "://" not in value.get_secret_value():
        remedy = "write sqlite:///.qbcd/state.db for a file, or dialect://user@host/database for a server"
        raise wrong("`state` must be a database URL", remedy)
    url = parse_url(checked_url(value).get_secret_value())
    if url.get_backend_name() == "sqlite":
        if is_memory_database(url):
            raise wrong("the state cannot be kept in memory", "write sqlite:///.qbcd/state.db")
        if "uri" in url.query or str(url.database).startswith("file:"):
            raise wrong("an SQLite state is a plain path", "write sqlite:///.qbcd/state.db")
        local_path(url.database, base_dir_of(info))
    return value


_MASTER = re.compile(
    r"local(\[(\*|\d+)(\s*,\s*\d+)?\])?|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]|yarn|[a-z][a-z0-9+.-]*://.+"
)


def _master(value: str) -> str:
    """Refuse a master that Spark cannot parse.

    Spark reports it late, when rows must be fetched, and with a Java stack trace.
    """
    if not _MASTER.fullmatch(value):
        remedy = "write local[*], local[2], spark://host:7077, k8s://.. or yarn"
        raise wrong("<value> is not a Spark master", remedy, value=value)
    return value


class SparkConfig(Section):
    """Settings of the Spark session that qbcd starts if none is passed.

    Attributes:
        master: The address of Spark; ``local[*]`` starts it on this machine.
        conf: Spark's own settings; not shown, because they may contain credentials of a file system.
        driver_jar: The JDBC driver to use before any other. With sources of several databases it serves those whose
            driver it contains.
        timeout: Longest call of Spark's Java, in which a job may run.
    """

    master: Annotated[Filled, AfterValidator(_master)] = "local[*]"
    conf: dict[str, ScalarText] = Field(default_factory=dict, repr=False)
    driver_jar: LocalPath | None = None
    timeout: Wait = timedelta(days=1)


class JdbcConfig(Section):
    """Options of the JDBC reader; the connector checks `properties` against its allow-list.

    Attributes:
        fetchsize: Rows that a reader holds at a time; default: as many as fit into a buffer.
        driver_jar: This source's JDBC driver, used before ``spark.driver_jar`` and any other. If a database has
            several drivers, the one in the jar is used.
        properties: JDBC properties; only those that the page of the database lists.
    """

    fetchsize: Count | None = None
    driver_jar: LocalPath | None = None
    properties: dict[str, ScalarText] = Field(default_factory=dict, repr=False)


class SourceConfig(Login):
    """A database to capture from.

    Attributes:
        qbcd_schema: Schema (MariaDB, MySQL: database) in which qbcd may create tables.
        jdbc: Options of the JDBC reader, which Spark uses.
        connections: Concurrent read connections; by default 2, or as many as `jobs`.
        statement_timeout: Time limit of qbcd's statements in the source, whole seconds; 0 for none.
        socket_timeout: Longest wait for the source's answer; by default a little longer than `statement_timeout`.
        defaults: Settings of its tables, before those of the project.
    """

    qbcd_schema: Filled = Field(default="qbcd", alias="schema")
    jdbc: JdbcConfig = Field(default_factory=JdbcConfig)
    connections: Whole = Field(default=2, ge=1, le=16)
    statement_timeout: Limit = timedelta(hours=1)
    socket_timeout: Wait | None = None
    defaults: StreamDefaults = Field(default_factory=StreamDefaults)


def source_class(written: Any) -> type[SourceConfig] | type[FilesConfig] | type[JdbcSourceConfig]:
    """Return the model of a source as written: database with a connector, other one, or files."""
    if not isinstance(written, dict):
        return SourceConfig
    if written.get("files") is not None:
        return FilesConfig
    url = written.get("url")
    text = url.get_secret_value() if isinstance(url, SecretStr) else url
    return JdbcSourceConfig if isinstance(text, str) and text.startswith("jdbc:") else SourceConfig


def _source(value: Any, info: ValidationInfo) -> SourceConfig | FilesConfig | JdbcSourceConfig:
    if isinstance(value, (SourceConfig, FilesConfig, JdbcSourceConfig)):
        return value
    return source_class(value).model_validate(value, context=info.context)


# a placeholder in the JSON Schema: `qbcd.config.schema` inserts the models
AnySource = Annotated[
    SerializeAsAny[SourceConfig | FilesConfig | JdbcSourceConfig],
    PlainValidator(_source),
    WithJsonSchema({"type": "object"}),
]


class DefaultsConfig(StreamDefaults):
    """Settings that tables inherit, unless their source or they have their own.

    Attributes:
        source: Name under `sources`.
    """

    source: Filled | None = None


NO_TABLE = ("`table` is missing", "write table: schema.table, or query: SELECT ..")


class TableConfig(DefaultsConfig):
    """A stream as written, or all of a pattern; :class:`StreamConfig` adds inherited values.

    Attributes:
        name: Name of the stream, unique in the file; default: the table's name.
        table: The table as ``schema.table`` (MariaDB, MySQL: ``database.table``).
        tables: Patterns of tables; then `name` is a template, and `exclude` has patterns too.
        new_tables: With `tables`, for tables that appear after the first `prepare`: ``report`` them once, the
            default, or ``capture`` them.
        query: A SELECT instead of a table; it needs `name` and strategy ``vbd``.
        key: Columns that identify a row; default: the primary key, or the only unique key without NULL. ``none``:
            rows without a key.
        columns: Captured columns; default: all. The key is always included.
        exclude: Columns that are not captured, instead of `columns`; with `tables`, patterns of tables.
        types: Columns to deliver in the database's own text, as ``{column: text}``, or to compare without order:
            ``{column: set}``, ``{column: multiset}``, ``{column: {set: ","}}``.
        where: Restriction of the rows: one boolean expression in the source's SQL.
    """

    name: Filled | None = None
    table: TableName | None = None
    tables: TablePatterns | None = None
    new_tables: NewTables | None = None
    query: Filled | None = None
    key: KeyNames | None = None
    columns: SomeNames | None = None
    exclude: Names | None = None
    types: dict[str, ColumnKind] = Field(default_factory=dict)
    where: Filled | None = None

    @model_validator(mode="after")
    def _one_of_each(self) -> TableConfig:
        if self.tables is not None:
            return self._pattern()
        if self.new_tables is not None:
            raise wrong(
                "`new_tables` belongs to a pattern of tables", "remove it, or write tables: app.*", at="new_tables"
            )
        if self.table is None and self.query is None and self.name is None:
            raise wrong(*NO_TABLE)
        if self.table is not None and self.query is not None:
            raise wrong("`table` and `query` cannot both be given", "remove one", at="query")
        if self.query is not None and self.name is None:
            raise wrong("`name` is missing", "give the query's stream a name", at="query")
        if self.columns is not None and self.exclude is not None:
            raise wrong("`columns` and `exclude` cannot both be given", "remove one", at="exclude")
        return self

    def _pattern(self) -> TableConfig:
        """Check the keys of a pattern."""
        for key in ("table", "query"):
            if getattr(self, key) is not None:
                raise wrong(f"`{key}` and `tables` cannot both be given", "write two entries", at=key)
        if self.name is not None:
            refuse_bad_template(self.name)
        refuse_bad_patterns(self.exclude or (), at="exclude")
        return self

    @property
    def stream_name(self) -> str:
        """The given name, or the table's name without its schema.

        A query must have a name, a pattern a template.
        """
        return self.name if self.name is not None else split_table(self.table or "")[1]


class ProjectConfig(Section):
    """The whole file.

    Attributes:
        version: Version of this format.
        state: SQLAlchemy URL of the state database.
        state_timeout: Longest wait for the state database: its answer, or the lock of its file.
        workdir: Folder of lake replicas and batches, or a URL such as ``s3://BUCKET/FOLDER``; a relative path starts at
            the folder of the file.
        local_folder: If `workdir` is a URL, the local folder for spilled rows and copies of files.
        storage: Options of an object store or HDFS, if `workdir` is a URL.
        jobs: Streams of a source that are polled at the same time.
        local_rows: Most rows to fetch or to deliver in this process, if `engine` is ``auto``; None for what is faster.
        local_bytes: Most bytes of a replica's files that this process reads, if `engine` is ``auto``.
        local_memory: Most bytes that one stream's work in this process holds in memory; more is spilled.
        spark: Settings of the Spark session that qbcd starts.
        sources: Databases or files to capture from, by name.
        sinks: Destinations of events, by name; ``python`` is reserved.
        lookups: Relations whose columns are added to events, by name.
        defaults: Settings that tables inherit.
        tables: Tables, queries and patterns to capture.
        notify: Addresses that get a message when the state of a stream changes.
        openlineage: Settings of events about polls for a data catalog; without them none are sent.
        subscriptions: Conditions over the events of some streams, and the sinks of events that meet one.
    """

    version: Literal[1]
    state: Annotated[SecretStr, AfterValidator(_state)] = SecretStr("sqlite:///.qbcd/state.db")
    state_timeout: Wait | None = None
    workdir: StorePath = Field(default=".qbcd", validate_default=True)
    local_folder: LocalPath = Field(default=".qbcd", validate_default=True)
    storage: StorageConfig = Field(default_factory=StorageConfig)
    jobs: Jobs = 1
    local_rows: Count | None = None
    local_bytes: Size = DEFAULT_LOCAL_BYTES
    local_memory: Size = DEFAULT_LOCAL_MEMORY
    spark: SparkConfig = Field(default_factory=SparkConfig)
    sources: dict[str, AnySource] = Field(min_length=1)
    sinks: dict[str, AnySink] = Field(default_factory=dict)
    lookups: dict[str, LookupConfig] = Field(default_factory=dict)
    defaults: DefaultsConfig = Field(default_factory=DefaultsConfig)
    tables: list[TableConfig] = Field(min_length=1)
    notify: list[NotifyConfig] = Field(default_factory=list)
    openlineage: OpenLineageConfig | None = None
    subscriptions: SubscriptionsConfig | None = None

    _document: Document = PrivateAttr(default_factory=lambda: Document("", Path.cwd(), {}))

    @model_validator(mode="after")
    def _storage_fits(self) -> ProjectConfig:
        self.storage.check_fits(str(self.workdir).partition("://")[0] if isinstance(self.workdir, str) else "")
        return self

    @property
    def own_folder(self) -> Path:
        """The local folder of this machine: the workdir, unless that is a URL."""
        return self.workdir if isinstance(self.workdir, Path) else self.local_folder

    @property
    def base_dir(self) -> Path:
        """The folder from which relative paths start."""
        return self._document.base_dir

    @property
    def databases(self) -> dict[str, SourceConfig]:
        """The sources that are databases with a connector."""
        return {name: one for name, one in self.sources.items() if isinstance(one, SourceConfig)}

    @property
    def dumps(self) -> dict[str, FilesConfig]:
        """The sources that are files."""
        return {name: one for name, one in self.sources.items() if isinstance(one, FilesConfig)}

    @property
    def drivers(self) -> dict[str, JdbcSourceConfig]:
        """The sources that are read through JDBC alone."""
        return {name: one for name, one in self.sources.items() if isinstance(one, JdbcSourceConfig)}

    def state_url(self) -> URL:
        """Return the state database's URL, with an absolute path of an SQLite file."""
        url = parse_url(self.state.get_secret_value())
        if url.get_backend_name() != "sqlite":
            return url
        return url.set(database=str(local_path(url.database, self.base_dir)))

    def where(self, *path: str | int) -> str:
        """Return ``file:line: key.path`` of a key path such as ``("tables", 1, "key")``.

        Without a file, it is the key path alone.
        """
        return self._document.where(path)

    @contextmanager
    def placed(self, *path: str) -> Iterator[None]:
        """Add the place of the key `path` to configuration errors within the block."""
        try:
            yield
        except ConfigError as error:
            error.where = error.where or self.where(*path)
            raise

    def shown(self, value: str, *path: str | int) -> str:
        """Return the value at a key path for a message; of a value from a placeholder, as written."""
        return self._document.shown(path, value) if self._document.is_hidden(path) else value

    @property
    def streams(self) -> tuple[StreamConfig, ...]:
        """Each stream with an entry of its own, in the order of the file.

        The catalog knows those of patterns.
        """
        return tuple(self._resolved(index, table) for index, table in enumerate(self.tables) if table.tables is None)

    @property
    def patterns(self) -> tuple[PatternEntry, ...]:
        """Every entry with patterns, in the order of the file."""
        return tuple(self._pattern(index, table) for index, table in enumerate(self.tables) if table.tables is not None)

    @property
    def engines(self) -> set[EngineName]:
        """The engines that `tables` request.

        Files are compared in this process or on a cluster; Spark reads what a JDBC driver alone reaches.
        """
        return {self._engine_of(table) for table in self.tables}

    def _engine_of(self, table: TableConfig) -> EngineName:
        if self.source_of(table) in self.drivers:
            return "spark"
        requested: EngineName = self.setting(table, "engine") or "auto"
        here = self.spark.master.startswith("local") and self.source_of(table) in self.dumps
        return "local" if requested == "auto" and here else requested

    def of_pattern(self, entry: PatternEntry, schema: str, name: str) -> StreamConfig:
        """Return the stream of a table that matches `entry`."""
        written = self.tables[entry.index]
        named = (written.name or DEFAULT_NAME).format(source=entry.source, schema=schema, table=name)
        return self._of_pattern(entry.index, named, (schema, name))

    def stream(self, name: str) -> StreamConfig:
        """Return the stream called `name` that has an entry of its own.

        Raises:
            ConfigError: There is no such stream; the remedy suggests a similar name.
        """
        return self._resolved(*self._entry(name))

    def strategy_of(self, stream: StreamConfig) -> StrategyConfig:
        """Return the strategy of a stream as written.

        Raises:
            ConfigError: None is written.
        """
        return self._strategy(stream.index, self.tables[stream.index])

    def with_strategy(self, stream: StreamConfig, chosen: StrategyConfig | None) -> StreamConfig:
        """Return a stream with the strategy that was chosen for it; with None, the written one."""
        written = self.tables[stream.index]
        if written.tables is None:
            return self._resolved(stream.index, written, chosen=chosen)
        return self._of_pattern(stream.index, stream.name, (stream.table_schema, stream.table_name), chosen)

    def with_table(self, source: str, table: str) -> ProjectConfig:
        """Return the configuration with one more stream of ``strategy: auto`` at the end.

        Raises:
            ConfigError: There is no such source.
        """
        if source not in self.sources:
            known = f"there are {', '.join(self.sources)}"
            raise ConfigError(f"there is no source {quoted(source)}", remedy=did_you_mean(source, self.sources, known))
        try:
            added = TableConfig.model_validate({"source": source, "table": table, "strategy": AUTO})
        except ValidationError as error:
            raise ConfigError(f"{quoted(table)} is no table", remedy="write schema.table, or table") from error
        taken = {one.stream_name for one in self.tables if one.tables is None}
        numbered = (f"{added.stream_name}_{number}" for number in count(2))
        name = next(one for one in chain([added.stream_name], numbered) if one not in taken)
        return self.model_copy(update={"tables": [*self.tables, added.model_copy(update={"name": name})]})

    def _entry(self, name: str) -> tuple[int, TableConfig]:
        """Return the place in the file, and the entry, of a stream that has an entry of its own."""
        known = {table.stream_name: index for index, table in enumerate(self.tables) if table.tables is None}
        if name not in known:
            raise self.unknown(name, known)
        return known[name], self.tables[known[name]]

    def unknown(self, name: str, known: Iterable[str]) -> ConfigError:
        """Return the error for a name that is none of `known`."""
        listed = list(known)
        shown = ", ".join(listed[:MOST_NAMED]) + (
            f" and {len(listed) - MOST_NAMED:,} more" * (len(listed) > MOST_NAMED)
        )
        remedy = did_you_mean(name, listed, f"there are {shown}" if listed else "no table matches the patterns")
        return ConfigError(f"there is no stream {quoted(name)}", remedy=remedy, where=self._document.display)

    def _pattern(self, index: int, table: TableConfig) -> PatternEntry:
        return PatternEntry(
            index,
            self.source_of(table),
            tuple(map(TablePattern.parse, table.tables or ())),
            tuple(map(TablePattern.parse, table.exclude or ())),
            table.new_tables or "report",
            self.where("tables", index, "tables"),
        )

    def _of_pattern(
        self, index: int, name: str, place: tuple[str, str], chosen: StrategyConfig | None = None
    ) -> StreamConfig:
        own = {"name": name, "tables": None, "exclude": None}
        return self._resolved(index, self.tables[index].model_copy(update=own), place, chosen)

    def _strategy(self, index: int, table: TableConfig) -> StrategyConfig:
        strategy: StrategyConfig | None = self.setting(table, "strategy")
        if strategy is None:
            raise ConfigError("`strategy` is missing", where=self.where("tables", index))
        return strategy

    def _resolved(
        self, index: int, table: TableConfig, place: tuple[str, str] | None = None, chosen: StrategyConfig | None = None
    ) -> StreamConfig:
        schema, bare = place or (split_table(table.table) if table.table is not None else ("", table.stream_name))
        strategy = chosen or self._strategy(index, table)
        return StreamConfig(
            name=table.stream_name,
            source=self.source_of(table),
            table_schema=schema,
            table_name=bare,
            key=None if table.key is None else tuple(table.key),
            columns=None if table.columns is None else tuple(table.columns),
            exclude=tuple(table.exclude or ()),
            types=dict(table.types),
            where=table.where or "",
            query=table.query or "",
            strategy=strategy.type,
            options=strategy.options,
            chosen=chosen is not None,
            guards=self._guards(table),
            audit=interval(table.audit, self.setting(table, "audit"), strategy),
            **self._with_subscribed(table.stream_name, self._plain_settings(table)),
            index=index,
            document=self._document,
        )

    def source_of(self, table: TableConfig) -> str:
        """Return the name of a table's source, its own or that of `defaults`; empty without both."""
        return table.source or self.defaults.source or ""

    def layers(self, table: TableConfig) -> Iterator[tuple[KeyPath, StreamDefaults]]:
        """Yield the sections that give a table its settings, by precedence, with key paths.

        The path of the table itself is empty.
        """
        yield (), table
        if (source := self.databases.get(self.source_of(table))) is not None:
            yield ("sources", self.source_of(table), "defaults"), source.defaults
        yield ("defaults",), self.defaults

    def setting(self, table: TableConfig, key: str) -> Any:
        """Return a setting of a table: its own, else of the source's `defaults`, else `defaults`.

        None if none sets it.
        """
        return next((found for _, section in self.layers(table) if (found := getattr(section, key)) is not None), None)

    def place_of(self, table: TableConfig, key: str) -> KeyPath:
        """Return the path of the section that sets `key` for a table; empty for its own or none."""
        return next((path for path, section in self.layers(table) if getattr(section, key) is not None), ())

    def _plain_settings(self, table: TableConfig) -> dict[str, Any]:
        """Return the inherited settings that a table or section sets.

        :class:`StreamConfig` has values for others.
        """
        found = {name: self.setting(table, name) for name in PLAIN_SETTINGS}
        found["sinks"] = tuple(found["sinks"] or ())
        found["enrich"] = tuple(found["enrich"] or ())
        found["baseline"] = found["baseline"] or self._baseline(table)
        return {name: value for name, value in found.items() if value is not None}

    def _with_subscribed(self, stream: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Add the sinks of subscriptions to those of a stream that may be subscribed to."""
        written = self.subscriptions
        if written is None or written.allowed(stream) is None:
            return settings
        return {**settings, "sinks": (*settings["sinks"], *written.deliver)}

    def _baseline(self, table: TableConfig) -> Baseline:
        """Return the default: sinks that show all rows begin with them."""
        names = self.setting(table, "sinks") or ()
        return "events" if any(self.sinks[name].begins_with_all_rows for name in names) else "silent"

    def _guards(self, table: TableConfig) -> GuardsConfig:
        """Resolve each guard separately: from the table, the `defaults`, the built-in value."""
        written: dict[str, Any] = {}
        for _, section in reversed(list(self.layers(table))):
            if section.guards is not None:
                written.update({name: getattr(section.guards, name) for name in section.guards.model_fields_set})
        return GuardsConfig(**written)
