"""Capture a table from Python and print its changes.

    SHOP_URL=postgresql://reader:secret@db.example:5432/shop python python_api.py

The table is that of first-stream/shop.sql. Run it twice, with first-stream/changes.sql in between: the first run stores
the baseline, the second one prints the changes. State and replica are in the folder `.qbcd` of the current folder.
"""

from __future__ import annotations

from pathlib import Path

import qbcd

CONFIG = {
    "version": 1,
    # Placeholders work like in a file, so that a program contains no password.
    "sources": {"shop": {"url": "${env:SHOP_URL}"}},
    "tables": [
        {
            "table": "public.orders",
            "source": "shop",
            "columns": ["customer", "status", "amount"],
            "where": "region = 'EU'",
            "strategy": "id_rcs",
        }
    ],
}


def changes(project: qbcd.Project) -> list[str]:
    """Poll the orders once; return a line for each event. The first call stores the baseline."""
    orders = project.stream("orders")
    orders.prepare()
    lines = []
    for batch in orders.poll():
        # A batch is acknowledged when the loop requests the next one; after an exception here it would come again.
        events = batch.events.select("op", "key.order_id", "after", "changed").orderBy("order_id")
        for event in events.collect():
            new = ", ".join(f"{name} = {event['after'][name]}" for name in event["changed"] or ())
            lines.append(f"batch {batch.seq}: {event['op']} order {event['order_id']} {new}".rstrip())
    return lines


def main() -> None:
    """Poll once, with state in the current folder."""
    with qbcd.Project.from_dict(CONFIG, base_dir=Path.cwd()) as project:
        for line in changes(project):
            print(line)


if __name__ == "__main__":
    main()
