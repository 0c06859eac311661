"""A process that delivers batches to a broker and says when each is done: SERVERS FIRST POINT NUMBER.

It dies when it reaches POINT for the NUMBERth time; `written` is after a batch, and an empty point is none.
"""

from __future__ import annotations

import os
import signal
import sys

from qbcd.common import hooks
from qbcd.sinks.kafka import KafkaSink
from tests.support.file_batches import batches

COUNT = 30

if __name__ == "__main__":
    servers, first, point, number = sys.argv[1:]
    left = int(number)

    def die() -> None:
        global left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    if point and point != "written":
        hooks.register(point, die)
    sink = KafkaSink("bus", servers, topic="orders", max_events=2)
    for batch in batches(COUNT)[int(first) :]:
        sink.write(batch)
        if point == "written":
            die()
        print(batch.header.seq, flush=True)
