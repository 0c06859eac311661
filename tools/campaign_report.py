"""Write the table of the campaign's results into tests/campaign/README.md, from the files that the runs wrote.

`make campaign-report` does it for the results that hold for the commit of the working tree, or for that of `--commit`.
With `--each-commit` all results are shown, each line with the commit of its runs. Failed and skipped cases are listed
on standard output, and parts that are missing. Exit code 1: a part is missing, incomplete or failed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.campaign.parts import PARTS
from tests.campaign.results import ROOT, Results, commit, folder, holding, named, read

PAGE = ROOT / "tests/campaign/README.md"
BEGIN, END = "<!-- campaign-report -->\n", "<!-- end of campaign-report -->\n"
COLUMNS = ("part", "engine", "cases", "passed", "failed", "skipped", "not run", "minutes", "commit")
HEAD = f"| {' | '.join(COLUMNS)} |\n|---|---|--:|--:|--:|--:|--:|--:|---|\n"


def table(found: Iterable[Results]) -> str:
    """Return the table: a line for each part and engine, also for those without a result.

    Of several commits each line names its own, and a part has a line for each.
    """
    rows = sorted(found, key=lambda r: (list(PARTS).index(r.line.part), r.line.servers, r.line.engine))
    there = {(r.line.part, r.line.engine) for r in rows if not r.line.servers}
    lines = [_line(r) for r in rows]
    lines += [
        f"| `{name}` | {engine} | **missing** | | | | | | |"
        for name, part in PARTS.items()
        for engine in part.engines
        if (name, engine) not in there
    ]
    return HEAD + "".join(f"{line}\n" for line in lines)


def lacks(found: Iterable[Results]) -> list[str]:
    """Return why the results are not those of a whole campaign without a failure, a line each."""
    rows = list(found)
    there = {(r.line.part, r.line.engine) for r in rows if not r.line.servers}
    missing = [f"{p} {e}: missing" for p in PARTS for e in PARTS[p].engines if (p, e) not in there]
    failed = [f"{r.line.part} {r.line.engine}: {r.number('failed')} failed" for r in rows if r.number("failed")]
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
    found = read(options.results.glob("*.jsonl"))
    if not options.each_commit:
        found = holding(found, named(options.commit) if options.commit else commit())
    text = table(found)
    if options.print:
        print(text)
    else:
        PAGE.write_text(put(text, PAGE.read_text("utf-8")), "utf-8")
    for r in found:
        for case in (c for c, o in r.outcomes.items() if o == "failed"):
            print(f"failed: {case}")
        for reason, number in Counter(r.reasons[c] for c, o in r.outcomes.items() if o == "skipped").items():
            print(f"{r.line.part} {r.line.engine}: {number} skipped: {reason}")
    print(*lacks(found), sep="\n")
    return 1 if lacks(found) else 0


def _line(r: Results) -> str:
    not_run = "not known" if r.not_run is None else str(r.not_run)
    minutes = f"{sum(r.seconds.values()) / 60:.1f}"
    engine = f"{r.line.engine}, {r.line.servers}" if r.line.servers else r.line.engine
    numbers = (len(r.outcomes), r.number("passed"), r.number("failed"), r.number("skipped"))
    return (
        f"| `{r.line.part}` | {engine} | " + " | ".join([*map(str, numbers), not_run, minutes, f"`{r.commit}`"]) + " |"
    )


if __name__ == "__main__":
    sys.exit(main())
