"""Read the streams of qbcd.yaml and print their changes.

    SHOP_URL=mariadb://reader:secret@db.example:3306/shop python follow.py

Run it in the folder of qbcd.yaml, twice, with changes.sql in between: the first run stores the baselines, the second
one prints the changes, with the consistency of each batch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import qbcd


def changes(project: qbcd.Project, name: str) -> list[str]:
    """Poll a stream once; return a line for each event. The first call stores the baseline."""
    stream = project.stream(name)
    stream.prepare()
    lines = []
    for batch in stream.poll():
        # A batch is acknowledged when the loop requests the next one; after an exception here it would come again.
        for event in batch.events.orderBy("op", "key").collect():
            where = f"{name} {batch.seq} ({event['source']['consistency']})"
            lines.append(f"{where}: {event['op']} {described(event)}")
    return lines


def described(event: Any) -> str:
    """Return the key, and old and new value of each changed column."""
    key = ", ".join(str(part) for part in event["key"])
    news = [f"{column}: {event['before'][column]} -> {event['after'][column]}" for column in event["changed"] or ()]
    return f"{key} {', '.join(news)}".rstrip()


def main() -> None:
    """Poll both tables once."""
    with qbcd.open(Path("qbcd.yaml")) as project:
        for name in ("orders", "customers"):
            for line in changes(project, name):
                print(line)


if __name__ == "__main__":
    main()
