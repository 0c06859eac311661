"""The methods that find differences of two snapshots: all give what one full join gives."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from typing_extensions import override

from qbcd.errors import ConfigError, Refused, UnsupportedType
from qbcd.sites.lake.engines.local.by_method import ParquetSide
from qbcd.snapshots import compare, work
from qbcd.snapshots.base import MIB, Batches, Options, weight_of
from qbcd.snapshots.compare import METHODS, baseline, differences
from qbcd.snapshots.digests import digests
from qbcd.snapshots.feeds import LastComparison, Sides, choose_for_rows
from qbcd.snapshots.replica import DumpReplica
from qbcd.snapshots.window import WindowRun
from tests.support.snapshot_files import check, drawn, snapshot

EXACT = ("nl", "sm", "ph", "hh", "window")
BY_OFFSET = ("smc2", "phc2")  # with the old file at hand
CHECKED = sorted(set(METHODS) - {"window_plain"})


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """Memory that makes small snapshots go to disk, in steps of few rows."""
    monkeypatch.setattr(compare, "LEAST_MEMORY", 0)
    monkeypatch.setattr(work, "LEAST_ROWS", 16)
    return 8_000


@pytest.mark.parametrize("method", CHECKED)
@pytest.mark.parametrize(
    ("keys", "repeated", "seed"),
    [
        (2, True, 2),
        pytest.param(1, False, 1, marks=pytest.mark.campaign),
        pytest.param(1, True, 3, marks=pytest.mark.campaign),
        pytest.param(0, True, 4, marks=pytest.mark.campaign),
        pytest.param(2, False, 5, marks=pytest.mark.campaign),
    ],
)
def test_every_method_equals_a_full_join(
    method: str, keys: int, repeated: bool, seed: int, small: int, tmp_path: Path
) -> None:
    old, new = drawn(seed, 120, repeated)
    options = Options(method, small, tmp_path, tmp_path / "replica", keep_rows=method in ("sm", "ph"))
    found = differences(snapshot(old, keys), snapshot(new, keys), options)
    check(found, old, new, keys, values=method in (*EXACT, *BY_OFFSET))
    assert found.report.rows == len(new)
    if method != "nl":  # it keeps nothing
        kept = DumpReplica(tmp_path / "replica")
        check(differences(kept, snapshot(old, keys), Options("phc2", small, tmp_path)), new, old, keys, values=False)
        file = snapshot(new, keys)
        again = differences(kept, snapshot(old, keys), Options("phc2", small, tmp_path, old_file=file))
        check(again, new, old, keys, values=kept.numbered)
        assert [path.name for path in tmp_path.iterdir()] == ["replica"]


@pytest.mark.parametrize(
    ("method", "count"),
    [
        ("hh", 1),  # rows fit into memory
        *(pytest.param("hh", count, marks=pytest.mark.campaign) for count in (50, 55, 60, 65, 120)),
        *(pytest.param(method, 60, marks=pytest.mark.campaign) for method in EXACT if method != "hh"),
    ],
)
def test_null_and_zero_are_two_keys(method: str, count: int, small: int, tmp_path: Path) -> None:
    zero, null, *more = [
        {"id": key, "part": None, "text": str(key), "number": None} for key in (0, None, *range(1, count))
    ]
    sides = [zero, *more], [null, *more], [*more, null, zero], [zero, null, *more]
    for old, new in itertools.pairwise([*sides, sides[0]]):
        found = differences(snapshot(old, 1, 7), snapshot(new, 1, 7), Options(method, small, tmp_path))
        check(found, old, new, 1, values=True)
        assert not found.report.restarts


@pytest.mark.parametrize("method", ["phc1", "ph", "window"])
def test_snapshots_without_rows(method: str, tmp_path: Path) -> None:
    old, _ = drawn(1, 20, repeated=False)
    for one, two in ((old, []), ([], old), ([], [])):
        check(differences(snapshot(one, 1), snapshot(two, 1), Options(method)), one, two, 1, values=method != "phc1")


@pytest.mark.parametrize("method", BY_OFFSET)
@pytest.mark.parametrize("memory", [0, 64 * MIB])
def test_old_values_by_row_number(method: str, memory: int, small: int, tmp_path: Path) -> None:
    old, new = drawn(7, 120, repeated=True)
    list(differences(snapshot([], 1), snapshot(old, 1), Options(method, small, keep=tmp_path / "kept")))
    kept, limit = DumpReplica(tmp_path / "kept"), memory or small
    assert kept.numbered
    options = Options(method, limit, tmp_path, old_file=snapshot(old, 1, step=7))
    check(differences(kept, snapshot(new, 1), options), old, new, 1, values=True)
    moved = Options(method, limit, tmp_path, old_file=snapshot([*old[1:], old[0]], 1))
    with pytest.raises(Refused, match="is not the snapshot whose digests were compared"):
        list(differences(kept, snapshot(new, 1), moved))


def test_rows_of_parquet_files_by_number(tmp_path: Path) -> None:
    paths = [tmp_path / f"{n}.parquet" for n in range(2)]
    for n, path in enumerate(paths):
        rows = pa.table({"c0": pa.array(range(n * 100, n * 100 + 100)), "c1": [f"v{n}"] * 100})
        parquet.write_table(rows, path, row_group_size=30)
    side = ParquetSide(paths, 2, 1, "old")
    wanted = np.array([0, 29, 30, 99, 100, 131, 199])
    assert side.take(wanted).column("c0").to_pylist() == wanted.tolist()
    assert side.take(wanted[:0]).num_rows == 0


def table(rows: list[tuple[int, str]]) -> Batches:
    ids, texts = [row[0] for row in rows], [row[1] for row in rows]
    return Batches([pa.record_batch({"id": pa.array(ids, pa.int64()), "v": pa.array(texts, pa.string())})], ["id"])


ROWS = [(i, f"v{i}") for i in range(40)]


@pytest.mark.parametrize(
    ("method", "new", "restarts"),
    [
        ("growing", [*ROWS, (40, "n")], ""),
        ("growing", [(0, "changed"), *ROWS[1:], (40, "n")], "a row changed"),
        ("growing", ROWS[1:], "a row changed"),
        ("stagnant", [(0, "changed"), *ROWS[1:]], ""),
        ("stagnant", [(99, "changed"), *ROWS[1:]], "another key"),
        ("stagnant", ROWS[:-1], "another number of rows"),
        ("shrinking", ROWS[5:], ""),
        ("shrinking", [*ROWS[5:], (40, "n")], "new or changed"),
        ("ordered", [(-1, "n"), *ROWS[3:]], ""),
        ("hh", [*ROWS, (3, "v3")], "occurs several times"),
    ],
)
def test_special_forms_check_their_assumption(method: str, new: list[tuple[int, str]], restarts: str) -> None:
    found = differences(table(ROWS), table(new), Options(method))
    events = [event for batch in found for event in batch.to_pylist()]
    old_rows, new_rows = set(ROWS), set(new)
    assert {(e["after"]["id"], e["after"]["v"]) for e in events if e["op"] != "d"} >= new_rows - old_rows
    assert {e["key"]["id"] for e in events if e["op"] == "d"} == {k for k, _ in ROWS} - {k for k, _ in new}
    assert restarts in "".join(reason for _, reason in found.report.restarts)
    assert bool(found.report.restarts) == bool(restarts)


def test_duplicate_keys_are_paired_in_three_stages() -> None:
    old = table([(1, "a"), (1, "b"), (1, "c")])
    new = table([(1, "b"), (1, "x"), (1, "c"), (1, "c")])
    found = [event for batch in differences(old, new, Options("ph")) for event in batch.to_pylist()]
    assert [(e["op"], (e["before"] or {}).get("v")) for e in found] == [("u", "a"), ("c", None)]


def test_window_without_spill_fails_at_once_below_its_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qbcd.snapshots.window.STEP_ROWS", 16)
    rows = [(i, "v") for i in range(1200)]
    draw = np.random.default_rng(1)
    order = np.argsort(np.arange(1200) + draw.integers(0, 300, 1200), kind="stable")
    moved = [rows[i] for i in order]

    def run(capacity: int, spill: bool) -> tuple[int, int, int]:
        found = compare.Comparison(table(rows), table(moved), Options("window"))
        step = work.Work(found.old, found.new, found.options, found.report)
        one = WindowRun(step, compressed=False, spill=spill)
        one.old.capacity = one.new.capacity = capacity
        one.run()
        count = sum(batch.num_rows for batch in step.finish())
        step.close()
        return count, max(one.old.peak, one.new.peak), found.report.useless

    messages, need, _ = run(10**6, spill=False)
    assert messages == 0
    assert run(need, spill=False)[0] == 0
    extra, _, useless = run(need * 9 // 10, spill=False)
    assert extra > 0 and useless > 0
    assert run(need * 9 // 10, spill=True)[0] == 0
    assert run(1, spill=True)[0] == 0


def test_planner_uses_what_the_last_comparison_saw(tmp_path: Path) -> None:
    baseline(table(ROWS), Options(keep=tmp_path / "a"))
    kept = DumpReplica(tmp_path / "a")
    found = differences(kept, table(ROWS), Options())
    assert list(found) == [] and found.report.method == "phc1"
    list(differences(table(ROWS), table([*ROWS, (40, "n")]), Options("growing", keep=tmp_path / "b")))
    grown = differences(DumpReplica(tmp_path / "b"), table([*ROWS, (40, "n"), (41, "n")]), Options())
    assert [batch.num_rows for batch in grown] == [1] and grown.report.method == "growing"
    shrunk = differences(DumpReplica(tmp_path / "b"), table(ROWS), Options())
    assert [batch.num_rows for batch in shrunk] == [1]
    assert [name for name, _ in shrunk.report.restarts] == ["growing"]


@pytest.mark.parametrize(
    ("rows", "memory", "last", "method"),
    [
        (1_000, 256, LastComparison(), "join"),
        (10_000_000, 256, LastComparison(), "window"),
        (10_000_000, 256, LastComparison(waiting=5_000), "window"),
        (10_000_000, 256, LastComparison(waiting=5_000_000), "hh"),
        (10_000_000, 256, LastComparison(duplicates=0.1, waiting=0), "ph"),
        (10_000_000, 64, LastComparison(), "join"),
    ],
)
def test_a_feed_is_joined_or_compared_by_what_it_did_last(
    rows: int, memory: int, last: LastComparison, method: str
) -> None:
    sides = Sides(rows, rows, 150.0)
    assert choose_for_rows(sides, last, memory * MIB).method == method
    after = last.after(sides, {"c": rows // 100}, None)
    assert (after.method, after.inserts, after.waiting) == ("join", 0.01, last.waiting)
    assert LastComparison.from_entry({**after.as_entry(), "of_a_later_version": 1}) == after


def test_partitions_follow_the_bytes_of_rows_and_not_of_a_compressed_file(tmp_path: Path) -> None:
    rows = pa.table({"c0": pa.array(range(20_000), pa.int64()), "c1": ["x" * 140] * 20_000})
    parquet.write_table(rows, tmp_path / "a.parquet", row_group_size=2_000)
    side = ParquetSide([tmp_path / "a.parquet"], 2, 1, "a")
    assert side.size < rows.nbytes // 10
    assert weight_of(side) == pytest.approx(rows.nbytes, rel=0.02)


@pytest.mark.parametrize(
    ("change", "message"),
    [({"method": "phc9"}, "unknown method 'phc9'"), ({"memory": 1000}, "1,000 bytes of memory are too few")],
)
def test_refused_options(change: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        differences(table(ROWS), table(ROWS), Options(**change))  # type: ignore[arg-type]


def test_refused_snapshots(tmp_path: Path) -> None:
    other = Batches([pa.record_batch({"id": pa.array([1]), "w": pa.array(["x"])})], ["id"])
    with pytest.raises(Refused, match="has other columns than memory: only memory has v string; only memory has w"):
        differences(table(ROWS), other, Options("ph"))
    nested = Batches([pa.record_batch({"id": pa.array([1]), "w": pa.array([[1]])})], ["id"])
    with pytest.raises(UnsupportedType, match="list<"):
        list(differences(nested, nested, Options("ph")))
    baseline(table(ROWS), Options(keep=tmp_path / "a"))
    with pytest.raises(ConfigError, match="only digests"):
        list(differences(DumpReplica(tmp_path / "a"), table(ROWS), Options("sm")))
    with pytest.raises(Refused, match="already exists"):
        baseline(table(ROWS), Options(keep=tmp_path / "a"))


def test_an_incomplete_snapshot_reports_and_keeps_nothing(tmp_path: Path) -> None:
    class Truncated(Batches):
        @override
        def batches(self):  # type: ignore[no-untyped-def]
            yield from super().batches()
            raise Refused("line 41 is truncated")

    whole = table(ROWS)
    broken = Truncated(list(table(ROWS[:2]).batches()), ["id"])
    for method in CHECKED:
        found = iter(differences(whole, broken, Options(method, folder=tmp_path, keep=tmp_path / "kept")))
        with pytest.raises(Refused, match="line 41"):
            next(found)
        assert list(tmp_path.iterdir()) == [], method


def test_digests_are_those_of_every_version() -> None:
    """A replica outlives the version that wrote it: change this only together with `digests.VERSION`."""
    columns = [pa.array([1, None, -7]), pa.array(["a", "", None]), pa.array([1.5, float("nan"), -0.0])]
    assert [f"{high:016x}{low:016x}" for high, low in zip(*digests(columns), strict=True)] == [
        "fb4522b649be065140bae85e58b47d9b",
        "9ef38735cb5c5502db25ab2d339d004b",
        "ec1528db24f765d255e31f469ed519f7",
    ]


def test_digests_have_no_pattern() -> None:
    values = pa.array(np.arange(200_000))
    found = digests([values, pa.array(np.zeros(200_000, np.int64))])
    assert len(np.unique(found.high)) == len(np.unique(found.low)) == 200_000
    flips = np.unpackbits((found.high[1:] ^ found.high[:-1]).view(np.uint8)).mean()
    assert abs(flips - 0.5) < 0.002
    swapped = digests([pa.array(np.zeros(3, np.int64)), pa.array(np.arange(3))])
    straight = digests([pa.array(np.arange(3)), pa.array(np.zeros(3, np.int64))])
    assert swapped.high[0] == straight.high[0] and swapped.high[1] != straight.high[1]
