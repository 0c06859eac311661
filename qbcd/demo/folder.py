"""The folder of a demonstration: its configuration and events, which remain after it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from textwrap import indent
from typing import Any

from qbcd.demo.delays import QUERY, STREAM
from qbcd.errors import ConfigError
from qbcd.model import BatchHeader

FIRST_WORDS = "# Written by `qbcd demo`"
CONFIG = f"""\
{FIRST_WORDS}, which removes its server when it ends.
version: 1
sources:
  nyc: {{url: "<url>"}}
sinks:
  changes: {{type: jsonl, path: events}}
  lake: {{type: parquet, path: lake}}
  mirror: {{type: database, url: "duckdb:///mirror.duckdb", table: "{{table}}"}}
defaults: {{every: 30s, sinks: [changes]}}
tables:
  # id_rcs only reads: the source computes a checksum for each range of keys.
  # Spark fetches and compares the ranges whose checksum differs. For so few
  # rows the engine would be DuckDB in this process, as for the other tables.
  - {{source: nyc, table: flights, strategy: id_rcs, engine: spark,
     sinks: [changes, lake]}}
  # mds keeps a replica in schema qbcd of the source and compares there. id
  # compares range by range. tlcs keeps a checksum of each row, not its values.
  # The sink mirror keeps a table in DuckDB equal to planes.
  - {{source: nyc, table: planes, strategy: mds, sinks: [changes, mirror]}}
  - {{source: nyc, table: weather, strategy: id}}
  - {{source: nyc, table: airports, strategy: tlcs}}
  # tdi reads rows with a new timestamp; deleted rows have a flag. atdi reads
  # them from an index alone. For ts, rows with the flag are outside of its
  # restriction; a sweep would find rows that are really deleted.
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
    """A folder with the configuration, files of the sinks and, while it runs, the state.

    Args:
        path: Path of the folder; an earlier demonstration may have used it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "qbcd.yaml"
        self.lake = path / "lake"
        self.mirror = path / "mirror.duckdb"

    def claim(self) -> None:
        """Create the folder, or empty the one of an earlier demonstration.

        Raises:
            ConfigError: It contains other files, or cannot be used.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if any(self.path.iterdir()):
                if not (self.config.is_file() and self.config.read_text(encoding="utf-8").startswith(FIRST_WORDS)):
                    raise ConfigError(
                        f"{self.path} contains files that no demonstration wrote",
                        remedy="choose another folder with --directory",
                    )
                for name in ("events", "lake", ".qbcd"):
                    shutil.rmtree(self.path / name, ignore_errors=True)
                for left in self.path.glob(f"{self.mirror.name}*"):
                    left.unlink()
        except OSError as error:
            raise ConfigError(
                f"{self.path} cannot be used: {error.strerror}", remedy="choose another folder with --directory"
            ) from error

    def configure(self, url: str) -> str:
        """Write the configuration with a source at `url`, and return its text."""
        text = CONFIG.replace("<url>", url)
        self.config.write_text(text, encoding="utf-8")
        return text

    def events(self, header: BatchHeader) -> list[dict[str, Any]]:
        """Return the events of a batch, read from the sink's file."""
        path = self.path / "events" / header.stream / f"{header.epoch}-{header.seq:012d}.jsonl"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    def event_files(self) -> list[Path]:
        """Return the files of events, by name."""
        return sorted(p for p in (self.path / "events").rglob("*.jsonl") if not p.name.startswith("."))

    def forget_state(self) -> None:
        """Delete state and workdir: the replicas belong to a server that no longer exists."""
        shutil.rmtree(self.path / ".qbcd", ignore_errors=True)
