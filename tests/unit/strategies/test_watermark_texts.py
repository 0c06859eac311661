"""The safe high watermark of a timestamp column.

Times shift as text in the source's clock; Python's clock plays no part.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from qbcd import watermark
from qbcd.connectors.base import HighWater
from qbcd.watermark import Window

SECOND, MICRO = timedelta(seconds=1), timedelta(microseconds=1)
CLOCK = "2026-11-21 12:00:00.500000"


def at(text: str) -> str:
    """Return 12 o'clock and `text`, with all digits."""
    return f"2026-11-21 {text}"


@pytest.mark.parametrize(
    ("oldest", "margin", "lag", "expected"),
    [
        (None, SECOND, None, "11:59:59.500000"),
        (None, timedelta(milliseconds=1), None, "12:00:00.499000"),
        ("11:00:00.000000", SECOND, None, "10:59:59.000000"),  # before the oldest open transaction
        ("12:00:00.500000", SECOND, None, "11:59:59.500000"),
        (None, SECOND, timedelta(minutes=5), "11:55:00.500000"),
        ("11:00:00.000000", SECOND, timedelta(minutes=5), "10:59:59.000000"),  # both bounds count
        ("11:59:00.000000", SECOND, timedelta(minutes=5), "11:55:00.500000"),
    ],
)
def test_the_safe_high_watermark(oldest: str | None, margin: timedelta, lag: timedelta | None, expected: str) -> None:
    high_water = HighWater(clock=CLOCK, oldest=at(oldest) if oldest else None, held="", blind="")
    assert watermark.safe_high_watermark(high_water, margin, lag) == at(expected)


def test_only_instants_are_seconds() -> None:
    assert watermark.seconds(CLOCK) == datetime(2026, 11, 21, 12, 0, 0, 500_000, timezone.utc).timestamp()
    assert [watermark.seconds(counter) for counter in ("20261121", "7", "-1")] == [None] * 3


def test_texts_order_as_instants_do() -> None:
    instants = [datetime(1, 1, 1), datetime(999, 12, 31), datetime(2026, 11, 21), datetime(2026, 11, 21, 0, 0, 0, 1)]
    texts = [watermark.text(i) for i in instants]
    assert texts == sorted(texts)
    assert len({len(t) for t in texts}) == 1
    assert watermark.text(datetime(2026, 1, 2)) == "2026-01-02 00:00:00.000000"


def test_a_watermark_never_goes_back() -> None:
    early, late = at("11:00:00.000000"), at("12:00:00.000000")
    assert watermark.later(None, early) == early
    assert watermark.later(early, late) == watermark.later(late, early) == late


def test_an_instant_later() -> None:
    assert watermark.shifted(at("23:59:59.999999"), MICRO) == "2026-11-22 00:00:00.000000"


@pytest.mark.parametrize(
    ("watermark_text", "unit", "zone", "expected"),
    [
        ("12:00:00.567891", MICRO, None, "12:00:00.567891"),
        ("12:00:00.567891", timedelta(0), None, "12:00:00.567891"),
        ("12:00:00.567891", timedelta(milliseconds=1), None, "12:00:00.567000"),
        ("12:00:00.999999", SECOND, None, "12:00:00.000000"),
        ("12:34:56.000000", timedelta(days=1), None, "00:00:00.000000"),
        ("12:00:00.500000", SECOND, "+02:00", "14:00:00.000000"),
        ("12:00:00.500000", SECOND, "-03:30", "08:30:00.000000"),
        ("12:00:00.500000", SECOND, "UTC", "12:00:00.000000"),
        ("23:30:00.000000", timedelta(days=1), "+02:00", "00:00:00.000000"),
    ],
)
def test_an_instant_as_a_column_has_it(watermark_text: str, unit: timedelta, zone: str | None, expected: str) -> None:
    day = "2026-11-22" if watermark_text.startswith("23") else "2026-11-21"
    assert watermark.seen_as(at(watermark_text), unit=unit, zone=zone) == f"{day} {expected}"


@pytest.mark.parametrize("unit", [MICRO, timedelta(milliseconds=1), timedelta(microseconds=10), SECOND])
@pytest.mark.parametrize("how", ["cut", "rounded"])
def test_no_instant_falls_between_windows(unit: timedelta, how: str) -> None:
    """In a column of coarse unit each instant is in exactly one of adjoining windows."""
    start = datetime(2026, 11, 21, 12)
    ends = [watermark.text(start + timedelta(microseconds=700_001 * i)) for i in range(8)]
    bounds = [watermark.seen_as(end, unit=unit, zone=None) for end in ends]
    for i in range(500):
        written = start + timedelta(microseconds=7_919 * i)
        steps = (written - watermark.EPOCH) / unit if how == "rounded" else (written - watermark.EPOCH) // unit
        stored = watermark.text(watermark.EPOCH + round(steps) * unit)
        containing = [n for n in range(7) if bounds[n] <= stored < bounds[n + 1]]
        assert len(containing) == (1 if stored < bounds[-1] else 0)
        # read only after the window's end has passed: a later write must not be in a window already read
        read_before = [n for n in containing if ends[n + 1] <= watermark.text(written)]
        assert not read_before, f"{written} lies in window {read_before}, which was read by then"


@pytest.mark.parametrize(
    ("zone", "expected"), [(None, 0), ("UTC", 0), ("+02:00", 7200), ("-09:30", -34200), ("+14:00", 50400)]
)
def test_offsets_of_zones(zone: str | None, expected: int) -> None:
    assert watermark.offset(zone) == timedelta(seconds=expected)


def test_an_empty_window() -> None:
    assert Window(CLOCK, CLOCK).empty
    assert not Window(None, CLOCK).empty
    assert not Window("0", "1").empty
