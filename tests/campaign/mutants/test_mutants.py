"""Each mutant makes its killers fail, and without it they pass.

All runs are in copies of the tree: one without a bug, and one for each mutant.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.campaign.mutants.mutant import Mutant
from tests.campaign.mutants.runner import LONGEST, ROOT, copy_of, run, why_not_killed
from tests.campaign.mutants.table import MUTANTS

pytestmark = pytest.mark.campaign

# Run in a copy: the copy is imported, by a process of another folder and by a process of multiprocessing too.
IMPORTED = """
import multiprocessing, os, subprocess, sys, pathlib
import qbcd, tests

HERE = pathlib.Path(__file__).parent

def place(_=None):
    import qbcd
    return qbcd.__file__

def test_the_copy_is_imported(tmp_path):
    assert HERE == pathlib.Path.cwd()
    asked = [sys.executable, "-c", "import qbcd; print(qbcd.__file__)"]
    child = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = [qbcd.__file__, child, *pool.map(place, [0])]
    assert [pathlib.Path(name).parent.parent for name in found] == [HERE] * 3
    assert pathlib.Path(tests.__file__).parent.parent == HERE
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the tree without a bug."""
    made = copy_of(ROOT, tmp_path_factory.mktemp("mutants") / "base")
    yield made
    shutil.rmtree(made)


def test_the_copy_is_what_runs(base: Path) -> None:
    (base / "test_imported.py").write_text(IMPORTED)
    result = run(base, ["test_imported.py"])
    assert result.status == 0, result.output
    (base / "test_imported.py").unlink()


@pytest.mark.parametrize("options", sorted({mutant.options for mutant in MUTANTS}), ids=str)
def test_killers_pass_without_a_mutant(options: tuple[str, ...], base: Path) -> None:
    """A killer that is skipped, since its server is missing, kills nothing."""
    killers = sorted({killer for mutant in MUTANTS if mutant.options == options for killer in mutant.killers})
    result = run(base, killers, *options, limit=len(killers) * LONGEST)
    assert result.status == 0, result.output
    missing = [killer for killer in killers if not result.count(killer, "PASSED")]
    assert not missing or result.lines("SKIPPED"), f"did not run: {missing}"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_killed(mutant: Mutant, base: Path, tmp_path: Path) -> None:
    tree = copy_of(base, tmp_path / "tree")
    mutant.seed(tree)
    survived = {}
    for killer in mutant.killers:
        result = run(tree, [killer], "-x", *mutant.options)
        print(f"{killer}: {result.reason}")  # `pytest -rP` shows by what each was killed
        if result.is_skip:
            pytest.skip(f"{killer} is skipped here")
        if why := why_not_killed(result, killer):
            survived[killer] = f"{why}\n{result.output[-4000:]}"
    shutil.rmtree(tree)
    assert not survived, f"mutant {mutant.name} survives ({mutant.breaks}): {survived}"
