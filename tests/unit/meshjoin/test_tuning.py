"""The cost model: closed form against search, limits of memory, the controller, lines through observed times."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from qbcd.meshjoin import Costs, MeshError, ReadTimes, Tuner, Tuning

# A relation of 420 MB on a disk of 2008: a seek of 8 ms, then 60 MB a second.
DISK = Costs(
    pages=51270,
    page_bytes=8192,
    rows_of_page=8192 / 120,
    event_bytes=20,
    read=8e-3,
    transfer=8192 / 60e6,
    event=4e-6,
    row=4e-7,
)
SIZE = DISK.pages * DISK.page_bytes


def least_memory(costs: Costs, rate: float) -> int:
    return min(range(1, costs.pages + 1), key=lambda pages: costs.memory(pages, costs.events_at(rate, pages)))


def test_closed_form_of_the_paper() -> None:
    assert DISK.best_pages(20_000) == pytest.approx(202.5, abs=0.05)
    assert least_memory(DISK, 20_000) == 202
    assert DISK.for_rate(20_000).pages in (202, 203)


def test_closed_form_is_within_one_of_the_search() -> None:
    drawn = random.Random(8)
    for _ in range(30):
        costs = replace(
            DISK,
            pages=drawn.randrange(200, 2000),
            read=10 ** drawn.uniform(-4, -1),
            transfer=10 ** drawn.uniform(-5, -3),
            event_bytes=drawn.randrange(16, 400),
        )
        rate = drawn.uniform(0.01, 0.9) / costs.event
        wanted = least_memory(costs, rate)
        assert abs(min(max(costs.best_pages(rate), 1), costs.pages) - wanted) <= 1
        assert abs(costs.for_rate(rate).pages - wanted) <= 1


def test_the_tuning_serves_the_rate() -> None:
    for rate in (100, 5_000, 100_000):
        tuning = DISK.for_rate(rate)
        assert rate <= DISK.rate(tuning) < 1.02 * rate + 100


def test_no_tuning_is_faster_than_its_events() -> None:
    with pytest.raises(MeshError, match="more than 250000"):
        DISK.best_pages(250_000)


def test_rate_in_a_fixed_memory_rises_and_falls() -> None:
    memory = 0.01 * SIZE
    rates = [DISK.rate(Tuning(pages, DISK.events_within(memory, pages))) for pages in range(1, 500)]
    best = rates.index(max(rates))
    assert 0 < best < len(rates) - 1
    smooth = [sum(rates[at : at + 20]) for at in range(0, 480, 20)]  # w is whole, so single steps jitter
    top = smooth.index(max(smooth))
    assert smooth[: top + 1] == sorted(smooth[: top + 1])
    assert smooth[top:] == sorted(smooth[top:], reverse=True)
    assert DISK.rate(DISK.within(memory)) == max(rates)


@pytest.mark.parametrize(("percent", "least"), [(1, 6_000), (10, 26_000)])
def test_rates_of_the_paper(percent: int, least: int) -> None:
    """The paper measured more than 6,000 events a second with 1 % of the relation, up to 26,000 with 10 %."""
    assert DISK.rate(DISK.within(percent / 100 * SIZE)) > least


def test_more_memory_is_never_slower() -> None:
    rates = [DISK.rate(DISK.within(percent / 100 * SIZE)) for percent in (0.1, 0.5, 1, 5, 10)]
    assert rates == sorted(rates)


def test_too_little_memory_is_refused() -> None:
    with pytest.raises(MeshError, match="8192 bytes"):
        DISK.within(8192)


def test_the_controller_sheds_only_above_the_limit() -> None:
    tuner = Tuner(DISK, 0.01 * SIZE)
    tuner.observe(1000, 1.0)
    assert tuner.next() == DISK.for_rate(1000)
    assert tuner.shed == 0
    limit = DISK.rate(DISK.within(tuner.memory))
    for _ in range(50):
        tuner.observe(round(2 * limit), 1.0)
    assert tuner.next() == DISK.within(tuner.memory)
    assert tuner.shed == pytest.approx(0.5, abs=0.01)


def test_growth_beyond_the_limit_is_not_admitted() -> None:
    tuner = Tuner(DISK, 0.01 * SIZE)
    tuner.observe(100, 1.0)
    assert tuner.next(held=tuner.memory).events == 0
    assert tuner.next(held=0).events > 0


def test_lines_find_fixed_and_variable_part() -> None:
    times, drawn = ReadTimes(), random.Random(2)
    for _ in range(100):
        size = drawn.randrange(1, 1000)
        times.observe(size, 0.02 + size * 1e-4)
    fixed, each = times.line
    assert fixed == pytest.approx(0.02)
    assert each == pytest.approx(1e-4)
    assert times.predict(2000) == pytest.approx(0.22)


def test_lines_of_equal_sizes_predict_that_size() -> None:
    times = ReadTimes(fixed=0.001)
    for _ in range(5):
        times.observe(100, 0.5)
    assert times.predict(100) == pytest.approx(0.5)
    assert ReadTimes(1.0, 2.0).predict(3) == 7.0
