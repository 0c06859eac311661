"""Options of table sinks: mode, deletes, envelope, names.

They are those of the configuration and those of the sink.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, get_args

from pydantic import Field, PrivateAttr, ValidationInfo, model_validator
from sqlalchemy.engine import URL
from typing_extensions import override

from qbcd.config.databases import DEFAULT_TARGET_TABLE, FILE_DATABASES, TARGET_DATABASES
from qbcd.config.fields import Filled, Limit, Wait, base_dir_of, local_path, pattern_problem, wrong
from qbcd.config.logins import Login
from qbcd.config.sink_options import BuiltOptions, Policy, SinkNeeds
from qbcd.config.urls import is_memory_database, parse_url
from qbcd.errors import ConfigError
from qbcd.model import BatchHeader
from qbcd.model.value_limits import Unsupported

Mode = Literal["mirror", "scd2", "log"]
Deletes = Literal["hard", "soft"]
Envelope = Literal["qbcd", "debezium", "changes"]
ColumnsLike = Literal["qbcd", "dbt", "spark"]

SOFT_DELETED = "is_deleted"


class AppliedOptions(BuiltOptions):
    """A sink that keeps a table per stream.

    Attributes:
        mode: Content of the table: ``mirror`` has the rows of the source, ``scd2`` every version of them, ``log`` every
            event.
        deletes: Deleted rows of a mirror: ``hard`` removes them, ``soft`` keeps and marks them.
        envelope: Columns of a log.
        table: Name of the table, with ``{stream}``, ``{schema}``, ``{table}`` and ``{source}`` of the stream.
        columns_like: Names of the columns that ``scd2`` adds.
        unsupported: Values that the target cannot hold: stop before they are committed, write NULL, or write them into
            columns for texts.
    """

    mode: Mode = "mirror"
    deletes: Deletes = "hard"
    envelope: Envelope = "qbcd"
    table: Filled = DEFAULT_TARGET_TABLE
    columns_like: ColumnsLike = "qbcd"
    unsupported: Policy = "refuse"

    @model_validator(mode="after")
    def _modes(self) -> AppliedOptions:
        if problem := pattern_problem(self.table):
            raise wrong(*problem, at="table")
        if self.deletes == "soft" and self.mode != "mirror":
            raise wrong("`deletes` is for mode mirror", "remove it", at="deletes")
        if self.envelope != "qbcd" and self.mode != "log":
            raise wrong("`envelope` is for mode log", "remove it, or write mode: log", at="envelope")
        if self.columns_like != "qbcd" and self.mode != "scd2":
            raise wrong("`columns_like` is for mode scd2", "remove it", at="columns_like")
        if self.initial == "next" and self.mode != "log":
            what = f"a sink of mode {self.mode} shows all rows, and would lack those of today"
            raise wrong(what, "remove `initial`: the sink is then filled from the replica", at="initial")
        return self

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
            every_batch=True,
        )


class DatabaseOptions(AppliedOptions, Login):
    """A table per stream in a database: a mirror, a history, or a log.

    Attributes:
        target_schema: Schema of the target tables, which must exist.
        statement_timeout: Time limit of qbcd's statements in the target, whole seconds; 0 for none.
        socket_timeout: Longest wait for the target's answer; by default a little longer than `statement_timeout`.
    """

    type: Literal["database"]
    target_schema: Filled | None = Field(default=None, alias="schema")
    statement_timeout: Limit = timedelta(hours=1)
    socket_timeout: Wait | None = None
    _file: str = PrivateAttr(default="")

    @model_validator(mode="after")
    def _place(self, info: ValidationInfo) -> DatabaseOptions:
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
        return self

    @override
    def sqlalchemy_url(self) -> URL:
        """Return the URL with the login; the path of a file is absolute."""
        url = super().sqlalchemy_url()
        return url.set(database=self._file) if self._file else url

    @property
    @override
    def options(self) -> dict[str, Any]:
        own = ("mode", "deletes", "envelope", "table", "columns_like", "unsupported")
        named = (*own, "statement_timeout", "socket_timeout")
        found = {name: getattr(self, name) for name in named}
        return {"url": self.sqlalchemy_url(), "schema": self.target_schema, **found}


@dataclass(frozen=True)
class HistoryColumns:
    """Names of the columns that a history (SCD 2) has in addition to those of the stream."""

    valid_from: str = "valid_from"
    valid_to: str = "valid_to"
    is_deleted: str = "is_deleted"
    batch_seq: str = "batch_seq"


HISTORY_COLUMNS: dict[str, HistoryColumns] = {
    "qbcd": HistoryColumns(),
    "dbt": HistoryColumns("dbt_valid_from", "dbt_valid_to", "dbt_is_deleted"),
    "spark": HistoryColumns("__START_AT", "__END_AT"),
}


@dataclass(frozen=True)
class TableOptions:
    """Options that all table sinks have.

    Attributes:
        mode: ``log`` appends each event, ``mirror`` keeps the table equal to the source, ``scd2`` keeps every version.
        deletes: Of a mirror: remove deleted rows, or keep them with a flag.
        envelope: Of a log: the columns of an event.
        table: Pattern of the target table's name, with placeholders.
        columns_like: Convention for the names of a history's columns.
        unsupported: Values that the target cannot hold: stop, or write NULL, or a text into a column for texts.
    """

    mode: Mode = "mirror"
    deletes: Deletes = "hard"
    envelope: Envelope = "qbcd"
    table: str = DEFAULT_TARGET_TABLE
    columns_like: ColumnsLike = "qbcd"
    unsupported: Unsupported = "refuse"

    def __post_init__(self) -> None:
        named = (("mode", Mode), ("deletes", Deletes), ("envelope", Envelope), ("unsupported", Unsupported))
        for name, allowed in named:
            if getattr(self, name) not in get_args(allowed):
                raise ConfigError(f"`{name}` is not known here", remedy=f"one of {', '.join(get_args(allowed))}")
        if self.columns_like not in HISTORY_COLUMNS:
            raise ConfigError("`columns_like` is not known here", remedy=f"one of {', '.join(HISTORY_COLUMNS)}")
        if problem := pattern_problem(self.table):
            raise ConfigError(problem[0], remedy=problem[1])

    @property
    def history(self) -> HistoryColumns:
        """The names of a history's columns."""
        return HISTORY_COLUMNS[self.columns_like]

    @property
    def loads_new_rows(self) -> bool:
        """True if new rows go into the table as they are.

        They are those of a log, or of a mirror without a flag.
        """
        return self.mode == "log" or (self.mode == "mirror" and self.deletes == "hard")

    def table_of(self, header: BatchHeader) -> str:
        """Return the name of a stream's target table.

        A query has no schema, and its table is the stream's name. A pattern that begins with the schema has then no
        underscore at the beginning.
        """
        schema, dot, table = header.table.partition(".")
        values = {"schema": schema if dot else "", "table": table if dot else header.table}
        name = self.table.format(stream=header.stream, source=header.source, **values)
        return name if dot or not self.table.startswith("{schema}") else name.lstrip("_")
