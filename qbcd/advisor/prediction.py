"""The predicted cost of a poll: pages at the source, rows shipped, statements, transactions, room and time.

Formulas are the paper's (`qbcd.strategies.costs`), with the sizes of this table. Where qbcd reads more than the paper,
the formula says so (docs/internals/costs.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from qbcd.advisor.amounts import NONE, UNKNOWN, Amount, lifted
from qbcd.advisor.facts import ChangeRate, Facts, width_of
from qbcd.ranges.partition import size_for
from qbcd.strategies import (
    Atdi,
    Id,
    IdRcs,
    InSource,
    LakeTs,
    QueuedTlcs,
    TableStrategy,
    Tlcs,
    VbdChecksum,
    VbdDelta,
    Watermarked,
    costs,
)
from qbcd.strategies.watermarked import serves

ASSUMED_SPEED = 2_000  # pages a second of a scan with digests, if nothing was measured; a busy server may be slower
EVENT_BYTES = 24  # of an event, next to its values
RANGE_BYTES = 140  # of a checksum on its way, with its range
RANGE_PAGES = 200  # of a range of strategies that keep a replica in the source
OWN_PAGES = 15  # of a poll in outbox and guards, as EXPLAIN (BUFFERS) of a poll without changes counts them
FURTHER_READS = 3.0  # of a dirty range: leaf checksums, keys with digests, rows
# Statements of a poll of a small table without changes, as `tests/integration/sites/test_round_trips.py` counts them.
STATEMENTS: Mapping[str, tuple[int, int]] = {
    "id_rcs": (18, 24),
    "mds": (36, 47),
    "ts": (48, 63),
    "tdi": (48, 63),
    "atdi": (48, 63),
    "id": (70, 72),
    "tlcs": (70, 72),
    "vbd": (36, 47),
}


@dataclass(frozen=True)
class Prediction:
    """The predicted cost of one poll.

    Attributes:
        formula: The formula of `pages`, in the paper's symbols.
        symbols: The values of its symbols.
        quiet: Pages if nothing changed.
        longest: Pages that the longest transaction reads.
        source_room, workdir_room: Bytes of the replica.
        seconds: Time at the source, by the stream's own measured speed; None if nothing was measured.
        longest_seconds: Time of the longest transaction, by that speed or an assumed one.
    """

    formula: str
    pages: Amount
    quiet: Amount
    symbols: tuple[tuple[str, Amount], ...]
    rows_shipped: Amount
    bytes_shipped: Amount
    statements: int
    longest: Amount
    source_room: Amount
    workdir_room: Amount
    longest_seconds: Amount
    seconds: Amount | None = None

    def data(self) -> dict[str, Any]:
        """Return the prediction as JSON-ready data."""
        return {
            "formula": self.formula,
            "symbols": {name: value.data for name, value in self.symbols},
            "pages": self.pages.data,
            "pages_without_changes": self.quiet.data,
            "rows_shipped": self.rows_shipped.data,
            "bytes_shipped": self.bytes_shipped.data,
            "statements": self.statements,
            "longest_transaction_pages": self.longest.data,
            "longest_transaction_seconds": self.longest_seconds.data,
            "source_bytes": self.source_room.data,
            "workdir_bytes": self.workdir_room.data,
            "seconds": None if self.seconds is None else self.seconds.data,
        }


@dataclass(frozen=True)
class _Reads:
    """The pages of a poll: a formula of `delta` and the clustered share, and the longest transaction."""

    formula: str
    symbols: tuple[tuple[str, Amount], ...]
    pages: Callable[[ChangeRate], Amount]
    longest: Amount


def predict(strategy: TableStrategy, facts: Facts, speed: float | None = None) -> Prediction:
    """Return the cost of a poll of `strategy`.

    Args:
        strategy: The strategy, with the stream's plan under it.
        facts: The table's.
        speed: Pages a second that the stream's own polls have read; None if nothing was measured.
    """
    reads = _reads(strategy, facts)
    pages, quiet = reads.pages(facts.change), reads.pages(ChangeRate(NONE, Amount.of(1.0)))
    changed = _restricted_rows(facts) * facts.change.delta
    rows, size = _shipped(strategy, facts, changed)
    in_source, in_lake = _rooms(strategy, facts)
    statements = STATEMENTS.get(strategy.name, STATEMENTS["mds"])[0 if strategy.connector.full_join else 1]
    return Prediction(
        formula=reads.formula,
        pages=pages,
        quiet=quiet,
        symbols=reads.symbols,
        rows_shipped=rows,
        bytes_shipped=size,
        statements=statements,
        longest=reads.longest,
        source_room=in_source * facts.page_bytes,
        workdir_room=in_lake * facts.page_bytes,
        longest_seconds=reads.longest * (1 / (speed or ASSUMED_SPEED)),
        seconds=pages * (1 / speed) if speed else None,
    )


def _restricted_rows(facts: Facts) -> Amount:
    return facts.rows * facts.share


def _reads(strategy: TableStrategy, facts: Facts) -> _Reads:
    if isinstance(strategy, VbdDelta):
        return _by_deltas(facts)
    if isinstance(strategy, LakeTs):
        return _by_window(strategy.watermarked, facts, in_source=False)
    if isinstance(strategy, Watermarked):
        return _by_window(strategy, facts, in_source=True)
    if isinstance(strategy, QueuedTlcs):
        return _by_comparison(strategy.finder, facts)
    if isinstance(strategy, VbdChecksum):
        return _Reads("B", (("B", facts.pages),), lambda change: facts.pages, facts.pages)
    if isinstance(strategy, IdRcs):
        return _by_checksums(strategy, facts)
    if isinstance(strategy, InSource):
        return _by_comparison(strategy, facts)
    found = strategy.estimate(facts.plain_indexes)
    pages = Amount.of(found.pages) if found.pages >= 0 else UNKNOWN
    return _Reads(found.formula, (), lambda change: pages, pages)


def _rooms(strategy: TableStrategy, facts: Facts) -> tuple[Amount, Amount]:
    """Return the pages that a strategy keeps in the source, and in the workdir."""
    kept = _replica(strategy, facts)
    if isinstance(strategy, QueuedTlcs):
        return _replica(strategy.finder, facts), kept
    return (kept + _copy(strategy, facts), NONE) if isinstance(strategy, InSource) else (NONE, kept)


def _copy(strategy: TableStrategy, facts: Facts) -> Amount:
    """Return W: the pages of a copy of the rows next to their digests, if there is one."""
    plan = strategy.plan
    return facts.copied(plan.captured, plan.table) if isinstance(strategy, Tlcs) and strategy.copy else NONE


def _replica(strategy: TableStrategy, facts: Facts) -> Amount:
    """Return M or W: the pages of the replica."""
    keeps, plan = getattr(strategy, "keeps", "rows"), strategy.plan
    if keeps == "nothing":
        return NONE
    columns = plan.captured if keeps == "rows" else plan.key
    return facts.copied(columns, plan.table, 8 if keeps == "digests" else 0)


def _by_comparison(strategy: InSource, facts: Facts) -> _Reads:
    """Return R*N + M (`mds`), with key indexes and ranges (`id`), N + D + delta*W (`tlcs`), or B + M (`vbd`)."""
    plan, copy, times = strategy.plan, _replica(strategy, facts), 1 if strategy.connector.full_join else 2
    name = "D" if strategy.keeps in ("digests", "keys") else "M"
    scan = "B" if plan.table.query else "R*N" if plan.where else "N"
    symbols: list[tuple[str, Amount]] = [("B" if scan == "B" else "N", facts.pages)]
    symbols += [("R", facts.share * 100), ("R*N", facts.scan)] if plan.where else []
    symbols.append((name, copy))
    symbols.append(("own", Amount.of(OWN_PAGES)))
    formula, once, longest = f"{scan} + {name} + own", facts.scan + copy + OWN_PAGES, facts.scan + copy + OWN_PAGES
    if strategy.poll_mode == "ranges":
        size = float(plan.option("pages_per_range") or RANGE_PAGES)
        # the index of the key finds the rows of a range, if the table has more than one
        keys = facts.key_pages([c.name for c in plan.key]) + facts.key_index(plan.key, plan.table)
        several = Amount(float(facts.scan.low > size), float(facts.scan.high > size))
        aux = lifted(lambda n: max(1.0, n / size / 80), facts.pages)
        symbols += [("keys", keys * several), ("aux", aux)]
        formula, once = f"{formula} + keys + aux", once + keys * several + aux
        longest = once.at_most(2 * size)
    whole = _copy(strategy, facts)
    if whole.high:
        formula += " + delta*W"
        symbols.append(("W", whole))
    if times > 1:
        formula, once, longest = f"2 ({formula})", once * times, longest * times
    if isinstance(strategy, Id | Tlcs):
        formula += " for a pass"
    found = facts.key_index(plan.key, plan.table)

    def pages(change: ChangeRate) -> Amount:
        return once + _changed(facts, whole, change) + (_changed(facts, found, change) if whole.high else NONE)

    return _Reads(formula, tuple(symbols), pages, longest)


def _by_checksums(strategy: IdRcs, facts: Facts) -> _Reads:
    """Return R*N and dirty ranges again, of which the paper reads none: it ships all of their rows."""
    plan = strategy.plan
    key = facts.key_pages([c.name for c in plan.key]) if plan.key and not plan.where else NONE
    by_key = not (strategy.partitioning.hashed or strategy.partitioning.paged)
    once = facts.scan + (key if by_key else NONE)
    size = float(plan.option("rows_per_range") or size_for(round(min(facts.rows.middle, 1e12))))

    def pages(change: ChangeRate) -> Amount:
        low = costs.dirty_ranges(size, min(change.delta.low, 1.0), change.clustered.high)
        high = costs.dirty_ranges(size, min(change.delta.high, 1.0), change.clustered.low)
        return once + once * Amount.between(low, high) * FURTHER_READS

    scan = "R*N" if plan.where else "N"
    symbols = (("N", facts.pages), *((("R", facts.share * 100), ("R*N", facts.scan)) if plan.where else ()))
    target = plan.option("target")
    longest = once if not target else once.at_most(target.total_seconds() * ASSUMED_SPEED)
    return _Reads(f"{scan} + dirty ranges again", symbols, pages, longest)


def _by_window(strategy: Watermarked, facts: Facts, *, in_source: bool) -> _Reads:
    """Return (S + M + I)*delta + K with an index on the timestamp, I*delta + delta*W + K with a covering one.

    With the covering one, pages of the table are read too as long as VACUUM has not seen them: a range.
    """
    copy = _replica(strategy, facts) if in_source else NONE
    name, sweep = ("M" if strategy.keeps == "rows" else "W"), _sweep(strategy, facts)
    symbols: list[tuple[str, Amount]] = [("S", facts.pages)]
    covering = isinstance(strategy, Atdi) and strategy.has_index(facts.plain_indexes)
    indexed = strategy.poll_mode != "ranges" and serves(strategy, facts.plain_indexes)
    table = facts.pages * (Amount(0.0, 1.0) if covering else 1.0)
    lead, rest = strategy.index_columns()
    index = facts.index_pages(lead, rest if covering else ()) if indexed or covering else NONE
    height = lifted(costs.height, index) if index.high else NONE
    keyed = facts.key_index(strategy.plan.key, strategy.plan.table)
    parts = [part for part in ("" if covering else "S", name if copy.high else "", "I") if part]
    if indexed or covering:
        symbols += [(name, copy)] if copy.high else []
        symbols += [("I", index), ("K", height)]
        formula = f"({' + '.join(parts)})*delta + K{' + (0 to S)*delta' if covering else ''}"
    else:
        formula = f"S + delta*{name}" if copy.high else "S"
        symbols += [(name, copy)] if copy.high else []
    if sweep.high:
        formula += " + sweep"
        symbols.append(("sweep", sweep))
    if in_source:
        formula += " + own"
        symbols.append(("own", Amount.of(OWN_PAGES)))

    def pages(change: ChangeRate) -> Amount:
        found = _changed(facts, keyed, change) if copy.high and (indexed or covering) else NONE
        changed = _changed(facts, copy, change) + found + sweep + (OWN_PAGES if in_source else 0)
        if not (indexed or covering):
            return facts.pages + changed
        newest = replace(change, clustered=Amount.of(1.0))  # changed rows are together in an index on the timestamp
        return _changed(facts, table, change) + _changed(facts, index, newest) + height + changed

    return _Reads(formula, tuple(symbols), pages, pages(facts.change))


def _sweep(strategy: Watermarked, facts: Facts) -> Amount:
    """Return the pages of a sweep for deletes, as a share of one poll."""
    every = strategy.plan.option("deletes")
    if not hasattr(every, "total_seconds"):
        return NONE
    keys = facts.index_pages([c.name for c in strategy.plan.key])
    keys = keys if keys.high else facts.pages
    seconds: float = every.total_seconds()
    return (keys + facts.copied(strategy.plan.key, strategy.plan.table)) * min(1.0, facts.every / seconds)


def _changed(facts: Facts, pages: Amount, change: ChangeRate) -> Amount:
    """Return the pages of a relation that hold the changed rows."""
    if not pages.high:
        return NONE
    if not (pages.known and facts.rows.known):
        return pages * Amount(0.0, 1.0)
    low = costs.touched(facts.rows.low, pages.low, min(1.0, change.delta.low), change.clustered.high)
    high = costs.touched(facts.rows.high, pages.high, min(1.0, change.delta.high), change.clustered.low)
    return Amount.between(low, max(low, high))


def _by_deltas(facts: Facts) -> _Reads:
    """Return the changed rows of each table of a query, joined with the other tables."""
    z = max(1, facts.tables)

    def pages(change: ChangeRate) -> Amount:
        changed = _changed(facts, facts.pages, change)
        return lifted(lambda c: max(1.0, (z - 1) or 1) * 1.1 * c + 3 * z, changed)

    return _Reads("(Z - 1) * delta*B + K", (("B", facts.pages),), pages, pages(facts.change))


def _shipped(strategy: TableStrategy, facts: Facts, changed: Amount) -> tuple[Amount, Amount]:
    """Return rows and bytes that leave the source in a poll."""
    width = width_of(strategy.plan.captured, strategy.plan.table)
    width = width if width.known else Amount.of(float(strategy.plan.table.row_width or 200))
    size = changed * (width * 2 + EVENT_BYTES)
    if not isinstance(strategy, IdRcs) or isinstance(strategy, LakeTs | QueuedTlcs):
        return changed, size
    per_range = float(strategy.plan.option("rows_per_range") or size_for(round(min(facts.rows.middle, 1e12))))
    ranges = lifted(lambda r: max(1.0, r / per_range), _restricted_rows(facts))
    return changed, changed * (width + EVENT_BYTES) + ranges * RANGE_BYTES
