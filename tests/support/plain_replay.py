"""The smallest oracle: rows as dictionaries, and the events of a jsonl sink, applied one by one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.oracle import batches

Image = dict[str, Any]


class Consumer:
    """The rows that a consumer of stream `s` has.

    Args:
        folder: The project's.
        base: Rows of the baseline, as images of events.
        name: Returns the identity of a row by an image that has its key.
    """

    def __init__(self, folder: Path, base: list[Image], name: Callable[[Image], Any]) -> None:
        self.folder, self.name, self.read = folder / "out/changes", name, 0
        self.rows = {name(image): image for image in base}

    def apply(self) -> list[str]:
        """Apply new batches; return the sorted ops.

        An insert must be of a row that is missing, any other event of one that exists, with the old values that the
        event shows.
        """
        found = batches(self.folder, "s")
        fresh, self.read = found[self.read :], len(found)
        for file, events in fresh:
            for event in events:
                name, before, after = self.name(event["key"]), event["before"], event["after"]
                old = self.rows.pop(name, None)
                assert (old is None) == (event["op"] == "c"), f"{file}: {event['op']} of {name}"
                if before is not None and before.keys() == (old or {}).keys():
                    assert before == old, f"{file}: old values of {name}"
                if after is not None:
                    self.rows[name] = after
        return sorted(event["op"] for _, events in fresh for event in events)
