"""Projects of tests: configuration as data, polled in the test's process and session."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import qbcd
from qbcd.polling.outcome import Outcome
from tests.support.places import place_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def config(url: str, *tables: dict[str, Any], sinks: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return a configuration of one source, one jsonl sink and `tables`.

    The environment may name the engine of tables that name none: ``QBCD_TEST_ENGINE=spark``.
    """
    named = os.environ.get("QBCD_TEST_ENGINE")
    engine = {"engine": named} if named else {}
    return {
        "version": 1,
        "sources": {"shop": {**place_of(url).source, **more.pop("source", {})}},
        "sinks": sinks or {"changes": {"type": "jsonl", "path": "out/changes"}},
        "defaults": {"sinks": list(sinks or ["changes"]), "guards": {"max_delete_fraction": 1.0, "allow_empty": True}},
        "tables": [{"source": "shop", **engine, **t} for t in tables],
        **more,
    }


def opened(data: dict[str, Any], folder: Path, spark: SparkSession | None = None) -> qbcd.Project:
    """Return the project of `data` in `folder`."""
    return qbcd.Project.from_dict(data, spark=spark, base_dir=folder)


def poll(project: qbcd.Project, *streams: str, **options: Any) -> list[Outcome]:
    """Poll each stream once; raise the first error."""
    outcomes = project.run(streams, once=True, **options).outcomes
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
        if outcome.report is not None:
            for failure in outcome.report.failures.values():
                raise failure
    return outcomes
