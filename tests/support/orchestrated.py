"""A project that orchestrators poll: four streams, each with another outcome of its next poll."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import qbcd
from tests.support.places import Place
from tests.support.project import config

STREAMS = ("changed", "unchanged", "dead_sink", "refused")


def orchestrated(place: Place, folder: Path) -> Path:
    """Create and prepare the streams, change the tables, and return the path of the configuration."""
    tables: list[dict[str, Any]] = []
    for name in STREAMS:
        place.sql(f"CREATE TABLE {name} (id integer PRIMARY KEY, v integer)")
        place.insert(name, [(n, 0) for n in range(20)])
        tables.append({"name": name, "table": place.table(name), "strategy": "mds"})
    (folder / "blocked").write_text("")  # a file where the sink needs a folder
    tables[2]["sinks"] = ["blocked"]
    tables[3]["guards"] = {"max_delete_fraction": 0.5, "allow_empty": False}
    sinks = {"changes": {"type": "jsonl", "path": "out"}, "blocked": {"type": "jsonl", "path": "blocked/out"}}
    data = config(place.url, *tables, sinks=sinks)
    data["defaults"]["sinks"] = ["changes"]
    path = folder / "qbcd.yaml"
    path.write_text(json.dumps(data))
    with qbcd.open(path) as project:
        for handle in project.streams:
            handle.prepare()
    place.sql("UPDATE changed SET v = 1 WHERE id < 3; DELETE FROM changed WHERE id = 19")
    place.sql("UPDATE dead_sink SET v = 1 WHERE id = 1; DELETE FROM refused")
    return path
