"""The subscriptions of streams, described: states, shapes, and a trial with one event."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from qbcd.errors import ConfigError
from qbcd.model import BatchHeader, Travel
from qbcd.model.wire import wire_type
from qbcd.subscriptions.enricher import SubscriptionEnricher
from qbcd.subscriptions.registry import ACTIVE, INACTIVE, Subscriptions

if TYPE_CHECKING:
    import pyarrow as pa

    from qbcd.local.database import LocalProvider

NO_EVENT = "write one event as `qbcd changes STREAM --json` prints it"


@dataclass(frozen=True)
class ListedSubscription:
    """A subscription and its state: ``active``, ``not active``, or why it is refused."""

    id: str
    stream: str
    state: str
    condition: str = ""
    when: str = ""


@dataclass(frozen=True)
class ListedShape:
    """A condition without its literals, with its number of subscriptions."""

    stream: str
    text: str
    subscriptions: int


@dataclass(frozen=True)
class NeededPart:
    """The part of a stream that its subscriptions need.

    Attributes:
        columns: The columns of conditions; None if a subscription wants every update.
        where: A restriction that every condition implies; empty if none was found.
        narrowed: The restriction by which the stream is narrowed; empty if it is not.
        why_wide: Why it is not.
    """

    stream: str
    columns: tuple[str, ...] | None
    where: str
    narrowed: str = ""
    why_wide: str = ""


@dataclass
class Listing:
    """All subscriptions of a project.

    Attributes:
        matches: The ids that the event of a trial matches; None without one.
    """

    subscriptions: list[ListedSubscription] = field(default_factory=list)
    shapes: list[ListedShape] = field(default_factory=list)
    interests: list[NeededPart] = field(default_factory=list)
    matches: list[str] | None = None

    def add(
        self, header: BatchHeader, enricher: SubscriptionEnricher, everything: Subscriptions, narrowed: tuple[str, str]
    ) -> None:
        """Add the subscriptions of one stream.

        Args:
            narrowed: The restriction by which it is narrowed, or why it is not.
        """
        from qbcd.local.arrow import event_schema

        stream = header.stream
        matcher = enricher.matcher_for(header, event_schema(header))
        found = everything.of(stream)
        for each, one in found.accepted.items():
            state = enricher.refused.get(each, ACTIVE)
            self.subscriptions.append(ListedSubscription(each, stream, state, one.condition, one.when))
        self.subscriptions += [ListedSubscription(each, stream, why) for each, why in found.refused.items()]
        self.subscriptions += [ListedSubscription(each, stream, INACTIVE) for each in sorted(found.inactive)]
        self.shapes += [ListedShape(stream, text, count) for text, count in matcher.shapes.items()]
        active = [one for each, one in found.accepted.items() if each not in enricher.refused]
        columns = None
        if active and all(one.columns for one in active):
            wanted = {*header.key, *matcher.used_columns, *(name for one in active for name in one.columns)}
            columns = tuple(name for name, _ in header.columns if name in wanted)
        self.interests.append(NeededPart(stream, columns, matcher.hull, *narrowed))


def trial_stream(event: Any) -> str:
    """Return the stream of an event, by its `event_id`.

    Raises:
        ConfigError: It is no event.
    """
    named = event.get("event_id") if isinstance(event, dict) else None
    if not isinstance(named, str) or ":" not in named:
        raise ConfigError("the event has no `event_id`", remedy=NO_EVENT)
    return named.partition(":")[0]


def one_event(local: LocalProvider, header: BatchHeader, event: Mapping[str, Any]) -> pa.Table:
    """Return an event as the typed events of a batch with these columns.

    Raises:
        ConfigError: It is no event of this stream.
    """
    from qbcd.local.arrow import LocalRows, events_of
    from qbcd.local.query import Query, duckdb_type

    sides = [side for side in "ba" if side == "a" or header.before]
    fields = [("op", "VARCHAR"), ("reason", "VARCHAR"), ("pair_id", "VARCHAR"), ("ordinal", "BIGINT")]
    fields.append(("changed", "VARCHAR"))
    names = [name for name, _ in header.columns]
    try:
        changed = event.get("changed")
        places = None if changed is None else ",".join(str(names.index(name)) for name in changed)
        values: list[Any] = [event["op"], event.get("reason"), event.get("pair_id"), 0, places]
        for side in sides:
            image = event.get("before" if side == "b" else "after") or {}
            for place, (name, travel) in enumerate(header.columns):
                fields.append((f"{side}_{place}", duckdb_type(wire_type(travel))))
                values.append(_wire(travel, image.get(name)))
    except (KeyError, ValueError, TypeError, AttributeError, binascii.Error) as error:
        raise ConfigError("the event is none of this stream", stream=header.stream, remedy=NO_EVENT) from error
    with local.open() as database:
        columns = ", ".join(f"{name} {kind}" for name, kind in fields)
        database.connection.execute(f"CREATE TABLE trial ({columns})")
        database.connection.execute(f"INSERT INTO trial VALUES ({', '.join('?' for _ in values)})", values)
        rows = LocalRows(database, Query("SELECT * FROM trial", tuple(name for name, _ in fields)))
        return events_of(rows, header, range(1)).read_all()


def _wire(travel: Travel, value: Any) -> Any:
    """Return a value of an event's JSON as it is staged."""
    if value is None:
        return None
    if travel.kind == "binary":
        return base64.b64decode(value, validate=True)
    if travel.kind == "array":
        return json.dumps(value, ensure_ascii=False)
    return value
