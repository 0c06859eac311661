"""Follow the tables of qbcd.yaml: `SHOP_URL=mariadb://reader:secret@db.example:3306/shop python follow.py`.

Run it next to qbcd.yaml, twice, with changes.sql in between: the first run takes the baselines, the second one prints
what has changed, and of which state of the source each batch is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import qbcd


def changes(project: qbcd.Project, name: str) -> list[str]:
    """One poll of a stream, as a line for each event; the first call takes the baseline and finds nothing."""
    stream = project.stream(name)
    stream.prepare()
    lines = []
    for batch in stream.poll():
        # A batch counts as taken when the loop asks for the next one; after an exception in here it would come again.
        for event in batch.events.orderBy("op", "key").collect():
            where = f"{name} {batch.seq} ({event['source']['consistency']})"
            lines.append(f"{where}: {event['op']} {described(event)}")
    return lines


def described(event: Any) -> str:
    """The key, and what became of each column that changed."""
    key = ", ".join(str(part) for part in event["key"])
    news = [f"{column}: {event['before'][column]} -> {event['after'][column]}" for column in event["changed"] or ()]
    return f"{key} {', '.join(news)}".rstrip()


def main() -> None:
    """Polls both tables once."""
    with qbcd.open(Path("qbcd.yaml")) as project:
        for name in ("orders", "customers"):
            for line in changes(project, name):
                print(line)


if __name__ == "__main__":
    main()
