"""A source without sessions of a Python driver: files, or what JDBC alone reaches."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from typing_extensions import override

from qbcd.catalog.expected_tables import ExpectedTables
from qbcd.catalog.source import Round, Sent, Source
from qbcd.config.masking import Masking


class SourceWithoutSessions(Source):
    """A source that keeps nothing of qbcd's, and to which no control driver sends statements.

    Args:
        name: The source's name in the configuration.
        masking: Masks secrets in foreign messages.
        place: ``file:line: key.path`` of the source's configuration.
    """

    has_sessions = False

    def __init__(self, name: str, masking: Masking, place: str = "") -> None:
        # not that of a database: there is no SQLAlchemy URL and no connector
        self.name, self.masking, self.schema = name, masking, ""
        self._place = place
        self._engines, self.expected = {}, ExpectedTables()
        self._lock, self._thread = threading.Lock(), threading.local()

    @override
    def may_share_server(self, other: Source) -> bool:
        return False

    @contextmanager
    @override
    def within(self, polls: Round) -> Iterator[None]:
        yield

    @contextmanager
    @override
    def pooled(self) -> Iterator[None]:
        yield

    @override
    def sent(self, stream: str) -> Sent:
        return Sent()

    @override
    def clock_ms(self, stream: str) -> int:
        return int(time.time() * 1000)

    @override
    def rest(self) -> None:
        """Do nothing: there are no sessions to end."""

    @override
    def narrow(self, stream: str) -> bool:
        return False
