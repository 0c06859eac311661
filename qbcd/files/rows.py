"""Whole rows of a CSV file: blocks that end with a row, and the line of each row.

Rows are in the form of RFC 4180.

A quote begins a quoted value at the start of a value only; elsewhere in a value without quotes it is text. After a
closing quote the value ends. Within quotes a quote is written twice, or after an escape character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from qbcd.files.content import BLOCK, DumpPlace, TextReader, lines_in, too_long

Places: TypeAlias = NDArray[np.intp]
_LF, _CR, _BACKSLASH = ord("\n"), ord("\r"), "\\"
# C's escapes, which PostgreSQL writes; any other character is itself. MariaDB and MySQL write \0 for NUL.
_ESCAPES = {b"0": b"\0", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v", b"Z": b"\x1a"}
_NULL = b"\\N"
_AMBIGUOUS = 'escape: "\\\\"'


@dataclass(frozen=True)
class CsvRules:
    """The characters that divide a CSV file into rows and values.

    Attributes:
        delimiter: The character between values.
        quote: The character around values; empty for none.
        escape: The character before a quote that is text; without quotes, before any character. Empty for none.
        unknown: The configuration does not say if there is an escape character.
    """

    delimiter: bytes
    quote: bytes
    escape: bytes
    unknown: bool

    @cached_property
    def after(self) -> frozenset[int]:
        """The characters before and after a value."""
        return frozenset((*self.delimiter, _LF, _CR))

    @cached_property
    def quoted(self) -> re.Pattern[bytes]:
        """A quoted value from its first quote to its last one.

        The last one is missing in `end` if the text ends before.
        """
        quote, start = re.escape(self.quote), self._start(self.quote)
        plain, other = rb"[^%b]*" % quote, quote * 2
        if self.escape:
            escape = re.escape(self.escape)
            plain, other = rb"[^%b%b]*" % (quote, escape), rb"(?:%b(?:.|\Z)|%b)" % (escape, quote * 2)
        return re.compile(rb"%b%b(?:%b%b)*(?P<end>%b|\Z)" % (start, plain, other, plain, quote), re.DOTALL)

    @cached_property
    def escaped(self) -> re.Pattern[bytes]:
        """A quoted value of a writer that escapes quotes by a backslash.

        Such writers are Spark, Hive, MariaDB and MySQL.
        """
        quote = re.escape(self.quote)
        return re.compile(
            rb"%b[^%b\\]*(?:\\[%b\\\n0][^%b\\]*)+%b(?=[%b\r\n]|\Z)"
            % (quote, quote, quote, quote, quote, re.escape(self.delimiter))
        )

    @cached_property
    def null(self) -> re.Pattern[bytes]:
        """A value of a backslash and N without quotes."""
        return re.compile(rb"%b(?=[%b\r\n]|\Z)" % (self._start(_NULL), re.escape(self.delimiter)))

    @cached_property
    def sequence(self) -> re.Pattern[bytes]:
        """An escape character and the one after it, or a CR in a value.

        The group ``null`` is for a value that is NULL.
        """
        escape = re.escape(self.escape)
        return re.compile(rb"(?P<null>%b)|%b(?P<one>.)|\r(?!\n)" % (self.null.pattern, escape), re.DOTALL)

    @property
    def has_escapes_alone(self) -> bool:
        """True if values have escapes, and no quotes: each line end but LF and CR LF is in a value."""
        return bool(self.escape) and not self.quote

    def _start(self, text: bytes) -> bytes:
        """Return a pattern of `text` at the start of a value.

        It begins with the text, which is searched fast.
        """
        found = re.escape(text)
        return rb"%b(?:(?<=[%b\r\n]%b)|(?<=\A%b))" % (found, re.escape(self.delimiter), found, found)


class BadRow(ValueError):
    """A row that is not valid.

    Attributes:
        place: Place of the error in the block, in bytes.
        what: The error.
        escape: Another escape character may be the remedy.
    """

    def __init__(self, place: int, what: str, *, escape: bool = False) -> None:
        super().__init__(what)
        self.place, self.what, self.escape = place, what, escape


class RowLayout:
    """Places of rows and quoted values in a text that begins with a row.

    Args:
        data: The text.
        at_end: The file ends with the text.

    Attributes:
        ends: The places after each complete row.
        opened: The place of a quoted value that does not end in the text; -1 if there is none.

    Raises:
        BadRow: Text follows a quoted value, or it can be read in two ways.
    """

    def __init__(self, data: bytes, rules: CsvRules, *, at_end: bool) -> None:
        self._data, self._rules, self._at_end = data, rules, at_end
        self._bytes = np.frombuffer(data, np.uint8)
        self._starts, self._stops = self._quoted()
        self.opened = int(self._starts[-1]) if len(self._starts) > len(self._stops) else -1
        ends = self._line_ends(at_end)
        ends = ends[~self.is_quoted(ends - 1)]
        if rules.has_escapes_alone:
            ends = ends[~self._is_escaped(ends - 1)]
        if at_end and self.opened < 0 and len(data) and (not len(ends) or ends[-1] < len(data)):
            ends = np.append(ends, len(data))
        self.ends = ends

    def after(self, place: int) -> RowLayout:
        """Return the layout of the text after a row that ends at `place`."""
        return RowLayout(self._data[place:], self._rules, at_end=self._at_end)

    def is_quoted(self, places: Places) -> NDArray[np.bool_]:
        """Return for each place if it is within a quoted value."""
        before = np.searchsorted(self._starts, places, "right")
        found: NDArray[np.bool_] = before > np.searchsorted(self._stops, places, "right")
        return found

    def delimiters(self) -> Places:
        """Return the places of delimiters between values."""
        found = np.flatnonzero(self._bytes == self._rules.delimiter[0])
        found = found[~self.is_quoted(found)]
        return found[~self._is_escaped(found)] if self._rules.has_escapes_alone else found

    def _line_ends(self, at_end: bool) -> Places:
        """Return the places after line ends; a CR alone is one."""
        values = self._bytes
        ends = np.flatnonzero(values == _LF)
        if b"\r" in self._data and not self._rules.has_escapes_alone:
            returns = np.flatnonzero(values == _CR)
            last = returns + 1 == len(values)
            alone = np.where(last, at_end, values[np.where(last, 0, returns + 1)] != _LF)
            ends = np.sort(np.concatenate([ends, returns[alone]]))
        return ends + 1

    def _is_escaped(self, places: Places) -> NDArray[np.bool_]:
        """Return for each place if an odd number of escape characters is before it."""
        escape = self._rules.escape[0]
        found = np.zeros(len(places), bool)
        for i in np.flatnonzero((places > 0) & (self._bytes[np.maximum(places, 1) - 1] == escape)):
            first = last = int(places[i])
            while first and self._data[first - 1] == escape:
                first -= 1
            found[i] = (last - first) % 2 == 1
        return found

    def _quoted(self) -> tuple[Places, Places]:
        """Return the places of the first and of the last quote of quoted values."""
        rules, none = self._rules, np.empty(0, np.intp)
        if not rules.quote or rules.quote not in self._data:
            return none, none
        escape = rules.escape or (_BACKSLASH.encode() if rules.unknown else b"")
        if not escape or escape not in self._data:
            quotes = np.flatnonzero(self._bytes == rules.quote[0])
            starts, stops = quotes[0::2], quotes[1::2]
            if self._alternate(starts, stops):
                return starts, stops
        return self._searched()

    def _alternate(self, starts: Places, stops: Places) -> bool:
        """Return True if each quote begins or ends a value, or is one of two; then they alternate."""
        edges = np.zeros(256, bool)
        edges[list({*self._rules.after, *self._rules.quote})] = True
        before, after = self._bytes[np.maximum(starts, 1) - 1], self._bytes[np.minimum(stops + 1, len(self._bytes) - 1)]
        good = bool(((starts == 0) | edges[before]).all()) and bool(
            ((stops == len(self._bytes) - 1) | edges[after]).all()
        )
        return good

    def _searched(self) -> tuple[Places, Places]:
        """Return the same where quotes are text too, or can be escaped."""
        rules, data = self._rules, self._data
        starts, stops = [], []
        for found in rules.quoted.finditer(data):
            start, stop = found.start(), found.end() - 1
            starts.append(start)
            if rules.unknown and rules.escaped.match(data, start):
                what = "has a backslash in quotes, which can be a character or an escape"
                raise BadRow(start, what, escape=True)
            if not found["end"]:
                break
            if stop + 1 < len(data) and data[stop + 1] not in rules.after:
                escaped = rules.unknown and _BACKSLASH.encode() in found[0]
                raise BadRow(stop, "has text after a closing quote", escape=escaped)
            stops.append(stop)
        return np.array(starts, np.intp), np.array(stops, np.intp)


class RowBlock:
    """Some whole rows.

    Args:
        data: Their text.
        line: The line of the first, from 1.

    Attributes:
        data: Their text.
    """

    def __init__(self, data: bytes, line: int, layout: RowLayout) -> None:
        self.data, self._line, self.layout = data, line, layout

    def line_at(self, place: int) -> int:
        """Return the line of a place."""
        return self._line + lines_in(self.data[:place])

    def rows(self) -> Iterator[tuple[int, int]]:
        """Yield first place and end of each row that is not an empty line."""
        start = 0
        for end in map(int, self.layout.ends):
            if self.data[start:end].strip(b"\r\n"):
                yield start, end
            start = end

    def without_first(self) -> RowBlock | None:
        """Return the rows after the first one; None if there is no row."""
        first = next(self.rows(), None)
        if first is None:
            return None
        end = first[1]
        return RowBlock(self.data[end:], self.line_at(end), self.layout.after(end))

    def wrong_count(self, expected: int) -> tuple[int, int] | None:
        """Return place and number of values of the first row that has not the `expected` number."""
        delimiters = self.layout.delimiters()
        for start, end in self.rows():
            first, last = np.searchsorted(delimiters, (start, end))
            if last - first + 1 != expected:
                return start, int(last - first + 1)
        return None


def row_blocks(place: DumpPlace, text: TextReader, rules: CsvRules, longest: int) -> Iterator[RowBlock]:
    """Yield the rows of a file in blocks of some megabytes.

    Args:
        longest: Bytes that a row may have.

    Raises:
        DumpRefused: A row is not valid or too long, or the file ends within a quoted value.
    """
    rest, line, more = b"", 1, True
    while more:
        block = text.read(max(BLOCK, len(rest)))
        more = bool(block)
        data = rest + block
        try:
            layout = RowLayout(data, rules, at_end=not more)
        except BadRow as error:
            raise refused_row(place, error, line + lines_in(data[: error.place])) from None
        end = int(layout.ends[-1]) if len(layout.ends) else 0
        if len(data) > longest:
            _check_lengths(place, data, layout, line, longest)
        if end:
            yield RowBlock(data[:end], line, layout)
            line += lines_in(data[:end])
        rest = data[end:]
        if not more and layout.opened >= 0:
            raise refused_open(place, rules, line + lines_in(data[end : layout.opened]))


def _check_lengths(place: DumpPlace, data: bytes, layout: RowLayout, line: int, longest: int) -> None:
    starts = np.concatenate([[0], layout.ends])
    long = np.flatnonzero(np.diff(np.append(starts, len(data))) > longest)
    if len(long):
        raise too_long(place, longest, line + lines_in(data[: starts[long[0]]]))


def refused_row(place: DumpPlace, error: BadRow, line: int) -> Exception:
    """Return the refusal of a row."""
    if not error.escape:
        return place.refused(error.what, place.check, line=line)
    remedy = (
        f"if the writer escapes quotes (Spark, Hive, MariaDB, MySQL), {place.setting(_AMBIGUOUS)}; "
        f"if it doubles them, {place.setting('escape: none')}"
    )
    return place.refused(error.what, remedy, line=line)


def refused_open(place: DumpPlace, rules: CsvRules, line: int) -> Exception:
    """Return the refusal of a file that ends within a quoted value."""
    quotes = place.setting("quote: none")
    return place.refused(
        "a quoted value that begins here is open at the end of the file",
        f"{place.again}; if values are not quoted, {quotes}",
        line=line,
    )


def plain_quotes(data: bytes, rules: CsvRules) -> bytes:
    """Return rows whose quoted values have no escapes: quotes in them are written twice."""
    quote = rules.quote

    def character(found: re.Match[bytes]) -> bytes:
        one = found[1]
        return quote * 2 if one == quote else _ESCAPES.get(one, one)

    sequence = re.compile(re.escape(rules.escape) + rb"(.)", re.DOTALL)

    def value(found: re.Match[bytes]) -> bytes:
        return sequence.sub(character, found[0])

    return rules.quoted.sub(value, data) if rules.escape in data else data


def plain_escapes(data: bytes, rules: CsvRules, null: bytes) -> bytes:
    """Return rows without quotes, with an escape before each special character.

    `null` is the text of NULL.
    """
    escape = rules.escape

    def character(found: re.Match[bytes]) -> bytes:
        if found["null"] is not None:
            return null
        one = found["one"] or b"\r"
        return escape + _ESCAPES.get(one, one)

    return rules.sequence.sub(character, data) if escape in data or b"\r" in data else data
