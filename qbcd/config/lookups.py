"""Lookups: relations in databases that are joined with the events of streams."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from qbcd.config.fields import Filled, Section, Size, SomeNames, TableName, Whole, wrong

LookupMethod = Literal["auto", "broadcast", "index", "mesh"]
Missing = Literal["null", "allocate", "hold"]
Overload = Literal["first", "sample", "top", "cluster"]
DEFAULT_LOOKUP_MEMORY = 64 << 20


class LookupConfig(Section):
    """A relation whose columns are added to events, by equal keys.

    Attributes:
        source: Name under `sources`; a database with a connector.
        table: The relation as ``schema.table`` (MariaDB, MySQL: ``database.table``).
        on: Columns of the event, each with the relation's column that must be equal.
        take: Columns of the relation that the event gets.
        where: Restriction of the relation's rows: one boolean expression in the source's SQL.
        method: Way to read it: ``broadcast`` whole, ``index`` by lists of keys, ``mesh`` by a scan in key ranges;
            ``auto``, the default, takes the cheapest by measured times.
        memory: Most bytes of keys and rows that wait together; more keys need more scans.
        missing: Reaction to a key without a row: ``null``, the default; ``allocate`` a new surrogate key; ``hold`` the
            event, and later ones with the same key of the stream, until the row exists.
        overload: The keys that are searched at once if a batch has more than fit into the memory: the ``first``, a
            uniform ``sample``, those of most events (``top``), or a sample by events (``cluster``). Events of others
            wait, as with ``hold``. By default all are searched, in several scans.
        allocate_from: With ``allocate``, the first new surrogate key; larger ones belong to qbcd too.
    """

    source: Filled
    table: TableName
    on: dict[str, Filled] = Field(min_length=1)
    take: SomeNames
    where: Filled | None = None
    method: LookupMethod = "auto"
    memory: Size = DEFAULT_LOOKUP_MEMORY
    missing: Missing = "null"
    overload: Overload | None = None
    allocate_from: Annotated[Whole, Field(ge=1, le=(1 << 63) - 1)] | None = None

    @property
    def holds(self) -> bool:
        """True if events may wait."""
        return self.missing == "hold" or self.overload is not None

    @model_validator(mode="after")
    def _fitting(self) -> LookupConfig:
        if len(set(self.on.values())) < len(self.on):
            raise wrong("a column of the relation is named twice", "name each column of the relation once", at="on")
        if self.missing == "allocate" and len(self.take) != 1:
            raise wrong("`missing: allocate` needs one column in `take`, the surrogate key", "name it alone", at="take")
        if self.missing == "allocate" and self.allocate_from is None:
            raise wrong(
                "`missing: allocate` needs `allocate_from`",
                "write the first new key, larger than all keys that others assign:  allocate_from: 1000000000",
                at="missing",
            )
        if self.missing != "allocate" and self.allocate_from is not None:
            raise wrong("`allocate_from` belongs to `missing: allocate`", "remove one of them", at="allocate_from")
        return self
