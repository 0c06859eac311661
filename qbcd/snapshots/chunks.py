"""Rows of one side with their key codes.

They are whole rows (`K, B`), or entries (`K, b` and `K, b, p`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from qbcd.errors import ConfigError, Refused
from qbcd.snapshots.base import Numbers, joined
from qbcd.snapshots.digests import Codes, digests, fixed_words, mixed, plain

HIGH, LOW, ROW = "qbcd_digest_high", "qbcd_digest_low", "qbcd_row"
UNKNOWN = -1  # row number of an entry without one
_KEY_SEED = 1
_DIRECT = ("int", "uint", "date", "timestamp", "time", "duration", "bool")
Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class DumpLayout:
    """Columns of both sides. Without keys the whole row is the key."""

    schema: pa.Schema
    keys: tuple[str, ...]

    @classmethod
    def of(cls, schema: pa.Schema, keys: Sequence[str]) -> DumpLayout:
        """Check the columns.

        Raises:
            ConfigError: A key column does not exist, or a column has a name that entries need.
        """
        for key in keys:
            if schema.get_field_index(key) < 0:
                raise ConfigError(
                    f"there is no single column {key!r}; columns: {', '.join(schema.names)}",
                    remedy="name the columns that identify a row",
                )
        taken = [name for name in (HIGH, LOW, ROW) if name in schema.names]
        if taken:
            raise ConfigError(f"column {taken[0]} has a name that qbcd uses itself", remedy="rename the column")
        return cls(schema, tuple(keys))

    def entry_schema(self, pointers: bool) -> pa.Schema:
        """Return the columns of an entry: key columns, digest, and optionally the row number.

        With `pointers` it has the row number in the snapshot.
        """
        keys = [self.schema.field(name) for name in self.keys]
        pointer = [(ROW, pa.int64())] if pointers else []
        return pa.schema([*keys, (HIGH, pa.uint64()), (LOW, pa.uint64()), *pointer])

    def codes(self, body: pa.RecordBatch) -> Codes:
        """Return the code of each key.

        It is the mixed value itself if the key is one number, else a 128-bit digest.
        """
        if not self.keys:
            return self.digests(body)
        if len(self.keys) == 1 and str(body.schema.field(self.keys[0]).type).startswith(_DIRECT):
            values = plain(body.column(self.keys[0]))
            nulls = pc.is_null(values).to_numpy(zero_copy_only=False) if values.null_count else np.zeros(len(values))
            with np.errstate(over="ignore"):
                return Codes(mixed(fixed_words(values)[0]), nulls.astype(np.uint64))
        return digests([body.column(name) for name in self.keys], _KEY_SEED)

    def digests(self, body: pa.RecordBatch) -> Codes:
        """Return the digest of each whole row."""
        return digests(body.columns)

    def chunk(self, body: pa.RecordBatch, first: int = 0, digest: bool = False) -> Chunk:
        """Return the rows of a batch; the first one has the number `first`."""
        content = self.digests(body) if digest or not self.keys else None
        key = content if not self.keys and content is not None else self.codes(body)
        return Chunk(self, key, body, content, np.arange(first, first + body.num_rows), whole=True)

    def entries(self, body: pa.RecordBatch) -> Chunk:
        """Return the entries of a batch with the columns of :meth:`entry_schema`."""
        content = Codes(body.column(HIGH).to_numpy(), body.column(LOW).to_numpy())
        key = self.codes(body) if self.keys else content
        known = ROW in body.schema.names
        rows = body.column(ROW).to_numpy() if known else np.full(body.num_rows, UNKNOWN)
        return Chunk(self, key, body, content, rows, whole=False)


@dataclass(frozen=True)
class Chunk:
    """Some rows: key codes, columns, digests as far as computed, row numbers.

    The row numbers are those in the snapshot.

    Attributes:
        whole: `body` has the columns of the snapshot, else those of entries.
    """

    layout: DumpLayout
    key: Codes
    body: pa.RecordBatch
    content: Codes | None
    rows: Numbers
    whole: bool

    def __len__(self) -> int:
        return int(self.body.num_rows)

    @property
    def nbytes(self) -> int:
        """Bytes of the rows with their codes and numbers."""
        codes = 2 if self.content is None else 4
        return int(self.body.nbytes) + 8 * (codes + 1) * len(self)

    def take(self, rows: Numbers) -> Chunk:
        """Return some of the rows, in the given order."""
        content = self.content.take(rows) if self.content is not None else None
        return replace(
            self, key=self.key.take(rows), body=self.body.take(pa.array(rows)), content=content, rows=self.rows[rows]
        )

    def slice(self, first: int, last: int) -> Chunk:
        """Return the rows from `first` to before `last`, without a copy."""
        part = slice(first, last)
        content = self.content.take(part) if self.content is not None else None
        body = self.body.slice(first, last - first)
        return replace(self, key=self.key.take(part), body=body, content=content, rows=self.rows[part])

    def sorted(self) -> Chunk:
        """Return the rows in the order of their key codes."""
        return self.take(self.key.order())

    def digested(self) -> Chunk:
        """Return the rows with their digests."""
        return self if self.content is not None else replace(self, content=self.layout.digests(self.body))

    def entries(self, pointers: bool) -> Chunk:
        """Return the rows as entries."""
        content = self.digested().content
        assert content is not None
        columns = [self.body.column(name) for name in self.layout.keys]
        arrays = [*columns, pa.array(content.high), pa.array(content.low), *([pa.array(self.rows)] if pointers else [])]
        body = pa.RecordBatch.from_arrays(arrays, schema=self.layout.entry_schema(pointers))
        return replace(self, body=body, content=content, whole=False)

    def key_columns(self) -> pa.Array:
        """Return the key of each row, as events have it."""
        names = self.layout.keys
        if not names:
            return pa.nulls(len(self))
        fields = [self.layout.schema.field(name) for name in names]
        return pa.StructArray.from_arrays([self.body.column(name) for name in names], fields=fields)


def gathered(chunks: Sequence[Chunk], layout: DumpLayout, whole: bool) -> Chunk:
    """Return the rows of several chunks as one."""
    if len(chunks) == 1:
        return chunks[0]
    chunks = [chunk for chunk in chunks if len(chunk)] or chunks[:1]
    if len(chunks) == 1:
        return chunks[0]
    if not chunks:
        empty = joined([], layout.schema if whole else layout.entry_schema(pointers=False))
        return layout.chunk(empty, digest=True) if whole else layout.entries(empty)
    contents = [chunk.content for chunk in chunks if chunk.content is not None]
    both = [chunk.key for chunk in chunks]
    content = _concatenated(contents) if len(contents) == len(chunks) else None
    rows = np.concatenate([chunk.rows for chunk in chunks])
    return Chunk(
        layout, _concatenated(both), joined([chunk.body for chunk in chunks], layout.schema), content, rows, whole
    )


def _concatenated(codes: Sequence[Codes]) -> Codes:
    return Codes(np.concatenate([each.high for each in codes]), np.concatenate([each.low for each in codes]))


def differ(old: Chunk, new: Chunk) -> Marks:
    """Return for each pair of rows if they differ.

    They are compared by value if both are whole rows, else by digest.

    Raises:
        Refused: Two different keys have one code.
    """
    if not len(old):
        return np.empty(0, np.bool_)
    if not (old.whole and new.whole):
        return differ_in_digest(old, new)
    marks = _unequal(old.body.columns, new.body.columns)
    changed = np.flatnonzero(marks)
    names = old.layout.keys
    if len(changed) and names:
        one_key, two_key = ([side.take(changed).body.column(name) for name in names] for side in (old, new))
        if bool(_unequal(one_key, two_key).any()):
            raise Refused(
                "two different keys have one 128-bit code, so their rows cannot be paired",
                remedy="report it with the two files; no change was lost",
            )
    return marks


def differ_in_digest(old: Chunk, new: Chunk) -> Marks:
    """Return for each pair of rows if their digests differ."""
    one, two = old.digested().content, new.digested().content
    assert one is not None and two is not None
    result: Marks = (one.high != two.high) | (one.low != two.low)
    return result


def _unequal(old: Sequence[pa.Array], new: Sequence[pa.Array]) -> Marks:
    """Compare column by column.

    Texts are compared as bytes, NULL equals NULL, and numbers as digests see them.
    """
    marks = np.zeros(len(old[0]), np.bool_)
    for one, two in zip(map(plain, old), map(plain, new), strict=True):
        if one.null_count or two.null_count:
            missing, other = (pc.is_null(side).to_numpy(zero_copy_only=False) for side in (one, two))
            marks |= missing != other
        if pa.types.is_binary(one.type) or pa.types.is_large_binary(one.type):
            different = pc.not_equal(one, two)
            if different.null_count:
                different = pc.fill_null(different, False)
            marks |= different.to_numpy(zero_copy_only=False)
            continue
        for left, right in zip(fixed_words(one), fixed_words(two), strict=True):
            marks |= left != right
    return marks
