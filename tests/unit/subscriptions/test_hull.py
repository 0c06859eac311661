"""The hull of subscriptions: what it bounds, how it grows, and what is outside."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from qbcd.subscriptions import Matcher, Subscription
from qbcd.subscriptions.hull import Extent, Hull, grown, hull_of_json

IMAGE = pa.struct(
    [
        ("id", pa.int64()),
        ("status", pa.string()),
        ("amount", pa.decimal128(12, 2)),
        ("f", pa.float64()),
        ("tags", pa.list_(pa.string())),
    ]
)
SCHEMA = pa.schema([("before", IMAGE), ("after", IMAGE), ("op", pa.string()), ("changed", pa.list_(pa.string()))])
EVERY = frozenset({"id", "status", "amount", "tags"})


def hull_of(*written: str | Subscription, before: Hull | None = None) -> Hull | None:
    with Matcher(SCHEMA) as matcher:
        each = [Subscription(str(n), one) if isinstance(one, str) else one for n, one in enumerate(written)]
        assert not matcher.add(each)
        return grown(before, [matcher.parts(one) for one in each], EVERY)


@pytest.mark.parametrize(
    ("conditions", "sql"),
    [
        (["status = 'late'", "'new' = status AND id > 3"], "status IN ('late', 'new')"),
        (["status IN ('a', 'b') AND (id = 1 OR id = 2)"], "status IN ('a', 'b')"),
        (["status = 'o''x'"], "status IN ('o''x')"),
        (["id = 5", "id = -7 AND status = 'x'"], "id IN (-7, 5)"),
        (["id = 5 AND id = 6", "id = 5"], "id IN (5)"),
        (["id = 5 AND id = 6"], "1 = 0"),
        (["id BETWEEN 13 AND 876"], "id >= 0 AND id <= 900"),
        (["id > 1234"], "id >= 1000"),
        (["amount <= -12.5 AND 3 > id"], "amount <= -10"),
        (["amount >= 0.5 AND amount < 0.75"], "amount >= 0 AND amount <= 1"),
        (["-20 < id", "id < 5 AND id > 4"], "id >= -20"),
        ([f"id = {n}" for n in range(25)], "id >= 0 AND id <= 30"),
        ([f"status = '{n}'" for n in range(1_001)], None),
        (["contains_any(tags, 'b', 'a')", "contains_all(tags, 'd', 'c') AND id > 1"], "tags has a of ('a', 'b', 'c')"),
        (["contains_any(tags, 'b')", "contained_in(tags, 'b')"], None),
        (["status = 'late'", "id = 1"], None),
        (["status = 'late' OR id = 1"], None),
        (["NOT (status = 'late')"], None),
        (["status <> 'late'"], None),
        (["f > 1"], None),
        ([r"status = 'a\b'"], None),
        ([""], None),
        (["status = 'late'", ""], None),
    ],
)
def test_hull(conditions: list[str], sql: str | None) -> None:
    hull = hull_of(*conditions)
    if hull is not None and hull.column in ("amount", "tags"):
        assert hull_of(*conditions) == hull_of_json(hull.to_json())
    assert sql == (None if hull is None else hull.sql(hull.column, "postgres", "{v} has a of ({listed})"))


def test_growth_keeps_the_column_and_what_was_inside() -> None:
    hull = hull_of("status = 'late' AND id = 3")
    assert hull == Hull("id", Extent(frozenset({Decimal(3)})))
    assert hull_of("id = 4", before=hull) == Hull("id", Extent(frozenset({Decimal(3), Decimal(4)})))
    assert hull_of("status = 'late'", before=hull) is None
    wide = hull_of("id BETWEEN 1 AND 70", before=hull)
    assert wide == Hull("id", Extent(None, Decimal(0), Decimal(70)))
    assert wide == hull_of_json(wide.to_json())
    with Matcher(SCHEMA) as matcher:
        inside = {
            condition: wide.covers(matcher.parts(Subscription("a", condition)))
            for condition in (
                "id = 70",
                "id IN (1, 71)",
                "id > 5 AND id < 9",
                "id > 5",
                "status = 'x'",
                "id = 1 OR id = 2",
            )
        }
    assert [condition for condition, yes in inside.items() if yes] == ["id = 70", "id > 5 AND id < 9"]


@pytest.mark.parametrize(
    ("when", "ops", "columns", "narrows"),
    [
        ("new", (), (), True),
        ("new", ("u",), (), False),
        ("new", ("c", "u"), (), True),
        ("enters", ("c", "d"), (), False),
        ("old", ("u", "d"), (), True),
        ("old", ("u", "c"), (), False),
        ("leaves", ("d",), (), False),
        ("either", ("c", "u"), (), False),
        ("either", ("c", "u", "d"), (), True),
        ("new", ("d", "r"), (), True),
        ("old", (), ("id",), False),
        ("old", (), ("id", "status"), True),
    ],
)
def test_a_row_that_crosses_the_edge_changes_no_match(
    when: str, ops: tuple[str, ...], columns: tuple[str, ...], narrows: bool
) -> None:
    one = Subscription("a", "status = 'late'", when, ops, columns)  # type: ignore[arg-type]
    assert (hull_of(one) is not None) is narrows
