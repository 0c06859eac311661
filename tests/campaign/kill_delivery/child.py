"""A poller in a process of its own, with a Java of its own: it obeys its parent and reports each point of a delivery.

The parent writes a task per line to its stdin, and reads one JSON object per line from its stdout. It ends when its
stdin ends, so that no poller outlives its test.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import qbcd
from qbcd.api import parts_of
from qbcd.common import hooks
from tests.support.project import opened, poll

POINTS = ("before_publish", "mid_publish", "after_publish", "after_acknowledge")
STREAM = "s"


def _prepare(project: qbcd.Project) -> list[int]:
    report = project.stream(STREAM).prepare()
    for failure in report.failures.values():
        raise failure
    return [header.seq for header in report.headers]


def _poll(project: qbcd.Project) -> list[int]:
    (outcome,) = poll(project, STREAM)
    assert outcome.report is not None
    return [header.seq for header in outcome.report.headers]


def _verify(project: qbcd.Project) -> list[str]:
    return [str(difference) for difference in project.stream(STREAM).verify()]


TASKS: dict[str, Callable[[qbcd.Project], list[Any]]] = {"prepare": _prepare, "poll": _poll, "verify": _verify}


def _say(parent: TextIO, what: str, result: Any = None) -> None:
    parent.write(json.dumps({"what": what, "at": time.monotonic(), "result": result}) + "\n")
    parent.flush()


def main(data: dict[str, Any], folder: Path) -> None:
    """Start Java, then run the tasks of the parent."""
    parent = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed
    for point in POINTS:
        hooks.register(point, partial(_say, parent, point))
    with opened(data, folder) as project:
        parts_of(project).spark.get()
        _say(parent, "ready")
        for line in sys.stdin:
            try:
                result = TASKS[line.strip()](project)
            except qbcd.QbcdError as error:
                traceback.print_exc()
                _say(parent, "failed", str(error))
            else:
                _say(parent, "done", result)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), Path(sys.argv[2]))
