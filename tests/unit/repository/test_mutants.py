"""The table of the campaign's mutants fits today's tree; `make campaign PART=mutants` runs them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.campaign.kept import KEPT
from tests.campaign.mutants import page
from tests.campaign.mutants.mutant import Mutant
from tests.campaign.mutants.runner import Result, why_not_killed
from tests.campaign.mutants.table import MUTANTS

ROOT = Path(__file__).resolve().parents[3]
SUITES = ("tests/support/state_suite.py", "tests/support/project_suite.py", "tests/support/server_suite.py")
KILLERS = {killer: mutant for mutant in MUTANTS for killer in mutant.killers}


@cache
def tree_of(file: str) -> ast.Module:
    return ast.parse((ROOT / file).read_text("utf-8"))


def named(body: list[ast.stmt], name: str) -> Any:
    kinds = (ast.FunctionDef, ast.ClassDef)
    return next((node for node in body if isinstance(node, kinds) and node.name == name), None)


def found(killer: str) -> list[Any]:
    """Return class and function of a test; the function may be one of a base class in tests.support."""
    file, *names = killer.partition("[")[0].split("::")
    first = named(tree_of(file).body, names[0])
    if first is None or len(names) == 1:
        return [first]
    bases = [base.id for base in first.bases if isinstance(base, ast.Name)]
    suites = [suite for path in SUITES for base in bases if (suite := named(tree_of(path).body, base))]
    return [first, next((test for one in (first, *suites) if (test := named(one.body, names[1]))), None)]


def is_of_campaign(killer: str) -> bool:
    """Return True if a test runs in the campaign only: by its file, its marks or `tests.campaign.kept`."""
    test, _, case = killer.partition("[")
    marked = [ast.unparse(mark) for node in found(killer) for mark in node.decorator_list]
    marked += [ast.unparse(node) for node in tree_of(test.partition("::")[0]).body if isinstance(node, ast.Assign)]
    always = any(m == "pytest.mark.campaign" or m == "pytestmark = pytest.mark.campaign" for m in marked)
    kept = KEPT.get(test)
    dropped = kept is not None and (case.removesuffix("]") not in kept if case else not kept)
    return always or dropped or test.startswith("tests/campaign/")


@cache
def text_of(file: str) -> str:
    return (ROOT / file).read_text("utf-8")


def problem(mutant: Mutant) -> str:
    """Return why a mutant does not fit today's tree, or an empty string."""
    try:
        changed = mutant.applied_to(text_of(mutant.file))
    except (LookupError, OSError) as error:
        return str(error.args[0]) if isinstance(error, LookupError) else f"mutant {mutant.name}: {error}"
    return f"mutant {mutant.name} changes nothing" if changed == text_of(mutant.file) else ""


def test_mutants_change_todays_tree() -> None:
    assert not list(filter(None, map(problem, MUTANTS)))


def test_a_text_that_is_not_found_once_is_reported() -> None:
    mutant = Mutant("odd", "Nothing is lost", "qbcd/x.py", "a = 1", "a = 2", ())
    for text, times in (("b = 1", 0), ("a = 1; a = 1", 2)):
        with pytest.raises(LookupError, match=rf"mutant odd: .* {times} times in qbcd/x\.py, .*Nothing is lost"):
            mutant.applied_to(text)


def test_killers_are_tests_of_make_test() -> None:
    missing = [killer for killer in KILLERS if None in found(killer)]
    assert not missing, "there are no such tests"
    assert not [k for k, mutant in KILLERS.items() if is_of_campaign(k) and not mutant.campaign], "of the campaign only"


def test_names_are_used_once_and_each_mutant_has_killers() -> None:
    assert not page.repeated()
    assert all(mutant.killers and mutant.breaks.endswith(".") for mutant in MUTANTS)
    assert len(MUTANTS) >= 44


def test_the_page_lists_the_mutants() -> None:
    assert page.PAGE.read_text("utf-8") == page.text(), "run: python -m tests.campaign.mutants"


@pytest.mark.parametrize(
    ("status", "output", "why"),
    [
        (1, "FAILED a.py::test_b[c] - assert 1 == 2", ""),
        (1, "FAILED a.py::test_b - qbcd.errors.StateConflict: gap", ""),
        (1, "E   NameError: name 'x' is not defined\nFAILED a.py::test_b - NameError: ..", "is no valid Python"),
        (1, "ERROR a.py::test_b - assert 1 == 2", "not because this test failed"),
        (1, "FAILED a.py::test_bc - assert 1 == 2", "not because this test failed"),
        (0, "PASSED a.py::test_b", "ended with status 0"),
        (2, "ERROR a.py", "ended with status 2"),
        (5, "", "ended with status 5"),
        (None, "", "hangs"),
    ],
)
def test_only_the_killers_own_failure_counts(status: int | None, output: str, why: str) -> None:
    answer = why_not_killed(Result(status, output), "a.py::test_b")
    assert why in answer and bool(why) == bool(answer)
