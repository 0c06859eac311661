"""The project's side of a stream's work: its engines, its report of steps, its wish to stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from qbcd.local.database import LocalProvider
from qbcd.spark.provider import SparkProvider
from qbcd.stores.parts import Workdir


@dataclass(frozen=True)
class StreamJob:
    """The engines and signals that a project gives to the work of one stream.

    Attributes:
        spark: Starts Spark on first use.
        local: Opens databases in this process.
        workdir: The place of files of streams.
        progress: Receives one line about each long step.
        stopping: Returns True once the job is to stop; called between the steps of a long poll.
        connections: Most connections that read from the source at once.
    """

    spark: SparkProvider
    local: LocalProvider
    workdir: Workdir
    progress: Callable[[str], None] = lambda what: None
    stopping: Callable[[], bool] = lambda: False
    connections: int = 2
