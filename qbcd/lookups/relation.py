"""A lookup resolved against the catalog: columns, equality of keys, statements."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qbcd.catalog.source import Session, Source
from qbcd.config.lookups import LookupConfig
from qbcd.connectors.catalog import SupportsIndexes
from qbcd.errors import ConfigError, MissingPrivilege, UnsupportedType
from qbcd.lookups.notes import Notes
from qbcd.model import Column, KeyRange, Statement, StreamPlan, Travel
from qbcd.model.wire import Fields, wire_type
from qbcd.sql.compile import compile_sql
from qbcd.sql.probe import probe_plan
from qbcd.sql.render import render
from qbcd.sql.restriction import check_operators, check_restriction

LARGEST = {"int16": (1 << 15) - 1, "int32": (1 << 31) - 1, "int64": (1 << 63) - 1, "uint64": (1 << 63) - 1}
INTEGERS = frozenset(LARGEST)
LONGEST_NAME = 200  # in the state
DIGITS = 38  # of a decimal
OF_INTEGERS = 20  # digits


@dataclass(frozen=True)
class KeyForm:
    """The common form of two columns that are compared.

    Attributes:
        kind: DuckDB's type, in which equal values are identical.
        padded: Trailing spaces do not count.
    """

    kind: str
    padded: bool = False

    def of(self, value: str) -> str:
        """Return DuckDB's SQL of a wire value in this form; NULL for one that it cannot hold."""
        cast = f"TRY_CAST({value} AS {self.kind})"
        if self.kind in ("DATE", "TIMESTAMP"):  # an infinite one cannot be bound
            return f"CASE WHEN isfinite({cast}) THEN {cast} END"
        return f"RTRIM({cast}, ' ')" if self.padded else cast


def form_of(event: Travel, relation: Column, text_equality: str) -> KeyForm | str:
    """Return the form in which two columns are compared, or why they cannot be.

    Args:
        text_equality: As the relation's connector shows it (`Expressions.text_equality`).
    """
    travel = relation.travel
    kinds = {event.kind, travel.kind}
    if kinds <= INTEGERS:
        return KeyForm("HUGEINT")
    if kinds <= INTEGERS | {"decimal"}:
        scale = max(event.scale, travel.scale)
        whole = max(OF_INTEGERS if one.kind != "decimal" else one.precision - one.scale for one in (event, travel))
        if whole + scale > DIGITS:
            return f"numbers with {whole} digits before and {scale} after the point have no common type"
        return KeyForm(f"DECIMAL({DIGITS}, {scale})")
    if kinds == {"text"}:
        if not text_equality:
            named = f"{relation.sql_type} {relation.collation}".rstrip()
            return f"its type {named} treats different texts as equal, or cannot have all"
        if text_equality == "uuid":
            return KeyForm("UUID")
        return KeyForm("VARCHAR", padded=text_equality == "padded")
    if kinds in ({"date"}, {"timestamp"}):
        return KeyForm("DATE" if travel.kind == "date" else "TIMESTAMP")
    if len(kinds) == 1:
        return f"columns of type {relation.sql_type} cannot be keys of a lookup"
    return f"a value of type {event.kind} is never compared with one of type {travel.kind}"


@dataclass(frozen=True)
class LookupRelation:
    """The relation of a lookup.

    Attributes:
        plan: Reads it; its key is that of the table's rows, or empty if the catalog proves none.
        match: The columns that must equal those of the event, in the order of `on`.
        take: The columns that the event gets.
        indexed: An index of the table begins with the columns of `match`.
        place: ``file:line`` of the lookup's configuration.
    """

    name: str
    config: LookupConfig
    source: Source
    plan: StreamPlan
    match: tuple[Column, ...]
    take: tuple[Column, ...]
    indexed: bool
    place: str

    @property
    def label(self) -> str:
        """Its name in messages."""
        return self.plan.table.label

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that are read, as f0, f1, ..: those of `match`, then those of `take`."""
        return (*self.match, *self.take)

    @property
    def fields(self) -> Fields:
        """The columns of each statement with their wire types."""
        return [(f"f{i}", wire_type(column.travel)) for i, column in enumerate(self.columns)]

    @property
    def row_bytes(self) -> int:
        """Estimated bytes of a row as it travels."""
        return sum(column.width or 16 for column in self.columns) + 8

    @property
    def numbered(self) -> str:
        """The column whose numbers are allocated, as the state names it."""
        table = self.plan.table
        named = f"{self.source.name}:{table.schema}.{table.name}.{self.take[0].name}"
        return named if len(named) <= LONGEST_NAME else hashlib.sha256(named.encode()).hexdigest()

    @property
    def last_number(self) -> int:
        """The largest number that the column can have."""
        return LARGEST[self.take[0].travel.kind]

    def forms(self, events: Mapping[str, Travel]) -> list[KeyForm]:
        """Return the forms of the key's columns.

        Args:
            events: The columns of events.

        Raises:
            ConfigError: The events lack a column, or it cannot be compared with the relation's.
        """
        found = []
        for name, column in zip(self.config.on, self.match, strict=True):
            if name not in events:
                raise ConfigError(
                    f"lookup {self.name}: events have no column {name!r}", remedy=_near(name, events), where=self.place
                )
            form = form_of(events[name], column, self.source.connector.expressions.text_equality(column))
            if isinstance(form, str):
                raise ConfigError(
                    f"lookup {self.name}: {name} cannot be looked up in {self.label}.{column.name}: {form}",
                    remedy="use other columns, or a view of the relation that converts them",
                    where=self.place,
                )
            found.append(form)
        return found

    def describe(self, notes: Notes) -> str:
        """Return what the lookup reads, by which method and why, for `qbcd check`."""
        table, names = self.plan.table, [column.name for column in self.columns]
        rows = f"about {table.rows:,} rows" if table.rows >= 0 else "rows unknown (never analyzed)"
        read = f"reads {', '.join(dict.fromkeys(names))} of {self.label} in {self.source.label}, {rows}"
        on = ", ".join(column.name for column in self.match)
        if self.config.method != "auto":
            return f"{read}; method {self.config.method}, as configured"
        if not self.indexed:
            return f"{read}; method mesh, or one list of up to 1,000 keys, since no index begins with {on}"
        what = (
            "by measured times"
            if notes.keys.observed and notes.scanned.observed
            else "by estimated times until measured"
        )
        keys, rows_read = notes.keys.predict(1000), notes.scanned.predict(max(table.rows, 0))
        return f"{read}; method auto {what}: 1,000 keys by index take {keys:.3f} s, a scan {rows_read:.2f} s"

    # -- statements --------------------------------------------------------------------------------------------------
    def rows(self, within: KeyRange | None = None, keys: Sequence[tuple[Any, ...]] = ()) -> Statement:
        """Return the statement that reads rows: all, of a key range, or with some keys.

        Args:
            keys: Bound values; none for all rows.
        """
        canonical = render(
            "lookup_rows",
            table=self.plan.table,
            columns=[column.name for column in self.columns],
            match=[column.name for column in self.match],
            ranged=within is not None,
            keyed=bool(keys),
        )
        listed = {"keys": tuple(key if len(key) > 1 else key[0] for key in keys)} if keys else None
        return compile_sql(canonical, self.source.connector, self.plan, listed, within=within)

    def bounds(self, rows: int) -> Statement:
        """Return the statement for the bounds of key ranges with so many rows."""
        connector, table = self.source.connector, self.plan.table
        text = connector.ranges.range_bounds(connector.quoted_table(table), self.plan.key, rows_per_range=rows)
        return Statement(text)

    def largest(self, first: int) -> Statement:
        """Return the statement for the largest surrogate key from a number on."""
        canonical = render("lookup_largest", table=self.plan.table, column=self.take[0].name)
        return compile_sql(canonical, self.source.connector, self.plan, {"first": first})


def resolve_relation(name: str, config: LookupConfig, source: Source, place: str, stream: str) -> LookupRelation:
    """Return a lookup's relation, as the catalog describes it.

    Args:
        stream: Names the session in the source's monitoring.

    Raises:
        ConfigError: Table or column does not exist.
        UnsupportedType: A column of a type that qbcd does not read.
        MissingPrivilege: The role may not read a column.
    """
    with source.read(stream) as session:
        return _resolved(name, config, source, place, session)


def _resolved(name: str, config: LookupConfig, source: Source, place: str, session: Session) -> LookupRelation:
    from qbcd.config.fields import split_table

    connector = source.connector
    schema, bare = split_table(config.table)
    table = connector.catalog.probe_table(session.connection, schema, bare)
    if table is None:
        raise ConfigError(
            f"lookup {name}: table {config.table} does not exist in source {source.name}, or the role may not see it",
            remedy=_near(config.table, connector.catalog.table_names(session.connection)),
            where=place,
        )

    def column(wanted: str) -> Column:
        found = table.column(wanted)
        if found is None:
            known = _near(wanted, [one.name for one in table.columns])
            raise ConfigError(f"lookup {name}: {table.label} has no column {wanted!r}", remedy=known, where=place)
        if problem := connector.catalog.type_problem(found):
            raise UnsupportedType(f"lookup {name}: column {wanted!r} of {table.label}: {problem}", where=place)
        return found

    match = tuple(column(one) for one in config.on.values())
    take = tuple(column(one) for one in config.take)
    if config.missing == "allocate" and take[0].travel.kind not in INTEGERS:
        raise ConfigError(
            f"lookup {name}: {table.label}.{take[0].name} is of type {take[0].sql_type}, so no key can be allocated",
            remedy="`missing: allocate` needs an integer column",
            where=place,
        )
    if config.allocate_from is not None and config.allocate_from > LARGEST[take[0].travel.kind]:
        raise ConfigError(
            f"lookup {name}: {table.label}.{take[0].name} is of type {take[0].sql_type}, which cannot have "
            f"{config.allocate_from}",
            remedy=f"write an `allocate_from` of at most {LARGEST[take[0].travel.kind]}, or widen the column",
            where=place,
        )
    rights = connector.catalog.privileges(session.connection, table, [c.name for c in (*match, *take)], source.schema)
    if not rights.select or not rights.schema_usage:
        raise MissingPrivilege(
            f"lookup {name}: role {rights.role} may not read {table.label}",
            remedy=f"GRANT SELECT ON {connector.quoted_table(table)} TO {connector.grantee(rights.role)}",
            where=place,
        )
    key = tuple(one for one in map(table.column, table.row_key) if one is not None)
    if any(connector.catalog.key_problem(one) for one in key):
        key = ()
    others = tuple(dict.fromkeys(one for one in (*match, *take) if one not in key))
    plan = StreamPlan(f"lookup {name}", source.name, table, key, others, config.where or "", "lookup")
    check_restriction(plan.where, connector.dialect, place=place)
    check_operators(plan, connector.dialect, place=place)
    probe_plan(session, source, plan, "", place)
    indexed = False
    if connector.supports(SupportsIndexes):
        wanted = {one.name for one in match}
        found = connector.require(SupportsIndexes).indexes(session.connection, table)
        indexed = any(set(one.columns[: len(wanted)]) == wanted and not one.partial for one in found)
    indexed = indexed or {one.name for one in match} == set(table.row_key)
    return LookupRelation(name, config, source, plan, match, take, indexed, place)


def _near(name: str, known: Iterable[str]) -> str:
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f'did you mean "{near[0]}"?' if near else f"there are {', '.join(names[:8])}"
