"""Sink `database`: after each batch of a drawn history the target equals the source, in every mode and database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qbcd.sinks.table.sink import DatabaseSink
from tests.support.table_batches import EPOCH, DrawnTable, State, batch_of, pieces
from tests.support.table_targets import TargetPlace, comparable, new_target

DATABASES = ["postgresql", "mariadb", "sqlite", "duckdb", pytest.param("mysql", marks=pytest.mark.campaign)]
SERVERS = ["postgresql", "mariadb", "duckdb", "mysql"]
LONG = pytest.param(200, marks=pytest.mark.campaign)


@pytest.fixture(params=DATABASES)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TargetPlace]:
    with new_target(request.param, request, tmp_path) as place:
        yield place


@pytest.fixture(params=["sqlite", *(pytest.param(d, marks=pytest.mark.campaign) for d in SERVERS)])
def one(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TargetPlace]:
    """A target for what no database does in its own way; the others are in the campaign."""
    with new_target(request.param, request, tmp_path) as place:
        yield place


def sink_to(target: TargetPlace, **options: Any) -> DatabaseSink:
    return DatabaseSink("copy", target.url, **options)


def history(target: TargetPlace, batches: int) -> Iterator[tuple[Any, State]]:
    return pieces(DrawnTable(batches, nan=target.nan), batches)


@pytest.mark.parametrize("batches", [6, LONG])
def test_a_mirror_equals_the_source_after_each_batch(target: TargetPlace, batches: int) -> None:
    """Two rows that swap a unique value are in the history, and the target has the constraint."""
    sink = sink_to(target)
    for batch, rows in history(target, batches):
        sink.write(batch)
        assert target.state() == target.of(rows), batch.header.number
        if batch.header.seq == 1:
            target.sql(f"CREATE UNIQUE INDEX one_u ON public_orders ({target.quote('u')})")
    sink.write(batch)  # delivered again
    assert target.state() == target.of(rows)
    assert target.sql("SELECT epoch, batch_seq FROM qbcd_sink") == [(EPOCH, batches)]


@pytest.mark.parametrize("batches", [5, LONG])
def test_a_mirror_with_soft_deletes_keeps_the_last_values(one: TargetPlace, batches: int) -> None:
    sink, deleted = sink_to(one, deletes="soft"), State()
    for batch, rows in history(one, batches):
        sink.write(batch)
        deleted |= {tuple(e["key"].values()): e["before"] for e in batch.made if e["op"] == "d"}
        deleted = State({key: row for key, row in deleted.items() if key not in rows})
        assert one.state("WHERE NOT is_deleted") == one.of(rows), batch.header.number
        assert one.state("WHERE is_deleted") == one.of(deleted), batch.header.number
    assert any(event["op"] == "d" for event in batch.made) or deleted


@pytest.mark.parametrize("batches", [5, LONG])
def test_a_history_shows_every_earlier_batch(target: TargetPlace, batches: int) -> None:
    """After each batch every earlier one is there: as SQL selects some, and by the limits of all rows."""
    sink, seen, boundaries = sink_to(target, mode="scd2"), [], list[int]()
    for batch, rows in history(target, batches):
        sink.write(batch)
        ((boundary,),) = target.sql("SELECT boundary FROM qbcd_sink")
        seen.append((target.moment(boundary), target.of(rows)))
        boundaries.append(boundary)
        assert target.states_at(boundaries) == [then for _, then in seen], batch.header.number
        for moment, then in seen if batches < 20 or batch.header.seq % 20 == 0 else seen[-1:]:
            found = target.state(f"WHERE valid_from <= {moment} AND (valid_to IS NULL OR valid_to > {moment})")
            assert found == then, batch.header.number
        assert target.state("WHERE valid_to IS NULL") == target.of(rows)
    overlaps = (
        "SELECT count(*) FROM public_orders a JOIN public_orders b ON a.id = b.id AND a.part = b.part "
        "AND a.valid_from < b.valid_from AND (a.valid_to IS NULL OR a.valid_to > b.valid_from)"
    )
    assert target.sql(overlaps) == [(0,)]
    assert target.sql("SELECT count(*) FROM public_orders WHERE valid_to IS NULL AND is_deleted") == [(0,)]
    closed = "SELECT count(*) FROM public_orders WHERE is_deleted"
    assert target.sql(closed)[0][0] > 0


def test_boundaries_do_not_fall_with_the_clock_of_the_source(one: TargetPlace) -> None:
    sink = sink_to(one, mode="scd2")
    drawn = DrawnTable(3)
    now = EPOCH * 1000
    for seq, ts_ms in ((1, now), (2, now - 5000), (3, now - 9000)):
        events = drawn.baseline() if seq == 1 else drawn.change()
        sink.write(batch_of(events, seq, ts_ms=ts_ms))
    assert one.sql("SELECT boundary FROM qbcd_sink") == [(now + 2,)]


@pytest.mark.parametrize("batches", [2, LONG])
def test_a_log_has_every_event(one: TargetPlace, batches: int) -> None:
    plain, changes = sink_to(one, mode="log"), sink_to(one, mode="log", envelope="changes", table="feed")
    changes.name = "feed"
    events: list[Any] = []
    for batch, _ in history(one, batches):
        plain.write(batch)
        changes.write(batch)
        events += [(batch.header.seq, event) for event in batch.made]
    names = ("qbcd_op", "qbcd_batch_seq", "qbcd_event_id")
    found = one.rows(names=names)
    expected = [(*one.row(e["after"] or e["before"]), e["op"], seq, e["event_id"]) for seq, e in events]
    assert sorted(map(repr, map(comparable, found))) == sorted(map(repr, expected))
    feed = [
        (*one.row(image), kind, seq)
        for seq, e in events
        for kind, image in {
            "c": [("insert", e["after"])],
            "r": [("insert", e["after"])],
            "d": [("delete", e["before"])],
            "u": [("update_preimage", e["before"]), ("update_postimage", e["after"])],
        }[e["op"]]
    ]
    rows = one.rows(names=("_change_type", "_commit_version"), table="feed")
    assert sorted(map(repr, map(comparable, rows))) == sorted(map(repr, feed))
