"""128-bit digests of rows, computed for a whole batch at a time.

No core dependency has a fast digest of 128 bits for columns: DuckDB's md5 takes four times the processor time of this
one, its `hash` may change with its version, and hashlib needs one Python call for each row. So a row is written as
8-byte words (`encode`), each word is keyed by its position and mixed by two multiplications, and the mixed words are
added up in two 64-bit lanes that differ by a non-linear step. Two rows that differ in one word always differ in their
digest; other rows are equal with a probability of 2**-128. It is not a cryptographic digest: who chooses the values of
both rows can find two that are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from qbcd.errors import UnsupportedType

Words = npt.NDArray[np.uint64]
VERSION = 1  # of encoding and digest; part of every replica

_A, _B, _C = (np.uint64(i) for i in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93))
_STEP = np.uint64(0x9E3779B97F4A7C15)
_S29, _S30, _S31, _S32 = (np.uint64(i) for i in (29, 30, 31, 32))
_NULL = np.uint64(0xFFFFFFFFFFFFFFFF)
_WORDS = 1 << 15  # words per step: three buffers of that size fit in the cache of a core
_PADS = pa.array([b"\0" * i for i in range(8)], pa.binary())


class Codes(NamedTuple):
    """128 bits for each of several rows, in two lanes."""

    high: Words
    low: Words

    def take(self, rows: npt.NDArray[np.int64] | npt.NDArray[np.bool_] | slice) -> Codes:
        """Return the codes of some rows."""
        return Codes(self.high[rows], self.low[rows])

    def order(self) -> npt.NDArray[np.int64]:
        """Return the row numbers in ascending order of the codes."""
        order = np.argsort(self.high)
        high = self.high[order]
        if len(high) > 1 and bool((high[1:] == high[:-1]).any()):
            return np.lexsort((self.low, self.high))
        return order

    def fixed(self) -> pa.Array:
        """Return the codes as values of 16 bytes."""
        both = np.stack((self.high, self.low), axis=1)
        return pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(self.high), [None, pa.py_buffer(both)])


def mixed(words: Words) -> Words:
    """Return each word mixed: a bijection (the finalizer of splitmix64)."""
    words = (words ^ (words >> _S30)) * _A
    words = (words ^ (words >> np.uint64(27))) * _B
    result: Words = words ^ (words >> _S31)
    return result


def position_keys(count: int, seed: int) -> Words:
    """Return the keys of the word positions from 0."""
    with np.errstate(over="ignore"):
        return mixed((np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed << 40)) * _STEP)


def encode(columns: Sequence[pa.Array]) -> tuple[pa.Array, Words | None]:
    """Return the rows of some columns as bytes: equal exactly if the values are.

    A row is a header of 8-byte words and then the texts, padded to whole words. The header has the value of each
    column of fixed width, the length of each text, and one bit for each null.

    Returns:
        The bytes, and the headers as an array (rows, words) if no column is text; the bytes are then None.
    """
    rows = len(columns[0])
    header: list[Words] = []
    texts: list[pa.Array] = []
    sizes: list[Words] = []
    nulls = [np.zeros(rows, np.uint64) for _ in range((len(columns) + 63) // 64)]
    for number, values in enumerate(map(plain, columns)):
        if values.null_count:
            missing = pc.is_null(values).to_numpy(zero_copy_only=False).astype(np.uint64)
            nulls[number // 64] |= missing << np.uint64(number % 64)
        if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
            filled = pc.fill_null(values, b"") if values.null_count else values
            texts.append(filled)
            sizes.append(pc.binary_length(filled).to_numpy(zero_copy_only=False).astype(np.int64).view(np.uint64))
            header.append(sizes[-1])
        else:
            header += fixed_words(values)
    words = np.empty((rows, len(nulls) + len(header)), np.uint64)
    for number, word in enumerate((*nulls, *header)):
        words[:, number] = word
    return (None, words) if not texts else (_joined(words, texts, sizes), None)


def _joined(words: Words, texts: list[pa.Array], lengths_of_texts: list[Words]) -> pa.Array:
    """Return headers and texts as one value for each row, padded to whole words."""
    rows, width = words.shape
    kind = pa.large_binary()
    starts = np.arange(0, 8 * width * (rows + 1), 8 * width, dtype=np.int64)
    first = pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(starts), pa.py_buffer(words)])
    lengths = np.sum([length.view(np.int64) for length in lengths_of_texts], axis=0)
    pads = [_PADS.take(pa.array(-lengths % 8)).cast(kind)] if bool((lengths % 8).any()) else []
    empty = pa.scalar(b"", kind)
    return pc.binary_join_element_wise(first, *(text.cast(kind) for text in texts), *pads, empty)


def plain(column: pa.Array) -> pa.Array:
    """Return a column as bytes or in a type of fixed width.

    Raises:
        UnsupportedType: A type whose values have no canonical bytes here, such as a list.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        return plain(column.dictionary_decode())
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_null(kind):
        return column
    if pa.types.is_string(kind) or pa.types.is_fixed_size_binary(kind):
        return column.cast(pa.binary())
    if pa.types.is_large_string(kind):
        return column.cast(pa.large_binary())
    if "view" in str(kind) and not pa.types.is_nested(kind):
        return column.cast(pa.large_binary())
    if pa.types.is_boolean(kind):
        return column.cast(pa.uint8())
    if pa.types.is_decimal(kind):
        return column if kind.bit_width >= 128 else column.cast(pa.decimal128(38, kind.scale))
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return column.cast(pa.int32())
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return column
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return column.cast(pa.int64())
    raise UnsupportedType(
        f"values of type {kind} cannot be compared", remedy="read the column as text, or leave it out of `columns`"
    )


def fixed_words(values: pa.Array) -> list[Words]:
    """Return a column of fixed width as words; nulls are 0, -0.0 is 0.0 and all NaN are one."""
    kind = values.type
    if pa.types.is_null(kind):
        return []
    if pa.types.is_decimal(kind):
        each = kind.bit_width // 64
        every = np.frombuffer(values.buffers()[1], np.uint64)[
            each * values.offset : each * (values.offset + len(values))
        ]
        wide = every.reshape(-1, each)
        if values.null_count:
            wide = np.where(pc.is_null(values).to_numpy(zero_copy_only=False)[:, None], np.uint64(0), wide)
        return [np.ascontiguousarray(wide[:, i]) for i in range(each)]
    if values.null_count:
        values = pc.fill_null(values, pa.scalar(0, kind) if not pa.types.is_float16(kind) else pa.scalar(np.float16(0)))
    numbers = values.to_numpy(zero_copy_only=False)
    if numbers.dtype.kind == "f":
        doubles = numbers.astype(np.float64) + 0.0
        doubles[np.isnan(doubles)] = np.nan
        return [doubles.view(np.uint64)]
    if numbers.dtype == np.uint64:
        return [numbers]
    return [numbers.astype(np.int64, copy=False).view(np.uint64)]


def digests(columns: Sequence[pa.Array], seed: int = 0) -> Codes:
    """Return the digest of each row of some columns of equal length."""
    if not len(columns[0]):
        return Codes(np.empty(0, np.uint64), np.empty(0, np.uint64))
    rows, words = encode(columns)
    if words is not None:
        return _same_length(words, seed)
    return digests_of_bytes(rows, seed)


def digests_of_bytes(rows: pa.Array, seed: int = 0) -> Codes:
    """Return the digest of each value of :func:`encode`."""
    ends = np.frombuffer(rows.buffers()[1], np.int64)[rows.offset : rows.offset + len(rows) + 1] >> 3
    flat = np.frombuffer(rows.buffers()[2], np.uint64, count=int(ends[-1]))[int(ends[0]) :]
    ends = ends - ends[0]
    counts = np.diff(ends)
    if bool((counts == counts[0]).all()):
        return _same_length(flat.reshape(len(rows), int(counts[0])), seed)
    keys = position_keys(int(counts.max()), seed)
    sums = np.empty(len(rows), np.uint64), np.empty(len(rows), np.uint64)
    cuts = np.unique(np.searchsorted(ends, np.arange(0, int(ends[-1]), _WORDS), side="right") - 1)
    for first, last in zip(cuts, [*cuts[1:], len(rows)], strict=True):
        starts = ends[first:last]
        place = np.arange(starts[0], ends[last]) - np.repeat(starts, counts[first:last])
        words = flat[starts[0] : ends[last]] ^ keys[place]
        spare = np.empty_like(words)
        _mix(words, spare)
        np.add.reduceat(words, starts - starts[0], out=sums[0][first:last])
        _second(words, spare)
        np.add.reduceat(words, starts - starts[0], out=sums[1][first:last])
    return Codes(mixed(sums[0]), mixed(sums[1] ^ _STEP))


def _same_length(words: Words, seed: int) -> Codes:
    """Return the digests of rows that have equally many words."""
    rows, width = words.shape
    keys = position_keys(width, seed)
    sums = np.empty(rows, np.uint64), np.empty(rows, np.uint64)
    step = max(1, _WORDS // width)
    buffer, spare = np.empty((min(step, rows), width), np.uint64), np.empty((min(step, rows), width), np.uint64)
    for first in range(0, rows, step):
        last = min(rows, first + step)
        some, other = buffer[: last - first], spare[: last - first]
        np.bitwise_xor(words[first:last], keys, out=some)
        _mix(some, other)
        np.sum(some, axis=1, out=sums[0][first:last])
        _second(some, other)
        np.sum(some, axis=1, out=sums[1][first:last])
    return Codes(mixed(sums[0]), mixed(sums[1] ^ _STEP))


def _mix(words: Words, spare: Words) -> None:
    """Mix keyed words in place, for the first lane."""
    np.multiply(words, _A, out=words)
    np.right_shift(words, _S32, out=spare)
    np.bitwise_xor(words, spare, out=words)
    np.multiply(words, _B, out=words)


def _second(words: Words, spare: Words) -> None:
    """Mix the words of the first lane in place, for the second."""
    np.right_shift(words, _S29, out=spare)
    np.bitwise_xor(words, spare, out=words)
    np.multiply(words, _C, out=words)
