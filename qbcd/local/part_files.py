"""Parquet files that a commit names, with the checksums by which a reader knows them again."""

from __future__ import annotations

import hashlib
import zlib
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

LOCAL_PREFIX = "local"  # of the names of files that the local engine writes
BLOCK = 1 << 20  # bytes that are read at a time to compute a checksum
END = 1 << 18  # hashed bytes of a file's end: its footer and, unless they are many, its page indexes


class PartFile(NamedTuple):
    """A file of a part.

    Attributes:
        name: Its name in the part's folder.
        size: Its size in bytes.
        end: SHA-256 of its last :data:`END` bytes, if computed.
        whole: CRC-32 of the file, if computed; files of older versions have none, but checksums of pages.
    """

    name: str
    size: int
    end: str = ""
    whole: str = ""

    @classmethod
    def of(cls, path: Path) -> PartFile:
        """Return the file as it is now."""
        size = path.stat().st_size
        return cls(path.name, size, _hash_of_end(path, size), _crc_of_path(path))

    @property
    def needs_whole(self) -> bool:
        """True if no reader can verify pages of the file: it has a checksum of the whole alone."""
        return bool(self.whole) and self.name.startswith(LOCAL_PREFIX)

    def as_entry(self) -> dict[str, Any]:
        """Return the JSON-ready form for a segment of the manifest."""
        entry = {"path": self.name, "size": self.size, "end": self.end}
        return {**entry, "whole": self.whole} if self.whole else entry

    def is_intact_in(self, folder: Path, *, whole: bool = False) -> bool:
        """Return True if `folder` has the file with the size and hash of the commit.

        Args:
            folder: The part's folder.
            whole: Its reader does not verify the checksums of pages. Files of the local engine have none.
        """
        path = folder / self.name
        if not path.is_file() or path.stat().st_size != self.size:
            return False
        if self.end and _hash_of_end(path, self.size) != self.end:
            return False
        if self.whole:
            return not (whole or self.needs_whole) or _crc_of_path(path) == self.whole
        return not whole or not self.end or _has_intact_pages(path)


def hash_of_bytes(content: bytes) -> str:
    """Return the hash of a file's end."""
    return hashlib.sha256(content).hexdigest()


def _hash_of_end(path: Path, size: int) -> str:
    with path.open("rb") as file:
        file.seek(max(0, size - END))
        return hash_of_bytes(file.read(END))


def _crc_of_path(path: Path) -> str:
    with path.open("rb") as file:
        return crc_of(file)


def crc_of(file: BinaryIO) -> str:
    """Return the checksum of all bytes of an open file."""
    checksum = 0
    while block := file.read(BLOCK):
        checksum = zlib.crc32(block, checksum)
    return f"{checksum:08x}"


def _has_intact_pages(path: Path) -> bool:
    """Return True if all pages of a Parquet file match their checksums."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            for _ in file.iter_batches():
                pass
    except (OSError, pa.ArrowException):
        return False
    return True
