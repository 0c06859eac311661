"""reladiff's hashdiff between the table and a copy of it, with its defaults or tuned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.orders import Orders
from benchmarks.tools.base import Found, Tool, environment, output

REQUIREMENTS = ("reladiff[postgresql]==0.6.*", "psycopg2-binary")
INSIDE = Path(__file__).with_name("reladiff_inside.py")
DEFAULT: dict[str, Any] = {}
TUNED: dict[str, Any] = {"threads": 2, "bisection_factor": 256, "bisection_threshold": 5000}


class Reladiff(Tool):
    """hashdiff; the time of a run is measured inside its process, after all imports.

    Args:
        orders: The table and its copy.
        name: Its name in the table of results.
        options: Options that override its defaults.
    """

    def __init__(self, orders: Orders, name: str, options: dict[str, Any]) -> None:
        self.name = name
        self._arguments = {
            "url": orders.place.url,
            "table": orders.table,
            "copy": orders.copied,
            "key": "id",
            "columns": orders.columns,
            **options,
        }

    def setup(self) -> str:
        self._python = environment("reladiff", REQUIREMENTS) / "python"
        version = output([str(self._python), "-I", "-c", "import reladiff; print(reladiff.__version__)"])
        return f"reladiff {version.strip()}"

    def run(self) -> Found:
        found = json.loads(output([str(self._python), "-I", str(INSIDE), json.dumps(self._arguments)]))
        return Found(**found)
