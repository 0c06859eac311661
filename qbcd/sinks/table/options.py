"""Options of table sinks: mode, deletes, envelope, names of tables and columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from qbcd.config.databases import DEFAULT_TARGET_TABLE
from qbcd.config.fields import pattern_problem
from qbcd.errors import ConfigError
from qbcd.model import BatchHeader
from qbcd.model.value_limits import Unsupported

Mode = Literal["log", "mirror", "scd2"]
Deletes = Literal["hard", "soft"]
Envelope = Literal["qbcd", "debezium", "changes"]
ColumnsLike = Literal["qbcd", "dbt", "spark"]

SOFT_DELETED = "is_deleted"


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
        """True if new rows go into the table as they are: those of a log, or of a mirror without a flag."""
        return self.mode == "log" or (self.mode == "mirror" and self.deletes == "hard")

    def table_of(self, header: BatchHeader) -> str:
        """Return the name of a stream's target table; a query has no schema, and its table is the stream's name."""
        schema, dot, table = header.table.partition(".")
        values = {"schema": schema if dot else "", "table": table if dot else header.table}
        name = self.table.format(stream=header.stream, source=header.source, **values)
        return name if dot else name.lstrip("_")
