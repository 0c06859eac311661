"""Sinks in the configuration, with the options of each type.

Another type is accepted if an installed package has it in the entry-point group ``qbcd.sinks``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    PrivateAttr,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from sqlalchemy.engine import URL
from typing_extensions import override

from qbcd import plugins
from qbcd.config.databases import DEFAULT_TARGET_TABLE, FILE_DATABASES, TARGET_DATABASES
from qbcd.config.fields import (
    Filled,
    Interval,
    Limit,
    Section,
    Wait,
    Whole,
    base_dir_of,
    local_path,
    pattern_problem,
    wrong,
)
from qbcd.config.logins import Login
from qbcd.config.storage import RollConfig, SinkPath, StorageConfig
from qbcd.config.urls import is_memory_database, parse_url

BUILT_SINKS = ("jsonl", "parquet", "console", "database")
_OTHER = "other"
Initial = Literal["replica", "next"]
# In YAML the word null is no text.
Policy = Annotated[
    Literal["refuse", "null", "text"],
    BeforeValidator(lambda value: "null" if value is None else value),
    WithJsonSchema({"enum": ["refuse", "null", "text", None]}),
]
_NOT_OPTIONS = ("type", "initial")  # of a sink's class


@dataclass(frozen=True)
class SinkNeeds:
    """Needs of a sink: conditions that its streams must meet.

    Attributes:
        baseline: The rows that are there at `prepare`, as events.
        key: Rows are identified by a key.
        old_values: Updates and deletes have the old values.
        subject: The sink's mode, for messages.
    """

    baseline: bool = False
    key: bool = False
    old_values: bool = False
    subject: str = ""


class SinkConfig(Section):
    """A sink and its options.

    Attributes:
        type: Kind of the sink.
    """

    type: str

    @property
    def starts_from(self) -> Initial | None:
        """The beginning of a sink that is new in a prepared stream; None for the default of its type."""
        return None

    @property
    def begins_with_all_rows(self) -> bool:
        """The sink shows all rows of a stream, so that it needs those of the baseline."""
        return False

    @property
    def needs(self) -> SinkNeeds:
        """The needs of the sink."""
        return SinkNeeds(baseline=self.begins_with_all_rows)

    @property
    def options(self) -> dict[str, Any]:
        """The options with their values, defaults filled in."""
        return {name: getattr(self, name) for name in type(self).model_fields if name not in _NOT_OPTIONS}


class BuiltSinkConfig(SinkConfig):
    """A sink of qbcd's own.

    Attributes:
        initial: The beginning of a sink that is new in a prepared stream: all rows of the ``replica``, or the
            ``next`` batch.
    """

    initial: Initial | None = None

    @property
    @override
    def starts_from(self) -> Initial | None:
        """See :attr:`SinkConfig.starts_from`."""
        return self.initial


class FileSinkConfig(BuiltSinkConfig):
    """Files under `path`: a local folder, or a URL of a store.

    Attributes:
        path: A local or mounted folder, or a URL such as ``s3://BUCKET/FOLDER``.
        lock_timeout: Longest wait for another process that writes to the folder.
        roll: Conditions for a file of several small batches; without it each batch has its own file.
        keep: Age at which delivered files are removed; without it none are.
        storage: Options of an object store or HDFS.
    """

    path: SinkPath
    lock_timeout: Wait = timedelta(seconds=60)
    roll: RollConfig | None = None
    keep: Interval | None = None
    storage: StorageConfig = Field(default_factory=StorageConfig)

    @model_validator(mode="after")
    def _fits(self) -> FileSinkConfig:
        path = str(self.path)
        self.storage.check_fits(path.partition("://")[0] if "://" in path else "")
        return self

    @property
    @override
    def options(self) -> dict[str, Any]:
        """The options of the sink's class."""
        return {**super().options, "storage": self.storage.options}


class JsonlSinkConfig(FileSinkConfig):
    """A file of JSON lines per batch under `path`."""

    type: Literal["jsonl"]


class ParquetSinkConfig(FileSinkConfig):
    """A folder of Parquet files per batch under `path`.

    Attributes:
        unsupported: Values that no type has: stop before they are committed, write NULL, or write all values of such
            columns as texts.
    """

    type: Literal["parquet"]
    unsupported: Policy = "refuse"


class ConsoleSinkConfig(BuiltSinkConfig):
    """A table per batch on the terminal.

    Attributes:
        limit: Most events of a batch that are shown.
    """

    type: Literal["console"]
    limit: Whole = Field(default=20, ge=1, le=100_000)


class DatabaseSinkConfig(BuiltSinkConfig, Login):
    """A table per stream in a database: a mirror, a history, or a log.

    Attributes:
        target_schema: Schema of the target tables, which must exist.
        mode: Content of the table: ``mirror`` has the rows of the source, ``scd2`` every version of them, ``log`` every
            event.
        deletes: Deleted rows of a mirror: ``hard`` removes them, ``soft`` keeps and marks them.
        envelope: Columns of a log.
        table: Name of the table, with ``{stream}``, ``{schema}``, ``{table}`` and ``{source}`` of the stream.
        columns_like: Names of the columns that ``scd2`` adds.
        unsupported: Values that the target cannot hold: stop before they are committed, write NULL, or write them into
            columns for texts.
        statement_timeout: Time limit of qbcd's statements in the target, whole seconds; 0 for none.
        socket_timeout: Longest wait for the target's answer; by default a little longer than `statement_timeout`.
    """

    type: Literal["database"]
    target_schema: Filled | None = Field(default=None, alias="schema")
    mode: Literal["mirror", "scd2", "log"] = "mirror"
    deletes: Literal["hard", "soft"] = "hard"
    envelope: Literal["qbcd", "debezium", "changes"] = "qbcd"
    table: Filled = DEFAULT_TARGET_TABLE
    columns_like: Literal["qbcd", "dbt", "spark"] = "qbcd"
    unsupported: Policy = "refuse"
    statement_timeout: Limit = timedelta(hours=1)
    socket_timeout: Wait | None = None
    _file: str = PrivateAttr(default="")

    @model_validator(mode="after")
    def _place(self, info: ValidationInfo) -> DatabaseSinkConfig:
        url = parse_url(self.url.get_secret_value())
        if (name := url.get_backend_name()) not in TARGET_DATABASES:
            remedy = f"use one of {', '.join(TARGET_DATABASES)}"
            raise wrong("sinks cannot write to this database yet", remedy, at="url", not_built=True)
        if name in FILE_DATABASES:
            if is_memory_database(url):
                raise wrong("a sink cannot be in memory", f"write {name}:///warehouse.db", at="url")
            self._file = str(local_path(url.database, base_dir_of(info), at="url"))
            for limit in ("statement_timeout", "socket_timeout"):
                if limit in self.model_fields_set:
                    raise wrong(f"`{limit}` is for a server, and this is a file", "remove it", at=limit)
        if name == "sqlite" and self.target_schema is not None:
            raise wrong("SQLite has no schemas", "remove it", at="schema")
        if problem := pattern_problem(self.table):
            raise wrong(*problem, at="table")
        if self.deletes == "soft" and self.mode != "mirror":
            raise wrong("`deletes` is for mode mirror", "remove it", at="deletes")
        if self.envelope != "qbcd" and self.mode != "log":
            raise wrong("`envelope` is for mode log", "remove it, or write mode: log", at="envelope")
        if self.initial == "next" and self.mode != "log":
            what = f"a sink of mode {self.mode} shows all rows, and would lack those of today"
            raise wrong(what, "remove `initial`: the sink is then filled from the replica", at="initial")
        if self.columns_like != "qbcd" and self.mode != "scd2":
            raise wrong("`columns_like` is for mode scd2", "remove it", at="columns_like")
        return self

    @override
    def sqlalchemy_url(self) -> URL:
        """Return the URL with the login; the path of a file is absolute."""
        url = super().sqlalchemy_url()
        return url.set(database=self._file) if self._file else url

    @property
    @override
    def options(self) -> dict[str, Any]:
        """The options of the sink's class."""
        own = ("mode", "deletes", "envelope", "table", "columns_like", "unsupported")
        named = (*own, "statement_timeout", "socket_timeout")
        found = {name: getattr(self, name) for name in named}
        return {"url": self.sqlalchemy_url(), "schema": self.target_schema, **found}

    @property
    @override
    def begins_with_all_rows(self) -> bool:
        """A mirror and a history show all rows."""
        return self.mode != "log"

    @property
    @override
    def needs(self) -> SinkNeeds:
        """A mirror and a history match rows by key; a change feed has the old rows."""
        return SinkNeeds(
            baseline=self.begins_with_all_rows,
            key=self.mode != "log",
            old_values=self.mode == "log" and self.envelope == "changes",
            subject="envelope changes" if self.mode == "log" else f"mode {self.mode}",
        )


class OtherSink(SinkConfig):
    """A sink of an installed package, which checks its options; `path` must be local.

    Attributes:
        settings: All keys except `type`.
    """

    settings: dict[str, Any] = Field(default_factory=dict, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, dict):
            return data
        settings = {key: item for key, item in data.items() if key != "type"}
        if settings.get("path") is not None:
            settings["path"] = local_path(settings["path"], base_dir_of(info), at="path")
        return {"type": data.get("type"), "settings": settings}

    @property
    @override
    def options(self) -> dict[str, Any]:
        """The options as written, `path` made absolute."""
        return dict(self.settings)


SINK_OPTIONS: dict[str, type[SinkConfig]] = {
    "jsonl": JsonlSinkConfig,
    "parquet": ParquetSinkConfig,
    "console": ConsoleSinkConfig,
    "database": DatabaseSinkConfig,
    _OTHER: OtherSink,
}


def _sink(value: Any) -> Any:
    if isinstance(value, SinkConfig):
        return value
    if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
        raise wrong("a sink is a mapping with `type` and options", "write {type: jsonl, path: out/changes}")
    name = value["type"]
    if name not in BUILT_SINKS:
        installed = plugins.installed(plugins.SINKS)
        if name not in installed:
            choices = (*BUILT_SINKS, *installed)
            remedy = f"there are {', '.join(choices)}"
            raise wrong("there is no sink type <value>", remedy, at="type", value=name, choices=choices)
    return value


def _sink_tag(value: Any) -> str:
    name = value.get("type") if isinstance(value, Mapping) else value.type
    return name if name in BUILT_SINKS else _OTHER


AnySink = Annotated[
    Annotated[
        Annotated[JsonlSinkConfig, Tag("jsonl")]
        | Annotated[ParquetSinkConfig, Tag("parquet")]
        | Annotated[ConsoleSinkConfig, Tag("console")]
        | Annotated[DatabaseSinkConfig, Tag("database")]
        | Annotated[OtherSink, Tag(_OTHER)],
        Discriminator(_sink_tag),
    ],
    BeforeValidator(_sink),
]
