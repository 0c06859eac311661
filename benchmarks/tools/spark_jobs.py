"""Jobs of a Spark session, from its event log: stages, tasks, bytes, seconds, and the nodes of plans.

``python -m benchmarks.tools.spark_jobs FOLDER`` lists all jobs of the logs in a folder (`spark.eventLog.dir`,
uncompressed).
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_JOINS = ("Join", "Exchange", "Sort ", "Window", "InMemory", "HashAggregate", "Coalesce", "Scan")


@dataclass
class Job:
    """One job.

    Attributes:
        began: Milliseconds since 1970.
        execution: The SQL execution that it is part of; -1 without one.
        tasks: Numbers of tasks, by stage.
        millis: Milliseconds of tasks together: elapsed, of a processor, of garbage collection.
    """

    began: int
    name: str
    execution: int
    tasks: list[int] = field(default_factory=list)
    ended: int = 0
    read_mb: float = 0
    read_rows: int = 0
    shuffled_mb: float = 0
    written_mb: float = 0
    millis: list[int] = field(default_factory=lambda: [0, 0, 0])

    def line(self, first: int) -> str:
        """Return the job in one line, with times since `first`."""
        run, cpu, gc = (one / 1000 for one in self.millis)
        return (
            f"{(self.began - first) / 1000:7.2f} s +{(self.ended - self.began) / 1000:6.2f} s  q{self.execution:<3d} "
            f"tasks {'+'.join(map(str, self.tasks)):8s} run {run:6.2f} cpu {cpu:6.2f} gc {gc:5.2f} s  "
            f"read {self.read_rows:>10,} rows {self.read_mb:7.1f} MB  exchanged {self.shuffled_mb:6.1f} MB  "
            f"written {self.written_mb:6.1f} MB  {self.name}"
        )


class EventLog:
    """The log of a session, read while it grows.

    Args:
        folder: Where Spark writes it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._read = folder, Counter[Path]()
        self._jobs: dict[int, Job] = {}
        self._job_of: dict[int, int] = {}
        self._ended: list[int] = []
        self.plans: dict[int, tuple[str, str]] = {}

    def jobs(self) -> list[Job]:
        """Return the jobs that have ended since the last call."""
        for event in self._events():
            self._note(event)
        ended, self._ended = self._ended, []
        return [self._jobs[one] for one in ended]

    def _events(self) -> Iterator[dict[str, Any]]:
        for path in sorted(self._folder.rglob("*")):
            if path.is_file() and "appstatus" not in path.name:
                with path.open("rb") as file:
                    file.seek(self._read[path])
                    for line in file:
                        if line.endswith(b"\n"):
                            self._read[path] += len(line)
                            yield json.loads(line)

    def _note(self, event: dict[str, Any]) -> None:
        kind = event["Event"].rpartition(".")[2]
        if kind == "SparkListenerJobStart":
            properties = event.get("Properties") or {}
            execution = int(properties.get("spark.sql.execution.id") or -1)
            stages = event["Stage Infos"]
            self._jobs[event["Job ID"]] = Job(event["Submission Time"], stages[-1]["Stage Name"], execution)
            for stage in event["Stage IDs"]:
                self._job_of[stage] = event["Job ID"]
        elif kind == "SparkListenerJobEnd":
            self._jobs[event["Job ID"]].ended = event["Completion Time"]
            self._ended.append(event["Job ID"])
        elif kind == "SparkListenerStageCompleted":
            info = event["Stage Info"]
            self._jobs[self._job_of[info["Stage ID"]]].tasks.append(info["Number of Tasks"])
        elif kind == "SparkListenerTaskEnd" and event.get("Task Metrics"):
            self._add(self._jobs[self._job_of[event["Stage ID"]]], event["Task Metrics"])
        elif kind == "SparkListenerSQLExecutionStart":
            self.plans[event["executionId"]] = (event["description"], _nodes(event["sparkPlanInfo"]))

    @staticmethod
    def _add(job: Job, metrics: dict[str, Any]) -> None:
        job.read_mb += metrics["Input Metrics"]["Bytes Read"] / 1e6
        job.read_rows += metrics["Input Metrics"]["Records Read"]
        job.shuffled_mb += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"] / 1e6
        job.written_mb += metrics["Output Metrics"]["Bytes Written"] / 1e6
        found = (metrics["Executor Run Time"], metrics["Executor CPU Time"] // 1_000_000, metrics["JVM GC Time"])
        job.millis = [a + b for a, b in zip(job.millis, found, strict=True)]


def _nodes(plan: dict[str, Any], depth: int = 0) -> str:
    """Return the nodes of a plan that matter for its costs, one a line."""
    name = str(plan["nodeName"])
    shown = any(word in f"{name} " for word in _JOINS)
    lines = [f"{'  ' * depth}{plan['simpleString'][:150]}"] if shown else []
    lines += [one for child in plan["children"] if (one := _nodes(child, depth + shown))]
    return "\n".join(lines)


def main() -> None:
    """Print all jobs, and the plans of their queries."""
    log = EventLog(Path(sys.argv[1]))
    found = log.jobs()
    for job in found:
        print(job.line(found[0].began))
    for number, (text, nodes) in log.plans.items():
        if "-v" in sys.argv:
            print(f"\nq{number}: {text[:100]}\n{nodes}")


if __name__ == "__main__":
    main()
