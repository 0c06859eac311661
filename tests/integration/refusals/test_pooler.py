"""Connection poolers in front of the source: refused at the first session, before any statement that sets something.

In a pool by transaction such a statement would change the sessions of other clients.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from sqlalchemy.engine import URL, make_url

from qbcd.errors import Refused
from tests.support import free_port, sql, wait_until
from tests.support.places import Place, over
from tests.support.project import config, opened
from tests.support.proxy import proxy_to

POOLER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
IGNORED = "ignore_startup_parameters = extra_float_digits, options"
SETTINGS = ("search_path", "row_security", "timezone", "extra_float_digits", "default_transaction_read_only")


def refusal_of(url: URL, folder: Path) -> Refused:
    """Return the refusal of a stream at `url`."""
    stream = {"name": "s", "table": f"{'public' if 'postgres' in url.drivername else url.database}.t"}
    data = config(url.render_as_string(hide_password=False), {**stream, "strategy": "id_rcs"})
    with opened(data, folder) as project, pytest.raises(Refused) as failure:
        project.stream("s").prepare()
    assert "a connection pooler is in front of the server" in failure.value.what
    assert "put the server's own port into the source's url" in failure.value.remedy
    return failure.value


# A setting of each session at its start, as a pooler that ignores it leaves it.
LOST = {
    "postgresql": (b"default_transaction_read_only=on", b"default_transaction_read_only=no"),
    "mariadb": (b"tx_read_only=1", b"tx_read_only=0"),
    "mysql": (b"transaction_read_only=1", b"transaction_read_only=0"),
}


@over()
def test_a_session_without_the_settings_that_it_asked_for(place: Place, workspace: Path) -> None:
    place.sql("CREATE TABLE t (id int PRIMARY KEY)")
    with proxy_to(place) as proxy:
        proxy.replaces = LOST[place.kind]
        refusal = refusal_of(make_url(place.url).set(port=proxy.port), workspace)
    assert re.search(r"read_only is (off|0), although the session began with (on|1)", refusal.what)


@contextmanager
def pooled(database: str, *settings: str) -> Iterator[URL]:
    """Yield the URL of a pool by transaction in front of `database`."""
    if POOLER is None:
        pytest.skip("PgBouncer is not installed")
    server, port = make_url(database), free_port()
    place = f"host={server.host} port={server.port} dbname={server.database} user={server.username}"
    lines = [
        "[databases]",
        f"{server.database} = {place}",
        "[pgbouncer]",
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =",
        "auth_type = any\npool_mode = transaction\ndefault_pool_size = 2",
        *settings,
    ]
    as_other: dict[str, Any] = {"user": "nobody", "extra_groups": []} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory(prefix="qbcd-pooler-") as folder:  # not below a folder that only root can enter
        file = Path(folder, "pgbouncer.ini")
        file.write_text("\n".join(lines))
        file.parent.chmod(0o755)
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen([POOLER, str(file)], **quiet, **as_other)
        try:
            wait_until(lambda: _listens(port), what="PgBouncer")
            yield server.set(port=port)
        finally:
            process.terminate()
            process.wait(30)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def settings_seen(url: URL) -> list[tuple[str, str]]:
    """Return the settings that an application sees in the pool."""
    conn = psycopg2.connect(url.set(drivername="postgresql").render_as_string(hide_password=False))
    try:
        conn.autocommit = True
        with conn.cursor() as cursor:
            cursor.execute("SELECT name, setting FROM pg_settings WHERE name = ANY (%s) ORDER BY 1", (list(SETTINGS),))
            return list(cursor.fetchall())
    finally:
        conn.close()


@pytest.mark.campaign
@pytest.mark.parametrize("like_asked", [False, True], ids=["ignored", "the role has the settings"])
def test_pgbouncer_by_transaction(like_asked: bool, database: str, workspace: Path) -> None:
    sql(database, "CREATE TABLE t (id int PRIMARY KEY)")
    role = make_url(database).username
    if like_asked:  # by chance each setting is in force, so that only the server's processes show the pool
        asked = "statement_timeout = 3600000, lock_timeout = 30000, default_transaction_read_only = on"
        for one in asked.split(", "):
            sql(database, f"ALTER ROLE {role} IN DATABASE {make_url(database).database} SET {one}")
    with pooled(database, IGNORED) as url:
        before = settings_seen(url)
        refusal = refusal_of(url, workspace)
        expected = "in one server process" if like_asked else "default_transaction_read_only is off"
        assert expected in refusal.what
        assert [settings_seen(url) for _ in range(4)] == [before] * 4


@pytest.mark.campaign
def test_pgbouncer_that_does_not_know_options(database: str, workspace: Path) -> None:
    sql(database, "CREATE TABLE t (id int PRIMARY KEY)")
    with pooled(database) as url:
        assert "unsupported startup parameter: options" in refusal_of(url, workspace).what
