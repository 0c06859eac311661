"""Looks at a Spark site that change nothing: what a poll would run, and what replica and source differ in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from qbcd.errors import SourceChanged, StateConflict
from qbcd.marks import Window
from qbcd.model import Consistency, KeyRange, Statement, StreamPlan
from qbcd.sites import compare, quiet, recent, settled
from qbcd.sites.described import next_window
from qbcd.sites.leaves import asks_for_all
from qbcd.sites.looking import estimated
from qbcd.sites.reading import Snapshot
from qbcd.sites.turns import turn_of
from qbcd.sites.values import LISTED, Difference, Differences, Held, Settings, Step
from qbcd.state import StoredRange, StreamRow
from qbcd.strategies import IdRcs, RemoteTs
from qbcd.strategies.cuts import Cut, KeyCut
from qbcd.strategies.hashes import HashCut
from qbcd.strategies.pages import PageCut

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from qbcd.sites.spark import SparkSite

_READ: Mapping[Consistency, str] = {
    "snapshot": "pinned to the same snapshot",
    "range": "each range by one statement, in the state that it then has",
}

_CUT: Mapping[type[Cut], str] = {
    KeyCut: "pick the ranges",
    HashCut: "count the rows, by which buckets of the key's hash are sized",
    PageCut: "count rows and pages, by which ranges of pages are sized",
}


def explain(site: SparkSite, plan: StreamPlan, settings: Settings, row: StreamRow | None) -> list[Step]:
    """The statements of a poll, in order; runs none."""
    strategy = site.strategy(plan)
    known: Sequence[KeyRange] = []
    if row and row.prepared:
        with site.reading() as conn:
            turn = turn_of(plan, settings, row.checkpoint, site.store.ranges(conn, site.stream), site.store.now(conn))
        known = turn.due
    place = f"source {site.source.name}, read only"
    asked = None if known else strategy.cut.bounds(settings.range_size(estimated(plan)))
    steps = [Step(f"{_CUT[type(strategy.cut)]} (once, at prepare)", place, asked)] if asked else []
    known = known or [KeyRange(1, None, None)]
    steps.append(Step("settings of every session", place, Statement("; ".join(site.source.connector.session_pins()))))
    if not isinstance(strategy, RemoteTs):
        fetched = strategy.images(known[:1], typed=settings.typed)
        of_leaves = row is not None and asks_for_all(row.checkpoint)
        steps += _sum(strategy, settings, place) if quiet.is_likely(site, strategy) else []
        steps += _checksums(strategy, known, settings, place, of_leaves=of_leaves)
        written = recent.statement(strategy, row.checkpoint, known[:1]) if row and row.prepared else None
        if written:
            title = "keys of rows written since the last look, in ranges that differ (here: the first), where large"
            steps.append(Step(title, place, written))
        steps.append(_fetch(strategy, "rows", fetched, place))
        if settings.audit and strategy.keeps == "rows":
            title = "rows of all ranges (here: the first), by Spark, for an audit by their values"
            steps.append(Step(title, place, fetched))
        return steps
    window = next_window(strategy.stamp, row if row and row.prepared else None)
    steps += [
        Step("ask whether anything lies in the window", place, strategy.stamp.any_row(window)),
        Step("rows of the window, by Spark", place, strategy.window_images(known, window, typed=settings.typed)),
    ]
    if plan.option("deletes"):
        steps += [*_checksums(strategy, known, settings, place)]
        steps.append(_fetch(strategy, "keys", strategy.keys(known[:1]), place))
    if settings.audit:
        steps += _checksums(strategy.by_rows(), known, settings, place)
        images = strategy.settled_images(known[:1], Window(None, window.hi), typed=settings.typed)
        steps.append(_fetch(strategy, "rows, for an audit,", images, place))
    return steps


def _checksums(
    strategy: IdRcs, known: Sequence[KeyRange], settings: Settings, place: str, *, of_leaves: bool = False
) -> list[Step]:
    shares = strategy.cut.passes(known, settings.connections, leaves=of_leaves)
    title = "key sums of a sweep" if isinstance(strategy, RemoteTs) else "checksums"
    title += " of rows, for an audit" if not isinstance(strategy, RemoteTs) and strategy.plan.strategy == "ts" else ""
    title += " of ranges and of their leaves" if of_leaves else ""
    if strategy.plan.option("per_poll"):
        title = f"checksums of the {len(known):,} ranges whose turn it is"
    if strategy.plan.option("target"):
        title += ", in shorter statements, as the pace wants them"
    return _by_connection(title, place, shares)


def _sum(strategy: IdRcs, settings: Settings, place: str) -> list[Step]:
    title = f"count and checksum of the whole table first, as the last {quiet.POLLS} polls found nothing"
    return _by_connection(title, place, strategy.cut.totals(settings.connections))


def _by_connection(title: str, place: str, shares: Sequence[Sequence[Statement]]) -> list[Step]:
    return [
        Step(f"{title}, connection {i} of {len(shares)}", place, statement)
        for i, share in enumerate(shares, 1)
        for statement in share
    ]


def _fetch(strategy: IdRcs, what: str, statement: Statement, place: str) -> Step:
    title = f"{what} of the ranges that differ (here: the first), by Spark, {_READ[strategy.consistency]}"
    return Step(title, place, statement)


def verify(site: SparkSite, plan: StreamPlan, held: Held) -> Differences:
    """Compares every range with the replica's own rows, and the rows of those that differ.

    Where every statement sees a state of its own, what differs is read again, and must differ then too (protocol.md
    19): the lease keeps the replica as it is, while rows may have moved between the reads of two ranges. Rows past a
    watermark are pending, and no differences.

    Raises:
        StateConflict: Another process went on with the stream meanwhile: this one was paused beyond its lease.
    """
    try:
        found = _compared(site, plan, held)
    except Exception as error:  # what it looked for may have gone with that
        _refuse_moved(site, held, error)
        raise
    _refuse_moved(site, held)
    return found


def _refuse_moved(site: SparkSite, held: Held, error: Exception | None = None) -> None:
    with site.reading() as conn:
        row = site.store.read(conn, site.stream)
    if row is None or (row.version, row.fencing_token) != (held.row.version, held.row.fencing_token):
        raise StateConflict(
            "another process has gone on with the stream while it was compared",
            stream=site.stream,
            remedy="verify it again",
        ) from error


def _compared(site: SparkSite, plan: StreamPlan, held: Held) -> Differences:
    strategy = site.strategy(plan)
    settings = Settings(sinks=(), requested={})
    with site.reading() as conn:
        known = site.store.ranges(conn, site.stream)
    with ExitStack() as stages, site.remembered(plan, held, settings) as snapshot:
        if snapshot.rebase:
            raise SourceChanged(
                "the server, or the way in which digests are computed, changed since the last poll",
                stream=site.stream,
                remedy=f"qbcd run {site.stream} --once compares every row by its values; verify it then",
            )

        def differing(asked: Sequence[StoredRange]) -> DataFrame:
            fetched = site.fetch(strategy, snapshot, asked, settings, held)
            stages.callback(site.files.discard, fetched)
            with site.reading() as conn:
                old = site.replica.rows(conn, plan, strategy.kept, asked)
            differ = compare.differences(old, site.stage(strategy, fetched, settings), plan, by_value=False)
            return differ if strategy.deletes else differ.where("op <> 'd'")

        site.check_key(snapshot.session, plan)
        dirty = settled.suspects(site, plan, strategy, snapshot, known, settings)
        if isinstance(strategy, RemoteTs):
            found = _before_the_mark(site, plan, strategy, settings, held, snapshot, dirty, stages)
            return _listed(found, len(plan.key)) if found is not None else Differences()
        found = differing(dirty) if dirty else None
        if found is not None and snapshot.name is None:
            ids = {r["range_id"] for r in found.select("range_id").distinct().collect()}
            dirty = [r for r in dirty if r.range_id in ids]
            found = differing(dirty).join(found.select("key_id"), "key_id", "left_semi") if dirty else None
        shown = plan.captured if plan.counted else plan.key
        return _listed(found, len(shown)) if found is not None else Differences()


def _before_the_mark(
    site: SparkSite,
    plan: StreamPlan,
    strategy: RemoteTs,
    settings: Settings,
    held: Held,
    snapshot: Snapshot,
    dirty: Sequence[StoredRange],
    stages: ExitStack,
) -> DataFrame | None:
    """What an audit would repair."""
    before = strategy.stamp.window(None, held.row.checkpoint["mark"]["at"])
    if not dirty or before is None:
        return None
    fetched = settled.fetch(site, strategy, snapshot, dirty, settings, held, before)
    stages.callback(site.files.discard, fetched)
    with site.reading() as conn:
        old = site.replica.rows(conn, plan, strategy.kept, dirty)
    return settled.differing(old, settled.stage_of(site, strategy, fetched, settings), plan)


def _listed(changes: DataFrame, key: int) -> Differences:
    """The first of `changes`, by the first `key` columns."""
    keys = [f"CAST(COALESCE(a_{i}, b_{i}) AS STRING) AS k{i}" for i in range(key)]
    rows = changes.selectExpr("op", *keys).limit(LISTED + 1).collect()
    return Differences(Difference(r["op"], ", ".join(str(v) for v in r[1:])) for r in rows)
