"""The content of a text file as UTF-8, decompressed and decoded while it is read, with checks of its end.

A file is refused if its compressed data ends early, if its last line has no line end, or if a quoted value is open at
its end: such a file is probably truncated, and its missing rows would be deletes.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from qbcd.errors import DumpRefused

BLOCK = 1 << 21  # bytes that are read at a time
_AGAIN = "write the file again; qbcd takes it at the next poll, and nothing was changed"
_ENDS = {"gzip": "gzip", "zstd": "zstd"}


@dataclass(frozen=True)
class DumpPlace:
    """A file, and its name in messages."""

    path: Path
    label: str

    def refused(self, what: str, remedy: str = _AGAIN, *, line: int | None = None) -> DumpRefused:
        """Return the refusal of the file, or of one of its lines."""
        place = self.label if line is None else f"{self.label}, line {line:,}"
        return DumpRefused(f"{place}: {what}", remedy=remedy)


@dataclass(frozen=True)
class TextForm:
    """The form in which the bytes of a file are text.

    Attributes:
        compression: ``none``, ``gzip`` or ``zstd``.
        encoding: A name that Python knows.
        quote: The character around values, of which a file has an even number; empty for none.
        final_newline: The last line has a line end.
    """

    compression: str = "none"
    encoding: str = "utf-8"
    quote: str = ""
    final_newline: bool = True


def opened(place: DumpPlace, compression: str) -> pa.NativeFile:
    """Open a file for reading, decompressed.

    Raises:
        DumpRefused: It does not exist, or cannot be read.
    """
    try:
        raw = pa.OSFile(str(place.path), "rb")
    except OSError as error:
        raise place.refused(
            "cannot be read", f"check the path and its permissions: {error.strerror or error}"
        ) from None
    return raw if compression == "none" else pa.CompressedInputStream(raw, _ENDS[compression])


class TextReader:
    """A file object that gives UTF-8, for Arrow's readers.

    Args:
        place: The file.
        form: The form of its text.
    """

    closed = False

    def __init__(self, place: DumpPlace, form: TextForm) -> None:
        self._place, self._form = place, form
        self._raw = opened(place, form.compression)
        plain = form.encoding in ("utf-8", "utf-8-sig", "ascii")
        self._decoder = None if plain else codecs.getincrementaldecoder(form.encoding)()
        self._last, self._quotes, self._lines, self._size = b"", 0, 0, 0
        self._at_end = False
        self._left = b""

    def read(self, size: int = -1) -> bytes:
        """Return at most about `size` bytes; empty at the end.

        Raises:
            DumpRefused: The file is truncated, damaged or not in its encoding.
        """
        wanted = BLOCK if size < 0 else size
        while len(self._left) < wanted and not self._at_end:
            self._left += self._next(max(wanted, 1 << 16))
        found, self._left = self._left[:wanted], self._left[wanted:]
        return found

    def _next(self, size: int) -> bytes:
        try:
            data: bytes = self._raw.read(size)
        except OSError as error:
            text = str(error)
            if "runcated" in text:
                what = f"its {self._form.compression} data ends early: the file is truncated, or still written"
                raise self._place.refused(what) from None
            raise self._place.refused(f"its {self._form.compression} data is damaged") from None
        if not data:
            self._at_end = True
        text_bytes = self._decoded(data)
        if text_bytes:
            self._last = text_bytes[-1:]
            self._size += len(text_bytes)
            self._lines += text_bytes.count(b"\n")
            if self._form.quote:
                self._quotes += text_bytes.count(self._form.quote.encode())
        if self._at_end:
            self._check_end()
        return text_bytes

    def _decoded(self, data: bytes) -> bytes:
        if self._decoder is None:
            return data
        try:
            return self._decoder.decode(data, final=self._at_end).encode()
        except UnicodeDecodeError as error:
            line = self._lines + error.object[: error.start].count(b"\n") + 1
            what = f"is not {self._form.encoding} text"
            raise self._place.refused(what, "correct `encoding`, or write the file again", line=line) from None

    def _check_end(self) -> None:
        if self._form.final_newline and self._size and self._lines and self._last not in (b"\n", b"\r"):
            raise self._place.refused(
                "the last line has no line end: the file is truncated, or still written",
                f"{_AGAIN}; if no file of it has one, write final_newline: false under `format`",
                line=self._lines + 1,
            )
        if self._quotes % 2:
            raise self._place.refused(
                f"a quoted value is open at the end of the file ({self._form.quote} occurs {self._quotes:,} times)",
                f"{_AGAIN}; if values are not quoted, write quote: none under `format`",
                line=self._lines + 1,
            )

    def lines(self) -> Iterator[bytes]:
        """Yield the lines without their ends."""
        rest = b""
        while block := self.read(BLOCK):
            found = (rest + block).split(b"\n")
            rest = found.pop()
            yield from (line[:-1] if line.endswith(b"\r") else line for line in found)
        if rest:
            yield rest

    # -- what Arrow needs of a file object ---------------------------------------------------------------------------
    def readable(self) -> bool:
        """Return True."""
        return True

    def writable(self) -> bool:
        """Return False."""
        return False

    def seekable(self) -> bool:
        """Return False."""
        return False

    def close(self) -> None:
        """Close the file."""
        self.closed = True
        self._raw.close()
