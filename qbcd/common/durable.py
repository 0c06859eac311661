"""Durable files: their data survives a machine crash (docs/design/protocol.md#rule-5)."""

from __future__ import annotations

import os
import uuid
from pathlib import Path


def sync(path: Path) -> None:
    """Flush a file or a folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_text(path: Path, text: str) -> None:
    """Replace a file durably; a reader sees the old or the new content, never a part.

    Raises:
        OSError: It cannot be written; the old content stays.
    """
    attempt = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with attempt.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(attempt, path)
    except BaseException:
        attempt.unlink(missing_ok=True)
        raise
    sync(path.parent)
