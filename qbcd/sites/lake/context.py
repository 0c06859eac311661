"""The context of a stream in the lake wing.

The stream has a row in the state database, and files in the workdir.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import cast

from sqlalchemy.engine import Connection
from typing_extensions import override

from qbcd.catalog.source import Source
from qbcd.errors import StateConflict
from qbcd.local.errors import explained_errors
from qbcd.model import StreamPlan
from qbcd.sites.context import StreamContext
from qbcd.sites.engine_choice import EngineChoice
from qbcd.sites.job import StreamJob
from qbcd.sites.lake.engines.base import Engine
from qbcd.sites.lake.replica.files import Files, FileSet
from qbcd.sites.lake.replica.replica import Replica
from qbcd.state import ProjectState
from qbcd.strategies import IdRcs, strategy_class


class LakeContext(StreamContext):
    """A stream whose replica is Parquet.

    Args:
        project: The project's state database, which also has the stream's row.
        spark: Starts Spark when rows are fetched.
        local: Opens databases in this process.
        files: The stream's folder in the workdir.
    """

    kind = "lake"
    folds_at_once = False

    def __init__(self, stream: str, source: Source, project: ProjectState, job: StreamJob, files: Files) -> None:
        super().__init__(stream, source, project, project.store, job)
        self.files, self.folder = files, files.root
        self.replica = Replica(stream, self.store, files)
        self.swept = False  # True if this process has swept since files were last released

    @contextmanager
    @override
    def writing(self) -> Iterator[Connection]:
        """A transaction on the state database."""
        with self.project.write() as conn:
            yield conn

    @contextmanager
    @override
    def reading(self) -> Iterator[Connection]:
        """A read-only transaction on the state database."""
        with self.project.read() as conn:
            yield conn

    @contextmanager
    def engine_for(self, choice: EngineChoice, rows: int) -> Iterator[Engine]:
        """The engine for about that many rows to fetch or to rewrite."""
        why_spark = self.why_spark_for(choice, rows, self._stored_bytes() if choice.engine == "auto" else 0)
        if not why_spark:
            from qbcd.sites.lake.engines.local.engine import LocalEngine

            with explained_errors(self.stream, self.local.more), self.local.open() as database:
                yield LocalEngine(database)
            return
        from qbcd.sites.lake.engines.spark.engine import SparkEngine  # its modules take time to import

        self.spark.give_reason(why_spark, rows)
        with self.spark.working(), closing(SparkEngine(self.spark)) as engine:
            yield engine

    def _stored_bytes(self) -> int:
        """Return the size of all files of the replica."""
        return sum(part.size for part in self._parts())

    def strategy(self, plan: StreamPlan) -> IdRcs:
        """Return the strategy of `plan`."""
        made = cast("type[IdRcs]", strategy_class(plan.strategy, dict(plan.options)))
        return made.of(self.source.connector, plan, self.source.schema)

    @override
    def prove_place(self) -> None:
        """Prove that this host sees the stream's folder."""
        self.files.prove()

    @override
    def prove_whole(self) -> None:
        """Prove that the stream's files exist and are readable, in addition to the shared checks."""
        super().prove_whole()
        for part in self._parts():
            try:
                self.files.prove_parts(part)
            except StateConflict:
                if part in self._parts():  # otherwise a poll has just removed it
                    raise

    def _parts(self) -> list[FileSet]:
        with self.reading() as conn:
            segments, batches = self.store.segments(conn, self.stream), self.store.layers(conn, self.stream)
        return [*map(FileSet.of_segment, segments), *(FileSet.of_location(header.location) for header in batches)]
