"""The rows of a lake replica as events of op r, for a sink that is new or was lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from qbcd.connectors.facts import quoted
from qbcd.errors import ConfigError
from qbcd.event_sql.duckdb import DUCKDB
from qbcd.local.errors import first_line
from qbcd.local.query import DIALECT, Query, duckdb_sql
from qbcd.model import Column
from qbcd.sites.engine_choice import EngineChoice
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.base import Rows
from qbcd.sites.lake.poll import ParquetPoll
from qbcd.sites.lake.replica.files import PASSING, FileSet
from qbcd.sites.lake.replica.schema import batch_fields
from qbcd.state import StoredRange


@contextmanager
def staged_replica(poll: ParquetPoll, restriction: str) -> Iterator[tuple[FileSet, int]]:
    """Files with the replica's rows as a batch, for the block; and the number of rows.

    A condition is evaluated by DuckDB, which therefore reads the files.

    Raises:
        ConfigError: DuckDB does not accept the condition.
    """
    known = [one for one in poll.known_ranges() if one.segment is not None]
    if restriction:
        poll = replace(poll, settings=replace(poll.settings, engine=EngineChoice("local")))
    rows = sum(one.rows for one in known)
    with poll.on_engine(rows) as working:
        part, count = _written(working, known, rows, restriction)
    try:
        yield part, count
    finally:
        poll.context.files.discard(part)


def _written(poll: ParquetPoll, known: Sequence[StoredRange], rows: int, restriction: str) -> tuple[FileSet, int]:
    """Write the rows of some ranges as a batch."""
    plan, engine, fields = poll.plan, poll.engine, batch_fields(poll.plan)
    if not known:
        return poll.context.files.write(engine, algebra.no_rows(engine, fields), fields, PASSING, poll.leased), 0
    poll.leased.keeper.check()
    with poll.context.reading() as conn:
        stored = poll.context.replica.rows(conn, engine, plan, plan.captured, known)
    changes: Rows = algebra.baseline(stored, len(plan.captured))
    if restriction:
        changes = _restricted(changes, plan.captured, restriction)
    changes = algebra.by_key(changes)  # another attempt numbers the rows equally
    counts = engine.event_counts({})
    with engine.numbered(changes, poll.leased.row.last_batch_seq, rows) as batch:
        try:
            part = poll.context.files.write(engine, counts.observe(batch), fields, PASSING, poll.leased)
        except Exception as error:
            raise _refused(error, restriction) or error from error
    return part, sum(counts.read().values())


def _restricted(changes: Query, captured: Sequence[Column], restriction: str) -> Query:
    """Return the rows for which a condition on the stream's own columns holds.

    The other columns have plain names.
    """
    own = {f"qbcd_{i}": name for i, name in enumerate(changes.columns)}
    typed = [
        f"{duckdb_sql(DUCKDB.typed_value(column.travel, f'a_{i}', column.name))} AS {quoted(column.name, DIALECT)}"
        for i, column in enumerate(captured)
    ]
    inner = ", ".join([*(f"{name} AS {plain}" for plain, name in own.items()), *typed])
    outer = ", ".join(f"{plain} AS {name}" for plain, name in own.items())
    sql = f"SELECT {outer} FROM (SELECT {inner} FROM (\n{changes.sql}\n) AS q) AS rows WHERE (\n{restriction}\n)"
    return Query(sql, changes.columns)


def _refused(error: Exception, restriction: str) -> ConfigError | None:
    """Return the error of a condition that DuckDB refuses; None for other errors."""
    found: Any = error
    import duckdb

    while found is not None and not isinstance(found, duckdb.Error):
        found = found.__cause__
    kinds = (duckdb.BinderException, duckdb.ParserException, duckdb.ConversionException, duckdb.CatalogException)
    if not restriction or not isinstance(found, kinds):
        return None
    return ConfigError(
        f"the condition is refused: {first_line(found)}", remedy="this replica is Parquet: write SQL of DuckDB"
    )
