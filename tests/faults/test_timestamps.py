"""Timestamps at the ends of a window: ties, coarse units, zones, clocks set back, NULLs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qbcd import watermark
from qbcd.connectors.base import HighWater
from qbcd.connectors.mysql_family.watermarks import FamilyWatermarks
from qbcd.connectors.postgresql.watermarks import PostgresWatermarks
from qbcd.errors import ClockSetBack, Refused, SourceChanged
from tests.support.places import Place, over
from tests.support.project import opened, poll
from tests.support.scene import STREAM
from tests.support.stamped_scene import StampedScene
from tests.support.watched_polls import Watched, at_nth, brief, comes_to_rest, stamped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = timedelta(days=1)
UTC = {"postgresql": "(clock_timestamp() AT TIME ZONE 'UTC')", "": "utc_timestamp(6)"}


def utc(place: Place) -> str:
    """Return the clock of an application that writes UTC without a zone."""
    return UTC.get(place.kind, UTC[""])


def columns(**types: str) -> str:
    """Return the table's columns with other timestamps."""
    return ", ".join(["v varchar(40)", "n integer DEFAULT 0", *(f"{name} {how}" for name, how in types.items())])


def zoneless(place: Place, digits: int) -> str:
    return f"timestamp({digits})" if place.kind == "postgresql" else f"datetime({digits})"


# Many rows with one time at a window's end: all of them are before it, or none.
@over(elsewhere=[])
def test_ties_at_the_boundary(place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[str] = []
    monkeypatch.setattr(watermark, "safe_high_watermark", lambda high_water, margin, lag: ends[-1])
    at = zoneless(place, 6)
    with Watched(place, workspace, {"s": stamped(place, "ts", zone="UTC")}, columns=columns(at=at)) as seen:
        first, second, third = (f"2001-01-01 00:00:00.00000{n}" for n in (1, 2, 3))
        ends.append(first)
        seen.prepare()
        rows = [(key, "tie", 0, moment) for key, moment in enumerate([first] * 40 + [second] * 40 + [third] * 40)]
        place.insert("t", rows)
        found = []
        for end in (first, second, second, third, "2001-01-01 00:00:00.000004"):
            ends.append(end)
            found.append([key for batch in seen.ops() for key, _ in batch])
        assert found == [[], [*range(40)], [], [*range(40, 80)], [*range(80, 120)]]
        seen.check()


# Values rounded or cut to the column's unit: rows come in the unit that was just read, and after it.
@pytest.mark.campaign
@over(elsewhere=[])
def test_rows_in_the_same_unit_after_a_poll(place: Place, workspace: Path) -> None:
    units = {"seconds": zoneless(place, 0), "millis": zoneless(place, 3), "tenths": zoneless(place, 1)}
    ways = {name: stamped(place, "ts", timestamp=name, zone="UTC") for name in units}
    with Watched(place, workspace, ways, columns=columns(**units)) as seen:
        seen.prepare()
        begun, key, found = time.monotonic(), 0, dict.fromkeys(units, 0)
        while time.monotonic() < begun + 1.5:
            key += 1
            now = utc(place)
            seen.run(f"INSERT INTO t (id, v, seconds, millis, tenths) VALUES ({key}, 'new', {now}, {now}, {now})")
            for name in ("millis", "seconds", "tenths") if key % 2 else ("tenths",):
                found[name] += sum(map(len, seen.poll(name)))
        time.sleep(1.6)  # a unit, and half of one by which a value may be rounded up
        for name in units:
            found[name] += sum(map(len, seen.poll(name)))
            seen.check(name)
        assert found == dict.fromkeys(units, key)  # once each


# A day is over when the clock passes it: rows written today are read tomorrow.
@over(elsewhere=[])
def test_rows_of_a_day(place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, ahead = watermark.safe_high_watermark, [timedelta(0)]

    def shifted_ahead(high_water: HighWater, margin: timedelta, lag: timedelta | None) -> str:
        return watermark.shifted(real(high_water, margin, lag), ahead[0])

    monkeypatch.setattr(watermark, "safe_high_watermark", shifted_ahead)
    with Watched(place, workspace, {"s": stamped(place, "ts", zone="UTC")}, columns=columns(at="date")) as seen:
        seen.prepare()
        today, tomorrow = (datetime.fromisoformat(place_clock(place)) + days for days in (0 * DAY, DAY))
        seen.run(f"INSERT INTO t VALUES (1, 'one', 0, '{today:%Y-%m-%d}')")
        assert seen.poll() == []
        seen.run(f"INSERT INTO t VALUES (2, 'two', 0, '{today:%Y-%m-%d}')")
        assert seen.poll() == []
        ahead[0] = DAY
        seen.run(f"INSERT INTO t VALUES (3, 'three', 0, '{tomorrow:%Y-%m-%d}')")
        assert seen.ops() == [[(1, "c"), (2, "c")]]


def place_clock(place: Place) -> str:
    return str(place.sql(f"SELECT {utc(place)}")[0][0])


# Zones: the column says what its writers' clocks show, and the watermark is shifted there.
@over(elsewhere=[])
def test_writers_of_a_zone_of_their_own(place: Place, workspace: Path) -> None:
    zones = {"utc": ("UTC", 0), "east": ("+02:00", 120), "west": ("-05:30", -330), "late": ("UTC", 120)}
    ways = {name: stamped(place, "ts", timestamp=name, zone=zone) for name, (zone, _) in zones.items()}
    at = dict.fromkeys(zones, zoneless(place, 6))
    with Watched(place, workspace, ways, columns=columns(**at)) as seen:
        seen.prepare()
        times = ", ".join(f"{utc(place)} + INTERVAL '{minutes}' MINUTE" for _, minutes in zones.values())
        seen.run(f"INSERT INTO t (id, v, {', '.join(zones)}) SELECT 50, 'new', {times}")
        for name in ("utc", "east", "west"):
            assert seen.ops(name) == [[(50, "c")]], name
            assert seen.poll(name) == [], name
        assert seen.poll("late") == []  # two hours ahead of its declared zone


# A clock that was set back, or is another server's, is no watermark, even after it has passed the old value again.
@over(elsewhere=[])
def test_a_clock_that_was_set_back(place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Watched(place, workspace, {"s": stamped(place, "ts"), "keys": stamped(place, "ts", replica="keys")}) as seen:
        seen.fill()
        with hours_ahead(monkeypatch):
            for name in ("s", "keys"):
                seen.poll(name)
        before = seen.watermark()
        seen.update(3, "changed")
        for name in ("s", "keys"):
            with pytest.raises(ClockSetBack, match=r"the source's clock shows .* was set back.*--accept-source"):
                seen.poll(name)
        assert seen.watermark() == before
        with hours_ahead(monkeypatch), pytest.raises(SourceChanged, match="was set back"):
            seen.poll()
        seen.insert(300, "after it")
        assert [sorted((e.key, e.op) for e in batch) for batch in seen.poll(accept_source=True)] == [
            [(3, "u"), (300, "c")]
        ]
        with pytest.raises(SourceChanged, match=r"keeps no old values .*qbcd reset keys"):
            seen.poll("keys", accept_source=True)
        seen.update(4, "by the right clock")
        assert seen.ops() == [[(4, "u")]]
        seen.check()


@pytest.mark.campaign
@over(elsewhere=[])
def test_a_clock_that_was_set_back_with_a_lake_replica(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    with StampedScene(database, workspace, "ts_spark", spark) as scene:
        scene.begin()
        with hours_ahead(monkeypatch):
            scene.poll()
        scene.change()
        with pytest.raises(ClockSetBack):
            scene.poll()
        with hours_ahead(monkeypatch), pytest.raises(SourceChanged, match="was set back"):
            scene.poll()
        poll(scene.project, STREAM, accept_source=True)
        scene.check()
        scene.change()
        scene.poll()
        scene.check()


@contextmanager
def hours_ahead(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set the server's clock ahead, as qbcd reads it."""

    def ahead(found: HighWater) -> HighWater:
        return replace(found, clock=watermark.shifted(found.clock, timedelta(hours=2)))

    of_postgres, of_family = PostgresWatermarks.high_water, FamilyWatermarks.high_water
    with monkeypatch.context() as patch:
        patch.setattr(PostgresWatermarks, "high_water", staticmethod(lambda conn: ahead(of_postgres(conn))))
        patch.setattr(FamilyWatermarks, "high_water", lambda self, conn: ahead(of_family(self, conn)))
        patch.setattr(
            watermark,
            "safe_high_watermark",
            lambda high_water, margin, lag: watermark.shifted(high_water.clock, -margin),
        )
        yield


# Rows without timestamp are read at each poll, even if the watermark does not move.
@over(elsewhere=[])
def test_rows_without_a_timestamp(place: Place, workspace: Path) -> None:
    at = dict.fromkeys(("at", "made"), f"{'timestamptz' if place.kind == 'postgresql' else 'timestamp(6)'} NULL")
    both = stamped(place, "ts", timestamp=["at", "made"])
    ways = {"s": stamped(place, "ts"), "tdi": stamped(place, "tdi"), "both": both}
    with Watched(place, workspace, ways, columns=columns(**at, gone="boolean DEFAULT false")) as seen:
        now = seen.clock
        seen.run(f"INSERT INTO t (id, v, at) VALUES (1, 'old', {now}), (2, 'old', NULL)")
        seen.prepare()
        seen.run("INSERT INTO t (id, v) VALUES (3, 'new')")
        seen.run(f"INSERT INTO t (id, v, made) VALUES (4, 'new', {now})")
        assert [seen.ops(name) for name in ways] == [[[(3, "c"), (4, "c")]]] * 3
        seen.run("UPDATE t SET v = 'changed' WHERE id IN (2, 3)")  # without their timestamp
        seen.run("UPDATE t SET v = 'unseen' WHERE id IN (1, 4)")
        assert seen.ops("s") == seen.ops("tdi") == [[(2, "u"), (3, "u"), (4, "u")]]
        assert seen.ops("both") == [[(2, "u"), (3, "u")]]
        seen.run(f"UPDATE t SET at = {now} WHERE id IN (1, 3)")
        seen.run("UPDATE t SET gone = true WHERE id = 2")
        assert [seen.ops(name) for name in ways] == [[[(1, "u")]], [[(1, "u"), (2, "d")]], [[(1, "u")]]]
        seen.check()
        seen.check("tdi")
        assert [seen.poll(name) for name in ways] == [[], [], []]


def test_rows_without_a_timestamp_while_the_watermark_does_not_move(place: Place, workspace: Path) -> None:
    with (
        Watched(place, workspace, {"s": stamped(place, "ts")}, columns=columns(at="timestamptz")) as seen,
        place.connect(autocommit=True) as conn,
    ):
        seen.prepare()
        seen.run(f"BEGIN; INSERT INTO t (id) VALUES (9); PREPARE TRANSACTION '{place.name}'", conn)
        try:
            before = seen.watermark()
            seen.insert(50, "new")
            assert seen.ops() == [[(50, "c")]]
            assert seen.watermark() == before
        finally:
            seen.run(f"ROLLBACK PREPARED '{place.name}'", conn)


# No row has a number yet, so there is no watermark.
@over("replica", ["source", "spark"], elsewhere=["source"])
def test_rows_before_the_first_number(place: Place, workspace: Path, spark: SparkSession, replica: str) -> None:
    how = stamped(place, "ts", timestamp="ver", counter="table", replica=replica)
    with Watched(place, workspace, {"s": how}, columns=columns(ver="bigint NULL")) as seen:
        seen.project.close()
        seen.project = opened(seen.data, workspace, spark)
        seen.run("INSERT INTO t (id, v) VALUES (1, 'old'), (2, 'old')")
        seen.project.stream("s").prepare()
        for value, audit in (("changed", False), ("audited", True)):
            seen.run(f"UPDATE t SET v = '{value}' WHERE id = 1")
            assert [(one.op, one.key) for one in seen.project.stream("s").verify()] == [("u", "1")]
            if audit:
                seen.data["tables"][0]["audit"] = {"every": "1ms"}
                seen.project.close()
                seen.project = opened(seen.data, workspace, spark)
            report = poll(seen.project, "s")[0].report
            assert report is not None
            assert report.counts == {"u": 1}
            assert seen.project.stream("s").verify() == []


# Several counters mean their coalesce: a new row has no number of an update yet.
@over("replica", ["source", "spark"], elsewhere=["source"])
def test_a_row_without_the_first_of_two_counters(
    place: Place, workspace: Path, spark: SparkSession, replica: str
) -> None:
    how = stamped(place, "ts", timestamp=["updated", "created"], counter="table", replica=replica)
    both = columns(updated="bigint NULL", created="bigint NOT NULL")
    with Watched(place, workspace, {"s": how}, columns=both) as seen:
        seen.project.close()
        seen.project = opened(seen.data, workspace, spark)
        seen.run("INSERT INTO t (id, v, updated, created) VALUES (1, 'old', 3, 9), (2, 'old', NULL, 2)")
        seen.project.stream("s").prepare()
        steps = [
            ("INSERT INTO t (id, v, created) VALUES (3, 'new', 4)", {"c": 1}),  # below the 9 that nothing shows
            ("UPDATE t SET v = 'changed', updated = 5 WHERE id = 2", {"u": 1}),
            ("INSERT INTO t (id, v, created) VALUES (4, 'new', 6)", {"c": 1}),
        ]
        for statement, counts in steps:
            seen.run(statement)
            found: list[dict[str, int]] = []
            for _ in range(3):  # a number is read once what was open when it was seen has ended
                found += [outcome.report.counts for outcome in poll(seen.project, "s") if outcome.report]
                assert place.kind == "postgresql" or comes_to_rest(place)
            assert [one for one in found if one] == [counts]
        assert seen.project.stream("s").verify() == []


# The application keeps flagged rows for some time only; a later poll may miss some.
def test_a_poll_after_the_retention_of_flagged_rows(
    place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways = {name: stamped(place, "tdi", retention=kept) for name, kept in (("s", "59m"), ("kept", "61m"))}
    with Watched(place, workspace, ways) as seen:
        with monkeypatch.context() as patch:
            patch.setattr(
                watermark,
                "safe_high_watermark",
                lambda high_water, margin, lag: watermark.shifted(high_water.clock, -timedelta(hours=1)),
            )
            seen.fill()
        seen.update(3, "changed")
        with pytest.raises(
            Refused, match=r"flagged rows are kept for 0:59:00: some may have been removed .*qbcd verify s"
        ):
            seen.poll()
        assert seen.ops("kept") == [[(3, "u")]]


# For numbers, the time of the poll that saw them counts, even if they count as read only later.
@pytest.mark.parametrize("waits", [False, True])
def test_a_poll_by_numbers_after_the_retention_of_flagged_rows(
    waits: bool, place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways = {n: stamped(place, "tdi", timestamp="ver", retention=k) for n, k in (("s", "119m"), ("kept", "121m"))}
    made = columns(ver="bigint GENERATED ALWAYS AS IDENTITY", gone="boolean DEFAULT false")
    with Watched(place, workspace, ways, columns=made) as seen, place.connect() as early, place.connect() as late:
        seen.prepare()
        if waits:
            place.run(early, "SELECT pg_current_xact_id()")
        seen.insert(1, "new")
        for name in ways:
            assert seen.ops(name) == ([] if waits else [[(1, "c")]])
        place.run(late, "SELECT pg_current_xact_id()")
        early.rollback()
        for name in ways:
            assert seen.ops(name) == ([[(1, "c")]] if waits else [])
        late.rollback()
        seen.insert(2, "newer")
        with hours_ahead(monkeypatch):
            with pytest.raises(Refused, match=r"kept for 1:59:00: some may have been removed .*qbcd verify s"):
                seen.poll()
            assert seen.ops("kept") == [[(2, "c")]]


def test_an_unchanged_table_of_numbers_on_a_busy_server_keeps_to_retention(place: Place, workspace: Path) -> None:
    """Each poll sees an open transaction and no new number: the existing ones count as read."""
    how = stamped(place, "tdi", timestamp="ver", retention="121m")
    made = columns(ver="bigint GENERATED ALWAYS AS IDENTITY", gone="boolean DEFAULT false")
    with Watched(place, workspace, {"s": how}, columns=made) as seen, place.connect() as one, place.connect() as other:
        seen.insert(1, "old")
        seen.prepare()
        times = [seen.watermark()["read"]]
        for began, ends in ((one, other), (other, one), (one, other)):
            place.run(began, "SELECT pg_current_xact_id()")
            ends.rollback()
            assert seen.poll() == []
            times.append(seen.watermark()["read"])
        assert times[0] == times[1] < times[2] < times[3]


# Writers that commit while rows of one time are read: the other rows of that time come with the next window.
def test_a_tie_that_is_half_committed(place: Place, workspace: Path) -> None:
    with Watched(place, workspace, {"s": stamped(place, "tdi")}).fill() as seen, place.connect() as conn:
        (now,) = place.run(conn, "SELECT now()::text")[0]
        seen.run(f"INSERT INTO t (id, v, at) SELECT g, 'tie', '{now}' FROM generate_series(50, 59) g", conn)
        seen.run(f"INSERT INTO t (id, v, at) SELECT g, 'tie', '{now}' FROM generate_series(60, 69) g")
        with at_nth("after_horizon", 1, conn.commit):
            assert seen.poll() == []
        assert brief(seen.poll()) == [[(key, "c") for key in range(50, 70)]]
        seen.check()
