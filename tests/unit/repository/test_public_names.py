"""The public names: `dir`, `help` and completion show exactly the Python API."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import qbcd
from qbcd.model import BatchHeader
from qbcd.sinks import SinkBatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PACKAGE = [
    "Batch",
    "Matcher",
    "Project",
    "QbcdError",
    "StreamHandle",
    "Subscription",
    "__version__",
    "diff",
    "lookup",
    "open",
]
PROJECT = [
    "advise",
    "check",
    "close",
    "config",
    "from_dict",
    "left",
    "prepare",
    "run",
    "status",
    "stream",
    "streams",
    "subscriptions",
    "to_reset",
    "verify",
]
STREAM = [
    "config",
    "ddl",
    "engine",
    "explain",
    "latest",
    "name",
    "plan",
    "poll",
    "predict",
    "prepare",
    "resend",
    "reset",
    "retire",
    "ships_unchanged",
    "skip",
    "strategy",
    "verify",
    "waiting_for",
]
BATCH = ["apply", "arrow", "counts", "events", "header", "rows", "seq", "to_pandas"]
DATA = {
    "version": 1,
    "sources": {"shop": {"url": "postgresql://reader@localhost/shop"}},
    "sinks": {"changes": {"type": "jsonl", "path": "changes"}},
    "tables": [{"source": "shop", "table": "public.orders", "strategy": "id_rcs", "sinks": ["changes"]}],
}


def public(thing: object) -> list[str]:
    """Return the names that `dir` shows to a user of `thing`."""
    return [name for name in dir(thing) if not name.startswith("_")]


def test_the_package_offers_its_names_alone() -> None:
    import qbcd.api  # its name is then an attribute of the package, and stays out of the list

    assert dir(qbcd) == sorted(qbcd.__all__) == PACKAGE
    assert all(getattr(qbcd, name) is not None for name in PACKAGE)


def test_a_project_offers_its_names_alone(tmp_path: Path) -> None:
    with qbcd.Project.from_dict(DATA, base_dir=tmp_path) as project:
        assert public(project) == PROJECT
        assert public(qbcd.Project) == PROJECT
        assert qbcd.Project.__mro__ == (qbcd.Project, object)
        [stream] = project.streams
        assert public(stream) == STREAM


def test_a_batch_offers_its_names_alone() -> None:
    header = BatchHeader("s", 1, 1, 0, {"c": 1}, (), "f", "shop", "public.t", "id_rcs", "snapshot", (), ())

    def staged() -> DataFrame:
        raise AssertionError("no rows are read")

    assert public(qbcd.Batch(SinkBatch(header, staged))) == BATCH
