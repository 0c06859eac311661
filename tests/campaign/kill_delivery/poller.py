"""The parent's side of a poller: tasks, and the kill of it and all its processes at a drawn moment."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typing_extensions import override

from tests.support import wait_until

PATIENCE = 300.0  # seconds in which any step of a poll ends on a busy machine
NAP = 1.0  # seconds


@dataclass(frozen=True)
class Doom:
    """The moment of a kill: `after` seconds after the nth visit to `point`."""

    point: str
    nth: int
    after: float

    @override
    def __str__(self) -> str:
        return f"{self.after:.3f} s after {self.point} {self.nth}"


@dataclass
class Ended:
    """The end of a task.

    Attributes:
        killed: The poller was killed before the task ended.
        result: What the task returned.
        visits: Points with the time of each visit, in order.
    """

    killed: bool = False
    result: list[Any] = field(default_factory=list)
    visits: list[tuple[str, float]] = field(default_factory=list)


class Poller:
    """A process that polls stream ``s``, with the Java that it starts, which has a session of its own.

    Args:
        data: The configuration.
        folder: The project's folder. The process writes its temporary files and its messages next to it.
    """

    def __init__(self, data: dict[str, Any], folder: Path) -> None:
        self.temporary = folder.with_name("temporary")
        self.log = folder.with_name("poller.log")
        self.temporary.mkdir(exist_ok=True)
        java = f"{os.environ.get('SPARK_SUBMIT_OPTS', '')} -Djava.io.tmpdir={self.temporary}"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.campaign.kill_delivery.child", json.dumps(data), str(folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                env={**os.environ, "TMPDIR": str(self.temporary), "SPARK_SUBMIT_OPTS": java},
            )
        self._ready = False
        self._unread = b""

    @property
    def pid(self) -> int:
        return self._process.pid

    def run(self, task: str, doom: Doom | None = None) -> Ended:
        """Run a task to its end, or to the kill."""
        if not self._ready:
            self._await("ready")
            self._ready = True
        assert self._process.stdin is not None
        self._process.stdin.write(f"{task}\n".encode())
        self._process.stdin.flush()
        ended, seen, moment = Ended(), Counter[str](), float("inf")
        while True:
            said = self._next(moment)
            if said is None:
                self.kill()
                ended.killed = True
                return ended
            what, at, result = said["what"], said["at"], said["result"]
            if what == "failed":
                raise AssertionError(f"{task}: {result}")
            if what == "done":
                ended.result = result
                return ended
            seen[what] += 1
            ended.visits.append((what, at))
            if doom is not None and (what, seen[what]) == (doom.point, doom.nth):
                moment = at + doom.after

    def kill(self) -> None:
        """Kill Python and Java at once; return when both have ended."""
        names = _family(self.pid)
        for pid in names:
            os.kill(pid, signal.SIGKILL)
        self._process.wait()
        wait_until(lambda: not names.keys() & _living().keys(), what=f"the end of {names}")
        self._close()
        assert "java" in names.values(), f"the poller had no Java of its own: {names}"
        shutil.rmtree(self.temporary)  # what Spark itself leaves there

    def stop(self) -> None:
        """End a poller that is no longer needed."""
        if self._process.poll() is None:
            for pid in _family(self.pid):
                os.kill(pid, signal.SIGKILL)
            self._process.wait()
        self._close()
        shutil.rmtree(self.temporary, ignore_errors=True)

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def _await(self, what: str) -> None:
        said = self._next(float("inf"))
        assert said is not None
        assert said["what"] == what, said

    def _next(self, moment: float) -> dict[str, Any] | None:
        """Return the next object that the process wrote; None at `moment`."""
        assert self._process.stdout is not None
        naps = 0
        while b"\n" not in self._unread:
            left = moment - time.monotonic()
            if left <= 0:
                return None
            # naps are counted, since both processes may be stopped for a while
            assert naps * NAP < PATIENCE, f"the poller has not answered for {PATIENCE:g} s"
            if select.select([self._process.stdout], [], [], min(left, NAP))[0]:
                data = os.read(self._process.stdout.fileno(), 1 << 16)
                assert data, f"the poller ended with {self._process.wait()}: {self.messages()}"
                self._unread += data
            else:
                naps += 1
        line, _, self._unread = self._unread.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    def messages(self) -> str:
        """Return the last lines that pollers wrote."""
        return "\n".join(self.log.read_text("utf-8", "replace").splitlines()[-40:])


def _family(pid: int) -> dict[int, str]:
    """Return the names of a process and of all that it started, by process id."""
    living, found, new = _living(), set[int](), {pid}
    while new:
        found |= new
        new = {one for one, (_, parent) in living.items() if parent in new}
    return {one: living[one][0] for one in found if one in living}


def _living() -> dict[int, tuple[str, int]]:
    """Return name and parent of each living process, by process id."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                text = (folder / "stat").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            name, _, rest = text.partition("(")[2].rpartition(")")
            state, parent = rest.split()[:2]
            if state not in "ZX":
                found[int(folder.name)] = (name, int(parent))
    return found
