"""Dialects are complete before threads use them: sqlglot lists a dialect while it is being loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# The last step of loading a dialect is slow here, so that a second thread always meets it.
FIRST_USES = """
import threading, time
from sqlglot import exp
from sqlglot.dialects import dialect

steps = dialect.new_trie

def slow(*words):
    time.sleep(0.005)
    return steps(*words)

dialect.new_trie = slow
from qbcd.connectors import connector_for

connector_for("mysql://user@host/database")

name, written = exp.column("v", table="l", quoted=True), []

def second():
    until = time.monotonic() + 60
    while "mysql" not in dialect._Dialect._classes and time.monotonic() < until:
        time.sleep(0)
    written.append(name.sql(dialect="mysql"))

thread = threading.Thread(target=second)
thread.start()
written.append(name.copy().sql(dialect="mysql"))
thread.join()
print(*written)
"""


def test_two_threads_write_the_same_name() -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", FIRST_USES], capture_output=True, text=True, timeout=300, check=True, env=env
    )
    assert done.stdout.split() == ["`l`.`v`", "`l`.`v`"]
