"""The formulas of Labio & Garcia-Molina, to the unit of the printed tables."""

from __future__ import annotations

import math

import pytest

from benchmarks.snapshot_formulas import (
    block_digests,
    break_even,
    compressed_kept,
    compressed_share,
    crossovers,
    days_without_miss,
    intermediate,
    missed_per_row,
    window_bytes,
    window_split,
)
from qbcd.errors import ConfigError
from qbcd.snapshots.formulas import MIB, Sizes, costs, hybrid

BLOCK = 16384
ROW = 150


def sizes(mib: int) -> Sizes:
    rows = mib * MIB / ROW
    return Sizes(mib * MIB / BLOCK, 15, 10, 0.01 * rows, 32 * MIB / BLOCK)


@pytest.mark.parametrize(
    ("mib", "expected"),
    [
        (256, {"sm": 81_920, "smc1": 51_336, "smc2": 40_833, "ph": 65_536, "phc1": 18_568, "phc2": 19_660}),
        (1024, {"sm": 327_680, "smc1": 205_346, "smc2": 163_333, "ph": 262_144, "phc1": 205_346, "phc2": 156_779}),
    ],
)
def test_costs_are_those_of_figure_6(mib: int, expected: dict[str, int]) -> None:
    found = costs(sizes(mib))
    assert {name: int(found[name]) for name in expected} == expected
    assert found["window"] == {256: 32_768, 1024: 131_072}[mib]
    space = {256: (16_384, 1_639), 1024: (65_536, 6_554)}[mib]
    spaces = intermediate(sizes(mib))
    assert (spaces["sm"], spaces["phc2"], spaces["window"]) == (*space, 0)
    assert spaces["phc1"] == {256: 1_093, 1024: 65_536}[mib]  # f2 only, where f1 fits into memory


def test_crossovers_and_break_even() -> None:
    assert crossovers(32, 15, 10) == (480, 320)
    by_hash, by_sort = break_even(sizes(256), 256 * MIB / ROW)
    assert (round(100 * by_hash, 2), round(100 * by_sort, 2)) == (1.68, 1.59)


def test_nested_loop() -> None:
    assert costs(Sizes(10, 1, 1, 0, 5))["nl"] == 10 + 10 * 10


def test_hybrid_hash() -> None:
    found = hybrid(16_384, 2_048)
    assert (found.buckets, found.kept) == (128, 15)
    assert (found.without_reuse, found.with_reuse) == (59_776, 55_936)
    # More than the 128 partitions: everything is in memory.
    assert round(compressed_kept(16_384, 2_048, 10)) == 163


def test_compressed_methods_save_what_is_printed() -> None:
    share = compressed_share(10)
    assert share["CP GH"] == pytest.approx(3.2)
    assert 1 - share["CP GH"] / share["GH"] == pytest.approx(0.20)
    assert 1 - share["CP M"] / share["M"] == pytest.approx(0.36)
    assert 1 - compressed_share(1e12)["CP GH"] / share["GH"] == pytest.approx(0.25)
    assert 1 - share["growing"] / share["GH"] == pytest.approx(0.675)
    assert 1 - compressed_share(1e12)["stagnant"] / share["GH"] == pytest.approx(0.75)
    assert share["shrinking"] == pytest.approx(1.3)
    assert [share["similar"], share["similar, compressed"]] == pytest.approx([2, 1.2])


def test_block_digests() -> None:
    assert block_digests(1_000, 100_000, 10, 2, 5) == pytest.approx(1_000 + 3 * 1_000 * 1_000 / 2_000_000 + 10)


def test_window_split_reaches_equally_far() -> None:
    small, full = window_split(1.0, 10)
    assert (round(small, 3), round(full, 3)) == (0.091, 0.909)


@pytest.mark.parametrize(
    ("distance", "rows", "mib"), [(0.44, 162_500, 5.11), (0.34, 325_000, 7.91), (0.24, 650_000, 11.2)]
)
def test_window_sizes_of_figure_12(distance: float, rows: int, mib: float) -> None:
    found = window_bytes(distance, rows, ROW) / MIB
    assert found == pytest.approx(mib, rel=0.005)


def test_error_of_digests() -> None:
    rows = int(256 * MIB / ROW)
    assert rows == 1_789_569
    assert round(days_without_miss(2.3e-10, rows), -1) == 2_430
    assert round(days_without_miss(2.0**-32, rows), -1) == 2_400
    assert days_without_miss(2.3e-10, rows, 0.01) == pytest.approx(2.4e5, rel=0.02)
    assert days_without_miss(missed_per_row(64), rows) == pytest.approx(1e13, rel=0.05)
    assert math.isclose(missed_per_row(128), 2.0**-128)


@pytest.mark.parametrize("bits", [32, 63])
def test_short_digests_are_refused(bits: int) -> None:
    with pytest.raises(ConfigError, match=f"digests of {bits} bits"):
        missed_per_row(bits)
