"""Write the page of the mutants; or try those that are named, each with its killers, and print the outcome."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tests.campaign.mutants import page
from tests.campaign.mutants.runner import ROOT, copy_of, run, why_not_killed
from tests.campaign.mutants.table import MUTANTS


def tried(names: list[str]) -> int:
    """Try mutants by name; return the number of those that are not killed."""
    survivors = 0
    with tempfile.TemporaryDirectory(prefix="qbcd-mutants-") as folder:
        base = copy_of(ROOT, Path(folder, "base"))
        for mutant in (m for m in MUTANTS if m.name in names):
            tree = copy_of(base, Path(folder, mutant.name))
            mutant.seed(tree)
            for killer in mutant.killers:
                began = time.monotonic()
                result = run(tree, [killer], *mutant.options)
                why = why_not_killed(result, killer)
                survivors += bool(why)
                spent = f"{time.monotonic() - began:.1f} s"
                print(f"{mutant.name}: {why or 'killed'} ({spent}, {killer}): {result.reason}", flush=True)
                if why:
                    print(result.output[-4000:], flush=True)
    return survivors


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.exit(min(1, tried(sys.argv[1:])))
    page.PAGE.write_text(page.text(), "utf-8")
