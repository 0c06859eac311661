"""The values that all steps of one poll of whole rows share, and the read of its rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from typing_extensions import override

from qbcd.errors import Refused, SourceError
from qbcd.local.travelled import ENCODER, TravelledRows
from qbcd.model import ServerIdentity
from qbcd.model.checkpoint import Entry
from qbcd.sites.checkpoint import checkpoint_of
from qbcd.sites.jdbc.plan import SPARK, select_of, source_of, with_column
from qbcd.sites.lake.engines.local.engine import LocalEngine
from qbcd.sites.lake.engines.spark.engine import SparkEngine
from qbcd.sites.lake.engines.spark.rows import SparkRows
from qbcd.sites.lake.poll import TimedPoll
from qbcd.sites.lake.replica.files import PASSING, FileSet
from qbcd.spark.jdbc_read import travelling_rows
from qbcd.spark.jdbc_tables import asked
from qbcd.strategies import WholeRows

DUCKDB = {"timestamp_ntz": "timestamp"}  # by Spark's name of a type, if DuckDB has another one


@dataclass(frozen=True)
class RowsPoll(TimedPoll):
    """A poll that reads all captured rows.

    Attributes:
        now_ms: This machine's clock before the read.
    """

    strategy: WholeRows
    now_ms: int

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
        return {**checkpoint_of(self, server, ENCODER, rows), Entry.FROZEN_OPTIONS: {}}


@contextmanager
def travelled(poll: RowsPoll) -> Iterator[tuple[TravelledRows, FileSet]]:
    """All captured rows, read once into files that exist for the block; and these files.

    Raises:
        QbcdError: An error of the driver, as qbcd's message.
    """
    context, plan = poll.context, poll.plan
    source = source_of(context)
    context.progress(f"reading all rows of {source.label}")
    fields = [(f"c{i}", column.fact(SPARK).lower()) for i, column in enumerate(plan.captured)]
    context.spark.give_reason("rows of a source with a JDBC driver alone are read by Spark")
    frame = travelling_rows(context.spark.get(), source, plan.stream, select_of(source, plan), fields)
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
    if poll.leased.row.checkpoint.get(Entry.ENCODER) != ENCODER:
        raise Refused(
            "digests of this stream were computed by another version",
            stream=poll.context.stream,
            remedy=f"qbcd reset {poll.context.stream}, then prepare it again",
        )
