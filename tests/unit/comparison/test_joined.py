"""`qbcd join`: every method gives the rows of a left join, whatever the order and the memory."""

from __future__ import annotations

import os
import random
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyarrow import parquet

from qbcd.comparison import joined
from qbcd.comparison.joined import FileJoin, JoinOptions, JoinResult
from qbcd.comparison.operands import FileOperand
from qbcd.config.files import FileFormat
from qbcd.errors import ConfigError, DumpRefused, LocalFailed, Refused
from qbcd.local.database import LocalDatabase
from qbcd.model import Travel

PARENTS, FANOUT, DAYS = 3000, 4, 2406


def written(folder: Path, *, days: int = 121, seed: int = 3) -> list[tuple[Any, ...]]:
    """Write orders and their lines, which come up to `days` days later; return the joined rows."""
    drawn = random.Random(seed)
    orders = [(i * 7919 % 1_000_003, f"c{i % 97}") for i in range(PARENTS)]
    lines: list[tuple[float, int | None, int]] = [
        (i * DAYS / PARENTS + drawn.uniform(1, days), key, line)
        for i, (key, _) in enumerate(orders)
        for line in range(FANOUT)
    ]
    lines += [(drawn.uniform(0, DAYS), None, 90), (drawn.uniform(0, DAYS), -5, 91)]
    lines.sort()
    (folder / "orders.csv").write_text(
        "no,customer\n" + "".join(f"{no},{name}\n{',nobody' + chr(10) if no % 9 == 0 else ''}" for no, name in orders)
    )
    rows = "".join(f"{'' if no is None else no},{line}\n" for _, no, line in lines)
    (folder / "lines.csv").write_text("order_no,line\n" + rows)
    known: dict[int | None, str] = dict(orders)
    return [(no, line, known.get(no)) for _, no, line in lines]


def run(folder: Path, **options: Any) -> tuple[JoinResult, list[tuple[Any, ...]]]:
    form = FileFormat.model_validate({"types": {"order_no": "integer", "no": "integer", "line": "integer"}})
    chosen = JoinOptions(("order_no", "no"), form=form, **options)
    found = FileJoin(str(folder / "lines.csv"), str(folder / "orders.csv"), chosen).write(folder / "out.parquet")
    with duckdb.connect() as database:
        rows = database.execute(f"SELECT order_no, line, customer FROM '{folder}/out.parquet'").fetchall()
    return found, rows


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joined, "LEAST_STEP", 10)
    monkeypatch.setattr(joined, "SAMPLE", 500)


@pytest.mark.parametrize("method", ["advanced", "basic"])
def test_a_window_by_the_sample_has_all_parents(method: Any, tmp_path: Path) -> None:
    expected = written(tmp_path)
    found, rows = run(tmp_path, method=method)
    assert Counter(rows) == Counter(expected)
    assert (found.rows, found.parents, found.orphans) == (len(expected), PARENTS + 335, 2)
    assert found.mishits <= 1 + len(expected) // 100, "the orphan, and what the sample has missed"
    assert found.window < PARENTS // 8


@pytest.mark.parametrize("method", ["advanced", "basic", "hash"])
def test_mishits_are_spilled_and_joined(method: Any, tmp_path: Path) -> None:
    """The window is too small: 2 % of the parents, of which the paper's mishits are 59 %."""
    expected = written(tmp_path)
    found, rows = run(tmp_path, method=method, memory=14 * PARENTS // 50)
    assert Counter(rows) == Counter(expected)
    if method != "hash":
        assert 0.4 < found.mishits / found.rows < 0.8


def test_random_order_is_joined_by_hashing(tmp_path: Path) -> None:
    expected = written(tmp_path, days=10 * DAYS)
    found, rows = run(tmp_path, method="auto", memory=14 * PARENTS // 50)
    assert (found.method, found.window) == ("hash", 0)
    assert Counter(rows) == Counter(expected)


def test_what_is_refused(tmp_path: Path) -> None:
    written(tmp_path)
    with (tmp_path / "orders.csv").open("a") as file:
        file.write(f"{(PARENTS - 1) * 7919 % 1_000_003},twin\n")
    for method in ("advanced", "hash"):
        with pytest.raises(Refused, match=r"orders.csv has (two|several) rows"):
            run(tmp_path, method=method)
    assert not (tmp_path / "out.parquet").exists()
    lines, orders = str(tmp_path / "lines.csv"), str(tmp_path / "orders.csv")
    with pytest.raises(ConfigError, match="has no column 'id'"):
        FileJoin(lines, orders, JoinOptions(("order_no", "id")))
    with pytest.raises(ConfigError, match="both files have a column 'line'"):
        FileJoin(lines, lines, JoinOptions(("order_no", "order_no"), take=("line",)))
    form = FileFormat.model_validate({"types": {"no": "integer"}})
    with pytest.raises(ConfigError, match="which are not compared"):
        FileJoin(lines, orders, JoinOptions(("order_no", "no"), form=form))


@pytest.mark.parametrize("method", ["advanced", "basic", "hash"])
@pytest.mark.parametrize("take", [pytest.param((), marks=pytest.mark.campaign), ("c0", "no", "c0", "ORPHAN")])
def test_names_and_few_children(method: Any, take: tuple[str, ...], tmp_path: Path) -> None:
    """Children of one parent in 50 leave pieces empty; names differ in case only, or are qbcd's own."""
    chosen = dict.fromkeys(take or ("ORPHAN", "c0"))
    (tmp_path / "p.csv").write_text("no,ORPHAN,c0\n" + "".join(f"{i},o{i},c{i}\n" for i in range(200)))
    for keys in ([], [150], [199, 7, 7, 300]):
        (tmp_path / "c.csv").write_text("ref,orphan,Orphan,p0\n" + "".join(f"{key},1,2,3\n" for key in keys))
        for memory in (1, 64 << 20):
            options = JoinOptions(("ref", "no"), take, memory, method)
            found = FileJoin(str(tmp_path / "c.csv"), str(tmp_path / "p.csv"), options).write(tmp_path / "o.parquet")
            rows = parquet.read_table(tmp_path / "o.parquet")
            assert rows.schema.names == ["ref", "orphan", "Orphan", "p0", *chosen]
            known = {str(i): {"no": str(i), "ORPHAN": f"o{i}", "c0": f"c{i}"} for i in range(200)}
            expected = [(str(key), "1", "2", "3", *(known.get(str(key), {}).get(n) for n in chosen)) for key in keys]
            assert Counter(tuple(row.values()) for row in rows.to_pylist()) == Counter(expected)
            assert found.orphans == keys.count(300)


def test_a_file_that_is_written_meanwhile(tmp_path: Path) -> None:
    for name in ("c.csv", "p.csv"):
        for other in ("c.csv", "p.csv"):
            (tmp_path / other).write_text(f"{other[0]},v{other[0]}\n1,2\n")
        join = FileJoin(f"{tmp_path}/c.csv", f"{tmp_path}/p.csv", JoinOptions(("c", "p")))
        with (tmp_path / name).open("a") as file:
            file.write("2,3\n")
        with pytest.raises(DumpRefused, match=f"{name} was changed or removed while it was read") as caught:
            join.write(tmp_path / "o.parquet")
        assert caught.value.remedy.endswith("then compare again")
        assert sorted(one.name for one in tmp_path.iterdir()) == ["c.csv", "p.csv"]
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(LocalFailed, match="not a regular file"):
        FileJoin(f"{tmp_path}/c.csv", f"{tmp_path}/p.csv", JoinOptions(("c", "p"))).write(tmp_path / "pipe")


def test_an_operand_that_is_written_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id\n1\n")
    with closing(LocalDatabase(64 << 20, tmp_path / "spill")) as database:
        operand = FileOperand(str(path), FileFormat())
        assert operand.load(database, operand.columns, 1)[1] == 1
        path.write_text("id\n1\n2\n")
        for action in (
            lambda: operand.load(database, operand.columns, 1),
            lambda: operand.as_types({"id": Travel("int64")}),
        ):
            with pytest.raises(DumpRefused, match="was changed or removed while it was read"):
                action()
