"""Every strategy in every variant: the changes that each one sees and misses.

A variant is a function of the stream's knowledge at the last poll and of the table's content now; it knows nothing of
statements. Tests fail if a registered strategy is not named here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tests.support.model import Key, Model, Record, Restriction, Row
from tests.support.places import FIRST
from tests.support.value_shapes import Service

# Columns that the writers of the model's tables maintain in addition to the captured ones. A clock changes with every
# write.
_WHEN, _WHEN_OR_NULL = "timestamp(6) NOT NULL", "timestamp(6) NULL"
SERVICES: Mapping[str, Service] = {
    "updated": Service("timestamptz NOT NULL", _WHEN, "{clock}", "{clock}"),
    "created": Service("timestamptz NOT NULL", _WHEN, "{clock}"),
    "rewritten": Service("timestamptz", _WHEN_OR_NULL, "NULL", "{clock}"),
    "sometimes": Service("timestamptz", _WHEN_OR_NULL, "{clock_or_null}", "{clock_or_null}"),
    "local": Service("timestamp NOT NULL", "datetime(6) NOT NULL", "{two_hours_on}", "{two_hours_on}"),
    "number": Service("bigint NOT NULL", "bigint NOT NULL", "{number}"),
    "sum_of_row": Service("bigint", "bigint", "NULL"),
    "sum_of_row_2": Service("bigint", "bigint", "NULL"),
    "sum_of_row_3": Service("bigint", "bigint", "NULL"),
    "sum_of_row_4": Service("bigint", "bigint", "NULL"),
}
FLAGGED: Mapping[str, Service] = {
    "updated": SERVICES["updated"],
    "gone": Service("boolean", "boolean", "{flagged}", "{flagged}"),
}


@dataclass(frozen=True)
class Content:
    """The content of the table at one poll of a stream.

    Attributes:
        rows: All rows, flagged ones too.
        since: Number of the last write before the stream's previous poll.
        inside: The stream's restriction.
    """

    rows: Mapping[Key, Row]
    since: int
    inside: Restriction

    def is_live(self, row: Row) -> bool:
        """Return True if the row is neither flagged nor outside the restriction."""
        return not row.flagged and self.inside(row.record)

    def live(self) -> dict[Key, Row]:
        """Return the rows of the stream."""
        return {key: row for key, row in self.rows.items() if self.is_live(row)}


@dataclass
class Known:
    """The knowledge of a stream since its last poll.

    Attributes:
        rows: Its replica.
        sums: Records from which the checksums in the rows were computed, by the row's birth.
    """

    rows: dict[Key, Record] = field(default_factory=dict)
    sums: dict[int, Record] = field(default_factory=dict)


@dataclass(frozen=True)
class Change:
    """An expected event."""

    key: Key
    old: Record | None = None
    new: Record | None = None
    reason: str | None = None

    @property
    def op(self) -> str:
        """The op of the event."""
        return "d" if self.new is None else "c" if self.old is None else "u"


Sees = Callable[[Known, Content], Iterable[Change]]


# -- visible changes ---------------------------------------------------------------------------------------------------
def everything(known: Known, content: Content) -> Iterable[Change]:
    """Yield every difference from the known rows, no matter who made it."""
    live = content.live()
    yield from (
        Change(key, known.rows.get(key), row.record) for key, row in live.items() if known.rows.get(key) != row.record
    )
    yield from (Change(key, known.rows[key]) for key in known.rows.keys() - live.keys())


def stamped(
    known: Known,
    content: Content,
    *,
    keeps: str = "rows",
    by: Callable[[Row], int] = lambda row: row.touched,
    swept: bool = False,
) -> Iterable[Change]:
    """Yield the changes that a timestamp shows: existing rows written since the last poll.

    Args:
        keeps: ``rows``; ``keys`` (each known row that was written is an update); ``nothing`` (each row is one).
        by: Function that returns the value used as the timestamp.
        swept: Keys that no longer exist in the table are deletes.
    """
    for key, row in content.rows.items():
        old = known.rows.get(key)
        if by(row) <= content.since:
            continue
        if content.is_live(row) and (old != row.record or keeps != "rows"):
            yield Change(key, {} if keeps == "nothing" else old, row.record)
        elif not content.is_live(row) and old is not None:
            yield Change(key, old, reason=None if row.flagged else "restriction_exit")
    if swept:
        yield from deleted(known, content)


def deleted(known: Known, content: Content) -> Iterable[Change]:
    """Yield the known keys that no longer exist in the table; the restriction does not matter."""
    yield from (Change(key, known.rows[key]) for key in known.rows.keys() - content.rows.keys())


def deletes_only(known: Known, content: Content) -> Iterable[Change]:
    """Return the deleted keys, the only events of this variant; new keys become known."""
    found = list(deleted(known, content))
    known.rows |= {key: row.record for key, row in content.live().items() if key not in known.rows}
    return found


def without_updates(known: Known, content: Content) -> Iterable[Change]:
    """Yield new rows and missing keys; a known row that changed is none."""
    live = content.live()
    yield from (Change(key, None, row.record) for key, row in live.items() if key not in known.rows)
    yield from (Change(key, known.rows[key]) for key in known.rows.keys() - live.keys())


def summed(known: Known, content: Content, *, deletes: bool, in_row: bool) -> Iterable[Change]:
    """Yield the changes that row checksums show.

    A checksum in the row alone is deleted with the row: another row with the same key has none.

    Args:
        deletes: Missing keys are deletes. Without it, and with checksums in the rows, the stream knows no keys.
        in_row: The checksum is in the row alone, not in a table by key.
    """
    keyless = in_row and not deletes
    for key, row in content.live().items():
        known_key = keyless or key in known.rows
        summed_record = known.sums.get(row.born) if in_row else known.rows.get(key)
        if not known_key:
            yield Change(key, None, row.record)
        elif summed_record != row.record:
            yield Change(key, {}, row.record)
    if deletes:
        yield from (Change(key, known.rows[key]) for key in known.rows.keys() - content.live().keys())


# -- the variants ------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Variant:
    """A strategy with options.

    Attributes:
        name: Name used for its streams.
        strategy: The strategy as configuration; columns have the names of the services here.
        sees: Function that yields the changes it sees.
        old: Its events have old values.
        flagged: The application of its table flags rows instead of deleting them.
        polls: Number of polls without changes in between after which it has reported everything.
        overlap: On servers that do not show who writes, its watermark is before the baseline, and rows are read again.
        restricted: A restriction is possible.
        alone: Two streams of it on one table would disturb each other.
        kinds: The databases that have it; empty for all.
    """

    name: str
    strategy: Mapping[str, Any]
    sees: Sees = everything
    old: bool = True
    flagged: bool = False
    polls: int = 1
    overlap: bool = False
    restricted: bool = True
    alone: bool = False
    kinds: tuple[str, ...] = ()

    @property
    def of_query(self) -> bool:
        """True if it captures a query, here one that reads its table."""
        return bool(self.strategy["type"] == "vbd")

    @property
    def columns(self) -> tuple[str, ...]:
        """The services that its strategy names."""
        stamps = self.strategy.get("timestamp", ())
        named = [self.strategy.get(o) for o in ("delete_flag", "checksum_column")]
        return (*([stamps] if isinstance(stamps, str) else stamps), *(n for n in named if n))

    def configured(self, kind: str, names: Mapping[str, str]) -> dict[str, Any]:
        """Return the strategy for a database of `kind` whose columns have other names.

        On servers that do not show who writes, the configuration bounds the duration of transactions.
        """
        called = {
            o: [names.get(n, n) for n in value]
            if isinstance(value, list)
            else names.get(value, value)
            if o in ("timestamp", "delete_flag", "checksum_column")
            else value
            for o, value in self.strategy.items()
        }
        if "timestamp" not in called or called["timestamp"] == "xmin":
            return called
        return {**called, "margin": "1ms", **({} if kind == "postgresql" else {"lag": "2ms"})}


def _ts(timestamp: str | list[str] = "updated", **options: Any) -> dict[str, Any]:
    return {"type": "ts", "timestamp": timestamp, **options}


def _flag(strategy: str, **options: Any) -> dict[str, Any]:
    return {"type": strategy, "timestamp": "updated", "delete_flag": "gone", **options}


_SWEPT: dict[str, Any] = {"deletes": {"every": "1ms"}}
_BORN: Callable[[Row], int] = lambda row: row.born  # noqa: E731
_IN_ROW = {"checksums": "column", "rows_per_range": 7}
_DIGESTS = partial(summed, deletes=True, in_row=False)
_WIDE = {"replica": "digest", "digest": 128}
_NO_UPDATES = {"events": ["insert", "delete"]}
VARIANTS = (
    Variant("mds", {"type": "mds"}),
    Variant("mds-keys", {"type": "mds", **_NO_UPDATES}, without_updates, old=False),
    Variant("id_rcs", {"type": "id_rcs", "rows_per_range": 5}),
    Variant("id_rcs-by-hash", {"type": "id_rcs", "rows_per_range": 5, "buckets": "hash"}),
    Variant("id_rcs-digest", {"type": "id_rcs", "rows_per_range": 5, "replica": "digest"}, old=False),
    Variant("id_rcs-digest-128", {"type": "id_rcs", "rows_per_range": 5, **_WIDE}, old=False),
    Variant("vbd-compare", {"type": "vbd", "variant": "compare"}),
    Variant("vbd-digest", {"type": "vbd", "variant": "compare", "replica": "digest"}, _DIGESTS, old=False),
    Variant("vbd-digest-128", {"type": "vbd", "variant": "compare", **_WIDE}, _DIGESTS, old=False),
    Variant("vbd-checksum", {"type": "vbd", "variant": "checksum", "rows_per_range": 5}),
    Variant("vbd-delta", {"type": "vbd", "variant": "delta"}, kinds=("postgresql",)),
    Variant("id-rows", {"type": "id", "rows_per_range": 4}),
    Variant("id-pages", {"type": "id", "pages_per_range": 1, "pace": {"per_second": 1000}}),
    Variant("id-keys", {"type": "id", "rows_per_range": 4, **_NO_UPDATES}, without_updates, old=False),
    Variant("id-in-turn", {"type": "id", "rows_per_range": 8, "per_poll": 6}, polls=8),
    Variant("tlcs", {"type": "tlcs", "rows_per_range": 4}, partial(summed, deletes=True, in_row=False), old=False),
    Variant("tlcs-source", {"type": "tlcs", "replica": "source", "rows_per_range": 4}),
    Variant("tlcs-lake", {"type": "tlcs", "replica": "lake", "rows_per_range": 4}),
    Variant(
        "tlcs-no-deletes", {"type": "tlcs", "deletes": False}, partial(summed, deletes=False, in_row=False), old=False
    ),
    Variant("tlcs-remote", {"type": "tlcs", "checksums": "remote", "rows_per_range": 4}, old=False),
    Variant(
        "tlcs-remote-no-deletes",
        {"type": "tlcs", "checksums": "remote", "deletes": False, "rows_per_range": 4},
        partial(summed, deletes=False, in_row=False),
        old=False,
    ),
    Variant(
        "tlcs-in-row",
        {"type": "tlcs", "checksum_column": "sum_of_row", **_IN_ROW},
        partial(summed, deletes=True, in_row=False),
        old=False,
        alone=True,
    ),
    Variant(
        "tlcs-in-row-no-deletes",
        {"type": "tlcs", "checksum_column": "sum_of_row_2", "deletes": False, **_IN_ROW},
        partial(summed, deletes=False, in_row=True),
        old=False,
        alone=True,
    ),
    Variant(
        "tlcs-in-row-source",
        {"type": "tlcs", "checksum_column": "sum_of_row_3", "replica": "source", **_IN_ROW},
        alone=True,
    ),
    Variant(
        "tlcs-in-row-lake",
        {"type": "tlcs", "checksum_column": "sum_of_row_4", "replica": "spark", "checksums": "column"},
        alone=True,
    ),
    Variant("ts", _ts(), stamped),
    Variant("ts-swept", _ts(**_SWEPT), partial(stamped, swept=True)),
    Variant("ts-spark", _ts(replica="spark"), stamped),
    Variant("ts-spark-swept", _ts(replica="spark", rows_per_range=4, **_SWEPT), partial(stamped, swept=True)),
    Variant("ts-keys", _ts(replica="keys", **_SWEPT), partial(stamped, keeps="keys", swept=True), old=False),
    Variant("ts-nothing", _ts(replica="none"), partial(stamped, keeps="nothing"), old=False, restricted=False),
    Variant("ts-deletes-only", _ts(deletes="only"), deletes_only, old=False),
    Variant("ts-number", _ts("number", counter="table"), partial(stamped, by=_BORN), polls=2, overlap=True),
    Variant(
        "ts-number-nothing",
        _ts("number", counter="table", replica="none"),
        partial(stamped, by=_BORN, keeps="nothing"),
        old=False,
        polls=2,
        overlap=True,
        restricted=False,
    ),
    Variant("ts-two", _ts(["rewritten", "created"]), stamped),
    Variant("ts-sometimes", _ts("sometimes", **_SWEPT), partial(stamped, swept=True)),
    Variant("ts-local", _ts("local", zone="+02:00"), stamped),
    Variant("ts-xmin", _ts("xmin", **_SWEPT), partial(stamped, swept=True), kinds=("postgresql",)),
    Variant("tdi", _flag("tdi"), stamped, flagged=True),
    Variant("tdi-purging", _flag("tdi", purge=True), stamped, flagged=True),
    Variant("atdi", _flag("atdi", create_index=True), stamped, flagged=True),
)


class Stream:
    """The events that one stream of a variant must deliver.

    Args:
        variant: The variant.
        model: Its table.
        inside: Its restriction.
    """

    def __init__(self, variant: Variant, model: Model, inside: Restriction) -> None:
        self.variant, self.model, self.inside = variant, model, inside
        self.known, self._since = Known(), 0

    def baseline(self) -> list[str]:
        """Return the events of a baseline of the current rows."""
        live = self._content().live()
        again = self.variant.overlap and self.model.place.kind != FIRST
        self._since = 0 if again else self._since
        self._remember(Change(key, None, row.record) for key, row in live.items())
        return sorted(self.model.event("r", None, row.record) for row in live.values())

    def poll(self) -> list[str]:
        """Return the events of a poll now, as `tests.support.oracle.net` writes them."""
        found = list(self.variant.sees(self.known, self._content()))
        events = [self.model.event(c.op, c.old, c.new, c.reason, before=self.variant.old) for c in found]
        self._remember(found)
        return sorted(events)

    def _content(self) -> Content:
        since, self._since = self._since, self.model.writes
        return Content(dict(self.model.rows), since, self.inside)

    def _remember(self, found: Iterable[Change]) -> None:
        for change in found:
            if change.new is None:
                self.known.rows.pop(change.key)
            else:
                self.known.rows[change.key] = change.new
                self.known.sums[self.model.rows[change.key].born] = change.new
