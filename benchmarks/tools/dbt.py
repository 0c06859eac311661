"""dbt's snapshot, strategy check over all columns, with deletes; history in the source."""

from __future__ import annotations

import os
import statistics
from pathlib import Path

from sqlalchemy import make_url
from typing_extensions import override

from benchmarks.measure import seconds
from benchmarks.orders import Orders
from benchmarks.tools.base import Found, Tool, environment, output

# later releases of dbt-core download a part of it from another host during installation
REQUIREMENTS = ("dbt-postgres>=1.9,<1.12", "dbt-core>=1.10,<1.11")
QUIET = {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "DO_NOT_TRACK": "1"}
SCHEMA = "dbt"  # of its snapshots
PROJECT = """
name: peers
version: "1.0"
profile: peers
snapshot-paths: [snapshots]
"""
PROFILE = """
peers:
  target: dev
  outputs:
    dev: {{type: postgres, host: {host}, port: {port}, user: {user}, password: none, dbname: {database},
          schema: {schema}, threads: {threads}}}
"""
SNAPSHOT = """
{{% snapshot {name} %}}
{{{{ config(target_schema='{schema}', unique_key='id', strategy='check', check_cols='all',
           hard_deletes='invalidate') }}}}
SELECT * FROM {table}
{{% endsnapshot %}}
"""
CHANGED = "SELECT count(DISTINCT id) FROM dbt.kept WHERE dbt_valid_from >= '{since}' OR dbt_valid_to >= '{since}'"


class Dbt(Tool):
    """dbt; the time of its command for an empty table is its start-up.

    Args:
        orders: The table.
        folder: Folder of its project.
    """

    name = "dbt snapshot, check strategy"

    def __init__(self, orders: Orders, folder: Path) -> None:
        self._orders, self._place = orders, orders.place
        self._folder = folder / "dbt"
        self._start_ups: list[float] = []

    @override
    def setup(self) -> str:
        programs = environment("dbt", REQUIREMENTS)
        self._program = [str(programs / "dbt"), "snapshot", "--select"]
        self._place.run(f"CREATE TABLE public.nothing (LIKE {self._orders.table})")
        url = make_url(self._place.url)
        (self._folder / "snapshots").mkdir(parents=True)
        (self._folder / "dbt_project.yml").write_text(PROJECT)
        (self._folder / "profiles.yml").write_text(
            PROFILE.format(
                host=url.host,
                port=url.port,
                user=url.username,
                database=url.database,
                schema=SCHEMA,
                threads=os.cpu_count(),
            )
        )
        for name, table in (("kept", self._orders.table), ("empty", "public.nothing")):
            text = SNAPSHOT.format(name=name, table=table, schema=SCHEMA)
            (self._folder / "snapshots" / f"{name}.sql").write_text(text)
        self._snapshot("kept")
        self._snapshot("empty")  # creates its table
        versions = "import importlib.metadata as m; print(m.version('dbt-core'), m.version('dbt-postgres'))"
        core, adapter = output([str(programs / "python"), "-c", versions]).split()
        return f"dbt-core {core} with dbt-postgres {adapter}"

    @override
    def catch_up(self) -> None:
        self._snapshot("kept")
        self._place.run("VACUUM ANALYZE dbt.kept")

    @override
    def run(self) -> Found:
        self._start_ups.append(seconds(lambda: self._snapshot("empty")))
        self.start_up = statistics.median(self._start_ups)
        since = self._place.one("SELECT clock_timestamp() AT TIME ZONE 'UTC'")
        elapsed = seconds(lambda: self._snapshot("kept"))
        return Found(elapsed - self._start_ups[-1], self._place.one(CHANGED.format(since=since)))

    def _snapshot(self, name: str) -> None:
        output([*self._program, name, "--profiles-dir", "."], env=QUIET, cwd=self._folder)
