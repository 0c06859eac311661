"""Affected keys contain every change of a query's result, and restricted queries show it."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from qbcd.queries.qualify import prepare_query
from qbcd.queries.syntax_tree import NotIncremental
from qbcd.strategies.incremental.affected_keys import Skeleton
from tests.support.places import Place
from tests.support.query_drawing import COLUMNS, DrawnQuery, DrawnSchema, Queries

DIALECT = "postgres"
Rows = list[tuple[Any, ...]]


class _State:
    """Base tables as they are now, or earlier copies with the stored columns.

    Changed keys are listed.
    """

    def __init__(self, skeleton: Skeleton, schema: str) -> None:
        self._skeleton, self._schema = skeleton, schema
        self.exact = schema == "public"

    def relation(self, alias: str, *, changed: bool) -> exp.Expression:
        """See :class:`~qbcd.strategies.incremental.delta_query.State`."""
        _, name = self._skeleton.prepared.bases[alias]
        kept = self._skeleton.kept["public", name] if self._schema == "old" else list(COLUMNS)
        rows = f"SELECT {', '.join({'id': 0, **dict.fromkeys(kept)})} FROM {self._schema}.{name}"
        if changed:
            rows += f" WHERE id IN (SELECT id FROM changed.{name})"
        return sqlglot.parse_one(rows, read=DIALECT).subquery(alias)  # type: ignore[attr-defined,no-any-return]


def _skeleton(drawn: DrawnQuery, tables: tuple[str, ...]) -> Skeleton:
    columns = {("public", table): COLUMNS for table in tables}
    tree: Any = sqlglot.parse_one(drawn.text, read=DIALECT)
    return Skeleton(prepare_query(tree, DIALECT, columns), drawn.key)


def _check(place: Place, schema: DrawnSchema, drawn: DrawnQuery) -> int:
    """Check one query over one step of history; return the number of changed keys."""
    try:
        skeleton = _skeleton(drawn, schema.tables)
    except NotIncremental as refused:
        assert str(refused).startswith("computes its key column"), drawn.text
        return 0
    place.sql(
        "DROP SCHEMA IF EXISTS old CASCADE; CREATE SCHEMA old; DROP SCHEMA IF EXISTS changed CASCADE; "
        "CREATE SCHEMA changed"
    )
    for table in schema.tables:
        place.sql(f"CREATE TABLE old.{table} AS SELECT * FROM {table}")
    before = place.sql(drawn.text)
    schema.act()
    for table in schema.tables:
        place.sql(
            f"CREATE TABLE changed.{table} AS SELECT DISTINCT id FROM (SELECT * FROM ("
            f"TABLE {table} EXCEPT TABLE old.{table}) a UNION ALL SELECT * FROM ("
            f"TABLE old.{table} EXCEPT TABLE {table}) b) c"
        )
    arms = [
        arm.sql(dialect=DIALECT)
        for alias in skeleton.prepared.bases
        for state in (_State(skeleton, "public"), _State(skeleton, "old"))
        for arm in skeleton.affected(alias, state)
    ]
    place.sql(f"CREATE TABLE changed.affected AS {' UNION '.join(arms)}")
    affected = set(place.sql("SELECT * FROM changed.affected"))
    truly = _keys(drawn, place, before) ^ _keys(drawn, place, place.sql(drawn.text))
    missed = {row[: len(drawn.key)] for row, _ in truly} - {row[: len(drawn.key)] for row in affected}
    assert not missed, f"{missed} of {drawn.text} after {schema.history[-8:]}"
    held = skeleton.restricted(exp.to_table("changed.affected"), drawn.key).sql(dialect=DIALECT)
    equal = " AND ".join(f"a.{k} = q.{k}" for k in drawn.key) or "TRUE"
    wanted = f"SELECT q.* FROM ({drawn.text}) q WHERE EXISTS (SELECT 1 FROM changed.affected a WHERE {equal})"
    if affected:
        assert Counter(place.sql(held)) == Counter(place.sql(wanted)), f"{held} is not {drawn.text}"
    return len(truly)


def _keys(drawn: DrawnQuery, place: Place, rows: Rows) -> set[Any]:
    """Return the count by (key, row); the key's columns come first."""
    return set(Counter(rows).items())


@pytest.mark.campaign
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.campaign) for n in (1, 2))])
def test_changed_keys_are_among_the_affected_keys(seed: int, place: Place) -> None:
    assert _seed(seed, place, 12)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_queries_and_histories(seed: int, place: Place) -> None:
    assert _seed(seed, place, 40)


def _seed(seed: int, place: Place, queries: int) -> int:
    rng = Random(seed)
    schema = DrawnSchema.made(rng, place)
    draw = Queries(rng, schema)
    return sum(_check(place, schema, draw.draw()) for _ in range(queries))
