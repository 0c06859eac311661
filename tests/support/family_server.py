"""The frame of private servers of MariaDB and MySQL, for tests and benchmarks.

A server listens only on 127.0.0.1, on a free port, reads no configuration file, and keeps everything in one directory
that it removes at the end. A watchdog process ends it when its owner dies, even by kill -9. It never runs as root.
"""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import ClassVar, TypeVar

from qbcd.demo import server as embedded
from qbcd.demo.server import COMMAND_TIMEOUT, START_ATTEMPTS, Setting
from qbcd.errors import SourceError

# Writes its own process id before it becomes the server. If the directory is missing, the owner has ended.
_LAUNCHER = 'echo $$ >"$0" && exec "$@"'

# Waits until the owner's end of the pipe closes, which happens even after kill -9, and then cleans up.
_WATCHDOG = """
cat >/dev/null
if [ -s "$1/pid" ]; then kill -KILL "$(cat "$1/pid")" 2>/dev/null; fi
tries=0
until rm -rf "$1" || [ "$tries" -ge 50 ]; do sleep 0.1; tries=$((tries + 1)); done
"""


@dataclass(frozen=True)
class Programs:
    """Paths of the programs of a server.

    Attributes:
        server: The server itself.
        install: The program that makes the system's tables.
        base: Root of an installation outside of the system's paths.
    """

    server: Path
    install: Path
    base: Path | None = None

    def below(self, base: Path) -> Programs:
        """Return the same programs of a copy of the installation."""
        assert self.base is not None
        server, install = (base / path.resolve().relative_to(self.base) for path in (self.server, self.install))
        return Programs(server, install, base)


Running = TypeVar("Running", bound="FamilyServer")


class FamilyServer(ABC):
    """A running server; make one with :meth:`start`, end it with :meth:`stop` or a `with` block.

    Attributes:
        product: Name of the server in messages.
        scheme: Start of its URL.
        defaults: Options of each server, by their names in my.cnf.
        directory: All files of the server: `data/`, `tmp/`, `log`.
        host: Always 127.0.0.1.
        port: TCP port; the same for the server's whole life.
        url: SQLAlchemy URL of user `root` without a password and without a database.
    """

    product: ClassVar[str]
    scheme: ClassVar[str]
    defaults: ClassVar[Mapping[str, Setting]]

    host = "127.0.0.1"

    def __init__(self, directory: Path, programs: Programs, account: pwd.struct_passwd | None) -> None:
        self.directory = directory
        self.port = 0
        self._programs = programs
        self._account = account
        self._settings: dict[str, Setting] = {}
        self._owner = os.getpid()
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None

    @classmethod
    def start(
        cls: type[Running], directory: Path | None = None, settings: Mapping[str, Setting] | None = None
    ) -> Running:
        """Make a data directory and start a server on it; return when it accepts connections.

        Args:
            directory: A new or empty directory; default: one in the system's temporary directory. It is removed by
                :meth:`stop` and when this process ends.
            settings: Options that override the defaults (utf8mb4, UTC, 200 connections), by their names in my.cnf.

        Raises:
            EnvironmentMissing: The server is not installed, or there is no account that it could run as.
            SourceError: The server did not start; the message has the end of its log.
        """
        programs = cls.programs()
        account = embedded._unprivileged_account()
        server = cls(embedded._make_directory(directory, account), programs, account)
        try:
            server._guard()
            server._make_programs_usable()
            server._initialise()
            server._settings = {**cls.defaults, **(settings or {})}
            server._launch(lambda: embedded._free_port(cls.host))
        except BaseException:
            server.stop()
            raise
        return server

    @classmethod
    @abstractmethod
    def programs(cls) -> Programs:
        """Return the programs of the server.

        Raises:
            EnvironmentMissing: They were not found.
        """

    @abstractmethod
    def _installing(self, data: Path) -> list[str]:
        """Return the command that makes the system's tables: `root` without a password, and no anonymous users."""

    @property
    def url(self) -> str:
        """URL of `root` without a database."""
        return self.url_of("")

    def url_of(self, database: str) -> str:
        """Return the URL of `root` in `database`, a name without characters that a URL must escape."""
        return f"{self.scheme}://root@{self.host}:{self.port}/{database}"

    @property
    def running(self) -> bool:
        """Return True if the server's process runs."""
        return self._process is not None and self._process.poll() is None

    def shut_down(self) -> None:
        """Shut the server down in order; its data stay for :meth:`restart`."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End the server as kill -9 does; its data stay for :meth:`restart`."""
        self._end(signal.SIGKILL)

    def restart(self, settings: Mapping[str, Setting] | None = None) -> None:
        """Start the server again on its data and its port, unless it runs.

        Args:
            settings: Options that override the earlier ones.

        Raises:
            SourceError: The server did not start.
        """
        self._settings.update(settings or {})
        if not self.running:
            self._launch(lambda: self.port)

    def stop(self) -> None:
        """End the server and remove its directory; a no-op the second time or in a forked child."""
        if self._owner != os.getpid() or self._watchdog is None:
            return
        atexit.unregister(self.stop)
        self.kill()  # nobody reads what an orderly end would write
        watchdog, self._watchdog = self._watchdog, None
        watchdog.communicate(timeout=COMMAND_TIMEOUT)  # closes the pipe; the watchdog removes the rest

    def __enter__(self: Running) -> Running:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _guard(self) -> None:
        """Start the watchdog, in its own session so that Ctrl-C in the terminal does not reach it."""
        self._watchdog = subprocess.Popen(
            ["/bin/sh", "-c", _WATCHDOG, "qbcd-watchdog", str(self.directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
        atexit.register(self.stop)

    def _make_programs_usable(self) -> None:
        """Copy the programs next to the data if the server's account cannot reach them, as in the home of root."""
        base = self._programs.base
        if self._account is None or base is None or embedded._open_to_all(base):
            return
        copy = self.directory / "programs"
        shutil.copytree(base, copy)
        copy.chmod(0o755)
        self._programs = self._programs.below(copy)

    def _initialise(self) -> None:
        command = self._installing(self.directory / "data")
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            process = self._spawn(command, output.fileno())
            try:
                failed = process.wait(COMMAND_TIMEOUT)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise
            output.seek(0)
            if failed:
                raise SourceError(
                    f"{self._programs.install.name} failed: {embedded._tail(output.read(), 20)}",
                    where=str(self.directory),
                )
        temporary = self.directory / "tmp"
        temporary.mkdir()
        if self._account is not None:
            os.chown(temporary, self._account.pw_uid, self._account.pw_gid)

    def _launch(self, choose_port: Callable[[], int]) -> None:
        """Start the server; choose another port if a process took this one after the check."""
        text = ""
        for _ in range(START_ATTEMPTS):
            self.port = choose_port()
            with (self.directory / "log").open("wb") as log:
                self._process = self._spawn(
                    ["/bin/sh", "-c", _LAUNCHER, str(self.directory / "pid"), *self._command()], log.fileno()
                )
            ready, text = self._wait_until_ready()
            if ready:
                return
            self.kill()
            if "Bind on TCP/IP port" not in text:
                break
            time.sleep(0.2)
        raise SourceError(f"{self.product} did not start: {embedded._tail(text)}", where=str(self.directory))

    def _command(self) -> list[str]:
        data = self.directory / "data"
        own = {
            "datadir": str(data),
            "tmpdir": str(self.directory / "tmp"),
            "pid_file": str(data / "server.pid"),
            "socket": self._socket(),
            "bind_address": self.host,
            "port": self.port,
            "skip_name_resolve": True,
        }
        options = [f"--{name}={int(v) if isinstance(v, bool) else v}" for name, v in {**self._settings, **own}.items()]
        return [str(self._programs.server), "--no-defaults", *self._base(), *options]

    def _wait_until_ready(self) -> tuple[bool, str]:
        """Return True and the log if the server accepts connections, False and the log otherwise.

        The log belongs to this server only; another server on the port does not write to it.
        """
        deadline = time.monotonic() + COMMAND_TIMEOUT
        while True:
            alive = self.running
            text = (self.directory / "log").read_text(errors="replace")
            if not alive or "ready for connections" in text or time.monotonic() > deadline:
                return alive and "ready for connections" in text, text
            time.sleep(0.02)

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(number)
            try:
                process.wait(COMMAND_TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        (self.directory / "pid").unlink(missing_ok=True)  # the number may soon be another process's

    def _socket(self) -> str:
        """Return the path of the server's socket; empty for none."""
        return ""

    def _base(self) -> list[str]:
        return [f"--basedir={self._programs.base}"] if self._programs.base else []

    def _spawn(self, command: Sequence[str], output: int) -> subprocess.Popen[bytes]:
        """Start a program as the server's account, out of reach of a terminal's Ctrl-C."""
        account = self._account
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
            start_new_session=True,
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
        )
