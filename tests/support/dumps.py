"""A stream of dumps: files written by the test, polled in its process, and its events replayed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from qbcd import Project
from qbcd.polling.outcome import JobReport

STREAM = "customers"
Rows = Mapping[int, tuple[str | None, str | None]]
FIRST: Rows = {1: ("Zoë", "1.50"), 2: ("Bob", None), 3: ("Cat", "7.00"), 4: ("", "0.00")}
SECOND: Rows = {1: ("Zoë", "1.50"), 3: ("Cat", "8.00"), 4: (None, "0.00"), 5: ("Dan", "1.00")}
THIRD: Rows = {**SECOND, 6: ("Eve", None)}


class DumpScene:
    """A folder with dumps and a stream of them.

    Args:
        folder: The project's folder.
        strategy: Further options of the strategy.
        table: Further keys of the table.
    """

    def __init__(
        self, folder: Path, strategy: Mapping[str, Any] | None = None, table: Mapping[str, Any] | None = None
    ) -> None:
        self.folder, self.files = folder, folder / "in"
        self.files.mkdir(exist_ok=True)
        source = {
            "files": "in/customers-*",
            "complete": "{file}.done",
            "format": {"delimiter": ";", "encoding": "latin-1", "types": {"id": "integer", "credit": "decimal(10,2)"}},
        }
        self.data: dict[str, Any] = {
            "version": 1,
            "sources": {"partner": source},
            "sinks": {"out": {"type": "jsonl", "path": "out"}},
            "tables": [
                {
                    "name": STREAM,
                    "source": "partner",
                    "key": ["id"],
                    "strategy": {"type": "dump", **(strategy or {})},
                    "sinks": ["out"],
                    **(table or {}),
                }
            ],
        }

    def open(self) -> Project:
        """Open the project."""
        return Project.from_dict(self.data, base_dir=self.folder)

    def put(self, name: str, rows: Rows | bytes) -> None:
        """Write a dump and its marker."""
        content = rows if isinstance(rows, bytes) else text_of(rows)
        path = self.files / f"customers-{name}"
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") and not isinstance(rows, bytes) else content)
        (self.files / f"customers-{name}.done").touch()

    def prepare(self) -> None:
        """Prepare the stream."""
        with self.open() as project:
            project.stream(STREAM).prepare()

    def poll(self) -> JobReport:
        """Poll once and deliver."""
        with self.open() as project:
            return project.run(once=True)

    def batches(self) -> list[list[dict[str, Any]]]:
        """Return the events of each delivered batch, in order."""
        found = sorted((self.folder / "out" / STREAM).glob("*.jsonl"))
        return [[json.loads(line) for line in path.read_text().splitlines()] for path in found]

    def replayed(self, first: Rows) -> dict[int, tuple[Any, ...]]:
        """Return the rows after all events, from those of the baseline."""
        return replayed(first, (event for batch in self.batches() for event in batch))


def replayed(first: Rows, events: Iterable[Mapping[str, Any]]) -> dict[int, tuple[Any, ...]]:
    """Return rows after events; each event must fit the row before."""
    rows: dict[int, tuple[Any, ...]] = dict(first)
    for event in events:
        key = int(event["key"]["id"])
        assert (key in rows) == (event["op"] != "c"), event
        if event["op"] == "d":
            del rows[key]
        else:
            rows[key] = (event["after"]["name"], event["after"]["credit"])
    return rows


def text_of(rows: Rows) -> bytes:
    """Return rows as CSV."""
    lines = [f"{key};{_value(name)};{_value(credit)}\n" for key, (name, credit) in rows.items()]
    return ("id;name;credit\n" + "".join(lines)).encode("latin-1")


def _value(value: str | None) -> str:
    return "" if value is None else f'"{value}"'
