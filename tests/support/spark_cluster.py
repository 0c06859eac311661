"""A standalone master of Spark and its workers, as processes of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pyspark.find_spark_home import _find_spark_home

from tests.support import free_port, wait_until
from tests.support.hosts import Hosts

ADDRESS = "127.0.0.1"


class SparkCluster:
    """A running cluster.

    Args:
        folder: For the workers' own files.
        hosts: Each worker is on a new one; None for this machine.

    Attributes:
        master: The address of the master, for ``spark.master``.
        workers: The processes of the workers.
    """

    def __init__(self, folder: Path, hosts: Hosts | None = None) -> None:
        self.folder, self._hosts = folder, hosts
        self.address = hosts.address if hosts else ADDRESS
        port = free_port()
        self.master = f"spark://{self.address}:{port}"
        self.workers: list[subprocess.Popen[bytes]] = []
        name = ("--host", self.address, "--port", str(port), "--webui-port", str(free_port()))
        self._master = self._started("master.Master", "master.log", *name)
        wait_until(lambda: "I have been elected leader" in self.log("master.log"), timeout=60)

    def log(self, name: str) -> str:
        """Return what a process has logged."""
        path = self.folder / name
        return path.read_text(errors="replace") if path.exists() else ""

    def add_worker(self) -> subprocess.Popen[bytes]:
        """Start a worker of one core."""
        name = f"worker-{len(self.workers)}.log"
        address, there = self._hosts.add() if self._hosts else (ADDRESS, [])
        own = ("--host", address, "--cores", "1", "--memory", "1g", "--webui-port", str(free_port()))
        work = str(self.folder / name.removesuffix(".log"))
        worker = self._started("worker.Worker", name, *own, "--work-dir", work, self.master, there=there)
        self.workers.append(worker)
        wait_until(lambda: "Successfully registered with master" in self.log(name), timeout=60)
        return worker

    def kill_worker(self, number: int) -> None:
        """Kill a worker with its executors, as a host that loses power."""
        with suppress(ProcessLookupError):
            os.killpg(self.workers[number].pid, signal.SIGKILL)
        self.workers[number].wait()

    def executors_logs(self) -> str:
        """Return all that executors have logged."""
        return "".join(path.read_text(errors="replace") for path in sorted(self.folder.glob("worker-*/*/*/std*")))

    @property
    def spark(self) -> dict[str, Any]:
        """The section `spark` of a configuration."""
        own = {"spark.driver.host": self.address, "spark.driver.bindAddress": self.address}
        return {"master": self.master, "conf": {**own, "spark.executor.memory": "768m"}}

    def _started(self, name: str, log: str, *arguments: str, there: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        home = Path(_find_spark_home())
        variables = {
            **os.environ,
            "SPARK_HOME": str(home),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_DAEMON_MEMORY": "256m",
        }
        command = [*there, str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
        with (self.folder / log).open("wb") as out:
            return subprocess.Popen(command, stdout=out, stderr=out, env=variables, start_new_session=True)

    def close(self) -> None:
        """End all processes, executors too."""
        for process in (*self.workers, self._master):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def spark_cluster(folder: Path, workers: int = 2, hosts: Hosts | None = None) -> Iterator[SparkCluster]:
    """Run a cluster for the block."""
    folder.mkdir(parents=True, exist_ok=True)
    running = SparkCluster(folder, hosts)
    try:
        for _ in range(workers):
            running.add_worker()
        yield running
    finally:
        running.close()
