"""Streams of drawn queries, polled without delivery, and comparisons of their replicas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import qbcd
from qbcd.api import parts_of
from qbcd.planning import plan_of
from qbcd.sites import Detection
from qbcd.strategies.base import table_name
from qbcd.strategies.incremental.delta_query import ONE
from tests.support.places import FIRST, Place
from tests.support.query_drawing import STAMP, DrawnQuery


def delta(place: Place, stamped: Sequence[str]) -> dict[str, Any]:
    """Return variant delta as configuration, with timestamps in the given tables.

    Each poll searches for deleted rows.
    """
    stamps = {place.table(table): STAMP for table in stamped}
    more = {"zone": "UTC", "deletes": {"every": "1ms"}} if stamps else {}
    lag = (
        {"lag": "2ms", "margin": "1ms"} if stamps and place.kind != FIRST else {}
    )  # open transactions are not all visible there
    return {"type": "vbd", "variant": "delta", "timestamps": stamps, **more, **lag}


def some_stamps(rng: Random, tables: Sequence[str]) -> list[str]:
    """Return some of the tables, now and then all or none."""
    return rng.sample(list(tables), rng.randint(0, len(tables)))


def stream(name: str, drawn: DrawnQuery, strategy: dict[str, Any]) -> dict[str, Any]:
    """Return a stream's configuration."""
    key = {"key": list(drawn.key)} if drawn.key else {}
    return {"name": name, "query": drawn.text, **key, "strategy": strategy, "baseline": "silent"}


def detect(project: qbcd.Project, name: str) -> list[Detection]:
    """Run a poll that detects and commits changes, and delivers nothing."""
    work = parts_of(project).open_stream(name)
    with work.site.context.hold() as held:
        plan, _ = plan_of(work, held.row)
        return list(work.site.detect(plan, work.settings, held))


def checkpoint(project: qbcd.Project, name: str) -> Mapping[str, Any]:
    """Return the checkpoint of a stream."""
    row = parts_of(project).open_stream(name).site.context.row()
    assert row is not None
    return row.checkpoint


def replica_differs(place: Place, name: str, query: str, by: str = "*") -> str:
    """Describe the difference between the replica and the query's result, or return "".

    `by` lists the columns to compare.
    """
    columns = by if by != "*" else ", ".join(_columns(place, name))
    kept = Counter(place.sql(f"SELECT {columns} FROM {place.own_schema}.{table_name('replica', name)}"))
    now = Counter(place.sql(f"SELECT {columns} FROM ({query}) AS q"))
    return "" if kept == now else f"missing {now - kept}, too many {kept - now}"


def _columns(place: Place, name: str) -> list[str]:
    found = place.sql(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = %s AND table_name = %s "
        "ORDER BY ordinal_position",
        [place.own_schema, table_name("replica", name)],
    )
    return [place.quote(row[0]) for row in found if row[0] != ONE]
