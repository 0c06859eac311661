"""A project to watch: a stream that is well, one whose sink is dead, one that is refused, and a hook."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.support.places import Place
from tests.support.project import config

DEAD = "postgresql://reader@127.0.0.1:1/gone"
STREAMS = ("well", "dead_sink", "refused")
_SAMPLE = re.compile(r"(\w+)\{([^}]*)\} (\S+)")


def watched(place: Place, folder: Path, hook: str, **defaults: Any) -> None:
    """Create the tables and write ``qbcd.yaml`` into `folder`. JSON is YAML."""
    for name in STREAMS:
        place.sql(f"CREATE TABLE {name} (id integer PRIMARY KEY, v integer)")
        place.insert(name, [(n, 0) for n in range(20)])
    guard = {"guards": {"max_delete_fraction": 0.5, "allow_empty": False}}
    tables: list[dict[str, Any]] = [
        {
            "name": "well",
            "table": place.table("well"),
            "strategy": {"type": "id_rcs", "rows_per_range": 5, "per_poll": 3},
        },
        {"name": "dead_sink", "table": place.table("dead_sink"), "strategy": "mds", "sinks": ["changes", "gone"]},
        {"name": "refused", "table": place.table("refused"), "strategy": "mds", **guard},
    ]
    sinks = {"changes": {"type": "jsonl", "path": "out"}, "gone": {"type": "database", "url": DEAD, "mode": "log"}}
    data = config(place.url, *tables, sinks=sinks, notify=[{"url": hook, "timeout": "60s"}])
    data["defaults"] |= {"sinks": ["changes"], **defaults}
    (folder / "qbcd.yaml").write_text(json.dumps(data))


def change(place: Place, number: int) -> None:
    """Change all tables; the third one loses its rows, which its guard refuses."""
    place.sql(f"UPDATE well SET v = {number} WHERE id < 3; UPDATE dead_sink SET v = {number} WHERE id = 1")
    place.sql("DELETE FROM refused")


def samples(text: str) -> dict[tuple[str, ...], float]:
    """Return the values of a page of metrics by name and values of labels, without the label `le`."""
    found: dict[tuple[str, ...], float] = {}
    for name, labels, value in _SAMPLE.findall(text):
        pairs = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        order = [pairs[one] for one in ("stream", "outcome", "op", "sink", "version") if one in pairs]
        if "le" not in pairs:
            key = (name, *order)
            found[key] = float(value)
    return found


def differences(metrics: dict[tuple[str, ...], float], streams: list[dict[str, Any]]) -> list[str]:
    """Return what metrics and ``status --json`` show differently of the same polls."""
    found = []
    for one in streams:
        name, poll = one["stream"], one["last_poll"]
        pending = {key[2]: value for key, value in metrics.items() if key[:2] == ("qbcd_pending_batches", name)}
        failures = {key[2]: value for key, value in metrics.items() if key[:2] == ("qbcd_delivery_failures", name)}
        pairs = {
            "last poll": (metrics["qbcd_last_poll_timestamp_seconds", name], poll["finished_at"]),
            "refused": (metrics["qbcd_refused", name], float(poll["outcome"] == "refused")),
            "failed": (metrics["qbcd_failed", name], float(poll["outcome"] == "failed")),
            "pending": ({sink: n for sink, n in pending.items() if n}, one["pending"]),
            "failures": (
                {sink: n for sink, n in failures.items() if n},
                {sink: failure["attempts"] for sink, failure in one["failures"].items()},
            ),
            "events": ({op: n for op in "cudr" if (n := metrics["qbcd_events_total", name, op])}, one["events"]),
            "interval": (metrics["qbcd_every_seconds", name], one["every_seconds"]),
        }
        found += [f"{name}: {what}: {a} {b}" for what, (a, b) in pairs.items() if a != b]
        if abs(metrics["qbcd_lag_seconds", name] - one["lag_seconds"]) > 60:
            found.append(f"{name}: lag: {metrics['qbcd_lag_seconds', name]} {one['lag_seconds']}")
    return found
