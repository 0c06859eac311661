"""Arrow arrays of values of Python.

`pyarrow.array` imports pandas for a list, if it is installed; that takes longer than many polls.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def int64s(values: Iterable[int | None]) -> pa.Array:
    """Return numbers as an array of 64-bit integers."""
    import pyarrow as pa

    items = list(values)
    data = pa.py_buffer(array("q", [value or 0 for value in items]))
    return pa.Array.from_buffers(pa.int64(), len(items), [_validity(items), data])


def binaries(values: Sequence[bytes | None]) -> pa.Array:
    """Return byte strings as an array."""
    import pyarrow as pa

    items = [value or b"" for value in values]
    data = b"".join(items)
    if len(data) > _MOST:
        return pa.array(values, pa.binary())  # it raises Arrow's error, or has several chunks
    ends = pa.py_buffer(array("i", accumulate(map(len, items), initial=0)))
    return pa.Array.from_buffers(pa.binary(), len(items), [_validity(values), ends, pa.py_buffer(data)])


_MOST = (1 << 31) - 1


def _validity(values: Sequence[object]) -> pa.Buffer | None:
    """Return the bits of values that are not None; None if all are."""
    import pyarrow as pa

    if None not in values:
        return None
    bits = bytearray(-(-len(values) // 8))
    for place, value in enumerate(values):
        if value is not None:
            bits[place >> 3] |= 1 << (place & 7)
    return pa.py_buffer(bytes(bits))
