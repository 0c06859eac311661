"""Mistakes that only a server, a file system or an earlier `prepare` shows.

Each is reported once, with exit code, what, where and fix.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from qbcd.demo.server import EmbeddedPostgres
from qbcd.state import database as state_database
from tests.support.cli import Cli, Ran
from tests.support.maria_server import MariaServer
from tests.support.places import Place, new_place

PASSWORD = "a-long-secret"
FOREIGN = ("Traceback", "org.apache", "py4j", "java.", "Exception", "Error:", "***", PASSWORD)
TABLES = """
CREATE SCHEMA {s};
CREATE TABLE {s}.orders (id int PRIMARY KEY, name varchar(40), status varchar(40));
INSERT INTO {s}.orders VALUES (1, 'n', 's'), (2, 'n', 's'), (3, 'n', 's'), (4, 'n', 's'), (5, 'n', 's');
CREATE TABLE {s}.loose (k int, name varchar(40)); INSERT INTO {s}.loose VALUES (1, 'a'), (2, 'b'), (3, 'c');
CREATE SEQUENCE {s}.numbers; CREATE INDEX by_name ON {s}.orders (name)
"""
BLOCKED = {
    "state": "sqlite:///blocked/state.db",
    "workdir": "blocked/work",
    "sinks": {"changes": {"type": "jsonl", "path": "blocked/out"}, "lake": {"type": "parquet", "path": "blocked/lake"}},
}


@dataclass(frozen=True)
class Mistake:
    """A mistake, the command that meets it, and the one error that the command shows.

    Texts have names in brackets: `{s}` is the schema of the tables, `{no_port}` and such are URLs.

    Attributes:
        error: Part of the error.
        fix: Part of the remedy.
        table: Keys of stream `orders`, next to its source, table and strategy mds.
        url: URL of its source, if it is a wrong one.
        more: Further keys of the configuration.
        later: Keys of the stream, or `state`, that are edited after `prepare`; None if it is not prepared.
        sql: Statements just before the command.
        file: A file where a folder or the state database should be.
        stream: The stream that the error names; empty if it concerns the project.
        where: The beginning of the place in the configuration that it names.
    """

    command: str
    code: int
    error: str
    fix: str
    table: Mapping[str, Any] = field(default_factory=dict)
    url: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)
    later: Mapping[str, Any] | None = None
    sql: str = ""
    file: str = ""
    stream: str = "orders"
    where: str = ""


AGAIN = "(1, 'again')"
CASES = {
    # missing objects
    "no such table": Mistake("check", 2, "table {s}.ordres does not exist", "{s}.orders", {"table": "{s}.ordres"}),
    "no such schema": Mistake("check", 2, "table nope.orders does not exist", ".orders", {"table": "nope.orders"}),
    "no such column": Mistake("check", 2, 'column "nmae" does not exist in', '"name"?', {"columns": ["nmae"]}),
    "no such key column": Mistake("check", 2, 'column "order_no" does not', "id, name", {"key": ["order_no"]}),
    "no primary key": Mistake("prepare", 3, "{s}.loose has no primary key", "key: [", {"table": "{s}.loose"}),
    "no such database": Mistake("prepare", 2, "nodb", "check the database in", url="{no_database}", where="qbcd.yaml:"),
    "no such stream": Mistake("run ordres --once", 2, '"ordres"', '"orders"?', stream="", where="qbcd.yaml"),
    "not prepared: run": Mistake("run --once", 3, "is not prepared", "qbcd prepare orders"),
    "not prepared: verify": Mistake("verify", 3, "is not prepared", "qbcd prepare orders"),
    "not prepared: changes": Mistake("changes orders", 3, "is not prepared", "qbcd prepare orders"),
    "not prepared: reset": Mistake("reset orders -y", 3, "is not prepared", "qbcd prepare orders"),
    # invalid objects
    "a sequence": Mistake("check", 2, "{s}.numbers is a sequence, which has no", "table", {"table": "{s}.numbers"}),
    "a repeated key value": Mistake(
        "check",
        3,
        "key (k) is not unique in {s}.loose: 1 value occurs more than once",
        "choose a key",
        {"table": "{s}.loose", "key": ["k"]},
        sql=f"INSERT INTO {{s}}.loose VALUES {AGAIN}",
        where="qbcd.yaml:",
    ),
    "a key value that is NULL": Mistake(
        "check",
        3,
        "1 value occurs more than once or with NULL (1 row with NULL)",
        "choose a key",
        {"table": "{s}.loose", "key": ["k"]},
        sql="INSERT INTO {s}.loose VALUES (NULL, 'none')",
    ),
    # unreachable servers
    "a wrong host": Mistake("prepare", 1, "no-such-host.invalid", "check host", url="{no_host}"),
    "a wrong port": Mistake("check", 1, "cannot be reached", "check host, port", url="{no_port}"),
    "a server that is down": Mistake("run --once", 1, "cannot be reached", "check host, port", url="{no_port}"),
    # edits after prepare
    "another strategy": Mistake(
        "check",
        3,
        'strategy is fixed at prepare, and was changed in the configuration since: strategy was "mds" and is "tlcs"',
        "qbcd reset orders, then qbcd prepare orders",
        later={"strategy": "tlcs"},
    ),
    "a strategy with its replica in files": Mistake(
        "check",
        3,
        "strategy is fixed at prepare, and was changed in the configuration since: it was mds",
        "qbcd reset orders before the change, then qbcd prepare orders after it",
        later={"strategy": "id_rcs"},
    ),
    "another source": Mistake(
        "check",
        3,
        "source is fixed at prepare, and was changed in the configuration since: it was shop",
        "qbcd reset orders before the change, then qbcd prepare orders after it",
        {"sinks": ["changes"]},
        more={"sinks": {"changes": {"type": "jsonl", "path": "out"}}},
        later={"source": "other"},
    ),
    "another table": Mistake(
        "check",
        3,
        "key, table are fixed at prepare, and were changed in the configuration since: key was not set and is",
        "qbcd reset orders, then qbcd prepare orders",
        later={"table": "{s}.loose", "key": ["k"]},
    ),
    "other types": Mistake("check", 3, "types is fixed at", "take the change back", later={"types": {"name": "text"}}),
    "another state database": Mistake(
        "run --once", 3, "prepared by another project", "another `schema:`", later={"state": "sqlite:///2.db"}
    ),
    # changes in the source after prepare
    "a dropped table": Mistake(
        "run --once", 3, "{s}.orders does not exist", "qbcd reset orders", later={}, sql="DROP TABLE {s}.orders"
    ),
    "a dropped column": Mistake(
        "run --once",
        3,
        "captured column 'name' of {s}.orders does not exist any more",
        "leave name out by",
        later={},
        sql="ALTER TABLE {s}.orders DROP COLUMN name",
    ),
    "a key value repeated later": Mistake(
        "run --once",
        3,
        "key (k) has duplicate or NULL values in {s}.loose",
        "fix the rows",
        {"table": "{s}.loose", "key": ["k"]},
        later={},
        sql=f"INSERT INTO {{s}}.loose VALUES {AGAIN}",
    ),
    "most rows deleted": Mistake(
        "run --once",
        3,
        "3 deletes of 5 rows, more than guards.max_delete_fraction 0.5 allows",
        "qbcd run orders --once --accept-deletes",
        later={},
        sql="DELETE FROM {s}.orders WHERE id > 2",
    ),
    # files
    "a sink without its folder": Mistake(
        "check",
        1,
        "sink changes: folder ",
        "check the path, its owner",
        {"sinks": ["changes"]},
        more={"sinks": BLOCKED["sinks"]},
        file="blocked",
    ),
    "nothing can be written": Mistake(
        "check",
        3,
        "/blocked cannot be written: Not a directory; workdir, state, sink changes, sink lake need it",
        "check its owner, rights and free space",
        {"sinks": ["changes", "lake"]},
        more=BLOCKED,
        file="blocked",
        stream="",
    ),
    "a state database without its folder": Mistake(
        "prepare", 1, "/blocked/state.db cannot be created", "check the folder", more=BLOCKED, file="blocked", stream=""
    ),
    "a damaged state database": Mistake(
        "run --once", 3, "bad.db is damaged", "restore it", more={"state": "sqlite:///bad.db"}, file="bad.db", stream=""
    ),
}
POSTGRESQL = {
    "an index": Mistake("check", 2, "{s}.by_name is an index of {s}.orders", "{s}.orders", {"table": "{s}.by_name"}),
    "text in double quotes": Mistake("check", 2, 'column "v1" does not exist', "name = 'v1'", {"where": 'name = "v1"'}),
    "texts in double quotes": Mistake(
        "prepare",
        2,
        "does not exist",
        "id > 1 AND name IN ('it''s', 'b')",
        {"where": 'id > 1 AND name IN ("it\'s", "b")'},
        where="qbcd.yaml:",
    ),
    "a misspelled column in double quotes": Mistake(
        "check", 2, 'column "nmae" does not exist', 'did you mean "name"?', {"where": "\"nmae\" = 'x'"}
    ),
    "a column in another case": Mistake(
        "check", 2, 'column "Name" does not exist', 'did you mean "name"?', {"where": "\"Name\" = 'x'"}
    ),
    "a server without TLS": Mistake("check", 1, "does not support SSL", "TLS settings", url="{tls}"),
    "a wrong password": Mistake("check", 1, "password authentication failed", "the password of", url="{wrong_login}"),
    "no rights": Mistake("check", 3, "may not use schema {s}", 'GRANT USAGE ON SCHEMA "{s}" TO', url="{stranger}"),
}
MARIADB = {
    "a wrong password": Mistake("check", 1, "Access denied", "the password of the source", url="{wrong_login}"),
    "no rights": Mistake("check", 3, "denied", "GRANT SELECT ON `", url="{stranger}"),
}


@dataclass
class Desk:
    """A user's folder with a configuration of stream `orders`, and a schema of its own."""

    place: Place
    names: Mapping[str, str]
    cli: Cli

    def filled(self, value: Any) -> Any:
        """Return a value with the names that its texts have in brackets."""
        if isinstance(value, Mapping):
            return {name: self.filled(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self.filled(one) for one in value]
        return value.format(**self.names) if isinstance(value, str) else value

    def write(self, mistake: Mistake, state: str = "sqlite:///.qbcd/state.db", **table: Any) -> None:
        """Write qbcd.yaml."""
        own, orders = {"url": self.place.url, "schema": "{s}_own"}, {"table": "{s}.orders", "strategy": "mds"}
        data = {
            "version": 1,
            "state": state,
            "sources": {"shop": {**own, "url": mistake.url or self.place.url}, "other": {**own, "schema": "{s}_other"}},
            **mistake.more,
            "tables": [{"name": "orders", "source": "shop", **orders, **mistake.table, **table}],
        }
        Path("qbcd.yaml").write_text(yaml.safe_dump(self.filled(data), sort_keys=False))

    def meet(self, mistake: Mistake) -> Ran:
        """Make a mistake and run its command."""
        self.place.sql(self.filled(TABLES))
        if mistake.file:
            Path(mistake.file).write_text("neither a folder nor a database")
        if mistake.later is not None:
            self.write(mistake)
            assert self.cli("prepare").code == 0
        self.write(mistake, **(mistake.later or {}))
        if mistake.sql:
            self.place.sql(self.filled(mistake.sql))
        return self.cli(*mistake.command.split(), "--json")

    def refused(self, mistake: Mistake) -> None:
        """Check that a mistake is reported once, in plain words, with a place and a fix."""
        ran = self.meet(mistake)
        found = errors(ran)
        assert (ran.code, len(found)) == (mistake.code, 1), (ran.err, found)
        [error] = found
        assert self.filled(mistake.error) in error["error"]
        assert self.filled(mistake.fix) in error["remedy"]
        assert (error["exit_code"], error["stream"]) == (mistake.code, mistake.stream)
        assert error["where"].startswith(mistake.where)
        assert not [word for word in FOREIGN if word in ran.out + ran.err], ran.err
        assert ran.err.count("error: ") <= 1

    def warned(self, restrictions: Mapping[str, str]) -> None:
        """Check that `check` and `prepare` accept restrictions, and warn of unstable ones."""
        self.place.sql(self.filled(TABLES))
        shop = {"url": self.place.url, "schema": f"{self.names['s']}_own"}
        table = {"source": "shop", "table": f"{self.names['s']}.orders", "strategy": "mds"}
        tables = [{**table, "name": f"s{i}", "where": where} for i, where in enumerate(restrictions)]
        Path("qbcd.yaml").write_text(yaml.safe_dump({"version": 1, "sources": {"shop": shop}, "tables": tables}))
        expected = {f"s{i}": called for i, called in enumerate(restrictions.values()) if called}
        checked, prepared = self.cli("check", "--json"), self.cli("prepare")
        warnings = [one for one in checked.data["findings"] if one["level"] == "warning"]
        found = {one["stream"]: one["message"] for one in warnings}
        assert (checked.code, prepared.code, len(warnings)) == (0, 0, len(found))
        said = {name: f"the restriction uses {called}, whose value changes while" for name, called in expected.items()}
        assert {name: message[: len(said.get(name, ""))] for name, message in found.items()} == said
        assert all("become deletes" in message for message in found.values())
        lines = [line for line in prepared.err.splitlines() if line.startswith("warning: ")]
        assert lines == [f"warning: stream {name}: {message}" for name, message in found.items()]
        assert "warning: " not in self.cli("run", "--once").err


def errors(ran: Ran) -> list[dict[str, Any]]:
    """Return the errors that a command has printed as JSON.

    `check` and `status` print lists, other commands one error per line.
    """
    printed = [json.loads(line) for line in ran.out.splitlines()]
    found = [one for data in printed for one in data.get("findings", data.get("streams", [data]))]
    return [one for one in found if one.get("error")]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, workspace: Path) -> Cli:
    monkeypatch.chdir(workspace)
    return Cli(capsys)


def urls(place: Place, user: str) -> dict[str, str]:
    """Return URLs of `place` that are wrong in one part."""
    port = place.host.rpartition(":")[2]
    return {
        "no_host": place.url.replace(place.host, f"no-such-host.invalid:{port}"),
        "no_port": place.url.replace(place.host, "127.0.0.1:1"),
        "no_database": place.at("nodb").url,
        "tls": f"{place.url}?sslmode=require",
        "stranger": place.url_as(user, PASSWORD),
        "wrong_login": place.url_as(user, f"not-{PASSWORD}"),
    }


@pytest.fixture(scope="module")
def postgres(server: EmbeddedPostgres) -> Iterator[tuple[Place, dict[str, str]]]:
    """A database, and wrong URLs; the server requires a password of one role."""
    rules = server.directory / "data" / "pg_hba.conf"
    before = rules.read_text()
    with new_place(server, "postgresql") as place, place.user(PASSWORD) as user:
        try:
            rules.write_text(f"host all {user} {server.host}/32 scram-sha-256\n{before}")
            place.sql("SELECT pg_reload_conf()")
            yield place, urls(place, user)
        finally:
            rules.write_text(before)
            place.sql("SELECT pg_reload_conf()")


@pytest.fixture(scope="module")
def maria(mariadb: MariaServer) -> Iterator[tuple[Place, dict[str, str]]]:
    with new_place(mariadb, "mariadb") as place, place.user(PASSWORD) as user:
        yield place, urls(place, user)


def desk_of(there: tuple[Place, dict[str, str]], cli: Cli) -> Desk:
    place, names = there
    return Desk(place, {**names, "s": f"{place.name}_{uuid.uuid4().hex[:8]}"}, cli)


@pytest.mark.parametrize("name", [*CASES, *POSTGRESQL])
def test_on_postgresql(name: str, postgres: tuple[Place, dict[str, str]], cli: Cli) -> None:
    desk_of(postgres, cli).refused({**CASES, **POSTGRESQL}[name])


@pytest.mark.campaign
@pytest.mark.parametrize("name", [*CASES, *MARIADB])
def test_on_mariadb(name: str, maria: tuple[Place, dict[str, str]], cli: Cli) -> None:
    desk_of(maria, cli).refused({**CASES, **MARIADB}[name])


# By restriction: its unstable part, if it has one.
MOVING = {
    "'2030-01-01' > now()": "now()",
    "current_date > '2001-01-01'": "current_date",
    "name <> current_user": "current_user",
    "name = 'now()'": "",
}
POSTGRESQL_MOVING = {
    "age(timestamp '2001-01-01') > interval '1 day'": "age()",
    "age(timestamp '2001-01-01', timestamp '2002-01-01') < interval '1 day'": "",
    "timestamp 'today' > '2001-01-01'": "'today'",
    "localtimestamp > '2001-01-01'": "localtimestamp",
}
MARIADB_MOVING = {
    "curdate() > '2001-01-01'": "curdate()",
    "utc_timestamp() > '2001-01-01'": "utc_timestamp()",
    "unix_timestamp() > id": "unix_timestamp()",
    "unix_timestamp('2001-01-01') > id": "",
}


@pytest.mark.campaign
def test_restrictions_that_change_by_themselves(postgres: tuple[Place, dict[str, str]], cli: Cli) -> None:
    desk_of(postgres, cli).warned({**MOVING, **POSTGRESQL_MOVING})


@pytest.mark.campaign
def test_restrictions_that_change_by_themselves_on_mariadb(maria: tuple[Place, dict[str, str]], cli: Cli) -> None:
    desk_of(maria, cli).warned({**MOVING, **MARIADB_MOVING})


@pytest.mark.campaign
def test_double_quotes_are_text_on_mariadb(maria: tuple[Place, dict[str, str]], cli: Cli) -> None:
    desk = desk_of(maria, cli)
    ran = desk.meet(Mistake("check", 0, "", "", {"where": 'name = "n" AND "status" = \'s\''}))
    found = [one["message"] for one in ran.data["findings"] if one["level"] == "warning"]
    assert found == [
        'the restriction has "status" in double quotes, which this server reads as a text and not as the column '
        "(write status without quotes)"
    ]


def test_no_java(postgres: tuple[Place, dict[str, str]], cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/no/such/home")
    desk_of(postgres, cli).refused(
        Mistake(
            "check", 2, "JAVA_HOME is /no/such/home, but", "install Java 17 or later", {"engine": "spark"}, stream=""
        )
    )
    desk = desk_of(postgres, cli)
    found = desk.meet(Mistake("check", 0, "", ""))
    assert "only polls beyond `local_rows` need it: JAVA_HOME is /no/such/home" in found.out


def test_a_state_database_that_is_locked(
    postgres: tuple[Place, dict[str, str]], cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_database, "_PRAGMAS", ("busy_timeout = 50", *state_database._PRAGMAS))
    desk = desk_of(postgres, cli)
    desk.meet(Mistake("prepare", 0, "", ""))
    with sqlite3.connect(".qbcd/state.db") as other:
        other.execute("BEGIN EXCLUSIVE")
        ran = cli("run", "--once", "--json")
        other.rollback()
    assert (ran.code, len(errors(ran))) == (1, 1)
    assert "state.db is busy: database is locked (end the process that holds it" in ran.err
