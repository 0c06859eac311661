"""Compare stage and replica in DuckDB, by ``key_id`` and digest, as `qbcd.sites.lake.engines.spark.diff` does in Spark.

The columns are those of that module. Functions with a database run queries in it; the others only compose one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pyarrow as pa

from qbcd.local.database import LocalDatabase
from qbcd.local.query import Query, derived, duckdb_type
from qbcd.model import Column, StreamPlan
from qbcd.model.wire import wire_type
from qbcd.sites.lake.engines.base import By, changed_only
from qbcd.sites.lake.engines.local.rows import (
    fetched,
    filtered,
    numbers,
    of_columns,
    of_keys,
    selected,
    stored_arrow,
    union,
    without,
    without_keys,
)
from qbcd.sites.lake.engines.local.spelling import spelled
from qbcd.sites.lake.replica.schema import IDENTITY, UNTRAVELLED
from qbcd.sql.render import literal

_EXPECTED = "shown = 1 AND settled = 1"  # rows of a stage of settled rows that the replica should have
_OTHER_DIGEST = "judged <> old_digest"
_HUGE = "INT128"  # exact sums of 64-bit digests


def sums(database: LocalDatabase, rows: Query, digest_column: str = "digest") -> dict[int, tuple[int, int | None]]:
    """Return by range_id (rows, exact sum of digests); the sum is None if a digest is missing."""
    counted = {
        "range_id": "range_id",
        "n": "COUNT(*)",
        "known": f"COUNT({digest_column})",
        "s": f"SUM({digest_column})",
    }
    found = fetched(database, selected(rows, counted, by=["range_id"]))
    return {i: (n, int(s) if n == known else None) for i, n, known, s in found}


def has_duplicates(database: LocalDatabase, stage: Query) -> bool:
    """Return True if a key occurs twice in the stage."""
    return bool(fetched(database, selected(stage, {"n": "1"}, by=["key_id"], having="COUNT(*) > 1", most=1)))


def untravelled(database: LocalDatabase, stage: Query) -> list[int]:
    """Return the positions of one row's columns with a value that no typed sink can hold.

    It is empty without such a row.
    """
    found = fetched(database, selected(stage, {UNTRAVELLED: UNTRAVELLED}, f"{UNTRAVELLED} <> ''", most=1))
    return [int(p) for p in found[0][0].split(",") if p] if found else []


def aligned(replica: Query, before: StreamPlan, plan: StreamPlan, stage: Query) -> Query:
    """Return rows with the columns of `before` as rows with the columns of `plan`; missing values are NULL.

    The types are those of `plan`, and so of its `stage`.
    """
    places = {c.name: i for i, c in enumerate(before.captured)}
    types = [duckdb_type(wire_type(c.travel)) for c in plan.captured]
    old = [f"c{places[c.name]}" if c.name in places else "NULL" for c in plan.captured]
    values = {f"c{i}": f"CAST({one} AS {kind})" for i, (one, kind) in enumerate(zip(old, types, strict=True))}
    return selected(replica, {**_same(*IDENTITY, "digest"), **values})


def differences(replica: Query, stage: Query, plan: StreamPlan, *, by: By, both: Sequence[int] | None = None) -> Query:
    """Return the net changes that turn `replica` into `stage`; ``net, weight`` is the growth of their range.

    Args:
        replica: Old rows of the ranges, with the values of all captured columns or of the key alone.
        stage: New rows of the same ranges; if they have ``old_digest``, it is compared with the replica's digest.
        plan: The captured columns.
        by: Compare values if digests are not comparable; either, since different rows may have equal digests.
        both: Positions of the columns to compare, among those that the replica has; default: all columns.
    """
    both = range(len(plan.captured)) if both is None else both
    if by != "digest" and plan.counted:
        replica, stage = (by_content(rows, plan, both) for rows in (replica, stage))
    judged = "old_digest" if "old_digest" in stage.columns else "digest"
    width, known = len(plan.captured), value_columns(replica)
    # A key is one row of the table in any range: ranges may have been rebuilt in between.
    values = {
        "op": "CASE WHEN s.key_id IS NULL THEN 'd' WHEN r.key_id IS NULL THEN 'c' ELSE 'u' END",
        **{c: f"COALESCE(s.{c}, r.{c})" for c in IDENTITY},
        "digest": "s.digest",
        "judged": f"s.{judged}",
        "old_digest": "r.digest",
        **{f"b_{i}": f"r.c{i}" if i < known else _null(f"s.c{i}") for i in range(width)},
        **{f"a_{i}": f"s.c{i}" for i in range(width)},
        "changed": _changed(plan, both) if known == width else "CAST(NULL AS TEXT)",
        "net": "CASE WHEN r.key_id IS NULL THEN 1 WHEN s.key_id IS NULL THEN -1 ELSE 0 END",
        "weight": f"CAST(COALESCE(s.digest, 0) AS {_HUGE}) - CAST(COALESCE(r.digest, 0) AS {_HUGE})",
    }
    # `changed` is NULL if the replica has no values
    shown = {"digest": _OTHER_DIGEST, "values": "changed <> ''", "either": f"{_OTHER_DIGEST} OR changed <> ''"}[by]
    late = judged if by == "digest" else ""
    return _pairs(replica, stage, values, f"op <> 'u' OR {shown}", late=late, hidden=("judged", "old_digest"))


def _pairs(
    replica: Query, stage: Query, values: Mapping[str, str], where: str, *, late: str, hidden: Sequence[str] = ()
) -> Query:
    """Return the pairs of old and new rows for which `where` holds.

    Args:
        replica: Old rows.
        stage: New rows.
        values: SQL of the columns, over old rows `r` and new rows `s`.
        where: The condition, over these columns.
        late: Column of the new rows; only rows with another one than the digest of their old row are read whole.
        hidden: Columns that only the condition needs.
    """
    names = [name for name in values if name not in hidden]
    inputs = {"replica": replica, "stage": stage}
    return derived("local_pairs", names, inputs, values=values, where=where, judged=late, hidden=hidden, ranges=False)


def changed_fingerprints(replica: Query, fingerprints: Query) -> Query:
    """Return the rows that differ between `replica` and `fingerprints`.

    Columns are ``range_id, key_id, digest, c0..cn, k0..kn``: digest and values of the replica, NULL for new rows, and
    the source's texts of the key, NULL for deleted rows.
    """
    texts = [c for c in fingerprints.columns if c[0] == "k" and c[1:].isdigit()]
    values = {
        **{c: f"COALESCE(s.{c}, r.{c})" for c in IDENTITY},
        **{c: f"r.{c}" for c in ("digest", *(f"c{i}" for i in range(value_columns(replica))))},
        **{c: f"s.{c}" for c in texts},
    }
    return _pairs(replica, fingerprints, values, "TRUE", late="digest")


def changed_keys(database: LocalDatabase, changed: Query, names: Sequence[str], most: int) -> list[tuple[str, ...]]:
    """Return the key's texts (columns `names`) of at most `most` changed rows of the source."""
    return fetched(database, selected(changed, _same(*names), "k0 IS NOT NULL", most=most))


def changed_pairs(changed: Query, rows: Query, names: Sequence[str], about: int) -> tuple[Query, Query]:
    """Return (stage, old rows) of changed rows, in the form for `differences`.

    Args:
        changed: Rows of `changed_fingerprints`.
        rows: New versions of those that exist, without their range.
        names: Columns of the key's texts.
        about: Approximate number of rows that differ; it makes no difference here.
    """
    stage = _joined(rows, of_columns(changed, IDENTITY), {"range_id": "others.range_id", **_of_rows(rows)})
    return stage, without(filtered(changed, "NOT digest IS NULL"), *names)


def window_differences(replica: Query, stage: Query, plan: StreamPlan, about: int) -> Query:
    """Return the changes of the rows in a window of timestamps; ``weight`` is the growth of the key checksum.

    Args:
        replica: Old rows of the ranges.
        stage: The rows of the window, with ``key_digest`` and ``shown``, which is 1 if the restriction holds.
        plan: The captured columns.
        about: Approximate number of rows in the window; it makes no difference here.
    """
    found = differences(of_keys(replica, stage), filtered(stage, "shown = 1"), plan, by="digest")
    values = {
        **_of_rows(without(found, "weight")),
        "reason": "CASE WHEN rows.op = 'd' THEN 'restriction_exit' END",
        "weight": f"rows.net * CAST(others.key_digest AS {_HUGE})",
    }
    return _joined(found, of_columns(stage, ["key_id", "key_digest"]), values)


def deleted(replica: Query, keys: Query) -> Query:
    """Return the rows of `replica` whose keys are not among `keys`, as changes of op d."""
    width = value_columns(replica)
    values = {
        "op": "'d'",
        "changed": "CAST(NULL AS TEXT)",
        **_same(*IDENTITY),
        "digest": _null("digest"),
        **{f"b_{i}": f"c{i}" for i in range(width)},
        **{f"a_{i}": _null(f"c{i}") for i in range(width)},
    }
    return selected(without_keys(replica, keys), values)


def baseline(stage: Query, width: int) -> Query:
    """Return the rows of a baseline as changes of op r."""
    values = {
        "op": "'r'",
        "changed": "CAST(NULL AS TEXT)",
        **_same(*IDENTITY, "digest"),
        **{f"b_{i}": _null(f"c{i}") for i in range(width)},
        **{f"a_{i}": f"c{i}" for i in range(width)},
    }
    return selected(stage, values)


def growth(database: LocalDatabase, changes: Query) -> dict[int, tuple[int, int]]:
    """Return by range_id (rows, sum of digests) by which a range grew."""
    grown = {"range_id": "range_id", "n": "SUM(net)", "s": "SUM(weight)"}
    return {i: (int(n), int(s)) for i, n, s in fetched(database, selected(changes, grown, by=["range_id"]))}


without_deletes = partial(filtered, where="op <> 'd'")
deletes = partial(filtered, where="op = 'd'")


def with_reason(changes: Query, reason: str, only: Sequence[int] = ()) -> Query:
    """Return the changes with a reason, which their events show.

    Args:
        changes: The changes.
        reason: The reason.
        only: The last positions, if only changes that differ in none but these have the reason.
    """
    value = f"CASE WHEN {changed_only(only)} THEN {literal(reason)} END" if only else literal(reason)
    return selected(changes, {**_same(*changes.columns), "reason": value})


def with_ranges_of(database: LocalDatabase, rows: Query, keys: Query, range_ids: Sequence[int]) -> Query:
    """Return those of `rows` whose keys have one of `range_ids` in `keys`, with that range id."""
    ids = in_ranges(database, of_columns(keys, IDENTITY), range_ids)
    return _joined(rows, ids, {**_of_rows(rows), "range_id": "others.range_id"})


def in_ranges(database: LocalDatabase, rows: Query, ids: Sequence[int]) -> Query:
    """Return the rows of some ranges; files are read only where they have ids between the least and the greatest."""
    listed = pa.table({"range_id": pa.array(ids, pa.int64())})
    return of_keys(rows, stored_arrow(database, listed), on=["range_id"])


def settled_differences(replica: Query, stage: Query, plan: StreamPlan, both: Sequence[int]) -> Query:
    """Return the changes between `replica` and a stage of settled rows, up to the watermark.

    Args:
        replica: Old rows of the ranges.
        stage: New rows, with ``shown``, 1 if the restriction holds, and ``settled``, 1 if before the watermark.
        plan: The captured columns.
        both: Positions of the columns to compare.
    """
    changes = differences(replica, filtered(stage, _EXPECTED), plan, by="either", both=both)
    return without_keys(changes, filtered(stage, "settled = 0"))


def settled_keys(replica: Query, stage: Query, digest_column: str) -> Query:
    """Return range id and digest of the keys that the replica has after `settled_differences`."""
    waiting = of_keys(filtered(stage, "settled = 0"), replica)
    columns = ("range_id", digest_column)
    return union([of_columns(stage, columns, _EXPECTED), of_columns(waiting, columns)])


def renumbered(database: LocalDatabase, rows: Query, ids: Mapping[int, int]) -> Query:
    """Return `rows` with range ids replaced by `ids`; other range ids stay."""
    if not ids:
        return rows
    moves = {"range_id": pa.array(ids, pa.int64()), "moved_to": pa.array(ids.values(), pa.int64())}
    moved = stored_arrow(database, pa.table(moves))
    values = {**_of_rows(rows), "range_id": "COALESCE(others.moved_to, rows.range_id)"}
    return _joined(rows, moved, values, on="range_id", join="LEFT")


def last_batches(database: LocalDatabase, batches: Query) -> dict[int, int]:
    """Return by range_id the last batch with changes of the range."""
    return dict(fetched(database, selected(batches, {"range_id": "range_id", "n": "MAX(batch_seq)"}, by=["range_id"])))


def listed(database: LocalDatabase, changes: Query, key: int, most: int) -> list[tuple[str, str]]:
    """Return (op, texts of the first `key` columns) of at most `most` changes, in Spark's spelling."""
    keys = {f"k{i}": f"COALESCE(a_{i}, b_{i})" for i in range(key)}
    found = database.connection.execute(selected(changes, {"op": "op", **keys}, most=most).sql)
    kinds = [str(kind) for _, kind, *_ in found.description[1:]]
    return [(op, ", ".join(map(spelled, values, kinds))) for op, *values in found.fetchall()]


def differing_ranges(database: LocalDatabase, replica: Query, fingerprints: Query) -> set[int]:
    """Return the ranges of rows that differ between `replica` and `fingerprints`, of which only digests are compared.

    Both have ``range_id, key_id, digest``. A key that has another range in `fingerprints` is no difference.
    """
    columns, inputs = ("key_id", "old_range", "new_range"), {"replica": replica, "stage": fingerprints}
    found = derived("local_different", columns, inputs, judged="digest", ranges=True)
    pairs = fetched(database, selected(found, _same(*columns[1:]), by=columns[1:]))
    return {one for pair in pairs for one in pair if one is not None}


def range_ids(database: LocalDatabase, changes: Query) -> set[int]:
    """Return the ranges that have changes."""
    return {i for (i,) in fetched(database, selected(changes, _same("range_id"), by=["range_id"]))}


def groups(database: LocalDatabase, changes: Query) -> dict[tuple[str, int], int]:
    """Return by (op, range_id) the number of changes."""
    counted = {**_same("op", "range_id"), "n": "COUNT(*)"}
    return {(op, i): n for op, i, n in fetched(database, selected(changes, counted, by=["op", "range_id"]))}


def value_columns(rows: Query) -> int:
    """Return the number of captured columns whose values a row of stage or replica has."""
    return sum(1 for c in rows.columns if c[0] == "c" and c[1:].isdigit())


def numbered(changes: Query, seq: int) -> Query:
    """Return the changes as batch rows, numbered from 0: deletes, then updates, then inserts."""
    images = [c for c in changes.columns if c[:2] in ("b_", "a_")]
    about = ("op", "reason", "pair_id", "ordinal", "changed")
    columns = (*about, *images, *IDENTITY, "digest", "batch_seq")
    inputs = {"changes": changes, "batch": numbers(batch_seq=seq)}
    return derived("local_batch", columns, inputs, images=images, has_reason="reason" in changes.columns)


def identified(rows: Query, plan: StreamPlan) -> Query:
    """Return rows of the source with `key_id`.

    If the key has columns, the source has computed it. For rows without a key it is the digest (8 bytes) and the number
    of the copy (8 bytes). For a result of one row, whose key has no columns, it is empty.
    """
    if plan.counted:
        return _copies(rows, "LPAD(HEX(digest), 16, '0')", "digest")
    return rows if plan.key else selected(rows, {**_same(*rows.columns), "key_id": "CAST('' AS BLOB)"})


def by_content(rows: Query, plan: StreamPlan, which: Sequence[int]) -> Query:
    """Return rows with a `key_id` made of their values, for digests that are not comparable, or equal by chance.

    Args:
        rows: Rows with wire values c0..cn.
        plan: The captured columns.
        which: Positions of the values to use.
    """
    values = ", ".join(f"{_comparable(plan.captured[i], f'c{i}')} AS c{i}" for i in which)
    return _copies(rows, "alike", f"SHA256(CAST(TO_JSON(STRUCT({values})) AS TEXT))")


def _copies(rows: Query, identity: str, alike: str) -> Query:
    columns = [c for c in rows.columns if c != "key_id"]
    return derived(
        "local_copies", (*columns, "key_id"), {"rows": rows}, columns=columns, identity=identity, alike=alike
    )


def paired(batch: Query, *, keys: int, width: int, epoch: int, seq: int) -> Query:
    """Return the batch with `reason` and `pair_id` for deletes and inserts that differ only by key.

    Args:
        batch: Numbered rows.
        keys: Number of key columns among the captured columns.
        width: Number of captured columns.
        epoch: The batch's epoch.
        seq: The batch's number.
    """
    if keys == width:
        return batch
    inputs = {"batch": batch, "pair": numbers(epoch=epoch, seq=seq)}
    return derived("local_paired", batch.columns, inputs, columns=batch.columns, positions=range(keys, width))


def _changed(plan: StreamPlan, both: Sequence[int]) -> str:
    """Return SQL for the positions of changed columns among `both`; NULL unless it is an update."""
    keys = len(plan.key)
    positions = [
        f"CASE WHEN {_comparable(c, f'r.c{i}')} IS DISTINCT FROM {_comparable(c, f's.c{i}')} THEN '{i},' ELSE '' END"
        for i, c in enumerate(plan.captured)
        if i in both and (i >= keys or c.comparison != "typed")
    ]
    listed = f"TRIM(BOTH ',' FROM {' || '.join(positions)})" if positions else "''"
    return f"CASE WHEN NOT s.key_id IS NULL AND NOT r.key_id IS NULL THEN {listed} END"


def _comparable(column: Column, value: str) -> str:
    """Return SQL for the wire value, without trailing zeros or a sign of zero that the type's equality ignores."""
    if column.travel.kind in ("float32", "float64"):
        return f"CASE WHEN {value} = 0 THEN ABS({value}) ELSE {value} END"
    if column.fact("zeros") == "loose" and column.travel.kind in ("text", "decimal"):
        return f"CASE WHEN CONTAINS({value}, '.') THEN REGEXP_REPLACE({value}, '[.]?0+$', '') ELSE {value} END"
    return value


def _joined(rows: Query, others: Query, values: Mapping[str, str], *, on: str = "key_id", join: str = "INNER") -> Query:
    """Return values of rows joined with `others`, which have one row per key."""
    return derived("local_joined", list(values), {"rows": rows, "others": others}, values=values, on=on, join=join)


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


def _of_rows(rows: Query) -> dict[str, str]:
    return {name: f"rows.{name}" for name in rows.columns}


def _null(value: str) -> str:
    """Return SQL for NULL with the type of `value`."""
    return f"CASE WHEN FALSE THEN {value} END"
