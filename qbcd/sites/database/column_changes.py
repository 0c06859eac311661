"""A change of what a stream captures, taken up by a site in the source: one step, and DDL around it.

See docs/design/protocol.md#rule-16.

Tables get new columns before the step, in a transaction of their own, since DDL may commit by itself. The step fills
them in the replica without an event, and only then compares, so that whatever is written in between is told. Columns
that are captured no more leave the replica after it: until then the user may take the change back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from qbcd.catalog.capture_change import Change
from qbcd.errors import MissingPrivilege, SchemaChanged
from qbcd.model import Statement, StreamPlan, Table
from qbcd.sites.database import open_batch, own_tables, range_sizes
from qbcd.sites.database import step as wing_step
from qbcd.sites.database.step import StepRequest, StepResult
from qbcd.strategies import ByRanges, InSource, OutboxSlice, Watermarked
from qbcd.strategies.in_source import OwnTable, sql_name
from qbcd.watermark import Window

if TYPE_CHECKING:
    from qbcd.sites.database.context import DatabaseContext
    from qbcd.sites.values import LeasedStream, Settings

Find = Callable[[InSource, OutboxSlice], Statement]


def apply_change(
    context: DatabaseContext, plan: StreamPlan, settings: Settings, held: LeasedStream, change: Change
) -> StepResult:
    """The step that takes up a change: rows that differ by the columns that both meanings have, or by restriction."""
    strategy = context.strategy(plan)
    if change.columns:
        widen(context, plan, held, change)
    context.progress("comparing table and replica, since what is captured changed")
    fills = bool(change.added) and strategy.keeps == "rows"
    look = StepRequest(
        _comparison(strategy, held, change),
        before=[strategy.fill(change.added)] if fills else [],
        after=[lambda s, part: s.unknown(change.added, part)] if fills else [],
    )
    taken = wing_step.run_step(context, plan, settings, held, look)
    if change.dropped and strategy.keeps == "rows":
        narrow(context, plan, held)
    if isinstance(strategy, ByRanges) and strategy.poll_mode == "ranges":
        range_sizes.recut(context, strategy, held)
    return taken


def _comparison(strategy: InSource, held: LeasedStream, change: Change) -> list[Find]:
    """What finds the rows that differ; those past a watermark are left to the next window."""
    if strategy.keeps == "nothing" or (strategy.keeps == "keys" and not change.where):
        return []
    if not isinstance(strategy, Watermarked):
        return [lambda s, part: s.differences(part)]
    window = strategy.window(None, held.row.checkpoint["mark"]["at"])
    return [lambda s, part: _look(s, part, window)] if window else []


def _look(strategy: InSource, part: OutboxSlice, window: Window) -> Statement:
    assert isinstance(strategy, Watermarked)
    return strategy.look(part, window, repeats=False)


# -- qbcd's own tables -------------------------------------------------------------------------------------------------
def widen(context: DatabaseContext, plan: StreamPlan, held: LeasedStream, change: Change) -> None:
    """Adds to the stream's tables the columns that they lack.

    Raises:
        MissingPrivilege: The tables are a DBA's; the remedy has the statements.
        SchemaChanged: The outbox has such a column, of another type, in batches that are kept.
    """
    connector, statements = context.source.connector, []
    with context.reading() as conn:
        for table in context.strategy(plan).tables():
            standing = connector.catalog.probe_table(conn, *table.name)
            if standing is None:
                raise open_batch.missing_table_error(context, "table", table.name)
            statements += _missing(context, plan, table, standing, change)
    _altered(context, held, statements)


def _missing(context: DatabaseContext, plan: StreamPlan, table: OwnTable, standing: Table, change: Change) -> list[str]:
    """ALTER TABLE for each column that `table` lacks, or has from an earlier time with another type."""
    connector, name = context.source.connector, sql_name(context.source.connector, table.name)
    images = {} if table.name == context.strategy(plan).replica else context.strategy(plan).image_names(change.added)
    stale = []
    for column, kind in table.columns:
        there, captured = standing.column(column), images.get(column, column)
        if there is None or captured not in change.added or connector.ddl.column_type(there) == kind:
            continue
        if images and any(captured in [c for c, _ in header.columns] for header in context.batches()):
            raise SchemaChanged(
                f"column {captured} was captured before, with another type, and batches that have it are kept",
                stream=context.stream,
                remedy=f"wait until they are gone (`retain`), or qbcd reset {context.stream}",
            )
        stale.append(column)
    wanted = [(c, kind) for c, kind in table.columns if standing.column(c) is None or c in stale]
    return [
        *(f"ALTER TABLE {name} DROP COLUMN {connector.quote(c)}" for c in stale),
        *(f"ALTER TABLE {name} ADD COLUMN {connector.quote(c)} {kind}" for c, kind in wanted),
    ]


def narrow(context: DatabaseContext, plan: StreamPlan, held: LeasedStream) -> None:
    """Takes columns that are captured no more out of the replica; where a DBA owns it, they stay and mean nothing."""
    connector, (replica, *_) = context.source.connector, context.strategy(plan).tables()
    wanted = {name for name, _ in replica.columns}
    with context.reading() as conn:
        standing = connector.catalog.probe_table(conn, *replica.name)
    name = sql_name(connector, replica.name)
    gone = [c.name for c in (standing.columns if standing else ()) if c.name not in wanted]
    try:
        _altered(context, held, [f"ALTER TABLE {name} DROP COLUMN {connector.quote(c)}" for c in gone])
    except MissingPrivilege:
        return


def _altered(context: DatabaseContext, held: LeasedStream, statements: list[str]) -> None:
    if not statements:
        return
    try:
        own_tables.run_alone(context, statements, held)
    except MissingPrivilege as error:
        raise MissingPrivilege(
            f"no right to alter qbcd's own tables ({error.what})",
            stream=context.stream,
            remedy=f"let their owner run: {'; '.join(statements)}",
        ) from error
