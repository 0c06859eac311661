"""Prepare and poll a project by an older version of qbcd, in that version's environment.

The one argument is a JSON file: `environment` (the folder that qbcd must come from), `project` (its qbcd.yaml),
`constants` of that version's modules, and its module `hooks`.

Commands arrive on stdin, one JSON line each; each gets one JSON line on stdout.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Run commands until stdin ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # other output goes to stderr
    spec = json.loads(Path(sys.argv[1]).read_text("utf-8"))

    import qbcd

    assert Path(qbcd.__file__).is_relative_to(spec["environment"]), f"qbcd comes from {qbcd.__file__}"
    for name, value in spec["constants"].items():
        module, _, constant = name.rpartition(".")
        assert hasattr(importlib.import_module(module), constant), f"this version has no {name}"
        setattr(importlib.import_module(module), constant, value)
    with qbcd.open(spec["project"]) as project:
        for line in sys.stdin:
            answer = obey(project, json.loads(line), spec["hooks"])
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


def obey(project: Any, command: dict[str, Any], hooks: str) -> dict[str, Any]:
    """Prepare or poll the named streams once; return their errors and failures of sinks."""
    if command["do"] == "prepare":
        reports = {name: project.stream(name).prepare() for name in command["streams"]}
        return {"errors": {}, "failures": {n: failures_of(r) for n, r in reports.items() if r.failures}}
    if command["kill_at"]:
        die_at(hooks, *command["kill_at"])
    outcomes = project.run(command["streams"], once=True).outcomes
    return {
        "errors": {o.stream: str(o.error) for o in outcomes if o.error},
        "failures": {o.stream: failures_of(o.report) for o in outcomes if o.report and o.report.failures},
    }


def failures_of(report: Any) -> dict[str, str]:
    """Return by sink the reason why it did not take a batch."""
    return {sink: str(error) for sink, error in report.failures.items()}


def die_at(hooks: str, point: str, nth: int) -> None:
    """Kill this process when it reaches `point` for the nth time."""
    visits = 0

    def die() -> None:
        nonlocal visits
        visits += 1
        if visits == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    importlib.import_module(hooks).register(point, die)


if __name__ == "__main__":
    main()
