"""The same refusals on every database: class, exit code, place, remedy; nothing changes."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

import qbcd
from qbcd.errors import (
    ConfigError,
    GuardTripped,
    MissingPrivilege,
    QbcdError,
    SchemaChanged,
    SourceError,
    UnsafeKey,
    UnsupportedType,
)
from qbcd.state import ProjectState
from tests.support import places
from tests.support.places import configured, over, server_of
from tests.support.project import config
from tests.support.refusals import STRATEGIES, Place, new_place, polled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = """
CREATE TABLE orders (id integer PRIMARY KEY, region varchar(20), amount decimal(10,2), note varchar(20));
CREATE TABLE loose (k integer, part integer, x varchar(20));
CREATE TABLE nokey (a integer, b varchar(9));
CREATE TABLE twice (a integer, b varchar(9)); INSERT INTO twice VALUES (1, 'x'), (1, 'y');
CREATE TABLE missing (a integer, b varchar(9)); INSERT INTO missing VALUES (NULL, 'x'), (2, 'y');
CREATE TABLE partly (a integer, b integer); INSERT INTO partly VALUES (1, 1), (1, NULL);
CREATE TABLE mine (a integer PRIMARY KEY, QBCD_In varchar(9));
CREATE TABLE canary (id integer); INSERT INTO canary VALUES (1)
"""
ORDERS = [(i, "EU", i, None) for i in range(1, 21)]
LOOSE = [(i, i, "x") for i in range(1, 6)]


class Stage:
    """One place per kind of database with a project whose streams are prepared, made on demand."""

    def __init__(self, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.request, self.tmp_path_factory = request, tmp_path_factory
        self.left = ExitStack()
        self.places: dict[str, Place] = {}
        self.projects: dict[str, qbcd.Project] = {}

    def place(self, kind: str) -> Place:
        if kind not in self.places:
            folder = self.tmp_path_factory.mktemp(kind) / "project"
            place = self.left.enter_context(new_place(server_of(self.request, kind), folder, kind))
            place.sql(TABLES)
            place.there.insert("orders", ORDERS)
            place.there.insert("loose", LOOSE)
            with ProjectState(f"sqlite:///{place.folder}/s.db") as state:  # exists before and after
                assert state.project_id
            self.places[kind] = place
        return self.places[kind]

    def project(self, kind: str, spark: SparkSession) -> qbcd.Project:
        if kind not in self.projects:
            place = self.place(kind)
            opened = qbcd.Project.from_dict(prepared(place), spark=spark, base_dir=place.folder)
            self.projects[kind] = self.left.enter_context(opened)
            for stream in opened.streams:
                stream.prepare()
        return self.projects[kind]


@pytest.fixture(scope="module")
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(request, tmp_path_factory)
    with made.left:
        yield made


def prepared(place: Place) -> dict[str, Any]:
    """Return streams <strategy> over orders and <strategy>_loose over loose."""
    tables = [{"name": s, "table": place.there.table("orders"), "strategy": s} for s in STRATEGIES]
    loose = {"table": place.there.table("loose"), "key": ["k", "part"]}
    data = config(place.admin, *tables, *({"name": f"{s}_loose", "strategy": s, **loose} for s in STRATEGIES))
    data["defaults"]["guards"] = {"max_delete_fraction": 0.25}
    return data


def refused(
    place: Place, action: Callable[[], object], kind: type[QbcdError], *parts: str, where: str = "stream "
) -> None:
    """Run `action`, which must be refused by an error of exactly `kind` and change nothing.

    The message must begin with `where`, contain `parts`, and have a remedy.
    """
    with place.unmoved(), pytest.raises(QbcdError) as caught:
        action()
    error = caught.value
    message = place.plain(error)
    assert type(error) is kind, f"{type(error).__name__}: {message}"
    assert message.startswith(where), message
    assert error.remedy, message
    for part in parts:
        assert part in message, message


def prepare(place: Place, table: dict[str, Any], **more: Any) -> Callable[[], object]:
    """Return a function that prepares a stream in a project of its own."""

    def work() -> None:
        written = config(more.pop("url", place.admin), {"name": "s", **table}, state="sqlite:///s.db", **more)
        with qbcd.Project.from_dict(written, base_dir=place.folder) as project:
            project.stream("s").prepare()

    return work


# -- prepare -----------------------------------------------------------------------------------------------------------
UNPLANNED: dict[str, tuple[dict[str, Any], type[QbcdError], tuple[str, ...]]] = {
    "no such table": ({"table": "ordes"}, ConfigError, ("tables[0].table: ", 'did you mean "{schema}.orders"?')),
    "no such schema": (
        {"schema": "no_such", "table": "orders"},
        ConfigError,
        ("tables[0].table: ", "table no_such.orders does not exist"),
    ),
    "no such column": ({"columns": ["regoin"]}, ConfigError, ('tables[0].columns: column "regoin"', '"region"?')),
    "no such exclusion": ({"exclude": ["regoin"]}, ConfigError, ('tables[0].exclude: column "regoin"', '"region"?')),
    "no such key": ({"key": ["order_id"]}, ConfigError, ('tables[0].key: column "order_id"', "there are id, region")),
    "no key": ({"table": "nokey"}, UnsafeKey, ("tables[0].key: ", "has no primary key", "key: [col, ..]")),
    "duplicate keys": ({"table": "twice", "key": ["a"]}, UnsafeKey, ("stream s: key (a) has duplicate or NULL",)),
    "NULL key": ({"table": "missing", "key": ["a"]}, UnsafeKey, ("stream s: key (a) has duplicate or NULL",)),
    "half NULL key": ({"table": "partly", "key": ["a", "b"]}, UnsafeKey, ("stream s: key (a, b) has duplicate or",)),
    "semicolon": ({"where": "id = 1; DROP TABLE canary"}, ConfigError, ("tables[0].where: ", "holds a semicolon")),
    "comment": ({"where": "id = 1 -- x"}, ConfigError, ("tables[0].where: ", "holds a comment")),
    "block comment": ({"where": "id = 1 /* x */"}, ConfigError, ("tables[0].where: ", "holds a comment")),
    "brackets": ({"where": "id = 1) OR (id = 2"}, ConfigError, ("tables[0].where: ", "has unbalanced brackets")),
    "union": ({"where": "true UNION SELECT 1"}, ConfigError, ("tables[0].where: ", "is not one SQL expression")),
    "statement": ({"where": "drop table canary"}, ConfigError, ("tables[0].where: ", "is not one SQL expression")),
    "unknown column": (
        {"where": "regoin = 'EU'"},
        ConfigError,
        ("tables[0].where: ", "HOST", '(did you mean "region"?)'),
    ),
    "unknown function": ({"where": "is_mine(region)"}, ConfigError, ("tables[0].where: ", "HOST", "is_mine")),
    "aggregate": ({"where": "count(*) > 1"}, ConfigError, ("tables[0].where: ", "HOST", "(write one boolean")),
    "name of qbcd's own": (
        {"table": "mine"},
        UnsupportedType,
        ("tables[0].columns: ", "has a name that qbcd's own statements use"),
    ),
    "unknown type": ({"types": {"amount": "int"}}, ConfigError, ("tables[0].types",)),
}


@over("case", UNPLANNED, new=False)
def test_tables_that_cannot_be_planned(kind: str, case: str, stage: Stage) -> None:
    place = stage.place(kind)
    table, error, parts = UNPLANNED[case]
    schema, name = table.get("schema", place.there.schema), table.get("table", "orders")
    given = {k: v for k, v in table.items() if k != "schema"} | {"table": configured(schema, name)}
    said = [part.format(schema=place.there.schema.replace(place.database, "DATABASE")) for part in parts]
    for strategy in STRATEGIES:
        action = prepare(place, {**given, "strategy": strategy})
        refused(place, action, error, *said, where="tables[0]" if said[0].startswith("tables") else "stream s: ")
    assert place.sql("SELECT * FROM canary") == [(1,)]


@over(new=False, elsewhere=[])
def test_rights_that_are_missing(kind: str, stage: Stage, spark: SparkSession) -> None:
    place = stage.place(kind)
    there = place.there
    orders = {"table": there.table("orders"), "columns": ["region", "amount"]}
    with there.user() as user:
        url = place.url_as(user)
        there.grant("SELECT", "canary", user)  # a role may connect if it has some right there
        for strategy in STRATEGIES:
            table = {**orders, "strategy": strategy}
            # the other servers hide the tables that a role may not read
            kind_of = MissingPrivilege if kind == "postgresql" else ConfigError
            refused(place, prepare(place, table, url=url), kind_of, "orders", where="tables[0].table: ")
            there.grant("SELECT (id, region)", "orders", user)
            refused(place, prepare(place, table, url=url), kind_of, "amount", where="tables[0].")
            there.revoke("SELECT (id, region)", "orders", user)
        there.grant("SELECT", "orders", user)
        said = ("no right to create tables in schema", "qbcd prepare s --dry-run prints the DDL for a DBA", "id_rcs")
        refused(place, prepare(place, {**orders, "strategy": "mds"}, url=url), MissingPrivilege, *said)
        written = config(url, {"name": "few_rights", **orders, "strategy": "id_rcs"})
        with qbcd.Project.from_dict(written, spark=spark, base_dir=place.folder) as project:
            project.stream("few_rights").prepare()
            place.sql("UPDATE orders SET region = 'US' WHERE id = 1")
            assert polled(project, "few_rights") == [{"u": 1}]
            place.sql("UPDATE orders SET region = 'EU' WHERE id = 1")
            assert polled(project, "few_rights") == [{"u": 1}]
            there.revoke("SELECT", "orders", user)
            seen, where = (
                (MissingPrivilege, "tables[0].table: ") if kind == "postgresql" else (SchemaChanged, "stream ")
            )
            refused(place, lambda: polled(project, "few_rights"), seen, "orders", where=where)


@over(new=False)
def test_the_ddl_that_a_dba_runs_is_all_that_mds_needs(kind: str, stage: Stage) -> None:
    place = stage.place(kind)
    there = place.there
    source = {"schema": f"{there.own_schema}_dba"}
    with there.user() as user:
        there.grant("SELECT", "orders", user)
        table = {"name": "dba", "table": there.table("orders"), "strategy": "mds"}
        written = config(place.url_as(user), table, state="sqlite:///dba.db", source=source)
        with qbcd.Project.from_dict(written, base_dir=place.folder) as project:
            place.sql(";\n".join(project.stream("dba").ddl()))
            project.stream("dba").prepare()
            assert polled(project, "dba") == []


UNREACHED: dict[str, tuple[Callable[[places.Place], str], type[QbcdError], tuple[str, ...]]] = {
    "closed port": (
        lambda there: there.url.replace(there.host, f"127.0.0.1:{closed_port()}"),
        SourceError,
        ("source shop (127.0.0.1:", "cannot be reached: ", "(check host, port, network and TLS settings"),
    ),
    "unknown host": (
        lambda there: there.url.replace(there.host, "no-such-host.invalid:5432"),
        SourceError,
        ("source shop (no-such-host.invalid:5432) cannot be reached: ", "(check host, port, network and TLS settings"),
    ),
    "unknown user": (
        lambda there: there.url_as("nobody_here", "wr0ng"),
        SourceError,
        ("source shop (HOST): ", "nobody_here", "(check the user and the password of the source"),
    ),
    "unknown database": (
        lambda there: there.at("no_such_db").url,
        ConfigError,
        ("source shop (HOST): ", "no_such_db", "(check the database in the source's url)"),
    ),
}


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@over("case", UNREACHED, new=False)
def test_sources_that_cannot_be_reached(kind: str, case: str, stage: Stage) -> None:
    place = stage.place(kind)
    made, error, parts = UNREACHED[case]
    table = {"table": "orders"}
    for strategy in STRATEGIES:
        action = prepare(place, {**table, "strategy": strategy}, url=made(place.there))
        refused(place, action, error, *parts, where="sources.shop: " if error is ConfigError else "stream s: ")


# -- a prepared stream -------------------------------------------------------------------------------------------------
CHANGED: dict[str, tuple[str, str, type[QbcdError], tuple[str, ...]]] = {
    "column dropped": (
        "ALTER TABLE orders DROP COLUMN note",
        "ALTER TABLE orders ADD COLUMN note varchar(20)",
        SchemaChanged,
        ("captured column 'note' of ", " does not exist any more ", "(qbcd reset "),
    ),
    "column renamed": (
        "ALTER TABLE orders RENAME COLUMN region TO area",
        "ALTER TABLE orders RENAME COLUMN area TO region",
        SchemaChanged,
        ("captured column 'region' of ", " does not exist any more ", "(qbcd reset "),
    ),
    "column retyped": (
        "RETYPE amount decimal(12,3)",
        "RETYPE amount decimal(10,2)",
        SchemaChanged,
        ("captured column 'amount' of ", "(12,3)", "(10,2)", "(qbcd reset "),
    ),
    "key retyped": (
        "RETYPE id smallint",
        "RETYPE id integer",
        SchemaChanged,
        ("captured column 'id' of ", "smallint", "(qbcd reset "),
    ),
    "table renamed": (
        "ALTER TABLE orders RENAME TO orders_of_old",
        "ALTER TABLE orders_of_old RENAME TO orders",
        SchemaChanged,
        ("orders does not exist any more, or the role may not see it", "; if not, qbcd reset "),
    ),
}


@over("case", CHANGED, new=False, elsewhere=[])
def test_a_table_that_changed(kind: str, case: str, stage: Stage, spark: SparkSession) -> None:
    place, project = stage.place(kind), stage.project(kind, spark)
    do, undo, error, parts = CHANGED[case]
    place.sql(ddl(place, do))
    try:
        for strategy in STRATEGIES:
            refused(place, lambda s=strategy: polled(project, s), error, *parts)  # type: ignore[misc]
            with pytest.raises(error):
                project.stream(strategy).verify()
    finally:
        place.sql(ddl(place, undo))
    assert [polled(project, strategy) for strategy in STRATEGIES] == [[], []]


def ddl(place: Place, text: str) -> str:
    word, _, rest = text.partition(" ")
    return place.there.retype("orders", *rest.split()) if word == "RETYPE" else text


@over("row", [(3, 3, "again"), (3, None, "again"), (None, None, "again")], new=False, elsewhere=[])
def test_keys_that_became_invalid(kind: str, row: tuple[Any, ...], stage: Stage, spark: SparkSession) -> None:
    place, project = stage.place(kind), stage.project(kind, spark)
    place.there.insert("loose", [row])
    try:
        for strategy in STRATEGIES:
            parts = ("key (k, part) has duplicate or NULL values in ", "(choose a key that is unique and never NULL")
            refused(place, lambda s=strategy: polled(project, f"{s}_loose"), UnsafeKey, *parts)  # type: ignore[misc]
    finally:
        place.sql("DELETE FROM loose WHERE x = 'again'")
    assert [polled(project, f"{strategy}_loose") for strategy in STRATEGIES] == [[], []]


@over(new=False, elsewhere=[])
def test_guards(kind: str, stage: Stage, spark: SparkSession) -> None:
    place, project = stage.place(kind), stage.project(kind, spark)
    remedy = "--accept-deletes"
    place.sql("DELETE FROM orders")
    for strategy in STRATEGIES:
        parts = ("the source is empty now and held 20 rows before", remedy)
        refused(place, lambda s=strategy: polled(project, s), GuardTripped, *parts)  # type: ignore[misc]
    place.there.insert("orders", ORDERS)
    assert [polled(project, strategy) for strategy in STRATEGIES] == [[], []]
    place.sql("DELETE FROM orders WHERE id <= 6")
    for strategy in STRATEGIES:
        parts = ("would deliver 6 deletes of 20 rows, more than guards.max_delete_fraction 0.25 allows", remedy)
        refused(place, lambda s=strategy: polled(project, s), GuardTripped, *parts)  # type: ignore[misc]
        assert polled(project, strategy, accept_deletes=True) == [{"d": 6}]
    place.there.insert("orders", ORDERS[:6])
    assert [polled(project, strategy) for strategy in STRATEGIES] == [[{"c": 6}], [{"c": 6}]]
