"""A source that is a series of files: it has no sessions and no connector."""

from __future__ import annotations

from typing_extensions import override

from qbcd.catalog.without_sessions import SourceWithoutSessions
from qbcd.config.files import FilesConfig
from qbcd.config.masking import Masking
from qbcd.errors import QbcdError, SourceError


class FileSource(SourceWithoutSessions):
    """A configured series of dumps.

    Args:
        name: The source's name in the configuration.
        config: Pattern, order and format of the files.
        masking: Masks secrets in foreign messages.
        place: ``file:line: key.path`` of the source's configuration.
    """

    def __init__(self, name: str, config: FilesConfig, masking: Masking, place: str = "") -> None:
        super().__init__(name, masking, place)
        self.config = config

    @override
    def __repr__(self) -> str:
        return f"FileSource({self.name!r}, {self.config.files!r})"

    @property
    @override
    def label(self) -> str:
        """The source's name and pattern, for messages."""
        return f"{self.name} ({self.config.files})"

    @override
    def explain(self, error: BaseException, stream: str) -> QbcdError:
        """Return qbcd's error for an error in a file."""
        first = self.masking.foreign((str(error).strip().splitlines() or [""])[0])
        return SourceError(f"source {self.label}: {type(error).__name__}: {first}", stream=stream)
