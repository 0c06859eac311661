"""Write the table of the campaign's results into tests/campaign/README.md, from the files that the runs wrote.

`make campaign-report` does it for the results that hold for the commit of the working tree, or for that of `--commit`.
A whole line without a failure stays on the page while it holds, if the files of its runs are on another machine.
With `--each-commit` the results of all files are shown, each line with the commit of its runs. Failed and skipped cases
are listed on standard output, and parts that are missing. Exit code 1: a part is missing, incomplete or failed.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from typing_extensions import override

from tests.campaign.parts import PARTS
from tests.campaign.results import ROOT, Line, Results, commit, folder, holding, named, read, whole_part_holds

PAGE = ROOT / "tests/campaign/README.md"
BEGIN, END = "<!-- campaign-report -->\n", "<!-- end of campaign-report -->\n"
COLUMNS = ("part", "engine", "cases", "passed", "failed", "skipped", "not run", "minutes", "commit")
HEAD = f"| {' | '.join(COLUMNS)} |\n|---|---|--:|--:|--:|--:|--:|--:|---|\n"
_ROW = re.compile(r"\| `(\w+)` \| (\w+)(?:, ([^|]+))? \|" + r" (\d+) \|" * 5 + r" ([\d.]+) \| `(.+)` \|")


@dataclass(frozen=True)
class Row:
    """A line of the table.

    Attributes:
        not_run: None if it is not known which cases the part has.
    """

    line: Line
    cases: int
    passed: int
    failed: int
    skipped: int
    not_run: int | None
    minutes: float
    commit: str

    @classmethod
    def of(cls, r: Results) -> Row:
        """Return the row of the results of one line on one commit."""
        minutes = round(sum(r.seconds.values()) / 60, 1)
        numbers = (len(r.outcomes), r.number("passed"), r.number("failed"), r.number("skipped"))
        return cls(r.line, *numbers, r.not_run, minutes, r.commit)

    @property
    def is_whole(self) -> bool:
        """True if all cases of the part ended and none failed."""
        return not self.failed and self.not_run == 0

    @override
    def __str__(self) -> str:
        engine = f"{self.line.engine}, {self.line.servers}" if self.line.servers else self.line.engine
        not_run = "not known" if self.not_run is None else self.not_run
        numbers = (self.cases, self.passed, self.failed, self.skipped, not_run, self.minutes)
        return f"| `{self.line.part}` | {engine} | {' | '.join(map(str, numbers))} | `{self.commit}` |"


def rows_of(page: str) -> list[Row]:
    """Return the rows of the page that have numbers."""
    found = []
    for part, engine, servers, *numbers, minutes, made in _ROW.findall(page):
        cases, passed, failed, skipped, not_run = map(int, numbers)
        found.append(Row(Line(part, engine, servers), cases, passed, failed, skipped, not_run, float(minutes), made))
    return found


def with_kept(found: Iterable[Row], page: str, head: str) -> list[Row]:
    """Return rows made of files, and the whole rows of the page that hold for the commit `head`.

    Of one line the files count if they have the whole part too, or a failure; else the page does.
    """
    rows = {row.line: row for row in found}
    for row in rows_of(page):
        there = rows.get(row.line)
        outdone = there is not None and (there.is_whole or there.failed)
        if (
            row.is_whole
            and not outdone
            and row.line.part in PARTS
            and whole_part_holds(row.line.part, row.commit, head)
        ):
            rows[row.line] = replace(row, commit=head)
    return list(rows.values())


def table(found: Iterable[Row]) -> str:
    """Return the table: a line for each part and engine, also for those without a result.

    Of several commits each line names its own, and a part has a line for each.
    """
    rows = sorted(found, key=lambda r: (list(PARTS).index(r.line.part), r.line.servers, r.line.engine))
    there = {(r.line.part, r.line.engine) for r in rows if not r.line.servers}
    lines = [str(r) for r in rows]
    lines += [
        f"| `{name}` | {engine} | **missing** | | | | | | |"
        for name, part in PARTS.items()
        for engine in part.engines
        if (name, engine) not in there
    ]
    return HEAD + "".join(f"{line}\n" for line in lines)


def lacks(found: Iterable[Row]) -> list[str]:
    """Return why the results are not those of a whole campaign without a failure, a line each."""
    rows = list(found)
    there = {(r.line.part, r.line.engine) for r in rows if not r.line.servers}
    missing = [f"{p} {e}: missing" for p in PARTS for e in PARTS[p].engines if (p, e) not in there]
    failed = [f"{r.line.part} {r.line.engine}: {r.failed} failed" for r in rows if r.failed]
    partial = [f"{r.line.part} {r.line.engine}: not all cases have run" for r in rows if r.not_run != 0]
    return missing + failed + partial


def put(text: str, page: str) -> str:
    """Return the page with the table between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{PAGE.name} lacks the marks of the table")
    return before + BEGIN + text + END + after


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the table; print what is missing, failed and skipped."""
    parser = argparse.ArgumentParser(prog="python -m tools.campaign_report", description=__doc__)
    parser.add_argument("--results", type=Path, default=folder(), help="the folder of the runs' files")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--commit", help="results that hold for this commit, not for that of the working tree")
    chosen.add_argument("--each-commit", action="store_true", help="results of all commits, as they are")
    parser.add_argument("--print", action="store_true", help="print the table; do not change the page")
    options = parser.parse_args(arguments)
    found = [r for r in read(options.results.glob("*.jsonl")) if r.line.part in PARTS]
    page = PAGE.read_text("utf-8")
    if options.each_commit:
        rows = [Row.of(r) for r in found]
    else:
        head = named(options.commit) if options.commit else commit()
        found = holding(found, head)
        rows = with_kept(map(Row.of, found), page, head)
    text = table(rows)
    if options.print:
        print(text)
    else:
        PAGE.write_text(put(text, page), "utf-8")
    for r in found:
        for case in (c for c, o in r.outcomes.items() if o == "failed"):
            print(f"failed: {case}")
        for reason, number in Counter(r.reasons[c] for c, o in r.outcomes.items() if o == "skipped").items():
            print(f"{r.line.part} {r.line.engine}: {number} skipped: {reason}")
    print(*lacks(rows), sep="\n")
    return 1 if lacks(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
