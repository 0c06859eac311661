"""A Firebird 3 or 4 of Debian's packages, unpacked into the user's cache, with a folder of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

from qbcd.errors import EnvironmentMissing
from tests.support import free_port
from tools.fetch_server import folder_of

VERSIONS = ("firebird3", "firebird4")
LOGIN = {"user": "SYSDBA", "password": "masterkey"}
_SECURITY = {"firebird3": "security3.fdb", "firebird4": "security4.fdb"}


class FirebirdServer:
    """A running server; a context manager that stops it.

    Args:
        version: A name of :data:`VERSIONS`.
        folder: An empty folder for its files.

    Attributes:
        port: Its port on 127.0.0.1.

    Raises:
        EnvironmentMissing: The server is not in the cache, or does not start.
    """

    def __init__(self, version: str, folder: Path) -> None:
        programs = folder_of(version)
        if not programs.is_dir():
            remedy = f"python -m tools.fetch_server {version}"
            raise EnvironmentMissing(f"{version} is not in the cache", remedy=remedy)
        self._bin = next(path.parent for path in programs.glob("*bin/firebird"))
        self._isql = programs / "bin" / "isql-fb"
        self.folder, self.port = folder, free_port()
        self._prepare(version, programs / "home")
        self._environment = {
            **os.environ,
            "FIREBIRD_BOOT_BUILD": "1",  # then all its folders are below FIREBIRD, and none is the package's
            "FIREBIRD": str(folder),
            "FIREBIRD_LOCK": str(folder / "lock"),
            "FIREBIRD_TMP": str(folder),
        }
        self._create(_SECURITY[version])
        log = (folder / "server.log").open("w")
        self._process = subprocess.Popen([str(self._bin / "firebird")], env=self._environment, stdout=log, stderr=log)
        self._await()

    def _prepare(self, version: str, home: Path) -> None:
        for part in ("plugins", "tzdata"):
            if (home / part).is_dir():
                shutil.copytree(home / part, self.folder / part)
        for part in ("intl", "lock"):
            (self.folder / part).mkdir()
        for name in ("libfbintl.so", "fbintl.conf"):
            shutil.copy(home / name, self.folder / "intl" / name)
        for name in ("firebird.msg", "plugins.conf", "security.sql"):
            shutil.copy(home / name, self.folder / name)
        (self.folder / "databases.conf").touch()
        settings = {
            "RemoteServicePort": self.port,
            "RemoteBindAddress": "127.0.0.1",
            "SecurityDatabase": self.folder / _SECURITY[version],
            "ServerMode": "Super",
        }
        text = "".join(f"{name} = {value}\n" for name, value in settings.items())
        (self.folder / "firebird.conf").write_text(text)

    def _create(self, security: str) -> None:
        """Create the database of logins, with the one of the tests."""
        path = self.folder / security
        self._run(f"CREATE DATABASE '{path}';")
        self._run((self.folder / "security.sql").read_text(), str(path))
        self._run(f"CREATE USER {LOGIN['user']} PASSWORD '{LOGIN['password']}';\nCOMMIT;", str(path))

    def _run(self, sql: str, *database: str) -> str:
        command = [str(self._isql), "-q", "-user", LOGIN["user"], *database]
        done = subprocess.run(
            command, input=f"{sql}\nEXIT;\n", env=self._environment, capture_output=True, text=True, timeout=60
        )
        if done.returncode:
            raise EnvironmentMissing(f"isql failed: {done.stderr.strip()[-500:]}", remedy="see its folder")
        return done.stdout

    def _await(self) -> None:
        probe = f"CONNECT '127.0.0.1/{self.port}:{self.folder}/none.fdb' USER 'X' PASSWORD 'x';"
        for _ in range(100):
            command = [str(self._isql), "-q"]
            done = subprocess.run(
                command, input=f"{probe}\nEXIT;\n", env=self._environment, capture_output=True, text=True, timeout=60
            )
            if "not defined" in done.stderr:
                return
            if self._process.poll() is not None:
                break
            time.sleep(0.2)
        log = (self.folder / "server.log").read_text()[-500:]
        self.stop()
        raise EnvironmentMissing(f"Firebird does not answer: {done.stderr.strip()[-300:]} {log}", remedy="see its log")

    def database(self, name: str) -> str:
        """Create a database; return its JDBC URL."""
        path = self.folder / f"{name}.fdb"
        login = f"USER '{LOGIN['user']}' PASSWORD '{LOGIN['password']}'"
        self._run(f"CREATE DATABASE '127.0.0.1/{self.port}:{path}' {login} DEFAULT CHARACTER SET UTF8;")
        return f"jdbc:firebirdsql://127.0.0.1:{self.port}/{path}"

    def stop(self) -> None:
        """Stop the server."""
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(20)

    def __enter__(self) -> FirebirdServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
