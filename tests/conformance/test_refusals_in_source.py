"""Refusals and advice of strategies with timestamps, flags, checksums and ranges.

They run on every database.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import qbcd
from qbcd.api import parts_of
from qbcd.errors import ConfigError, MissingPrivilege, QbcdError, Refused, UnsafeWatermark
from qbcd.planning import plan_of
from tests.support.places import FIRST, Place, over
from tests.support.project import config
from tests.support.refusals import traces

STAMP = {"postgresql": "timestamptz", "mariadb": "timestamp(6) NULL", "mysql": "timestamp(6) NULL"}
PLAIN = {"postgresql": "timestamp", "mariadb": "datetime(6)", "mysql": "datetime(6)"}
TABLE = """
CREATE TABLE t (id integer PRIMARY KEY, v varchar(20), seen {stamp}, at {stamp}, day {plain}, gone boolean,
  version integer, chk bigint, wide integer);
INSERT INTO t (id, v, version) VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2);
CREATE TABLE loose (k integer NOT NULL, at {stamp}); INSERT INTO loose (k) VALUES (1), (2)
"""
TDI = {"type": "tdi", "timestamp": "at", "delete_flag": "gone"}
COLUMN = {"type": "tlcs", "checksums": "column", "checksum_column": "chk"}

# Strategy and further keys of the table, error, and parts of its message.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], type[QbcdError], tuple[str, ...]]] = {
    "no such timestamp": (
        {"type": "ts", "timestamp": "changed"},
        {},
        ConfigError,
        ("tables[0].strategy.timestamp: ", 'timestamp column "changed" does not exist', "add it: ALTER TABLE"),
    ),
    "a timestamp misspelt": (
        {"type": "ts", "timestamp": "att"},
        {},
        ConfigError,
        ('column "att" does not exist', 'did you mean "at"?'),
    ),
    "no timestamp by its type": (
        {"type": "ts", "timestamp": "v"},
        {},
        ConfigError,
        ("tables[0].strategy.timestamp: ", "column 'v' of type", "cannot be a watermark"),
    ),
    "several kinds": (
        {"type": "ts", "timestamp": ["at", "id"]},
        {},
        ConfigError,
        ("timestamps at, id are of several kinds",),
    ),
    "no zone": ({"type": "ts", "timestamp": "day"}, {}, ConfigError, ("does not say in which zone", "add  zone: UTC")),
    "a zone too many": (
        {"type": "ts", "timestamp": "at", "zone": "UTC"},
        {},
        ConfigError,
        ("strategy.zone: ", "remove `zone`"),
    ),
    "NULL timestamps without a replica of rows": (
        {"type": "ts", "timestamp": "at", "replica": "keys"},
        {},
        ConfigError,
        ("may be NULL", "replica: source"),
    ),
    "a version of each row": (
        {"type": "ts", "timestamp": "version"},
        {},
        UnsafeWatermark,
        ("strategy.timestamp: ", "it looks like a version of each row", "counter: table"),
    ),
    "a clock called a counter": (
        {"type": "ts", "timestamp": "at", "counter": "table"},
        {},
        ConfigError,
        ("strategy.counter: ", "is no counter"),
    ),
    "no such flag": (
        {**TDI, "delete_flag": "gonne"},
        {},
        ConfigError,
        ("strategy.delete_flag: ", 'flag "gonne" does not exist'),
    ),
    "a flag of another type": (
        {**TDI, "delete_flag": "seen"},
        {},
        ConfigError,
        ("strategy.delete_flag: ", "delete flag 'seen' of type"),
    ),
    "a flag that cannot say so": (
        {**TDI, "deleted_value": "T"},
        {},
        ConfigError,
        ("delete flag 'gone' of type", "set `deleted_value`"),
    ),
    "purge by a counter": (
        {**TDI, "timestamp": "version", "purge": True},
        {},
        ConfigError,
        ("strategy.purge: ", "is a counter"),
    ),
    "a restriction with the present time": (
        {"type": "ts", "timestamp": "at"},
        {"where": "at < current_timestamp"},
        ConfigError,
        ("tables[0].where: ", "the restriction uses current_timestamp, whose value changes", "use id_rcs, mds or id"),
    ),
    "a restriction that calls the time": (
        TDI,
        {"where": "at < now()"},
        ConfigError,
        ("tables[0].where: ", "the restriction uses now, whose value"),
    ),
    "a restriction over another table": (
        {"type": "ts", "timestamp": "at"},
        {"where": "id IN (SELECT k FROM {schema}.loose)"},
        ConfigError,
        ("tables[0].where: ", "the restriction uses a subquery"),
    ),
    "no such checksum column": (
        {**COLUMN, "checksum_column": "chkk"},
        {},
        ConfigError,
        ("strategy.checksum_column: ", 'checksum column "chkk"', "does not exist", "add one: ALTER TABLE"),
    ),
    "a checksum column too narrow": (
        {**COLUMN, "checksum_column": "wide"},
        {"exclude": ["wide"]},
        ConfigError,
        ("it has to be a bigint",),
    ),
    "ranges without an index": (
        {"type": "id"},
        {"table": "loose", "key": ["k"]},
        Refused,
        ("key (k) of ", "has no index in its order", "create one, or use mds or id_rcs"),
    ),
}

OF_THE_FAMILY: dict[str, tuple[dict[str, Any], dict[str, Any], type[QbcdError], tuple[str, ...]]] = {
    f"a restriction by {variable}": (
        {"type": "ts", "timestamp": "at"},
        {"where": f"id > {variable}"},
        ConfigError,
        ("tables[0].where: ", f"the restriction uses {variable.lower()}, whose value changes"),
    )
    for variable in ("@Mine", "@@sql_select_limit")
}


@pytest.fixture
def there(place: Place) -> Place:
    place.sql(TABLE.format(stamp=STAMP[place.kind], plain=PLAIN[place.kind]))
    return place


def prepare(place: Place, folder: Path, strategy: Any, *, url: str = "", **more: Any) -> Callable[[], object]:
    """Return a function that prepares a stream in a project of its own.

    If a source never shows all writers, `lag` bounds their transactions.
    """

    def work() -> None:
        seen = {"lag": "1h"} if place.kind != FIRST and "timestamp" in strategy and "lag" not in strategy else {}
        table = {"name": "s", "table": place.table(more.pop("table", "t")), "strategy": {**strategy, **seen}, **more}
        with qbcd.Project.from_dict(config(url or place.url, table), base_dir=folder) as project:
            project.stream("s").prepare()

    return work


def refused(place: Place, folder: Path, action: Callable[[], object], kind: type[QbcdError], *parts: str) -> None:
    before = traces(place.url, folder).source
    with pytest.raises(QbcdError) as caught:
        action()
    message = str(caught.value)
    assert type(caught.value) is kind, f"{type(caught.value).__name__}: {message}"
    assert caught.value.remedy, message
    for part in parts:
        assert part in message, message
    assert traces(place.url, folder).source == before


@over()
def test_options_that_cannot_work_are_refused(there: Place, workspace: Path) -> None:
    cases = CASES if there.kind == FIRST else {**CASES, **OF_THE_FAMILY}
    for name, (strategy, more, kind, parts) in cases.items():
        where = {key: v.format(schema=there.schema) if key == "where" else v for key, v in more.items()}
        try:
            refused(there, workspace, prepare(there, workspace, strategy, **where), kind, *parts)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error


@over(elsewhere=[])
def test_rights_that_options_need(there: Place, workspace: Path) -> None:
    with there.user() as user:
        there.grant("SELECT", "t", user)
        there.grant_own_schema(user)
        if there.kind == FIRST:
            there.sql(f"GRANT pg_read_all_stats TO {user}")
        else:
            there.sql(f"GRANT PROCESS ON *.* TO {user}@'%'")
        url = there.url_as(user)
        for strategy, option, lacking in (
            ({**TDI, "purge": True}, "purge", "DELETE"),
            (COLUMN, "checksum_column", "UPDATE"),
            ({**TDI, "create_index": True}, "create_index", "index"),
        ):
            work = prepare(
                there, workspace, {**strategy, **({"lag": "1h"} if "timestamp" in strategy else {})}, url=url
            )
            place = f"strategy.{option}: "
            refused(there, workspace, work, MissingPrivilege, place, lacking, f"which option {option} needs")


def test_an_index_without_order(there: Place, workspace: Path) -> None:
    there.sql("CREATE INDEX by_hash ON loose USING hash (k)")
    work = prepare(there, workspace, {"type": "id"}, table="loose", key=["k"])
    refused(there, workspace, work, Refused, "(index by_hash cannot answer an interval of keys)", "id_rcs")


@over()
def test_writers_that_nobody_sees(there: Place, workspace: Path) -> None:
    """PostgreSQL hides writers from a role without a right; other servers never show them all."""
    strategy = {"type": "ts", "timestamp": "at"}
    table = {"name": "s", "table": there.table("t"), "strategy": strategy}
    with there.user() as user:
        there.grant("SELECT", "t", user)
        there.grant_own_schema(user)
        with (
            there.connect() as other,
            qbcd.Project.from_dict(config(there.url_as(user), table), base_dir=workspace) as project,
        ):
            there.run(other, "SELECT 1 FROM t")
            work = project.stream("s").prepare
            if there.kind == FIRST:
                remedy = f'(GRANT pg_read_all_stats TO "{user}"; or set `lag` to'
                refused(there, workspace, work, UnsafeWatermark, "no safe watermark", remedy)
            else:
                grant = f"GRANT PROCESS ON *.* TO '{user}'@'%'"
                refused(there, workspace, work, MissingPrivilege, "stream s: ", "the PROCESS privilege", f"({grant})")
                there.sql(grant)
                if there.kind == "mysql":
                    there.sql(f"GRANT SELECT ON performance_schema.* TO {user}@'%'")
                refused(there, workspace, work, UnsafeWatermark, "no safe watermark", "(set `lag` to")


def test_a_right_that_is_missed_only_while_other_sessions_exist(there: Place, workspace: Path) -> None:
    """The remark comes at any time, also if no other session exists."""
    table = {"name": "s", "table": there.table("t"), "strategy": {"type": "ts", "timestamp": "at"}}
    with there.user() as user:
        there.grant("SELECT", "t", user)
        there.grant_own_schema(user)

        def remarks() -> list[str]:
            with qbcd.Project.from_dict(config(there.url_as(user), table), base_dir=workspace) as project:
                work = parts_of(project).open_stream("s")
                plan, _ = plan_of(work, None)
                with work.source.read("s") as session:
                    return work.site.remarks(session, plan)

        grant = f'GRANT pg_read_all_stats TO "{user}"'
        assert f"role {user} may not see other sessions: polls are refused while any are open ({grant})" in remarks()
        there.sql(grant)
        assert not any("may not see other sessions" in remark for remark in remarks())


@over()
def test_a_dba_is_shown_what_a_stream_that_only_reads_gains_from(there: Place, workspace: Path) -> None:
    """`check` names the dry run for the index, and the dry run has it.

    Nothing is created in the source.
    """
    lag = {} if there.kind == FIRST else {"lag": "1h"}
    table = {
        "name": "s",
        "table": there.table("t"),
        "strategy": {"type": "ts", "timestamp": "at", "replica": "spark", **lag},
    }
    right = "GRANT pg_read_all_stats TO " if there.kind == FIRST else "GRANT PROCESS ON *.* TO "
    with qbcd.Project.from_dict(config(there.url, table), base_dir=workspace) as project:

        def warned() -> bool:
            return any("(qbcd prepare s --dry-run prints the index)" in f.message for f in project.check(["s"]))

        grant, index = project.stream("s").ddl()
        assert warned()
        assert grant.partition("\n")[2].startswith(right)
        why, _, statement = index.partition("\n")
        assert why == "-- recommended: without it each poll reads the whole table"
        there.sql(statement)
        assert not warned()
        assert project.stream("s").ddl() == [grant]


@over(elsewhere=[])
def test_expensive_options_are_reported_by_check(there: Place, workspace: Path) -> None:
    lag = {} if there.kind == FIRST else {"lag": "1h"}
    table = {"name": "s", "table": there.table("t"), "strategy": {"type": "ts", "timestamp": "at", **lag}}
    with qbcd.Project.from_dict(config(there.url, table), base_dir=workspace) as project:
        warnings = [f.message for f in project.check(["s"]) if f.level == "warning"]
        assert any("no index begins with at: each poll reads the whole table" in message for message in warnings), (
            warnings
        )
        assert any("this stream sees no deletes" in message for message in warnings), warnings
        assert any("at may be NULL" in message for message in warnings), warnings
        ddl = "\n".join(project.stream("s").ddl())
        assert "CREATE INDEX" in ddl
        there.sql("CREATE INDEX t_at ON t (at)")
        warnings = [f.message for f in project.check(["s"]) if f.level == "warning"]
        assert not any("no index" in message for message in warnings), warnings
        assert "CREATE INDEX" not in "\n".join(project.stream("s").ddl())


@over()
def test_the_grants_that_a_dba_runs_are_all_that_the_options_need(there: Place, tmp_path: Path) -> None:
    lag = {} if there.kind == FIRST else {"lag": "1h"}
    options = {"s": {**TDI, **lag, "purge": True}, "c": COLUMN}
    with there.user() as user:
        there.grant("SELECT", "t", user)
        tables = [
            {"name": name, "table": there.table("t"), "exclude": ["chk"], "strategy": strategy}
            for name, strategy in options.items()
        ]
        with qbcd.Project.from_dict(config(there.url_as(user), *tables), base_dir=tmp_path) as project:
            ddl = {name: project.stream(name).ddl() for name in options}
            grants = {name: [s for s in statements if s.startswith("-- to ")] for name, statements in ddl.items()}
            rights = [("transactions", "PROCESS" if lag else "pg_read_all_stats"), ("purge", "DELETE")]
            assert len(grants["s"]) == len(rights)
            for said, wanted in zip(grants["s"], rights, strict=True):
                assert all(word in said for word in wanted)
            assert ["chk" in said for said in grants["c"]] == [True]
            assert "already" not in "".join([*grants["s"], *grants["c"]])
            there.sql(";\n".join([*ddl["s"], *ddl["c"]]))
            for name, before in grants.items():
                project.stream(name).prepare()  # index, view and tables exist, so that it makes nothing
                after = [s for s in project.stream(name).ddl() if s.startswith("-- to ")]
                assert after == [s.replace("\n", "; the role has this right already\n") for s in before]
