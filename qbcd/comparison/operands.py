"""Operands of a comparison: a file, a table, or what an earlier comparison kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from typing_extensions import override

from qbcd.catalog.resolve import resolve
from qbcd.comparison.tables import STREAM, NamedTable
from qbcd.config.document import quoted
from qbcd.config.files import FileFormat
from qbcd.connectors.encodings import SupportsEncodings
from qbcd.connectors.facts import quoted as quoted_name
from qbcd.errors import ConfigError, UnsafeKey, UnsupportedType
from qbcd.files.columns import column_of, value_type
from qbcd.files.content import DumpPlace
from qbcd.files.formats import DumpReader, open_dump
from qbcd.files.series import ONCE, DumpFile
from qbcd.local.database import LocalDatabase
from qbcd.local.dumps import DumpRows, identity_of
from qbcd.local.query import DIALECT, Query
from qbcd.local.source import ReadAmount, SourceReads, fetch_rows
from qbcd.model import Column, KeyRange, Travel
from qbcd.project import ProjectParts
from qbcd.sites.lake.replica.schema import row_fields
from qbcd.snapshots.work import release_freed
from qbcd.strategies import IdRcs

_DELIMITERS = ";\t|,"


class Operand(ABC):
    """One side of a comparison.

    Attributes:
        label: Its name in messages; without secrets.
        columns: The columns that it has, and whose values can be compared.
        unsupported: The types of its other columns, by name.
        proven: The key that its catalog proves; empty if none.
    """

    label: str
    columns: tuple[Column, ...]
    unsupported: Mapping[str, str] = MappingProxyType({})
    proven: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of all columns."""
        return [*(column.name for column in self.columns), *self.unsupported]

    def named(self, names: Sequence[str]) -> list[Column]:
        """Return the columns called `names`.

        Raises:
            ConfigError: There is no such column.
            UnsupportedType: Its values cannot be compared.
        """
        known = {column.name: column for column in self.columns}
        for name in names:
            if name in self.unsupported:
                what = f"{self.label}: column {name} is {self.unsupported[name]}, which cannot be compared"
                raise UnsupportedType(what, remedy=f"leave it out: --exclude {name}")
            if name not in known:
                raise ConfigError(f"{self.label} has no column {quoted(name)}", remedy=self._names_it_has())
        return [known[name] for name in names]

    def _names_it_has(self) -> str:
        return f"it has {', '.join(self.names)}"

    def as_types(self, types: Mapping[str, Travel]) -> Operand:
        """Return the operand with texts read as values of other types, where it can do that."""
        return self

    def as_texts(self, names: Collection[str]) -> Operand:
        """Return the operand with columns in the text of its database, where it has one."""
        return self

    @abstractmethod
    def load(self, database: LocalDatabase, captured: Sequence[Column], keys: int) -> tuple[Query, int]:
        """Read all rows into a table of `database`; also return their number.

        The columns of the table are ``range_id, key_id, digest, c0..cn``.

        Args:
            captured: The columns; the first are the key.
            keys: Number of key columns.
        """

    def close(self) -> None:  # noqa: B027 -- most have nothing to close
        """Close connections."""


class FileOperand(Operand):
    """A file.

    Args:
        text: The path as the user gave it.
    """

    def __init__(self, text: str, form: FileFormat) -> None:
        self.label, self._form, self.path = text, form, Path(text)
        place = DumpPlace(self.path, text, once=True)
        self._file = DumpFile.at(place)
        self._reader: DumpReader = open_dump(place, form)
        found = [(field, column_of(field)) for field in self._reader.schema]
        self.columns = tuple(column for _, column in found if column is not None)
        self.unsupported = {field.name: str(field.type) for field, column in found if column is None}

    @property
    def has_json(self) -> bool:
        """True if arrays are JSON in its texts."""
        return self._reader.form.type == "jsonl"

    @override
    def as_types(self, types: Mapping[str, Travel]) -> Operand:
        texts = {c.name for c in self.columns if c.travel.kind == "text"}
        wanted = {name: value_type(travel) for name, travel in types.items() if name in texts}
        wanted = {
            name: "base64" if self.has_json and kind == "binary" else kind for name, kind in wanted.items() if kind
        }
        wanted = {name: kind for name, kind in wanted.items() if kind and name not in self._form.types}
        if not wanted:
            return self
        self._file.check_unchanged(ONCE)
        if self._reader.form.type == "fixed":
            fields = [f.model_copy(update={"type": wanted.get(f.name, f.type)}) for f in self._form.fields]
            return FileOperand(self.label, self._form.model_copy(update={"fields": fields}))
        return FileOperand(self.label, self._form.model_copy(update={"types": {**self._form.types, **wanted}}))

    @override
    def load(self, database: LocalDatabase, captured: Sequence[Column], keys: int) -> tuple[Query, int]:
        rows = DumpRows(self._reader, captured, keys)
        with rows.read_into(database, digest=False) as query:
            loaded = in_table(database, query)
        self._file.check_unchanged(ONCE)
        release_freed()
        return loaded, rows.rows

    @override
    def _names_it_has(self) -> str:
        alone = self.names[0] if len(self.names) == 1 else ""
        delimiter = next((one for one in _DELIMITERS if one in alone), "")
        if not delimiter:
            return super()._names_it_has()
        shown = "\\t" if delimiter == "\t" else delimiter
        return f"if {alone!r} are several names, write --format '{{delimiter: \"{shown}\"}}'"


class TableOperand(Operand):
    """A table or view of a database.

    Args:
        place: The table and its source.
        wanted: The key, or empty for the primary key; the columns, or empty for all; those that are not compared.

    Attributes:
        source: Its database.
        plan: The table with all its columns.
        address: Host, port and database of the URL.
        server: The server's identity.
        encoding: The database's encoding, empty for Unicode.
        amount: What was read of its rows.
        separate_states: Why statements of one transaction may see different states of it; empty if they do not.
    """

    def __init__(self, place: NamedTable, wanted: ComparedColumns) -> None:
        source = place.source
        config = place.config({"key": list(wanted.key)} if wanted.key else {})
        self.amount = ReadAmount()
        self._parts = ProjectParts(config)
        self.source = self._parts.source(source)
        with self.source.read(STREAM) as session, key_by_option():
            connector, connection = self.source.connector, session.connection
            stream = config.stream(STREAM)
            known = connector.catalog.probe_table(connection, stream.table_schema or "", stream.table_name)
            if known is not None:
                stream = place.config(wanted.entry([c.name for c in known.columns])).stream(STREAM)
            self.plan, _ = resolve(stream, self.source, session)
            self.server = connector.catalog.server_identity(connection)
            encodings = connector.supports(SupportsEncodings)
            self.encoding = connector.require(SupportsEncodings).foreign_encoding(connection) if encodings else ""
            self.separate_states = connector.catalog.separate_states(connection, self.plan.table)
        parsed = config.databases[source].sqlalchemy_url()
        self.address = (parsed.host, parsed.port, parsed.database)
        self.columns = self.plan.captured
        self.proven = tuple(c.name for c in self.plan.key)
        self.label = f"{self.plan.table.label} of {self.source.label.partition('(')[2].rstrip(')') or source}"

    @override
    def as_texts(self, names: Collection[str]) -> Operand:
        override = self.source.connector.catalog.override_travel
        self.columns = tuple(override(c, "text") if c.name in names else c for c in self.columns)
        return self

    def strategy(self, captured: Sequence[Column], keys: int, ranges: str = "key") -> IdRcs:
        """Return the statements that read the table.

        Args:
            captured: The columns; the first are the key.
            keys: Number of key columns.
            ranges: Kind of ranges.
        """
        plan = replace(self.plan, key=tuple(captured[:keys]), columns=tuple(captured[keys:]))
        return IdRcs(self.source.connector, plan.with_options(buckets=ranges))

    @override
    def load(self, database: LocalDatabase, captured: Sequence[Column], keys: int) -> tuple[Query, int]:
        strategy = self.strategy(captured, keys)
        statement = strategy.images([KeyRange(1, None, None)], typed=False)
        reads = SourceReads(self.source, STREAM, [statement], amount=self.amount)
        rows = fetch_rows(database, reads, row_fields(strategy.plan))
        return rows, _count(database, rows)

    @override
    def close(self) -> None:
        self._parts.close()


@dataclass(frozen=True)
class ComparedColumns:
    """The columns of a table that are compared, as the user names them.

    Attributes:
        key: The key; empty for the one that the catalog proves.
        columns: The columns; empty for all.
        exclude: Columns that are not compared.
    """

    key: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def entry(self, known: Sequence[str]) -> dict[str, Any]:
        """Return the keys of a table's configuration that name columns among the `known` ones."""
        found = {name: [n for n in getattr(self, name) if n in known] for name in ("columns", "exclude")}
        named = {name: names for name, names in found.items() if names}
        return {**named, **({"key": list(self.key)} if self.key else {})}


@contextmanager
def key_by_option() -> Iterator[None]:
    """In the block, errors of a key name the option."""
    try:
        yield
    except UnsafeKey as error:
        error.remedy = "name the columns that identify a row: --key id, or --key a,b"
        raise


def in_table(database: LocalDatabase, rows: Query) -> Query:
    """Evaluate rows once, into a table."""
    name, listed = database.new_name(), ", ".join(rows.columns)
    database.connection.execute(f"CREATE TABLE {name} AS {rows.sql}")
    return Query(f"SELECT {listed} FROM {name}", rows.columns)


def identified(database: LocalDatabase, rows: Query, captured: Sequence[Column], keys: int) -> Query:
    """Return rows with key identities by wire values, which are the same for all operands."""
    others = [f"{quoted_name(name, DIALECT)}" for name in rows.columns if name not in ("key_id", "digest")]
    key = identity_of(captured[:keys])
    sql = f"SELECT {', '.join(others)}, {key} AS key_id, CAST(NULL AS BIGINT) AS digest FROM ({rows.sql})"
    return Query(sql, (*(n for n in rows.columns if n not in ("key_id", "digest")), "key_id", "digest"))


def _count(database: LocalDatabase, rows: Query) -> int:
    [(count,)] = database.connection.execute(f"SELECT COUNT(*) FROM ({rows.sql})").fetchall()
    return int(count)
