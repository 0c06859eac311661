"""Row digests in the SQL of a profile, so that a database adds up its own ranges.

A digest is a 64-bit hash of the exact texts of all values with their lengths, so different rows have different texts.
It is compared only with earlier digests of the same database and the same SQL (:func:`fingerprint`), and never with
those that qbcd computes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from qbcd.connectors.jdbc.profile import Profile, bare_type
from qbcd.model import Column


@dataclass(frozen=True)
class HashedValue:
    """A value of a row as the database reads it.

    Attributes:
        name: Name of its column.
        type_name: The driver's name of its type.
        spark: Spark's type of it.
        expression: SQL of it.
    """

    name: str
    type_name: str
    spark: str
    expression: str


def problem(profile: Profile, values: Sequence[HashedValue]) -> str:
    """Return why the database cannot digest rows of these values; empty if it can."""
    if not profile.digest or not profile.exact:
        return f"{profile.product} has no hash function that its profile could use"
    for value in values:
        if _kind(value) not in profile.exact or bare_type(value.type_name) in profile.unhashed:
            return f"{profile.product} has no exact text to hash of column {value.name} ({value.type_name})"
    return ""


def digest(profile: Profile, values: Sequence[HashedValue]) -> str:
    """Return SQL of the digest of values; there is no :func:`problem` with them."""
    texts = (profile.exact[_kind(value)].replace("{v}", value.expression) for value in values)
    return profile.digest.replace("{text}", profile.plus.join(profile.part.replace("{t}", text) for text in texts))


def bucket(profile: Profile, values: Sequence[HashedValue], first: int, count: int) -> str:
    """Return SQL of the hash bucket of values, from `first` on."""
    if count == 1:
        return f"{first:d}"
    remainder = profile.bucket.replace("{d}", f"({digest(profile, values)})").replace("{n}", f"{count:d}")
    return f"{first:d} + {remainder}"


def fingerprint(profile: Profile, values: Sequence[HashedValue]) -> str:
    """Return the fingerprint of the SQL of a digest: with another SQL, no digest is comparable."""
    return hashlib.sha256(digest(profile, values).encode()).hexdigest()[:16]


def shared_form(profile: Profile, column: Column) -> str:
    """Return the form of a column's values in the shared digest; empty if there is none.

    It is the one that other databases compute alike (`qbcd.connectors.shared_digests`).
    """
    form = profile.shared.get(bare_type(column.base_type), "").partition(": ")[0]
    return form.replace("{s}", str(column.travel.scale)).replace("decimal 0", "integer")


def shared_digest(profile: Profile, columns: Sequence[Column]) -> str:
    """Return SQL of the shared digest of columns that all have a form."""
    parts = []
    for column in columns:
        form, _, text = profile.shared[bare_type(column.base_type)].partition(": ")
        text = text.replace("{c}", profile.quote(column.name))
        plain = f"COALESCE({text}{profile.plus}',', ':')"
        parts.append(profile.shared_part.replace("{t}", text) if form == "text" else plain)
    row = profile.plus.join(parts)
    return profile.shared_digest.replace("{row}", row)


def _kind(value: HashedValue) -> str:
    return value.spark.partition("(")[0]
