"""Values of every PostgreSQL type: they travel unchanged; digest and comparison agree.

Both follow the type's own equality. Settings change nothing.
"""

from __future__ import annotations

import base64
import json
import math
from dataclasses import replace
from typing import Any

import pytest

from qbcd.catalog.source import Session
from qbcd.connectors.postgresql import types
from qbcd.model import Column
from tests.support import sql
from tests.support.pg_source import PG, digest, load_values, named, probe, reading, text
from tests.support.pg_values import VALUES, values_of

EQUAL = {  # equal for the type, though the text differs
    "real": {("0", "-0")},
    "double precision": {("0", "-0")},
    "numeric": {("0", "0.0"), ("1", "1.0"), ("1", "1.00"), ("1.0", "1.00")},
}


@pytest.fixture
def tables(database: str) -> dict[str, str]:
    return load_values(database)


def test_there_are_many_values() -> None:
    assert len(VALUES) >= 90
    assert sum(map(len, VALUES.values())) >= 400


def test_wire_values_cast_back_to_the_very_same_value(database: str, tables: dict[str, str]) -> None:
    with reading(database) as session:
        for sql_type, name in tables.items():
            column = probe(session, name).column("x")
            assert column is not None
            assert types.type_problem(column) == ""
            check_return(session, name, sql_type, column, text(PG.expressions.canonical_text(column, named("t", "x"))))
            if column.travel.kind != "array":
                check_return(session, name, sql_type, column, text(PG.expressions.travel_form(column, named("t", "x"))))
            over = PG.catalog.override_travel(column, "text")
            check_return(session, name, sql_type, over, text(PG.expressions.travel_form(over, named("t", "x"))))
            assert PG.expressions.fits_typed_sink(over, named("t", "x")) is None


def check_return(session: Session, name: str, sql_type: str, column: Column, form: str) -> None:
    """Check that wire values, inserted again, have the same stored bytes (`record_image_eq`)."""
    rows = session.rows(f"SELECT t.id, {form} AS wire FROM public.{name} AS t ORDER BY t.id")
    wires = [r.wire for r in rows]
    assert wires[0] is None
    assert len(wires) == len(values_of(sql_type))
    same = session.connection.exec_driver_sql(
        f"SELECT t.x::text, record_image_eq(ROW(t.x), ROW(CAST(w.wire AS {column.sql_type}))) FROM public.{name} AS t "
        "JOIN unnest(%(ids)s::int[], %(wires)s::text[]) AS w(id, wire) ON w.id = t.id",
        {"ids": [r.id for r in rows], "wires": [written(w) for w in wires]},
    ).fetchall()
    assert len(same) == len(rows)
    assert [value for value, equal in same if not equal] == [], (sql_type, form)


def written(wire: Any) -> str | None:
    """Return a value, as a driver returns it, as input text."""
    if isinstance(wire, memoryview):
        return "\\x" + bytes(wire).hex()
    return wire if wire is None or isinstance(wire, str) else str(wire)


def test_arrays_travel_as_json_or_as_their_own_text(database: str, tables: dict[str, str]) -> None:
    seen = 0
    with reading(database) as session:
        for sql_type, name in tables.items():
            column = probe(session, name).column("x")
            assert column is not None
            if column.travel.kind != "array":
                continue
            form, fits = (
                PG.expressions.travel_form(column, named("t", "x")),
                PG.expressions.fits_typed_sink(column, named("t", "x")),
            )
            assert fits is not None
            rows = session.rows(
                f"SELECT t.id, {text(form)} AS wire, {text(fits)} AS fits, t.x::text AS own, "
                f"array_ndims(t.x) AS dimensions, array_lower(t.x, 1) AS low FROM public.{name} AS t ORDER BY t.id"
            )
            for row in rows[1:]:
                seen += 1
                value = json.loads(row.wire)
                if row.dimensions is None or (row.dimensions == 1 and row.low == 1):
                    assert isinstance(value, list), (sql_type, row.wire)
                    check_array(session, name, column, row.id, value)
                else:
                    assert (value, row.fits) == (row.own, False), sql_type
            assert rows[0].wire is None
            assert rows[0].fits is True
    assert seen >= 50


def check_array(session: Session, name: str, column: Column, row: int, value: list[Any]) -> None:
    element = column.travel.element
    assert element is not None
    if element.kind == "binary":
        value = [None if v is None else "\\x" + base64.b64decode(v, validate=True).hex() for v in value]
    texts = [v if v is None or isinstance(v, str) else json.dumps(v) for v in value]
    if element.kind == "float64":
        assert all(v is None or isinstance(v, (int, float)) or v in ("NaN", "Infinity", "-Infinity") for v in value)
    same = session.connection.exec_driver_sql(
        f"SELECT record_image_eq(ROW(t.x), ROW(CAST(%(v)s::text[] AS {column.sql_type}))) "
        f"FROM public.{name} AS t WHERE t.id = %(id)s",
        {"v": texts, "id": row},
    ).scalar_one()
    assert same, (column.sql_type, value)


@pytest.mark.parametrize(
    ("sql_type", "fitting", "wires"),
    [
        ("numeric(12,2)", {"NaN": False, "1": True}, {"1": "1.00", "NaN": "NaN", "-0.01": "-0.01"}),
        (
            "date",
            {"infinity": False, "-infinity": False, "10000-01-01": False, "0044-03-15 BC": False, "9999-12-31": True},
            {"0001-01-01": "0001-01-01", "infinity": "infinity", "0044-03-15 BC": "0044-03-15 BC"},
        ),
        (
            "timestamp",
            {"infinity": False, "0044-03-15 12:00:00 BC": False, "9999-12-31 23:59:59.999999": True},
            {"2024-03-10 02:30:00": "2024-03-10T02:30:00.000000", "-infinity": "-infinity"},
        ),
        (
            "timestamptz",
            {"10000-01-01 00:00:00+00": False, "0001-01-01 00:00:00+00": True},
            {"2024-01-01 00:00:00.000001+00": "2024-01-01T00:00:00.000001Z", "infinity": "infinity"},
        ),
        ("time", {}, {"24:00:00": "24:00:00.000000", "12:00": "12:00:00.000000"}),
        ("character(5)", {}, {"a": "a    ", "": "     "}),
        ("money", {}, {"1234567.89": "$1,234,567.89"}),
        ("interval", {}, {"1 day": "1 day", "-1 day": "-1 days"}),
        ("bytea[]", {}, {'{"\\\\x00ff",NULL}': '["AP8=",null]'}),
        ("numeric(10,2)[]", {"{NaN}": False, "{1,1.5,NULL}": True}, {"{1,1.5,NULL}": '["1.00","1.50",null]'}),
        ("double precision[]", {}, {"{0.1,NaN,Infinity}": '[0.1,"NaN","Infinity"]', "{-0}": "[-0.0]"}),
        (
            "timestamptz[]",
            {'{"10000-01-01 00:00:00+00"}': False},
            {'{"2024-03-10 02:30:00+00"}': '["2024-03-10T02:30:00.000000Z"]'},
        ),
        ("boolean[]", {}, {"{t,f,NULL}": "[true,false,null]"}),
        (
            "integer[]",
            {"{1,2}": True, "{{1,2}}": False, "{}": True},
            {"{}": "[]", "{{1,2}}": '"{{1,2}}"', "[0:1]={1,2}": '"[0:1]={1,2}"'},
        ),
    ],
)
def test_wire_form(database: str, sql_type: str, fitting: dict[str, bool], wires: dict[str, str]) -> None:
    name = load_values(database, [sql_type])[sql_type]
    with reading(database) as session:
        column = probe(session, name).column("x")
        assert column is not None
        form, fits = (
            PG.expressions.travel_form(column, named("t", "x")),
            PG.expressions.fits_typed_sink(column, named("t", "x")),
        )
        held = text(fits) if fits is not None else "TRUE"
        rows = session.rows(f"SELECT {text(form)} AS wire, {held} AS held FROM public.{name} AS t ORDER BY t.id")
    given = dict(zip(values_of(sql_type), rows, strict=True))
    assert given[None].held is True
    assert {value: given[value].held for value in fitting} == fitting
    assert {value: given[value].wire for value in wires} == wires


def test_digest_and_comparison_mean_the_types_own_equality(database: str, tables: dict[str, str]) -> None:
    """Every pair of values of every type, compared with the type's operator or the stored bytes."""
    pairs = differing = 0
    with reading(database) as session:
        for sql_type, name in tables.items():
            column = probe(session, name).column("x")
            assert column is not None
            distinct = text(PG.expressions.null_safe_distinct(column, named("a", "x"), named("b", "x")))
            oracle = "NOT record_image_eq(ROW(a.x), ROW(b.x))"
            if column.comparison == "typed":
                oracle = "a.x IS DISTINCT FROM b.x"
            rows = session.rows(
                f"SELECT a.x::text AS one, b.x::text AS two, {distinct} AS found, {oracle} AS wanted, "
                f"{digest('a', column)} <> {digest('b', column)} AS hashed "
                f"FROM public.{name} AS a JOIN public.{name} AS b ON a.id <= b.id"
            )
            for r in rows:
                pairs += 1
                differing += r.wanted
                assert (r.found, r.hashed) == (r.wanted, r.wanted), (sql_type, r.one, r.two)
            equal = {(r.one, r.two) for r in rows if not r.wanted and r.one != r.two}
            assert equal <= EQUAL.get(sql_type, set()), sql_type
    assert pairs >= 3000
    assert differing >= 2500


def test_settings_of_the_role_change_nothing(database: str, tables: dict[str, str]) -> None:
    hostile = database.rsplit("/", 1)[1] + "_hostile"
    settings = {
        "DateStyle": "'SQL, DMY'",
        "IntervalStyle": "'sql_standard'",
        "TimeZone": "'America/New_York'",
        "extra_float_digits": "-3",
        "bytea_output": "'escape'",
        "search_path": "public, pg_catalog",
        "xmlbinary": "hex",
        "standard_conforming_strings": "off",
        "client_encoding": "'LATIN1'",
        "default_transaction_isolation": "'serializable'",
        "default_transaction_deferrable": "on",
        "statement_timeout": "1",
        "idle_in_transaction_session_timeout": "1",
        "transform_null_equals": "on",
        "quote_all_identifiers": "on",
        "row_security": "on",
        "array_nulls": "off",
    }
    sql(database, f"CREATE ROLE {hostile} LOGIN SUPERUSER")
    try:
        for name, value in settings.items():
            sql(database, f"ALTER ROLE {hostile} SET {name} = {value}")
        ours = everything(database, tables)
        theirs = everything(database.replace("//postgres@", f"//{hostile}@"), tables)
    finally:
        sql(database, f"DROP ROLE {hostile}")
    assert ours == theirs
    assert ours["date by the restriction"] == ["2001-02-03", True]  # year, month, day, as in sessions of Spark
    assert len(ours) == len(VALUES) + 1


def everything(url: str, tables: dict[str, str]) -> dict[str, Any]:
    found = {}
    with reading(url) as session:
        for sql_type, name in tables.items():
            column = probe(session, name).column("x")
            assert column is not None
            held = PG.expressions.fits_typed_sink(column, named("t", "x"))
            fits = text(held) if held is not None else "TRUE"
            form = text(PG.expressions.travel_form(column, named("t", "x")))
            canonical = text(PG.expressions.canonical_text(column, named("t", "x")))
            literal = text(
                PG.ranges.bound(replace(column, facts=(("storage_type", "text"),), collation=""), "a\\'\\b\\\\")
            )
            assert session.one(f"SELECT {literal}")[0] == "a\\'\\b\\\\"
            identity = (
                "''"
                if PG.catalog.key_problem(column)
                else text(PG.expressions.key_identity([(column, named("t", "x"))]))
            )
            rows = session.rows(
                f"SELECT {digest('t', column)}, {canonical}, {form}, {fits}, {identity} "
                f"FROM public.{name} AS t ORDER BY t.id"
            )
            found[sql_type] = [column, [[plain(v) for v in r] for r in rows]]
        # dates in a restriction of the user: neither driver sets the order of day and month
        found["date by the restriction"] = list(
            session.one("SELECT '01/02/03'::date::text, '1/2/3'::date < '2002-01-01'")
        )
    return found


def plain(value: Any) -> Any:
    if isinstance(value, memoryview):
        return bytes(value)
    return "NaN" if isinstance(value, float) and math.isnan(value) else value
