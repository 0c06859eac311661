"""Processes that are killed while they work, forked from one that has their modules already."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from typing import Any

LOST = 255  # the server of forks has no exit code of a process


def die() -> None:
    """End this process without warning."""
    os.kill(os.getpid(), signal.SIGKILL)


def dying_at(number: int) -> Callable[[], None]:
    """Return a function that ends this process at its `number`th call."""
    left = [number]

    def called() -> None:
        left[0] -= 1
        if not left[0]:
            die()

    return called


class DyingProcesses:
    """Runs functions in processes of their own.

    Attributes:
        runs: Their number.
        kills: The number of those that were killed.
    """

    def __init__(self, *modules: str) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([*modules])
        self.runs = self.kills = 0

    def run(self, target: Callable[..., None], *args: Any, seconds: float = 120) -> bool:
        """Run a function; kill it after some seconds. Return True if it was killed."""
        child = self._context.Process(target=target, args=args)
        child.start()
        child.join(seconds)
        if child.exitcode is None:
            child.kill()
            child.join()
        assert child.exitcode in (0, -signal.SIGKILL, LOST)
        killed = child.exitcode == -signal.SIGKILL
        self.runs, self.kills = self.runs + 1, self.kills + killed
        return killed
