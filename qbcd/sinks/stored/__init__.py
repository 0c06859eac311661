"""Batches as files of a store: one batch a file, or rolled."""

from __future__ import annotations

from qbcd.sinks.stored.writer import StoredFiles

__all__ = ["StoredFiles"]
