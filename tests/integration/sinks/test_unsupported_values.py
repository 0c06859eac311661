"""Values that a sink cannot hold: refused before their batch is committed, or delivered by the sink's policy.

A refused poll changes nothing, and the next one continues once the value is corrected. A batch that was committed
before the sink could judge it has a way past, which its message names.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

import qbcd
from qbcd.errors import Undeliverable, UnsupportedType
from tests.support.places import Place, new_place, server_of
from tests.support.project import config, opened, poll
from tests.support.table_targets import TargetPlace, new_target


@dataclass(frozen=True)
class Case:
    """A value of a source that some sinks cannot hold.

    Attributes:
        kind: The source.
        sql_type: Type of its column `v`.
        value: SQL of the value.
        good: SQL of a value that every sink holds.
        words: The words of the refusal.
        sinks: The sinks that cannot hold it.
        shown: By sink that can, its value as text; the others get that of policy `text`.
        text: The text of policy `text`.
    """

    kind: str
    sql_type: str
    value: str
    good: str
    words: str
    sinks: tuple[str, ...]
    text: str


TYPED = ("postgresql", "mariadb", "sqlite", "duckdb")
CASES = {
    "nul": Case(
        "mariadb", "varchar(20)", "concat('a', char(0), 'b')", "'ab'", "text with NUL", ("postgresql",), "a\u2400b"
    ),
    "zero date": Case("mariadb", "date", "'0000-00-00'", "'2024-01-02'", "a zero date", TYPED, "0000-00-00"),
    "no such day": Case("mariadb", "date", "'2024-02-31'", "'2024-02-01'", "an impossible date", TYPED, "2024-02-31"),
    "infinite date": Case("postgresql", "date", "'infinity'", "'2024-01-02'", "an infinite date", TYPED, "infinity"),
    "far": Case(
        "postgresql", "timestamp", "'12024-01-02'", "'2024-01-02'", "a timestamp outside the years 1", TYPED, "1202"
    ),
    "nan": Case("postgresql", "float8", "'NaN'", "1.5", "NaN", ("mariadb", "sqlite"), "NaN"),
    "infinity": Case("postgresql", "float8", "'-Infinity'", "1.5", "an infinite number", ("mariadb",), "-Infinity"),
    "decimal": Case("postgresql", "numeric(8,2)", "'NaN'", "1.50", "NaN in a decimal", TYPED, "NaN"),
    "array": Case(
        "postgresql", "int[]", "'[0:1]={7,8}'", "'{7}'", "an array that is not one-dimensional", TYPED, '"[0:1]'
    ),
}


@contextmanager
def captured(
    case: Case, kind: str, strategy: dict[str, Any], folder: Path, request: Any, **options: Any
) -> Iterator[tuple[qbcd.Project, Place, TargetPlace]]:
    """Yield a project whose stream `s` of a table with two good rows is in a target, the source, and the target."""
    with new_place(server_of(request, case.kind), case.kind) as source, new_target(kind, request, folder) as target:
        source.sql(f"CREATE TABLE t (id int PRIMARY KEY, v {case.sql_type})")
        source.sql(f"INSERT INTO t VALUES (1, {case.good}), (2, {case.good})")
        stream = {"name": "s", "table": source.table("t"), "baseline": "events", **strategy}
        sinks = {"copy": {"type": "database", "url": target.url, "table": "copy", **options}}
        with opened(config(source.url, stream, sinks=sinks), folder) as project:
            project.stream("s").prepare()
            yield project, source, target


def values(target: TargetPlace, table: str = "copy") -> dict[int, str | None]:
    return {int(key): None if v is None else str(v) for key, v in target.sql(f"SELECT id, v FROM {table} ORDER BY id")}


MDS, RCS = {"strategy": "mds"}, {"strategy": "id_rcs"}
KEPT = {("nul", "postgresql", "source"), ("nan", "mariadb", "lake")}  # the other pairs run in the campaign
PAIRS = [
    pytest.param(
        name, kind, wing, marks=() if (name, kind, place) in KEPT else pytest.mark.campaign, id=f"{name}-{kind}-{place}"
    )
    for name, case in CASES.items()
    for kind in case.sinks
    for place, wing in (("source", MDS), ("lake", RCS))
]


@pytest.mark.parametrize("name, kind, wing", PAIRS)
def test_a_value_is_refused_before_it_is_committed(
    name: str, kind: str, wing: dict[str, Any], workspace: Path, request: pytest.FixtureRequest
) -> None:
    case = CASES[name]
    with captured(case, kind, wing, workspace, request) as (project, source, target):
        before = values(target)
        source.sql(f"UPDATE t SET v = {case.value} WHERE id = 2")
        with pytest.raises(
            UnsupportedType, match=rf"column 'v' has {case.words}.* in the row with key \(id\) = \(2\)"
        ) as error:
            poll(project, "s")
        assert "which sink copy cannot hold" in error.value.what and "correct the value" in error.value.remedy
        assert not project.status("s")[0].pending.get("copy")
        source.sql(f"UPDATE t SET v = {case.good} WHERE id = 2")
        source.sql(f"INSERT INTO t VALUES (3, {case.good})")
        poll(project, "s")
        assert values(target) == {**before, 3: before[1]}


ALL = [(name, kind) for name, case in CASES.items() for kind in case.sinks]
POLICIES = [
    pytest.param(
        *pair, mode, marks=() if (*pair, mode) in {("zero date", "duckdb", "mirror")} else pytest.mark.campaign
    )
    for pair in ALL
    for mode in ("mirror", "scd2", "log")
]


@pytest.mark.parametrize("name, kind, mode", POLICIES)
def test_a_policy_delivers_the_value(
    name: str, kind: str, mode: str, workspace: Path, request: pytest.FixtureRequest
) -> None:
    case = CASES[name]
    for policy in ("null", "text"):
        folder = workspace / policy
        with captured(case, kind, MDS, folder, request, unsupported=policy, mode=mode) as (project, source, target):
            source.sql(f"UPDATE t SET v = {case.value} WHERE id = 2")
            poll(project, "s")
            found = {v if v is None else str(v) for (v,) in target.sql("SELECT v FROM copy WHERE id = 2")}
            assert any(v is None if policy == "null" else v is not None and v.startswith(case.text) for v in found), (
                found
            )
            source.sql(f"UPDATE t SET v = {case.good} WHERE id = 2")
            poll(project, "s")


WAYS = [
    ("nul", "postgresql"),
    ("nan", "mariadb"),
    ("zero date", "duckdb"),
    ("infinite date", "sqlite"),
    ("decimal", "mariadb"),
]


@pytest.mark.parametrize(
    "name, kind, mode",
    [
        pytest.param(
            *way, mode, marks=() if (*way, mode) in {("infinite date", "sqlite", "mirror")} else pytest.mark.campaign
        )
        for way in WAYS
        for mode in ("mirror", "scd2", "log")
    ],
)
def test_a_committed_batch_has_a_way_past(
    name: str, kind: str, mode: str, workspace: Path, request: pytest.FixtureRequest
) -> None:
    """The batch was committed under a policy that was then removed."""
    case = CASES[name]
    with captured(case, kind, MDS, workspace, request, mode=mode) as (_, source, target):
        before = values(target)
        good = before[1]
        data = config(
            source.url,
            {"name": "s", "table": source.table("t"), "baseline": "events", **MDS},
            sinks={"copy": {"type": "database", "url": target.url, "table": "copy", "mode": mode}},
        )
        source.sql(f"UPDATE t SET v = {case.value} WHERE id = 2")
        data["sinks"]["copy"]["unsupported"] = "null"
        with opened(data, workspace) as other, target_away(target):
            other.run("s", once=True)  # committed, and not delivered
        del data["sinks"]["copy"]["unsupported"]
        with (
            opened(data, workspace) as strict,
            pytest.raises(Undeliverable, match=f"column v of the target cannot hold {case.words}") as error,
        ):
            poll(strict, "s")
        assert "in the row with key (id) = (2)" in error.value.what
        assert "`unsupported: null` of the sink" in error.value.remedy
        if mode != "log":
            assert "qbcd resend s copy" in error.value.remedy
            source.sql(f"UPDATE t SET v = {case.good} WHERE id = 2")
            with opened(data, workspace) as strict:
                strict.run("s", once=True)  # finds the correction; the delivery fails still
                strict.stream("s").resend("copy")
            assert {v for (v,) in target.sql("SELECT v FROM copy WHERE id = 2")}
            assert values(target)[2] == good
        else:
            assert "qbcd reset s --discard" in error.value.remedy
            data["sinks"]["copy"]["unsupported"] = "null"
            with opened(data, workspace) as lenient:
                poll(lenient, "s")
            assert (None,) in target.sql("SELECT v FROM copy WHERE id = 2")


@contextmanager
def target_away(target: TargetPlace) -> Iterator[None]:
    """In the block, the target takes no batch."""
    target.sql("ALTER TABLE copy RENAME TO away")
    try:
        yield
    finally:
        target.sql("ALTER TABLE away RENAME TO copy")


@pytest.mark.campaign
@pytest.mark.parametrize("engine", ["local", "spark"])
@pytest.mark.parametrize("policy", ["null", "text"])
def test_parquet_has_a_policy_too(
    policy: str, engine: str, server: Any, workspace: Path, request: pytest.FixtureRequest
) -> None:
    spark = request.getfixturevalue("spark") if engine == "spark" else None
    with new_place(server, "postgresql") as source:
        source.sql("CREATE TABLE t (id int PRIMARY KEY, d date, n numeric(8,2), a int[])")
        source.sql("INSERT INTO t VALUES (1, '2024-01-02', 1.5, '{7}'), (2, 'infinity', 'NaN', '[0:1]={7,8}')")
        stream = {"name": "s", "table": source.table("t"), "baseline": "events", "engine": engine, **MDS}
        sinks = {"files": {"type": "parquet", "path": "out", "unsupported": policy}}
        with opened(config(source.url, stream, sinks=sinks), workspace, spark) as project:
            project.stream("s").prepare()
    rows = parquet.ParquetDataset(workspace / "out" / "s").read().column("after").to_pylist()
    found = {row["id"]: [None if v is None else str(v) for v in (row["d"], row["n"], row["a"])] for row in rows}
    array = "[7]"
    assert found[1] == ["2024-01-02", "1.50", array]
    assert found[2] == ([None] * 3 if policy == "null" else ["infinity", "NaN", '"[0:1]={7,8}"'])


@pytest.mark.campaign
@pytest.mark.parametrize("wing", [MDS, RCS], ids=["source", "lake"])
@pytest.mark.parametrize("policy", ["refuse", "null", "text"])
def test_a_value_of_the_key_is_always_refused(
    policy: str, wing: dict[str, Any], server: Any, workspace: Path, request: pytest.FixtureRequest
) -> None:
    with new_place(server, "postgresql") as source, new_target("mariadb", request, workspace) as target:
        source.sql("CREATE TABLE t (id text, d date, PRIMARY KEY (id, d))")
        source.sql("INSERT INTO t VALUES ('a', '2024-01-02')")
        stream = {"name": "s", "table": source.table("t"), "baseline": "events", **wing}
        sinks = {"copy": {"type": "database", "url": target.url, "table": "copy", "unsupported": policy}}
        with opened(config(source.url, stream, sinks=sinks), workspace) as project:
            project.stream("s").prepare()
            for row, column, words in (
                (f"('{'x' * 800}', '2024-01-02')", "id", "a key of more than 380 characters"),
                ("('b', 'infinity')", "d", "an infinite date"),
            ):
                source.sql(f"INSERT INTO t VALUES {row}")
                with pytest.raises(UnsupportedType, match=f"column '{column}' has {words}") as error:
                    poll(project, "s")
                assert "unsupported" not in error.value.remedy
                source.sql("DELETE FROM t WHERE id <> 'a'")
            source.sql(f"INSERT INTO t VALUES ('{'x' * 380}', '2024-01-02')")
            poll(project, "s")
            assert target.sql("SELECT count(*) FROM copy") == [(2,)]


# -- drawn values ------------------------------------------------------------------------------------------------------
# Column, its type, values that every sink holds, and others with the sinks that lack them.
Drawn = list[tuple[str, str, tuple[str, ...], dict[str, tuple[str, ...]]]]
COLUMNS: dict[str, Drawn] = {
    "postgresql": [
        (
            "d",
            "date",
            ("'2024-02-29'", "'0001-01-01'"),
            {"'-infinity'": TYPED, "'0044-03-15 BC'": TYPED, "'10000-01-01'": TYPED},
        ),
        ("m", "timestamptz", ("'2024-03-31 01:30:00+00'",), {"'infinity'": TYPED}),
        ("f", "float8", ("1.5", "-0.0", "1e300"), {"'NaN'": ("mariadb", "sqlite"), "'Infinity'": ("mariadb",)}),
        ("r", "real", ("0.5",), {"'NaN'": ("mariadb", "sqlite"), "'-Infinity'": ("mariadb",)}),
        ("n", "numeric(8,2)", ("12.50",), {"'NaN'": TYPED}),
        ("w", "numeric", ("12.5", "'NaN'"), {}),
        ("a", "float8[]", ("'{1.5,NaN}'",), {"'{{1},{2}}'": TYPED}),
        ("x", "text", ("'é😀'", "''"), {}),
    ],
    "mariadb": [
        ("d", "date", ("'2024-02-29'", "'0001-01-01'"), {"'0000-00-00'": TYPED, "'2024-02-30'": TYPED}),
        (
            "m",
            "datetime(6)",
            ("'2024-03-31 01:30:00'",),
            {"'0000-00-00 00:00:00'": TYPED, "'2023-02-29 10:00:00'": TYPED},
        ),
        ("f", "double", ("1.5", "1e300"), {}),
        ("h", "time(6)", ("'-838:59:59'",), {}),
        (
            "x",
            "varchar(50)",
            ("'é😀'", "''", "concat('a', char(1))"),
            {"concat('a', char(0))": ("postgresql",), "char(0)": ("postgresql",)},
        ),
        ("j", "longtext", ("'{}'",), {"concat('b', char(0), 'c')": ("postgresql",)}),
    ],
}
ROWS, STEPS = 4, 6


@pytest.mark.parametrize(
    "kind, to, wing, seed",
    [
        pytest.param(
            kind,
            to,
            wing,
            seed,
            marks=() if (kind, to, seed, wing) == ("postgresql", "sqlite", 1, MDS) else pytest.mark.campaign,
        )
        for kind in COLUMNS
        for to in TYPED
        for seed in (1, 2, 3)
        for wing in (MDS, RCS)
    ],
)
def test_drawn_values(
    kind: str, to: str, wing: dict[str, Any], seed: int, workspace: Path, request: pytest.FixtureRequest
) -> None:
    """A poll is refused exactly if a changed row has a value that the sink lacks; by a policy it is NULL there."""
    draw, columns = random.Random(f"{kind} {to} {seed}"), COLUMNS[kind]
    with new_place(server_of(request, kind), kind) as source, ExitStack() as kept:
        source.sql(f"CREATE TABLE t (id int PRIMARY KEY, {', '.join(f'{name} {of}' for name, of, *_ in columns)})")
        rows = {key: {name: good[0] for name, _, good, _ in columns} for key in range(ROWS)}
        for key, row in rows.items():
            source.sql(f"INSERT INTO t VALUES ({key}, {', '.join(row.values())})")
        targets = {name: kept.enter_context(new_target(to, request, workspace)) for name in ("refuse", "null")}
        sinks = {
            name: {"type": "database", "url": target.url, "table": "copy", "unsupported": name}
            for name, target in targets.items()
        }
        of_all = {"table": source.table("t"), "baseline": "events", **wing}
        streams = [{"name": f"s_{name}", "sinks": [name], **of_all} for name in targets]
        project = kept.enter_context(opened(config(source.url, *streams, sinks=sinks), workspace))
        for name in targets:
            project.stream(f"s_{name}").prepare()
        for _ in range(STEPS):
            key, (name, _, good, lacked) = draw.randrange(ROWS), draw.choice(columns)
            value = draw.choice([*good, *lacked])
            rows[key][name] = value
            source.sql(f"UPDATE t SET {name} = {value} WHERE id = {key}")
            bad = {
                (key, name)
                for key, row in rows.items()
                for name, _, _, lacked in columns
                if to in lacked.get(row[name], ())
            }
            poll(project, "s_null")
            names = [name for name, *_ in columns]
            found = targets["null"].sql(f"SELECT id, {', '.join(names)} FROM copy")
            assert {(row[0], n) for row in found for n, v in zip(names, row[1:], strict=True) if v is None} == bad
            if bad:
                with pytest.raises(UnsupportedType, match="which sink refuse cannot hold") as error:
                    poll(project, "s_refuse")
                assert any(
                    f"column '{name}'" in error.value.what and f"({key})" in error.value.what for key, name in bad
                )
                for key, name in bad:
                    rows[key][name] = next(good[0] for one, _, good, _ in columns if one == name)
                    source.sql(f"UPDATE t SET {name} = {rows[key][name]} WHERE id = {key}")
            poll(project, "s_refuse")


# -- values that only the server can judge -----------------------------------------------------------------------------
@pytest.mark.campaign
def test_a_letter_that_the_target_lacks(server: Any, workspace: Path) -> None:
    with new_place(server, "postgresql") as source:
        source.sql("CREATE TABLE t (id int PRIMARY KEY, v text)")
        target = source.at(f"{source.name}_latin")
        with source.connect(autocommit=True) as conn:
            options = "ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER libc TEMPLATE template0"
            source.run(conn, f"CREATE DATABASE {target.name} {options}")
        try:
            stream = {"name": "s", "table": source.table("t"), "baseline": "events", **MDS}
            sinks = {"copy": {"type": "database", "url": target.url, "table": "copy"}}
            with opened(config(source.url, stream, sinks=sinks), workspace) as project:
                project.stream("s").prepare()
                source.sql("INSERT INTO t VALUES (1, '😀')")
                with pytest.raises(Undeliverable, match="a letter that the encoding of the target's database lacks"):
                    poll(project, "s")
                source.sql("UPDATE t SET v = 'é'")
                project.run("s", once=True)
                assert project.stream("s").resend("copy") == 1
                assert target.sql("SELECT id, v FROM copy") == [(1, "é")]
        finally:
            target.drop()


@pytest.mark.campaign
def test_a_key_that_is_too_long_for_the_index(server: Any, workspace: Path, request: pytest.FixtureRequest) -> None:
    with new_place(server, "postgresql") as target, new_place(server_of(request, "mariadb"), "mariadb") as source:
        source.sql("CREATE TABLE t (id varbinary(3000) PRIMARY KEY, v int)")
        stream = {"name": "s", "table": source.table("t"), "baseline": "events", **MDS}
        sinks = {"copy": {"type": "database", "url": target.url, "table": "copy"}}
        with opened(config(source.url, stream, sinks=sinks), workspace) as project:
            project.stream("s").prepare()
            source.sql("INSERT INTO t VALUES (%s, 1)", (random.Random(1).randbytes(2990),))
            with pytest.raises(Undeliverable, match="a value is too long for an index: index row size"):
                poll(project, "s")
