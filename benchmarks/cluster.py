"""A standalone cluster of Spark on this machine next to `local[2]`: check, prepare, and polls, by commands.

Master, two workers of one core and the driver share this machine's cores. Each command is a process of its own, so it
includes Spark's start. The two take turns; the median of `--repeats` rounds. The baseline is silent.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.growth import Sized
from benchmarks.measure import Options, Table, seconds
from benchmarks.places import Place, PostgresPlace
from tests.support.spark_cluster import spark_cluster

DATABASES = ("postgresql", "postgresql-debian")
SETTINGS = peers.SETTINGS
HERE, THERE = "local[2]", "two workers of one core"
CHECK, BASELINE, EMPTY, RANDOM = "check", "prepare", "poll, unchanged", "poll, 1 % random"


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Measure both in turns; each has a project for each round."""
    assert isinstance(place, PostgresPlace)
    one = Sized(place, name="cluster", rows=options.rows)
    one.make()
    found: dict[str, dict[str, list[float]]] = {}
    with spark_cluster(folder / "cluster") as cluster:
        sections: Mapping[str, Any] = {HERE: {"master": "local[2]"}, THERE: cluster.spark}
        for number in range(options.repeats):
            projects = {name: folder / f"{number}-{i}" for i, name in enumerate(sections)}
            for name, project in projects.items():
                _write(project, one, sections[name])
            for what, arguments in ((CHECK, ["check"]), (BASELINE, ["prepare"]), (EMPTY, ["run", "--once"])):
                for name, project in projects.items():
                    spent = seconds(lambda project=project, a=arguments: _run(project, a))  # type: ignore[misc]
                    found.setdefault(what, {}).setdefault(name, []).append(spent)
            one.change("random", one.rows)
            for name, project in projects.items():
                spent = seconds(lambda project=project: _run(project, ["run", "--once"]))  # type: ignore[misc]
                found.setdefault(RANDOM, {}).setdefault(name, []).append(spent)
    table = Table(("", HERE, THERE, "ratio"), place.version())
    for what, by_name in found.items():
        here, there = (statistics.median(by_name[name]) for name in (HERE, THERE))
        table.rows.append((what, f"{here:.1f} s", f"{there:.1f} s", f"{there / here:.2f} x"))
    return table


def _write(folder: Path, one: Sized, spark: Mapping[str, Any]) -> None:
    folder.mkdir()
    config = {
        "version": 1,
        "sources": {"shop": {"url": one.place.url}},
        "spark": spark,
        "sinks": {"changes": {"type": "jsonl", "path": "out"}},
        "defaults": {"sinks": ["changes"], "engine": "spark", "baseline": "silent"},
        "tables": [{"source": "shop", "table": one.table, "name": "s", "strategy": "id_rcs"}],
    }
    (folder / "qbcd.yaml").write_text(json.dumps(config), encoding="utf-8")


def _run(folder: Path, arguments: list[str]) -> None:
    root = str(Path(__file__).parent.parent)
    command = [sys.executable, "-m", "qbcd", *arguments]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": root}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise AssertionError(f"{' '.join(arguments)}: {done.stdout[-800:]}{done.stderr[-800:]}")
