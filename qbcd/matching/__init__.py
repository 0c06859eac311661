"""Sets as values to search and to join: signatures, indexes and joins of Helmer's thesis.

`InvertedFile` is the index that qbcd uses; `Bitmap` is exact for few elements. The signature file, the signature tree
and both hash tables are the thesis' other structures, kept small: the inverted file is faster in its own tables.
"""

from __future__ import annotations

from qbcd.matching.bitmap import Bitmap
from qbcd.matching.cost import Workload, index_for
from qbcd.matching.hashed import ExtendibleHashing, RecursiveLinearHashing
from qbcd.matching.index import SetIndex, SetRelation
from qbcd.matching.inverted import InvertedFile
from qbcd.matching.joins import contained_pairs, equal_pairs
from qbcd.matching.signature_file import SignatureFile
from qbcd.matching.signature_tree import SignatureTree
from qbcd.matching.signatures import Coding, SetError

__all__ = [
    "Bitmap",
    "Coding",
    "ExtendibleHashing",
    "InvertedFile",
    "RecursiveLinearHashing",
    "SetError",
    "SetIndex",
    "SetRelation",
    "SignatureFile",
    "SignatureTree",
    "Workload",
    "contained_pairs",
    "equal_pairs",
    "index_for",
]
