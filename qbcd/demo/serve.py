"""``qbcd demo --serve`` and ``--stop``: a private PostgreSQL that runs until it is stopped.

A separate process owns the server and waits for SIGTERM. A file in the user's cache names that process, so that there
is one such server per user, and `--stop` finds it.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from qbcd.demo.server import EmbeddedPostgres
from qbcd.errors import EnvironmentMissing, QbcdError
from qbcd.spark.drivers import user_cache

START_TIMEOUT = 150.0  # seconds
STOP_TIMEOUT = 60.0


@dataclass(frozen=True)
class Served:
    """A running server, as its file describes it.

    Attributes:
        pid: The process that owns the server.
        started: Start of that process in clock ticks since the machine's start, to recognize another process with the
            same id.
        programs: Folder with `psql`.
    """

    pid: int
    started: int
    host: str
    port: int
    programs: str

    @property
    def alive(self) -> bool:
        """True if the process that owns the server still runs."""
        return _started(self.pid) == self.started

    def exports(self) -> str:
        """Return shell commands that let `psql` run and connect to the server."""
        values = {"PGHOST": self.host, "PGPORT": self.port, "PGUSER": "postgres", "PGDATABASE": "postgres"}
        words = [f"{name}={shlex.quote(str(value))}" for name, value in values.items()]
        return f'export {" ".join(words)} PATH={shlex.quote(self.programs)}:"$PATH"'


def serve() -> tuple[Served, bool]:
    """Start a server, or find the running one; return it, and True if it is new.

    Raises:
        QbcdError: The server did not start; the message comes from its process.
    """
    found = running()
    if found:
        return found, False
    command = [sys.executable, "-m", "qbcd.demo.serve"]
    owner = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    assert owner.stdout is not None
    timer = threading.Timer(START_TIMEOUT, owner.kill)
    timer.start()
    try:
        line = owner.stdout.readline()  # the file's content, or an error; nothing if the process ended
    finally:
        timer.cancel()
    answer = json.loads(line) if line else {"error": "its process ended"}
    if "error" in answer:
        raise EnvironmentMissing(f"the server did not start: {answer['error']}", remedy=answer.get("remedy", ""))
    return Served(**answer), True


def stop() -> bool:
    """Stop the server and remove its data; return False if none runs.

    Raises:
        QbcdError: The server did not stop in time.
    """
    found = running()
    if not found:
        return False
    os.kill(found.pid, signal.SIGTERM)
    end = time.monotonic() + STOP_TIMEOUT
    while found.alive:
        if time.monotonic() > end:
            raise QbcdError(f"the server does not stop; its process is {found.pid}", remedy=f"kill {found.pid}")
        time.sleep(0.05)
    return True


def running() -> Served | None:
    """Return the running server of this user, or None."""
    try:
        found = Served(**json.loads(_file().read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return found if found.alive else None


def _file() -> Path:
    return user_cache() / "demo-server.json"


def _started(pid: int) -> int | None:
    """Return a process's start time, field 22 of its line in /proc; None if it does not exist."""
    try:
        line = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = line.rpartition(")")[2].split()
    return None if state == "Z" else int(fields[18])


def _own() -> None:
    """Run a server until SIGTERM; report it, or an error, as one line of JSON on stdout."""
    wanted = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: wanted.set())
    try:
        server = EmbeddedPostgres.start()
    except QbcdError as error:
        _answer({"error": error.what, "remedy": error.remedy})
        return
    with server:
        started = _started(os.getpid())
        assert started is not None
        served = asdict(Served(os.getpid(), started, server.host, server.port, str(server.bin)))
        _file().parent.mkdir(parents=True, exist_ok=True)
        _file().write_text(json.dumps(served), encoding="utf-8")
        _answer(served)
        wanted.wait()
    _file().unlink(missing_ok=True)


def _answer(data: Mapping[str, object]) -> None:
    sys.stdout.write(json.dumps(data) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _own()
