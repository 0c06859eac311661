"""The start of Spark's Java process: without an interrupt, and with the user's settings.

These go through a file, for its command line is everybody's to read.
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
    """While it lasts, a Java that PySpark starts reads `settings` from a file that only the user can read.

    What ``spark-defaults.conf`` says applies as before, where `settings` do not say otherwise.
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
    """Return True if a Java will be started, by options that name no such file of the user's own."""
    from pyspark import SparkContext

    started = SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ
    return not started and "--properties-file" not in os.environ.get(SUBMIT, "")


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Puts an interrupt off: of a Java that is still starting nobody would hold the end, and it would stay for ever."""
    if threading.current_thread() is not threading.main_thread():  # to which interrupts do not come
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if before in (signal.SIG_IGN, None):
        yield
        return
    asked = list[int]()
    signal.signal(signal.SIGINT, lambda number, frame: asked.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if asked:
            signal.raise_signal(signal.SIGINT)


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(letter, letter) for letter in text)
