"""The replica's rows from its layers: base segments and later batches, latest per key."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import pyarrow as pa

from qbcd.local.database import LocalDatabase
from qbcd.local.query import Query, derived
from qbcd.model import KeyRange
from qbcd.ranges import leaves
from qbcd.ranges.recent_keys import leaf_of
from qbcd.sites.lake.engines.local.diff import in_ranges, value_columns
from qbcd.sites.lake.engines.local.rows import of_columns, selected, stored_arrow, union, without_keys
from qbcd.sites.lake.replica.schema import IDENTITY

_LEAVES = pa.schema([("range_id", pa.int64()), ("tail", pa.binary()), ("alone", pa.binary()), ("lost", pa.int64())])


def merged(
    database: LocalDatabase, base: Query, deltas: Query | None, asked: Sequence[KeyRange], *, one: bool = False
) -> Query:
    """Return the replica's rows in some ranges: base segments with later batches on top.

    Args:
        database: The database.
        base: The rows of these ranges in the segments.
        deltas: The rows of later batches, if there are any.
        asked: The ranges, or some of their leaves.
        one: There is one batch, so each key occurs once in it.
    """
    names = (*IDENTITY, "digest", *(f"c{i}" for i in range(value_columns(base))))
    rows, latest = of_columns(base, names), None if deltas is None else _named(deltas, names)
    if leaves.are_some(asked):
        some = leaves_of(database, asked)
        rows, latest = of_leaves(rows, some), None if latest is None else of_leaves(latest, some)
    elif latest is not None:
        latest = in_ranges(database, latest, [r.range_id for r in asked])
    if latest is None:
        return rows
    untouched = without_keys(rows, of_columns(latest, IDENTITY), on=IDENTITY)
    newest = latest if one else derived("local_newest", latest.columns, {"rows": latest})
    return union([untouched, of_columns(newest, names, "NOT gone")])


def _named(batches: Query, names: Sequence[str]) -> Query:
    """Return the new versions of changes, as rows with `names`; deleted rows have ``gone``."""
    values = {name: f"a_{name[1:]}" if name[0] == "c" and name[1:].isdigit() else name for name in names}
    return selected(batches, {**values, "gone": "op = 'd'", "batch_seq": "batch_seq"})


together = union


def leaves_of(database: LocalDatabase, asked: Sequence[KeyRange]) -> Query:
    """Store the requested leaves as rows (range_id, tail, alone, lost).

    `tail` is the last byte of the key identities in the leaf; an identity without bytes is in leaf 0 and has no tail.
    `alone` is the identity of the only requested key in the leaf, `lost` the digest of the only row; both are NULL if
    all rows of the leaf are requested.
    """
    ranges, tails = array("q"), bytearray()  # there may be a million whole leaves: no Python object for each
    others: list[tuple[int, bytes, bytes | None, int | None]] = []
    for one in asked:
        by_key = {leaf: [key] for leaf, key in ((one.only and one.only.alone) or {}).items()}
        for named in one.only.named if one.only else ():
            by_key.setdefault(leaf_of(named.identity), []).append(named.identity)
        lost = one.only.deleted_digest if one.only else None
        requested = list(leaves.tails(one))
        whole = bytes(leaf for leaf in requested if leaf not in by_key)
        others += ((one.range_id, key[-1:], key, None) for leaf in requested for key in by_key.get(leaf, ()))
        others += ((one.range_id, b"", None, lost) for leaf in whole[:1] if leaf == 0)
        if lost is None:
            ranges.extend([one.range_id] * len(whole))
            tails += whole
        else:
            others += ((one.range_id, bytes([leaf]), None, lost) for leaf in whole)
    columns = zip(*others, strict=True) if others else ([], [], [], [])
    few = pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, _LEAVES, strict=True)], schema=_LEAVES)
    return stored_arrow(database, pa.concat_tables([_whole(ranges, bytes(tails)), few]))


def _whole(ranges: array[int], tails: bytes) -> pa.Table:
    """Return rows of leaves that are requested whole, one for each byte of `tails`."""
    number = len(tails)
    ids = pa.Array.from_buffers(pa.int64(), number, [None, pa.py_buffer(ranges)])
    ends = pa.py_buffer(array("i", range(number + 1)))
    last = pa.Array.from_buffers(pa.binary(), number, [None, ends, pa.py_buffer(tails)])
    return pa.Table.from_arrays(
        [ids, last, pa.nulls(number, pa.binary()), pa.nulls(number, pa.int64())], schema=_LEAVES
    )


def of_leaves(rows: Query, some: Query) -> Query:
    """Return the rows that `some` leaves request; deleted rows have no digest, so none of them is a `lost` row."""
    return derived("local_of_leaves", rows.columns, {"rows": rows, "leaves": some})
