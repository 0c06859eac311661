"""The page of the mutants: this folder's README.md, written from the table."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.campaign.mutants.table import MUTANTS, SUBJECTS

PAGE = Path(__file__).with_name("README.md")
INTRODUCTION = """# Mutants

A mutant is a seeded bug: one text of the code replaced by another. Each breaks a rule of the
[protocol](../../../docs/design/protocol.md) or falls into a known pitfall, and must make its killers fail.
`make campaign PART=mutants` copies the tree, seeds one mutant at a time and runs only its killers there.

It fails where a mutant survives: the test is too weak. It fails too where the failure is no answer of the killer: a
fixture's error, a hang, code that Python cannot run.

- The mutants are data, in `of_*.py`. The old text must occur exactly once in its file. If it does not,
  `tests/unit/repository/test_mutants.py` fails and names the mutant: give it the text that breaks the same rule now.
- Killers are tests of `make test`, the cheapest that fails. A mutant that only a test of the campaign kills says why.
- Tests of a missing server are skipped, and so are the mutants that only these kill.
- `python -m tests.campaign.mutants` rewrites this page; `python -m tests.campaign.mutants NAME` tries some mutants.
"""


def text() -> str:
    """Return the text of the page."""
    parts = [INTRODUCTION, f"{len(MUTANTS)} mutants:\n"]
    for subject, mutants in SUBJECTS.items():
        rows = [f"| `{m.name}` | {m.breaks} | {_killers(m.killers, m.campaign)} |" for m in mutants]
        parts.append(
            "\n".join([f"## {subject}\n", "| mutant | what it breaks | killed by |", "|---|---|---|", *rows, ""])
        )
    return "\n".join(parts)


def _killers(killers: tuple[str, ...], campaign: str) -> str:
    listed = ", ".join(f"`{killer.removeprefix('tests/')}`" for killer in killers)
    return f"{listed} (campaign: {campaign})" if campaign else listed


def repeated() -> list[str]:
    """Return the names that several mutants have."""
    return [name for name, number in Counter(m.name for m in MUTANTS).items() if number > 1]
