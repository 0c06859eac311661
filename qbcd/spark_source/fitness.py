"""Checks that Spark can run the source: versions, Java, workers' Python, drivers, streams."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qbcd.api import open, parts_of
from qbcd.check.finding import Finding, failed, run_check
from qbcd.common.wording import counted
from qbcd.errors import EnvironmentMissing, QbcdError
from qbcd.spark.drivers import Wanted, find_driver, user_cache
from qbcd.spark.java import Surroundings, require_java
from qbcd.spark_source.options import options_of
from qbcd.spark_source.planned import load
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


def paste(config: Path, stream: str) -> str:
    """Return the lines that read a stream, for a program that has a session called `spark`."""
    return (
        "from qbcd.spark_source import register; register(spark)\n"
        f'spark.read.format("qbcd").option("config", "{config.absolute()}").load("{stream}").show()'
    )


def examine(config: Path, *, start: bool) -> list[Finding]:
    """Check Spark, Java, the Python of workers, JDBC drivers and the streams that can be read.

    Args:
        config: The configuration; without the file only the machine is checked.
        start: Start a local session, register the format and load a stream by it.
    """
    found = [_spark(), run_check("Java", require_java, ""), run_check("workers", _prove_python, "")]
    found = [replace(one, message=one.message or _DETAILS[one.subject]()) if not one.error else one for one in found]
    loaded: list[str] = []
    if config.is_file():
        more, loaded = _of_project(config)
        found += more
    else:
        found.append(Finding("configuration", "warning", f"there is no {config} here; -c FILE names another"))
    if start and not any(one.error for one in found):
        found.append(run_check('format("qbcd")', lambda: _load_by_spark(config, loaded), _registered(loaded)))
    return found


def _spark() -> Finding:
    import pyspark

    version = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
    if version < (4, 2):
        return Finding("Spark", "warning", f"{pyspark.__version__}: maxRowsPerTrigger needs 4.2 or newer")
    return Finding("Spark", "ok", f"{pyspark.__version__}: batch reads, streams, maxRowsPerTrigger")


def _named_python() -> str:
    return os.environ.get("PYSPARK_PYTHON") or sys.executable


def _prove_python() -> None:
    python = _named_python()
    if python != sys.executable:
        _judge(python, _asked(python), "this machine")


_DETAILS: Mapping[str, Callable[[], str]] = {
    "Spark": str,
    "Java": lambda: str(require_java()),
    "workers": lambda: f"{_named_python()}, Python {sys.version.split()[0]}, qbcd {__version__}",
}


def _of_project(config: Path) -> tuple[list[Finding], list[str]]:
    """Return findings about drivers and streams, and the streams that can be read."""
    found: list[Finding] = []
    loaded: list[str] = []
    try:
        with open(config) as project:
            for wanted in parts_of(project).sources.drivers():
                found.append(_driver(wanted))
            names = [one.name for one in project.streams]
    except QbcdError as error:
        return [*found, failed("configuration", error)], loaded
    for name in names:
        try:
            columns = load(options_of({"config": str(config), "path": name})).columns
        except QbcdError as error:
            found.append(failed("stream", error, name))
        else:
            found.append(Finding("stream", "ok", f"{counted(len(columns), 'column')} can be read", name))
            loaded.append(name)
    return found, loaded


def _driver(wanted: Wanted) -> Finding:
    subject, around = f"driver {wanted.driver.driver_class}", Surroundings(may_install=lambda: False)
    try:
        jar = find_driver(wanted.driver, configured=wanted.jar, cache=user_cache(), around=around, place=wanted.place)
    except QbcdError as error:
        return Finding(subject, "warning", f"polls with `engine: spark` need it, reads do not: {error}")
    return Finding(subject, "ok", f"{jar.jar} ({jar.origin})")


def _registered(loaded: Sequence[str]) -> str:
    return f"registered in a new session{f'; it has loaded {loaded[0]}' if loaded else ''}"


def _load_by_spark(config: Path, loaded: Sequence[str]) -> None:
    from pyspark.sql import SparkSession

    from qbcd.spark_source.source import QbcdDataSource

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = builder.config("spark.log.level", "ERROR").getOrCreate()
    try:
        with workers_python(session):
            session.dataSource.register(QbcdDataSource)
        for name in loaded[:1]:
            session.read.format("qbcd").option("config", str(config.absolute())).load(name)
    finally:
        session.stop()
