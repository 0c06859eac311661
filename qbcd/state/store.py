"""The stream store: the truth of every stream of one site, in the transaction of whoever calls.

One class serves the project's state database (Spark site) and qbcd's schema of a source (database site). Every method
takes an open connection and commits nothing, so that rows, manifest, batches and checkpoint move in one step.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from sqlalchemy import delete, func, insert, select, tuple_, update
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from qbcd.errors import Refused, StateConflict
from qbcd.model import BatchHeader
from qbcd.state.bootstrap import holds_rows
from qbcd.state.dialects import facts_of
from qbcd.state.manifest import Manifest
from qbcd.state.rows import StreamRow, batch_from_json, batch_to_json, dump, stream_values
from qbcd.state.tables import seal, unseal


class StreamStore(Manifest):
    """Stream rows, batches, ranges, segments and pins of one store.

    Args:
        schema: qbcd's schema in a source, or None for the project's state database.
    """

    def add_batch(self, conn: Connection, header: BatchHeader, token: int, *, folded: bool = False) -> None:
        """Adds a sealed batch to the outbox.

        Args:
            token: Fencing token of its writer.
            folded: The replica holds the batch's changes already, without resting on its rows.

        Raises:
            StateConflict: The number is taken.
        """
        table = self.tables.batch
        values = {
            "stream": header.stream,
            "epoch": header.epoch,
            "batch_seq": header.seq,
            "token": token,
            "ts_ms": header.ts_ms,
            "fingerprint": header.fingerprint,
            "header": dump(batch_to_json(header)),
            "folded": folded,
        }
        try:
            conn.execute(insert(table).values(**seal(table, values), created_at=facts_of(conn).clock))
        except IntegrityError as error:
            raise StateConflict(
                f"batch {header.epoch}-{header.seq} is there already", remedy="poll again", stream=header.stream
            ) from error

    def batches(self, conn: Connection, stream: str, after: tuple[int, int] | None = None) -> list[BatchHeader]:
        """The sealed batches of the stream with (epoch, number) past `after`, oldest first.

        Raises:
            Refused: A row is damaged.
        """
        table = self.tables.batch
        query = select(table).where(table.c.stream == stream).order_by(table.c.epoch, table.c.batch_seq)
        if after is not None:
            query = query.where(tuple_(table.c.epoch, table.c.batch_seq) > tuple_(*after))
        rows = conn.execute(query).mappings().all()
        return [batch_from_json(json.loads(unseal(table, dict(row))["header"])) for row in rows]

    def mark_folded(self, conn: Connection, stream: str, through: tuple[int, int]) -> None:
        """The replica no longer rests on the batches up to `through`, which every range has folded."""
        table = self.tables.batch
        upto = tuple_(table.c.epoch, table.c.batch_seq) <= tuple_(*through)
        conn.execute(update(table).where(table.c.stream == stream, upto, table.c.folded.is_(False)).values(folded=True))

    def expired_batches(
        self, conn: Connection, stream: str, through: tuple[int, int], retain_s: float
    ) -> list[BatchHeader]:
        """The batches that may go, oldest first and without a hole.

        Args:
            through: The (epoch, number) that every sink has acknowledged.
            retain_s: How long a batch is kept at least, seconds of the store's clock.
        """
        table = self.tables.batch
        mine = table.c.stream == stream
        number = tuple_(table.c.epoch, table.c.batch_seq)
        old = (table.c.created_at < facts_of(conn).clock - retain_s) & table.c.folded.is_(True)
        kept = select(table.c.epoch, table.c.batch_seq).where(mine, ~old).order_by(table.c.epoch, table.c.batch_seq)
        query = select(table).where(mine, number <= tuple_(*through)).order_by(table.c.epoch, table.c.batch_seq)
        first = conn.execute(kept.limit(1)).first()
        if first is not None:
            query = query.where(number < tuple_(first.epoch, first.batch_seq))
        rows = conn.execute(query).mappings().all()
        return [batch_from_json(json.loads(unseal(table, dict(row))["header"])) for row in rows]

    def delete_batch(self, conn: Connection, stream: str, epoch: int, seq: int) -> None:
        """Removes a batch from the outbox; its rows are the site's to remove."""
        table = self.tables.batch
        conn.execute(delete(table).where(table.c.stream == stream, table.c.epoch == epoch, table.c.batch_seq == seq))

    def forget(self, conn: Connection, row: StreamRow) -> StreamRow:
        """Forgets manifest, batches and checkpoint of a stream (`reset`) and moves it one version on.

        The row stays: version, token, batch number and range ids go on from where they are, for ever.

        Raises:
            StateConflict: The stream has moved.
        """
        # Nothing is read: what stands there may be damaged, and goes.
        for table in (self.tables.range, self.tables.segment, self.tables.batch):
            conn.execute(delete(table).where(table.c.stream == row.stream))
        return self.advance(conn, row, checkpoint={}, prepared=False)

    def holds(self, conn: Connection, stream: str) -> bool:
        """Whether ranges, segments or batches of the stream stand there."""
        tables = (self.tables.range, self.tables.segment, self.tables.batch)
        return holds_rows(conn, [select(t.c.stream).where(t.c.stream == stream).subquery() for t in tables])

    def salvage(self, conn: Connection, stream: str, delivered: Callable[[], Iterable[tuple[int, int]]]) -> None:
        """Makes a damaged row of a stream one that `forget` can read: not prepared, its numbers past all that were.

        So is a row that was never prepared: another one may have been there before, that somebody has deleted.

        Args:
            delivered: Gives (epoch, batch_seq) that sinks have, as far as they told.
        """
        try:
            row = self.read(conn, stream)
            if row is None or row.epoch:
                return
        except Refused:
            pass  # of what it holds only numbers are taken, none of which may come again
        tables = self.tables
        found = conn.execute(select(tables.stream).where(tables.stream.c.stream == stream)).mappings().one()
        epochs, seqs = [found["epoch"]], [found["last_batch_seq"]]
        tokens, ranges = [found["fencing_token"], found["advanced_by"]], [found["next_range_id"]]
        for values, column in (
            (epochs, tables.batch.c.epoch),
            (seqs, tables.batch.c.batch_seq),
            (tokens, tables.batch.c.token),
            (tokens, tables.lease.c.token),
            (ranges, tables.range.c.range_id),
        ):
            values.append(conn.execute(select(func.max(column)).where(column.table.c.stream == stream)).scalar() or 0)
        for epoch, seq in delivered():
            epochs.append(epoch)
            seqs.append(seq)
        row = StreamRow(
            found["project_id"],
            stream,
            max(epochs),
            max(0, found["version"]) + 1,
            max(tokens),
            max(seqs),
            False,
            next_range_id=max(ranges) + 1,
            advanced_by=max(tokens),
        )
        mine = tables.stream.c.stream == stream
        conn.execute(update(tables.stream).where(mine).values(**seal(tables.stream, stream_values(row))))
