"""A poller in a process of its own that is killed at a point of the protocol.

Python dies, with its connections, locks and lease. The child attaches to the test's Java process, so that a kill takes
a second and not a start of Spark. With `own_spark` it starts a Java process of its own, which dies too.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qbcd.common import hooks
from tests.support.project import opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PRELOADED = ["pyspark.sql", "pyspark.java_gateway", "qbcd.api", "qbcd.spark.events", "tests.faults.child"]
NOT_REACHED = 77
PATIENCE = 120.0  # seconds for a child on a busy machine


@dataclass(frozen=True)
class Gateway:
    """Port and secret with which a child reaches the Java process of the test's session."""

    port: int
    secret: str

    @classmethod
    def of(cls, spark: SparkSession) -> Gateway:
        """Return the gateway of a running session."""
        gateway = spark.sparkContext._gateway
        assert gateway is not None
        parameters = gateway.gateway_parameters
        return cls(parameters.port, parameters.auth_token)

    def attach(self) -> SparkSession:
        """Return a session in this process on the other session's Java process."""
        os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"] = str(self.port), self.secret
        from pyspark import SparkConf, SparkContext, java_gateway
        from pyspark.sql import SparkSession

        connect: Any = java_gateway.launch_gateway
        gateway = connect()
        jvm: Any = gateway.jvm
        running = jvm.org.apache.spark.SparkContext.getOrCreate()
        context = jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(running)
        conf = SparkConf(_jvm=jvm, _jconf=context.sc().conf())
        return SparkSession(SparkContext(gateway=gateway, jsc=context, conf=conf))


def kill_at(
    point: str,
    data: dict[str, Any],
    folder: Path,
    spark: SparkSession | None,
    *,
    task: str = "poll",
    nth: int = 1,
    own_spark: bool = False,
    constants: Mapping[str, int] | None = None,
) -> int:
    """Run `task` (``poll`` or ``prepare``) of stream ``s`` in a child that dies at `point`.

    Args:
        nth: The visit to `point` at which it dies.
        spark: The test's session; None for a child that needs no Spark.
        own_spark: The child starts a Java process of its own.
        constants: Constants of modules, as ``qbcd.package.module.NAME``, that are set in the child.

    Returns:
        The process id of the dead child.
    """
    gateway = None if own_spark or spark is None else Gateway.of(spark)

    context = multiprocessing.get_context("forkserver")  # forked from a process that has imported the slow modules
    context.set_forkserver_preload(_PRELOADED)
    arguments = (point, nth, task, data, folder, gateway, dict(constants or {}))
    child = context.Process(target=_doomed, args=arguments, daemon=True)
    child.start()
    child.join(PATIENCE)
    assert child.exitcode == -signal.SIGKILL, f"the child ended with {child.exitcode} and not at {point}"
    assert child.pid is not None
    return int(child.pid)


def _doomed(
    point: str,
    nth: int,
    task: str,
    data: dict[str, Any],
    folder: Path,
    gateway: Gateway | None,
    constants: Mapping[str, int],
) -> None:
    for name, value in constants.items():
        module, _, constant = name.rpartition(".")
        setattr(importlib.import_module(module), constant, value)
    visits = 0

    def die() -> None:
        nonlocal visits
        visits += 1
        if visits == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    hooks.register(point, die)
    project = opened(data, folder, gateway.attach() if gateway else None)
    if task == "prepare":
        project.stream("s").prepare()
    else:
        poll(project, "s")
    os._exit(NOT_REACHED)
