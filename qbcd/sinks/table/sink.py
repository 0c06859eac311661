"""Sink `database`: applies batches to tables of a database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlalchemy.engine import URL

from qbcd.config.urls import BadUrl, parse_url
from qbcd.errors import ConfigError, DeliveryError, UnsupportedType
from qbcd.model.value_limits import FLOATS, NARROWER
from qbcd.sinks.base import Sink, SinkBatch
from qbcd.sinks.table.layout import TEXT
from qbcd.sinks.table.limits import limits_of
from qbcd.sinks.table.options import TableOptions
from qbcd.sinks.table.record import TableOwner

if TYPE_CHECKING:
    from qbcd.sinks.table.databases import TargetDatabase
    from qbcd.sinks.table.frame import TargetWrite


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

    def write(self, batch: SinkBatch) -> None:
        from qbcd.sinks.table.fitting import refused_text
        from qbcd.sinks.table.frame import apply_batch

        everything = [name for name, _ in batch.header.columns]
        with self._named():
            write, fitted = self._by_policy(batch)
            try:
                apply_batch(write, fitted.arrow)
            except UnsupportedType as error:
                found = refused_text(replace(write.fit, header=batch.header), batch.fitted("text", everything).arrow())
                raise (found or error) from error

    def _by_policy(self, batch: SinkBatch) -> tuple[TargetWrite, SinkBatch]:
        """Return the batch with its table, by the policy about values that the table cannot hold."""
        from qbcd.sinks.table.frame import TargetWrite, last_record

        header, policy = batch.header, self.options.unsupported
        write = TargetWrite(self.database, self.options, header, TableOwner(self.project_id, header.stream, self.name))
        if policy == "refuse":
            return write, batch if self.limits.old else batch.fitted(policy, old=False)
        if policy == "null":
            return write, batch.fitted(policy, old=self.limits.old)
        _, types = last_record(write)
        texts = {
            name: travel
            for name, travel in header.columns
            if (travel.kind in NARROWER or (travel.kind in FLOATS and self.limits.of(travel)))
            and (self._has_text(types.get(name.lower(), "")) if types else name not in header.key)
        }
        columns = tuple((name, TEXT if name in texts else travel) for name, travel in header.columns)
        numbers = {name: travel for name, travel in texts.items() if travel.kind in FLOATS}
        return replace(write, header=replace(header, columns=columns), texts=numbers), batch.fitted(
            policy, texts, old=self.limits.old
        )

    def _has_text(self, existing: str) -> bool:
        return bool(existing) and self.database.holds(TEXT, existing)

    def check(self) -> None:
        from qbcd.sinks.table.frame import prove_writable

        with self._named():
            prove_writable(self.database)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Let errors of the block begin with the sink's name."""
        try:
            yield
        except DeliveryError as error:
            error.what = f"sink {self.name}: {error.what}"
            raise
