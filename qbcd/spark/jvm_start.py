"""The start of Spark's Java process: no interrupts, and settings in a private file.

Settings are not on the command line, which every user of the machine can read.
"""

from __future__ import annotations

import os
import shlex
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

SUBMIT = "PYSPARK_SUBMIT_ARGS"
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
