"""Named points of the protocol, where tests can stop, race or kill a process.

In production no action is registered, and :func:`reach` costs two dictionary look-ups. Some points end a phase of the
poll's time (`qbcd.common.phases`).
"""

from __future__ import annotations

from collections.abc import Callable

from qbcd.common import phases

POINTS = (
    "after_lease",
    "after_horizon",
    "after_snapshot",
    "after_checksums",
    "after_fetch",
    "after_stage",
    "before_commit",
    "after_commit",
    "before_seal",
    "after_seal",
    "before_enrichment",
    "enrichment_written",
    "after_enrichment",
    "before_release",
    "after_release",
    "before_settlement",
    "before_purge",
    "after_purge",
    "before_publish",
    "mid_publish",
    "after_publish",
    "after_acknowledge",
    "before_roll",
    "mid_roll",
    "after_roll",
    "mid_expire",
    "mid_lookup",
)

_registered: dict[str, Callable[[], None]] = {}


def register(point: str, action: Callable[[], None] | None) -> None:
    """Call `action` whenever the protocol reaches `point`; None removes the action.

    Raises:
        ValueError: There is no such point.
    """
    if point not in POINTS:
        raise ValueError(f"no hook point {point!r}; there are {', '.join(POINTS)}")
    if action is None:
        _registered.pop(point, None)
    else:
        _registered[point] = action


def reach(point: str) -> None:
    """End the phase that ends at `point`, and run the action that is registered for it, if any."""
    phase = phases.POINTS.get(point)
    if phase is not None:
        phases.ended(phase)
    action = _registered.get(point)
    if action is not None:
        action()
