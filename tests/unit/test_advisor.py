"""The advisor's arithmetic: uncertain numbers, sizes from statistics, figures of the paper, the choice."""

from __future__ import annotations

import math
from typing import Any

import pytest

from benchmarks import paper_costs
from qbcd.advisor.candidates import alike, candidates, needs_of, unmet
from qbcd.advisor.choice import Scored, choose, much_cheaper
from qbcd.advisor.facts import Facts, by_writes, sizes_of
from qbcd.advisor.history import History
from qbcd.advisor.possibility import Option
from qbcd.advisor.prediction import predict
from qbcd.cli.advise import finds
from qbcd.cli.plot import by_columns, by_rows
from qbcd.config.auto_strategy import AutoOptions
from qbcd.config.strategy_registry import options_class
from qbcd.connectors import PostgreSQL
from qbcd.connectors.facts import Index
from qbcd.connectors.statistics import IndexSize, TableStatistics
from qbcd.model import Column, StreamPlan, Table, Travel
from qbcd.state import Run
from qbcd.strategies import InSource, QueuedTlcs, costs, strategy_class
from qbcd.strategies.amounts import UNKNOWN, Amount, lifted
from qbcd.strategies.reads import ChangeRate

N, ROWS = 1000.0, 10_000.0


def column(name: str, sql_type: str, width: int) -> Column:
    kinds: dict[str, Any] = {"bigint": "int64", "timestamptz": "timestamptz", "boolean": "boolean"}
    base = {"bigint": "int8", "boolean": "bool"}.get(sql_type, sql_type)
    return Column(name, sql_type, base, False, "", "typed", Travel(kinds.get(sql_type, "text")), width)


COLUMNS = (
    column("id", "bigint", 8),
    column("note", "text", 172),
    column("at", "timestamptz", 8),
    column("gone", "boolean", 1),
)
TABLE = Table("public", "t", "table", COLUMNS, ("id",), rows=10_000, pages=1000, row_width=189, key_correlation=1.0)
INDEXES = (
    IndexSize(Index("pk", ("id",), (), True, True, False), 30),
    IndexSize(Index("by_at", ("at",), (), True, False, False), 30),
    IndexSize(Index("covering", ("at",), ("id", "note", "gone"), True, False, False), 300),
)


def facts(delta: float, clustered: Amount = Amount(0.0, 1.0), **more: Any) -> Facts:  # noqa: B008
    change = ChangeRate(Amount.of(delta), clustered)
    given: dict[str, Any] = {"indexes": INDEXES, **more}
    return Facts(8192, Amount.of(N), Amount.of(ROWS), Amount.of(1.0), Amount.of(N), change, **given)


def scored(known: Facts, **needs: Any) -> dict[str, Scored]:
    """Return every strategy and variant that can be made for the needs, by label, with its cost."""
    wanted = AutoOptions.model_validate({"type": "auto", **needs})
    found = {}
    for one in candidates(wanted, query=False):
        if one.options is None:
            continue
        plan = StreamPlan("s", "shop", TABLE, COLUMNS[:1], COLUMNS[1:], "", one.name)
        plan = plan.with_options(**one.options.options)
        kind = strategy_class(one.name, one.options.options)
        made: Any = kind
        own = issubclass(kind, (InSource, QueuedTlcs))
        strategy = made(PostgreSQL(), plan, "qbcd") if own else made(PostgreSQL(), plan)
        why = unmet(wanted, one.options)
        found[one.label] = Scored(Option(one.name, one.label, one, None, plan, strategy, why), predict(strategy, known))
    return found


def chosen(known: Facts, **needs: Any) -> str:
    choice = choose([*scored(known, **needs).values()], AutoOptions.model_validate({"type": "auto", **needs}))
    assert choice.chosen is not None
    return choice.chosen.option.label


# -- figures of the paper ----------------------------------------------------------------------------------------------
def test_the_formulas_give_the_paper_s_figures() -> None:
    assert costs.reported_before_comparison(N) == 6000
    assert costs.sliding_window(N) == 2000
    assert paper_costs.mds_worst(N) == 4000
    assert paper_costs.mds_by_keys(N, 0.1 * N) == 2200
    assert costs.mds(N, 1) == 1001
    assert paper_costs.mds_by_branches(N, 1, keyed=0.01, inserted=0.02) == 32
    assert paper_costs.applicable(0.01, 0.05) == pytest.approx(0.0005)
    assert costs.id_rcs(N, 0.3 * N, 1, 0.01) == pytest.approx(1004)
    assert paper_costs.incremental(100_000, 100_000, 100) == 200_100
    assert paper_costs.tdi_worst(1100, 1000, 100, 0.01, 3) == pytest.approx(31)
    assert paper_costs.tdi(1100, 1000, 100, 0.01, 3) == pytest.approx(25)
    assert paper_costs.small_relations(3, 3) == (10, 6)


def test_the_view_s_figures() -> None:
    assert paper_costs.view_copied(10_000, 4, 0.01) == pytest.approx(300_400)
    assert paper_costs.view_replaced(10_000, 4) == 220_000
    assert paper_costs.view_checksums(10_000, 4, 0.01) == pytest.approx(40_800), "printed as 41,000"
    assert paper_costs.view_delta(10_000, 4, 0.01) == pytest.approx(1_520)


def test_the_curves_are_in_the_paper_s_order() -> None:
    """Figures 9 and 10: table 3 at the defaults, and its order everywhere."""
    for curves, shares in ((by_columns(N, 0.085), (0.1, 0.3, 1.0)), (by_rows(N, 0.085), (0.01, 0.1))):
        for share in shares:
            pages = [curve(share) for curve in curves.values()]
            assert [*curves] == ["export and compare", "sorted export", "mds", "id_rcs", "atdi"]
            assert pages == sorted(pages, reverse=True), share
    at_defaults = {name: round(curve(0.3)) for name, curve in by_columns(N, 0.085).items()}
    assert [*at_defaults.values()][:4] == [6000, 2000, 1300, 1004]


@pytest.mark.parametrize(("pages", "expected"), [(1, 1), (2, 2), (250, 2), (251, 3), (62_500, 3), (62_501, 4)])
def test_the_height_of_an_index(pages: int, expected: int) -> None:
    assert costs.height(pages) == expected


def test_clustered_and_scattered_changes_are_the_ends_of_the_pages_that_hold_them() -> None:
    assert costs.touched(ROWS, N, 0.01, 1.0) == 10
    assert costs.touched(ROWS, N, 0.01, 0.0) == pytest.approx(95.7, abs=0.05)
    assert costs.touched(100, 1, 0.01, 1.0) == 1, "one row is on a whole page"
    assert costs.dirty_ranges(100, 0.01, 0.0) == pytest.approx(0.634, abs=0.001)
    assert costs.dirty_ranges(100, 0.01, 1.0) == 0.01


# -- uncertain numbers -------------------------------------------------------------------------------------------------
def test_an_unknown_number_is_never_a_confident_one() -> None:
    assert UNKNOWN.text("page") == "unknown pages"
    assert (UNKNOWN + 1001).text("page") == "at least 1,001 pages"
    assert Amount(1000, 2000).text("page") == "1,000 to 2,000 pages"
    assert Amount.of(1).text("page") == "1 page"
    assert (UNKNOWN * 0).high == 0
    assert lifted(costs.mds, UNKNOWN, 5).high == math.inf
    assert [a.short for a in (UNKNOWN, UNKNOWN + 1001, Amount(1000, 2000), Amount.of(0.3))] == [
        "?",
        ">1.0k",
        "1.0k-2.0k",
        "0.3",
    ]
    assert [a.data for a in (UNKNOWN, UNKNOWN + 5, Amount.of(2))] == [None, [5, None], [2, 2]]


@pytest.mark.parametrize(
    ("statistics", "pages", "rows", "doubt"),
    [
        (TableStatistics(8192, 100, 100, 1000), (100, 100), (1000, 1000), ""),
        (TableStatistics(8192, 110, 100, 1000), (110, 110), (1100, 1100), ""),
        (TableStatistics(8192, 100), (100, 100), (0, math.inf), "never analyzed"),
        (TableStatistics(8192, 10_000, 100, 1000), (10_000, 10_000), (1000, 100_000), "stale"),
        (TableStatistics(8192, 100, 10_000, 100_000), (100, 100), (1000, 100_000), "stale"),
        (TableStatistics(8192, 100, 100, 1000, dead=900), (100, 100), (100, 1000), "stale"),
        (TableStatistics(8192, 100, 0, 0), (100, 100), (0, math.inf), "was empty"),
        (TableStatistics(16384, None, 100, 1000, highest_number=100_000), (100, 10_000), (1000, 100_000), "more rows"),
        (TableStatistics(16384, None, 3, 100, counted_rows=10_000), (3, 300), (100, 10_000), "stale"),
        (TableStatistics(16384, None, 3, 100, counted_rows=120), (3, 3), (120, 120), ""),
        (TableStatistics(8192), (0, math.inf), (0, math.inf), "never analyzed"),
    ],
)
def test_wrong_statistics_give_a_range_or_unknown(
    statistics: TableStatistics, pages: tuple[float, float], rows: tuple[float, float], doubt: str
) -> None:
    found = sizes_of(statistics)
    assert (found.pages.low, found.pages.high) == pages
    assert (found.rows.low, found.rows.high) == pytest.approx(rows)
    assert doubt in found.doubt if doubt else not found.doubt


@pytest.mark.parametrize(
    ("written", "inserted", "per_second"),
    [
        (10_000, 10_000, None),  # nothing but the load
        (46_000, 10_000, 10.0),  # the load, then updates
        (3_600, 0, 1.0),  # loaded before the counters began
    ],
)
def test_the_load_of_a_table_is_no_change(written: int, inserted: int, per_second: float | None) -> None:
    counted = TableStatistics(8192, 1000, 1000, 10_000, None, written, inserted, clock=3600.0, counters_since=0.0)
    assert sizes_of(counted).written == (UNKNOWN if per_second is None else Amount.of(per_second))
    early = TableStatistics(8192, 1000, 1000, 10_000, None, written, inserted, clock=100.0, counters_since=0.0)
    assert sizes_of(early).written == UNKNOWN


def test_the_history_shows_how_changes_are_spread() -> None:
    def polls(dirty: int) -> History:
        cost = {"ranges": 100, "dirty": dirty, "rows_scanned": 10_000, "seconds": 2.0}
        return History.of([Run("s", 1.0, 2.0, "ok", counts={"u": 100}, cost=cost)] * 12)

    assert len(polls(1).polls) == 10
    assert (polls(1).events, polls(1).seconds) == (100, 2.0)
    assert polls(1).clustered(0.01) == Amount.of(1.0)
    assert polls(63).clustered(0.01).high == pytest.approx(0.0, abs=0.01)
    assert History().clustered(0.01) == Amount(0.0, 1.0)


# -- predictions and the choice ----------------------------------------------------------------------------------------
def test_predictions_are_the_formulas_with_the_table_s_sizes() -> None:
    found = scored(facts(0.01, Amount.of(1.0)), timestamp="at", delete_flag="gone")
    pages = {name: one.cost.pages.middle for name, one in found.items() if one.cost}
    copy = ROWS / 36  # 28 bytes of header and pointer, a multiple of 8 bytes: 224, and 36 of them in 8,168
    assert pages["mds"] == pytest.approx(N + copy + 15)
    assert pages["tdi"] == pytest.approx((N + copy + 30) * 0.01 + 2 + 15, abs=2)
    atdi = found["atdi"].cost
    assert atdi is not None
    assert atdi.pages.low == pytest.approx((300 + copy) * 0.01 + 3 + 15, abs=2)
    assert atdi.pages.high == pytest.approx(atdi.pages.low + 0.01 * N), "the table too, as long as VACUUM has not run"
    keys = 30 + ROWS / 305  # of the table, and of the replica: entries of 24 bytes, in nine tenths of a page
    assert pages["id"] == pytest.approx(N + copy + 15 + keys + 1)
    assert pages["id_rcs"] == pytest.approx((N + 30) * 1.03)
    assert found["mds"].cost is not None
    assert found["mds"].cost.source_room.high == pytest.approx(copy * 8192)
    assert found["id_rcs"].cost is not None
    assert found["id_rcs"].cost.source_room.high == 0


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        ({}, "mds"),
        ({"write_source": False}, "id_rcs"),
        ({"need": {"old_values": False}}, "tlcs"),
        ({"timestamp": "at"}, "ts"),
        ({"timestamp": "at", "write_source": False}, "ts"),
        ({"timestamp": "at", "delete_flag": "gone"}, "atdi"),
        ({"longest_statement": "300ms"}, "id"),
        ({"write_source": False, "need": {"old_values": False}}, "id_rcs, replica digest"),
        ({"need": {"updates": False, "old_values": False}}, "mds, inserts and deletes"),
        ({"need": {"updates": False}}, "mds"),  # the keys alone are no old values
    ],
)
def test_needs_and_permissions_decide(needs: dict[str, Any], expected: str) -> None:
    assert chosen(facts(0.01), **needs) == expected


@pytest.mark.parametrize(("per_hour", "expected"), [(0.0, "id_rcs"), (1e6, "mds")])
def test_a_measured_write_rate_moves_the_choice(per_hour: float, expected: str) -> None:
    known = facts(0.01)
    moved = by_writes(known, Amount.of(per_hour), "watch")
    assert chosen(facts(moved.delta.high, moved.clustered)) == expected


def test_a_table_that_is_long_to_read_is_compared_range_by_range() -> None:
    large = Facts(
        8192, Amount.of(1e6), Amount.of(1e8), Amount.of(1.0), Amount.of(1e6), ChangeRate(Amount.of(0.01), UNKNOWN)
    )
    assert chosen(large) == "tlcs, replica lake"
    simple = [one for name, one in scored(large).items() if name in ("mds", "id")]
    for longest, expected in ((None, "id"), ("2h", "mds")):
        choice = choose(simple, AutoOptions.model_validate({"type": "auto", "longest_statement": longest}))
        assert choice.chosen is not None
        assert choice.chosen.option.label == expected


def test_digests_and_a_copy_are_kept_only_if_that_saves_a_half() -> None:
    found = scored(facts(0.01))
    choice = choose([found["mds"], found["tlcs, replica lake"]], AutoOptions())
    assert choice.chosen is found["mds"]
    assert choice.why == "tlcs, replica lake reads more than half as much, and keeps digests and a copy"


def test_a_warning_needs_a_fifth_of_the_cost() -> None:
    found = scored(facts(0.01, Amount.of(1.0)), timestamp="at", delete_flag="gone")
    cheaper = much_cheaper([*found.values()], found["mds"])
    assert cheaper is not None
    assert cheaper.option.name == "atdi"
    assert much_cheaper([*found.values()], found["tdi"]) is None
    assert much_cheaper([found["id"], found["id_rcs"]], found["mds"]) is None


def test_without_a_possible_strategy_there_is_no_choice() -> None:
    found = choose([], AutoOptions())
    assert found.chosen is None
    assert "no strategy is possible" in found.why


def test_the_needs_of_another_strategy_are_its_columns() -> None:
    made = {one.name: one for one in candidates(AutoOptions(timestamp=("at",), delete_flag="gone"), query=False)}
    options = made["tdi"].options
    assert options is not None
    assert needs_of(options).timestamp == ("at",)
    assert needs_of(options).delete_flag == "gone"
    assert [one.label for one in candidates(AutoOptions(), query=True) if one.options] == ["vbd", "vbd, replica digest"]


@pytest.mark.parametrize(
    ("written", "label", "deletes", "old_values"),
    [
        ({"type": "tlcs"}, "tlcs", True, False),
        ({"type": "tlcs", "replica": "source"}, "tlcs, replica source", True, True),
        ({"type": "tlcs", "replica": "spark"}, "tlcs, replica lake", True, True),
        ({"type": "id_rcs", "replica": "digest", "rows_per_range": 7}, "id_rcs, replica digest", True, False),
        ({"type": "mds", "events": ["insert", "delete"]}, "mds, inserts and deletes", True, False),
    ],
)
def test_a_variant_is_a_candidate_with_what_it_finds(
    written: dict[str, Any], label: str, deletes: bool, old_values: bool
) -> None:
    """Also as the strategy of a stream, whose options say what it needs."""
    options = options_class(written["type"]).model_validate(written)
    found = alike(candidates(needs_of(options), query=False), options.type, options.options)
    assert found is not None
    assert found.label == label
    known = scored(facts(0.01))[label]
    assert finds(known) == (deletes, old_values)
    assert unmet(needs_of(options), options) == ""
    assert bool(unmet(AutoOptions(), options)) is not old_values


def test_rooms_of_variants() -> None:
    """In the source and in the workdir: a copy of the rows, their digests, or both."""
    found = {name: one.cost for name, one in scored(facts(0.01)).items() if one.cost}
    copied, digests = found["mds"].source_room.high, found["tlcs"].source_room.high
    assert found["tlcs, replica source"].source_room.high == pytest.approx(copied + digests)
    queued = found["tlcs, replica lake"]
    assert (queued.source_room.high, queued.workdir_room.high) == pytest.approx((digests, copied))
    assert queued.pages == found["tlcs"].pages
    assert found["id_rcs, replica digest"].workdir_room.high == pytest.approx(digests)
    assert found["mds, inserts and deletes"].source_room.high < digests


def test_ranges_that_overlap_are_not_compared() -> None:
    """The advice says so, and does not say that the chosen strategy reads least."""
    found = scored(facts(0.01, Amount.of(1.0)), timestamp="at", delete_flag="gone")
    needs = AutoOptions.model_validate({"type": "auto", "timestamp": "at", "delete_flag": "gone"})
    assert choose([found["mds"], found["id"]], needs).why == "it reads least; the next is id"
    wide = scored(facts(0.01))
    why = choose([wide["mds"], wide["id"], wide["id_rcs"]], AutoOptions()).why
    assert why == "the middle of its range is the lowest; id_rcs may read less"
