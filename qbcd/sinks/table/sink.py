"""Sink `database`: applies batches to tables of a database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlalchemy.engine import URL
from typing_extensions import override

from qbcd.config.urls import BadUrl, parse_url
from qbcd.errors import ConfigError, DeliveryError, UnsupportedType
from qbcd.model import BatchHeader, PlannedBatch, Travel
from qbcd.model.value_limits import FLOATS, NARROWER
from qbcd.sinks.base import Sink, SinkBatch, SinkPlace
from qbcd.sinks.table.layout import TEXT
from qbcd.sinks.table.limits import limits_of
from qbcd.sinks.table.options import DatabaseOptions, TableOptions
from qbcd.sinks.table.record import TableOwner

if TYPE_CHECKING:
    from qbcd.sinks.table.databases import TargetDatabase
    from qbcd.sinks.table.write import TargetWrite


class DatabaseSink(Sink):
    """Applies batches to a table per stream.

    Args:
        url: SQLAlchemy URL of the target, with the password.
        schema: Schema of the target tables; None for the database's default.
        statement_timeout: Time limit of statements, kept by the server; 0 for none.
        socket_timeout: Longest wait for the server's answer; default: a little longer than `statement_timeout`.
        options: Options of :class:`TableOptions`.
    """

    options_class = DatabaseOptions
    typed = has_policy = True
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
        self.limits = limits_of(self._url.get_backend_name(), self.options)
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

    @override
    def write(self, batch: SinkBatch) -> None:
        from qbcd.sinks.table.fitting import refused_text
        from qbcd.sinks.table.frame import apply_batch

        everything = [name for name, _ in batch.header.columns]
        with self._named():
            write, texts = self._by_policy(batch.header)
            write = replace(write, is_begun=batch.is_first is False)
            fitted = self._fitted(batch, texts)
            try:
                apply_batch(write, fitted.arrow)
            except UnsupportedType as error:
                found = refused_text(replace(write.fit, header=batch.header), batch.fitted("text", everything).arrow())
                raise (found or error) from error

    def _fitted(self, batch: SinkBatch, texts: Mapping[str, Travel]) -> SinkBatch:
        """Return a batch by the policy about values that the table cannot hold."""
        policy, old = self.options.unsupported, self.limits.old
        if policy == "refuse":
            return batch if old else batch.fitted(policy, old=False)
        return batch.fitted(policy, old=old) if policy == "null" else batch.fitted(policy, texts, old=old)

    def _by_policy(self, header: BatchHeader) -> tuple[TargetWrite, Mapping[str, Travel]]:
        """Return the table of a batch by the policy, and the columns that are texts there.

        These columns come with their own form.
        """
        from qbcd.sinks.table.frame import last_record

        write = self._write_of(header)
        if self.options.unsupported != "text":
            return write, {}
        with self.database.proving() as there:
            _, types = last_record(replace(write, database=there))
        texts = {
            name: travel
            for name, travel in header.columns
            if (travel.kind in NARROWER or (travel.kind in FLOATS and self.limits.of(travel)))
            and (self._has_text(types.get(self.database.folded(name), "")) if types else name not in header.key)
        }
        columns = tuple((name, TEXT if name in texts else travel) for name, travel in header.columns)
        numbers = {name: travel for name, travel in texts.items() if travel.kind in FLOATS}
        return replace(write, header=replace(header, columns=columns), texts=numbers), texts

    def _has_text(self, existing: str) -> bool:
        return bool(existing) and self.database.holds(TEXT, existing)

    @override
    def check(self) -> None:
        from qbcd.sinks.table.proof import prove_reachable

        with self._named():
            prove_reachable(self.database)

    @override
    def problems(self, planned: PlannedBatch) -> list[DeliveryError]:
        from qbcd.sinks.table.proof import batch_problems

        if self.options.unsupported == "null":  # values that the table cannot hold become NULL
            values = frozenset(name for name, _ in planned.columns) - frozenset(planned.key)
            planned = replace(planned, nullable=values)
        with self._named():
            write, _ = self._by_policy(planned)
            found = batch_problems(write)
        for one in found:
            one.what = f"sink {self.name}: {one.what}"
        return found

    @override
    def claim(self, planned: PlannedBatch) -> None:
        from qbcd.sinks.table.frame import claim_target

        with self._named():
            claim_target(self._write_of(planned))

    @override
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
