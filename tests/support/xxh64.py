"""XXH64 of bytes, written from its specification, and the digest of a row that is chained from it."""

from __future__ import annotations

import struct
from collections.abc import Sequence

_P1, _P2, _P3, _P4, _P5 = (
    11400714785074694791,
    14029467366897019727,
    1609587929392839161,
    9650029242287828579,
    2870177450012600261,
)
_ALL = (1 << 64) - 1
_HALF = (1 << 63) - 1
SEED = 42


def _rotated(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (64 - bits))) & _ALL


def _mixed(state: int, lane: int) -> int:
    return _rotated((state + lane * _P2) & _ALL, 31) * _P1 & _ALL


def xxh64(data: bytes, seed: int) -> int:
    """Return XXH64 of bytes, as an unsigned integer."""
    place, length = 0, len(data)
    if length >= 32:
        lanes = [(seed + _P1 + _P2) & _ALL, (seed + _P2) & _ALL, seed & _ALL, (seed - _P1) & _ALL]
        while place + 32 <= length:
            words = struct.unpack_from("<4Q", data, place)
            lanes = [_mixed(state, word) for state, word in zip(lanes, words, strict=True)]
            place += 32
        found = sum(_rotated(state, bits) for state, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & _ALL
        for state in lanes:
            found = ((found ^ _mixed(0, state)) * _P1 + _P4) & _ALL
    else:
        found = (seed + _P5) & _ALL
    found = (found + length) & _ALL
    while place + 8 <= length:
        found = (_rotated(found ^ _mixed(0, struct.unpack_from("<Q", data, place)[0]), 27) * _P1 + _P4) & _ALL
        place += 8
    if place + 4 <= length:
        found = (_rotated(found ^ (struct.unpack_from("<I", data, place)[0] * _P1 & _ALL), 23) * _P2 + _P3) & _ALL
        place += 4
    for byte in data[place:]:
        found = _rotated(found ^ (byte * _P5 & _ALL), 11) * _P1 & _ALL
    found = (found ^ (found >> 33)) * _P2 & _ALL
    found = (found ^ (found >> 29)) * _P3 & _ALL
    return found ^ (found >> 32)


def row_digest(values: Sequence[bytes | None], start: int = SEED) -> int:
    """Return the digest of a row, as a signed integer, from the bytes of its values."""
    found = start
    for value in values:
        found = xxh64(struct.pack("<i", value is None), found)
        found = found if value is None else xxh64(value, found)
    return found - (1 << 64) if found >> 63 else found


def wide_digest(values: Sequence[bytes | None]) -> int:
    """Return the wide digest of a row: 63 bits of its digest, and 63 bits of one that begins with an integer 1."""
    low = row_digest(values, xxh64(struct.pack("<i", 1), SEED))
    return ((row_digest(values) & _HALF) << 63) + (low & _HALF)
