"""A poller that pauses at a point of the protocol while a test does something else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import qbcd
from qbcd import run
from qbcd.common import hooks
from qbcd.errors import QbcdError
from qbcd.polling.outcome import Outcome
from tests.support.project import poll
from tests.support.scene import STREAM, Scene

PATIENCE = 60.0
AFTER_PLAN = "after_plan"  # not a hook: between the plan and the transaction that uses it


def once(action: Callable[[], object]) -> Callable[[], None]:
    """Return a function that runs `action` at its first call only."""
    calls: list[None] = []

    def act() -> None:
        calls.append(None)
        if len(calls) == 1:
            action()

    return act


@contextmanager
def at(point: str, action: Callable[[], object]) -> Iterator[None]:
    """Run `action` when the protocol first reaches `point`, a hook's name or :data:`AFTER_PLAN`."""
    act, names = once(action), vars(run)
    plan_of = names["plan_of"]
    if point == AFTER_PLAN:

        def planned(*args: object) -> object:
            found = plan_of(*args)
            act()
            return found

        names["plan_of"] = planned
    else:
        hooks.register(point, act)
    try:
        yield
    finally:
        names["plan_of"] = plan_of
        if point != AFTER_PLAN:
            hooks.register(point, None)


class Paused:
    """A poll in a thread and a project of its own that pauses at a point until `finish`."""

    def __init__(self, project: qbcd.Project, stream: str = STREAM) -> None:
        self._project, self._stream = project, stream
        self._here, self._on = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self.outcome: Outcome | None = None
        self.error: BaseException | None = None

    def _work(self) -> None:
        try:
            self.outcome = poll(self._project, self._stream)[0]
        except BaseException as error:  # noqa: BLE001 -- handed to the test
            self.error = error
        finally:
            self._here.set()

    def pause(self) -> None:
        """Pause; called at the point."""
        self._here.set()
        assert self._on.wait(PATIENCE)

    def start(self) -> None:
        """Start the poll; return when it has reached the point."""
        self._thread.start()
        assert self._here.wait(PATIENCE)
        assert self._thread.is_alive(), f"the poll did not reach the point: {self.error or self.outcome}"

    def finish(self) -> QbcdError | None:
        """Let the poll continue; return its error, or None if it succeeded."""
        self._on.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        if self.error is not None and not isinstance(self.error, QbcdError):
            raise self.error
        return self.error


@contextmanager
def paused(scene: Scene, point: str) -> Iterator[Paused]:
    """Yield a second poller of the scene's stream, paused at `point`."""
    with scene.again() as project:
        poller = Paused(project)
        with at(point, poller.pause):
            poller.start()
            try:
                yield poller
            finally:
                poller._on.set()
                poller._thread.join(PATIENCE)
