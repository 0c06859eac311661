"""A seeded bug: a text of one file that is replaced by another, and the tests that must fail then."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

TABLES = "tests/campaign/mutants/"


@dataclass(frozen=True)
class Mutant:
    """A seeded bug.

    Attributes:
        name: A short name, unique among all mutants.
        breaks: The rule or pitfall that it breaks, in one sentence.
        file: The changed file, relative to the project's root.
        old: Text that occurs exactly once in the file.
        new: The text in its place.
        killers: Ids of tests, as pytest prints them; each must fail.
        campaign: Why no test of `make test` can kill it; empty if the killers are tests of `make test`.
    """

    name: str
    breaks: str
    file: str
    old: str
    new: str
    killers: tuple[str, ...]
    campaign: str = ""

    @property
    def options(self) -> tuple[str, ...]:
        """Options of pytest for its killers."""
        return ("-m", "campaign or not campaign") if self.campaign else ()

    def applied_to(self, text: str) -> str:
        """Return the text of its file with the bug.

        Raises:
            LookupError: The old text does not occur exactly once.
        """
        found = text.count(self.old)
        if found != 1:
            raise LookupError(
                f"mutant {self.name}: its old text occurs {found} times in {self.file}, not once: {self.old!r}. The "
                f"code has changed: in {TABLES}, give it the text that breaks the same rule now ({self.breaks})"
            )
        return text.replace(self.old, self.new)

    def seed(self, root: Path) -> None:
        """Change its file in the tree at `root`; remove the file's compiled form.

        Raises:
            LookupError: The old text does not occur exactly once.
        """
        path = root / self.file
        path.write_text(self.applied_to(path.read_text("utf-8")), "utf-8")
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()
