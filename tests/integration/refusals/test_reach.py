"""Unreachable sources: one line that names source, address and what to check."""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
import yaml
from sqlalchemy import make_url

import qbcd
from qbcd.api import parts_of
from qbcd.demo.server import EmbeddedPostgres
from qbcd.errors import ConfigError, QbcdError, SourceError
from tests.support import places, sql
from tests.support.cli import Cli
from tests.support.pg_source import PG
from tests.support.project import config
from tests.support.refusals import STRATEGIES, Place, new_place, polled

# put together here, so that no traceback shows a line of this file with it
SECRET = "".join(["c4n", "4ry-", "p@ss:w/rd", "%"])
LISTED = "(there are cancelSignalTimeout, .. TLS settings belong in the source's url)"
NETWORK = "(check host, port, network and TLS settings of the source's url)"


@pytest.fixture(scope="module")
def place(server: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with new_place(server, tmp_path_factory.mktemp("reach") / "project") as made:
        made.sql("CREATE TABLE orders (id int PRIMARY KEY, x text); INSERT INTO orders VALUES (1, 'a')")
        yield made


def opened(place: Place, url: str, strategy: str = "mds", **source: Any) -> qbcd.Project:
    written = config(url, {"name": "s", "table": "public.orders", "strategy": strategy}, source=source)
    return qbcd.Project.from_dict(written, base_dir=place.folder)


def refused(place: Place, kind: type[QbcdError], url: str, strategy: str = "mds", **source: Any) -> str:
    with opened(place, url, strategy, **source) as project:
        assert parts_of(project).state.project_id
        return place.refused(project.stream("s").prepare, kind, kind.exit_code)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_closed_port(place: Place, strategy: str) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert refused(place, SourceError, f"postgresql://postgres@127.0.0.1:{port}/x", strategy) == (
        f'stream s: source shop (127.0.0.1:{port}) cannot be reached: connection to server at "127.0.0.1", port '
        f"{port} failed: Connection refused {NETWORK}"
    )


def test_a_host_that_nobody_knows(place: Place) -> None:
    message = refused(place, SourceError, "postgresql://postgres@no-such-host.invalid:5432/x")
    assert message.startswith(
        "stream s: source shop (no-such-host.invalid:5432) cannot be reached: could not translate host name "
        '"no-such-host.invalid" to address: '
    )
    assert message.endswith(NETWORK)


def test_a_missing_role_a_missing_database_and_missing_tls(place: Place) -> None:
    role = place.url_as("nobody_here")
    assert refused(place, SourceError, role) == (
        'stream s: source shop (HOST): role "nobody_here" does not exist '
        "(check the user and the password of the source, and the server's pg_hba.conf)"
    )
    assert refused(place, ConfigError, place.admin.replace(place.database, "no_such_db")) == (
        'sources.shop: source shop (HOST): database "no_such_db" does not exist '
        "(check the database in the source's url)"
    )
    message = refused(place, SourceError, f"{place.admin}?sslmode=verify-full")
    assert message.startswith("stream s: source shop (HOST) cannot be reached: connection to server at ")
    assert message.endswith(f"server does not support SSL, but SSL was required {NETWORK}")


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"socketTimeot": "3"}, "may not set 'socketTimeot' (did you mean socketTimeout?)"),
        ({"ssl": "false"}, f"may not set 'ssl' {LISTED}"),
        ({"sslmode": "disable"}, f"may not set 'sslmode' {LISTED}"),
        ({"sslfactory": "x.Trusting"}, f"may not set 'sslfactory' {LISTED}"),
        ({"socketFactory": "x.Any"}, f"may not set 'socketFactory' {LISTED}"),
        ({"preferQueryMode": "simple"}, f"may not set 'preferQueryMode' {LISTED}"),
        ({"options": "-c row_security=on"}, f"may not set 'options' {LISTED}"),
    ],
)
def test_jdbc_properties_off_the_list_are_refused_before_anything_starts(
    place: Place, strategy: str, properties: dict[str, str], message: str
) -> None:
    said = refused(place, ConfigError, place.admin, strategy, jdbc={"properties": properties})
    start, _, end = message.partition(".. ")
    assert said.startswith(f"sources.shop: jdbc.properties {start}")
    assert said.endswith(end)


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("options=-crow_security%3Don", "there are channel_binding, "),
        ("gssencmode=disable", "did you mean sslmode?"),
        ("service=other", "there are channel_binding, "),
    ],
)
def test_url_options_that_cannot_hold_on_both_sides(place: Place, option: str, hint: str) -> None:
    message = refused(place, ConfigError, f"{place.admin}?{option}")
    assert message.startswith(f"sources.shop: the source's url may not set {option.partition('=')[0]!r} ({hint}")


@pytest.mark.parametrize(
    ("url", "mode"),
    [
        ("postgresql://reader@db.example/shop", "verify-full"),
        ("postgresql://reader@10.0.0.9:6432/shop", "verify-full"),
        ("postgresql://reader@db.example/shop?sslmode=require", "require"),
        ("postgresql://reader@localhost/shop", None),
        ("postgresql://reader@127.0.0.1/shop", None),
    ],
)
def test_tls_is_the_same_on_both_urls_and_full_off_this_machine(url: str, mode: str | None) -> None:
    parsed = make_url(url)
    assert PG.sessions.sqlalchemy_url(parsed).query.get("sslmode") == mode
    assert (f"sslmode={mode}" in PG.sessions.jdbc_url(parsed)) is (mode is not None)
    assert PG.sessions.jdbc_url(parsed).count("sslmode=") == (mode is not None)
    assert not any("ssl" in name.lower() for name in PG.sessions.jdbc_options(parsed, fetchsize=1))


# -- the password ----------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def guarding() -> Iterator[EmbeddedPostgres]:
    """A server of its own that requires passwords of members of role `guests`, as `reader`."""
    with EmbeddedPostgres.start() as own:
        rules = own.directory / "data" / "pg_hba.conf"
        rules.write_text(f"host all +guests {own.host}/32 scram-sha-256\n{rules.read_text()}")
        sql(own.url, "CREATE ROLE guests; CREATE ROLE reader LOGIN PASSWORD %s IN ROLE guests", [SECRET])
        sql(own.url, "SELECT pg_reload_conf()")
        yield own


@pytest.fixture(scope="module")
def guarded(guarding: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with new_place(guarding, tmp_path_factory.mktemp("guarded") / "project") as made:
        made.sql("CREATE TABLE orders (id int PRIMARY KEY, x text); GRANT SELECT ON orders TO reader")
        made.sql("INSERT INTO orders SELECT i, 'x' FROM generate_series(1, 50) i")
        made.sql(f"GRANT CREATE ON DATABASE {made.database} TO reader")
        yield made


def everywhere(folder: Path) -> bytes:
    """Return the bytes of all files under `folder`."""
    return b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def spellings(secret: str) -> tuple[str, ...]:
    """A secret as it is, and as URLs, JSON and Python spell it."""
    return (secret, quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1], repr(secret)[1:-1])


COMMANDS = ("check -v", "prepare -v", "run --once -v", "run --once --json", "status -v", "status --json")


@pytest.mark.parametrize(
    ("kind", "password"),
    [
        ("postgresql", SECRET),
        ("postgresql", "orders"),
        pytest.param("postgresql", "a", marks=pytest.mark.campaign),
        pytest.param("postgresql", "postgres", marks=pytest.mark.campaign),
        pytest.param("postgresql", "secret", marks=pytest.mark.campaign),
        pytest.param("mariadb", SECRET, marks=pytest.mark.campaign),
        pytest.param("mariadb", "orders", marks=pytest.mark.campaign),
        pytest.param("mariadb", "a", marks=pytest.mark.campaign),
    ],
)
def test_no_command_shows_a_password_or_masks_a_word(
    kind: str,
    password: str,
    request: pytest.FixtureRequest,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Neither the right password nor a wrong one is in outputs, files and tables.

    A password that is a word hides no such word.
    """
    monkeypatch.chdir(workspace)
    server = request.getfixturevalue("guarding" if kind == "postgresql" else "mariadb")
    with places.new_place(server, kind) as there, there.user(password) as user:
        if kind == "postgresql":
            there.sql(f"GRANT guests TO {user}")
        for table in ("orders", "ordersz"):
            there.sql(f"CREATE TABLE {table} (id int PRIMARY KEY, a int)")
        there.insert("orders", [(1, 1), (2, 2)])
        there.grant("SELECT", "orders", user)
        there.grant_own_schema(user)
        tables = [{"table": there.table(name), "strategy": "mds"} for name in ("orders", "ordersz")]
        data = config(there.url, *tables, source={"url": there.url_as(user), "password": "${env:SHOP_PASSWORD}"})
        (workspace / "qbcd.yaml").write_text(yaml.safe_dump(data))
        shown, codes = "", []
        for given in (f"{password}-wrong", password):
            monkeypatch.setenv("SHOP_PASSWORD", given)
            for command in COMMANDS:
                ran = Cli(capsys)(*command.split())
                shown += ran.out + ran.err
                codes.append(ran.code)
        kept = everywhere(workspace).decode(errors="replace") + str(there.contents(()))
    assert codes[:4] == [1] * 4
    assert set(codes[6:10]) <= {2, 3}  # one table is not granted, so it does not exist for MariaDB
    assert "Traceback" in shown
    assert "authentication failed" in shown or "Access denied" in shown
    assert there.table("ordersz") in shown
    assert 'SELECT ON "public"."ordersz"' in shown or kind != "postgresql"
    assert "***" not in shown
    if password == SECRET:
        for spelled in (*spellings(password), "c4n4ry"):
            assert spelled not in shown + kept


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("written", ["password", "url"])
def test_a_wrong_password_is_refused_and_shown_nowhere(
    guarded: Place, strategy: str, written: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = f"{SECRET}-wrong"
    monkeypatch.setenv("SHOP_PASSWORD", wrong)
    caplog.set_level(logging.DEBUG)
    in_url = written == "url"
    url = guarded.url_as("reader", "${env:SHOP_PASSWORD}" if in_url else "")
    more = {} if in_url else {"password": "${env:SHOP_PASSWORD}"}
    with opened(guarded, url, strategy, **more) as project:
        assert parts_of(project).state.project_id
        message = guarded.refused(project.stream("s").prepare, SourceError, 1)
        assert message == (
            'stream s: source shop (HOST): password authentication failed for user "reader" '
            "(check the user and the password of the source, and the server's pg_hba.conf)"
        )
        with pytest.raises(SourceError) as caught:
            project.stream("s").plan()
        with pytest.raises(QbcdError):
            polled(project, "s")
        shown = [
            repr(o)
            for o in (caught.value, project.config, parts_of(project).source("shop"), project.stream("s").config)
        ]
        shown += [project.config.model_dump_json(), str(caught.getrepr(style="short"))]
    texts = "\n".join([*shown, caplog.text])
    for secret in (*spellings(SECRET), "c4n4ry"):
        assert secret not in texts
        assert secret.encode() not in everywhere(guarded.folder)


SCRIPT = """
import logging, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
import qbcd
from qbcd.api import parts_of
with qbcd.open("qbcd.yaml") as project:
    stream = project.stream("s")
    spark = parts_of(project).spark.get()
    spark.sparkContext.setLogLevel("INFO")
    stream.prepare()
    print(spark.sparkContext.getConf().getAll(), repr(project.config), repr(parts_of(project).source("shop")))
"""


@pytest.mark.campaign
def test_the_right_password_is_shown_nowhere_either(guarded: Place, tmp_path: Path) -> None:
    """Run id_rcs at DEBUG, with events and Spark's event log.

    The log has all that Spark's pages would show.
    """
    (tmp_path / "log").mkdir()
    settings = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": (tmp_path / "log").as_uri()}
    settings |= {"spark.eventLog.compress": "false"}
    data = config(
        guarded.url_as("reader"),
        {"name": "s", "table": "public.orders", "strategy": "id_rcs", "baseline": "events", "engine": "spark"},
        source={"password": "${env:SHOP_PASSWORD}"},
        spark={"master": "local[1]", "conf": settings},
    )
    (tmp_path / "qbcd.yaml").write_text(yaml.safe_dump(data))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "SHOP_PASSWORD": SECRET, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    seen = (done.stdout + done.stderr).encode() + everywhere(tmp_path)
    assert b"JDBCRelation" in seen  # Spark's event log exists and has the reads
    assert [path for path in (tmp_path / "out" / "changes").rglob("*.jsonl") if b'"op":"r"' in path.read_bytes()]
    for secret in (*spellings(SECRET), "c4n4ry"):
        assert secret.encode() not in seen
