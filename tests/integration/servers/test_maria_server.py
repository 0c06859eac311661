"""The temporary MariaDB of the tests: its settings, and its end with its owner."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pymysql
import pytest

from qbcd.demo import server as embedded
from qbcd.errors import EnvironmentMissing, SourceError
from tests.support import connect, sql, wait_until
from tests.support.maria_server import BIN_VARIABLE, MariaServer, find_programs

ROOT = Path(__file__).parents[3]
NOBODY = 65534

OWNER = """
import os, sys, time
import pymysql.converters
from tests.support.maria_server import MariaServer
if account := int(sys.argv[1]):  # all that is imported was read before
    os.setgroups([])
    os.setgid(account)
    os.setuid(account)
server = MariaServer.start()
print(server.url, server.directory, server._process.pid, server._watchdog.pid, flush=True)
time.sleep(60)
"""


def alive(pid: int) -> bool:
    """Return True if a process runs.

    A process that has ended and that its parent has not waited for counts as ended.
    """
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # it has ended meanwhile, or this system has no /proc
        return not Path("/proc/self").exists()


def answers(url: str) -> bool:
    try:
        return sql(url, "SELECT 1") == [(1,)]
    except pymysql.err.OperationalError:
        return False


def test_settings(mariadb: MariaServer) -> None:
    names = (
        "bind_address",
        "port",
        "socket",
        "skip_name_resolve",
        "character_set_server",
        "time_zone",
        "max_connections",
        "innodb_flush_log_at_trx_commit",
    )
    assert sql(mariadb.url, f"SELECT {', '.join('@@' + name for name in names)}") == [
        ("127.0.0.1", mariadb.port, "", 1, "utf8mb4", "+00:00", 200, 1)
    ]


def test_the_one_user_is_root_without_a_password(mariadb: MariaServer) -> None:
    assert sql(mariadb.url_of("mysql"), "SELECT database(), current_user()") == [("mysql", "root@127.0.0.1")]
    anonymous = "SELECT count(*) FROM mysql.global_priv WHERE user NOT IN ('root', 'mariadb.sys')"
    assert sql(mariadb.url, anonymous) == [(0,)]


def test_it_runs_as_somebody_other_than_root(mariadb: MariaServer) -> None:
    owner = (mariadb.directory / "data" / "ibdata1").stat().st_uid
    assert owner == os.geteuid() if os.geteuid() else owner != 0


def test_own_settings_of_a_server(mariadb: MariaServer) -> None:
    with MariaServer.start(settings={"max_connections": 17, "innodb_file_per_table": False, "sql_mode": ""}) as other:
        shown = sql(other.url, "SELECT @@global.max_connections, @@global.innodb_file_per_table, @@global.sql_mode")
        assert shown == [(17, 0, "")]
        assert other.port != mariadb.port


def test_stop_ends_the_server_and_removes_everything(mariadb: MariaServer, tmp_path: Path) -> None:
    with MariaServer.start() as running:
        assert answers(running.url)
        assert running._process is not None
        assert running._watchdog is not None
        pids = running._process.pid, running._watchdog.pid
    assert not running.directory.exists()
    assert not any(alive(pid) for pid in pids)
    assert not answers(running.url)
    running.stop()


def test_commits_survive_a_kill(mariadb: MariaServer) -> None:
    with MariaServer.start() as server:
        sql(server.url, "CREATE DATABASE shop; CREATE TABLE shop.t (i int PRIMARY KEY)")
        url = server.url_of("shop")
        with connect(url, autocommit=True) as conn, conn.cursor() as cursor:
            for i in range(50):
                cursor.execute("INSERT INTO t VALUES (%s)", [i])
            cursor.execute("BEGIN")
            cursor.execute("INSERT INTO t VALUES (1000)")
            server.kill()
            assert not server.running
            with pytest.raises(pymysql.err.OperationalError):
                cursor.execute("SELECT 1")
        assert not answers(url)
        server.restart()
        assert server.url_of("shop") == url
        assert sql(url, "SELECT count(*), max(i) FROM t") == [(50, 49)]


def test_shut_down_and_restart_with_other_settings(mariadb: MariaServer) -> None:
    with MariaServer.start() as server:
        sql(server.url, "CREATE DATABASE shop; CREATE TABLE shop.t AS SELECT 1 AS i")
        server.shut_down()
        assert not server.running
        assert "Shutdown complete" in (server.directory / "log").read_text()
        server.restart({"max_connections": 19})
        assert sql(server.url, "SELECT i, @@max_connections FROM shop.t") == [(1, 19)]
        server.restart()  # it runs
        server.shut_down()
        with pytest.raises(SourceError, match="no_such_option"):
            server.restart({"no_such_option": 1})
        server.stop()
        assert not server.directory.exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("account", [0, *([NOBODY] if os.geteuid() == 0 else [])])
def test_dead_owner_leaves_nothing(mariadb: MariaServer, number: signal.Signals, account: int) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(account)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert owner.stdout is not None
    with owner.stdout:
        url, directory, *pids = owner.stdout.readline().split()
    assert answers(url)
    if account:
        assert (Path(directory) / "data" / "ibdata1").stat().st_uid == account
    os.kill(owner.pid, number)
    owner.wait(timeout=30)
    wait_until(lambda: not Path(directory).exists(), timeout=15, what="the removal of the server's directory")
    wait_until(lambda: not any(alive(int(pid)) for pid in pids), timeout=15, what="the end of server and watchdog")
    assert not answers(url)


def test_a_taken_port_is_tried_elsewhere(mariadb: MariaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [mariadb.port, embedded._free_port(mariadb.host)]
    free = answers[1]
    monkeypatch.setattr(embedded, "_free_port", lambda host: answers.pop(0))
    with MariaServer.start() as second:
        assert second.port == free


def test_a_wrong_setting_shows_the_servers_message(mariadb: MariaServer) -> None:
    with pytest.raises(SourceError, match="no_such_option"):
        MariaServer.start(settings={"no_such_option": "x"})


def test_a_used_directory_is_left_alone(mariadb: MariaServer, tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    with pytest.raises(SourceError, match="new or empty"):
        MariaServer.start(tmp_path)
    assert (tmp_path / "precious").exists()


def test_programs_of_an_installation_elsewhere(mariadb: MariaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of an unpacked package.

    With a root of its own, named by the variable, and its own texts.
    """
    system = find_programs().server.resolve().parents[1]
    files = ("sbin/mariadbd", "bin/mariadb-install-db", "bin/my_print_defaults", "bin/resolveip", "share/mysql")
    if not all((system / name).exists() for name in files):
        pytest.skip(
            f"MariaDB's files are not as Debian's packages have them: not all of {', '.join(files)} in {system}"
        )
    with tempfile.TemporaryDirectory() as root:
        os.chmod(root, 0o755)
        for name in files:
            (Path(root) / name).parent.mkdir(exist_ok=True)
            copy = shutil.copytree if (system / name).is_dir() else shutil.copy
            copy(system / name, Path(root) / name)
        monkeypatch.setenv(BIN_VARIABLE, f"{root}/sbin{os.pathsep}{root}/bin")
        with MariaServer.start() as running:
            assert sql(running.url, "SELECT trim(TRAILING '/' FROM @@basedir)") == [(root,)]


def test_missing_programs_are_a_skip_in_the_last_lines(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(BIN_VARIABLE, str(tmp_path))
        with pytest.raises(EnvironmentMissing, match="apt-get install mariadb-server-core"):
            find_programs()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", "settings"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, BIN_VARIABLE: str(tmp_path)}
    )
    assert done.returncode == 0
    last = done.stdout.splitlines()[-2]  # before pytest's counts
    assert last.startswith("3 tests skipped: no MariaDB server: mariadbd and "), done.stdout
