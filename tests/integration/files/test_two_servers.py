"""`qbcd diff` of a table of PostgreSQL and one of MariaDB, in both directions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import qbcd
from tests.integration.files.test_diff import masked
from tests.support.cli import Cli
from tests.support.places import Place, new_place, server_of

TYPES = {  # of a column: in PostgreSQL, in MariaDB, a value as SQL of both, another one
    "b": ("boolean", "tinyint(1)", "true", "false"),
    "n": ("bigint", "int", "7", "8"),
    "u": ("numeric(20,0)", "bigint unsigned", "18446744073709551615", "0"),
    "f": ("real", "float", "0.1", "0.2"),
    "d": ("numeric(10,2)", "decimal(12,3)", "1.5", "1.25"),
    "c": ("char(5)", "char(5)", "'ab'", "'ba'"),
    "v": ("varchar(20)", "varchar(20)", "'x '", "'x'"),
    "e": ("text", "text", "''", "NULL"),
    "y": ("date", "date", "'2024-02-29'", "'2024-03-01'"),
    "m": ("date", "datetime", "'2024-02-29'", "'2024-03-01'"),
    "t": ("time", "time(6)", "'08:59:59'", "'23:00:00'"),
    "s": ("timestamp", "datetime(6)", "'2024-02-29 01:02:03.5'", "'2024-02-29 01:02:03.6'"),
    "i": ("uuid", "varchar(36)", "'00000000-0000-0000-0000-0000000000ff'", "'00000000-0000-0000-0000-000000000000'"),
    "j": ("jsonb", "json", """'{"a": [1, 2.50]}'""", """'{"a":[1,2.5]}'"""),
}


@pytest.fixture
def places(request: pytest.FixtureRequest) -> Iterator[tuple[Place, Place]]:
    with (
        new_place(server_of(request, "postgresql"), "postgresql") as one,
        new_place(server_of(request, "mariadb"), "mariadb") as other,
    ):
        yield one, other


def test_tables_of_two_servers(
    places: tuple[Place, Place], workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(workspace)
    urls, values = [], [types[2] for types in TYPES.values()]
    for i, place in enumerate(places):
        columns = ", ".join(f"{name} {types[i]}" for name, types in TYPES.items())
        place.sql(f"CREATE TABLE t (k varchar(20) PRIMARY KEY, {columns})")
        rows = [f"('k{row}', {', '.join(values)})" for row in range(len(TYPES))]
        rows += [f"('{'Ada' if i else 'ADA'}', {', '.join(['NULL'] * len(TYPES))})"]
        place.sql(f"INSERT INTO t VALUES {', '.join(rows)}")
        urls.append(f"{masked(place.url, monkeypatch)}#{place.table('t')}")
    for old, new in (urls, urls[::-1]):
        with qbcd.diff(old, new) as found:
            assert [(e["op"], e["key"]["k"].upper(), e["changed"]) for e in found] == [
                ("d", "ADA", None),
                ("c", "ADA", None),
            ]
            assert found.respelled == 1
    shown = Cli(capsys)("diff", *urls)
    assert "1 key deleted and inserted with another spelling" in shown.out
    assert "compute different digests" in " ".join(shown.out.split())
    for row, (name, types) in enumerate(TYPES.items()):
        places[1].sql(f"UPDATE t SET {name} = {types[3]} WHERE k = 'k{row}'")
    for old, new in (urls, urls[::-1]):
        with qbcd.diff(old, new) as found:
            changed = {e["key"]["k"]: e["changed"] for e in found if e["op"] == "u"}
        assert changed == {f"k{row}": [name] for row, name in enumerate(TYPES)}
