"""Checks of a sink `database`: names, tables that exist, rights and other writers that a delivery would refuse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qbcd.model import PlannedBatch, Travel
from qbcd.sinks.table.sink import DatabaseSink
from tests.support.places import new_place, server_of
from tests.support.table_batches import FORMS, KEY, DrawnTable, batch_of, pieces, planned
from tests.support.table_targets import ServerPlace, TargetPlace, new_target

INT, TEXT = Travel("int32"), Travel("text")
CAMPAIGN = pytest.mark.campaign
PLAIN = planned({"id": INT, "v": TEXT})
WIDE = {"postgresql": "text", "mariadb": "longtext", "sqlite": "text", "duckdb": "VARCHAR"}
SERVERS = ["postgresql", "mariadb", "duckdb"]


@pytest.fixture(params=["postgresql", "mariadb", "sqlite", "duckdb"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TargetPlace]:
    with new_target(request.param, request, tmp_path) as place:
        yield place


@pytest.fixture(params=["sqlite", *(pytest.param(d, marks=pytest.mark.campaign) for d in SERVERS)])
def one(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TargetPlace]:
    """A target for what no database does in its own way; the others are in the campaign."""
    with new_target(request.param, request, tmp_path) as place:
        yield place


@pytest.fixture
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TargetPlace]:
    with new_target("sqlite", request, tmp_path) as place:
        yield place


def problems(target: TargetPlace, facts: PlannedBatch, **options: Any) -> list[str]:
    """Return what the check refuses, with remedies."""
    return [f"{one.what} ({one.remedy})" for one in DatabaseSink("copy", target.url, **options).problems(facts)]


def with_columns(*names: str, **facts: Any) -> PlannedBatch:
    return planned({"id": INT, **dict.fromkeys(names, TEXT)}, **facts)


# -- names -------------------------------------------------------------------------------------------------------------
NAMES = [
    ("n" * 64, {"postgresql": "has 64 bytes, and names in PostgreSQL have 63 at most"}),
    ("n" * 65, {"postgresql": "has 65 bytes", "mariadb": "has 65 characters, and names in MariaDB have 64 at most"}),
    ("я" * 40, {"postgresql": "has 80 bytes"}),
    ("😀", {"mariadb": "has the letter 😀, and names may have letters of at most three bytes"}),
    ("v ", {"mariadb": "ends with a space"}),
    ("DB_TRX_ID", {"mariadb": "is a name of InnoDB's own columns"}),
    ("ctid", {"postgresql": "conflicts with a system column name"}),
    ("qbcd_op", dict.fromkeys(WIDE, "one of the stream and one of qbcd's own")),
]


def test_names_of_columns_that_the_database_does_not_take(target: TargetPlace) -> None:
    for name, wrong in NAMES:
        if wanted := wrong.get(target.kind, ""):
            found = problems(target, with_columns(name))
            assert found, name
            assert wanted in found[0]
    fit = [name for name, wrong in NAMES if target.kind not in wrong]
    assert problems(target, with_columns(*fit)) == []


@pytest.mark.parametrize("pair", [("Total", "total"), ("É", "é"), pytest.param(("a.b", "a_b"), marks=CAMPAIGN)])
def test_two_columns_that_are_one_name_in_the_database(target: TargetPlace, pair: tuple[str, str]) -> None:
    one = {"Total": ("mariadb", "sqlite", "duckdb"), "É": ("mariadb",)}
    found = problems(target, with_columns(*pair))
    if target.kind in one.get(pair[0], ()):
        assert f"would have the columns {pair[0]} and {pair[1]}, which are one name" in found[0]
        return
    assert found == []
    sink = DatabaseSink("copy", target.url)
    row = {"id": 1, **dict(zip(pair, "xy", strict=True))}
    columns = tuple((name, INT if name == "id" else TEXT) for name in row)
    created = {"op": "c", "key": {"id": 1}, "before": None, "after": row, "changed": None}
    sink.write(batch_of([created], 1, key=("id",), columns=columns))
    named = ", ".join(map(target.quote, pair))
    assert target.sql(f"SELECT {named} FROM public_orders") == [("x", "y")]


@pytest.mark.parametrize(
    ("table", "wrong"),
    [
        ("t" * 64, {"postgresql": "has 64 bytes"}),
        ("QBCD_Sink", dict.fromkeys(("sqlite", "duckdb"), "is that of a table of qbcd's own")),
        ("qbcd_stage", dict.fromkeys(WIDE, "is that of a table of qbcd's own")),
        ("sqlite_t", {"sqlite": "begins with sqlite_, which is reserved in SQLite"}),
        ("t ", {"mariadb": "ends with a space"}),
    ],
)
def test_names_of_tables_that_the_database_does_not_take(
    target: TargetPlace, table: str, wrong: dict[str, str]
) -> None:
    found = problems(target, PLAIN, table=table)
    assert bool(found) == (target.kind in wrong), found
    assert not found or wrong[target.kind] in found[0], found


# -- tables that exist -------------------------------------------------------------------------------------------------
OWN = "CREATE TABLE public_orders (id {int} PRIMARY KEY, v {text}{more}){end}"
CASES = [
    ("more, n int NOT NULL", "column n of table public_orders is NOT NULL without a default"),
    ("more, n int NOT NULL DEFAULT 1", ""),
    ("more, g int GENERATED ALWAYS AS (1 + 1){stored}", ""),
    ("v int", "column v of table public_orders has type int"),
    ("v {text} NOT NULL", "column v of table public_orders is NOT NULL, and the stream's can be NULL"),
    ("v {text} GENERATED ALWAYS AS ('x'){stored}", "column v of table public_orders is a generated one"),
    ("CREATE VIEW public_orders AS SELECT 1 AS id", "public_orders is a view, and batches need a table"),
    ("CREATE TABLE public_orders (id {int}, v {text}){end}", "table public_orders has no primary key on (id)"),
]


def test_a_table_that_exists_is_judged_before_the_first_row(target: TargetPlace) -> None:
    """All problems are found at once; the catalog is as before."""
    make(target, "more, n int NOT NULL, g int GENERATED ALWAYS AS (1 + 1){stored}, d int NOT NULL DEFAULT 1")
    before = target.sql(f"SELECT count(*) FROM {_catalog(target)}")
    found = problems(target, planned({"id": INT, "v": Travel("float64"), "g": INT}))
    assert len(found) == 3
    assert found[0].startswith(f"sink copy: column v of table public_orders has type {WIDE[target.kind].lower()}")
    assert "column g of table public_orders is a generated one, which takes no values" in found[1]
    assert "column n of table public_orders is NOT NULL without a default" in found[2]
    assert target.sql(f"SELECT count(*) FROM {_catalog(target)}") == before


@pytest.mark.parametrize(("ddl", "what"), CASES, ids=[case for case, _ in CASES])
def test_what_a_table_that_exists_may_have(one: TargetPlace, ddl: str, what: str) -> None:
    make(one, ddl)
    found = problems(one, PLAIN)
    assert (len(found) == 1 and what in found[0]) if what else found == []
    assert what == "" or "(" in found[0]  # a remedy


def make(target: TargetPlace, ddl: str) -> None:
    """Create the table of a case: a whole statement, a column `v`, or more columns."""
    words = {
        "int": "INTEGER" if target.kind in ("sqlite", "duckdb") else "int",
        "text": WIDE[target.kind],
        "stored": " STORED" if target.kind == "postgresql" else "",
        "end": " ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin" * (target.kind == "mariadb"),
    }
    if not ddl.startswith("CREATE"):
        more = ddl.removeprefix("more") if ddl.startswith("more") else ""
        column = "v {text}" if more else ddl
        ddl = f"CREATE TABLE public_orders (id {{int}} PRIMARY KEY, {column}{more}){{end}}"
    target.sql(ddl.format(**words))


def _catalog(target: TargetPlace) -> str:
    return {"sqlite": "sqlite_master", "mariadb": "information_schema.tables WHERE table_schema = database()"}.get(
        target.kind, "information_schema.tables"
    )


ONE_DATABASE = [
    ("postgresql", "CREATE UNLOGGED TABLE public_orders (id int PRIMARY KEY, v text)", "is UNLOGGED"),
    ("postgresql", "CREATE MATERIALIZED VIEW public_orders AS SELECT 1 AS id", "is a materialized view"),
    ("postgresql", "CREATE SEQUENCE public_orders", "is a sequence"),
    ("postgresql", "CREATE TABLE public_orders (id int, v text) PARTITION BY RANGE (id)", "has no primary key on (id)"),
    (
        "postgresql",
        "CREATE TABLE public_orders (id int, v text); CREATE UNIQUE INDEX ON public_orders (id) WHERE id > 0",
        "has no primary key on (id)",
    ),
    (
        "postgresql",
        "CREATE TABLE public_orders (id int PRIMARY KEY, v text); "
        "CREATE RULE r AS ON INSERT TO public_orders DO INSTEAD NOTHING",
        "has rules",
    ),
    ("postgresql", "CREATE TABLE public_orders (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v text)", ""),
    (
        "mariadb",
        "CREATE TABLE public_orders (id int PRIMARY KEY, v longtext) ENGINE = MyISAM CHARSET = utf8mb4 "
        "COLLATE = utf8mb4_nopad_bin",
        "is of engine MyISAM, which has no transactions",
    ),
    (
        "mariadb",
        "CREATE TABLE public_orders (id int PRIMARY KEY, v varchar(9)) CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin",
        "and the stream's values can be longer than 9",
    ),
    (
        "mariadb",
        "CREATE TABLE public_orders (id int PRIMARY KEY, v longtext) CHARSET = utf8mb4 COLLATE = utf8mb4_general_ci",
        "has type longtext collate utf8mb4_general_ci",
    ),
    ("mariadb", "CREATE SEQUENCE public_orders", "is a sequence"),
    ("sqlite", "CREATE TABLE public_orders (id INTEGER PRIMARY KEY, v TEXT COLLATE NOCASE)", "has type text collate"),
    ("sqlite", "CREATE VIRTUAL TABLE public_orders USING fts5 (id, v)", "is a virtual table"),
    ("sqlite", "CREATE TABLE PUBLIC_ORDERS (ID INTEGER PRIMARY KEY, V TEXT)", ""),
    ("duckdb", "CREATE TABLE public_orders (id INTEGER PRIMARY KEY, v VARCHAR COLLATE NOCASE)", "has type varchar"),
    ("duckdb", "CREATE TABLE Public_Orders (ID INTEGER PRIMARY KEY, V VARCHAR)", ""),
]


@pytest.mark.parametrize(("kind", "ddl", "what"), ONE_DATABASE)
def test_what_one_database_has(kind: str, ddl: str, what: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with new_target(kind, request, tmp_path) as target:
        target.sql(ddl)
        found = problems(target, PLAIN)
        assert what in found[0] if what else not found, found


def test_the_length_of_a_column_is_that_of_the_source(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """MariaDB has texts with a limit, and values that are longer would be refused one by one."""
    with new_target("mariadb", request, tmp_path) as target:
        end = "CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin"
        target.sql(f"CREATE TABLE public_orders (id int PRIMARY KEY, v varchar(9)) {end}")
        assert problems(target, replace(PLAIN, longest={"v": 9})) == []
        assert "longer than 9" in problems(target, replace(PLAIN, longest={"v": 10}))[0]


def test_a_unique_constraint_that_some_batches_violate(target: TargetPlace) -> None:
    make(target, "more, u int")
    target.sql("CREATE UNIQUE INDEX one_u ON public_orders (u)")
    facts = planned({"id": INT, "v": TEXT, "u": INT})
    (found,) = problems(target, replace(facts, consistency="range"))
    assert "has a unique constraint on (u), and two of its rows can have the same value" in found


@pytest.mark.parametrize("options", [{"mode": "log"}, {}, {"deletes": "soft"}, {"mode": "scd2"}])
def test_a_table_that_does_not_exist_is_proven_in_each_mode(target: TargetPlace, options: dict[str, Any]) -> None:
    assert problems(target, PLAIN, **options) == []


def test_a_column_that_is_missing_is_tried_and_undone(target: TargetPlace) -> None:
    make(target, "CREATE TABLE public_orders (id {int} PRIMARY KEY){end}")
    assert problems(target, PLAIN) == []
    target.sql("INSERT INTO public_orders VALUES (1)")  # one column still


# -- what is left, and other writers -----------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_file_that_does_not_exist_is_not_created(kind: str, tmp_path: Path) -> None:
    sink = DatabaseSink("copy", f"{kind}:///{tmp_path / 'warehouse.db'}")
    assert sink.problems(PLAIN) == []
    sink.check()
    assert list(tmp_path.iterdir()) == []
    missing = DatabaseSink("copy", f"{kind}:///{tmp_path / 'none' / 'warehouse.db'}")
    with pytest.raises(Exception, match="create the folder"):
        missing.problems(PLAIN)


def test_the_table_of_another_stream_or_project_is_named(file: TargetPlace) -> None:
    ((batch, _),) = pieces(DrawnTable(3), 1)
    first = DatabaseSink("copy", file.url, table="Orders")
    first.project_id = "aaaa"
    first.write(batch)
    facts = planned(dict(FORMS), KEY)
    other = DatabaseSink("copy", file.url, table="orders")  # one table in SQLite
    other.project_id = "bbbb"
    (found,) = other.problems(facts)
    assert "table orders belongs to sink copy of stream orders of another project, aaaa" in found.what
    other.project_id = "aaaa"
    (found,) = other.problems(replace(facts, stream="other"))
    assert "table orders belongs to sink copy of stream orders" in found.what
    assert first.problems(facts) == []


def test_a_table_with_the_name_of_the_records_is_left_alone(target: TargetPlace) -> None:
    target.sql("CREATE TABLE qbcd_sink (a int)")
    (found,) = problems(target, PLAIN)
    assert "qbcd_sink has no column project: it is not the table in which qbcd records its batches" in found


# -- rights ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_rights_that_the_first_batch_needs(kind: str, request: pytest.FixtureRequest) -> None:
    """The remedy of each refusal is run, until none is left; then batches are delivered."""
    with new_place(server_of(request, kind), kind) as place, place.user("pw") as user:
        if kind == "postgresql":
            place.sql(f"REVOKE ALL ON SCHEMA public FROM PUBLIC; REVOKE TEMP ON DATABASE {place.name} FROM PUBLIC")
        else:
            place.sql(f"GRANT SHOW VIEW ON {place.name}.* TO {user}")  # so that it may connect
        sink = DatabaseSink("copy", place.url_as(user, "pw"))
        facts, granted = planned(dict(FORMS), KEY), list[str]()
        while found := sink.problems(facts):
            remedy = found[0].remedy.replace("the account that SELECT CURRENT_USER() returns", user)
            granted.append(remedy)
            place.sql(remedy)
            assert len(granted) < 5, granted
        assert "CREATE" in granted[0]
        target = new_server_place(place)
        for batch, rows in pieces(DrawnTable(3), 3):
            sink.write(batch)
            assert target.state() == target.of(rows)


def new_server_place(place: Any) -> ServerPlace:
    from tests.support.table_targets import FamilyPlace, PostgresTargetPlace

    return PostgresTargetPlace(place) if place.kind == "postgresql" else FamilyPlace(place)


def test_a_server_that_is_read_only(request: pytest.FixtureRequest) -> None:
    with new_place(server_of(request, "mariadb"), "mariadb") as place, place.user("pw") as user:
        place.sql(f"GRANT ALL ON {place.name}.* TO {user}")
        sink = DatabaseSink("copy", place.url_as(user, "pw"))
        assert sink.problems(PLAIN) == []
        place.sql("SET GLOBAL read_only = 1")
        try:
            (found,) = sink.problems(PLAIN)
        finally:
            place.sql("SET GLOBAL read_only = 0")
    assert "is read-only, probably a replica" in found.what


def test_row_level_security_that_applies_to_the_role(request: pytest.FixtureRequest) -> None:
    with new_place(server_of(request, "postgresql"), "postgresql") as place, place.user("pw") as user:
        place.sql(f"GRANT ALL ON SCHEMA public TO {user}; CREATE TABLE public_orders (id int PRIMARY KEY, v text)")
        place.sql(f"ALTER TABLE public_orders ENABLE ROW LEVEL SECURITY; GRANT ALL ON public_orders TO {user}")
        sink = DatabaseSink("copy", place.url_as(user, "pw"))
        (found,) = sink.problems(PLAIN)
        assert f"has row level security that applies to role {user}" in found.what
        place.sql(f"ALTER TABLE public_orders OWNER TO {user}")
        assert sink.problems(PLAIN) == []
