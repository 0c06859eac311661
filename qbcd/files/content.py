"""The content of a text file as UTF-8, decompressed and decoded while it is read.

The end of the file is checked.

A file is refused if its compressed data ends early, or if its last line has no line end: such a file is probably
truncated, and its missing rows would be deletes. LF, CR LF and CR are line ends; in EBCDIC also NEL, which becomes LF.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from qbcd.errors import DumpRefused

BLOCK = 1 << 21  # bytes that are read at a time
_MARK = "\ufeff".encode()  # at the beginning of files of Excel and PowerShell
_NEL, _NEL_OF_EBCDIC = "\x85", b"\x15"
_CR_ALONE = re.compile(rb"\r(?!\n|\Z)")


@dataclass(frozen=True)
class DumpPlace:
    """A file, and how messages name it and the settings of its format.

    Attributes:
        label: Its name in messages.
        once: It is an operand of one comparison; otherwise a stream polls it.
    """

    path: Path
    label: str
    once: bool = False

    @property
    def again(self) -> str:
        """The remedy of a file that is not complete."""
        taken = "then compare again" if self.once else "qbcd takes it at the next poll, and nothing was changed"
        return f"write the file again; {taken}"

    @property
    def check(self) -> str:
        """The remedy of a row that is not valid."""
        return "correct the row, or write the file again" + ("" if self.once else "; nothing was changed")

    def setting(self, text: str) -> str:
        """Return the remedy that sets a key of `format`, given as YAML."""
        return f"write --format '{{{text}}}'" if self.once else f"write {text} under `format`"

    def refused(self, what: str, remedy: str = "", *, line: int | None = None) -> DumpRefused:
        """Return the refusal of the file, or of one of its lines.

        By default, the file must be written again.
        """
        place = self.label if line is None else f"{self.label}, line {line:,}"
        return DumpRefused(f"{place}: {what}", remedy=remedy or self.again)


@dataclass(frozen=True)
class TextForm:
    """The form in which the bytes of a file are text.

    Attributes:
        compression: ``none``, ``gzip`` or ``zstd``.
        encoding: A name that Python knows.
        final_newline: The last line has a line end.
        one_line: A file of one line may lack it in any case.
    """

    compression: str = "none"
    encoding: str = "utf-8"
    final_newline: bool = True
    one_line: bool = False


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
    return raw if compression == "none" else pa.CompressedInputStream(raw, compression)


class TextReader:
    """The text of a file as UTF-8, without a byte order mark."""

    def __init__(self, place: DumpPlace, form: TextForm) -> None:
        self._place, self._form = place, form
        self._raw = opened(place, form.compression)
        plain = form.encoding in ("utf-8", "utf-8-sig", "ascii")
        self._decoder = None if plain else codecs.getincrementaldecoder(form.encoding)()
        self._has_nel = not plain and _NEL.encode(form.encoding, "ignore") == _NEL_OF_EBCDIC
        self._last, self._lines, self._size = b"", 0, 0
        self._at_end = False
        self._left = b""
        head = self.read(len(_MARK))
        self._left = self._left if head == _MARK else head + self._left

    def read(self, size: int) -> bytes:
        """Return `size` bytes, fewer at the end.

        Raises:
            DumpRefused: The file is truncated, damaged or not in its encoding.
        """
        found = [self._left]
        length = len(self._left)
        while length < size and not self._at_end:
            found.append(self._next(max(size - length, 1 << 16)))
            length += len(found[-1])
        data = b"".join(found)
        self._left = data[size:]
        return data[:size]

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
            self._lines += lines_in(text_bytes) - (self._last + text_bytes[:1] == b"\r\n")
            self._last = text_bytes[-1:]
            self._size += len(text_bytes)
        if self._at_end:
            self._check_end()
        return text_bytes

    def _decoded(self, data: bytes) -> bytes:
        if self._decoder is None:
            return data
        try:
            text = self._decoder.decode(data, final=self._at_end)
            return (text.replace(_NEL, "\n") if self._has_nel else text).encode()
        except UnicodeError as error:
            before = getattr(error, "object", b"")[: getattr(error, "start", 0)]
            ends = lines_in(before.encode(errors="replace") if isinstance(before, str) else before)
            what, remedy = f"is not {self._form.encoding} text", "correct `encoding`, or write the file again"
            raise self._place.refused(what, remedy, line=self._lines + ends + 1) from None

    def _check_end(self) -> None:
        if not self._form.final_newline or not self._size or self._last in (b"\n", b"\r"):
            return
        if self._lines or not self._form.one_line:
            raise self._place.refused(
                "the last line has no line end: the file is truncated, or still written",
                f"{self._place.again}; if no file of it has one, {self._place.setting('final_newline: false')}",
                line=self._lines + 1,
            )

    def lines(self, longest: int, *, returns: bool = False) -> Iterator[bytes]:
        """Yield the lines without their ends.

        Args:
            longest: Bytes that a line may have.
            returns: A CR alone ends a line too.

        Raises:
            DumpRefused: A line is longer.
        """
        rest, number = b"", 0
        while block := self.read(max(BLOCK, len(rest))):
            data = rest + block
            found = (_CR_ALONE.sub(b"\n", data) if returns and b"\r" in data else data).split(b"\n")
            rest = found.pop()
            for line in found:
                number += 1
                self._check_length(line, number, longest)
                yield line[:-1] if line.endswith(b"\r") else line
            self._check_length(rest, number + 1, longest)
        if rest:
            yield rest[:-1] if rest.endswith(b"\r") else rest

    def _check_length(self, line: bytes, number: int, longest: int) -> None:
        if len(line) > longest:
            raise too_long(self._place, longest, number)

    def close(self) -> None:
        """Close the file."""
        self._raw.close()


def lines_in(data: bytes) -> int:
    """Return the number of line ends: LF, CR LF and CR."""
    found = data.count(b"\n")
    return found + data.count(b"\r") - data.count(b"\r\n") if b"\r" in data else found


def too_long(place: DumpPlace, longest: int, line: int) -> DumpRefused:
    """Return the refusal of a row that is longer than `longest` bytes."""
    shown = f"{longest >> 20} MB" if longest >= 1 << 20 else f"{longest:,} bytes"
    larger = max(1, longest >> 20) * 4
    remedy = f"{place.setting(f'longest_row: {larger}MB')}, if there is memory for it; or check the file"
    return place.refused(f"a row is longer than {shown}", remedy, line=line)
