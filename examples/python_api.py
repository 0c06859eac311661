"""Capture a table from Python: `SHOP_URL=postgresql://reader:secret@db.example:5432/shop python python_api.py`.

The table is that of first-stream/shop.sql. Run it twice, with first-stream/changes.sql in between: the first run takes
the baseline, the second one prints what has changed. State and replica stay in the folder `.qbcd` next to it.
"""

from __future__ import annotations

from pathlib import Path

import qbcd

CONFIG = {
    "version": 1,
    # Placeholders work as in a file, so that no password is in a program.
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
    """One poll of the orders, as a line for each event; the first call takes the baseline and finds nothing."""
    orders = project.stream("orders")
    orders.prepare()
    lines = []
    for batch in orders.poll():
        # A batch counts as taken when the loop asks for the next one; after an exception in here it would come again.
        events = batch.events.select("op", "key.order_id", "after", "changed").orderBy("order_id")
        for event in events.collect():
            new = ", ".join(f"{name} = {event['after'][name]}" for name in event["changed"] or ())
            lines.append(f"batch {batch.seq}: {event['op']} order {event['order_id']} {new}".rstrip())
    return lines


def main() -> None:
    """Polls once, with state in the current folder."""
    with qbcd.Project.from_dict(CONFIG, base_dir=Path.cwd()) as project:
        for line in changes(project):
            print(line)


if __name__ == "__main__":
    main()
