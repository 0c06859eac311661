"""The values that all steps of one poll of whole rows share, and what it reads.

It reads rows, and sums of the database's digests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from qbcd.common.wording import counted
from qbcd.errors import Refused, SourceError
from qbcd.local.travelled import DIGEST, ENCODER, RANGE, SHOWN, Buckets, BucketSums, Division, TravelledRows, unfit_rows
from qbcd.model import ServerIdentity
from qbcd.model.checkpoint import Entry
from qbcd.ranges.integers import IntegerRanges
from qbcd.sites.checkpoint import checkpoint_of
from qbcd.sites.jdbc.plan import source_of, width_of, with_column
from qbcd.sites.jdbc.source_sql import SPARK, fingerprint, rows_of, sums_of, total_of, window_of
from qbcd.sites.lake.engines.local.engine import LocalEngine
from qbcd.sites.lake.engines.spark.engine import SparkEngine
from qbcd.sites.lake.engines.spark.rows import SparkRows
from qbcd.sites.lake.poll import TimedPoll
from qbcd.sites.lake.replica.files import PASSING, FileSet
from qbcd.spark.jdbc import explained
from qbcd.spark.jdbc_read import RowShape, travelling_rows
from qbcd.spark.jdbc_tables import asked
from qbcd.spark.row_digests import bytes_of, digest_of, group_sums
from qbcd.state import StoredRange
from qbcd.strategies import WholeRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DUCKDB = {"timestamp_ntz": "timestamp"}  # by Spark's name of a type, if DuckDB has another one


@dataclass(frozen=True)
class RowsPoll(TimedPoll):
    """A poll that reads all captured rows.

    Attributes:
        now_ms: This machine's clock before the read.
        ahead: Entries of the checkpoint of a stream that reads windows: they advance with each commit.
    """

    strategy: WholeRows
    now_ms: int
    ahead: Mapping[str, Any] = field(default_factory=dict)

    @property
    @override
    def ts_ms(self) -> int:
        """This machine's clock before the read."""
        return self.now_ms

    @property
    def local(self) -> LocalEngine:
        """The engine of this block: rows are digested and compared in this process."""
        assert isinstance(self.engine, LocalEngine), "the project chooses it for this tier"
        return self.engine

    def checkpoint_entries(self, rows: int) -> dict[str, Any]:
        """Return the entries that each commit renews; `rows` is the size of the replica."""
        profile = source_of(self.context).profile
        server = ServerIdentity(f"jdbc:{profile.name}", profile.product, "", 0)
        shared = checkpoint_of(self, server, ENCODER, rows)
        return {**shared, Entry.FROZEN_OPTIONS: self.strategy.frozen_options(), **self.ahead}


@contextmanager
def travelled(
    poll: RowsPoll, division: Division | None = None, ranges: Sequence[StoredRange] | None = None, since: str = ""
) -> Iterator[tuple[TravelledRows, FileSet]]:
    """Captured rows, read once into files that exist for the block; and these files.

    Args:
        division: The ranges of the stream, if there are any yet.
        ranges: The ranges to read, if the database digests its rows; None for all rows.
        since: The rows of a window that begins here, as text in the zone of the timestamp; empty for all rows.

    Raises:
        QbcdError: An error of the driver, as qbcd's message.
    """
    context, plan = poll.context, poll.plan
    source = source_of(context)
    some = f"rows of {counted(len(ranges), 'range')}" if ranges is not None else "all rows"
    context.progress(f"reading {some} of {source.label}")
    frame, fields = _frame(poll, division, ranges, since)
    with closing(SparkEngine(context.spark)) as engine, _column_named(poll):
        part = context.files.write(engine, SparkRows.of(frame), fields, PASSING, poll.leased, source=source)
    try:
        poll.leased.keeper.check()
        read = [(name, DUCKDB.get(kind, kind)) for name, kind in fields]
        raw = poll.local.read(read, context.files.paths(part))
        yield TravelledRows(poll.local.database, plan, raw), part
    finally:
        context.files.discard(part)


def _frame(
    poll: RowsPoll, division: Division | None, ranges: Sequence[StoredRange] | None, since: str = ""
) -> tuple[DataFrame, list[tuple[str, str]]]:
    """Return captured rows with digests as a DataFrame to be evaluated once, and its fields.

    The arguments are those of `travelled`.
    """
    context, plan, source = poll.context, poll.plan, source_of(poll.context)
    fields = [(f"c{i}", column.fact(SPARK).lower()) for i, column in enumerate(plan.captured)]
    digest = digest_of([name for name, _ in fields], wide=plan.wide)
    if since and division is not None:
        select = window_of(source, plan, division, since, count=False)
        fields.append((SHOWN, "int"))
    else:
        select = rows_of(source, plan, division, None if ranges is None else [one.range_id for one in ranges])
    digested = (DIGEST, plan.digest_type)
    if poll.strategy.added_up:
        fields += [digested, *([(RANGE, "bigint")] if isinstance(division, Buckets) else [])]
    context.spark.give_reason("rows of a source with a JDBC driver alone are read by Spark")
    shape = RowShape(fields, width_of(plan), _readers(poll, division, ranges))
    frame = travelling_rows(context.spark.get(), source, plan.stream, select, shape)
    if poll.strategy.added_up:
        return frame, fields
    return frame.selectExpr("*", f"{digest} AS {DIGEST}"), [*fields, digested]


@contextmanager
def _column_named(poll: RowsPoll) -> Iterator[None]:
    """In the block, name the column whose value the driver refuses."""
    try:
        yield
    except SourceError as error:
        raise with_column(source_of(poll.context), poll.plan, error, partial(_fails, poll)) from error


def _readers(poll: RowsPoll, division: Division | None, ranges: Sequence[StoredRange] | None) -> list[str]:
    """Return the condition of each of several readers; empty for one reader."""
    if poll.strategy.readers < 2 or not isinstance(division, IntegerRanges):
        return []
    column = source_of(poll.context).profile.quote("c0")
    groups = groups_of(division, ranges or poll.known_ranges(), poll.strategy.readers)
    nulls = poll.plan.key[0].nullable  # such rows must be read, so that they are refused
    return [division.within(column, group, nulls=nulls) for group in groups] if len(groups) > 1 else []


def groups_of(division: IntegerRanges, known: Sequence[StoredRange], most: int) -> list[list[int]]:
    """Return adjacent ranges in at most `most` groups, which have about as many rows each."""
    rows = {one.range_id: one.rows or 0 for one in known}
    each = -(-sum(rows.values()) // most) or 1
    groups: dict[int, list[int]] = {}
    before = 0
    for one in (one for one in division.ids if one in rows):
        groups.setdefault(min(before // each, most - 1), []).append(one)
        before += rows[one]
    return list(groups.values())


def read_and_add_up(poll: RowsPoll, division: Division, groups: Sequence[Sequence[int]]) -> tuple[BucketSums, int]:
    """Read all rows, and return count and checksum of each group of ranges.

    Also return the bytes of all values. Spark adds them up while it reads. A group has the id of its first range.

    Raises:
        QbcdError: An error of the driver, as qbcd's message.
    """
    context, plan, source = poll.context, poll.plan, source_of(poll.context)
    context.progress(f"reading and adding up all rows of {source.label}")
    frame, fields = _frame(poll, division, None)
    ranges = division if isinstance(division, IntegerRanges) else IntegerRanges((groups[0][0],), ())
    group, size = ranges.joined(groups).of("c0"), bytes_of(fields[:-1])
    one_reader = not _readers(poll, division, None)
    with _column_named(poll):
        found = explained(
            lambda: group_sums(frame, group, unfit_rows(plan), size, wide=plan.wide, one_reader=one_reader),
            lambda error: source.explain(error, plan.stream),
        )
    poll.leased.keeper.check()
    sums = {one: (rows, total) for one, rows, total, *_ in found}
    size_of_all, nulls, old = (sum(row[place] for row in found) for place in (3, 4, 5))
    return BucketSums(sums, nulls, old), size_of_all


def read_sums(poll: RowsPoll, division: Division) -> BucketSums:
    """Return count and checksum of each range with rows, which the database adds up.

    Raises:
        QbcdError: An error of the driver, as qbcd's message.
    """
    context, plan = poll.context, poll.plan
    source = source_of(context)
    context.progress(f"{source.label} adds up its rows")
    select = sums_of(source, plan, division)
    found = asked_of(poll, select)
    sums = {int(one): (int(rows), int(Decimal(total))) for one, rows, total, _ in found}
    return BucketSums(sums, sum(int(Decimal(nulls)) for *_, nulls in found), 0)


def rows_unchanged(poll: RowsPoll, known: Sequence[StoredRange]) -> int | None:
    """Return the table's row count if its checksum is that of its ranges; otherwise None.

    One statement adds up all rows.
    """
    source = source_of(poll.context)
    poll.context.progress(f"{source.label} computes one checksum over the whole table")
    [(rows, total)] = asked_of(poll, total_of(source, poll.plan))
    found = int(rows), int(Decimal(total or 0))
    return found[0] if found == (sum(one.rows for one in known), sum(one.checksum for one in known)) else None


def asked_of(poll: RowsPoll, select: str) -> list[tuple[str, ...]]:
    """Return the texts of the values of a small result without NULL."""
    source = source_of(poll.context)
    found = asked(poll.context.spark.java(), source, poll.plan.stream, lambda session: session.texts(select))
    return [tuple(value or "" for value in row) for row in found]


def _fails(poll: RowsPoll, select: str) -> bool:
    """Return whether the source refuses a query."""
    try:
        asked(
            poll.context.spark.java(), source_of(poll.context), poll.plan.stream, lambda session: session.texts(select)
        )
    except SourceError:
        return True
    return False


def refuse_old_encoder(poll: RowsPoll) -> None:
    """Refuse a replica whose digests another version of the encoder has computed.

    Raises:
        Refused: It is one.
    """
    added_up = poll.strategy.added_up
    another = added_up and added_up != fingerprint(source_of(poll.context), poll.plan)
    if another or poll.leased.row.checkpoint.get(Entry.ENCODER) != ENCODER:
        raise Refused(
            "digests of this stream were computed by another version",
            stream=poll.context.stream,
            remedy=f"qbcd reset {poll.context.stream}, then prepare it again",
        )
