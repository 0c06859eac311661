"""The context of a stream in the database wing: its tables are in schema `qbcd`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import cast

from sqlalchemy.engine import Connection
from typing_extensions import override

from qbcd.catalog.source import Source
from qbcd.model import StreamPlan
from qbcd.sites.context import StreamContext
from qbcd.sites.job import StreamJob
from qbcd.state import ProjectState, StreamRow, StreamStore
from qbcd.strategies import InSource, strategy_class


class DatabaseContext(StreamContext):
    """A stream whose replica is in the source.

    Args:
        source: The database of the table and of schema `qbcd`.
        others: Returns the project's other sources that may be on the same server.
    """

    kind = "database"
    folds_at_once = True

    def __init__(
        self,
        stream: str,
        source: Source,
        project: ProjectState,
        job: StreamJob,
        others: Callable[[], Sequence[Source]] = tuple,
    ) -> None:
        super().__init__(stream, source, project, StreamStore(source.schema), job)
        self.others = others
        self._strategy: tuple[StreamPlan, InSource] | None = None

    @contextmanager
    @override
    def writing(self) -> Iterator[Connection]:
        """A transaction on the source."""
        with self.source.write(self.stream) as session:
            yield session.connection

    @contextmanager
    @override
    def reading(self) -> Iterator[Connection]:
        """A read-only transaction on the source."""
        with self.source.read(self.stream) as session:
            yield session.connection

    def lock(self, conn: Connection, row: StreamRow) -> None:
        """Lock the stream's row in the source, and check project, version and fencing token.

        Raises:
            StateConflict: Another project or poller owns the row, or its version has moved on.
        """
        self.store.lock(conn, self.stream, self.project.project_id, row.version, row.fencing_token)

    def strategy(self, plan: StreamPlan) -> InSource:
        """Return the strategy of `plan`, cached for all steps of a poll, which share one plan."""
        if self._strategy is None or self._strategy[0] is not plan:
            make = cast(Callable[..., InSource], strategy_class(plan.strategy, dict(plan.options)))
            self._strategy = plan, make(self.source.connector, plan, self.source.schema)
        return self._strategy[1]

    def own_names(self, plan: StreamPlan) -> list[str]:
        """Return schema `qbcd` and the tables in it that one step of the stream changes."""
        store = [table.name for table in self.store.tables.metadata.tables.values()]
        return [self.source.schema, *store, *(table.name[1] for table in self.strategy(plan).tables())]
