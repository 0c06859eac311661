"""A process that delivers batches to an S3 server and dies at a point: KIND ENDPOINT POINT."""

from __future__ import annotations

import os
import signal
import sys
import time
from datetime import timedelta

from qbcd.common import hooks
from qbcd.sinks.folder import FolderSink
from qbcd.sinks.jsonl import JsonlSink
from qbcd.sinks.parquet import ParquetSink
from qbcd.sinks.stored.writer import Roll
from tests.support.file_batches import STREAM, FileBatch, batches
from tests.support.s3_server import S3Server

SINKS: dict[str, type[FolderSink]] = {"jsonl": JsonlSink, "parquet": ParquetSink}


def deliver(kind: str, server: S3Server, made: list[FileBatch]) -> None:
    """Deliver batches; an hour passes after the third and after the last."""
    sink = SINKS[kind]("lake", f"s3://{kind}/x", roll=Roll(timedelta(hours=1), 1 << 30), storage=server.storage)
    ahead = 0.0
    sink.stored.clock = lambda: time.time() + ahead
    for batch in made:
        sink.write(batch)
        ahead += 3700 * (batch.header.seq in (3, 5))
        sink.maintain(STREAM, (batch.header.epoch, batch.header.seq))


if __name__ == "__main__":
    kind, endpoint, point = sys.argv[1:]
    hooks.register(point, lambda: os.kill(os.getpid(), signal.SIGKILL))
    deliver(kind, S3Server(endpoint), batches(5))
