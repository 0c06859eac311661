"""Delete flags: the types that can be one, and the values that mean "deleted"."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from qbcd.connectors.watermarks import SupportsDeleteFlags
from tests.support.places import Place, configured, over
from tests.support.project import config, opened
from tests.support.watched_polls import AT, stamped, word
from tests.support.watermark_cases import column_of, compiled, connector_of, plan_of, probed, rows, session

PLAIN = "id integer PRIMARY KEY, gone boolean NOT NULL, at {at}"


def family(place: Place) -> str:
    return "postgresql" if place.kind == "postgresql" else "family"


FLAGS: dict[str, list[tuple[str, Any, list[str], list[str]]]] = {  # type, literal, flags, others
    "postgresql": [
        ("boolean", True, ["true"], ["false"]),
        ("boolean", False, ["false"], ["true"]),
        ("smallint", 1, ["1"], ["0", "2"]),
        ("bigint", -1, ["-1"], ["1"]),
        ("numeric(3)", 2, ["2"], ["1"]),
        ("text", "T", ["T"], ["t", "", "T "]),
        ("varchar(4)", "it's", ["it's"], ["T"]),
        ("char(1)", "T", ["T"], ["F"]),
        ("char(3)", "T", ["T", "T  "], ["F"]),
        ('text COLLATE "C"', "T", ["T"], ["t"]),
        ("public.citext", "t", ["T", "t"], ["F"]),
        ("text", "%s\\", ["%s\\"], ["%%s\\"]),
    ],
    "family": [
        ("tinyint(1)", True, ["1", "2"], ["0"]),
        ("tinyint(1)", False, ["0"], ["1"]),
        ("bit(1)", True, ["1"], ["0"]),
        ("int", 1, ["1"], ["0", "2"]),
        ("decimal(3)", -2, ["-2"], ["2"]),
        ("char(1)", "T", ["T", "t"], ["F"]),
        ("varchar(9) COLLATE utf8mb4_bin", "T", ["T"], ["t"]),
        ("enum('T','F')", "T", ["T"], ["F"]),
        ("varchar(9) CHARACTER SET latin1", "ü", ["ü"], ["u "]),
        ("text", "%s\\'{0}", ["%s\\'{0}"], ["x"]),
    ],
}


@over()
def test_a_flag_says_deleted_by_its_literal_and_null_does_not(place: Place) -> None:
    if place.kind == "postgresql":
        place.sql("CREATE EXTENSION citext")
    cases = FLAGS[family(place)]
    for number, (sql_type, literal, yes, no) in enumerate(cases):
        place.sql(f"CREATE TABLE f{number} (k integer PRIMARY KEY, {place.quote('fl%a')} {sql_type})")
        for k, text in enumerate([*yes, *no, None]):
            value: Any = None if text is None else text
            if value is not None and sql_type.startswith("bit"):
                value = int(value)
            place.sql(f"INSERT INTO f{number} VALUES (%s, %s)", [k, value])
        table, connector = probed(place, f"f{number}"), connector_of(place)
        column = column_of(table, "fl%a")
        assert connector.require(SupportsDeleteFlags).flag_problem(column, literal) == ""
        plan = plan_of(table, deleted_value=literal)
        with session(place) as reading:
            query = (
                "SELECT k, CASE WHEN QBCD_FLAGGED('fl%a', t.\"fl%a\") THEN 1 ELSE 0 END AS d, "
                "CASE WHEN NOT QBCD_FLAGGED('fl%a', \"fl%a\") THEN 0 ELSE 1 END AS e FROM {t} AS t"
            )
            for said in (compiled(place, plan, query), compiled(place, plan, f"{query} WHERE 1 = :one", one=1)):
                found = {int(k): (d, e) for k, d, e in rows(reading, said)}
                assert found == {k: (int(k < len(yes)),) * 2 for k in range(len(yes) + len(no) + 1)}, sql_type


@over("letters", ["n", "ü"], elsewhere=["n"])
def test_the_view_of_a_table_with_a_long_name(place: Place, workspace: Path, letters: str) -> None:
    """A DBA can run the printed statement, and the view shows the application no flagged row."""
    limit = connector_of(place).identifier_limit
    name = (letters * limit).encode()[:limit].decode(errors="ignore")
    place.sql(f"CREATE TABLE {place.quote(name)} ({PLAIN.format(at=word(place, AT))})")
    place.sql(f"INSERT INTO {place.quote(name)} (id, gone) VALUES (1, true), (2, false)")
    table = {"name": "s", "table": configured(place.schema, name), "strategy": stamped(place, "tdi")}
    with opened(config(place.url, table), workspace) as project:
        (view,) = [statement for statement in project.stream("s").ddl() if " VIEW " in statement]
    place.sql(view)
    found = re.search(r"VIEW (\S+) AS", view)
    assert found is not None
    assert "_live" in found[1]
    assert place.sql(f"SELECT id FROM {found[1]}") == [(2,)]


WRONG: dict[str, list[tuple[str, Any, str]]] = {
    "postgresql": [
        ("boolean", "T", "true or false"),
        ("boolean", 1, "true or false"),
        ("integer", True, "whole number"),
        ("integer", "1", "whole number"),
        ("text", True, "with a text"),
        ("text", 1, "with a text"),
        ("date", True, "cannot be a delete flag"),
        ("real", 1, "cannot be a delete flag"),
        ("char(1)", "yes", "cannot hold 'yes'"),
        ("text", "a\0", "cannot hold"),
    ],
    "family": [
        ("int", True, "whole number"),
        ("tinyint(1)", "T", "whole number"),
        ("varchar(3)", 1, "with a text"),
        ("datetime", True, "cannot be a delete flag"),
        ("char(1)", "yes", "cannot hold 'yes'"),
        ("double", 1, "cannot be a delete flag"),
    ],
}


@over(elsewhere=[])
def test_a_flag_of_another_type_than_its_literal_is_refused(place: Place) -> None:
    cases = WRONG[family(place)]
    names = [f"c{i}" for i in range(len(cases))]
    columns = ", ".join(f"{name} {case[0]}" for name, case in zip(names, cases, strict=True))
    place.sql(f"CREATE TABLE t (k integer PRIMARY KEY, {columns})")
    table, connector = probed(place), connector_of(place)
    for name, (sql_type, literal, why) in zip(names, cases, strict=True):
        column = column_of(table, name)
        assert why in connector.require(SupportsDeleteFlags).flag_problem(column, literal), sql_type
        with pytest.raises(ValueError, match="delete flag"):
            compiled(place, plan_of(table, deleted_value=literal), f"SELECT QBCD_FLAGGED('{name}', {name}) FROM {{t}}")
