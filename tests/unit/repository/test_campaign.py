"""The tables of the campaign name tests and files that exist."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

from tests.campaign.kept import KEPT, is_kept
from tests.campaign.parts import DATABASES, PARTS, part_of

ROOT = Path(__file__).resolve().parents[3]


def test_every_test_file_belongs_to_a_part() -> None:
    files = [str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")]
    assert {part_of(file) for file in files} == {n for n, p in PARTS.items() if p.database in ("", DATABASES[-1])}
    with pytest.raises(LookupError, match=r"tests/other/test_x\.py; add it to"):
        part_of("tests/other/test_x.py")


def test_long_parts_are_one_for_each_database() -> None:
    file = "tests/faults/test_kill.py"
    ids = ("mysql-before_commit-mds", "postgresql-mds", "first-mariadb", "mysqlx")
    assert [part_of(f"{file}::test_kill[{i}]") for i in ids] == [
        "kill_mysql",
        "kill_postgresql",
        "kill_mariadb",
        "kill_postgresql",
    ]
    assert part_of(f"{file}::test_mysql") == "kill_postgresql"
    assert part_of("tests/campaign/mutants/test_mutants.py::test_one[mysql-a]") == "mutants"


def test_places_of_parts_exist() -> None:
    for place in (place for part in PARTS.values() for place in part.places):
        assert (ROOT / place).exists(), place


@pytest.mark.parametrize("test", KEPT)
def test_kept_tests_exist(test: str) -> None:
    file, *names = test.split("::")
    if len(names) > 1:  # a class may inherit the test
        found: object = importlib.import_module(file.removesuffix(".py").replace("/", "."))
        for name in names:
            found = getattr(found, name)
        return
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    assert [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == names[0]], test


def test_cases_that_are_not_kept_run_in_the_campaign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KEPT, "tests/x.py::test_a", ("one", "two"))
    assert [is_kept(f"tests/x.py::{case}") for case in ("test_a[one]", "test_a[three]", "test_b[three]")] == [
        True,
        False,
        True,
    ]
