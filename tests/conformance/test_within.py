"""Conditions over key ranges, ranges of pages, and texts inserted into canonical SQL."""

from __future__ import annotations

import pytest

from qbcd.connectors import CONNECTORS
from qbcd.connectors.ranges import SupportsPages
from qbcd.errors import UnsupportedPrimitive
from qbcd.model import KeyRange, StreamPlan, Table
from qbcd.sql.compile import compile_sql
from tests.support.places import Place, over
from tests.support.watermark_cases import column_of, compiled, connector_of, plan_of, probed, session

A, B, C = "a", 'quo"te %s', "QBCD_PLACE_BOUND_x_END"
HOSTILE = [
    "",
    "it's",
    "%s",
    "%(x)s",
    "QBCD_PLACE_BOUND_x_END",
    "QBCD_PLACE_VERBATIM_0_END",
    "back\\slash",
    "b",
    "ü",
    "zz",
]


def filled(place: Place) -> None:
    """Make table t with a key of three columns (number, text, number), two with awkward names."""
    text = "varchar(40)" if place.kind == "postgresql" else "varchar(40) COLLATE utf8mb4_bin"
    a, b, c = (place.quote(name) for name in (A, B, C))
    place.sql(f"CREATE TABLE t ({a} integer, {b} {text}, {c} integer, PRIMARY KEY ({a}, {b}, {c}))")
    place.insert("t", [(i, word, j) for i in (-1, 0, 7) for word in HOSTILE for j in (1, 2)])


def ranges_of(bounds: list[tuple[str, ...]]) -> list[KeyRange]:
    ends = [None, *bounds, None]
    return [KeyRange(i, ends[i], ends[i + 1]) for i in range(len(ends) - 1)]


@over()
def test_ranges_share_out_the_rows_in_key_order(place: Place) -> None:
    """Each row is in exactly one range, the same as in the statement over many ranges."""
    filled(place)
    table, connector = probed(place), connector_of(place)
    for names in ([A, B, C], [B], [C, A]):
        plan = plan_of(table, names, where="'%' <> 'QBCD_PLACE_BOUND_x_END'")
        key = [column_of(table, name) for name in names]
        with session(place) as reading:
            bounds = [
                tuple(r) for r in reading.rows(connector.ranges.range_bounds(place.table("t"), key, rows_per_range=7))
            ]
            ranges = ranges_of(list(dict.fromkeys(bounds)))
            listed = ", ".join(f"t.{connector.quote(name)}" for name in (A, B, C))
            wanted = reading.rows(connector.ranges.per_range([listed], place.table("t"), key, ranges, aggregate=False))
            found = []
            for within in ranges:
                for alias, params in (("t", {"x": 1}), ("", {"x": 1}), ("t", {})):
                    columns = ", ".join('"' + name.replace('"', '""') + '"' for name in (A, B, C))
                    query = f"SELECT {columns} FROM {{t}} AS t WHERE QBCD_RESTRICTION() AND QBCD_WITHIN('{alias}')" + (
                        " AND :x = 1" if params else ""
                    )
                    rows = reading.rows(compiled(place, plan, query, within, **params))
                    found.append([(within.range_id, *row) for row in rows])
            assert len(ranges) > 3
            assert all(sorted(found[i]) == sorted(found[i + 1]) for i in range(0, len(found), 3))
            assert sorted(found[0]) == sorted(found[2])
            assert sorted(row for rows in found[::3] for row in rows) == sorted(tuple(row) for row in wanted)
            assert len(wanted) == 60


@over(elsewhere=[])
def test_no_range_is_every_row(place: Place) -> None:
    filled(place)
    plan, connector = plan_of(probed(place), [A]), connector_of(place)
    with session(place) as reading:
        for within in (None, KeyRange(1, None, None)):
            rows = reading.rows(compiled(place, plan, "SELECT 1 FROM {t} AS t WHERE QBCD_WITHIN('t')", within))
            assert len(rows) == 60
    assert connector.ranges.key_between(plan.key, "t", KeyRange(1, None, None)) == "TRUE"
    with pytest.raises(ValueError, match="bound of 2 values"):
        connector.ranges.key_between(plan.key, "t", KeyRange(1, ("1", "2"), None))


@over(elsewhere=[])
def test_a_range_of_keys_is_found_by_its_index(place: Place) -> None:
    place.sql("CREATE TABLE t (k integer, j integer, PRIMARY KEY (k, j))")
    place.insert("t", [(i // 10, i % 10) for i in range(3000)])
    place.sql("ANALYZE t" if place.kind == "postgresql" else "ANALYZE TABLE t")
    plan = plan_of(probed(place), ["k", "j"])
    query = compiled(place, plan, "SELECT k FROM {t} WHERE QBCD_WITHIN('')", KeyRange(1, ("100", "3"), ("101", "4")))
    with session(place) as reading:
        assert len(reading.rows(query)) == 11
        explained = str(reading.rows(f"EXPLAIN {query.sql}"))
    assert ("t_pkey" if place.kind == "postgresql" else "range") in explained


# -- compiling ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", sorted(CONNECTORS))
def test_inserted_texts_are_not_parsed_again(name: str) -> None:
    where = "a = '%s QBCD_PLACE_VERBATIM_0_END QBCD_PLACE_BOUND_x_END :x'"
    plan = StreamPlan("s", "shop", Table("s", "t", "table", (), ()), (), (), where, "ts")
    canonical = "SELECT 1 FROM t WHERE QBCD_RESTRICTION() AND a = :a"
    found = compile_sql(canonical, CONNECTORS[name](), plan, {"a": 1})
    assert f"(\n{where.replace('%', '%%')}\n)" in found.sql
    assert found.sql.endswith("a = %(a)s")


# -- ranges by pages ---------------------------------------------------------------------------------------------------
def pages(place: Place, names: list[str], per_range: int, where: str = "", name: str = "t") -> list[tuple[str, ...]]:
    table, connector = probed(place, name), connector_of(place)
    key = [column_of(table, column) for column in names]
    with session(place) as reading:
        found = reading.rows(connector.require(SupportsPages).page_bounds(table, key, where, pages_per_range=per_range))
    return [tuple(row) for row in found]


def switches(place: Place, order: str, per_range: int, where: str = "TRUE", name: str = "t") -> list[str]:
    """Compute the first k of every range but the first, from the pages of rows in `order`."""
    found = []
    switches_seen, before = 0, None
    for k, *page in place.sql(
        f"SELECT k, tableoid::text, (ctid::text::point)[0] FROM {name} WHERE {where} ORDER BY {order}"
    ):
        switches_seen += page != before
        if page != before and switches_seen > 1 and (switches_seen - 1) % per_range == 0:
            found.append(str(k))
        before = page
    return found


def test_a_range_has_the_configured_number_of_pages(place: Place) -> None:
    place.sql(
        f"""CREATE TABLE t (k integer PRIMARY KEY, {place.quote(B)} text, r integer);
        INSERT INTO t SELECT g, repeat('x', 200), (g * 7919) %% 3001 FROM generate_series(1, 3000) g""".replace(
            "%%", "%"
        )
    )
    for per_range in (1, 7, 10_000):
        assert [k for (k,) in pages(place, ["k"], per_range)] == switches(place, "k", per_range)
    assert len(pages(place, ["k"], 7)) == 12
    # Rows in an order other than the table's are on another page each.
    by_random = [r for (r,) in pages(place, ["r"], 10)]
    assert len(by_random) == 299
    where = f"k % 2 = 0 AND {place.quote(B)} <> '%s'"
    assert [k for (k,) in pages(place, ["k"], 3, where)] == switches(place, "k", 3, where)
    assert pages(place, ["k"], 3, "k < 0") == []
    with pytest.raises(ValueError, match="at least one page"):
        pages(place, ["k"], 0)


def test_pages_of_partitions_are_distinct_and_texts_are_bounds(place: Place) -> None:
    place.sql(f"""CREATE TABLE t (k integer, {place.quote(B)} text) PARTITION BY LIST (k);
        CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1); CREATE TABLE t2 PARTITION OF t FOR VALUES IN (2);
        INSERT INTO t SELECT 1 + g % 2, lpad(g::text, 5, '0') FROM generate_series(1, 100) g""")
    assert len(pages(place, [B], 1)) == 99
    assert pages(place, ["k", B], 1) == [("2", "00001")]
    assert pages(place, [B, "k"], 50) == [("00051", "2")]
    place.sql("CREATE VIEW v AS SELECT * FROM t")
    with pytest.raises(UnsupportedPrimitive, match="page_bounds of a view"):
        pages(place, ["k"], 1, name="v")


@pytest.mark.parametrize("name", sorted(set(CONNECTORS) - {"postgresql"}))
def test_pages_that_no_row_shows_are_refused(name: str) -> None:
    with pytest.raises(UnsupportedPrimitive, match="page_bounds"):
        CONNECTORS[name]().require(SupportsPages).page_bounds(None, [], "", pages_per_range=1)  # type: ignore[arg-type]
