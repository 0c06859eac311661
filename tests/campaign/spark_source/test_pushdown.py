"""Conditions that Spark pushes into a read, over all operators and types, with NULLs.

Batches have other columns and types than the read: an integer became larger, columns came later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", minversion="4.1", reason="Spark 4.0 pushes no conditions into a source in Python")
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from qbcd.spark_source.executor import read_rows
from qbcd.spark_source.options import options_of
from qbcd.spark_source.planned import load, plan_batch
from tests.support.scene import STREAM
from tests.support.spark_reads import ADDED, SparkScene, comparable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.campaign
SWITCH = "spark.sql.python.filterPushdown.enabled"
TABLE = """
CREATE TABLE t (id bigint PRIMARY KEY, small smallint, grown integer, word varchar(40), money numeric(12,2), day date,
  at timestamptz, moment timestamp, flag boolean, ratio double precision, raw bytea, words text[])
"""
VALUES = (
    "(1, 1, 1, 'a', 1.50, '2026-01-01', '2026-01-01 00:00+00', '2026-01-01', true, 'NaN', '\\x00', '{a}')",
    "(2, -32768, 2147483647, 'A ', -0.01, '0001-01-01', '1969-12-31 23:59:59.999999+00', NULL, false, 0, NULL, '{}')",
    "(3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    "(4, 32767, -1, '', 0, '9999-12-31', '2026-03-29 01:30+00', '2026-03-29 02:30', true, '-0', '', NULL)",
    "(5, 0, 10, '10', 10, '2026-11-28', '2026-11-28 12:00+00', '2026-11-28 12:00', NULL, 'Infinity', '\\xff', '{b}')",
    "(6, 9, 9, 'it''s % _ \\ \"😀', 9, '2026-11-29', NULL, NULL, false, -1.5, '\\x27', '{a,b}')",
)
Case = tuple[str, Filter]  # the end of a condition in SQL, and the filter that Spark pushes for it
NULLS = (("IS NULL", IsNull(())), ("IS NOT NULL", IsNotNull(())))
NUMBERS: tuple[Case, ...] = (
    ("= 9", EqualTo((), 9)),
    ("<=> 9", EqualNullSafe((), 9)),
    ("<=> NULL", EqualNullSafe((), None)),
    ("<> 9", Not(EqualTo((), 9))),
    ("> 9", GreaterThan((), 9)),
    (">= 9", GreaterThanOrEqual((), 9)),
    ("< 9", LessThan((), 9)),
    ("<= 9", LessThanOrEqual((), 9)),
    ("> 40000", GreaterThan((), 40_000)),
    ("= 2147483648", EqualTo((), 2_147_483_648)),
    ("< 3000000000", LessThan((), 3_000_000_000)),
    ("IN (9, 1, 40000)", In((), (9, 1, 40_000))),
    ("IN (9, NULL)", In((), (9, None))),
    ("NOT IN (9, 1)", Not(In((), (9, 1)))),
    *NULLS,
)
ODD = "it's % _ \\ \"😀"
QUOTED = "'it\\'s % _ \\\\ \"😀'"
TEXTS: tuple[Case, ...] = (
    ("= 'a'", EqualTo((), "a")),
    ("= 'a '", EqualTo((), "a ")),
    (f"= {QUOTED}", EqualTo((), ODD)),
    ("<=> NULL", EqualNullSafe((), None)),
    ("<> 'a'", Not(EqualTo((), "a"))),
    ("> 'A'", GreaterThan((), "A")),
    (f">= {QUOTED}", GreaterThanOrEqual((), ODD)),
    ("< 'a'", LessThan((), "a")),
    ("<= ''", LessThanOrEqual((), "")),
    ("= '10'", EqualTo((), "10")),
    (f"IN ('a', '', {QUOTED})", In((), ("a", "", ODD))),
    ("IN ('a', NULL)", In((), ("a", None))),
    ("NOT IN ('a', '')", Not(In((), ("a", "")))),
    ("LIKE 'it%'", StringStartsWith((), "it")),
    ("LIKE '%😀'", StringEndsWith((), "😀")),
    ("LIKE '%s%'", StringContains((), "s")),
    ("= 'a\\u0000b'", EqualTo((), "a\0b")),
    *NULLS,
)
VERSIONS: tuple[Case, ...] = (
    ("= 2", EqualTo((), 2)),
    ("> 1", GreaterThan((), 1)),
    (">= 2", GreaterThanOrEqual((), 2)),
    ("< 2", LessThan((), 2)),
    ("<= 2", LessThanOrEqual((), 2)),
    ("IN (1, 3, 99)", In((), (1, 3, 99))),
    ("IN (NULL, 3)", In((), (None, 3))),
    ("<=> 2", EqualNullSafe((), 2)),
    ("<> 2", Not(EqualTo((), 2))),
    *NULLS,
)
CASES = (
    *((name, *one) for name in ("id", "small", "grown", "added") for one in NUMBERS),
    *((name, *one) for name in ("word", "late", "_change_type") for one in TEXTS),
    *((name, *one) for name in ("money", "day", "at", "moment", "flag", "ratio", "raw", "words") for one in NULLS),
    *(("_commit_version", *one) for one in VERSIONS),
    ("_change_type", "= 'insert'", EqualTo((), "insert")),
    ("_change_type", "> 'insert'", GreaterThan((), "insert")),
    ("_change_type", "IN ('delete', 'update_preimage')", In((), ("delete", "update_preimage"))),
    ("money", "= 1.5", EqualTo((), Decimal("1.50"))),
    ("day", ">= DATE'2026-11-28'", GreaterThanOrEqual((), date(2026, 11, 28))),
    ("flag", "= true", EqualTo((), True)),
    ("ratio", "= 0", EqualTo((), 0.0)),
    ("raw", "= X'ff'", EqualTo((), b"\xff")),
)
# Of these Spark makes the filters.
CONDITIONS = (
    "id = 9",
    "small > 8 AND small IS NOT NULL",
    "grown <=> 9",
    "grown >= 2147483647",
    "grown IN (9, 2147483648)",
    "added < 9",
    "added IS NULL",
    "id <= 2 AND NOT (word = 'a')",
    "word IN ('a', '10')",
    f"late <= '' OR word = {QUOTED}",
    "word LIKE 'it%'",
    "word > 'A' AND length(word) = 1",
    "money BETWEEN 0 AND 10",
    "day IN (DATE'0001-01-01', DATE'9999-12-31')",
    "at < TIMESTAMP'2026-01-01 00:00:00Z'",
    "moment = TIMESTAMP_NTZ'2026-03-29 02:30:00'",
    "NOT flag",
    "ratio = 'NaN'",
    "words = array('a')",
    "_change_type <> 'insert' AND grown = 9",
    "_change_type IN ('delete', 'update_preimage')",
    "_commit_version > 1 AND _commit_version <= 3",
    "_commit_timestamp >= '{second}'",
    "_commit_timestamp = '{second}'",
    "_commit_timestamp < '{second}'",
)


@pytest.fixture(params=["id_rcs", "digest"])
def scene(request: pytest.FixtureRequest, database: str, tmp_path: Path, spark: SparkSession) -> Iterator[SparkScene]:
    replica = "digest" if request.param == "digest" else "rows"
    with SparkScene(database, tmp_path, {"type": "id_rcs", "replica": replica}, spark, new_columns="add") as made:
        place = made.place
        place.sql(TABLE)
        handle = made.project.stream(STREAM)
        handle.prepare()
        list(handle.poll())
        place.sql(f"INSERT INTO t VALUES {', '.join(VALUES)}")
        list(handle.poll())
        place.sql("UPDATE t SET word = 'new', grown = grown - 1 WHERE id <= 2; DELETE FROM t WHERE id >= 5")
        list(handle.poll())
        place.sql("ALTER TABLE t ALTER grown TYPE bigint, ADD late varchar(40), ADD added integer")
        list(handle.poll())
        place.sql("UPDATE t SET grown = 2147483648, late = 'a', added = 9 WHERE id = 1; DELETE FROM t WHERE id = 3")
        place.sql("INSERT INTO t (id, word, late, added) VALUES (9, 'a', '', 1)")
        list(handle.poll())
        yield made


def test_a_filter_leaves_every_row_that_satisfies_it(scene: SparkScene, spark: SparkSession) -> None:
    """Spark says which rows satisfy a condition; the read is planned and done in this process."""
    rows = scene.read().orderBy(*ADDED, "id")
    added = [f"COALESCE({name} {sql}, false) AS c_{i}" for i, (name, sql, _) in enumerate(CASES)]
    every = rows.selectExpr("*", *added).collect()
    options = options_of({"config": str(scene.config), "path": STREAM})
    loaded = load(options)
    fewer, wrong = set(), []
    for i, (name, sql, pushed) in enumerate(CASES):
        expected = Counter(_values(row[: len(rows.columns)]) for row in every if row[f"c_{i}"])
        found = Counter(
            _values(row.values())
            for part in plan_batch(options, loaded, [of_column(pushed, name)])
            for piece in read_rows(part)
            for row in piece.to_pylist()
        )
        if expected - found:
            wrong.append((name, sql, expected - found))
        if sum(found.values()) < len(every):
            fewer.add(type(pushed))
    assert not wrong, wrong
    assert fewer == {EqualTo, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual, In, IsNull, IsNotNull}


def of_column(pushed: Filter, name: str) -> Filter:
    """Return a filter for a column."""
    if isinstance(pushed, Not):
        return Not(of_column(pushed.child, name))
    return replace(pushed, attribute=(name,))  # type: ignore[call-arg]


def test_conditions_give_the_rows_that_they_give_without_pushdown(scene: SparkScene, spark: SparkSession) -> None:
    every = scene.read().collect()
    assert {row["_commit_version"] for row in every} == {1, 2, 3}
    rows = spark.createDataFrame(every, scene.read().schema).localCheckpoint()
    [[second], *_] = rows.where("_commit_version = 2").selectExpr("CAST(_commit_timestamp AS STRING)").collect()
    spark.conf.set(SWITCH, "true")
    try:
        wrong, some = [], 0
        for condition in (one.format(second=second) for one in CONDITIONS):
            expected, found = (_counted(frame.where(condition)) for frame in (rows, scene.read()))
            some += 0 < sum(expected.values()) < len(every)
            if found != expected:
                wrong.append((condition, found - expected, expected - found))
    finally:
        spark.conf.set(SWITCH, "false")
    assert not wrong, wrong
    assert some >= len(CONDITIONS) - 3, some


def _counted(frame: DataFrame) -> Counter[tuple[Any, ...]]:
    return Counter(_values(row) for row in frame.collect())


def _values(row: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(map(comparable, row))
