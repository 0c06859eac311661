"""Statements over hash buckets and page ranges, for the golden files in this folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from qbcd.connectors.base import Connector
from qbcd.connectors.sessions import SupportsSnapshots
from qbcd.model import KeyRange, NamedKey, RowSelection, Statement, StreamPlan
from qbcd.ranges import hash_buckets
from qbcd.strategies import IdRcs


def by_hash(strategy: IdRcs) -> Iterator[tuple[str, Statement]]:
    """Yield the statements of a stream whose ranges are hash buckets of the key."""
    counted = strategy.partitioning.bounds(2000)
    assert counted is not None
    every = hash_buckets.divided(2, first_id=3)
    mixed = [*hash_buckets.divided(3, first_id=7, within=every[0]), *every[1:]]
    yield "id_rcs by hash: rows", counted
    for i, statements in enumerate(strategy.partitioning.passes(mixed, 2), 1):
        for statement in statements:
            yield f"id_rcs by hash: checksums, connection {i}", statement
    for i, statements in enumerate(strategy.partitioning.totals(2) if strategy.partitioning.is_parted else [], 1):
        for statement in statements:
            yield f"id_rcs by hash: the whole table, connection {i}", statement
    yield "id_rcs by hash: checksums of the one range", strategy.partitioning.checksums([KeyRange(1, None, None)])
    yield "id_rcs by hash: images of one", strategy.images(mixed[1:2], typed=False)
    yield "id_rcs by hash: images of some", strategy.images([mixed[1], mixed[3]], typed=False)
    if not strategy.connector.supports(SupportsSnapshots):
        return
    for i, statement in enumerate(strategy.partitioning.shared(strategy.row_fingerprints, mixed, 2), 1):
        yield f"id_rcs by hash: keys and digests, reader {i}", statement
    yield "id_rcs by hash: checksums of ranges and leaves", strategy.partitioning.checksums(mixed, leaves=True)
    yield "id_rcs by hash: images of some leaves", strategy.images([mixed[1], in_leaves(mixed[3])], typed=False)
    yield "id_rcs by hash: keys of rows written since a mark", strategy.recent_keys(mixed, since="4294967400", most=100)
    images = partial(strategy.images, typed=False)
    some = [*mixed[:2], named(mixed[3], ("1",) * len(strategy.plan.key))]
    for i, statement in enumerate(strategy.partitioning.shared(images, some, 2), 1):
        yield f"id_rcs by hash: images of ranges, and of rows that were named, reader {i}", statement
    yield "id_rcs by hash: images by key", strategy.images_of([("1",) * len(strategy.plan.key)], typed=False)


def by_page(strategy: IdRcs) -> Iterator[tuple[str, Statement]]:
    """Yield the statements of a stream whose ranges are pages of the table."""
    counted = strategy.partitioning.bounds(2000)
    assert counted is not None
    every = [KeyRange(3, None, ("50",)), KeyRange(4, ("50",), ("100",)), KeyRange(5, ("100",), None)]
    yield "id_rcs by pages: rows and pages", counted
    for i, statements in enumerate(strategy.partitioning.passes(every, 2), 1):
        for statement in statements:
            yield f"id_rcs by pages: checksums, connection {i}", statement
    for i, statements in enumerate(strategy.partitioning.totals(2), 1):
        for statement in statements:
            yield f"id_rcs by pages: the whole table, connection {i}", statement
    yield "id_rcs by pages: images of some", strategy.images(every[1:], typed=False)


def in_leaves(one: KeyRange) -> KeyRange:
    """Return the range with its first and last leaf requested."""
    return replace(one, only=RowSelection(b"\x01" + bytes(30) + b"\x80", 2, 0))


def traced(one: KeyRange) -> KeyRange:
    """Return the range with a row of the first leaf and all of the last to look up."""
    return replace(one, only=RowSelection(b"\x01" + bytes(30) + b"\x80", 2, 0, {0: (1024).to_bytes(8, "big")}))


def named(one: KeyRange, *keys: tuple[str, ...]) -> KeyRange:
    """Return the range with the rows of `keys` to look up."""
    return replace(one, only=RowSelection(bytes(32), len(keys), 0, named=tuple(NamedKey(b"\x01", key) for key in keys)))


def without_key(connector: Connector, plan: StreamPlan) -> Iterator[tuple[str, Statement]]:
    """Yield the statements of a stream without a key."""
    bare = replace(plan, key=(), columns=plan.captured)
    alone = IdRcs(connector, IdRcs(connector, bare).freeze_options(None))
    yield "id_rcs without a key: checksums", alone.partitioning.checksums(hash_buckets.divided(1, first_id=1))
    yield "id_rcs without a key: images", alone.images(hash_buckets.divided(1, first_id=1)[:1], typed=False)
