"""Audits: replica and source compared in full at an interval; what a strategy missed is told with reason `audit`.

An audit follows a poll and looks at what lies before its watermark, which no later window would bring: what is newer is
pending (protocol.md 19). Rows that are there and keys that are gone are two steps and two batches (protocol.md 14); the
guards count both together (protocol.md 17). Here for a replica in the source; `settled` does it under Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from qbcd import rotation
from qbcd.catalog.source import Session
from qbcd.marks import Window
from qbcd.model import Statement, StreamPlan
from qbcd.sites import stepping
from qbcd.sites.stepping import Counts, Look, Taken
from qbcd.strategies import InSource, Part, Stamped

if TYPE_CHECKING:
    from qbcd.sites.base import Site
    from qbcd.sites.database import DatabaseSite
    from qbcd.sites.values import Held, Settings

AUDIT = "audit"  # the reason
AUDITED, AUDITING = "audited", "auditing"  # in a checkpoint: when the last one began; what one that is begun has found
_FRESH = {"deletes": 0, "accepted": 0}


def due(site: Site, settings: Settings, held: Held) -> float:
    """The store's clock, where an audit is due; else 0. The first one comes an interval after `prepare`."""
    if settings.audit is None or site.stopping():
        return 0.0
    with site.reading() as conn:
        now = site.store.now(conn)
    return now if rotation.is_due(last(held.row.checkpoint, held.row.epoch), settings.audit, now) else 0.0


def last(checkpoint: Mapping[str, Any], epoch: int) -> float:
    """When the last audit began; the baseline is as good as one."""
    return float(checkpoint.get(AUDITED, epoch))


def audit(site: DatabaseSite, plan: StreamPlan, settings: Settings, held: Held, began: float) -> Iterator[Taken]:
    """One audit, which began at `began` by the store's clock: rows before the watermark, then keys that are gone."""
    state = {**_FRESH, "rows": int(held.row.checkpoint["rows"]), **(held.row.checkpoint.get(AUDITING) or {})}
    mark = held.row.checkpoint["mark"]["at"]
    if mark is not None:
        site.progress("audit: comparing rows with the replica")

        def remember(session: Session, strategy: InSource, part: Part, counts: Counts) -> Mapping[str, Any]:
            accepted = max(state["accepted"], held.confirmed.amount if held.confirmed else 0)
            found = {**state, "deletes": state["deletes"] + counts.get("d", 0), "accepted": accepted}
            return {AUDITING: found} if counts else {}

        yield stepping.take(site, plan, settings, held, _look(_rows(Window(None, mark)), remember, state))
        state = held.row.checkpoint.get(AUDITING) or state
    if not site.stopping():
        site.progress("audit: looking for keys that are gone")
        end = _look(lambda s, part: _stamped(s).sweep(part, reason=AUDIT), lambda *step: {AUDITED: began}, state)
        yield stepping.take(site, plan, settings, held, end, drop=(AUDITING,))


def _rows(window: Window) -> Callable[[InSource, Part], Statement]:
    return lambda strategy, part: _stamped(strategy).look(part, window, repeats=False, reason=AUDIT)


def _look(
    find: Callable[[InSource, Part], Statement],
    follow: Callable[[Session, InSource, Part, Counts], Mapping[str, Any]],
    state: Mapping[str, int],
) -> Look:
    return Look([find], follow=follow, guarded=(state["deletes"], state["accepted"], state["rows"]))


def _stamped(strategy: InSource) -> Stamped:
    assert isinstance(strategy, Stamped)
    return strategy
