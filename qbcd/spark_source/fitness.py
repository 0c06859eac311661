"""Whether Spark can run the source: its version, Java, and the Python of its workers."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from qbcd.errors import EnvironmentMissing
from qbcd.version import __version__

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

PROBE_S = 60.0
_PROBE = (
    "import sys; v = '.'.join(map(str, sys.version_info[:2]))\n"
    "try:\n import qbcd.spark_source.executor, qbcd; print(v, qbcd.__version__)\n"
    "except ImportError as e:\n print(v, 'no', e.name)"
)
_FIX = "set PYSPARK_PYTHON={python} before the session starts"


@contextmanager
def workers_python(spark: SparkSession) -> Iterator[None]:
    """In the block, what is registered runs in a Python that has qbcd.

    On a local master it is that of this process, unless the user names one.

    Raises:
        EnvironmentMissing: The workers, here or on executors, cannot run the source.
    """
    context = _context(spark)
    if context is None:
        yield  # Spark Connect: the server's Python is not known here
        return
    before, is_local = context.pythonExec, str(context.master or "").startswith("local")
    named = os.environ.get("PYSPARK_PYTHON") or context.getConf().get("spark.pyspark.python", "")
    if is_local and not named:
        context.pythonExec = sys.executable
    python = str(context.pythonExec)
    try:
        if python != sys.executable:
            _judge(python, _asked(python), "this machine")
        if not is_local:
            tasks = max(2, context.defaultParallelism)
            for host, answer in sorted(set(context.parallelize(range(tasks), tasks).map(_on_executor()).collect())):
                _judge(python, answer, f"executor {host}")
        yield
    finally:
        context.pythonExec = before


def _context(spark: SparkSession) -> SparkContext | None:
    from pyspark.errors import PySparkException

    try:
        return spark.sparkContext
    except PySparkException:  # a session of Spark Connect has none
        return None


def _asked(python: str) -> str:
    try:
        done = subprocess.run([python, "-c", _PROBE], capture_output=True, text=True, timeout=PROBE_S, check=False)
    except OSError as error:
        raise EnvironmentMissing(
            f"Spark's workers run {python}, which cannot be started: {error.strerror}",
            remedy=_FIX.format(python=sys.executable),
        ) from error
    return done.stdout.strip() or f"? no {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'answer'}"


def _on_executor() -> Any:
    """Return a function for tasks; it is pickled by its text, since workers may have no qbcd."""
    text, host = _PROBE, socket.gethostname

    def ask(_: int) -> tuple[str, str]:
        import contextlib
        import io

        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(text, {})
        return host(), out.getvalue().strip()

    ask.__module__ = "__main__"
    return ask


def _judge(python: str, answer: str, place: str) -> None:
    version, _, found = answer.partition(" ")
    mine = ".".join(map(str, sys.version_info[:2]))
    if found.startswith("no "):
        raise EnvironmentMissing(
            f"Spark's workers run {python} on {place}, which lacks the module {found.removeprefix('no ')}",
            remedy=f"{_FIX.format(python=sys.executable)}, or install qbcd there",
        )
    if version != mine or found != __version__:
        raise EnvironmentMissing(
            f"Spark's workers run Python {version} with qbcd {found} on {place}; this is Python {mine} with qbcd "
            f"{__version__}",
            remedy=_FIX.format(python=sys.executable),
        )
