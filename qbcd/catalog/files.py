"""A source that is a series of files: it has no sessions and no connector."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from typing_extensions import override

from qbcd.catalog.expected_tables import ExpectedTables
from qbcd.catalog.source import Round, Sent, Source
from qbcd.config.files import FilesConfig
from qbcd.config.masking import Masking
from qbcd.errors import QbcdError, SourceError


class FileSource(Source):
    """A configured series of dumps.

    Args:
        name: The source's name in the configuration.
        config: Pattern, order and format of the files.
        masking: Masks secrets in foreign messages.
        place: ``file:line: key.path`` of the source's configuration.
    """

    has_sessions = False

    def __init__(self, name: str, config: FilesConfig, masking: Masking, place: str = "") -> None:
        # not that of a database: there is no URL and no connector
        self.name, self.config, self.masking, self.schema = name, config, masking, ""
        self._place = place
        self._engines, self.expected = {}, ExpectedTables()
        self._lock, self._thread = threading.Lock(), threading.local()

    @override
    def __repr__(self) -> str:
        return f"FileSource({self.name!r}, {self.config.files!r})"

    @property
    @override
    def label(self) -> str:
        """The source's name and pattern, for messages."""
        return f"{self.name} ({self.config.files})"

    @override
    def may_share_server(self, other: Source) -> bool:
        """Return False."""
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
        """Return nothing: no statement is sent."""
        return Sent()

    @override
    def clock_ms(self, stream: str) -> int:
        return int(time.time() * 1000)

    @override
    def rest(self) -> None:
        """Do nothing: there are no sessions to end."""

    @override
    def narrow(self, stream: str) -> bool:
        """Return False: no reader of JDBC reads files."""
        return False

    @override
    def explain(self, error: BaseException, stream: str) -> QbcdError:
        """Return qbcd's error for an error in a file."""
        first = self.masking.foreign((str(error).strip().splitlines() or [""])[0])
        return SourceError(f"source {self.label}: {type(error).__name__}: {first}", stream=stream)
