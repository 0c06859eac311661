"""Operations on rows of the lake wing: comparisons, layers of the replica, batches.

Each is written once. They compose canonical SQL, which the engine of the rows spells in its dialect. Functions with an
engine run queries; the others compose one. The columns are those of `qbcd.sites.lake.engines.base`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from qbcd.local.arrays import int64s
from qbcd.model import Column, KeyRange, StreamPlan, Travel
from qbcd.model.wire import Fields, wire_type
from qbcd.ranges import leaves
from qbcd.sites.lake.engines.base import AnyRows, Engine, Rows
from qbcd.sites.lake.replica.schema import IDENTITY, UNTRAVELLED
from qbcd.sql.digest_sums import EXACT, summands, total
from qbcd.sql.render import literal

By = Literal["digest", "values", "either"]  # the part of two versions of a row that shows a change

FEW_ROWS = 200_000  # up to this number, one task compares rows, without exchange with other tasks
ONE_TASK_ROWS = 500_000  # up to this number, one task sorts and numbers rows, and each task of a join may get them all
_LIMITS: Mapping[str, Any] = {"having": "", "most": 0}
_EXPECTED = "shown = 1 AND settled = 1"  # rows of a stage of settled rows that the replica should have
_OTHER_DIGEST = "judged <> old_digest"
WEIGHT = "weight"  # prefix of the columns of changes by whose sums the checksum of a range grows


# -- shapes ------------------------------------------------------------------------------------------------------------
def selected(
    rows: AnyRows, values: Mapping[str, str], where: str = "", *, by: Sequence[str] = (), **more: Any
) -> AnyRows:
    """Return columns or aggregates of rows.

    Args:
        values: Canonical SQL of each column, by its name.
        where: Canonical SQL of a condition; default: all rows.
        by: Columns of groups.
        more: ``having``, a condition of groups; ``most``, a number of rows.
    """
    return rows.over(
        "lake_rows", list(values), {"rows": rows}, {}, values=values, where=where, by=by, **{**_LIMITS, **more}
    )


def of_columns(rows: AnyRows, names: Sequence[str], where: str = "") -> AnyRows:
    """Return the columns `names` of the rows for which `where` holds."""
    return rows if tuple(names) == rows.columns and not where else selected(rows, {n: n for n in names}, where)


def filtered(rows: AnyRows, where: str) -> AnyRows:
    """Return the rows for which `where` holds."""
    return of_columns(rows, rows.columns, where)


def without(rows: AnyRows, *names: str) -> AnyRows:
    """Return the rows without some columns."""
    return of_columns(rows, [c for c in rows.columns if c not in names])


def cast_to(rows: AnyRows, fields: Fields) -> AnyRows:
    """Return rows with these fields."""
    return selected(rows, {name: f"CAST({name} AS {kind})" for name, kind in fields})


def no_rows(engine: Engine, fields: Fields) -> Rows:
    """Return no rows, with these fields."""
    nothing = {name: f"CAST(NULL AS {kind})" for name, kind in fields}
    import pyarrow as pa

    return selected(engine.table(pa.table({"nothing": int64s([0])})), nothing, "FALSE")


def of_keys(rows: AnyRows, others: AnyRows, on: Sequence[str] = ("key_id",)) -> AnyRows:
    """Return those of `rows` whose key is among the keys of `others`."""
    return rows.over("lake_of_keys", rows.columns, {"rows": rows, "others": others}, {}, join="SEMI", on=on)


def without_keys(rows: AnyRows, others: AnyRows, on: Sequence[str] = ("key_id",)) -> AnyRows:
    """Return those of `rows` whose key is not among the keys of `others`."""
    return rows.over("lake_of_keys", rows.columns, {"rows": rows, "others": others}, {}, join="ANTI", on=on)


def union(parts: Sequence[AnyRows]) -> AnyRows:
    """Return the rows of all `parts` (at least one), which have the same columns."""
    if len(parts) == 1:
        return parts[0]
    inputs = {f"part_{i}": part for i, part in enumerate(parts)}
    return parts[0].over("lake_union", parts[0].columns, inputs, {}, parts=list(inputs), columns=parts[0].columns)


def together(parts: Sequence[AnyRows], *, alone: bool = False) -> AnyRows:
    """Return the rows of all parts (at least one), for one task if `alone`."""
    rows = union(parts)
    return rows.hinted("one task") if alone and parts[1:] else rows


def gathered(rows: AnyRows, about: int) -> AnyRows:
    """Return about `about` rows, for one task if they are few, so that nothing is shuffled."""
    return rows.hinted("one task") if about <= FEW_ROWS else rows


def for_one_join(rows: AnyRows) -> AnyRows:
    """Return rows for one task that joins them in memory, while all readers run in parallel."""
    return rows.hinted("collected").hinted("hash")


def _shared(rows: AnyRows, about: int) -> AnyRows:
    """Return about `about` rows for joins; each task gets all of them, unless they are many."""
    return rows.hinted("broadcast") if about <= ONE_TASK_ROWS else rows


def _joined(
    rows: AnyRows, others: AnyRows, values: Mapping[str, str], *, on: str = "key_id", join: str = "INNER"
) -> AnyRows:
    """Return values of rows joined with `others`, which have one row per key."""
    return rows.over("lake_joined", list(values), {"rows": rows, "others": others}, {}, values=values, on=on, join=join)


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


def _of_rows(rows: AnyRows) -> dict[str, str]:
    return {name: f"rows.{name}" for name in rows.columns}


def _null(value: str) -> str:
    """Return SQL for NULL with the type of `value`."""
    return f"CASE WHEN FALSE THEN {value} END"


def value_columns(rows: AnyRows) -> int:
    """Return the number of captured columns whose values a row of stage or replica has."""
    return sum(1 for c in rows.columns if c[0] == "c" and c[1:].isdigit())


# -- a stage -----------------------------------------------------------------------------------------------------------
def sums(
    engine: Engine, rows: AnyRows, digest_column: str = "digest", *, wide: bool = False
) -> dict[int, tuple[int, int | None]]:
    """Return by range_id (rows, exact sum of digests); the sum is None if a digest is missing."""
    counted = {
        "range_id": "range_id",
        "n": "COUNT(*)",
        "known": f"COUNT({digest_column})",
        **{f"s{i}": f"SUM({part})" for i, part in enumerate(summands(digest_column, wide=wide))},
    }
    found = engine.run(selected(rows, counted, by=["range_id"]))
    return {i: (n, total(parts) if n == known else None) for i, n, known, *parts in found}


def has_duplicates(engine: Engine, stage: AnyRows) -> bool:
    """Return True if a key occurs twice in the stage."""
    return bool(engine.run(selected(stage, {"n": "1"}, by=["key_id"], having="COUNT(*) > 1", most=1)))


def repeated_key(engine: Engine, stage: AnyRows, keys: int) -> tuple[tuple[str, ...], int] | None:
    """Return the texts of a key that occurs more than once, and the number of its rows.

    Return None if all keys are unique.

    Args:
        keys: Number of key columns among the captured columns.
    """
    if not has_duplicates(engine, stage):
        return None
    # a second query, as the identities alone need least memory
    texts = {f"k{i}": f"MIN(c{i})" for i in range(keys)}
    found = selected(stage, {**texts, "n": "COUNT(*)"}, by=["key_id"], having="COUNT(*) > 1", most=1)
    [(*named, number)] = engine.texts(found)
    return tuple(named), int(number)


def untravelled(engine: Engine, stage: AnyRows) -> list[int]:
    """Return the positions of one row's values that no typed sink can hold.

    The list is empty if there is no such row.
    """
    found = engine.run(selected(stage, _same(UNTRAVELLED), f"{UNTRAVELLED} <> ''", most=1))
    return [int(p) for (positions,) in found for p in positions.split(",") if p]


def one_row(engine: Engine, rows: AnyRows, columns: Sequence[str], where: str) -> tuple[Any, ...] | None:
    """Return these columns of one row for which a condition holds; None without one."""
    found = engine.run(selected(rows, {f"v{i}": name for i, name in enumerate(columns)}, where, most=1))
    return found[0] if found else None


def aligned(replica: AnyRows, before: StreamPlan, plan: StreamPlan) -> AnyRows:
    """Return rows with the columns of `before` as rows with the columns of `plan`.

    Missing values are NULL.
    """
    places = {c.name: i for i, c in enumerate(before.captured)}
    values = {
        f"c{i}": f"CAST({f'c{places[c.name]}' if c.name in places else 'NULL'} AS {wire_type(c.travel)})"
        for i, c in enumerate(plan.captured)
    }
    return selected(replica, {**_same(*IDENTITY, "digest"), **values})


def identified(rows: AnyRows, plan: StreamPlan) -> AnyRows:
    """Return rows of the source with `key_id`.

    If the key has columns, the source has computed it. For rows without a key it is the digest (8 bytes) and the number
    of the copy (8 bytes). For a result of one row, whose key has no columns, it is empty.
    """
    if plan.counted:
        return _copies(rows, "LPAD(HEX(digest), 16, '0')", "digest")
    return rows if plan.key else selected(rows, {**_same(*rows.columns), "key_id": "CAST('' AS BLOB)"})


def _by_content(rows: AnyRows, plan: StreamPlan, which: Sequence[int]) -> AnyRows:
    """Return rows with a `key_id` made of their values.

    Such a `key_id` serves where digests are not comparable, or equal by chance.

    Args:
        rows: Rows with wire values c0..cn.
        which: Positions of the values to use.
    """
    return _copies(rows, "alike", _content(comparable(plan.captured[i], f"c{i}") for i in which))


def _copies(rows: AnyRows, identity: str, alike: str) -> AnyRows:
    columns = [c for c in rows.columns if c != "key_id"]
    return rows.over(
        "lake_copies", (*columns, "key_id"), {"rows": rows}, {}, columns=columns, identity=identity, alike=alike
    )


def _content(values: Any) -> str:
    """Return SQL of the hash of values, in hexadecimal digits."""
    return f"QBCD_CONTENT({', '.join(values)})"


# -- comparisons -------------------------------------------------------------------------------------------------------
def differences(
    replica: AnyRows, stage: AnyRows, plan: StreamPlan, *, by: By, both: Sequence[int] | None = None
) -> AnyRows:
    """Return the net changes that turn `replica` into `stage`.

    The columns ``net, weight0..`` are the growth of their range.

    Args:
        replica: Old rows of the ranges, with the values of all captured columns or of the key alone.
        stage: New rows of the same ranges; if they have ``old_digest``, it is compared with the replica's digest.
        by: Compare values if digests are not comparable; either, since different rows may have equal digests.
        both: Positions of the columns to compare, among those that the replica has; default: all columns.
    """
    both = range(len(plan.captured)) if both is None else both
    if by != "digest" and plan.counted:
        replica, stage = (_by_content(rows, plan, both) for rows in (replica, stage))
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
        **{
            f"{WEIGHT}{i}": f"COALESCE({new}, 0) - COALESCE({old}, 0)"
            for i, (new, old) in enumerate(zip(*(summands(f"{of}.digest", wide=plan.wide) for of in "sr"), strict=True))
        },
    }
    # `changed` is NULL if the replica has no values
    shown = {"digest": _OTHER_DIGEST, "values": "changed <> ''", "either": f"{_OTHER_DIGEST} OR changed <> ''"}[by]
    late = judged if by == "digest" else ""
    return _pairs(replica, stage, values, f"op <> 'u' OR {shown}", late=late, hidden=("judged", "old_digest"))


def without_values(rows: AnyRows, plan: StreamPlan, both: Sequence[int]) -> AnyRows:
    """Return the rows of the plan `fingerprinted`: few bytes for a join of all rows.

    They have the key, and two fingerprints of 64 bits of the columns `both`. Equal values have equal fingerprints.
    """
    keys = len(plan.key)
    compared = ", ".join(comparable(c, f"c{i}") for i, c in _judged(plan, both)) or "NULL"
    prints = {f"c{keys + i}": f"QBCD_FINGERPRINT({i}, {compared})" for i in range(2)}
    return selected(rows, {**_same(*IDENTITY, "digest", *(f"c{i}" for i in range(keys))), **prints})


def fingerprinted(plan: StreamPlan) -> StreamPlan:
    """Return the plan of a stream with the key and two fingerprints."""
    prints = (Column(f"fingerprint{i}", "bigint", "bigint", False, "", "typed", Travel("int64")) for i in range(2))
    return replace(plan, columns=tuple(prints))


def _pairs(
    replica: AnyRows, stage: AnyRows, values: Mapping[str, str], where: str, *, late: str, hidden: Sequence[str] = ()
) -> AnyRows:
    """Return the pairs of old and new rows for which `where` holds.

    Args:
        replica: Old rows.
        stage: New rows.
        values: SQL of the columns, over old rows `r` and new rows `s`.
        where: The condition, over these columns.
        late: Column of the new rows; only rows with another one than the digest of their old row are needed whole.
        hidden: Columns that only the condition needs.
    """
    names = [name for name in values if name not in hidden]
    inputs = {"replica": replica, "stage": stage}
    context = {"values": values, "where": where, "hidden": hidden, "judged": late if replica.judges_first else ""}
    return replica.over("lake_pairs", names, inputs, {}, ranges=False, **context)


def _changed(plan: StreamPlan, both: Sequence[int]) -> str:
    """Return SQL for the positions of changed columns among `both`; NULL unless it is an update."""
    positions = [
        f"CASE WHEN {comparable(c, f'r.c{i}')} IS DISTINCT FROM {comparable(c, f's.c{i}')} THEN '{i},' ELSE '' END"
        for i, c in _judged(plan, both)
    ]
    listed = f"TRIM(BOTH ',' FROM {_concatenated(positions)})" if positions else "''"
    return f"CASE WHEN NOT s.key_id IS NULL AND NOT r.key_id IS NULL THEN {listed} END"


def _concatenated(texts: Sequence[str]) -> str:
    """Return SQL for the texts one after the other, as a balanced tree.

    DuckDB nests expressions at most 1,000 deep, and tables may have more columns.
    """
    half = len(texts) // 2
    return f"({_concatenated(texts[:half])} || {_concatenated(texts[half:])})" if half else texts[0]


def _judged(plan: StreamPlan, both: Sequence[int]) -> list[tuple[int, Column]]:
    """Return those of `both` whose values can differ although the key is equal."""
    keys = len(plan.key)
    return [(i, c) for i, c in enumerate(plan.captured) if i in both and (i >= keys or c.comparison != "typed")]


def comparable(column: Column, value: str) -> str:
    """Return SQL for the wire value without differences that the type's equality ignores.

    These are trailing zeros, and a sign of zero.
    """
    if column.travel.kind in ("float32", "float64"):
        return f"CASE WHEN {value} = 0 THEN ABS({value}) ELSE {value} END"
    if column.fact("zeros") == "loose" and column.travel.kind in ("text", "decimal"):
        return f"CASE WHEN CONTAINS({value}, '.') THEN REGEXP_REPLACE({value}, '[.]?0+$', '') ELSE {value} END"
    return value


def changed_fingerprints(replica: AnyRows, fingerprints: AnyRows) -> AnyRows:
    """Return the rows that differ between `replica` and `fingerprints`, both of one task.

    Columns are ``range_id, key_id, digest, c0..cn, k0..kn``: digest and values of the replica, NULL for new rows, and
    the source's texts of the key, NULL for deleted rows.
    """
    texts = [c for c in fingerprints.columns if c[0] == "k" and c[1:].isdigit()]
    values = {
        **{c: f"COALESCE(s.{c}, r.{c})" for c in IDENTITY},
        **{c: f"r.{c}" for c in ("digest", *(f"c{i}" for i in range(value_columns(replica))))},
        **{c: f"s.{c}" for c in texts},
        "old_key": "r.key_id",
        "new_key": "s.key_id",
        "new_digest": "s.digest",
    }
    where = "old_key IS NULL OR new_key IS NULL OR digest <> new_digest"
    hidden = ("old_key", "new_key", "new_digest")
    return _pairs(replica, fingerprints.hinted("hash"), values, where, late="digest", hidden=hidden)


def changed_keys(engine: Engine, changed: AnyRows, names: Sequence[str], most: int) -> list[tuple[str, ...]]:
    """Return the key's texts (columns `names`) of at most `most` changed rows of the source."""
    return engine.run(selected(changed, _same(*names), "k0 IS NOT NULL", most=most))


def changed_pairs(changed: AnyRows, rows: AnyRows, names: Sequence[str], about: int) -> tuple[AnyRows, AnyRows]:
    """Return (stage, old rows) of changed rows, in the form for `differences`.

    Args:
        changed: Rows of `changed_fingerprints`.
        rows: New versions of those that exist, without their range.
        names: Columns of the key's texts.
        about: Approximate number of rows that differ.
    """
    both = gathered(changed, about)
    ids = _shared(of_columns(both, IDENTITY), about)
    stage = _joined(rows, ids, {"range_id": "others.range_id", **_of_rows(rows)})
    return gathered(stage, about), without(filtered(both, "NOT digest IS NULL"), *names)


def window_differences(replica: AnyRows, stage: AnyRows, plan: StreamPlan, about: int) -> AnyRows:
    """Return the changes of the rows in a window of timestamps.

    The column ``weight0`` is the growth of the key checksum.

    Args:
        replica: Old rows of the ranges.
        stage: The rows of the window, with ``key_digest`` and ``shown``, which is 1 if the restriction holds.
        about: Approximate number of rows in the window.
    """
    keys = _shared(of_columns(stage, ["key_id", "key_digest"]), about)
    found = differences(of_keys(replica, keys), filtered(stage, "shown = 1"), plan, by="digest")
    values = {
        **_of_rows(without(found, f"{WEIGHT}0")),
        "reason": "CASE WHEN rows.op = 'd' THEN 'restriction_exit' END",
        f"{WEIGHT}0": f"rows.net * CAST(others.key_digest AS {EXACT})",
    }
    return _joined(found, keys, values)


def settled_differences(replica: AnyRows, stage: AnyRows, plan: StreamPlan, both: Sequence[int]) -> AnyRows:
    """Return the changes between `replica` and a stage of settled rows, up to the watermark.

    Args:
        replica: Old rows of the ranges.
        stage: New rows, with ``shown``, 1 if the restriction holds, and ``settled``, 1 if before the watermark.
        both: Positions of the columns to compare.
    """
    changes = differences(replica, filtered(stage, _EXPECTED), plan, by="either", both=both)
    return without_keys(changes, filtered(stage, "settled = 0"))


def settled_keys(replica: AnyRows, stage: AnyRows, digest_column: str) -> AnyRows:
    """Return range id and digest of the keys that the replica has after `settled_differences`."""
    waiting = of_keys(filtered(stage, "settled = 0"), replica)
    columns = ("range_id", digest_column)
    return union([of_columns(stage, columns, _EXPECTED), of_columns(waiting, columns)])


def differing_ranges(engine: Engine, replica: AnyRows, fingerprints: AnyRows) -> set[int]:
    """Return the ranges of rows that differ between `replica` and `fingerprints`.

    Both have ``range_id, key_id, digest``; only digests are compared. A key that has another range in `fingerprints` is
    no difference.
    """
    columns, inputs = ("key_id", "old_range", "new_range"), {"replica": replica, "stage": fingerprints}
    found = replica.over("lake_different", columns, inputs, {}, judged="digest", ranges=True)
    pairs = engine.run(selected(found, _same(*columns[1:]), by=columns[1:]))
    return {one for pair in pairs for one in pair if one is not None}


def deleted(replica: AnyRows, keys: AnyRows) -> AnyRows:
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


def baseline(stage: AnyRows, width: int) -> AnyRows:
    """Return the rows of a baseline as changes of op r."""
    values = {
        "op": "'r'",
        "changed": "CAST(NULL AS TEXT)",
        **_same(*IDENTITY, "digest"),
        **{f"b_{i}": _null(f"c{i}") for i in range(width)},
        **{f"a_{i}": f"c{i}" for i in range(width)},
    }
    return selected(stage, values)


def by_key(changes: AnyRows) -> AnyRows:
    """Return changes whose order in a batch follows from their keys alone.

    Their ranges are replaced, since those of the replica can change without a batch.
    """
    return selected(changes, {**_same(*changes.columns), "range_id": "QBCD_LEAF(key_id)"})


# -- changes -----------------------------------------------------------------------------------------------------------
without_deletes = partial(filtered, where="op <> 'd'")
deletes = partial(filtered, where="op = 'd'")


def with_reason(changes: AnyRows, reason: str, only: Sequence[int] = ()) -> AnyRows:
    """Return the changes with a reason, which their events show.

    Args:
        only: The last positions, if only changes that differ in none but these have the reason.
    """
    # `changed` lists positions in order, so the first one shows it
    last = " OR ".join(f"changed = '{p}' OR changed LIKE '{p},%'" for p in only)
    value = f"CASE WHEN {last} THEN {literal(reason)} END" if only else literal(reason)
    return selected(changes, {**_same(*changes.columns), "reason": value})


def with_ranges_of(engine: Engine, rows: Rows, keys: Rows, range_ids: Sequence[int]) -> Rows:
    """Return those of `rows` whose keys have one of `range_ids` in `keys`, with that range id."""
    ids = engine.in_ranges(of_columns(keys, IDENTITY), range_ids)
    return _joined(rows, ids, {**_of_rows(rows), "range_id": "others.range_id"})


def batch_rows(changes: AnyRows, seq: int, ordinal: str) -> AnyRows:
    """Return changes as rows of a batch.

    Args:
        ordinal: SQL of the number of a row, in the order of `RANK`.
    """
    images = [c for c in changes.columns if c[:2] in ("b_", "a_")]
    about = ("op", "reason", "pair_id", "ordinal", "changed")
    columns = (*about, *images, *IDENTITY, "digest", "batch_seq")
    has_reason = "reason" in changes.columns
    context = {"images": images, "has_reason": has_reason, "ordinal": ordinal}
    return changes.over("lake_batch", columns, {"changes": changes}, {"seq": seq}, **context)


RANK = "CASE op WHEN 'd' THEN 0 WHEN 'u' THEN 1 WHEN 'c' THEN 2 ELSE 3 END"


def paired(batch: AnyRows, *, keys: int, width: int, epoch: int, seq: int) -> AnyRows:
    """Return the batch with `reason` and `pair_id` for changes of keys.

    These are deletes and inserts that differ only by key.

    Args:
        batch: Numbered rows.
        keys: Number of key columns among the captured columns.
        width: Number of captured columns.
    """
    if keys == width:
        return batch
    content = {side: _content(f"{side}_{i}" for i in range(keys, width)) for side in "ba"}
    numbers = {"epoch": epoch, "seq": seq}
    return batch.over("lake_paired", batch.columns, {"batch": batch}, numbers, columns=batch.columns, content=content)


# -- results -----------------------------------------------------------------------------------------------------------
def groups(engine: Engine, changes: AnyRows) -> dict[tuple[str, int], int]:
    """Return by (op, range_id) the number of changes."""
    counted = {**_same("op", "range_id"), "n": "COUNT(*)"}
    return {(op, i): n for op, i, n in engine.run(selected(changes, counted, by=["op", "range_id"]))}


def growth(engine: Engine, changes: AnyRows) -> dict[int, tuple[int, int]]:
    """Return by range_id (rows, sum of digests) by which a range grew."""
    weights = {name: f"SUM({name})" for name in changes.columns if name.startswith(WEIGHT)}
    found = {"range_id": "range_id", "n": "SUM(net)", **weights}
    return {i: (int(n), total(parts)) for i, n, *parts in engine.run(selected(changes, found, by=["range_id"]))}


def range_ids(engine: Engine, changes: AnyRows) -> set[int]:
    """Return the ranges that have changes."""
    return {i for (i,) in engine.run(selected(changes, _same("range_id"), by=["range_id"]))}


def last_batches(engine: Engine, batches: AnyRows) -> dict[int, int]:
    """Return by range_id the last batch with changes of the range."""
    found = selected(batches, {"range_id": "range_id", "n": "MAX(batch_seq)"}, by=["range_id"])
    return dict(engine.run(found))


def listed(engine: Engine, changes: AnyRows, key: int, most: int) -> list[tuple[str, str]]:
    """Return (op, texts of the first `key` columns) of at most `most` changes."""
    keys = {f"k{i}": f"COALESCE(a_{i}, b_{i})" for i in range(key)}
    found = engine.texts(selected(changes, {"op": "op", **keys}, most=most))
    return [(op, ", ".join(values)) for op, *values in found]


# -- the replica -------------------------------------------------------------------------------------------------------
def renumbered(engine: Engine, rows: Rows, ids: Mapping[int, int]) -> Rows:
    """Return `rows` with range ids replaced by `ids`; other range ids stay."""
    if not ids:
        return rows
    import pyarrow as pa

    moves = {"range_id": int64s(ids), "moved_to": int64s(ids.values())}
    moved = engine.table(pa.table(moves)).hinted("broadcast")
    values = {**_of_rows(rows), "range_id": "COALESCE(others.moved_to, rows.range_id)"}
    return _joined(rows, moved, values, on="range_id", join="LEFT")


@dataclass(frozen=True)
class Layers:
    """The rows of batches on top of a segment.

    Attributes:
        number: Number of rows in the batches.
        one: There is one batch, so each key occurs once in it.
    """

    rows: Rows
    number: int
    one: bool


def merged(
    engine: Engine, base: Rows, layers: Layers | None, asked: Sequence[KeyRange], *, alone: bool = False
) -> Rows:
    """Return the replica's rows in some ranges: base segments with later batches on top.

    Args:
        base: The rows of these ranges in the segments.
        layers: The later batches, if there are any.
        asked: The ranges, or some of their leaves.
        alone: One task gets all rows, even if they are many.
    """
    about = sum(r.asked[0] for r in asked)
    alone = alone or about <= FEW_ROWS
    names = (*IDENTITY, "digest", *(f"c{i}" for i in range(value_columns(base))))
    rows, latest = of_columns(base, names), None if layers is None else _named(layers.rows, names)
    if leaves.are_some(asked):
        some = engine.leaves(asked)
        rows, latest = _of_leaves(rows, some), None if latest is None else _of_leaves(latest, some)
        task = "collected"  # all tasks scan many rows for these few
    else:
        latest = None if latest is None else engine.in_ranges(latest, [r.range_id for r in asked])
        task = "one task"
    if alone:
        rows, latest = rows.hinted(task), None if latest is None else latest.hinted(task)
    if latest is None or layers is None:
        return rows
    if not alone:
        latest = gathered(latest, min(about, layers.number))
    # a join that is no broadcast would be planned below the hint for one task, with an exchange of all rows
    untouched = without_keys(rows, _shared(of_columns(latest, IDENTITY), layers.number), on=IDENTITY)
    newest = latest if layers.one else latest.over("lake_newest", latest.columns, {"rows": latest}, {})
    return together([untouched, of_columns(newest, names, "NOT gone")], alone=alone)


def _named(batches: AnyRows, names: Sequence[str]) -> AnyRows:
    """Return the new versions of changes, as rows with `names`; deleted rows have ``gone``."""
    values = {name: f"a_{name[1:]}" if name[0] == "c" and name[1:].isdigit() else name for name in names}
    return selected(batches, {**values, "gone": "op = 'd'", "batch_seq": "batch_seq"})


def _of_leaves(rows: AnyRows, some: AnyRows) -> AnyRows:
    """Return the rows that `some` leaves request.

    Deleted rows have no digest, so none of them is a `lost` row.
    """
    return rows.over("lake_of_leaves", rows.columns, {"rows": rows, "leaves": some}, {})
