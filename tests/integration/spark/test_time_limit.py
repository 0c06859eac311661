"""The limit on calls of Java: Spark's jobs are canceled, and a Java that hangs is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from qbcd.errors import SparkFailed
from qbcd.spark import time_limit
from qbcd.spark.time_limit import limit_calls
from tests.support import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SLEEPS = "java_method('java.lang.Thread', 'sleep', 60000L + id)"
HANGS = """
import sys
from qbcd.config.models import SparkConfig
from qbcd.errors import SparkFailed
from qbcd.spark import time_limit
from qbcd.spark.session import create_session

time_limit.GRACE = 1.0
spark = create_session(SparkConfig(master="local[1]"), [], timeout=60.0)
client = spark.sparkContext._gateway._gateway_client
object.__setattr__(client.send_command, "seconds", 1.0)
print(spark.sparkContext._gateway.proc.pid, flush=True)
sys.stdin.readline()
try:
    spark.range(3).count()
except SparkFailed as error:
    print(error.what, flush=True)
"""


def test_a_long_job_is_canceled(spark: SparkSession) -> None:
    killed: list[str] = []
    lift = limit_calls(spark.sparkContext._gateway, 1.0, lambda: killed.append("killed"))
    began = time.monotonic()
    try:
        with pytest.raises(SparkFailed, match=r"did not finish a step within 1 s \(spark.timeout\)"):
            spark.range(1).selectExpr(SLEEPS).collect()
    finally:
        lift()
    assert time.monotonic() - began < time_limit.GRACE
    assert killed == []
    assert spark.range(3).count() == 3


@pytest.mark.campaign
def test_a_java_that_hangs_is_killed() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", HANGS], **pipes) as process:  # type: ignore[call-overload]
        java = int(process.stdout.readline())
        os.kill(java, signal.SIGSTOP)
        began = time.monotonic()
        out, _ = process.communicate("go\n", timeout=60)
        assert "Spark did not finish a step within 1 s" in out
        assert time.monotonic() - began < 20
        wait_until(lambda: not os.path.exists(f"/proc/{java}"), what="the end of Java")
