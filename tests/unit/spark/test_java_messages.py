"""Lines that Java writes to its stderr: all except one warning go to their receiver."""

from __future__ import annotations

import os
import threading

import pytest

from qbcd.spark import jvm_start

SAID = (
    b"WARNING: Using incubator modules: jdk.incubator.vector\n"
    b"12:00:01 ERROR spark SparkContext: first\n"
    b"WARNING: Using incubator modules are discouraged\n"
    b"bad \xff byte, and no newline at the end"
)
SHOWN = [
    "12:00:01 ERROR spark SparkContext: first",
    "WARNING: Using incubator modules are discouraged",
    "bad \N{REPLACEMENT CHARACTER} byte, and no newline at the end",
]


def copied() -> None:
    reading, writing = os.pipe()
    thread = threading.Thread(target=jvm_start._copy, args=(reading,))
    thread.start()
    os.write(writing, SAID)
    os.close(writing)
    thread.join(10)
    assert not thread.is_alive()


def test_a_receiver_gets_every_line_but_the_warning(capfd: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []
    outer: list[str] = []
    with jvm_start.java_messages_to(outer.append), jvm_start.java_messages_to(lines.append):
        copied()
    assert outer == []
    assert lines == SHOWN
    assert capfd.readouterr().err == ""


def test_without_a_receiver_they_go_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    copied()
    assert capfd.readouterr().err.splitlines() == SHOWN
