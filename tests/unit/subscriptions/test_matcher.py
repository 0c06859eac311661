"""Subscriptions match exactly the events that each condition alone matches; what is not exact is refused."""

from __future__ import annotations

import datetime
import itertools
import re
import time
from decimal import Decimal
from typing import Any
from unittest import mock

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qbcd import Matcher, Subscription
from qbcd.subscriptions import When
from qbcd.subscriptions.condition import Shape
from qbcd.subscriptions.matcher import WORTH

IMAGE = pa.struct(
    [
        ("id", pa.int64()),
        ("status", pa.string()),
        ("amount", pa.decimal128(12, 2)),
        ("tags", pa.list_(pa.string())),
        ("day", pa.date32()),
        ("share", pa.float64()),
        ("Open Now", pa.bool_()),
        ("data", pa.binary()),
        ("huge", pa.decimal128(38, 0)),
    ]
)
SCHEMA = pa.schema([("op", pa.string()), ("before", IMAGE), ("after", IMAGE), ("changed", pa.list_(pa.string()))])
PLAIN = duckdb.connect(":memory:")
NAMES = [IMAGE.field(i).name for i in range(IMAGE.num_fields)]


EMPTY: dict[str, Any] = dict.fromkeys(NAMES)


def updated(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return {"op": "u", "before": old, "after": new, "changed": [name for name in NAMES if old[name] != new[name]]}


ROWS = st.fixed_dictionaries(
    {
        "id": st.integers(0, 3),
        "status": st.sampled_from(["new", "late", "it's", "", None]),
        "amount": st.sampled_from([None, Decimal("1.00"), Decimal("1.50"), Decimal("-2.00")]),
        "tags": st.none() | st.lists(st.sampled_from(["a", "b", "c", None]), max_size=4),
        "day": st.sampled_from([None, datetime.date(2026, 1, 1), datetime.date(2026, 2, 1)]),
        "share": st.sampled_from([None, 0.5, 2.0]),
        "Open Now": st.sampled_from([None, True, False]),
        "data": st.none(),
        "huge": st.none() | st.just(Decimal(10**37)),
    }
)
PLAIN_CONDITIONS = [
    "status = 'late'",
    "status = 'it''s'",
    "'new' = status",
    "status <> 'late'",
    "status IN ('late', 'new', '')",
    "NOT status IN ('late')",
    "status IS NULL",
    "status IS DISTINCT FROM 'late'",
    "status LIKE 'l%'",
    "status NOT LIKE '%e%'",
    "id = 1",
    "id IN (1, 2)",
    "id IN (1, 2.5)",
    "id > -1 ",
    "amount = 1.5",
    "amount IN (1, 1.5)",
    "amount BETWEEN 1 AND 1.50",
    "amount < -1.999",
    "amount = id",
    "day = '2026-01-01'",
    "day >= '2026-01-02'",
    "share > 1",
    '"Open Now"',
    'NOT "Open Now"',
    '"Open Now" = TRUE',
    "huge > 1",
    "TRUE",
    "contains_all(tags, 'a')",
    "contains_all(tags, 'a', 'b')",
    "contains_any(tags, 'b', 'c')",
    "contained_in(tags, 'a', 'c')",
    "NOT contains_any(tags, 'a')",
]
SIMPLE = st.sampled_from(PLAIN_CONDITIONS)
CONDITIONS = st.recursive(
    SIMPLE, lambda inner: st.builds("({}) {} ({})".format, inner, st.sampled_from(["AND", "OR"]), inner), max_leaves=4
)
WHENS: list[When] = ["new", "old", "either", "enters", "leaves"]
OPS = st.lists(st.sampled_from("rcud"), max_size=2, unique=True).map(tuple)
COLUMNS = st.lists(st.sampled_from(["status", "amount"]), max_size=2, unique=True).map(tuple)
SUBSCRIPTIONS = st.lists(st.tuples(CONDITIONS, st.sampled_from(WHENS), OPS, COLUMNS), max_size=10)
EVENTS = st.lists(
    st.one_of(
        st.builds(lambda row: {"op": "c", "before": None, "after": row, "changed": []}, ROWS),
        st.builds(lambda row: {"op": "d", "before": row, "after": None, "changed": []}, ROWS),
        st.builds(
            lambda old, new: {
                "op": "u",
                "before": old,
                "after": new,
                "changed": [n for n in NAMES if old[n] != new[n]],
            },
            ROWS,
            ROWS,
        ),
    ),
    max_size=8,
)


def alone(condition: str, row: dict[str, Any] | None) -> bool:
    """Evaluate a condition on one row, as SQL of DuckDB with its literals."""
    if row is None:
        return False
    for name, function in (("contains_all", "LIST_HAS_ALL"), ("contains_any", "LIST_HAS_ANY")):
        condition = re.sub(rf"{name}\(tags, ([^)]*)\)", rf"{function}(tags, [\1])", condition)
    condition = re.sub(r"contained_in\(tags, ([^)]*)\)", r"LIST_HAS_ALL([\1], tags)", condition)
    PLAIN.register("rows", pa.Table.from_pylist([row], schema=pa.schema(list(IMAGE))))
    return bool(PLAIN.execute(f"SELECT COUNT(*) FROM rows WHERE {condition}").fetchall()[0][0])


def wanted(one: Subscription, event: dict[str, Any]) -> bool:
    new, old = alone(one.condition, event["after"]), alone(one.condition, event["before"])
    met = {"new": new, "old": old, "either": new or old, "enters": new and not old, "leaves": old and not new}[one.when]
    of_interest = event["op"] != "u" or not one.columns or bool(set(one.columns) & set(event["changed"]))
    return met and of_interest and (not one.ops or event["op"] in one.ops)


@settings(deadline=None, max_examples=6)
@given(written=SUBSCRIPTIONS, events=EVENTS, removed=st.sets(st.integers(0, 9), max_size=3))
def test_matches_are_those_of_each_condition_alone(
    written: list[tuple[str, When, tuple[str, ...], tuple[str, ...]]], events: list[dict[str, Any]], removed: set[int]
) -> None:
    ones = [Subscription(str(n), *each) for n, each in enumerate(written)]
    with Matcher(SCHEMA) as matcher:
        assert matcher.add(ones) == {}
        matcher.remove(str(n) for n in removed)
        kept = [one for n, one in enumerate(ones) if n not in removed]
        assert len(matcher) == sum(matcher.shapes.values()) == len(kept)
        table = pa.Table.from_pylist(events, schema=SCHEMA)
        found = matcher.match(table).to_pylist()
        with mock.patch("qbcd.subscriptions.matcher.WORTH", 2):
            few = matcher.match(table).to_pylist()
        assert few == found, "few events are matched without a join"
    expected = [(n, one.id) for n, event in enumerate(events) for one in kept if wanted(one, event)]
    assert [(each["position"], each["id"]) for each in found] == sorted(expected)


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("random() > 1", "cannot be matched exactly"),
        ("id = (SELECT 1)", "cannot be matched exactly"),
        ("id + 1 = 2", "cannot be matched exactly"),
        ("state = 'x'", "column 'state' is not captured (use one of: id, status"),
        ("o.id = 1", "column o.id has a prefix"),
        ("status > 'a'", "the order of texts of 'status' depends on the database"),
        ("name = 'x'", "not captured"),
        ("id = 'x'", "compares values of different types"),
        ("status = 1", "compares values of different types"),
        ("id LIKE 'a%'", "compares values of different types"),
        ("day LIKE '2026%'", "LIKE needs a text, and 'day' is none"),
        ("share = 0.5", "the equality of floats of 'share' depends on the database"),
        ("tags = 'a'", "compares a set (use contains_all"),
        ("contains_all(status, 'a')", "the first argument of contains_all must be a set column"),
        ("contains_all(tags)", "contains_all needs its elements as literals"),
        ("contains_all(tags, 1)", "elements of 'tags' are texts"),
        ("data = 'x'", "the type of column 'data' cannot be compared"),
        ("huge = 0.5", "compares numbers that need more than 38 digits"),
        ("id = 1234567890123456789012345678901", "has more than 30 digits"),
        ("id", "id is neither true nor false"),
        ("id = 1 OR", "cannot be parsed"),
        ("id IN ()", "id IN () has no values (name values"),
        ("NOT status IN ()", "has no values"),
        ("id = 1; DROP TABLE subscription", "without comments"),
        ("id = 1 -- x", "without comments"),
        ("status = 'x", "cannot be parsed"),
        ("status = E'\\n'", "cannot be"),
        ("id = 1e3", "cannot be"),
        ("day = '2026-02-30'", "2026-02-30 is not a value of type date"),
        ("status = day", "compares values of different types"),
        ('status = "Open Now"', "compares values of different types"),
        ("id IS 1", "cannot be matched exactly (IS NULL takes a column"),
        ("id IS TRUE", "cannot be matched exactly (IS NULL takes a column"),
        ("(id = 1) IS NULL", "cannot be matched exactly (IS NULL takes a column"),
        ("id BETWEEN SYMMETRIC 3 AND 1", "leave SYMMETRIC out"),
        ("id = :qbcd_p0", "a condition has no parameters"),
        ("id = :qbcd_p0 OR id = 1", "a condition has no parameters"),
        ("id = ?", "a condition has no parameters"),
        ("(" * 3000 + "id = 1" + ")" * 3000, "nested too deeply"),
        ("NOT " * 3000 + "id = 1", "nested too deeply"),
        (" OR ".join(["id = 1"] * 250), "more than 1,000 names"),
        (" OR ".join(["id = 1"] * 3000), "more than 20,000 characters"),
    ],
)
def test_a_condition_that_is_not_exact_is_refused_alone(condition: str, reason: str) -> None:
    with Matcher(SCHEMA) as matcher:
        refused = matcher.add([Subscription("bad", condition), Subscription("good", "id = 1")])
        assert list(refused) == ["bad"]
        assert reason in refused["bad"]
        assert len(matcher) == 1


def test_what_the_local_database_refuses_is_refused_alone() -> None:
    with Matcher(SCHEMA) as matcher, mock.patch("qbcd.subscriptions.matcher.shape_of") as shape_of:
        shape_of.return_value = Shape("x", (), None, lambda *_: "e.v0 IS 1 1")
        refused = matcher.add([Subscription("bad", "id = id")])
    assert refused["bad"].startswith("x cannot be evaluated: syntax error")


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_times_without_a_zone_are_utc(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    image = pa.struct([("at", pa.timestamp("us", "UTC"))])
    fields = [("op", pa.string()), ("before", image), ("after", image), ("changed", pa.list_(pa.string()))]
    noon = {"at": datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.timezone.utc)}
    event: dict[str, Any] = {"op": "c", "before": None, "after": noon, "changed": []}
    found = {}
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        with Matcher(pa.schema(fields)) as matcher:
            for each in ("2026-01-01 12:00", "2026-01-01 12:00:00Z", "2026-01-01 13:00:00+01"):
                assert matcher.add([Subscription("one", f"at = '{each}'")]) == {}
                found[each] = matcher.match(pa.Table.from_pylist([event], schema=pa.schema(fields))).num_rows
    finally:
        monkeypatch.undo()
        time.tzset()
    assert set(found.values()) == {1}, found


@pytest.mark.parametrize("condition", ["day < 'infinity'", "day > '-infinity'", "day < '12026-01-01'"])
def test_a_date_that_python_does_not_have_is_left_to_the_join(condition: str) -> None:
    row = {**EMPTY, "day": datetime.date(2026, 1, 1)}
    events = pa.Table.from_pylist([{"op": "c", "before": None, "after": row, "changed": []}], schema=SCHEMA)
    with Matcher(SCHEMA) as matcher:
        assert matcher.add([Subscription("one", condition)]) == {}
        assert [matcher.match(events).num_rows for _ in range(WORTH + 2)] == [1] * (WORTH + 2)


def test_refusals_that_do_not_come_from_the_condition() -> None:
    with Matcher(SCHEMA, folded=["status"], old_values=False) as matcher:
        refused = matcher.add(
            [
                Subscription("folded", "status = 'x'"),
                Subscription("old", "id = 1", when="leaves"),
                Subscription("when", "id = 1", when="later"),  # type: ignore[arg-type]
                Subscription("ops", "id = 1", ops=("x",)),
                Subscription("columns", "id = 1", columns=("statsu",)),
                Subscription("good", "status IS NULL"),
            ]
        )
    assert "the equality of texts of 'status' depends on the database" in refused["folded"]
    assert "when: leaves needs old values" in refused["old"]
    assert "when is 'later' (use one of: new, old" in refused["when"]
    assert "ops are x" in refused["ops"]
    assert "'statsu' is not captured" in refused["columns"]
    assert len(refused) == 5


def test_a_subscription_is_replaced_also_by_one_that_is_refused() -> None:
    event: pa.Table = pa.Table.from_pylist(
        [{"op": "c", "before": None, "after": {"id": 1, "status": "new"}, "changed": []}], schema=SCHEMA
    )
    with Matcher(SCHEMA) as matcher:
        matcher.add([Subscription("one", "id = 2")])
        assert matcher.match(event).num_rows == 0
        matcher.add([Subscription("one", "id = 1")])
        assert matcher.match(event).to_pylist() == [{"position": 0, "id": "one"}]
        matcher.add([Subscription("one", "id = 'x'")])
        assert matcher.match(event).num_rows == 0
        assert len(matcher) == 0


@pytest.mark.parametrize(
    ("condition", "when", "matches"),
    [
        ("amount IN (1, 1.5)", "new", [0, 1]),
        ("status = 'late'", "enters", [1]),
        ("status = 'late'", "leaves", [2]),
        ("contains_all(tags, 'a', 'b')", "new", [0, 1]),
        ("contains_all(tags, 'b', 'c')", "new", []),
    ],
)
def test_single_conditions(condition: str, when: When, matches: list[int]) -> None:
    rows: list[dict[str, Any]] = [
        {"amount": Decimal("1.50"), "status": "late", "tags": ["b", "a"]},
        {"amount": Decimal("2.00"), "status": "new", "tags": ["c"]},
    ]
    late, new = rows
    events = [updated({**EMPTY, **a}, {**EMPTY, **b}) for a, b in ((late, late), (new, late), (late, new))]
    with Matcher(SCHEMA) as matcher:
        assert matcher.add([Subscription("one", condition, when)]) == {}
        found = matcher.match(pa.Table.from_pylist(events, schema=SCHEMA))
    assert found.column("position").to_pylist() == matches


def test_many_conditions_are_few_shapes() -> None:
    with Matcher(SCHEMA) as matcher:
        many = [Subscription(f"s{n}", f"status = 'v{n}' AND id > {n}") for n in range(1000)]
        many += [Subscription(f"t{n}", f"contains_all(tags, 'every', 't{n}')") for n in range(1000)]
        assert matcher.add(many) == {}
        assert matcher.shapes == {"status = ? AND id > ?": 1000, "CONTAINS_ALL(tags, ?, ?)": 1000}
        row = {"id": 500, "status": "v7", "tags": ["t1", "every", "t9", "t1"]}
        event: dict[str, Any] = {"op": "c", "before": None, "after": row, "changed": []}
        found = matcher.match(pa.Table.from_pylist([event], schema=SCHEMA).to_batches()[0])
    assert found.column("id").to_pylist() == ["s7", "t1", "t9"]


def test_shapes_have_a_limit_and_one_that_is_no_longer_used_makes_room() -> None:
    with Matcher(SCHEMA, shapes=2) as matcher:
        assert (
            matcher.add([Subscription("a", "id = 1"), Subscription("b", "status = 'x'"), Subscription("c", "id = 2")])
            == {}
        )
        refused = matcher.add([Subscription("d", "id > 1"), Subscription("e", "id = 3")])
        assert list(refused) == ["d"]
        assert "there are 2 shapes of conditions already" in refused["d"]
        matcher.remove(["b"])
        assert matcher.add([Subscription("d", "id > 1")]) == {}
        assert matcher.shapes == {"id = ?": 3, "id > ?": 1}


def test_a_stream_without_columns_for_conditions_says_so() -> None:
    with Matcher(SCHEMA, allowed=["none"]) as matcher:
        refused = matcher.add([Subscription("a", "id = 1")])
    assert refused == {
        "a": "column 'id' may not be used in subscriptions (name captured columns under `subscriptions.streams`)"
    }


def test_a_pattern_that_fails_is_refused_by_itself() -> None:
    with Matcher(SCHEMA) as matcher:
        refused = matcher.add(
            [
                Subscription("half", r"status LIKE 'a\'"),
                Subscription("column", "status LIKE status"),
                Subscription("whole", r"status LIKE 'a\\'"),
            ]
        )
        assert "ends with a single backslash" in refused["half"]
        assert "has no literal as its pattern" in refused["column"]
        event: dict[str, Any] = {"op": "c", "before": None, "after": {**EMPTY, "status": "a\\"}, "changed": []}
        found = matcher.match(pa.Table.from_pylist([event], schema=SCHEMA)).to_pylist()
    assert [each["id"] for each in found] == ["whole"]


def test_many_calls_with_one_event_use_the_index_until_a_subscription_changes() -> None:
    event: dict[str, Any] = {
        "op": "c",
        "before": None,
        "after": {**EMPTY, "status": "late", "tags": ["a", "b", None]},
        "changed": [],
    }
    events = pa.Table.from_pylist([event], schema=SCHEMA)
    ones = [Subscription(str(n), f"status = 's{n}'") for n in range(100)]
    with Matcher(SCHEMA) as matcher:
        assert matcher.add([*ones, Subscription("late", "status = 'late'"), Subscription("n", "id IS NULL")]) == {}
        assert matcher.add([Subscription("t", "contains_all(tags, 'b', 'a') AND status IN ('x', 'late')")]) == {}
        found = [matcher.match(events).column("id").to_pylist() for _ in range(WORTH + 1)]
        assert found == [["late", "n", "t"]] * (WORTH + 1)
        with mock.patch.object(matcher, "_database", None):
            assert matcher.match(events).column("id").to_pylist() == ["late", "n", "t"], "no database is asked"
        matcher.remove(["late"])
        assert matcher.match(events).column("id").to_pylist() == ["n", "t"]


def test_deletes_without_old_values_meet_nothing() -> None:
    deleted = pa.Table.from_pylist([{"op": "d", "before": None, "after": None, "changed": None}], schema=SCHEMA)
    with Matcher(SCHEMA, old_values=False) as matcher:
        assert matcher.add([Subscription("all", "TRUE"), Subscription("late", "status = 'late'")]) == {}
        for _ in range(WORTH + 1):  # by a join, then by the index for few events
            assert matcher.match(deleted).num_rows == 0


@settings(deadline=None, max_examples=1)
@given(rows=st.lists(st.tuples(st.none() | ROWS, st.none() | ROWS), min_size=12, max_size=16))
def test_few_events_match_as_by_a_join(rows: list[tuple[dict[str, Any] | None, dict[str, Any] | None]]) -> None:
    """Every condition, alone and within others, over rows with NULL."""
    plain = [one for one in PLAIN_CONDITIONS if "LIKE" not in one and "share" not in one]
    pairs = [f"NOT ({one}) OR ({other})" for one, other in itertools.pairwise(plain)]
    conditions = [*plain, *(f"NOT ({one})" for one in plain), *pairs, *(f"({one}) AND id <> 1" for one in plain)]
    events = [
        {"op": "c", "before": None, "after": new, "changed": []} if old is None else updated(old, new or EMPTY)
        for old, new in rows
        if old or new
    ]
    table = pa.Table.from_pylist(events, schema=SCHEMA)
    with Matcher(SCHEMA) as matcher:
        assert matcher.add([Subscription(f"{n}", one, when="enters") for n, one in enumerate(conditions)]) == {}
        joined = matcher.match(table)
        with mock.patch("qbcd.subscriptions.matcher.WORTH", 2), mock.patch.object(matcher, "_loaded", None):
            assert matcher.match(table).to_pylist() == joined.to_pylist()
