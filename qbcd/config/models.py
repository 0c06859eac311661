"""The configuration file as frozen pydantic models, one class per mapping.

`qbcd.config.rules` checks relations between sections: a table's source exists, its name is unique.
:func:`qbcd.config.load_config` and :func:`qbcd.config.config_from_dict` create the models. They replace placeholders,
and turn pydantic's errors into errors with a place. No ``repr`` shows a secret.
"""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PrivateAttr, SecretStr, ValidationInfo, model_validator
from sqlalchemy.engine import URL

from qbcd.config.audits import Audit, interval
from qbcd.config.document import Document, did_you_mean, quoted
from qbcd.config.fields import (
    Count,
    Duration,
    Filled,
    Interval,
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
from qbcd.config.logins import Login, checked_url
from qbcd.config.notify import NotifyConfig
from qbcd.config.openlineage import OpenLineageConfig
from qbcd.config.sink_options import AnySink
from qbcd.config.strategy_registry import AnyStrategy
from qbcd.config.streams import Baseline, EngineName, GuardsConfig, KeyChange, NewColumns, StreamConfig
from qbcd.config.urls import is_memory_database, parse_url
from qbcd.errors import ConfigError

DEFAULT_EVERY = timedelta(seconds=30)
DEFAULT_LOCAL_ROWS = 1_000_000
DEFAULT_LOCAL_BYTES = 1 << 30
DEFAULT_LOCAL_MEMORY = 512 << 20
DEFAULT_RETAIN = timedelta(days=7)


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
    """

    fetchsize: Count | None = None
    driver_jar: LocalPath | None = None
    properties: dict[str, ScalarText] = Field(default_factory=dict, repr=False)


class SourceConfig(Login):
    """A database to capture from.

    Attributes:
        qbcd_schema: ``schema`` in the file: the schema in which qbcd may create tables.
        connections: Concurrent read connections.
        statement_timeout: Time limit of qbcd's statements in the source, whole seconds; 0 for none.
        socket_timeout: Longest wait for the source's answer; by default a little longer than `statement_timeout`.
    """

    qbcd_schema: Filled = Field(default="qbcd", alias="schema")
    jdbc: JdbcConfig = Field(default_factory=JdbcConfig)
    connections: Whole = Field(default=2, ge=1, le=16)
    statement_timeout: Limit = timedelta(hours=1)
    socket_timeout: Wait | None = None


class DefaultsConfig(Section):
    """Settings that tables inherit unless they have their own."""

    every: Interval | None = None
    sinks: Names | None = None
    retain: Duration | None = None
    strategy: AnyStrategy | None = None
    baseline: Baseline | None = None
    guards: GuardsConfig | None = None
    key_change: KeyChange | None = None
    audit: Audit | None = None
    source: Filled | None = None
    engine: EngineName | None = None
    new_columns: NewColumns | None = None


class TableConfig(DefaultsConfig):
    """A stream as written; :class:`StreamConfig` also has the inherited values."""

    name: Filled | None = None
    table: TableName | None = None
    query: Filled | None = None
    key: KeyNames | None = None
    columns: SomeNames | None = None
    exclude: Names | None = None
    types: dict[str, Literal["text"]] = Field(default_factory=dict)
    where: Filled | None = None

    @model_validator(mode="after")
    def _one_of_each(self) -> TableConfig:
        if self.table is None and self.query is None:
            raise wrong("`table` is missing", "write table: schema.table, or query: SELECT ..")
        if self.table is not None and self.query is not None:
            raise wrong("`table` and `query` cannot both be given", "remove one", at="query")
        if self.query is not None and self.name is None:
            raise wrong("`name` is missing", "give the query's stream a name", at="query")
        if self.columns is not None and self.exclude is not None:
            raise wrong("`columns` and `exclude` cannot both be given", "remove one", at="exclude")
        return self

    @property
    def stream_name(self) -> str:
        """The given name, or the table's name without its schema; a query must have a name."""
        return self.name if self.name is not None else split_table(self.table or "")[1]


class ProjectConfig(Section):
    """The whole file.

    Attributes:
        state: SQLAlchemy URL of the state database as written; :meth:`state_url` gives it with an absolute path.
        state_timeout: Longest wait for the state database: its answer, or the lock of its file.
        workdir: Folder of lake replicas and batches, absolute.
        local_rows: Most rows to fetch or to deliver in this process, if `engine` is ``auto``.
        local_bytes: Most bytes of a replica's files that this process reads, if `engine` is ``auto``.
        local_memory: Most bytes that one stream's work in this process holds in memory; more is spilled.
        notify: Addresses that get a message when the state of a stream changes.
        openlineage: Events about polls for a data catalog; None without them.
    """

    version: Literal[1]
    state: Annotated[SecretStr, AfterValidator(_state)] = SecretStr("sqlite:///.qbcd/state.db")
    state_timeout: Wait | None = None
    workdir: LocalPath = Field(default=".qbcd", validate_default=True)
    local_rows: Count = DEFAULT_LOCAL_ROWS
    local_bytes: Size = DEFAULT_LOCAL_BYTES
    local_memory: Size = DEFAULT_LOCAL_MEMORY
    spark: SparkConfig = Field(default_factory=SparkConfig)
    sources: dict[str, SourceConfig] = Field(min_length=1)
    sinks: dict[str, AnySink] = Field(default_factory=dict)
    defaults: DefaultsConfig = Field(default_factory=DefaultsConfig)
    tables: list[TableConfig] = Field(min_length=1)
    notify: list[NotifyConfig] = Field(default_factory=list)
    openlineage: OpenLineageConfig | None = None

    _document: Document = PrivateAttr(default_factory=lambda: Document("", Path.cwd(), {}))

    @property
    def base_dir(self) -> Path:
        """The folder from which relative paths start."""
        return self._document.base_dir

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

    def shown(self, value: str, *path: str | int) -> str:
        """Return the value at a key path for a message; of a value from a placeholder, as written."""
        return self._document.shown(path, value) if self._document.is_hidden(path) else value

    @property
    def streams(self) -> tuple[StreamConfig, ...]:
        """Every stream, in the order of the file."""
        return tuple(self._resolved(index) for index in range(len(self.tables)))

    def stream(self, name: str) -> StreamConfig:
        """Return the stream called `name`.

        Raises:
            ConfigError: There is no such stream; the remedy suggests a similar name.
        """
        known = {table.stream_name: index for index, table in enumerate(self.tables)}
        if name not in known:
            remedy = did_you_mean(name, known, f"there are {', '.join(known)}")
            raise ConfigError(f"there is no stream {quoted(name)}", remedy=remedy, where=self._document.display)
        return self._resolved(known[name])

    def _resolved(self, index: int) -> StreamConfig:
        table = self.tables[index]
        schema, bare = split_table(table.table) if table.table is not None else ("", table.stream_name)
        strategy = table.strategy or self.defaults.strategy
        if strategy is None:
            raise ConfigError("`strategy` is missing", where=self.where("tables", index))
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
            baseline=self._inherit(table, "baseline", self._baseline(table)),
            every=self._inherit(table, "every", DEFAULT_EVERY),
            sinks=tuple(self._inherit(table, "sinks", ())),
            retain=self._inherit(table, "retain", DEFAULT_RETAIN),
            guards=self._guards(table),
            key_change=self._inherit(table, "key_change", "off") == "pair",
            audit=interval(table.audit, self.defaults.audit, strategy),
            engine=self._inherit(table, "engine", "auto"),
            new_columns=self._inherit(table, "new_columns", "report"),
            index=index,
            document=self._document,
        )

    def source_of(self, table: TableConfig) -> str:
        """Return the name of a table's source, its own or that of `defaults`; empty without both."""
        return table.source or self.defaults.source or ""

    def _inherit(self, table: TableConfig, key: str, otherwise: Any) -> Any:
        own, general = getattr(table, key), getattr(self.defaults, key)
        return own if own is not None else general if general is not None else otherwise

    def _baseline(self, table: TableConfig) -> Baseline:
        """Return the default: sinks that show all rows begin with them."""
        names = self._inherit(table, "sinks", ())
        return "events" if any(self.sinks[name].begins_with_all_rows for name in names) else "silent"

    def _guards(self, table: TableConfig) -> GuardsConfig:
        """Resolve each guard separately: from the table, then `defaults`, then the built-in value."""
        written: dict[str, Any] = {}
        for guards in (self.defaults.guards, table.guards):
            if guards is not None:
                written.update({name: getattr(guards, name) for name in guards.model_fields_set})
        return GuardsConfig(**written)
