"""The plan of a stream whose rows travel.

It is made by the driver's metadata, and checked against the checkpoint.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from qbcd.catalog.drift import check_requested
from qbcd.catalog.jdbc import JdbcSource
from qbcd.config import StreamConfig
from qbcd.config.document import did_you_mean
from qbcd.connectors.jdbc import digests
from qbcd.connectors.jdbc.profile import Profile
from qbcd.connectors.jdbc.reading import Reading, TypedColumn, reading_of
from qbcd.errors import ConfigError, QbcdError, Refused, SchemaChanged, SourceError, UnsafeKey, UnsupportedType
from qbcd.model import Column, StreamPlan, Table
from qbcd.model.checkpoint import Entry
from qbcd.sites.jdbc.source_sql import AS_TEXT, READ, SPARK, WIDTH, fingerprint, hashed, select_of
from qbcd.sites.lake.context import LakeContext
from qbcd.sites.values import Settings
from qbcd.spark.jdbc_tables import JdbcSession, ResultColumn, asked, reads_nothing
from qbcd.spark.row_digests import fixed_size
from qbcd.sql.restriction import check_restriction
from qbcd.state import StreamRow
from qbcd.strategies import WholeRows
from qbcd.strategies.whole_rows import ADDED_UP, DIVIDED, READERS

_KEY_OF_RANGES = re.compile(r"SMALLINT|INT|BIGINT|DECIMAL\(1?\d,0\)")  # Spark's types of keys that ranges divide
_LOBS = (-1, -4, -16, 2004, 2005, 2011)  # of java.sql.Types: long texts and bytes, and LOBs
_TIMESTAMP = 93
_LOB, _TEXT, _SHORT, _MOST_TEXT = 65_536, 1_000, 16, 4_000  # bytes of a value; the driver says those of short texts


def source_of(context: LakeContext) -> JdbcSource:
    """Return the stream's source."""
    assert isinstance(context.source, JdbcSource)
    return context.source


def plan_of_rows(context: LakeContext, config: StreamConfig, settings: Settings, row: StreamRow | None) -> StreamPlan:
    """Return the stream's plan by the driver's metadata.

    Raises:
        ConfigError: A column does not exist, or an option or the restriction is not possible.
        SchemaChanged: Table or configuration are not as they were at `prepare`.
        UnsafeKey: There is no key.
        UnsupportedType: A column cannot be read without a loss.
    """
    source = source_of(context)
    check_restriction(config.where or "", source.profile.sqlglot, place=config.place("where"))
    if row is not None and row.prepared:
        check_requested(context.stream, settings.requested, row.checkpoint)

    place = (config.table_schema, config.table_name)
    found, primary = described(context.spark.java(), source, context.stream, place, config.query)
    plan = _plan(config, source, found, primary)
    if plan.strategy == "ts":
        _check_window(config, source, found, plan)
    plan = _divided(source, plan, config, row)
    if WholeRows(plan).divided == "key":
        plan = plan.with_options(**{READERS: settings.connections})
    _check_consistency(config, WholeRows(plan))
    if row is not None and row.prepared:
        plan = replace(plan, table=replace(plan.table, rows=int(row.checkpoint["rows"]), row_width=_width(context)))
        _check_unchanged(plan, row)
    return plan


def _check_consistency(config: StreamConfig, strategy: WholeRows) -> None:
    """Refuse one state of all rows where several statements read them.

    Raises:
        ConfigError: The configuration asks for it.
    """
    if strategy.at_once and (strategy.added_up or strategy.readers > 1):
        raise ConfigError(
            "with a JDBC driver alone, `consistency: snapshot` needs one statement that reads all rows",
            stream=config.name,
            where=config.place("strategy", "consistency"),
            remedy="write jdbc: {checksums: here} and connections: 1 at the source, or remove `consistency`",
        )


def _check_window(config: StreamConfig, source: JdbcSource, found: Sequence[ResultColumn], plan: StreamPlan) -> None:
    """Refuse a timestamp that polls cannot compare with the database's clock.

    Raises:
        ConfigError: An option is missing, or the column is none.
        Refused: The profile has no clock.
    """
    known, place = {one.name: one for one in found}, config.place("strategy")
    if not source.profile.clock:
        remedy = "write `strategy: id_rcs`"
        raise Refused(f"qbcd knows no clock of {source.profile.product}", stream=config.name, remedy=remedy)
    if plan.counted:
        raise ConfigError("strategy ts needs a key", stream=config.name, where=place, remedy="write `strategy: id_rcs`")
    for name in plan.option("timestamp"):
        if name not in known or known[name].code != _TIMESTAMP:
            is_now = known[name].type_name if name in known else "not there"
            remedy = "name a column of type timestamp without zone, or one of a view that converts it"
            raise ConfigError(f"timestamp {name} is {is_now}", stream=config.name, where=place, remedy=remedy)
    for option, remedy in (
        ("lag", "write how long the longest transaction may take, such as lag: 10m: qbcd cannot see open transactions"),
        ("zone", "write the zone in which the column is written, such as zone: UTC"),
    ):
        if plan.option(option) is None:
            what = f"with a JDBC driver alone, strategy ts needs `{option}`"
            raise ConfigError(what, stream=config.name, where=place, remedy=remedy)


def described(
    jvm: Any, source: JdbcSource, stream: str, place: tuple[str, str], query: str = ""
) -> tuple[list[ResultColumn], tuple[str, ...]]:
    """Return the columns of a table or query, and the table's primary key.

    Args:
        jvm: The classes of a Java.
        place: Schema and name of the table.
        query: The query, in place of the table.

    Raises:
        QbcdError: An error of the driver, as qbcd's message.
    """

    def ask(session: JdbcSession) -> tuple[list[ResultColumn], tuple[str, ...]]:
        if query:
            return session.columns(reads_nothing(query)), ()
        found = session.columns(f"SELECT * FROM {source.profile.quoted_table(*place)} WHERE 1 = 0")
        return found, session.primary_key(*place)

    return asked(jvm, source, stream, ask)


def _divided(source: JdbcSource, plan: StreamPlan, config: StreamConfig, row: StreamRow | None) -> StreamPlan:
    """Return the plan with its kind of ranges, and who digests rows.

    Both are fixed at `prepare`.
    """
    if row is not None and row.prepared:
        then = row.checkpoint.get(Entry.FROZEN_OPTIONS, {})
        return plan.with_options(**{DIVIDED: then.get(DIVIDED, "hash"), ADDED_UP: then.get(ADDED_UP, "")})
    ordered = len(plan.key) == 1 and _KEY_OF_RANGES.fullmatch(plan.key[0].fact(SPARK)) is not None
    wanted = plan.option(DIVIDED)
    if wanted == "key" and not ordered:
        raise ConfigError(
            "with a JDBC driver alone, ranges of a key need a key of one whole number of up to 64 bits",
            stream=config.name,
            where=config.place("strategy"),
            remedy="remove `buckets`: buckets of a hash of the key are used",
        )
    summed = "" if why_all_travel(source, plan) else fingerprint(source, plan)
    return plan.with_options(**{DIVIDED: wanted or ("key" if ordered else "hash"), ADDED_UP: summed})


def why_all_travel(source: JdbcSource, plan: StreamPlan) -> str:
    """Return why the database does not add up its own digests; empty if it can.

    A stream that was prepared without them goes on without.
    """
    if source.checksums == "here":
        return "the configuration says checksums: here"
    if found := digests.problem(source.profile, hashed(source, plan.captured)):
        return found
    if plan.option("replica") == "digest":
        return "replica: digest keeps no values, by which digests of another version of the database are compared"
    if source.checksums is None and source.profile.executed == "never":
        return (
            f"no test has run the digests of {source.profile.product}; jdbc: {{checksums: source}} uses them, and qbcd "
            "verify checks them"
        )
    return ""


def width_of(plan: StreamPlan) -> int:
    """Return the bytes of a captured row, at most about."""
    return sum(int(column.fact(WIDTH)) for column in plan.captured)


def has_lobs(plan: StreamPlan) -> bool:
    """Return True if a captured column has values of any length."""
    return any(int(column.fact(WIDTH)) == _LOB for column in plan.captured)


def mean_width(plan: StreamPlan, sample: Sequence[Sequence[str | None]]) -> int:
    """Return the bytes of a captured row, by the texts of some rows; without any, at most about."""
    if not sample:
        return width_of(plan)
    width = 0.0
    for place, column in enumerate(plan.captured):
        if column.travel.kind in ("text", "binary"):
            width += sum(len((row[place] or "").encode()) for row in sample) / len(sample)
        else:
            width += fixed_size(column.fact(SPARK).lower())
    return round(width)


def _width(context: LakeContext) -> int:
    """Return the bytes of a row at the last poll; 0 if unknown."""
    for run in context.project.runs(context.stream, 1):
        rows = int(run.cost.get("rows_shipped") or 0)
        return int(run.cost.get("bytes_shipped") or 0) // rows if rows else 0
    return 0


def _plan(
    config: StreamConfig, source: JdbcSource, found: Sequence[ResultColumn], primary: Sequence[str]
) -> StreamPlan:
    known = {column.name: column for column in found}
    if len(known) < len(found):
        raise ConfigError(
            "two columns have one name", stream=config.name, remedy="name them in a query: SELECT .. AS .."
        )
    for option in ("key", "columns", "exclude", "types"):
        for name in getattr(config, option) or ():
            if name not in known:
                remedy = did_you_mean(name, list(known), f"there are {', '.join(known)}")
                what = f"{config.subject} has no column {name!r}"
                raise ConfigError(what, stream=config.name, where=config.place(option), remedy=remedy)
    key = list(primary if config.key is None else config.key)
    if not key and config.key is None:
        raise UnsafeKey(
            "the driver shows no primary key",
            stream=config.name,
            where=config.place("key"),
            remedy="write key: [..] with the columns that identify a row, or key: none",
        )
    excluded = set(config.exclude)
    if both := [name for name in key if name in excluded]:
        what = f"column {both[0]} is part of the key and cannot be excluded"
        raise ConfigError(what, stream=config.name, where=config.place("exclude"), remedy="remove it")
    others = [name for name in config.columns or known if name not in key and name not in excluded]
    columns = tuple(_column(config, source, known[name]) for name in (*key, *others))
    table = Table(
        config.table_schema,
        config.table_name,
        "query" if config.query else "table",
        columns,
        tuple(primary),
        query=config.query,
    )
    return StreamPlan(
        config.name,
        config.source,
        table,
        columns[: len(key)],
        columns[len(key) :],
        config.where or "",
        config.strategy,
        tuple(sorted(config.options.items())),
        counted=not key,
    )


def _column(config: StreamConfig, source: JdbcSource, found: ResultColumn) -> Column:
    if (kind := config.types.get(found.name, "text")) != "text":
        raise ConfigError(
            f"column {found.name!r} cannot be a {kind.partition(' ')[0]}: by JDBC qbcd knows no arrays",
            stream=config.name,
            where=config.place("types", found.name),
            remedy=f"remove {found.name} from `types`",
        )
    column = read_column(source.profile, found, as_text=found.name in config.types)
    if isinstance(column, str):
        raise UnsupportedType(
            f"column {found.name!r} of type {found.type_name} cannot be read without a loss: {column}",
            stream=config.name,
            where=config.place("columns"),
            remedy=f"exclude: [{found.name}], or capture a view that gives it another type",
        )
    return column


def read_column(profile: Profile, found: ResultColumn, *, as_text: bool = False) -> Column | str:
    """Return a column with the form in which it is read.

    If it cannot be read without a loss, return the reason.
    """
    typed = TypedColumn(found.code, found.type_name, found.precision, found.scale, found.signed)
    reading = reading_of(profile, typed, as_text=as_text)
    return _made(found, reading, as_text=reading.expression == profile.text) if reading.spark else reading.refused


def _made(found: ResultColumn, reading: Reading, *, as_text: bool) -> Column:
    size = f"({found.precision},{found.scale})" if reading.travel.kind == "decimal" else ""
    known = _LOB if found.code in _LOBS else found.precision if 0 < found.precision <= _MOST_TEXT else _TEXT
    facts = (
        (READ, reading.expression),
        (SPARK, reading.spark),
        (WIDTH, str(known if reading.travel.kind in ("text", "binary") else _SHORT)),
        *(((AS_TEXT, "yes"),) if as_text else ()),
    )
    sql_type = f"{found.type_name}{size if '(' not in found.type_name else ''}"
    return Column(
        found.name, sql_type, found.type_name, found.nullable, "", "typed", reading.travel, facts=tuple(sorted(facts))
    )


def _check_unchanged(plan: StreamPlan, row: StreamRow) -> None:
    """Refuse another key or other types than those of the replica.

    Raises:
        SchemaChanged: Names a column.
    """
    then, now = row.checkpoint["shape"], plan.shape()
    remedy = f"undo the change, or qbcd reset {plan.stream} and prepare it again"
    if then["key"] != now["key"]:
        what = f"the key is ({', '.join(now['key'])}) now and was ({', '.join(then['key'])})"
        raise SchemaChanged(what, stream=plan.stream, remedy=remedy)
    before, after = ({c[0]: [c[1], c[4]] for c in shape["columns"]} for shape in (then, now))
    for name in [*before, *after]:
        if before.get(name) != after.get(name):
            was, is_now = (f"of type {kind[name][0]}" if name in kind else "not there" for kind in (before, after))
            raise SchemaChanged(f"column {name} is {is_now} now and was {was}", stream=plan.stream, remedy=remedy)
    if then["where"] != now["where"]:
        raise SchemaChanged("`where` was changed", stream=plan.stream, remedy=remedy)
    if [c[0] for c in then["columns"]] != [c[0] for c in now["columns"]]:
        raise SchemaChanged("the columns have another order", stream=plan.stream, remedy=remedy)


def with_column(source: JdbcSource, plan: StreamPlan, error: SourceError, fails: Callable[[str], bool]) -> QbcdError:
    """Return the error that names the column that has a misfit; `error` if there is none.

    Args:
        fails: Says if the source refuses a query.
    """
    if not source.profile.misfit or source.profile.misfit not in str(error):
        return error
    for column in plan.captured:
        if fails(f"SELECT COUNT(c0) FROM (\n{select_of(source, plan, [column])}\n) q"):
            return UnsupportedType(
                f"column {column.name!r} of type {column.sql_type} has a value of another class",
                stream=plan.stream,
                remedy=f"correct the value, or read the column as text: types: {{{column.name}: text}}",
            )
    return error
