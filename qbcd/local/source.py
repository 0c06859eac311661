"""Rows of a source through its control driver, into a local database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qbcd.catalog.source import Source
from qbcd.model import Statement


@dataclass(frozen=True)
class SourceReads:
    """Statements on a source whose rows are read together.

    Attributes:
        source: The source.
        stream: The stream's name.
        statements: SELECTs of the same columns.
        snapshot: Name of the exported snapshot that all readers share; None if each statement sees its own state.
        at_once: Number of statements that are read at the same time.
    """

    source: Source
    stream: str
    statements: Sequence[Statement]
    snapshot: str | None = None
    at_once: int = 1
