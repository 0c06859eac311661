"""The options of strategies: defaults, and options that are fixed at prepare."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from qbcd.catalog.drift import check_requested
from qbcd.catalog.resolve import requested
from qbcd.config import StreamConfig, config_from_dict
from qbcd.config.strategy_registry import BUILT_STRATEGIES, options_class
from qbcd.errors import SchemaChanged
from qbcd.strategies import strategy_class
from tests.support.config_files import CANARY, GOOD, load, message

TS = "{type: ts, timestamp: changed}"
TDI = "{type: tdi, timestamp: changed, delete_flag: gone}"
RANGES: dict[str, Any] = {
    "pages_per_range": 200,
    "rows_per_range": None,
    "target": timedelta(milliseconds=500),
    "per_second": None,
    "nice_ratio": 0.0,
    "per_poll": None,
    "max_staleness": None,
}
RANGES_ID: dict[str, Any] = {**RANGES, "events": None}
DIGESTS: dict[str, Any] = {"checksums": "table", "checksum_column": None, "deletes": True, "replica": "none"}
RCS: dict[str, Any] = {
    **{name: value for name, value in RANGES.items() if name != "pages_per_range"},
    "rows_per_range": None,
    "target": None,
    "buckets": None,
    "replica": "rows",
    "digest": 64,
    "consistency": None,
}
MARKS: dict[str, Any] = {"timestamp": ("changed",), "zone": None, "margin": timedelta(seconds=1), "lag": None}
STAMPS: dict[str, Any] = {**MARKS, "replica": "source", "deletes": None, "counter": None, "rows_per_range": None}
FLAGS: dict[str, Any] = {
    **MARKS,
    "delete_flag": "gone",
    "deleted_value": True,
    "purge": False,
    "retention": None,
    "create_index": False,
}


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", CANARY)


def stream(strategy: Any, **keys: Any) -> StreamConfig:
    table = {"source": "shop", "table": "t", "strategy": strategy, **keys}
    return config_from_dict(
        {"version": 1, "sources": {"shop": {"url": "postgresql://h/d"}}, "tables": [table]}
    ).streams[0]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (TS, STAMPS),
        (
            "{type: ts, timestamp: [a, b], zone: +02:00, margin: 2s, lag: 5m, replica: keys, deletes: only}",
            {
                "timestamp": ("a", "b"),
                "zone": "+02:00",
                "margin": timedelta(seconds=2),
                "lag": timedelta(minutes=5),
                "replica": "keys",
                "deletes": "only",
                "counter": None,
                "rows_per_range": None,
            },
        ),
        (
            "{type: ts, timestamp: [xmin], replica: none}",
            {
                **MARKS,
                "timestamp": ("xmin",),
                "replica": "none",
                "deletes": None,
                "counter": None,
                "rows_per_range": None,
            },
        ),
        (
            "{type: ts, timestamp: changed, zone: +00:00, deletes: {every: 1h}, counter: table}",
            {
                **MARKS,
                "zone": "UTC",
                "replica": "source",
                "deletes": timedelta(hours=1),
                "counter": "table",
                "rows_per_range": None,
            },
        ),
        (TDI, FLAGS),
        (TDI.replace("}", ", deleted_value: true}"), FLAGS),
        (TDI.replace("}", ", deleted_value: 'true'}"), {**FLAGS, "deleted_value": "true"}),
        (
            TDI.replace("}", ", deleted_value: 1, purge: true, retention: 7d, create_index: true}"),
            {**FLAGS, "deleted_value": 1, "purge": True, "retention": timedelta(days=7), "create_index": True},
        ),
        (TDI.replace("tdi", "atdi"), FLAGS),
        ("tlcs", {**RANGES, **DIGESTS}),
        ("{type: tlcs, replica: source}", {**RANGES, **DIGESTS, "replica": "source"}),
        ("{type: tlcs, replica: spark}", {**RANGES, **DIGESTS, "target": None, "replica": "lake"}),
        ("{type: ts, timestamp: changed, replica: lake, zone: UTC}", {**STAMPS, "zone": "UTC", "replica": "lake"}),
        ("mds", {"events": None}),
        ("{type: mds, events: [delete, insert]}", {"events": ("insert", "delete")}),
        ("{type: id, events: [delete, update, insert]}", RANGES_ID),
        (
            "{type: tlcs, checksums: column, checksum_column: chk, deletes: false, rows_per_range: 10}",
            {
                **RANGES,
                "pages_per_range": None,
                "rows_per_range": 10,
                "checksums": "column",
                "checksum_column": "chk",
                "deletes": False,
                "replica": "none",
            },
        ),
        ("id", RANGES_ID),
        (
            "{type: id, pages_per_range: 5, pace: {per_second: 20}, per_poll: 3, max_staleness: 1h}",
            {
                "pages_per_range": 5,
                "rows_per_range": None,
                "target": None,
                "per_second": 20.0,
                "nice_ratio": 0.0,
                "per_poll": 3,
                "max_staleness": timedelta(hours=1),
                "events": None,
            },
        ),
        ("{type: id, pace: {target: 2s}}", {**RANGES_ID, "target": timedelta(seconds=2)}),
        (
            "{type: id, pace: {target: 50ms, nice_ratio: 9}}",
            {**RANGES_ID, "target": timedelta(milliseconds=50), "nice_ratio": 9.0},
        ),
        ("{type: id, pace: {}}", RANGES_ID),
        ("id_rcs", RCS),
        ("{type: id_rcs, buckets: hash}", {**RCS, "buckets": "hash"}),
        (
            "{type: id_rcs, per_poll: 9, max_staleness: 1h, pace: {nice_ratio: 1}, consistency: range}",
            {
                **RCS,
                "per_poll": 9,
                "max_staleness": timedelta(hours=1),
                "target": timedelta(milliseconds=500),
                "nice_ratio": 1.0,
                "consistency": "range",
            },
        ),
        ("{type: tlcs, checksums: remote}", {**RANGES, **DIGESTS, "target": None, "checksums": "remote"}),
    ],
)
def test_options_are_plain_values_with_defaults_filled_in(
    tmp_path: Path, written: str, expected: dict[str, Any]
) -> None:
    text = GOOD.replace("strategy: id_rcs", f"strategy: {written}").replace("    where: region = 'EU'\n", "")
    options = load(tmp_path, text).streams[0].options
    assert options == expected
    assert {name: type(value) for name, value in options.items()} == {k: type(v) for k, v in expected.items()}


def test_pairing_is_inherited_and_off_by_default(tmp_path: Path) -> None:
    assert [s.key_change for s in load(tmp_path, GOOD).streams] == ["off", "off"]
    general = GOOD.replace("{every:", "{key_change: pair, every:")
    own = general.replace("    baseline: events", "    key_change: off")
    orders, customers = load(tmp_path, own).streams
    assert (orders.key_change, customers.key_change) == ("off", "pair")
    assert orders.place("key_change").endswith("qbcd.yaml:21: tables[0].key_change")
    assert customers.place("key_change").endswith("qbcd.yaml:11: defaults.key_change")
    assert message(tmp_path, "baseline: events", "key_change: pairs") == (
        "qbcd.yaml:21: tables[0].key_change: this value is not known here (expected 'pair' or 'off')"
    )


CHANGES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"type": "ts", "timestamp": "a"}, {"timestamp": ["a", "b"]}),
    ({"type": "ts", "timestamp": "a"}, {"zone": "UTC"}),
    ({"type": "ts", "timestamp": "a"}, {"replica": "keys"}),
    ({"type": "ts", "timestamp": "a"}, {"counter": "table"}),
    ({"type": "tdi", "timestamp": "a", "delete_flag": "f"}, {"delete_flag": "g"}),
    ({"type": "atdi", "timestamp": "a", "delete_flag": "f"}, {"deleted_value": "Y"}),
    ({"type": "tlcs"}, {"checksums": "column", "checksum_column": "c"}),
    ({"type": "tlcs"}, {"deletes": False}),
    ({"type": "tlcs"}, {"replica": "source"}),
    ({"type": "tlcs", "replica": "source"}, {"replica": "lake"}),
    ({"type": "mds"}, {"events": ["insert", "delete"]}),
    ({"type": "id", "events": ["insert", "delete"]}, {"events": ["insert", "update", "delete"]}),
    ({"type": "id_rcs"}, {"buckets": "hash"}),
    ({"type": "id_rcs"}, {"replica": "digest"}),
]


@pytest.mark.parametrize(("written", "change"), CHANGES)
def test_options_that_decide_what_is_captured_are_fixed_at_prepare(
    written: dict[str, Any], change: dict[str, Any]
) -> None:
    then = requested(stream(written))
    remembered = {"requested": json.loads(json.dumps(then))}
    check_requested("t", requested(stream(written)), remembered)
    with pytest.raises(SchemaChanged, match=r"strategy\.\w+ (is|are) fixed at prepare, and (was|were) changed"):
        check_requested("t", requested(stream({**written, **change})), remembered)


FREE: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"type": "ts", "timestamp": "a", "replica": "spark"}, {"replica": "lake"}),
    ({"type": "tlcs", "replica": "lake"}, {"replica": "spark"}),
    ({"type": "mds"}, {"events": ["insert", "delete", "update"]}),
    ({"type": "ts", "timestamp": "a"}, {"margin": "2s", "lag": "1m", "deletes": {"every": "1h"}}),
    ({"type": "tdi", "timestamp": "a", "delete_flag": "f"}, {"purge": True, "retention": "1d", "create_index": True}),
    ({"type": "tlcs"}, {"rows_per_range": 5, "pace": {"per_second": 1}, "per_poll": 2, "max_staleness": "1h"}),
    ({"type": "id"}, {"pages_per_range": 5, "pace": {"target": "1s"}, "per_poll": 2, "max_staleness": "1h"}),
    ({"type": "id_rcs"}, {"rows_per_range": 5}),
]


@pytest.mark.parametrize(("written", "change"), FREE)
def test_other_options_may_change_at_any_time(written: dict[str, Any], change: dict[str, Any]) -> None:
    remembered = {"requested": json.loads(json.dumps(requested(stream(written))))}
    check_requested("t", requested(stream({**written, **change})), remembered)


@pytest.mark.parametrize("name", ["mds", "id", "id_rcs"])
def test_streams_prepared_before_there_were_such_options_go_on(name: str) -> None:
    before = {
        "source": "shop",
        "table": ["", "t"],
        "key": [],
        "columns": [],
        "exclude": [],
        "types": {},
        "where": "",
        "strategy": name,
    }
    check_requested("t", requested(stream(name)), {"requested": before})


@pytest.mark.parametrize(
    ("then", "chosen", "now", "same"),
    [
        ({}, "hash", {}, True),
        ({}, "hash", {"buckets": "hash"}, True),
        ({}, "hash", {"buckets": "key"}, False),
        ({"buckets": "hash"}, "hash", {}, True),
        ({"buckets": "hash"}, "hash", {"buckets": "key"}, False),
        ({}, None, {"buckets": "hash"}, False),  # prepared before there was a choice
    ],
)
def test_a_choice_may_be_configured(then: Any, chosen: str | None, now: Any, same: bool) -> None:
    written = json.loads(json.dumps(requested(stream({"type": "id_rcs", **then}))))
    remembered = {"requested": written, **({"settled": {"buckets": chosen}} if chosen else {})}
    wanted = requested(stream({"type": "id_rcs", **now}))
    if same:
        check_requested("t", wanted, remembered)
    else:
        with pytest.raises(SchemaChanged, match=r"strategy\.buckets is fixed at prepare, and was changed"):
            check_requested("t", wanted, remembered)


def test_no_key_is_another_plan_than_the_primary_key() -> None:
    remembered = {"requested": json.loads(json.dumps(requested(stream("id_rcs"))))}
    with pytest.raises(SchemaChanged, match="key is fixed at prepare, and was changed"):
        check_requested("t", requested(stream("id_rcs", key="none")), remembered)


@pytest.mark.parametrize(
    ("strategy", "options", "found", "site"),
    [
        ("mds", {}, "Mds", "database"),
        ("id", {}, "Id", "database"),
        ("id_rcs", {}, "IdRcs", "lake"),
        ("ts", {"replica": "keys"}, "Ts", "database"),
        ("ts", {"replica": "lake"}, "LakeTs", "lake"),
        ("tlcs", {"checksums": "table", "replica": "lake"}, "QueuedTlcs", "lake"),
        ("tdi", {}, "Tdi", "database"),
        ("atdi", {}, "Atdi", "database"),
        ("tlcs", {"checksums": "column"}, "Tlcs", "database"),
        ("tlcs", {"checksums": "remote"}, "LakeTlcs", "lake"),
        ("vbd", {"variant": None}, "VbdCompare", "database"),
        ("vbd", {"variant": "compare"}, "VbdCompare", "database"),
        ("vbd", {"variant": "compare", "replica": "digest"}, "VbdDigest", "database"),
        ("vbd", {"variant": "checksum"}, "VbdChecksum", "lake"),
        ("vbd", {"variant": "delta"}, "VbdDelta", "database"),
    ],
)
def test_options_choose_the_class_and_so_the_wing(
    strategy: str, options: dict[str, Any], found: str, site: str
) -> None:
    kind = strategy_class(strategy, options)
    assert (kind.__name__, kind.name, kind.site) == (found, strategy, site)


def test_every_fixed_option_is_one_of_the_strategy() -> None:
    for options in map(options_class, BUILT_STRATEGIES):
        assert set(options.meaning) <= set(options.model_fields)
