"""The values that all steps of one poll of whole rows share, and what it reads.

It reads rows, and sums of the database's digests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any

from typing_extensions import override

from qbcd.common.wording import counted
from qbcd.errors import Refused, SourceError
from qbcd.local.travelled import DIGEST, RANGE, SHOWN, Buckets, BucketSums, Division, TravelledRows, encoder_of
from qbcd.model import ServerIdentity
from qbcd.model.checkpoint import Entry
from qbcd.ranges.integers import IntegerRanges
from qbcd.sites.checkpoint import checkpoint_of
from qbcd.sites.jdbc.plan import source_of, width_of, with_column
from qbcd.sites.jdbc.source_sql import SPARK, fingerprint, rows_of, select_of, sums_of, total_of, window_of
from qbcd.sites.lake.engines.local.engine import LocalEngine
from qbcd.sites.lake.engines.spark.engine import SparkEngine
from qbcd.sites.lake.engines.spark.rows import SparkRows
from qbcd.sites.lake.poll import TimedPoll
from qbcd.sites.lake.replica.files import PASSING, FileSet
from qbcd.spark.jdbc_read import RowShape, travelling_rows
from qbcd.spark.jdbc_tables import asked
from qbcd.state import StoredRange
from qbcd.strategies import WholeRows

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
        shared = checkpoint_of(self, server, encoder_of(self.plan), rows)
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
    context, plan, strategy = poll.context, poll.plan, poll.strategy
    source = source_of(context)
    some = f"rows of {counted(len(ranges), 'range')}" if ranges is not None else "all rows"
    context.progress(f"reading {some} of {source.label}")
    fields = [(f"c{i}", column.fact(SPARK).lower()) for i, column in enumerate(plan.captured)]
    select = select_of(source, plan)
    if since and division is not None:
        select = window_of(source, plan, division, since, count=False)
        fields.append((SHOWN, "int"))
    elif strategy.added_up:
        select = rows_of(source, plan, division, None if ranges is None else [one.range_id for one in ranges])
    if strategy.added_up:
        fields += [(DIGEST, "bigint"), *([(RANGE, "bigint")] if isinstance(division, Buckets) else [])]
    context.spark.give_reason("rows of a source with a JDBC driver alone are read by Spark")
    shape = RowShape(fields, width_of(plan), _readers(poll, division, ranges))
    frame = travelling_rows(context.spark.get(), source, plan.stream, select, shape)
    with closing(SparkEngine(context.spark)) as engine:
        try:
            part = context.files.write(engine, SparkRows.of(frame), fields, PASSING, poll.leased, source=source)
        except SourceError as error:
            raise with_column(source, plan, error, partial(_fails, poll)) from error
    try:
        poll.leased.keeper.check()
        read = [(name, DUCKDB.get(kind, kind)) for name, kind in fields]
        raw = poll.local.read(read, context.files.paths(part))
        yield TravelledRows(poll.local.database, plan, raw), part
    finally:
        context.files.discard(part)


def _readers(poll: RowsPoll, division: Division | None, ranges: Sequence[StoredRange] | None) -> list[str]:
    """Return the condition of each of several readers; empty for one reader.

    They have about as many rows each.
    """
    if poll.strategy.readers < 2 or not isinstance(division, IntegerRanges):
        return []
    known = {one.range_id: one.rows or 0 for one in ranges or poll.known_ranges()}
    ordered = [one for one in division.ids if one in known]
    each = -(-sum(known.values()) // poll.strategy.readers) or 1
    groups: dict[int, list[int]] = {}
    before = 0
    for one in ordered:
        groups.setdefault(min(before // each, poll.strategy.readers - 1), []).append(one)
        before += known[one]
    column = source_of(poll.context).profile.quote("c0")
    return [division.within(column, group) for group in groups.values()] if len(groups) > 1 else []


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
    found = asked(poll.context.spark.get(), source, poll.plan.stream, lambda session: session.texts(select))
    return [tuple(value or "" for value in row) for row in found]


def _fails(poll: RowsPoll, select: str) -> bool:
    """Return whether the source refuses a query."""
    try:
        asked(
            poll.context.spark.get(), source_of(poll.context), poll.plan.stream, lambda session: session.texts(select)
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
    if another or poll.leased.row.checkpoint.get(Entry.ENCODER) != encoder_of(poll.plan):
        raise Refused(
            "digests of this stream were computed by another version",
            stream=poll.context.stream,
            remedy=f"qbcd reset {poll.context.stream}, then prepare it again",
        )
