"""reladiff's hashdiff between the table and a copy of it, with its defaults or tuned."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import override

from benchmarks.tools.base import Found, Tool, environment, output

REQUIREMENTS = ("reladiff[postgresql,mysql,duckdb]==0.6.*", "psycopg2-binary")
INSIDE = Path(__file__).with_name("reladiff_inside.py")
DEFAULT: dict[str, Any] = {}
TUNED: dict[str, Any] = {"threads": 2, "bisection_factor": 256, "bisection_threshold": 5000}


@dataclass(frozen=True)
class ComparedTables:
    """A table and its copy, in one database unless the copy has a URL of its own; with key `id`."""

    url: str
    table: str
    copied: str
    columns: tuple[str, ...]
    copied_url: str = ""


class Reladiff(Tool):
    """hashdiff; the time of a run is measured inside its process, after all imports.

    Args:
        tables: The table and its copy.
        name: Its name in the table of results.
        options: Options that override its defaults.
    """

    def __init__(self, tables: ComparedTables, name: str, options: dict[str, Any]) -> None:
        self.name = name
        self._arguments = {
            "url": tables.url.replace("mariadb:", "mysql:", 1),
            "table": tables.table,
            "copy": tables.copied,
            "copy_url": tables.copied_url or tables.url.replace("mariadb:", "mysql:", 1),
            "key": "id",
            "columns": tables.columns,
            **options,
        }

    @override
    def setup(self) -> str:
        self._python = environment("reladiff", REQUIREMENTS) / "python"
        version = output([str(self._python), "-I", "-c", "import reladiff; print(reladiff.__version__)"])
        return f"reladiff {version.strip()}"

    @override
    def run(self) -> Found:
        found = json.loads(output([str(self._python), "-I", str(INSIDE), json.dumps(self._arguments)]))
        return Found(**found)
