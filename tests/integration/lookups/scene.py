"""Streams with a lookup, and the events that they delivered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.places import Place
from tests.support.project import config


def looked_up(place: Place, lookup: dict[str, Any], **table: Any) -> dict[str, Any]:
    """Return the configuration of stream `sales` with lookup `customer`."""
    written = {"name": "sales", "table": "sales", "strategy": "mds", "enrich": ["customer"], **table}
    data = config(place.url, written, sinks={"out": {"type": "jsonl", "path": "out"}})
    data["lookups"] = {"customer": {"source": "shop", "table": place.table("customer"), **lookup}}
    return data


def events(workspace: Path) -> list[dict[str, Any]]:
    """Return the delivered events, in order."""
    files = sorted((workspace / "out").rglob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def partners(workspace: Path) -> dict[int, Any]:
    """Return the partner of each event by its key `id`."""
    return {event["key"]["id"]: event["lookup"]["customer"] for event in events(workspace)}
