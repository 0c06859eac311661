"""The start of Spark's Java process: no interrupts, private settings, filtered stderr.

Settings are not on the command line, which every user of the machine can read.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import select
import shlex
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qbcd.common import waits
from qbcd.errors import SparkFailed
from qbcd.spark.time_limit import limit_calls

if TYPE_CHECKING:
    from pyspark import SparkConf

log = logging.getLogger("qbcd.java")

SUBMIT = "PYSPARK_SUBMIT_ARGS"
# Spark's launcher always adds this module, and Java has no option that hides its warning.
_POINTLESS = b"WARNING: Using incubator modules:"
_OUT_OF_MEMORY = "java.lang.OutOfMemoryError"
# The first line of an error that ends a thread of a running Java, and the lines of its trace. A Java that cannot start
# fails in its main thread, and its trace shows why.
_FATAL = re.compile(r'SparkUncaughtExceptionHandler|^Exception in thread (?!"main")')
_TRACE = re.compile(r"\s+at |\s*\.\.\. \d+ (more|common)|Caused by: |\s*Suppressed: |[\w.$]+(Error|Exception)\b")
_LAST_LINES = 2.0  # seconds to wait for the last lines of a Java process that has ended
_END_SECONDS = 5.0  # how long to wait for the last lines of a Java process that has ended
_ESCAPES = {
    "\\": "\\\\",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "=": "\\=",
    ":": "\\:",
    "#": "\\#",
    "!": "\\!",
    " ": "\\ ",
}


@contextmanager
def handed_over(settings: Mapping[str, str]) -> Iterator[None]:
    """In the block, pass `settings` to a Java that PySpark starts, in a private file.

    Values of ``spark-defaults.conf`` apply as before, unless `settings` has another.
    """
    if not settings:
        yield
        return
    before = os.environ.get(SUBMIT)
    with tempfile.TemporaryDirectory(prefix="qbcd-") as folder:  # mode 0700
        file = Path(folder) / "spark.properties"
        file.touch(mode=0o600)
        file.write_text("".join(f"{_escaped(n)}={_escaped(v)}\n" for n, v in settings.items()), encoding="utf-8")
        ours = f"--properties-file {shlex.quote(str(file))} --load-spark-defaults"
        os.environ[SUBMIT] = f"{ours} {before or 'pyspark-shell'}"
        try:
            yield
        finally:
            if before is None:
                del os.environ[SUBMIT]
            else:
                os.environ[SUBMIT] = before


def can_hand_over() -> bool:
    """Return True if a Java will be started and the user's own options name no such file."""
    from pyspark import SparkContext

    started = SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ
    return not started and "--properties-file" not in os.environ.get(SUBMIT, "")


_copier: threading.Thread | None = None
_out_of_memory = threading.Event()
_receivers: list[Callable[[str], None]] = []


@contextmanager
def java_messages_to(receiver: Callable[[str], None]) -> Iterator[None]:
    """In the block, pass lines of Java's stderr to `receiver`; else they go to stderr."""
    _receivers.append(receiver)
    try:
        yield
    finally:
        _receivers.remove(receiver)


def is_out_of_memory() -> bool:
    """Return True if the last Java process said that it ran out of memory.

    Wait for its last lines if it has ended.
    """
    if _copier is not None:
        _copier.join(_LAST_LINES)
    return _out_of_memory.is_set()


def start_java(conf: SparkConf, timeout: float) -> Any:
    """Start Java for a Spark context with `conf`; return its gateway, or None if there is one.

    Java's stderr goes through a pipe. It drops the warning about incubator modules, and logs the traces of errors that
    end Java at level DEBUG: qbcd has a message for them.

    Raises:
        SparkFailed: Java did not answer within `timeout` seconds; it is killed.
    """
    from pyspark import SparkContext

    global _copier
    if SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        return None
    _out_of_memory.clear()
    reading, writing = os.pipe()
    copier = threading.Thread(target=_copy, args=(reading,), name="qbcd-java-stderr", daemon=True)
    copier.start()
    _copier = copier
    try:
        gateway = _launched(conf, writing, timeout)
    except BaseException:
        os.close(writing)
        copier.join(_END_SECONDS)  # Java's last lines show why it did not start
        raise
    os.close(writing)
    atexit.register(_await_copied, reading, copier)
    return gateway


def _launched(conf: SparkConf, stderr: int, timeout: float) -> Any:
    """Return the gateway of a new Java; PySpark itself waits for it without a limit."""
    from pyspark import java_gateway

    module: Any = java_gateway
    popen, started = module.Popen, list[Any]()

    def recorded(*arguments: Any, preexec_fn: Callable[[], None] | None = None, **named: Any) -> Any:
        # PySpark would keep the terminal's interrupts from Java by a function that runs between fork and exec. There
        # libraries whose threads did not come along can wait for ever, as the client of HDFS does.
        named["start_new_session"] = preexec_fn is not None
        started.append(popen(*arguments, **named))
        return started[-1]

    def kill() -> None:
        for process in started:
            process.kill()

    module.Popen = recorded
    wait = None
    try:
        with waits.limited(timeout, kill, reason="Java did not start within {s} s (spark.timeout)") as wait:
            gateway = module.launch_gateway(conf, {"stderr": stderr})
            limit_calls(gateway, timeout, gateway.proc.kill)
            return gateway
    except Exception as error:
        if wait is not None and wait.ended:
            remedy = "see the lines above; on a slow machine raise `spark.timeout`"
            raise SparkFailed(wait.ended, remedy=remedy) from error
        raise
    finally:
        module.Popen = popen


def _copy(reading: int) -> None:
    in_trace = False
    with os.fdopen(reading, "rb") as lines:
        for line in lines:
            if line.startswith(_POINTLESS):
                continue
            text = line.decode(errors="replace").rstrip("\r\n")
            if _OUT_OF_MEMORY in text:
                _out_of_memory.set()
            starts = _FATAL.search(text) is not None
            in_trace = starts or (in_trace and _TRACE.match(text) is not None)
            for receiver in [log.debug] if in_trace else _receivers[-1:] or [_to_stderr]:
                receiver(text)


def _to_stderr(line: str) -> None:
    left = f"{line}\n".encode()
    while left:
        left = left[os.write(2, left) :]


def _await_copied(reading: int, copier: threading.Thread) -> None:
    """Wait until all lines of Java so far are copied; the pipe has no end while Java runs."""
    until = time.monotonic() + _END_SECONDS
    while copier.is_alive() and time.monotonic() < until and select.select([reading], [], [], 0)[0]:
        time.sleep(0.01)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """In the block, delay an interrupt: nobody could stop a Java that is still starting."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread gets interrupts
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if before in (signal.SIG_IGN, None):
        yield
        return
    received = list[int]()
    signal.signal(signal.SIGINT, lambda number, frame: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if received:
            signal.raise_signal(signal.SIGINT)


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(letter, letter) for letter in text)
