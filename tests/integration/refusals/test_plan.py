"""Tables, columns, keys, types and restrictions that `prepare` refuses.

It refuses them before it creates anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import qbcd
from qbcd.api import parts_of
from qbcd.config.sink_registry import BUILT_SINKS
from qbcd.demo.server import EmbeddedPostgres
from qbcd.errors import ConfigError, QbcdError, UnsafeKey, UnsupportedType
from tests.support import sql
from tests.support.project import config, opened
from tests.support.refusals import STRATEGIES, Place, new_place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = """
CREATE TABLE orders (id int PRIMARY KEY, region text, amount numeric(10,2), note text);
INSERT INTO orders SELECT i, 'EU', i, NULL FROM generate_series(1, 10) i;
CREATE TABLE nokey (a int, b text);
CREATE TABLE twice (a int, b text); INSERT INTO twice VALUES (1, 'x'), (1, 'y');
CREATE TABLE missing (a int, b text); INSERT INTO missing VALUES (NULL, 'x'), (2, 'y');
CREATE TABLE partly (a int, b int); INSERT INTO partly VALUES (1, 1), (1, NULL);
CREATE TABLE odd (id int PRIMARY KEY, acl aclitem, tree pg_node_tree, stats pg_mcv_list, acls aclitem[], j json,
                  p point, x xml, js jsonb, i interval, r int4range, a int[], b box);
CREATE TABLE canary (id int); INSERT INTO canary VALUES (1);
"""
ONE_EXPRESSION = "(write one boolean expression over the table's columns, such as  region = 'EU' AND amount > 0)"
UNORDERED = "has no total order that qbcd knows (choose other key columns)"
REFUSED_BY_SOURCE = (
    "(write one boolean expression over the table's columns, such as  region = 'EU' AND amount > 0; functions and "
    "types of the user's own need their schema)"
)


@pytest.fixture(scope="module")
def place(server: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with new_place(server, tmp_path_factory.mktemp("plan") / "project") as made:
        made.sql(TABLES)
        yield made


def refused(place: Place, kind: type[QbcdError], code: int, **table: Any) -> str:
    """Return the message with which `prepare` of a stream, configured in a file, is refused."""
    path = place.folder / "qbcd.yaml"
    written = config(place.admin, {"name": "s", "table": "public.orders", "strategy": "mds", **table})
    path.write_text(yaml.safe_dump(written, sort_keys=False))
    lines = path.read_text().splitlines()
    with qbcd.open(path) as project:
        assert parts_of(project).state.project_id  # the state database exists before and after
        message = place.refused(project.stream("s").prepare, kind, code)
    where, _, _ = message.partition(": ")
    assert where.startswith("qbcd.yaml:")
    key = message.split(": ")[1].rpartition(".")[2].split("[")[0]
    number = int(where.removeprefix("qbcd.yaml:"))
    assert lines[number - 1].strip("- ").startswith(f"{key}:") or key not in table, message
    return message.partition(": ")[2]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"table": "public.ordes"},
            "tables[0].table: table public.ordes does not exist in source shop, or the role may not see it "
            '(did you mean "public.orders"?)',
        ),
        (
            {"table": "sales.orders"},
            "tables[0].table: table sales.orders does not exist in source shop, or the role may not see it "
            '(did you mean "public.orders"?)',
        ),
        (
            {"columns": ["regoin"]},
            'tables[0].columns: column "regoin" does not exist in public.orders (did you mean "region"?)',
        ),
        (
            {"exclude": ["regoin"]},
            'tables[0].exclude: column "regoin" does not exist in public.orders (did you mean "region"?)',
        ),
        (
            {"key": ["order_id"]},
            'tables[0].key: column "order_id" does not exist in public.orders (there are id, region, amount, note)',
        ),
        (
            {"types": {"amont": "text"}},
            'tables[0].types: types names column "amont", which is not captured (did you mean "amount"?)',
        ),
    ],
)
def test_names_that_the_catalog_does_not_have(place: Place, table: dict[str, Any], message: str) -> None:
    assert refused(place, ConfigError, 2, **table) == message


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"table": "public.nokey"},
            "public.nokey has no primary key (name the columns that identify a row:  key: [col, ..]; or "
            "key: none, with id_rcs)",
        ),
        ({"key": ["j"]}, f"column 'j' cannot be part of a key: json {UNORDERED}"),
        ({"key": ["p"]}, f"column 'p' cannot be part of a key: point {UNORDERED}"),
        ({"key": ["x"]}, f"column 'x' cannot be part of a key: xml {UNORDERED}"),
        ({"key": ["b"]}, f"column 'b' cannot be part of a key: box {UNORDERED}"),
        (
            {"key": ["id", "js"]},
            "column 'js' cannot be part of a key: equal jsonb values can have different texts, and qbcd has no "
            "binary identity for them (choose other key columns)",
        ),
        (
            {"key": ["i"]},
            "column 'i' cannot be part of a key: equal interval values can have different texts, and qbcd has no "
            "binary identity for them (choose other key columns)",
        ),
        (
            {"key": ["a"]},
            "column 'a' cannot be part of a key: equal integer[] values can have different texts, and qbcd has no "
            "binary identity for them (choose other key columns)",
        ),
    ],
)
def test_keys_that_cannot_be_keys(place: Place, table: dict[str, Any], message: str) -> None:
    columns = {"columns": ["id"]} if "key" in table else {}
    said = refused(place, UnsafeKey, 3, **{"table": "public.odd", **table, **columns})
    assert said == f"tables[0].key: {message}"


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("table", "key"), [("twice", ["a"]), ("missing", ["a"]), ("partly", ["a", "b"])])
def test_keys_whose_values_are_no_keys(place: Place, strategy: str, table: str, key: list[str]) -> None:
    written = config(place.admin, {"name": "s", "table": f"public.{table}", "key": key, "strategy": strategy})
    with qbcd.Project.from_dict(written, base_dir=place.folder) as project:
        assert parts_of(project).state.project_id
        assert place.refused(project.stream("s").prepare, UnsafeKey, 3) == (
            f"stream s: key ({', '.join(key)}) has duplicate or NULL values in public.{table} "
            "(choose a key that is unique and never NULL, or fix the rows)"
        )


@pytest.mark.parametrize(
    ("column", "sql_type", "what"),
    [
        ("acl", "aclitem", "an access right, which names roles of this server only"),
        ("acls", "aclitem[]", "an access right, which names roles of this server only"),
        ("tree", "pg_node_tree", "an internal parse tree"),
        ("stats", "pg_mcv_list", "internal statistics"),
    ],
)
def test_types_that_cannot_travel_are_refused_by_name(place: Place, column: str, sql_type: str, what: str) -> None:
    assert refused(place, UnsupportedType, 3, table="public.odd", columns=[column]) == (
        f"tables[0].columns: column '{column}' of type {sql_type} cannot be captured: type {sql_type} is {what}; its "
        f"text cannot be read back (exclude: [{column}])"
    )


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("a = 1; drop table canary", "holds a semicolon"),
        ("true;", "holds a semicolon"),
        ("select 1", "is not one SQL expression"),
        ("(select true)", "is not one SQL expression"),
        ("true --", "holds a comment"),
        ("true --\n", "holds a comment"),
        ("true /* x */", "holds a comment"),
        ("true /*", "cannot be read as SQL"),
        ("'EU", "cannot be read as SQL"),
        ("(true", "has unbalanced brackets"),
        ("true)", "has unbalanced brackets"),
        ("true) OR (true", "has unbalanced brackets"),
        ("id = ANY(ARRAY[1)]", "has unbalanced brackets"),
        ("true ORDER BY id", "is not one SQL expression"),
        ("true UNION SELECT 1", "is not one SQL expression"),
        ("true GROUP BY id", "is not one SQL expression"),
        ("drop table canary", "is not one SQL expression"),
        ("id, region", "is not one SQL expression"),
        ("id AS x", "is not one SQL expression"),
    ],
)
def test_a_restriction_that_is_not_one_expression(place: Place, where: str, problem: str) -> None:
    assert refused(place, ConfigError, 2, where=where) == f"tables[0].where: the restriction {problem} {ONE_EXPRESSION}"
    assert place.sql("SELECT * FROM canary") == [(1,)]


@pytest.mark.parametrize(
    ("where", "said", "remedy"),
    [
        ("amount", "argument of WHERE must be type boolean, not type numeric", REFUSED_BY_SOURCE),
        ("1", "argument of WHERE must be type boolean, not type integer", REFUSED_BY_SOURCE),
        ("regoin = 'EU'", 'column "regoin" does not exist', '(did you mean "region"?)'),
        ("count(*) > 1", "aggregate functions are not allowed in WHERE", REFUSED_BY_SOURCE),
        ("max(amount) OVER () = amount", "window functions are not allowed in WHERE", REFUSED_BY_SOURCE),
        ("generate_series(1, 2) = 1", "set-returning functions are not allowed in WHERE", REFUSED_BY_SOURCE),
        ("region = 3", "operator does not exist: text = integer", REFUSED_BY_SOURCE),
        ("is_mine(region)", "function is_mine(text) does not exist", REFUSED_BY_SOURCE),
        ("1 / 0 = 1", "division by zero", REFUSED_BY_SOURCE),
        ("$1 = id", "there is no parameter $1", REFUSED_BY_SOURCE),
    ],
)
def test_a_restriction_that_the_source_does_not_take(place: Place, where: str, said: str, remedy: str) -> None:
    assert refused(place, ConfigError, 2, where=where) == (
        f"tables[0].where: the restriction is refused: source shop (HOST): {said} {remedy}"
    )


@pytest.mark.parametrize("where", ["region LIKE 'E%' AND note IS NULL", "region = ';--/*)' OR id = 1", "id % 2 = 0"])
def test_a_restriction_that_only_looks_odd_is_taken(place: Place, where: str) -> None:
    written = config(place.admin, {"name": "s", "table": "public.orders", "where": where, "strategy": "mds"})
    with qbcd.Project.from_dict(written, base_dir=place.folder) as project:
        assert project.stream("s").plan().where == where


@pytest.mark.parametrize(
    ("old", "new", "kind", "message"),
    [
        (
            "strategy: mds",
            "stratgy: mds",
            ConfigError,
            '19: tables[0].stratgy: unknown key "stratgy" (did you mean "strategy"?)',
        ),
        (
            "type: jsonl",
            "type: pulsar",
            ConfigError,
            f'7: sinks.changes.type: there is no sink type "pulsar" (there are {", ".join(BUILT_SINKS)})',
        ),
    ],
)
def test_configurations_that_are_refused(
    place: Place, old: str, new: str, kind: type[ConfigError], message: str
) -> None:
    path = Path(place.folder, "qbcd.yaml")
    table = {"name": "s", "table": "public.orders", "strategy": "mds"}
    path.write_text(yaml.safe_dump(config(place.admin, table), sort_keys=False).replace(old, new))
    assert place.refused(lambda: qbcd.open(path), kind, 2) == f"qbcd.yaml:{message}"


def test_a_restriction_on_a_type_whose_operators_lie_outside_the_catalog(
    database: str, spark: SparkSession, workspace: Path
) -> None:
    """With qbcd's own search_path a citext would compare as text, and case would matter."""
    sql(
        database,
        "CREATE EXTENSION citext; CREATE TABLE words (id int PRIMARY KEY, word citext); "
        "INSERT INTO words VALUES (1, 'A'), (2, 'b')",
    )

    def prepared(where: str) -> int:
        table = {"name": "words", "table": "public.words", "strategy": "mds", "where": where, "baseline": "events"}
        with opened(config(database, table), workspace, spark) as project:
            header = project.stream("words").prepare().header
            project.stream("words").reset(discard=True)
            return 0 if header is None else header.size

    with pytest.raises(ConfigError) as refusal:
        prepared("word = 'a'")
    assert str(refusal.value) == (
        'tables[0].where: the restriction uses column "word" of type public.citext, whose operators are in schema '
        "public, where qbcd's sessions do not look (write word::text, or name the operator: word OPERATOR(public.=) ..)"
    )
    assert prepared("word OPERATOR(public.=) 'a'") == 1
    assert prepared("word::text = 'a'") == 0
