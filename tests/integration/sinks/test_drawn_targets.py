"""Sink `database` and tables that exist before: refused by the check, or every batch is delivered.

`DatabaseSink.problems` is what `qbcd check` and `prepare` call.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import psycopg2
import pymysql
import pytest

from qbcd.errors import DeliveryError
from qbcd.sinks.table.sink import DatabaseSink
from tests.support.drawn_targets import KINDS, Drawn, DrawnHistory, TargetDrawing
from tests.support.table_batches import MadeBatch, Row
from tests.support.table_targets import ServerPlace, TargetPlace, comparable, new_target

NOT_MADE = (psycopg2.Error, pymysql.Error, sqlite3.Error, duckdb.Error)  # a table that the database itself refuses
CURRENT = {"soft": "WHERE NOT is_deleted", "scd2": "WHERE valid_to IS NULL"}
_TABLES = {
    "postgresql": "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'",
    "mariadb": "SELECT table_name FROM information_schema.tables WHERE table_schema = database()",
    "sqlite": "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')",
    "duckdb": "SELECT table_name FROM information_schema.tables",
}


@contextmanager
def empty_target(kind: str, request: Any, folder: Path) -> Iterator[Any]:
    """A function that returns an empty target; those on a server are one, emptied each time."""
    if kind in ("sqlite", "duckdb"):

        def new_file() -> TargetPlace:
            with new_target(kind, request, folder) as made:
                return made

        yield new_file
        return
    with new_target(kind, request, folder) as target:

        def emptied() -> TargetPlace:
            assert isinstance(target, ServerPlace)
            if kind == "postgresql":
                target.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
            else:
                target.sql(f"DROP DATABASE {target.place.name}; CREATE DATABASE {target.place.name}")
            return target

        yield emptied


def contents(target: TargetPlace, names: Any = None) -> dict[str, list[str]]:
    """Return the rows of tables, as text; default: of all."""
    names = sorted(row[0] for row in target.sql(_TABLES[target.kind])) if names is None else names
    return {name: sorted(map(repr, target.sql(f"SELECT * FROM {target.quote(name)}"))) for name in names}


def current(target: TargetPlace, drawn: Drawn) -> list[tuple[Any, ...]]:
    """Return the captured columns of the rows of a mirror, or of the open versions of a history."""
    where = CURRENT.get(drawn.options.get("deletes") or drawn.options.get("mode", ""), "")
    columns = ", ".join(target.read(name, travel) for name, travel in drawn.planned.columns)
    found = target.sql(f"SELECT {columns} FROM {target.quote(drawn.table)} {where}")
    return sorted((comparable(map_utc(row)) for row in found), key=repr)


def map_utc(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(value.isoformat().replace("+00:00", "") if hasattr(value, "isoformat") else value for value in row)


def wanted(target: TargetPlace, drawn: Drawn, rows: dict[tuple[Any, ...], Row]) -> list[tuple[Any, ...]]:
    made = []
    for row in rows.values():
        values = tuple(target.expected(travel, row[name]) for name, travel in drawn.planned.columns)
        made.append(comparable(map_utc(values)))
    return sorted(made, key=repr)


def deliver(target: TargetPlace, drawn: Drawn, sink: DatabaseSink, history: DrawnHistory, batches: int) -> None:
    """Write a baseline, values into the user's own columns and tables, and batches; look after each."""
    kept: dict[tuple[Any, ...], Any] = {}
    for number, batch in enumerate(history.batches(batches)):
        sink.write(batch)
        if drawn.options.get("mode") == "log":
            continue
        assert current(target, drawn) == wanted(target, drawn, history.rows), f"after batch {number}"
        if number == 0:
            others = write_own(target, drawn, history)
        kept = own_values(target, drawn, history) if number == 0 else kept
        stay = {key for key in kept if key in history.rows and not moved(batch, key)}
        kept = {key: kept[key] for key in stay}
        found = own_values(target, drawn, history)
        assert {key: found[key] for key in stay} == kept, f"own columns after batch {number}"
        assert contents(target, drawn.others) == others, f"other tables after batch {number}"


def moved(batch: MadeBatch, key: tuple[Any, ...]) -> bool:
    """Return True if the row of a key was deleted or inserted by the batch."""
    return any(event["op"] != "u" and tuple(event["key"].values()) == key for event in batch.made)


def write_own(target: TargetPlace, drawn: Drawn, history: DrawnHistory) -> dict[str, list[str]]:
    """Write into the user's own columns, and rows of other tables that refer to the first two rows."""
    for name, value in drawn.own.items():
        target.sql(f"UPDATE {target.quote(drawn.table)} SET {target.quote(name)} = {value}")
    if drawn.others and drawn.kinds[drawn.planned.key[0]] != "text":
        for n, key in enumerate(list(history.rows)[:2]):
            about = key[0] if any("refers" in fact for fact in drawn.facts) else n
            target.sql(f"INSERT INTO note VALUES ({n}, {about})")
    return contents(target, drawn.others)


def own_values(target: TargetPlace, drawn: Drawn, history: DrawnHistory) -> dict[tuple[Any, ...], Any]:
    """Return the user's own values by key; none where a mirror adds rows anyway."""
    if not drawn.own or drawn.options.get("mode") or drawn.options.get("deletes"):
        return {}
    names = [*drawn.planned.key, *drawn.own]
    found = target.sql(f"SELECT {', '.join(map(target.quote, names))} FROM {target.quote(drawn.table)}")
    size = len(drawn.planned.key)
    return {tuple(row[:size]): tuple(row[size:]) for row in found if tuple(row[:size]) in history.rows}


def outcome(target: TargetPlace, seed: int, batches: int = 5) -> str:
    """Draw a target, judge it, and deliver to it unless it is refused."""
    drawn = TargetDrawing(seed, target).draw()
    described = f"seed {seed}: {drawn.facts}, {drawn.options}, {drawn.planned.columns}\n" + "\n".join(drawn.ddl)
    try:
        for statement in drawn.ddl:
            target.sql(statement)
    except NOT_MADE:
        return "cannot be"
    sink = DatabaseSink("copy", target.url, **drawn.options)
    before = contents(target)
    try:
        problems = sink.problems(drawn.planned)
        assert contents(target) == before, f"the check has changed something\n{described}"
        if problems:
            assert all(problem.remedy for problem in problems)
            return "refused"
        deliver(target, drawn, sink, DrawnHistory(seed, drawn), batches)
    except (DeliveryError, AssertionError) as error:
        if "has wider types of columns" in str(error) and kind_keeps_types(target, drawn):
            return "to be altered"
        raise AssertionError(f"{error}\n{described}") from error
    return "delivered"


def kind_keeps_types(target: TargetPlace, drawn: Drawn) -> bool:
    """Return True if the database cannot alter the table: DuckDB, while an index or a foreign key depends on it."""
    return target.kind == "duckdb" and any("unique" in one or "refers" in one for one in drawn.facts)


@pytest.mark.campaign
@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 133), marks=pytest.mark.campaign)], ids=["8", "125"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_drawn_target_is_refused_or_takes_every_batch(
    kind: str, seeds: range, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with empty_target(kind, request, tmp_path) as new:
        found = Counter(outcome(new(), seed, 3 if len(seeds) < 20 else 5) for seed in seeds)
    assert found["refused"] >= len(seeds) // 8
    assert found["delivered"] >= len(seeds) // 8
