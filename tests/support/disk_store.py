"""An S3 server with a disk, which can be killed and started again: S3Mock, from jars of Maven."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from qbcd.errors import EnvironmentMissing
from qbcd.spark.drivers import user_cache
from qbcd.spark.java import resolve_packages
from tests.support import free_port, wait_until
from tests.support.s3_server import S3Server, answers

PACKAGE = "com.adobe.testing:s3mock:4.11.0"
MAIN = "com.adobe.testing.s3mock.S3MockApplication"
OPTIONS = "com.adobe.testing.s3mock"


def class_path() -> str:
    """Return the class path of the server; if it cannot be fetched, the test is skipped."""
    folder = user_cache() / "servers" / PACKAGE.replace(":", "-")
    if not (folder / "done").exists():
        try:
            resolve_packages([PACKAGE], folder)
        except (EnvironmentMissing, OSError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"the jars of S3Mock cannot be fetched: {error}")
        (folder / "done").touch()
    return f"{folder}/jars/*"


class DiskStore:
    """The server; its objects survive it.

    Attributes:
        port: Its port, the same after each start.
        s3: The address and credentials.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self.port = folder, free_port()
        self.s3 = S3Server(f"http://127.0.0.1:{self.port}")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = {"http-port": self.port, "store.root": self._folder, "store.retain-files-on-exit": "true"}
        command = ["java", "-Xmx384m", "-XX:TieredStopAtLevel=1", "-cp", class_path(), MAIN, "--server.port=0"]
        command += [f"--{OPTIONS}.{name}={value}" for name, value in options.items()]
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._folder.with_suffix(".log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_until(lambda: answers(self.port), timeout=90, what="S3Mock")

    def kill(self) -> None:
        """Kill it, as a host that loses power."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stand_still(self, still: bool) -> None:
        """Pause the process, which keeps its connections, or let it continue."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP if still else signal.SIGCONT)


@contextmanager
def disk_store(folder: Path) -> Iterator[DiskStore]:
    """Run a server for the block."""
    running = DiskStore(folder)
    try:
        running.start()
        yield running
    finally:
        running.kill()
