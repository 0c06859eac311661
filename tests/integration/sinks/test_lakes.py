"""Sinks `delta` and `iceberg`: drawn batches, read back by another reader; two writers, kills, tables of others."""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from qbcd.common import hooks
from qbcd.errors import DeliveryError, SinkConflict
from qbcd.model import ResentRows, Travel
from qbcd.sinks.lake.lake_sink import LakeSink
from tests.support.killing import DyingProcesses, die
from tests.support.lake_batches import COLUMNS, SPACED, Lake, keyed, lake_batches, lake_of, overtaken
from tests.support.table_batches import EPOCH, FORMS, KEY, MadeBatch, State, batch_of, event, planned

ICEBERG = pytest.param("iceberg", marks=pytest.mark.campaign)
ENVELOPES = ["debezium", "changes"]
BATCHES, KILLS = 60, 50
IMPORTED = [  # what each of the killed processes needs
    "deltalake",
    "duckdb",
    "pyarrow.compute",
    "pyiceberg.catalog.sql",
    "pyiceberg.io.pyarrow",
    "pymysql.cursors",
    "qbcd.connectors.mysql_family",
    "qbcd.sinks.lake.delta",
    "qbcd.sinks.lake.iceberg",
    "qbcd.sinks.lake.rows",
    "qbcd.sinks.lake.versions",
    "qbcd.sinks.stored.parquet_files",
    "qbcd.state.store",
    "rich.console",
    "sqlalchemy.dialects.mysql",
    "sqlalchemy.dialects.postgresql",
    "sqlalchemy.dialects.sqlite",
    "sqlglot.dialects.mysql",
    "sqlglot.dialects.postgres",
    "tests.support.lake_batches",
]


@pytest.fixture(params=["delta", ICEBERG])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    return lake_of(request.param, tmp_path)


@pytest.fixture(params=["delta", "iceberg"])
def each(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    return lake_of(request.param, tmp_path)


@pytest.fixture(autouse=True)
def no_hooks() -> Any:
    yield
    hooks.register("mid_publish", None)


def drawn(count: int, seed: int = 5) -> list[Any]:
    return list(lake_batches(seed, count))


def resent(batch: MadeBatch, rows: list[dict[str, Any]], label: str = "resend-1") -> MadeBatch:
    """Return rows of a replica as a resend after a batch."""
    made = batch_of([event("r", None, row) for row in rows], batch.header.seq)
    facts = {one: getattr(made.header, one) for one in made.header.__dataclass_fields__}
    facts |= {"columns": COLUMNS, "fingerprint": f"{batch.header.fingerprint}.{label}"}
    return MadeBatch(ResentRows(**facts, label=label), made.made)


@pytest.mark.parametrize("count", [6, pytest.param(200, marks=pytest.mark.campaign)])
def test_a_mirror_equals_the_source_after_each_batch(lake: Lake, count: int) -> None:
    """By the format's library, and by DuckDB over the files of the table."""
    sink = lake.sink()
    for batch, rows in drawn(count):
        sink.write(batch)
        sink.write(batch)
        assert keyed(lake.rows()) == keyed(lake.rows_by_duckdb()) == rows
        assert lake.record() == (batch.header.epoch, batch.header.seq)
    assert lake.commits() == list(range(1, count + 1))


@pytest.mark.campaign
@pytest.mark.parametrize("count", [8, pytest.param(200, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("envelope", ["qbcd", *(pytest.param(e, marks=pytest.mark.campaign) for e in ENVELOPES)])
def test_a_log_has_every_event_once(lake: Lake, count: int, envelope: str) -> None:
    sink, expected = lake.sink(mode="log", envelope=envelope), []
    for batch, _ in drawn(count):
        sink.write(batch)
        sink.write(batch)
        expected += [(one["event_id"], one["op"], (one["after"] or one["before"])["id"]) for one in batch.made]
    found: list[Any]
    rows = lake.rows_by_duckdb()
    if envelope == "changes":
        kinds = {"update_postimage": "u", "delete": "d"}
        numbers = {row["_commit_version"] for row in rows}
        found = [(row["_change_type"], row["id"]) for row in rows if row["_change_type"] != "update_preimage"]
        assert numbers == set(range(1, count + 1))
        assert sorted((kinds.get(kind, "c"), key) for kind, key in found) == sorted(
            ("c" if op == "r" else op, key) for _, op, key in expected
        )
        return
    if envelope == "debezium":
        found = [(row["event_id"], row["op"], json.loads(row["after"] or row["before"])["id"]) for row in rows]
    else:
        found = [(row["qbcd_event_id"], row["qbcd_op"], row["id"]) for row in rows]
    assert sorted(found) == sorted(expected)


@pytest.mark.campaign
@pytest.mark.parametrize("count", [12, pytest.param(200, marks=pytest.mark.campaign)])
def test_a_mirror_with_soft_deletes_keeps_the_last_values(tmp_path: Path, count: int) -> None:
    lake = lake_of("delta", tmp_path)
    sink, last = lake.sink(deletes="soft"), State()
    for batch, rows in drawn(count):
        sink.write(batch)
        last |= rows
    found = lake.rows_by_duckdb()
    assert keyed(found) == last
    assert {tuple(row[name] for name in KEY) for row in found if not row["is_deleted"]} == rows.keys()
    back = resent(batch, list(rows.values())[1:])
    sink.write(back)
    assert sum(not row["is_deleted"] for row in lake.rows()) == len(rows) - 1


@pytest.mark.campaign
@pytest.mark.parametrize("count", [5, pytest.param(200, marks=pytest.mark.campaign)])
def test_a_history_shows_every_earlier_batch(lake: Lake, count: int) -> None:
    """As of each batch, by DuckDB over the files; then a resend, which ends what it lacks and keeps equal versions."""
    sink, seen = lake.sink(mode="scd2"), []
    for batch, rows in drawn(count, seed=count):
        sink.write(batch)
        sink.write(batch)
        seen.append((batch.header.ts_ms, rows))
        if count < 20 or batch.header.seq % 20 == 0:
            found = lake.rows_by_duckdb()
            for moment, then in seen:
                assert keyed(as_of(found, moment)) == then, (batch.header.number, moment)
    versions = len(lake.rows())
    fewer = list(rows.values())[2:]
    again = resent(batch, fewer)
    sink.write(again)
    sink.write(again)
    found = lake.rows()
    assert len(found) == versions
    assert keyed([row for row in found if row["valid_to"] is None]) == {tuple(r[n] for n in KEY): r for r in fewer}
    assert lake.commits() == [*range(1, count + 1), *([count] if lake.kind == "delta" else [])]


def as_of(rows: list[Any], ts_ms: int) -> list[Any]:
    """Return the versions at an instant."""
    moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=ts_ms)
    return [row for row in rows if row["valid_from"] <= moment and not (row["valid_to"] and row["valid_to"] <= moment)]


def test_a_resend_replaces_the_rows_of_a_mirror(lake: Lake) -> None:
    sink = lake.sink()
    (first, _), (second, rows), (third, after) = drawn(3)
    sink.write(first)
    sink.write(second)
    fewer = list(rows.values())[3:]
    again = resent(second, fewer)
    sink.write(again)
    sink.write(again)
    assert list(keyed(lake.rows()).values()) != list(rows.values())
    assert len(lake.rows()) == len(fewer)
    sink.write(resent(second, list(rows.values()), "resend-2"))
    sink.write(third)
    assert keyed(lake.rows()) == after


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="mirror"),
        pytest.param({"mode": "log"}, id="log", marks=pytest.mark.campaign),
        pytest.param({"mode": "scd2"}, id="scd2", marks=pytest.mark.campaign),
    ],
)
@pytest.mark.parametrize("count", [2, pytest.param(5, marks=pytest.mark.campaign)])
def test_of_two_writers_at_once_one_applies_the_batch(each: Lake, options: dict[str, Any], count: int) -> None:
    """With more batches: a stale writer wakes up when the table is further."""
    lake, made = each, drawn(count)
    overtaken(lake.sink(**options), lake.sink(**options), *(batch for batch, _ in made))
    if options.get("mode") == "log":
        assert len(lake.rows()) == sum(len(batch.made) for batch, _ in made)
    else:
        assert keyed(current(lake.rows())) == made[-1][1]
    assert lake.commits() == list(range(1, count + 1))


def write_from(kind: str, folder: str, mode: str, done: int, kill_at: str) -> None:
    """Write batch `done` again and the next one; be killed at a point of it, or after it.

    Args:
        kill_at: A point; empty if it is killed from outside; `never` to write all batches.
    """
    sink = lake_of(kind, Path(folder)).sink(mode=mode)
    last = BATCHES if kill_at == "never" else done + 1
    for batch, _ in itertools.islice(lake_batches(9, BATCHES), max(done - 1, 0), last):
        if batch.header.seq > done and kill_at == "mid_publish":
            hooks.register("mid_publish", die)
        sink.write(batch)
        if batch.header.seq > done and kill_at == "after_publish":
            die()


@pytest.mark.campaign
@pytest.mark.parametrize("mode", ["mirror", "log", "scd2"])
def test_killed_at_any_point_no_batch_is_missing_or_twice(each: Lake, mode: str) -> None:
    """The writer after a killed one delivers the last batch again, as a poll does after a crash."""
    history, chance, done = list(lake_batches(9, BATCHES)), random.Random(1), 0
    writers = DyingProcesses(*IMPORTED)
    while done < BATCHES:
        assert writers.runs < 300
        kill_at = ["mid_publish", "after_publish", ""][writers.runs % 3] if writers.kills < KILLS else "never"
        seconds = 300 if kill_at else chance.uniform(0.05, 0.5)
        writers.run(write_from, each.kind, str(each.folder), mode, done, kill_at, seconds=seconds)
        commits = each.commits() if each.exists() else []
        assert commits == list(range(1, len(commits) + 1))
        done = len(commits)
        if mode != "log" and done and writers.runs % 5 == 0:
            assert keyed(current(each.rows())) == history[done - 1][1]
    assert writers.kills >= KILLS
    if mode == "log":
        events = [f"{batch.header.seq}:{n}" for batch, _ in history for n in range(len(batch.made))]
        assert sorted(row["qbcd_event_id"].split(":", 2)[2] for row in each.rows()) == sorted(events)
    else:
        assert keyed(current(each.rows())) == history[-1][1]


def current(rows: list[Any]) -> list[Any]:
    """Return the rows of a mirror, or the versions without an end."""
    return [row for row in rows if row.get("valid_to") is None]


def test_numbers_that_are_not_next_are_refused(lake: Lake) -> None:
    sink, history = lake.sink(), drawn(4)
    for batch, _ in history[:2]:
        sink.write(batch)
    with pytest.raises(DeliveryError, match="is not the next one"):
        sink.write(history[3][0])
    other = MadeBatch(replace(history[1][0].header, fingerprint="other"), history[1][0].made)
    with pytest.raises(SinkConflict, match="another batch"):
        sink.write(other)
    with pytest.raises(SinkConflict, match="later than"):
        sink.write(history[0][0])
    assert keyed(lake.rows()) == history[1][1]


def test_a_new_epoch_whose_baseline_was_skipped_needs_a_resend(lake: Lake) -> None:
    sink, history = lake.sink(), drawn(4)
    for batch, _ in history[:2]:
        sink.write(batch)
    (change, after), epoch = history[3], history[0][0].header.epoch + 1
    later = MadeBatch(replace(change.header, epoch=epoch), change.made)
    with pytest.raises(DeliveryError, match="is not the first one of a new epoch"):
        sink.write(later)
    assert keyed(lake.rows()) == history[1][1]
    sink.write(resent(later, list(after.values())))
    assert keyed(lake.rows()) == after


def test_a_batch_that_changes_nothing_is_recorded(lake: Lake) -> None:
    """A delete of a row that the table does not have: the format makes no commit of its own."""
    sink = lake.sink()
    (first, rows), *_ = drawn(1)
    sink.write(first)
    gone = event("d", {**next(iter(rows.values())), "id": 987}, None)
    made = batch_of([gone], 2)
    sink.write(MadeBatch(replace(made.header, columns=COLUMNS), made.made))
    assert lake.record() == (first.header.epoch, 2)
    assert keyed(lake.rows()) == rows


@pytest.mark.campaign
def test_a_batch_that_arrives_in_part_is_not_applied(lake: Lake) -> None:
    for options in ({}, {"mode": "log", "table": "log"}):
        ((batch, _),) = drawn(1)
        whole = batch.made.pop()
        sink = lake.sink(**options)
        with pytest.raises(DeliveryError, match=r"11 events of batch .* arrived, not all 12"):
            sink.write(batch)
        assert lake.rows(options.get("table", "public_orders")) == []
        batch.made.append(whole)
        sink.write(batch)
        assert len(lake.rows(options.get("table", "public_orders"))) == 12


@pytest.mark.parametrize(
    ("kind", "deletes"),
    [("delta", "soft"), *(pytest.param(kind, "hard", marks=pytest.mark.campaign) for kind in ("delta", "iceberg"))],
)
def test_keys_that_exchange_their_spelling(kind: str, deletes: str, tmp_path: Path) -> None:
    """`Ada` becomes `ADA`, and another row has the name that it had. An old spelling is no deleted row."""
    lake = lake_of(kind, tmp_path)
    columns = {"id": Travel("text"), "v": Travel("int64")}
    made = batch_of([], 1)

    def batch(seq: int, *events: dict[str, Any]) -> MadeBatch:
        counts = {op: sum(one["op"] == op for one in events) for op in {one["op"] for one in events}}
        header = replace(made.header, seq=seq, fingerprint=f"f{seq}", counts=counts)
        filled = [{**one, "event_id": f"{seq}:{n}", "ts_ms": 1} for n, one in enumerate(events)]
        return MadeBatch(replace(header, key=("id",), columns=tuple(columns.items())), filled)

    def one(op: str, before: Any, after: Any) -> dict[str, Any]:
        images = [image and dict(zip(columns, image, strict=True)) for image in (before, after)]
        return {"op": op, "key": {"id": (after or before)[0]}, "before": images[0], "after": images[1]}

    sink = lake.sink(deletes=deletes)
    sink.write(batch(1, one("r", None, ("Ada", 1)), one("r", None, ("bob", 2)), one("r", None, ("Cy", 3))))
    sink.write(batch(2, one("u", ("Ada", 1), ("ADA", 1)), one("u", ("bob", 2), ("Bob", 5))))
    assert sorted((row["id"], row["v"]) for row in lake.rows()) == [("ADA", 1), ("Bob", 5), ("Cy", 3)]
    sink.write(batch(3, one("u", ("ADA", 1), ("Bob", 9)), one("u", ("Bob", 5), ("ADA", 8))))
    assert sorted((row["id"], row["v"]) for row in lake.rows()) == [("ADA", 8), ("Bob", 9), ("Cy", 3)]


@pytest.mark.campaign
def test_snapshots_expire_and_metadata_stay_few(tmp_path: Path) -> None:
    lake = lake_of("iceberg", tmp_path)
    sink = lake.sink(expire=timedelta(milliseconds=1))
    for batch, rows in drawn(12):
        sink.write(batch)
        assert sink.maintain("orders", (0, 0)) == (batch.header.seq > 1)
        assert not sink.maintain("orders", (0, 0)), "without a batch there is nothing to do"
        assert keyed(lake.rows()) == keyed(lake.rows_by_duckdb()) == rows
        assert len(lake._table("public_orders").snapshots()) <= 2
    assert lake.record() == (batch.header.epoch, 12)
    nothing_is_due(lake.sink(expire=timedelta(hours=1), table="kept"))


def nothing_is_due(sink: LakeSink) -> None:
    for batch, _ in drawn(3):
        sink.write(batch)
        assert not sink.maintain("orders", (0, 0))


@pytest.mark.campaign
def test_compactions_and_vacuum_leave_the_rows(tmp_path: Path) -> None:
    lake = lake_of("delta", tmp_path)
    sink = lake.sink(optimize=timedelta(milliseconds=1), vacuum=timedelta(0), mode="log")
    events = 0
    for batch, _ in drawn(12):
        sink.write(batch)
        events += len(batch.made)
        if batch.header.seq % 4 == 0:
            assert sink.maintain("orders", (0, 0))
            assert not sink.maintain("orders", (0, 0))
            assert len(lake.files("public_orders")) == 1
            assert len(list((lake.folder / "public_orders").glob("*.parquet"))) == 1
        assert len({row["qbcd_event_id"] for row in lake.rows_by_duckdb()}) == len(lake.rows()) == events
    assert lake.commits() == list(range(1, 13))
    nothing_is_due(lake.sink(optimize=timedelta(hours=1), table="rare"))


@pytest.mark.campaign
def test_the_change_data_feed_has_the_changes(tmp_path: Path) -> None:
    """Read by the library: the feed of each version is what the batch changed in the mirror."""
    lake = lake_of("delta", tmp_path)
    sink, before = lake.sink(change_data_feed=True), State()
    for batch, rows in drawn(10):
        sink.write(batch)
        table = lake._table("public_orders")
        feed = pa.table(table.load_cdf(starting_version=table.version(), ending_version=table.version())).to_pylist()
        new = [row for row in feed if row["_change_type"] in ("insert", "update_postimage")]
        old = [row for row in feed if row["_change_type"] in ("delete", "update_preimage")]
        if batch.header.seq > 1:
            assert keyed(old) == {key: row for key, row in before.items() if rows.get(key) != row}
        assert keyed(new) == {key: row for key, row in rows.items() if before.get(key) != row}
        before = rows


# -- columns, tables of others -----------------------------------------------------------------------------------------
@pytest.mark.campaign
def test_a_new_column_comes_with_the_batch_that_has_it(lake: Lake) -> None:
    for options in ({}, {"mode": "log", "table": "log"}):
        sink, (first, second, third) = lake.sink(**options), drawn(3)
        sink.write(first[0])
        for batch, value in ((second[0], 7), (third[0], 8)):
            events = [
                {**one, "before": one["before"] and {**one["before"], "more": value}}
                | {"after": one["after"] and {**one["after"], "more": value}}
                for one in batch.made
            ]
            header = replace(batch.header, columns=(*COLUMNS, ("more", Travel("int32"))))
            sink.write(MadeBatch(header, events))
        found = {row["more"] for row in lake.rows(options.get("table", "public_orders"))}
        assert {7, 8} & found
        assert lake.commits(options.get("table", "public_orders")) == [1, 2, 3]


@pytest.mark.campaign
@pytest.mark.parametrize("options", [{}, {"mode": "scd2"}, {"mode": "log"}], ids=["mirror", "scd2", "log"])
def test_a_wider_type_enters_with_its_batch_or_is_refused(lake: Lake, options: dict[str, Any]) -> None:
    sink, narrow = lake.sink(**options), (("id", Travel("int64")), ("n", Travel("int32")), ("r", Travel("float32")))
    wide = (("id", Travel("int64")), ("n", Travel("int64")), ("r", Travel("float64")))
    made = batch_of([], 1)

    def batch(seq: int, columns: Any, *rows: tuple[Any, ...]) -> MadeBatch:
        events = [
            {"op": "c", "key": {"id": row[0]}, "before": None, "after": dict(zip(("id", "n", "r"), row, strict=True))}
            | {"event_id": f"{seq}:{n}", "ts_ms": 1}
            for n, row in enumerate(rows)
        ]
        facts: dict[str, Any] = {
            "seq": seq,
            "fingerprint": f"f{seq}",
            "counts": {"c": len(rows)},
            "ts_ms": EPOCH * 1000 + seq,
        }
        return MadeBatch(replace(made.header, key=("id",), columns=columns, **facts), events)

    sink.write(batch(1, narrow, (1, 7, 0.5), (2, None, None)))
    second = batch(2, wide, (3, 2**40, 0.1))
    if lake.kind == "delta":
        assert "column n is int32" in sink.problems(replace(planned({}, ("id",)), columns=wide))[0].what
        with pytest.raises(DeliveryError, match="column n is int32, and the batches have int64"):
            sink.write(second)
        return
    assert sink.problems(replace(planned({}, ("id",)), columns=wide)) == []
    sink.write(second)
    sink.write(batch(3, wide, (4, 2**41, 0.2)))
    assert sorted((row["id"], row["n"], row["r"]) for row in lake.rows()) == [
        (1, 7, 0.5),
        (2, None, None),
        (3, 2**40, 0.1),
        (4, 2**41, 0.2),
    ]
    assert lake.commits() == [1, 2, 3]


def every_batch_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    from qbcd.sinks.lake import delta_table, iceberg_library, iceberg_table, tables

    monkeypatch.setattr(delta_table, "REWRITTEN", 0)
    monkeypatch.setattr(iceberg_library, "PAIRS_OF_A_PIECE", 0)
    monkeypatch.setattr(tables, "LARGE", 10**6)
    monkeypatch.setattr(iceberg_table, "conditions", None)


@pytest.mark.campaign
@pytest.mark.parametrize("large", [False, True])
def test_columns_of_others_keep_their_values(lake: Lake, large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the rows that a mirror changes too, and after a resend."""
    if large:
        every_batch_is_large(monkeypatch)
    lake.create("public_orders", pa.schema([*((n, lake.arrow(t)) for n, t in COLUMNS), ("mine", pa.int64())]))
    sink, mine = lake.sink(), dict[Any, Any]()

    def agrees(rows: State) -> None:
        found = lake.rows()
        assert keyed(found) == rows
        assert {tuple(row[name] for name in KEY): row["mine"] for row in found} == {key: mine.get(key) for key in rows}

    for batch, rows in drawn(12):
        sink.write(batch)
        agrees(rows)
        mine = lake.note("public_orders", batch.header.seq) if batch.header.seq % 3 == 1 else keys_of(mine, rows)
    sink.write(resent(batch, list(rows.values())[2:]))
    agrees(dict(list(rows.items())[2:]))


def keys_of(mine: dict[Any, Any], rows: State) -> dict[Any, Any]:
    return {key: value for key, value in mine.items() if key in rows}


@pytest.mark.campaign
@pytest.mark.parametrize(("kind", "mode"), [("iceberg", "mirror"), ("iceberg", "scd2"), ("delta", "scd2")])
def test_large_batches_write_the_table_again(
    kind: str, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every_batch_is_large(monkeypatch)
    monkeypatch.setattr("qbcd.sinks.lake.delta_table.DeltaTableOfSink._merging", None)
    lake = lake_of(kind, tmp_path)
    sink, seen = lake.sink(mode=mode), []
    for batch, rows in drawn(25, seed=4):
        sink.write(batch)
        seen.append((batch.header.ts_ms, rows))
        assert keyed(current(lake.rows())) == keyed(current(lake.rows_by_duckdb())) == rows
        if batch.header.seq == 12:
            lake.add_column("public_orders", pa.field("mine", pa.int64()))
    for moment, then in seen if mode == "scd2" else []:
        assert keyed(as_of(lake.rows(), moment)) == then
    assert lake.commits() == list(range(1, 26))


@pytest.mark.campaign
@pytest.mark.parametrize("mode", ["mirror", "scd2"])
def test_deletes_in_several_pieces(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each expression names at most some keys."""
    from qbcd.sinks.lake import iceberg_library, tables

    lake, sizes = lake_of("iceberg", tmp_path), []
    plain = iceberg_library._any_of

    def counted(keys: Any, names: Any) -> Any:
        sizes.append(len(keys))
        return plain(keys, names)

    monkeypatch.setattr(iceberg_library, "PAIRS_OF_A_PIECE", 2)
    monkeypatch.setattr(tables, "LARGE", 0)
    monkeypatch.setattr(iceberg_library, "_any_of", counted)
    sink = lake.sink(mode=mode)
    for batch, rows in drawn(25, seed=3):
        sink.write(batch)
        assert keyed(current(lake.rows())) == rows
    assert max(sizes) == 2
    assert len(sizes) > 30
    assert lake.commits() == list(range(1, 26))


FLOAT_KEYS = [
    pytest.param(kind, mode, marks=() if (kind, mode) == ("float32", "mirror") else pytest.mark.campaign)
    for kind in ("float32", "float64")
    for mode in ("mirror", "scd2")
]


@pytest.mark.parametrize(("kind", "mode"), FLOAT_KEYS)
def test_keys_of_floats_are_found(kind: Any, mode: str, tmp_path: Path) -> None:
    """Conditions of the library find no infinite float of 32 bits; with a number they find NaN of the same file too."""
    lake, columns = lake_of("iceberg", tmp_path), (("k", Travel(kind)), ("v", Travel("int32")))
    sink = lake.sink(mode=mode)
    keys = [float("nan"), float("inf"), float("-inf"), 0.1, -0.0]

    def of(op: str, key: float, old: int | None, new: int | None = None) -> dict[str, Any]:
        before, after = (None if v is None else {"k": key, "v": v} for v in (old, new))
        return {"op": op, "key": {"k": key}, "before": before, "after": after, "changed": ["v"] if op == "u" else None}

    def write(seq: int, *events: dict[str, Any]) -> list[tuple[str, int]]:
        sink.write(batch_of(list(events), seq, key=("k",), columns=columns))
        rows = [one for one in lake.rows() if mode == "mirror" or one["valid_to"] is None]
        return sorted((f"{one['k']:.1f}", one["v"]) for one in rows)

    write(1, *(of("r", key, None, 1) for key in keys))
    changed = [of("u", key, 1, 2) for key in keys[1:3]]
    assert write(2, *changed, of("d", 0.1, 1)) == [("-0.0", 1), ("-inf", 2), ("inf", 2), ("nan", 1)]
    assert write(3, of("d", 0.0, 1)) == [("-inf", 2), ("inf", 2), ("nan", 1)]
    assert write(4, of("d", keys[0], 1)) == [("-inf", 2), ("inf", 2)]
    assert write(5, *(of("d", key, 2) for key in keys[1:3])) == []


@pytest.mark.campaign
def test_tables_of_others_are_right_or_refused(lake: Lake) -> None:
    facts = planned(dict(FORMS) | {"Note%s": Travel("text")}, KEY)
    facts = replace(facts, columns=tuple((n, t) for n, t in facts.columns if n != SPACED))
    wider = [pa.field(name, lake.arrow(travel)) for name, travel in reversed(COLUMNS)]
    wider = [pa.field("u", pa.int64()) if one.name == "u" else one for one in wider]
    lake.create("others", pa.schema([*wider, pa.field("mine", pa.int64())]), part=["day"])
    sink = lake.sink(table="others")
    assert sink.problems(facts) == []
    sink.claim(facts)
    for batch, rows in drawn(5):
        sink.write(batch)
        assert keyed(lake.rows("others")) == rows

    narrow = pa.schema([pa.field("id", pa.int32()) if one.name == "id" else one for one in wider])
    lake.create("narrow", narrow)
    found = [one.what for one in lake.sink(table="narrow").problems(facts)]
    refused = ["sink copy: table narrow: column id is int32, and the batches have int64"]
    assert found == (refused if lake.kind == "delta" else [])
    lake.create("text", pa.schema([pa.field("day", pa.string()) if one.name == "day" else one for one in wider]))
    (problem,) = lake.sink(table="text").problems(facts)
    assert "column day is" in problem.what
    lake.create("full", pa.schema(wider), rows=1)
    with pytest.raises(DeliveryError, match="has rows that this sink did not write"):
        lake.sink(table="full").claim(facts)


@pytest.mark.campaign
def test_a_table_has_one_writer(lake: Lake) -> None:
    ((batch, _),) = drawn(1)
    lake.sink().write(batch)
    header = replace(batch.header, stream="other")
    with pytest.raises(DeliveryError, match="table public_orders belongs to :orders, sink copy"):
        lake.sink().write(MadeBatch(header, batch.made))


@pytest.mark.campaign
def test_a_table_that_was_dropped_is_not_begun_in_the_middle(lake: Lake) -> None:
    for options in ({}, {"mode": "log"}):
        sink, ((first, _), (second, rows)) = lake.sink(**options, table="lost"), drawn(2)
        sink.write(first)
        lake.drop("lost")
        with pytest.raises(DeliveryError, match=r"does not exist, and batch .* is not the first"):
            sink.write(second)
        sink.write(resent(second, list(rows.values())))
        assert keyed(lake.rows("lost")) == rows
        lake.drop("lost")


def test_a_mirror_does_not_begin_in_the_middle_of_an_empty_table(tmp_path: Path) -> None:
    """Somebody dropped the table and created it again: a batch of changes has not all rows."""
    lake, ((first, _), (second, rows)) = lake_of("delta", tmp_path), drawn(2)
    lake.sink(table="again").write(first)
    lake.drop("again")
    lake.create("again", pa.schema([pa.field(name, lake.arrow(travel)) for name, travel in COLUMNS]))
    sink = lake.sink(table="again")
    with pytest.raises(DeliveryError, match="the target has no record of batches before"):
        sink.write(second)
    sink.write(resent(second, list(rows.values())))
    assert keyed(lake.rows("again")) == rows


@pytest.mark.campaign
def test_check_finds_names_that_readers_confuse(lake: Lake) -> None:
    facts = planned({"id": Travel("int64"), "ID": Travel("text")})
    (problem,) = lake.sink().problems(facts)
    assert "ID" in problem.what
    (problem,) = lake.sink(partition_by=["nowhere"]).problems(planned({"id": Travel("int64")}))
    assert "`partition_by` names nowhere" in problem.what


@pytest.mark.campaign
def test_partitions(lake: Lake) -> None:
    sink = lake.sink(partition_by=["day"])
    for batch, rows in drawn(6):
        sink.write(batch)
        assert keyed(lake.rows()) == rows
    assert (
        lake.sink(partition_by=["u"])
        .problems(batch_facts())[0]
        .what.startswith("sink copy: table public_orders has partitions day, not u")
    )


def batch_facts() -> Any:
    return replace(planned({}, KEY), columns=COLUMNS)
