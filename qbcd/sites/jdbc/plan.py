"""The plan of a stream whose rows all travel.

It is made by the driver's metadata, and checked against the checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from qbcd.catalog.drift import check_requested
from qbcd.catalog.jdbc import JdbcSource
from qbcd.config import StreamConfig
from qbcd.config.document import did_you_mean
from qbcd.connectors.jdbc.profile import Profile
from qbcd.connectors.jdbc.reading import Reading, TypedColumn, reading_of
from qbcd.errors import ConfigError, QbcdError, Refused, SchemaChanged, SourceError, UnsafeKey, UnsupportedType
from qbcd.model import Column, StreamPlan, Table
from qbcd.sites.lake.context import LakeContext
from qbcd.sites.values import Settings
from qbcd.spark.jdbc_tables import JdbcSession, ResultColumn, asked, reads_nothing
from qbcd.state import StreamRow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# facts of a column: SQL of its value, Spark's type of it, and that it is the database's own text of another type
READ, SPARK, AS_TEXT = "read", "spark", "as_text"


def source_of(context: LakeContext) -> JdbcSource:
    """Return the stream's source."""
    assert isinstance(context.source, JdbcSource)
    return context.source


def plan_of_rows(
    context: LakeContext, spark: SparkSession, config: StreamConfig, settings: Settings, row: StreamRow | None
) -> StreamPlan:
    """Return the stream's plan by the driver's metadata.

    Raises:
        ConfigError: A column does not exist.
        SchemaChanged: Table or configuration are not as they were at `prepare`.
        UnsafeKey: There is no key.
        UnsupportedType: A column cannot be read without a loss.
    """
    source = source_of(context)
    if row is not None and row.prepared:
        check_requested(context.stream, settings.requested, row.checkpoint)

    place = (config.table_schema, config.table_name)
    found, primary = described(spark, source, context.stream, place, config.query)
    plan = _plan(config, source, found, primary)
    if row is not None and row.prepared:
        plan = replace(plan, table=replace(plan.table, rows=int(row.checkpoint["rows"]), row_width=_width(context)))
        _check_unchanged(plan, row)
    return plan


def described(
    spark: SparkSession, source: JdbcSource, stream: str, place: tuple[str, str], query: str = ""
) -> tuple[list[ResultColumn], tuple[str, ...]]:
    """Return the columns of a table or query, and the table's primary key.

    Args:
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

    return asked(spark, source, stream, ask)


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
    facts = ((READ, reading.expression), (SPARK, reading.spark), *(((AS_TEXT, "yes"),) if as_text else ()))
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


def select_of(source: JdbcSource, plan: StreamPlan, columns: Sequence[Column] | None = None) -> str:
    """Return the SELECT of all captured rows, whose columns are c0..cn.

    Args:
        columns: These only; None: all captured ones.

    Raises:
        Refused: A name cannot be quoted.
    """
    profile = source.profile
    try:
        values = [
            f"{c.fact(READ).replace('{c}', profile.quote(c.name))} AS {profile.quote(f'c{i}')}"
            for i, c in enumerate(plan.captured if columns is None else columns)
        ]
        table = profile.quoted_table(plan.table.schema, plan.table.name) if not plan.table.query else ""
    except ValueError as error:
        raise Refused(str(error), stream=plan.stream, remedy="capture a view with other names") from None
    rows = f"(\n{plan.table.query}\n) q" if plan.table.query else table
    where = f" WHERE (\n{plan.where}\n)" if plan.where else ""
    return f"SELECT {', '.join(values)} FROM {rows}{where}"


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
