"""Sink `database`: killed writers, two writers at once, numbers that are not next, tables that do not fit."""

from __future__ import annotations

import multiprocessing
import random
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymysql
import pytest

from qbcd.common import hooks
from qbcd.errors import ConfigError, DeliveryError, SinkConflict
from qbcd.model import Travel
from qbcd.sinks.table.sink import DatabaseSink
from tests.support.maria_source import KINDS, packet
from tests.support.places import must_own
from tests.support.table_batches import EPOCH, FORMS, DrawnTable, MadeBatch, State, batch_of, event, pieces
from tests.support.table_targets import ServerPlace, TargetPlace, new_target

DATABASES = ["postgresql", "mariadb", "sqlite", "duckdb", pytest.param("mysql", marks=pytest.mark.campaign)]
SERVERS = ["postgresql", "mariadb", "duckdb", "mysql"]
LONG = Travel("int64")
BATCHES = 40
CURRENT = {"scd2": "WHERE valid_to IS NULL", "mirror": ""}


@pytest.fixture(params=DATABASES)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TargetPlace]:
    with new_target(request.param, request, tmp_path) as place:
        yield place


@pytest.fixture(params=["sqlite", *(pytest.param(d, marks=pytest.mark.campaign) for d in SERVERS)])
def one(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TargetPlace]:
    """A target for what no database does in its own way; the others are in the campaign."""
    with new_target(request.param, request, tmp_path) as place:
        yield place


@pytest.fixture
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TargetPlace]:
    with new_target("sqlite", request, tmp_path) as place:
        yield place


def sink_to(target: TargetPlace, **options: Any) -> DatabaseSink:
    return DatabaseSink("copy", target.url, **options)


def drawn(count: int, seed: int = 5) -> list[tuple[MadeBatch, State]]:
    return list(pieces(DrawnTable(seed), count))


def last_of(target: TargetPlace) -> list[tuple[Any, ...]]:
    return target.sql("SELECT epoch, batch_seq FROM qbcd_sink")


# -- two writers, kills ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("options", [{}, {"mode": "log"}], ids=["mirror", "log"])
def test_of_two_writers_at_once_one_applies_the_batch(target: TargetPlace, options: dict[str, Any]) -> None:
    """The second one applies it while the first is about to begin its transaction."""
    (first, _), (second, rows) = drawn(2)
    slow, fast = sink_to(target, **options), sink_to(target, **options)
    slow.write(first)

    def overtake() -> None:
        hooks.register("mid_publish", None)
        fast.write(second)

    hooks.register("mid_publish", overtake)
    slow.write(second)
    if options:
        assert len(target.rows()) == len(first.made) + len(second.made)
    else:
        assert target.state() == target.of(rows)
    assert last_of(target) == [(EPOCH, 2)]


@pytest.mark.parametrize("options", [{}, {"mode": "log"}, {"mode": "scd2"}], ids=["mirror", "log", "scd2"])
def test_a_batch_that_arrives_in_part_is_not_applied(one: TargetPlace, options: dict[str, Any]) -> None:
    ((batch, _),) = drawn(1)
    whole = batch.made.pop()
    sink = sink_to(one, **options)
    with pytest.raises(DeliveryError, match=r"11 events of batch .* arrived, not all 12"):
        sink.write(batch)
    assert one.rows() == []
    batch.made.append(whole)
    sink.write(batch)
    assert len(one.rows()) == 12


def write_from(url: str, mode: str, done: int) -> None:
    """Write the batches from number `done` on; the first error ends it."""
    sink = DatabaseSink("copy", url, mode=mode)
    for batch, _ in pieces(DrawnTable(9), BATCHES):
        if batch.header.seq >= done:
            sink.write(batch)


def started(target: TargetPlace, mode: str) -> Any:
    """Return a process that writes from the last batch of the target on, as a poll does after a crash."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["qbcd.sinks.table.frame", "tests.support.table_batches"])
    child = context.Process(target=write_from, args=(target.url, mode, done_in(target)))
    child.start()
    return child


def done_in(target: TargetPlace) -> int:
    """Return the number of the last batch in the target, 0 without one."""
    sink = sink_to(target)
    with sink.database.open("") as session:
        found = session.describe(sink.database.table("qbcd_sink", [("epoch", LONG)]))
    rows = last_of(target) if found and found.has_rows else []
    return int(rows[0][1]) if rows else 0


@pytest.mark.campaign
@pytest.mark.parametrize("mode", ["mirror", "scd2"])
def test_killed_at_any_point_no_batch_is_missing_or_twice(target: TargetPlace, mode: str) -> None:
    """The writer after a killed one delivers the last batch again, as a poll does after a crash."""
    history, chance, kills, runs = drawn(BATCHES, seed=9), random.Random(1), 0, 0
    while kills < 50:
        runs += 1
        assert runs < 200
        child = started(target, mode)
        child.join(chance.uniform(0.0, 1.5))
        if child.exitcode is None:
            child.kill()
            child.join()
            kills += child.exitcode == -signal.SIGKILL
        else:
            assert child.exitcode == 0
        done = done_in(target)
        if done:
            assert target.state(CURRENT[mode]) == target.of(history[done - 1][1])
        if done == BATCHES:
            for table in ("public_orders", "qbcd_sink"):
                target.sql(f"DROP TABLE {table}")


@pytest.mark.campaign
@pytest.mark.parametrize("mode", ["mirror", "scd2"])
def test_two_processes_that_write_the_same_batches(target: TargetPlace, mode: str) -> None:
    """The slower one waits or is refused; what is in the target is always one whole batch."""
    history = drawn(BATCHES, seed=9)
    for _ in range(20):
        if done_in(target) == BATCHES:
            break
        children = [started(target, mode) for _ in range(2)]
        for child in children:
            child.join()
        done = done_in(target)
        assert target.state(CURRENT[mode]) == target.of(history[done - 1][1])
    assert done_in(target) == BATCHES


# -- numbers -----------------------------------------------------------------------------------------------------------
def test_only_the_next_number_is_applied(one: TargetPlace) -> None:
    batches = drawn(4)
    sink = sink_to(one)
    sink.write(batches[0][0])
    sink.write(batches[1][0])
    then = one.state()
    with pytest.raises(DeliveryError, match=f"the table has batch {EPOCH}/2, and batch {EPOCH}/4 is not the next one"):
        sink.write(batches[3][0])
    with pytest.raises(SinkConflict, match=f"the table has batch {EPOCH}/2 already, which is later than {EPOCH}/1"):
        sink.write(batches[0][0])
    other = batches[1][0]
    other.header = replace(other.header, fingerprint="another")
    with pytest.raises(SinkConflict, match=f"the table has another batch {EPOCH}/2"):
        sink.write(other)
    assert one.state() == then


@pytest.mark.parametrize("options", [{}, {"deletes": "soft"}, {"mode": "scd2"}], ids=["hard", "soft", "scd2"])
def test_the_first_batch_of_a_new_epoch_is_the_whole_state(one: TargetPlace, options: dict[str, Any]) -> None:
    sink = sink_to(one, **options)
    for batch, _ in drawn(3):
        sink.write(batch)
    kept = drawn(3)[-1][1]
    left = dict(list(kept.items())[: len(kept) // 2])
    versions = len(one.rows())
    sink.write(batch_of([event("r", None, row) for row in left.values()], 9, epoch=EPOCH + 5))
    current = {"soft": "WHERE NOT is_deleted"}.get(options.get("deletes", ""), "")
    current = "WHERE valid_to IS NULL" if "mode" in options else current
    assert one.state(current) == one.of(State(left))
    if "mode" in options:
        assert len(one.rows()) == versions  # rows that are unchanged keep their version
        assert one.sql("SELECT count(*) FROM public_orders WHERE is_deleted")[0][0] >= len(kept) - len(left)


# -- columns and tables ------------------------------------------------------------------------------------------------
def test_a_new_column_is_added_and_another_type_refused(target: TargetPlace) -> None:
    (first, _), (second, rows) = drawn(2)
    names = [name for name, _ in FORMS]
    narrow = replace(first.header, columns=tuple(c for c in FORMS if c[0] != "day"))
    sink = sink_to(target)
    first.header = narrow
    sink.write(first)
    assert "day" not in columns_of(target, sink)
    sink.write(second)
    assert sorted(columns_of(target, sink)) == sorted(names)
    wider = tuple((n, Travel("decimal", 14, 4) if n == "amount" else t) for n, t in FORMS)
    third = batch_of([event("c", None, {**next(iter(rows.values())), "id": 999})], 3, columns=wider)
    with pytest.raises(DeliveryError, match="column amount of table public_orders has type") as error:
        if target.kind == "sqlite":
            third.header = replace(third.header, columns=tuple((n, LONG if n == "amount" else t) for n, t in FORMS))
        sink.write(third)
    assert "change the column to" in error.value.remedy
    assert last_of(target) == [(EPOCH, 2)]


def columns_of(target: TargetPlace, sink: DatabaseSink) -> list[str]:
    with sink.database.open("") as session:
        found = session.describe(sink.database.table("public_orders", FORMS))
    assert found is not None
    return list(found.types)


@pytest.mark.parametrize(
    ("ddl", "what"),
    [
        ("CREATE TABLE public_orders (id bigint, part text)", r"has no primary key on \(id, part\)"),
        ("CREATE TABLE public_orders (id bigint)", "has no column part"),
        (
            "CREATE TABLE public_orders (id bigint, part text, more int NOT NULL, PRIMARY KEY (id, part))",
            "column more of table public_orders is NOT NULL without a default",
        ),
        (
            "CREATE TABLE public_orders (id bigint); INSERT INTO public_orders VALUES (1)",
            "has rows that this sink did not",
        ),
    ],
)
def test_a_table_that_does_not_fit_is_refused(file: TargetPlace, ddl: str, what: str) -> None:
    for statement in ddl.split("; "):
        file.sql(statement)
    with pytest.raises(DeliveryError, match=what) as error:
        sink_to(file).write(drawn(1)[0][0])
    assert error.value.remedy


def test_unique_constraints_are_refused_where_two_rows_can_have_the_value(file: TargetPlace) -> None:
    sink = sink_to(file)
    (first, _), (second, _) = drawn(2)
    sink.write(first)
    file.sql("CREATE UNIQUE INDEX one_u ON public_orders (u)")
    second.header = replace(second.header, consistency="range")
    with pytest.raises(DeliveryError, match=r"unique constraint on \(u\), .*: batches of this strategy are consistent"):
        sink.write(second)


def test_a_table_belongs_to_one_stream(file: TargetPlace) -> None:
    sink_to(file).write(drawn(1)[0][0])
    with pytest.raises(DeliveryError, match="table public_orders belongs to sink copy of stream orders") as error:
        sink_to(file).write(batch_of([], 1, stream="other", counts={}))
    assert "such as '{stream}'" in error.value.remedy


# -- values that a target cannot hold ----------------------------------------------------------------------------------
VALUES = [("at", float("nan")), ("at", float("inf")), ("Note %s", "a\0b"), ("tags", ["a\0b"])]
REFUSING = {"nan": ["mariadb", "mysql", "sqlite"], "inf": ["mariadb", "mysql"]}


def test_a_value_that_the_target_cannot_hold_is_refused(target: TargetPlace) -> None:
    (first, rows), _ = drawn(2)
    sink, kept, seq = sink_to(target), dict(rows), 2
    sink.write(first)
    for n, (column, value) in enumerate(VALUES):
        row = {**next(iter(rows.values())), "id": 1000 + n, "u": 1000 + n, column: value}
        batch = batch_of([event("c", None, row)], seq)
        if target.kind in REFUSING.get(str(value), ["postgresql"]):
            with pytest.raises(DeliveryError, match=f"sink copy: column {column} of the target cannot hold") as error:
                sink.write(batch)
            assert f"in the row with key (id, part) = ({1000 + n}, " in str(error.value)
            assert "`unsupported: null` of the sink" in error.value.remedy
        else:
            sink.write(batch)
            kept[row["id"], row["part"]] = row
            seq += 1
    assert target.state() == target.of(State(kept))


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_that_is_longer_than_a_packet_is_named(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The server ends the session, with a message that may be lost."""
    with new_target(kind, request, tmp_path) as target:
        assert isinstance(target, ServerPlace)
        must_own(target.place)
        (first, rows), _ = drawn(2)
        with packet(target.place, 1 << 20):
            sink_to(target).write(first)
            row = {**next(iter(rows.values())), "id": 1000, "u": 1000, "Note %s": "'" * 600_000}
            with pytest.raises(DeliveryError, match="max_allowed_packet") as error:
                sink_to(target).write(batch_of([event("c", None, row)], 2))
            assert error.value.remedy.startswith("raise max_allowed_packet of the server")
        assert target.state() == target.of(rows)


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_refuses_tables_without_a_key(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Staged rows have one; two rows exchange a unique value, so that they are deleted and inserted."""
    setting = {"mariadb": "innodb_force_primary_key", "mysql": "sql_require_primary_key"}[kind]
    with new_target(kind, request, tmp_path) as target:
        assert isinstance(target, ServerPlace)
        must_own(target.place)
        (first, rows), _ = drawn(2)
        target.place.sql(f"SET GLOBAL {setting} = ON")
        try:
            with pytest.raises(pymysql.err.MySQLError):
                target.sql("CREATE TEMPORARY TABLE keyless (a int)")
            sink_to(target).write(first)
            target.sql("ALTER TABLE public_orders MODIFY u int NOT NULL, ADD UNIQUE one_u (u)")
            (_, one), (_, two) = list(rows.items())[:2]
            moved = {**one, "u": two["u"]}, {**two, "u": one["u"]}
            sink_to(target).write(batch_of([event("u", one, moved[0]), event("u", two, moved[1])], 2))
        finally:
            target.place.sql(f"SET GLOBAL {setting} = OFF")
        kept = {**rows, **{(row["id"], row["part"]): row for row in moved}}
        assert target.state() == target.of(State(kept))


def test_a_new_row_that_is_there_already_is_replaced(target: TargetPlace) -> None:
    """A batch of inserts needs no staging; where a key is there, as after a repair by hand, it is merged."""
    (first, rows), _ = drawn(2)
    sink = sink_to(target)
    sink.write(first)
    changed = {key: {**row, "u": -n} for n, (key, row) in enumerate(rows.items())}
    sink.write(batch_of([event("c", None, row) for row in changed.values()], 2))
    assert target.state() == target.of(changed)


# -- keys --------------------------------------------------------------------------------------------------------------
def test_a_key_whose_spelling_changes_leaves_no_second_row(one: TargetPlace) -> None:
    sink, table = sink_to(one), DrawnTable(2)
    sink.write(batch_of(table.baseline(), 1))
    key, row = next((key, row) for key, row in table.rows.items())
    spelled = {**row, "part": row["part"] + "X"}
    del table.rows[key]
    table.rows[key[0], spelled["part"]] = spelled
    sink.write(batch_of([event("u", row, spelled)], 2))
    assert one.state() == one.of(table.rows)


# -- options -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("options", [{"mode": "mirror!"}, {"table": "{tabel}"}, {"table": "{"}, {"columns_like": "x"}])
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as error:
        DatabaseSink("copy", "sqlite:///x.db", **options)
    assert error.value.remedy
