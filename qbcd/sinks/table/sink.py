"""Sink `database`: applies batches to tables of a database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlalchemy.engine import URL

from qbcd.config.urls import BadUrl, parse_url
from qbcd.errors import ConfigError, DeliveryError
from qbcd.model import BatchHeader, PlannedBatch
from qbcd.sinks.base import Sink, SinkBatch, SinkPlace
from qbcd.sinks.table.options import TableOptions
from qbcd.sinks.table.record import TableOwner

if TYPE_CHECKING:
    from qbcd.sinks.table.databases import TargetDatabase
    from qbcd.sinks.table.write import TargetWrite


class DatabaseSink(Sink):
    """Applies batches to a table per stream.

    Args:
        name: The sink's name.
        url: SQLAlchemy URL of the target, with the password.
        schema: Schema of the target tables; None for the database's default.
        statement_timeout: Time limit of statements, kept by the server; 0 for none.
        socket_timeout: Longest wait for the server's answer; default: a little longer than `statement_timeout`.
        options: Options of :class:`TableOptions`.
    """

    typed = True
    takes_resends = True

    def __init__(
        self,
        name: str,
        url: str | URL,
        schema: str | None = None,
        statement_timeout: timedelta = timedelta(hours=1),
        socket_timeout: timedelta | None = None,
        **options: Any,
    ) -> None:
        super().__init__(name)
        self._statement_timeout, self._socket_timeout = statement_timeout, socket_timeout
        try:
            self._url, self._schema = parse_url(url), schema
        except BadUrl as error:
            raise ConfigError(str(error), remedy=error.remedy) from None
        self.options = TableOptions(**options)
        self.shows_all_rows = self.options.mode != "log"
        self.starts_from = "replica" if self.shows_all_rows else "next"

    @cached_property
    def database(self) -> TargetDatabase:
        """The target; its drivers and Arrow are imported when it is used."""
        from qbcd.catalog.source import SessionOptions
        from qbcd.sinks.table.databases import target_at

        limits = SessionOptions(
            statement_timeout=int(self._statement_timeout.total_seconds()),
            socket_timeout=int(self._socket_timeout.total_seconds()) if self._socket_timeout else None,
        )
        return target_at(self._url, self._schema, limits, owner=self)

    def write(self, batch: SinkBatch) -> None:
        from qbcd.sinks.table.frame import apply_batch

        with self._named():
            apply_batch(self._write_of(batch.header), batch.arrow)

    def check(self) -> None:
        from qbcd.sinks.table.proof import prove_reachable

        with self._named():
            prove_reachable(self.database)

    def problems(self, planned: PlannedBatch) -> list[DeliveryError]:
        from qbcd.sinks.table.proof import batch_problems

        with self._named():
            found = batch_problems(self._write_of(planned))
        for one in found:
            one.what = f"sink {self.name}: {one.what}"
        return found

    def claim(self, planned: PlannedBatch) -> None:
        from qbcd.sinks.table.frame import claim_target

        with self._named():
            claim_target(self._write_of(planned))

    def place(self, planned: PlannedBatch) -> SinkPlace:
        with self._named():
            write = self._write_of(planned)
            key = f"{self.database.identity}/{self.database.folded_table(write.name)}"
        remedy = "write another `table` of the sink, such as '{stream}'"
        return SinkPlace(key, f"table {write.name} of sink {self.name}", remedy)

    def _write_of(self, header: BatchHeader) -> TargetWrite:
        from qbcd.sinks.table.write import TargetWrite

        return TargetWrite(self.database, self.options, header, TableOwner(self.project_id, header.stream, self.name))

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Let errors of the block begin with the sink's name."""
        try:
            yield
        except DeliveryError as error:
            error.what = f"sink {self.name}: {error.what}"
            raise
