"""All subscriptions of a project, by stream: from its file and from a relation of a source."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from qbcd.common.bulk import many_objects
from qbcd.config.subscriptions import InlineConfig, SubscriptionsConfig
from qbcd.errors import QbcdError
from qbcd.subscriptions.definition import OPS, Subscription, When
from qbcd.subscriptions.relation import RelationRow, SubscriptionRelation

log = logging.getLogger("qbcd")
ACTIVE, INACTIVE = "active", "not active"


@dataclass(frozen=True)
class StreamSubscriptions:
    """The subscriptions of one stream.

    Attributes:
        version: Differs whenever anything else does.
        accepted: By id; their conditions are not read yet.
        refused: By id, why one has no matches, whatever its condition.
        inactive: The ids of those that are switched off.
        status: By id of a row in the relation, the status that it has.
    """

    version: int = 0
    accepted: Mapping[str, Subscription] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    inactive: frozenset[str] = frozenset()
    status: Mapping[str, str | None] = field(default_factory=dict)


class Subscriptions:
    """The subscriptions of a project; several streams may use it at once.

    Args:
        relation: The relation that has some of them; None if all are in the file.
    """

    def __init__(self, config: SubscriptionsConfig, relation: SubscriptionRelation | None) -> None:
        self.config, self._relation = config, relation
        self._lock = threading.Lock()
        self._version = 0
        self._known: dict[str, StreamSubscriptions] = {}

    def renew(self) -> None:
        """Read the relation, if it has changed.

        Raises:
            QbcdError: It cannot be read.
        """
        with self._lock, many_objects():
            rows = [] if self._relation is None else self._relation.changed_rows()
            if rows is not None and not (self._relation is None and self._version):
                self._version += 1
                self._known = self._sorted(rows)

    def of(self, stream: str) -> StreamSubscriptions:
        """Return the subscriptions of a stream, as they were read last."""
        with self._lock:
            return self._known.get(stream, StreamSubscriptions(self._version))

    @property
    def astray(self) -> Mapping[str, str]:
        """By id, why a subscription is refused that is about no stream that may be subscribed to."""
        with self._lock:
            return self._known.get("", StreamSubscriptions()).refused

    def report(self, stream: str, refused: Mapping[str, str]) -> None:
        """Write the status of rows of the relation, if the user wants it; a failure is only logged.

        Args:
            refused: By id, why a condition is refused.
        """
        relation = self.config.relation
        if self._relation is None or relation is None or relation.status is None:
            return
        if stream and self.astray:
            self.report("", {})
        found = self.of(stream)
        reasons = {**found.refused, **refused}
        changed: dict[str, list[str]] = {}
        for each, had in found.status.items():
            wanted = INACTIVE if each in found.inactive else reasons.get(each, ACTIVE)
            if had != wanted:
                changed.setdefault(wanted, []).append(each)
        try:
            with self._lock:
                self._relation.write_status(changed)
        except QbcdError as error:
            log.warning("the status of subscriptions in %s could not be written: %s", relation.table, error)
            return
        status: dict[str, str | None] = dict(found.status)
        status.update({each: wanted for wanted, ids in changed.items() for each in ids})
        with self._lock:
            if self._known.get(stream) is found:
                self._known[stream] = StreamSubscriptions(
                    found.version, found.accepted, found.refused, found.inactive, status
                )

    def _sorted(self, rows: Iterable[RelationRow]) -> dict[str, StreamSubscriptions]:
        """Return all subscriptions by stream; those about no known stream are under the empty name."""
        drafts: dict[str, dict[str, _Draft]] = {}
        seen: dict[str, str] = {}
        for draft in (*map(_of_entry, self.config.inline), *map(_of_row, rows)):
            stream = draft.stream if self.config.allowed(draft.stream) is not None else ""
            if not stream:
                draft.reason = f"stream {draft.stream!r} is none that may be subscribed to"
            if draft.id in seen:
                known = drafts[seen[draft.id]][draft.id]
                if known.is_row:
                    known.reason = "its id is used twice"
                else:  # who may write to the relation cannot end a subscription of the file
                    draft.reason = "its id is that of a subscription in the configuration"
                    drafts.setdefault("", {})[draft.id] = draft
                continue
            seen[draft.id] = stream
            drafts.setdefault(stream, {})[draft.id] = draft
        return {stream: self._limited(some) for stream, some in drafts.items()}

    def _limited(self, drafts: Mapping[str, _Draft]) -> StreamSubscriptions:
        left, accepted, refused = self.config.quota, dict[str, Subscription](), dict[str, str]()
        inactive = {each for each, draft in drafts.items() if not draft.is_active}
        over = len(drafts) - len(inactive) > left
        for each in sorted(drafts, key=lambda one: (drafts[one].is_row, one)) if over else drafts:
            draft = drafts[each]
            if each in inactive:
                continue
            if not draft.reason and left <= 0:
                draft.reason = f"the stream has its quota of {self.config.quota:,} subscriptions"
            if draft.reason:
                refused[each] = draft.reason
                continue
            left -= 1
            accepted[each] = draft.subscription
        status = {each: draft.status for each, draft in drafts.items() if draft.is_row}
        return StreamSubscriptions(self._version, accepted, refused, frozenset(inactive), status)


@dataclass
class _Draft:
    stream: str
    subscription: Subscription
    is_active: bool = True
    is_row: bool = False
    status: str | None = None
    reason: str = ""

    @property
    def id(self) -> str:
        return self.subscription.id


def _of_entry(one: InlineConfig) -> _Draft:
    made = Subscription(one.id, one.condition or "", one.when, tuple(one.ops), tuple(one.columns))
    return _Draft(one.stream, made)


def _of_row(row: RelationRow) -> _Draft:
    ops = row.names("ops")
    if len(ops) == 1 and set(ops[0]) <= set(OPS):
        ops = tuple(ops[0])
    when = cast(When, row.text("when") or "new")
    made = Subscription(row.id, row.text("condition"), when, ops, row.names("columns"))
    return _Draft(row.text("stream"), made, row.is_active, True, row.status)
