"""qbcd: query-based change data capture. Finds inserts, updates and deletes in databases that can only be queried."""

from __future__ import annotations

from qbcd.api import Batch, Project, StreamHandle, open  # noqa: A004
from qbcd.errors import QbcdError
from qbcd.version import __version__

__all__ = ["Batch", "Project", "QbcdError", "StreamHandle", "__version__", "open"]
