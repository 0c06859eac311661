"""Work on many streams in one round of their sources, several at a time.

A source that is down answers once for all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from qbcd.catalog.files import FileSource
from qbcd.catalog.source import Round, Source
from qbcd.common.side_by_side import side_by_side


@dataclass(frozen=True)
class SourceWork:
    """The streams of one source.

    Attributes:
        names: The streams, in order.
        jobs: Streams that are worked on at the same time.
    """

    source: Source | FileSource
    names: Sequence[str]
    jobs: int


@contextmanager
def turn(source: Source | FileSource, of: Round) -> Iterator[Round]:
    """Take a turn in a round; the yielded value counts this thread's sessions in the block.

    Turns of one round run at the same time. A connection that fails in one answers for all that begin later.
    """
    mine = Round(failed=of.failed)
    with source.within(mine):
        yield mine
    of.failed = of.failed or mine.failed


def in_rounds(works: Sequence[SourceWork], work: Callable[[str], object]) -> None:
    """Call `work` for each stream, in order; those of one source share sessions.

    After a failed connection to a source no other is tried: it answers for all streams of the source.

    Args:
        work: Works on one stream; called from several threads if there are several sources or jobs.

    Raises:
        BaseException: The first exception of `work`; what the other threads wait for ends, and they begin no stream.
    """
    rounds = [_SourceStreams(one, work) for one in works]

    def end() -> None:
        for one in rounds:
            one.end()

    with ExitStack() as kept:
        for one in works:
            kept.enter_context(one.source.pooled())
        threads: list[Callable[[], object]] = [
            one.run for one in rounds for _ in range(min(one.of.jobs, len(one.of.names)))
        ]
        side_by_side(threads, end)


class _SourceStreams:
    """The streams of one round of a source, which its threads take."""

    def __init__(self, of: SourceWork, work: Callable[[str], object]) -> None:
        self.of, self._work = of, work
        self._left: Iterator[str] = iter(of.names)
        self._lock = threading.Lock()
        self._round = Round()
        self._in_hand: set[str] = set()

    def run(self) -> None:
        """Work on one stream after the other, as far as no other thread has taken them."""
        while (name := self._take()) is not None:
            with turn(self.of.source, self._round):
                self._work(name)
            with self._lock:
                self._in_hand.discard(name)

    def end(self) -> None:
        """Begin no other stream, and end all waits for the source."""
        with self._lock:
            self._left = iter(())
            names = sorted(self._in_hand)
        if isinstance(self.of.source, Source):
            for name in names:
                self.of.source.interrupt(name, "the command was interrupted")

    def _take(self) -> str | None:
        with self._lock:
            name = next(self._left, None)
            if name is not None:
                self._in_hand.add(name)
            return name
