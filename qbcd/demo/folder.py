"""The folder of a demonstration: its configuration, and the events that it leaves behind."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from textwrap import indent
from typing import Any

from qbcd.demo.delays import QUERY, STREAM
from qbcd.errors import ConfigError
from qbcd.model import BatchHeader

MARK = "# Written by `qbcd demo`"
CONFIG = f"""\
{MARK}, whose server is gone when it ends.
version: 1
sources:
  nyc: {{url: "<url>"}}
sinks:
  changes: {{type: jsonl, path: events}}
  lake: {{type: parquet, path: lake}}
defaults: {{every: 30s, sinks: [changes]}}
tables:
  # id_rcs only reads: the source sums up ranges of the key, and those that
  # differ are fetched and compared by Spark.
  - {{source: nyc, table: flights, strategy: id_rcs, sinks: [changes, lake]}}
  # mds keeps a copy in schema qbcd of the source and compares there; id does
  # so range by range, and tlcs keeps one checksum a row instead of the copy.
  - {{source: nyc, table: planes, strategy: mds}}
  - {{source: nyc, table: weather, strategy: id}}
  - {{source: nyc, table: airports, strategy: tlcs}}
  # tdi reads rows whose timestamp is new; deleted rows carry a flag. atdi does
  # so from an index alone. For ts a row with the flag leaves the restriction;
  # a sweep would find rows that are really deleted.
  - source: nyc
    table: airlines
    columns: [name]
    strategy:
      {{type: tdi, timestamp: updated_at, delete_flag: is_deleted, margin: 10ms}}
  - source: nyc
    table: airlines
    name: airlines-atdi
    columns: [name]
    strategy:
      {{type: atdi, timestamp: updated_at, delete_flag: is_deleted,
       margin: 10ms, create_index: true}}
  - source: nyc
    table: airlines
    name: airlines-ts
    columns: [name]
    where: NOT is_deleted
    strategy: {{type: ts, timestamp: updated_at, margin: 10ms}}
  # vbd captures the result of a query: only its changes leave the source.
  - source: nyc
    name: {STREAM}
    query: |
{indent(QUERY, " " * 6)}
    strategy: {{type: vbd, variant: compare}}
"""


class Folder:
    """A folder with a configuration file, what the sinks write, and, while the demonstration runs, its state.

    Args:
        path: Where; may hold those of an earlier demonstration.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "qbcd.yaml"
        self.lake = path / "lake"

    def claim(self) -> None:
        """Makes the folder, or empties the one that an earlier demonstration left.

        Raises:
            ConfigError: It holds other things, or cannot be used.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if any(self.path.iterdir()):
                if not (self.config.is_file() and self.config.read_text(encoding="utf-8").startswith(MARK)):
                    raise ConfigError(
                        f"{self.path} holds other things than an earlier demonstration",
                        remedy="name another folder with --directory",
                    )
                for name in ("events", "lake", ".qbcd"):
                    shutil.rmtree(self.path / name, ignore_errors=True)
        except OSError as error:
            raise ConfigError(
                f"{self.path} cannot be used: {error.strerror}", remedy="name another folder with --directory"
            ) from error

    def configure(self, url: str) -> str:
        """Writes the configuration of a source at `url`, and gives its text."""
        text = CONFIG.replace("<url>", url)
        self.config.write_text(text, encoding="utf-8")
        return text

    def events(self, header: BatchHeader) -> list[dict[str, Any]]:
        """The events of a batch, as the sink has written them."""
        path = self.path / "events" / header.stream / f"{header.epoch}-{header.seq:012d}.jsonl"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    def event_files(self) -> list[Path]:
        """The files of events, by name."""
        return sorted(p for p in (self.path / "events").rglob("*.jsonl") if not p.name.startswith("."))

    def forget_state(self) -> None:
        """Removes state and workdir: the replicas are of a server that is gone."""
        shutil.rmtree(self.path / ".qbcd", ignore_errors=True)
