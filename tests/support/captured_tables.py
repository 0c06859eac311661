"""Drawn tables with streams, each with a history and copies that only events change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import qbcd
from tests.support.drawn_tables import DrawnTable
from tests.support.histories import History
from tests.support.oracle import batches, copy_of, net


class Captured:
    """A drawn table with one stream and one copy per strategy.

    Args:
        number: Number of the table, used in the names of its streams.
        folder: Folder of the jsonl sink.
        strategies: Strategies as configuration, by a name for the stream.
        whole: Each batch is from a single state of the table, in which unique values are unique.
    """

    def __init__(
        self,
        rng: Random,
        table: DrawnTable,
        number: int,
        folder: Path,
        strategies: Mapping[str, Any],
        *,
        whole: bool = True,
    ) -> None:
        self.table, self.folder = table, folder
        self.history = History(rng, table)
        self.history.fill(rng.choice([1, 2, 7, 25, 60]))
        self.streams = [table.stream(f"{name}.{number}", strategy) for name, strategy in strategies.items()]
        self.copies = [
            copy_of(
                table.place.url,
                table.quoted,
                table.key,
                columns=table.pertinent,
                where=table.where,
                name=stream["name"],
                unique=self._unique if whole else [],
                texts=table.types,
            )
            for stream in self.streams
        ]

    @property
    def _unique(self) -> list[str]:
        return [self.table.unique] if self.table.unique in self.table.pertinent else []

    def check(self, *, at_once: bool = True) -> Counter[str]:
        """Replay the new events and compare with the source; return the expected ops.

        Args:
            at_once: A single poll of the whole table brought the events, so they are exactly the net changes.
        """
        expected = Counter(op for op, _, _ in self.copies[0].differences())
        found = []
        for stream, copy in zip(self.streams, self.copies, strict=True):
            fresh = copy.replay(batches(self.folder, stream["name"]))
            left = copy.differences()
            assert not left, f"{stream['name']}: replay does not give the source: {left}"
            ops = Counter(event["op"] for event in fresh)
            assert not at_once or ops == expected, (
                f"{stream['name']}: other ops than the net changes {expected}: {net(fresh)}"
            )
            found.append(net(fresh))
        assert found[0] == found[-1], f"the strategies differ:\n{set(found[0]) ^ set(found[-1])}"
        return expected


@contextmanager
def reproducible(seed: int, tables: list[DrawnTable], at: list[str], folder: Path) -> Iterator[None]:
    """Add to a failure the seed, and a file with the table's whole history."""
    try:
        yield
    except Exception as error:
        script = folder / "failed.sql"
        script.write_text("\n\n".join(t.script() for t in tables if t.quoted in at), "utf-8")
        what = f"{type(error).__name__}: {str(error)[:4000]}"
        raise AssertionError(f"seed {seed}, table {at}, history in {script}: {what}") from error


def prepare(project: qbcd.Project, one: Captured) -> Counter[str]:
    """Prepare both streams; a consumer of a silent baseline loads the table itself."""
    found: Counter[str] = Counter()
    for stream, copy in zip(one.streams, one.copies, strict=True):
        project.stream(stream["name"]).prepare()
        if stream_baseline(project, stream["name"]) == "silent":
            copy.take_baseline()
            assert batches(one.folder, stream["name"]) == []
        else:
            found += Counter(event["op"] for event in copy.replay(batches(one.folder, stream["name"])))
        assert copy.differences() == []
    return found


def stream_baseline(project: qbcd.Project, name: str) -> str:
    return project.stream(name).config.baseline
