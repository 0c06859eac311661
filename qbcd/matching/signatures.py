"""Superimposed coding: a set as a bit string (Helmer, chapter 2).

It serves for pretests that never miss.

A signature never proves a relation of two sets, it only excludes one: who uses it verifies the survivors.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

from qbcd.errors import QbcdError

VERSION = b"qbcd-set-1"  # of the code of an element; another code needs another version


class SetError(QbcdError):
    """Sets that an index or a join cannot hold."""


@dataclass(frozen=True)
class Coding:
    """The bits of elements in a signature.

    Attributes:
        bits: Width of a signature, at least 1.
        per_element: Different bits that each element sets, at most `bits`.
    """

    bits: int
    per_element: int = 1
    _codes: dict[Hashable, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 1 <= self.per_element <= self.bits:
            raise SetError(f"a signature of {self.bits} bits cannot have {self.per_element} bits of one element")

    def signature(self, elements: Iterable[Hashable]) -> int:
        """Return the bits of all elements; 0 for an empty set."""
        codes, signature = self._codes, 0
        for element in elements:
            code = codes.get(element)
            if code is None:
                code = codes[element] = self._code(element)
            signature |= code
        return signature

    def _code(self, element: Hashable) -> int:
        code, block = 0, 0
        while True:
            digest = blake2b(canonical(element), digest_size=64, person=VERSION, salt=block.to_bytes(8, "big")).digest()
            for start in range(0, len(digest), 4):
                code |= 1 << int.from_bytes(digest[start : start + 4], "big") % self.bits
                if code.bit_count() == self.per_element:
                    return code
            block += 1


def canonical(element: Hashable) -> bytes:
    """Return the bytes that are hashed: equal for equal elements, the same in every process.

    Raises:
        SetError: The element is no text, number, boolean, bytes or None.
    """
    match element:
        case str():
            return b"s" + element.encode("utf-8", "surrogatepass")
        case bytes():
            return b"b" + element
        case bool() | int():
            return b"i%d" % element
        case float():
            return b"i%d" % int(element) if element.is_integer() else b"f" + repr(element).encode()
        case None:
            return b"n"
    raise SetError(f"an element of a set must be a text, number, boolean, bytes or None, not {type(element).__name__}")


def subsets(bits: int) -> Iterator[int]:
    """Yield every subset of the bits that are set, the empty one last (Vance & Maier)."""
    subset = bits
    while subset:
        yield subset
        subset = (subset - 1) & bits
    yield 0


def supersets(bits: int, width: int) -> Iterator[int]:
    """Yield every bit string of `width` bits that has all bits of `bits`."""
    for subset in subsets(~bits & ((1 << width) - 1)):
        yield bits | subset


def weight(coding: Coding, elements: int) -> float:
    """Return the expected number of bits set in the signature of a set (2.2)."""
    return coding.bits * (1 - (1 - coding.per_element / coding.bits) ** elements)


def false_drops(coding: Coding, stored: int, query: int) -> float:
    """Return the share of sets that pass a test by chance (2.4).

    The test is ``stored contains all of query``.

    For ``stored is contained in query`` pass the sizes in the other order (2.5).

    Args:
        stored: Elements of a stored set.
        query: Elements of the query.
    """
    return float((1 - math.exp(-coding.per_element / coding.bits * stored)) ** (coding.per_element * query))


def overlap_drops(coding: Coding, stored: int, query: int) -> float:
    """Return the share of sets that pass the test of an overlap by chance (2.6)."""
    bits = round(weight(coding, query))
    unset = (1 - coding.per_element / coding.bits) ** stored
    few = range(min(coding.per_element, bits + 1))
    return float(1 - sum(math.comb(bits, j) * (1 - unset) ** j * unset ** (bits - j) for j in few))


def best_per_element(bits: int, elements: int) -> int:
    """Return the bits for each element with the fewest false drops (2.9, 2.10).

    Half of the signature is set then.
    """
    return min(max(round(bits * math.log(2) / max(elements, 1)), 1), bits)


def best_bits(elements: int) -> int:
    """Return the width at which one bit for each element sets half of the signature (4.1).

    100 elements need 144.
    """
    return max(round(elements / math.log(2)), 1)
